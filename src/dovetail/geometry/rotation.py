"""Rotations by an angle about an axis and by unit quaternions."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dovetail.checked import LARGEST, numbers, shown
from dovetail.errors import GeometryError
from dovetail.typing import Array

__all__ = ["AngleAxis", "Quaternion"]


class Quaternion:
    """w + x i + y j + z k. A unit quaternion turns v into q v q⁻¹; q₁ q₂ turns by q₂ first."""

    def __init__(self, wxyz: ArrayLike | AngleAxis) -> None:
        if isinstance(wxyz, AngleAxis):
            half = 0.5 * wxyz.angle()
            self._wxyz = np.array([math.cos(half), *(math.sin(half) * wxyz.axis()[:, 0])])
        else:
            self._wxyz = _finite_vector("Quaternion", wxyz, 4, "[w, x, y, z]")

    @classmethod
    def Identity(cls) -> Self:
        return cls([1.0, 0.0, 0.0, 0.0])

    def wxyz(self) -> Array:
        """The components (4,), w first."""
        return self._wxyz.copy()

    def __mul__(self, other: Quaternion | AngleAxis) -> Quaternion:
        if isinstance(other, AngleAxis):
            other = Quaternion(other)
        if not isinstance(other, Quaternion):
            return NotImplemented
        w1, v1 = self._wxyz[0], self._wxyz[1:]
        w2, v2 = other._wxyz[0], other._wxyz[1:]
        return Quaternion([w1 * w2 - v1 @ v2, *(w1 * v2 + w2 * v1 + np.cross(v1, v2))])

    def conjugate(self) -> Quaternion:
        """W − x i − y j − z k; of a unit quaternion the opposite rotation."""
        return Quaternion(self._wxyz * [1.0, -1.0, -1.0, -1.0])

    def norm(self) -> float:
        return float(np.linalg.norm(self._wxyz))

    def inverse(self) -> Quaternion:
        """q⁻¹ = conjugate / norm²"""
        return Quaternion(self.conjugate()._wxyz / self._nonzero_norm() ** 2)

    def normalized(self) -> Quaternion:
        return Quaternion(self._wxyz / self._nonzero_norm())

    def matrix(self) -> Array:
        """The 3×3 rotation of the normalised quaternion."""
        w, x, y, z = self.normalized()._wxyz
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        rotation: Array = np.eye(3) + 2.0 * (w * cross + cross @ cross)
        return rotation

    def _nonzero_norm(self) -> float:
        norm = self.norm()
        if norm == 0.0:
            raise GeometryError("Quaternion: [0, 0, 0, 0] is no rotation; use Quaternion.Identity().")
        return norm

    def __repr__(self) -> str:
        return f"Quaternion({self._wxyz.tolist()})"


class AngleAxis:
    """A right-handed turn by `angle` [rad] about `axis`, of any length. A product of two is a Quaternion."""

    def __init__(self, angle: float | Quaternion, axis: ArrayLike | None = None) -> None:
        if isinstance(angle, Quaternion):
            w, *v = angle.normalized().wxyz()
            if w < 0.0:  # q and −q are one rotation; this one has the angle in [0, π]
                w, v = -w, [-c for c in v]
            sine = float(np.linalg.norm(v))
            self._angle = 2.0 * math.atan2(sine, w)
            self._axis = np.array(v) / sine if sine > 0.0 else np.array([1.0, 0.0, 0.0])
            return
        if axis is None:
            raise GeometryError("AngleAxis: an axis is missing; AngleAxis(math.pi / 2, Vector3.UnitY()).")
        vector = _finite_vector("AngleAxis", axis, 3, "axis")
        vector /= np.abs(vector).max() or 1.0  # whatever its size, its square is a float
        length = float(np.linalg.norm(vector))
        given = numbers(angle)
        if given is None or given.size != 1 or not np.isfinite(given).all() or length == 0.0:
            raise GeometryError(f"AngleAxis: {shown(angle)} [rad] about the axis {vector} is no rotation.")
        self._angle = float(given.reshape(())[()])
        self._axis = vector / length

    @classmethod
    def Identity(cls) -> Self:
        return cls(0.0, [1.0, 0.0, 0.0])

    def angle(self) -> float:
        """[rad]"""
        return self._angle

    def axis(self) -> Array:
        """Unit vector (3, 1)."""
        return self._axis.reshape(3, 1).copy()

    def matrix(self) -> Array:
        """The 3×3 rotation."""
        return Quaternion(self).matrix()

    def __mul__(self, other: Quaternion | AngleAxis) -> Quaternion:
        return Quaternion(self).__mul__(other)

    def __repr__(self) -> str:
        return f"AngleAxis({self._angle}, {self._axis.tolist()})"


def _finite_vector(who: str, values: ArrayLike, size: int, what: str) -> Array:
    vector = numbers(values)
    if vector is None or vector.shape not in ((size,), (size, 1)) or not (np.abs(vector) <= LARGEST).all():
        raise GeometryError(f"{who}: {what} needs {size} finite numbers, got {shown(values)}.")
    return vector.reshape(size).copy()
