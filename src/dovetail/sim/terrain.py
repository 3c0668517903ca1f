"""Terrains: a fixed surface over a grid of heights, touched from above."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

import numpy as np

from dovetail.checked import LARGEST, numbers, shown, whole
from dovetail.errors import SceneError
from dovetail.geometry import SimplicialComplex, label_surface
from dovetail.geometry import trimesh as triangle_mesh
from dovetail.geometry.mass import shell_moments
from dovetail.sim.given import positive, vector
from dovetail.sim.mass import Moments
from dovetail.typing import Array, ArrayLike

__all__ = ["TerrainOptions", "heights_of", "surface"]

_MOST = 2000  # points along a side


class TerrainOptions(TypedDict, total=False):
    """What a terrain takes besides its heights and size: as of other bodies."""

    pos: ArrayLike
    rot: Any
    friction: float
    color: Any
    name: str


def heights_of(who: str, heights: ArrayLike | Callable[..., Any], size: Array, cells: Any, scale: float) -> Array:
    """Heights (n, m) [m] over x and y: an array, or a function z(x, y) at the corners of so many cells."""
    factor = positive(who, "scale", scale)
    if callable(heights):
        count = [whole(n) for n in (cells if isinstance(cells, (list, tuple)) else (cells, cells))]
        if len(count) != 2 or not all(n is not None and 1 <= n < _MOST for n in count):
            raise SceneError(f"{who}: cells = {shown(cells)}; give whole numbers from 1 to {_MOST - 1}, one or two.")
        x, y = (np.linspace(-L / 2, L / 2, n + 1) for L, n in zip(size, count, strict=True))  # type: ignore[operator]
        found = numbers([[heights(float(a), float(b)) for b in y] for a in x])
    else:
        found = numbers(heights)
    if found is None or found.ndim != 2 or not (np.abs(found) <= LARGEST).all():
        what = "the function's values" if callable(heights) else f"heights = {shown(heights)}"
        raise SceneError(f"{who}: {what} are no table of finite numbers; give heights[i, j] [m] at x_i, y_j.")
    if not all(2 <= n <= _MOST for n in found.shape):
        raise SceneError(f"{who}: there are {found.shape[0]} × {found.shape[1]} heights; give 2 to {_MOST} each way.")
    return factor * np.asarray(found, float)


def surface(who: str, heights: Array, size: ArrayLike) -> tuple[SimplicialComplex, Moments]:
    """The open mesh over the rectangle of this size [m] about the origin, facing up, and its moments.

    It never moves, so that its mass means nothing; a crust of a thousandth of its size has some.
    """
    lengths = vector(who, "size", size, "m", 2)
    if not (lengths > 0.0).all():
        raise SceneError(f"{who}: size = {shown(size)} [m]; give lengths > 0 along x and y.")
    n, m = heights.shape
    x, y = (np.linspace(-L / 2, L / 2, k) for L, k in zip(lengths, (n, m), strict=True))
    points = np.stack([*np.meshgrid(x, y, indexing="ij"), heights], axis=-1).reshape(-1, 3)
    at = np.arange(n * m).reshape(n, m)
    a, b, c, d = at[:-1, :-1].ravel(), at[1:, :-1].ravel(), at[1:, 1:].ravel(), at[:-1, 1:].ravel()
    # each cell is cut along the diagonal whose ends are higher, which leaves no pit that is not in the heights
    z = heights.ravel()
    along = (z[a] + z[c] >= z[b] + z[d])[:, None]
    first = np.where(along, np.stack([a, b, c], axis=1), np.stack([a, b, d], axis=1))
    second = np.where(along, np.stack([a, c, d], axis=1), np.stack([b, c, d], axis=1))
    found = triangle_mesh(points, np.concatenate([first, second]))
    label_surface(found)
    thickness = 1e-3 * float(np.linalg.norm(np.ptp(points, axis=0)))
    return found, lambda density: shell_moments(found, density, thickness)
