"""Checks of positions and indices that users and files give, with errors that name the vertex or element."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dovetail.checked import LARGEST, numbers, shown
from dovetail.errors import GeometryError
from dovetail.geometry.simplicial_complex import SimplicialComplex

__all__ = ["checked_positions", "checked_simplices", "finite_positions", "finite_vector3"]


def checked_positions(who: str, positions: ArrayLike) -> NDArray[np.float64]:
    """Positions (n, 3), from (n, 3) or (n, 3, 1); all finite."""
    array = numbers(positions)
    if array is None:
        raise GeometryError(f"{who}: the vertex positions are not numbers in an (n, 3) array.")
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim != 2 or array.shape[1] != 3:
        raise GeometryError(f"{who}: positions of shape {array.shape} were given; (n, 3) is needed.")
    _refuse_non_finite(who, array)
    return array


def finite_positions(who: str, sc: SimplicialComplex) -> NDArray[np.float64]:
    """The positions (n, 3) of a complex, if all are finite."""
    positions = sc.positions.values
    _refuse_non_finite(who, positions)
    return positions


def _refuse_non_finite(who: str, positions: NDArray[np.float64]) -> None:
    bad = np.flatnonzero(~(np.abs(positions) <= LARGEST).all(axis=1))
    if len(bad):
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        needed = "finite positions" if not np.isfinite(positions).all() else f"positions up to {LARGEST:g} m"
        raise GeometryError(f"{who}: vertex {bad[0]}{more} is at {positions[bad[0]].tolist()}; give {needed}.")


def checked_simplices(
    who: str, kind: str, indices: ArrayLike, widths: tuple[int, ...], vertex_count: int
) -> NDArray[np.int32]:
    """Simplices (m, width) whose vertices exist and differ from each other; `kind` names one in errors."""
    try:
        array: NDArray[Any] = np.asarray(indices)
    except (TypeError, ValueError, OverflowError):
        raise GeometryError(f"{who}: the rows of the {kind} indices have different lengths.") from None
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim != 2 or array.shape[1] not in widths:
        needed = " or ".join(f"(m, {width})" for width in widths)
        raise GeometryError(f"{who}: {kind} indices of shape {array.shape}; {needed} is needed.")
    if array.dtype.kind not in "iu" and len(array):
        raise GeometryError(f"{who}: {kind} indices are {array.dtype}; convert them with .astype(np.int32).")
    outside = np.flatnonzero(((array < 0) | (array >= vertex_count)).any(axis=1))
    if len(outside):
        raise GeometryError(
            f"{who}: {kind} {outside[0]} has vertices {array[outside[0]].tolist()}; "
            f"there are {vertex_count} vertices, numbered from 0."
        )
    ordered = np.sort(array, axis=1)
    repeated = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if len(repeated):
        raise GeometryError(
            f"{who}: {kind} {repeated[0]} has vertices {array[repeated[0]].tolist()}, one of them twice; remove it."
        )
    return array.astype(np.int32)


def finite_vector3(who: str, name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Three finite numbers (3,), from (3,) or (3, 1)."""
    array = numbers(values)
    if array is None or array.shape not in ((3,), (3, 1)) or not (np.abs(array) <= LARGEST).all():
        raise GeometryError(f"{who}: {name} = {shown(values)}; 3 finite numbers are needed.")
    return array.reshape(3).copy()
