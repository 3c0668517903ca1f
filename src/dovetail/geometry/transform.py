"""Affine transforms x ↦ A x + t as 4×4 matrices."""

from __future__ import annotations

from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dovetail.checked import checked, numbers, shown
from dovetail.errors import GeometryError
from dovetail.geometry.rotation import AngleAxis, Quaternion
from dovetail.typing import Array

__all__ = ["Transform", "matrix_of"]


class Transform:
    """An affine map. `translate`, `rotate`, `scale` act in the local frame (T ← T·X), the `pre…` ones in the
    world's (T ← X·T); all change the transform in place and return it.
    """

    def __init__(self, matrix: ArrayLike) -> None:
        given = numbers(matrix)
        if given is None:
            raise GeometryError(f"Transform: {shown(matrix)} is not a 4×4 matrix.")
        self._matrix = given.copy()
        if self._matrix.shape != (4, 4):
            raise GeometryError(f"Transform: shape {self._matrix.shape} was given; (4, 4) is needed.")
        if not np.isfinite(self._matrix).all():
            raise GeometryError(f"Transform: {self._matrix.tolist()} has entries that are not finite; give numbers.")

    @classmethod
    def Identity(cls) -> Self:
        return cls(np.eye(4))

    def matrix(self) -> Array:
        """A copy of the 4×4 matrix."""
        return self._matrix.copy()

    def translation(self) -> Array:
        """A copy of t (3, 1)."""
        return self._matrix[:3, 3:].copy()

    def translate(self, translation: ArrayLike) -> Self:
        return self._post(_translation(translation))

    def pretranslate(self, translation: ArrayLike) -> Self:
        return self._pre(_translation(translation))

    def rotate(self, rotation: AngleAxis | Quaternion) -> Self:
        return self._post(_rotation(rotation))

    def prerotate(self, rotation: AngleAxis | Quaternion) -> Self:
        return self._pre(_rotation(rotation))

    def scale(self, scale: ArrayLike) -> Self:
        """By one number or by one for each axis."""
        return self._post(_scaling(scale))

    def prescale(self, scale: ArrayLike) -> Self:
        return self._pre(_scaling(scale))

    def inverse(self) -> Transform:
        inverse = np.eye(4)
        try:
            inverse[:3, :3] = np.linalg.inv(self._matrix[:3, :3])
        except np.linalg.LinAlgError:
            raise GeometryError(f"Transform: it flattens space and has no inverse:\n{self._matrix}") from None
        inverse[:3, 3] = -_product(inverse[:3, :3], self._matrix[:3, 3])
        return Transform(inverse)

    @overload
    def __mul__(self, other: Transform) -> Transform: ...
    @overload
    def __mul__(self, other: NDArray[Any]) -> Array: ...

    def __mul__(self, other: Transform | NDArray[Any]) -> Transform | Array:
        """T·T applies the right one first; T·v moves a point, (3,) or (3, 1) → (3, 1)."""
        if isinstance(other, Transform):
            return Transform(_product(self._matrix, other._matrix))
        point = _vector3("Transform * vector", other)
        return (_product(self._matrix[:3, :3], point) + self._matrix[:3, 3]).reshape(3, 1)

    # without it, array * transform would be tried element by element
    __array_ufunc__ = None

    @checked(GeometryError)
    def apply_to(self, vectors: Any) -> Any:
        """Move points (n, 3) or (n, 3, 1): float64 arrays in place, others as a new array; returns them.

        A single point (3,) gives a new one (3, 1).
        """
        array = numbers(vectors)
        if array is None:
            raise GeometryError(f"Transform.apply_to: {shown(vectors)} are no points (n, 3).")
        if array.shape == (3,):
            return self * array
        if array.shape[1:] not in ((3,), (3, 1)):
            raise GeometryError(f"Transform.apply_to: shape {array.shape} was given; (n, 3) or (n, 3, 1) is needed.")
        points = array[..., 0] if array.ndim == 3 else array
        points[...] = _product(points, self._matrix[:3, :3].T) + self._matrix[:3, 3]
        return array

    def _post(self, matrix: Array) -> Self:
        self._matrix = _product(self._matrix, matrix)
        return self

    def _pre(self, matrix: Array) -> Self:
        self._matrix = _product(matrix, self._matrix)
        return self

    def __repr__(self) -> str:
        return f"Transform({self._matrix.tolist()})"


def _product(left: Array, right: Array) -> Array:
    """left·right, as long as that is finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        product: Array = left @ right
    if not np.isfinite(product).all():
        raise GeometryError(f"Transform: {shown(left)} times {shown(right)} is not finite; give ordinary numbers.")
    return product


def matrix_of(transform: Transform | ArrayLike) -> Array:
    """The 4×4 matrix of a transform given as such or as a matrix."""
    return (transform if isinstance(transform, Transform) else Transform(transform)).matrix()


def _vector3(who: str, values: ArrayLike) -> Array:
    vector = numbers(values)
    if vector is None:
        raise GeometryError(f"{who}: {shown(values)} is not a vector of 3 numbers.")
    if not np.isfinite(vector).all():
        raise GeometryError(f"{who}: {shown(values)}; give finite numbers.")
    if vector.shape not in ((3,), (3, 1)):
        raise GeometryError(f"{who}: a vector of shape {vector.shape} was given; (3,) or (3, 1) is needed.")
    return vector.reshape(3)


def _translation(vector: ArrayLike) -> Array:
    matrix = np.eye(4)
    matrix[:3, 3] = _vector3("Transform.translate", vector)
    return matrix


def _rotation(rotation: AngleAxis | Quaternion) -> Array:
    if not isinstance(rotation, AngleAxis | Quaternion):
        raise GeometryError(f"Transform.rotate: an AngleAxis or a Quaternion is needed, not {type(rotation).__name__}.")
    matrix = np.eye(4)
    matrix[:3, :3] = rotation.matrix()
    return matrix


def _scaling(factor: ArrayLike) -> Array:
    given = numbers(factor)
    factors = (
        np.full(3, given.reshape(())) if given is not None and given.size == 1 else _vector3("Transform.scale", factor)
    )
    return np.diag([*factors, 1.0])
