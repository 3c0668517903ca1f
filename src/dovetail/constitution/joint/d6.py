"""D6 joint (28): each of six relative motions is free or locked."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from dovetail.checked import checked, shown, whole
from dovetail.constitution.base import fill
from dovetail.constitution.joint.base import EdgeJoint
from dovetail.constitution.laws import Hold
from dovetail.constitution.rotations import Elevation
from dovetail.constitution.terms import (
    Angle,
    Bearing,
    Coincide,
    Compose,
    Coordinate,
    Cosine,
    Projection,
    Term,
)
from dovetail.errors import ArgumentType, ConstitutionError
from dovetail.geometry import Geometry, SimplicialComplex

__all__ = ["AXES", "AffineBodyD6Joint"]

AXES = ("x", "y", "z", "rx", "ry", "rz")
_ROWS = dict(zip(AXES, "tnbtnb", strict=True))  # directions of the joint's frame


class AffineBodyD6Joint(EdgeJoint, uid=28):
    """Leaves some of six relative motions free, of the frame x, y, z = t, n, b, and locks the others.

    With r = c_j − c_i the translations are r·t_i, r·n_i, r·b_i. Rotations are Cardan angles: with R_kl = k_i·l_j

        R = R_x(rx) R_y(ry) R_z(rz)

    the right body turns about x of the left one by rx, then about y by ry, and about its own z by rz.

    | locked | held is |
    |---|---|
    | all translations | c_i = c_j; else each one by itself, r·axis_i = 0 |
    | all rotations | t_i = t_j, n_i = n_j, b_i = b_j |
    | two of them | the axis of the free one is across the two others of the right body |
    | one of them | t_i·n_j = 0 (rz), t_i·b_j = 0 (ry) or n_i·b_j = 0 (rx): the two pins of a cross |

    `AffineBodyD6Joint` itself locks all; `with_free("x", "rz")` is the class of those that leave these.

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | meta | `free_axes` | | a bit for each of x, y, z, rx, ry, rz that is free |
    | edges | `frame/n` | | direction of the world that y shall have at the start, across x = P0 → P1; 0: any |
    | edges | `x`, `init_x`, `x/velocity`, … | m, m/s | of each free translation |
    | edges | `rx`, `init_rx`, `rx/velocity`, … | rad, rad/s | of each free rotation; `rx/multi_turn` counts turns |

    One free rotation, and two of them, count turns without end. Of three ry stays within ±π/2, where rx and rz turn
    about the same axis. Those common to all joints are listed at `Joint`.
    """

    terms = (Coincide("c"), Coincide("t"), Coincide("n"), Coincide("b"))
    attributes = {"frame/n": np.zeros(3)}  # noqa: RUF012
    free: ClassVar[tuple[str, ...]] = ()
    """The axes that are left free."""

    @classmethod
    def with_free(cls, *axes: str) -> type[AffineBodyD6Joint]:
        """The class of D6 joints that leave these axes free, of x, y, z, rx, ry, rz."""
        wrong = [axis for axis in axes if axis not in AXES]
        if wrong:
            raise ConstitutionError(f"{cls.__name__}: it has no axis {shown(wrong[0])}; there are {', '.join(AXES)}.")
        return _member(tuple(axis for axis in AXES if axis in axes))

    @classmethod
    @checked(ArgumentType)
    def on(cls, geometry: Geometry) -> type[AffineBodyD6Joint]:
        slot = geometry.meta.find("free_axes")
        bits = 0 if slot is None else whole(slot.first)
        if bits is None or not 0 <= bits < 1 << len(AXES):
            raise ConstitutionError(f"{cls.__name__}: the meta attribute 'free_axes' = {shown(bits)}; give 0 to 63.")
        return cls.with_free(*(axis for k, axis in enumerate(AXES) if bits >> k & 1))

    def _furnish(self, sc: SimplicialComplex) -> None:
        super()._furnish(sc)
        fill(sc.meta, "free_axes", sum(1 << AXES.index(axis) for axis in self.free))


@cache
def _member(free: tuple[str, ...]) -> type[AffineBodyD6Joint]:
    if not free:
        return AffineBodyD6Joint
    rotations = [axis for axis in free if axis in AXES[3:]]
    coordinates = [*(_slide(axis) for axis in free if axis not in rotations), *_angles(rotations)]
    made: dict[str, Any] = {
        "free": free,
        "terms": (*_closed(set(AXES[:3]) - set(free)), *_aligned(set(AXES[3:]) - set(free))),
        "coordinate": coordinates[0],
        "further": tuple(coordinates[1:]),
        "__module__": __name__,
        "__doc__": AffineBodyD6Joint.__doc__,
    }
    return type(AffineBodyD6Joint.__name__, (AffineBodyD6Joint,), made, member=True)


def _slide(axis: str) -> Projection:
    return Projection(axis, f"init_{axis}", prefix=f"{axis}/", axis=_ROWS[axis], owner="left")


def _closed(locked: set[str]) -> tuple[Term | Compose, ...]:
    """What holds the translations."""
    if len(locked) == 3:
        return (Coincide("c"),)
    return tuple(Compose(Hold(), Projection(axis=_ROWS[axis], owner="left")) for axis in sorted(locked))


def _aligned(locked: set[str]) -> tuple[Term | Compose, ...]:
    """What holds the rotations."""
    if len(locked) == 3:
        return (Coincide("t"), Coincide("n"), Coincide("b"))
    free = [_ROWS[axis] for axis in AXES[3:] if axis not in locked]
    if len(locked) == 2:
        return tuple(Compose(Hold(), Cosine(left=free[0], right=_ROWS[axis])) for axis in sorted(locked))
    return (Compose(Hold(), Cosine(left=free[0], right=free[1])),) if locked else ()


_PLANES: dict[str, tuple[str, str]] = {"rx": ("n", "b"), "ry": ("b", "t"), "rz": ("t", "n")}  # across one free rotation
_PINS: dict[str, tuple[tuple[str, str, Literal["left", "right"], float], ...]] = {
    # of two: n and b of a plane of the owner in which n of the other body turns, and the sign
    "rx ry": (("n", "b", "left", 1.0), ("t", "b", "right", 1.0)),
    "rx rz": (("b", "n", "left", -1.0), ("t", "n", "right", -1.0)),
    "ry rz": (("b", "t", "left", 1.0), ("n", "t", "right", 1.0)),
    "": (),
}


def _angles(free: list[str]) -> list[Coordinate]:
    """How the free rotations are measured."""
    if len(free) == 1:
        n, b = _PLANES[free[0]]
        return [Angle(*_names(free[0]), n=n, b=b)]
    ends = [axis for axis in free if axis != "ry"] if len(free) == 3 else free
    found: list[Coordinate] = [
        Bearing(*_names(axis), n=n, b=b, direction=n, owner=owner, sign=sign)
        for axis, (n, b, owner, sign) in zip(ends, _PINS[" ".join(ends)], strict=True)
    ]
    if len(free) == 3:
        found.insert(1, Elevation("ry", "init_ry", prefix="ry/", left="t", right="b"))
    return found


def _names(axis: str) -> tuple[str, str, str, str, str]:
    """Of an angle: attribute, offset, unit, prefix and that over many turns."""
    return axis, f"init_{axis}", "rad", f"{axis}/", f"{axis}/multi_turn"
