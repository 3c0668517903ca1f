"""What users give: vectors, rotations and colours, checked and turned into arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail.checked import LARGEST, number, numbers, shown, whole
from dovetail.errors import DovetailError, SceneError
from dovetail.geometry import AngleAxis, Quaternion
from dovetail.typing import Array, ArrayLike

__all__ = [
    "at_least_one",
    "color_of",
    "flag",
    "inverse",
    "positive",
    "quaternion_of",
    "rotation_of",
    "skew",
    "unit",
    "vector",
]

_NAMED = {
    "black": "#202124",
    "blue": "#3b7dd8",
    "brown": "#8d6748",
    "gray": "#8c9199",
    "green": "#3fa45b",
    "grey": "#8c9199",
    "orange": "#e8833a",
    "purple": "#8e5bb5",
    "red": "#d64545",
    "white": "#f2f2f2",
    "yellow": "#e8c33a",
}


def vector(who: str, what: str, value: ArrayLike, unit: str = "", size: int = 3) -> Array:
    """So many finite numbers."""
    given = numbers(value)
    if given is not None and given.size == size and (np.abs(given) <= LARGEST).all():
        return np.array(given).reshape(size)
    if given is None or given.size != size or not np.isfinite(given).all():
        wanted = "a finite number" if size == 1 else f"{size} finite numbers"
        raise SceneError(f"{who}: {what} = {shown(value)}{_in(unit)}; give {wanted}.")
    raise SceneError(f"{who}: {what} = {shown(value)}{_in(unit)}; give numbers up to {LARGEST:g}.")


def positive(who: str, what: str, value: Any, unit: str = "") -> float:
    """A finite number > 0."""
    found = number(value)
    if found is None or not 0.0 < found < np.inf:
        raise SceneError(f"{who}: {what} = {shown(value)}{_in(unit)}; give a number > 0.")
    if not 1.0 / LARGEST <= found <= LARGEST:
        raise SceneError(f"{who}: {what} = {found:g}{_in(unit)}; give a number from {1.0 / LARGEST:g} to {LARGEST:g}.")
    return found


def at_least_one(who: str, what: str, value: Any) -> int:
    """A whole number from 1 on."""
    found = whole(value)
    if isinstance(value, (bool, np.bool_)) or found is None or not 1 <= found < 2**31:
        raise SceneError(f"{who}: {what} = {shown(value)}; give a whole number from 1 on.")
    return found


def flag(who: str, what: str, value: Any) -> bool:
    """True or False, also as 1 or 0."""
    found = whole(value) if not isinstance(value, (bool, np.bool_)) else int(value)
    if found not in (0, 1):
        raise SceneError(f"{who}: {what} = {shown(value)}; give True or False.")
    return bool(found)


def inverse(who: str, A: Array) -> Array:
    """A⁻¹ of the linear part of a transform."""
    try:
        found = np.asarray(np.linalg.inv(A))
    except np.linalg.LinAlgError:
        found = np.full((3, 3), np.nan)
    if not np.isfinite(found).all():
        raise SceneError(f"{who}: its transform {A.tolist()} flattens it; give it a proper pose.")
    return found


def unit(who: str, what: str, value: ArrayLike) -> Array:
    """A direction, of whatever length it was given, as a unit vector."""
    direction = vector(who, what, value)
    largest = np.abs(direction).max()
    direction = direction / (largest or 1.0)  # whatever its size, its square is a float
    length = math.sqrt(direction @ direction)
    if length == 0.0:
        raise SceneError(f"{who}: {what} = {shown(value)} has no direction; give a vector that is not zero.")
    return np.asarray(direction / length)


def rotation_of(who: str, value: Any) -> Array:
    """A 3×3 rotation from a quaternion (w, x, y, z), a matrix, an AngleAxis, a Quaternion or SciPy's Rotation."""
    if value is None:
        return np.eye(3)
    if isinstance(value, (AngleAxis, Quaternion)):
        return value.matrix()
    if hasattr(value, "as_matrix"):
        value = value.as_matrix()
    given = numbers(value)
    if given is not None and given.shape == (4,):
        try:
            return Quaternion(given).matrix()
        except DovetailError:
            raise SceneError(f"{who}: rot = {shown(value)} has no length; (1, 0, 0, 0) turns nothing.") from None
    if given is None or given.shape != (3, 3):
        raise SceneError(
            f"{who}: rot = {shown(value)} is no rotation; give a quaternion (w, x, y, z), a 3×3 matrix, or "
            "AngleAxis(angle, axis)."
        )
    # a matrix typed with six digits is meant as the rotation that it is near to
    ordinary = np.abs(given).max() < 2.0  # squares of others may overflow
    if not (ordinary and np.abs(given @ given.T - np.eye(3)).max() < 1e-5 and np.linalg.det(given) > 0):
        raise SceneError(f"{who}: rot = {given.tolist()} is not orthonormal and right-handed; give a rotation.")
    return np.array(given)


def quaternion_of(A: Array) -> Array:
    """The unit quaternion (w, x, y, z), w ≥ 0, of the rotation nearest to A."""
    U, _, Vt = np.linalg.svd(A)
    R = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
    # the largest eigenvector of this matrix is the quaternion, without any division that could be by zero
    xx, xy, xz, yx, yy, yz, zx, zy, zz = R.ravel()
    N = np.array(
        [
            [xx + yy + zz, zy - yz, xz - zx, yx - xy],
            [zy - yz, xx - yy - zz, xy + yx, xz + zx],
            [xz - zx, xy + yx, yy - xx - zz, yz + zy],
            [yx - xy, xz + zx, yz + zy, zz - xx - yy],
        ]
    )
    q: Array = np.linalg.eigh(N)[1][:, 3]
    return q if q[0] >= 0 else -q


def skew(w: Array) -> Array:
    """[w]× with [w]× v = w × v."""
    x, y, z = w
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def color_of(who: str, value: Any) -> Array:
    """Red, green, blue from 0 to 1: from three numbers, "#rrggbb" or a simple name."""
    if isinstance(value, str):
        code = _NAMED.get(value.lower(), value)
        digits = code.removeprefix("#")
        if len(digits) == 6 and all(c in "0123456789abcdefABCDEF" for c in digits):
            return np.array([int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)])
        names = ", ".join(_NAMED)
        raise SceneError(
            f"{who}: color = {shown(value)}; give '#rrggbb', three numbers from 0 to 1, or one of {names}."
        )
    rgb = vector(who, "color", value)
    if not ((rgb >= 0) & (rgb <= 1)).all():
        raise SceneError(f"{who}: color = {shown(value)}; give red, green and blue from 0 to 1.")
    return rgb


def _in(unit: str) -> str:
    return f" [{unit}]" if unit else ""
