"""What can be added to a joint that has a coordinate: drives, limits and loads.

An addition belongs to one kind of joint (`base`) and writes attributes beside those of the joint. It may be
put on any subset of joint geometries, in any order.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dovetail import builtin
from dovetail.checked import checked
from dovetail.constitution.base import (
    Constraint,
    IConstitution,
    InterAffineBodyExtraConstitution,
    class_of,
    fill,
    mark,
    uid_of,
    write,
)
from dovetail.constitution.joint.base import EdgeJoint, Joint
from dovetail.constitution.laws import Limit, Stop
from dovetail.constitution.place import Place
from dovetail.constitution.terms import Compose, Coordinate, Load
from dovetail.errors import ArgumentType
from dovetail.geometry import AttributeCollection, SimplicialComplex
from dovetail.typing import Array, ArrayLike

__all__ = ["Drive", "JointExtra", "JointLimit", "JointLoad", "checked_limit", "limit_laws", "write_limit"]


class JointExtra(IConstitution):
    """An addition to the edges of one kind of joint."""

    base: ClassVar[type[EdgeJoint]]
    terms: ClassVar[tuple[Compose, ...]] = ()

    @classmethod
    def laws_on(cls, kind: type[Joint], elements: AttributeCollection) -> tuple[Compose, ...]:
        """The laws that it puts on a joint geometry of that kind with these attributes."""
        return cls.terms

    def _on(self, sc: SimplicialComplex) -> Place:
        """The edges of `sc`, after a check that it carries the right kind of joint."""
        place = Place(type(self).__name__, "edge", sc.edges.size())
        uid, needed = uid_of(sc), self.base.uids[0]
        carried = class_of(uid) if uid else IConstitution
        if not issubclass(carried, self.base):
            found = f"{carried.__name__} ({uid})" if uid else "no joint"
            raise place.error(f"the geometry carries {found}; apply {self.base.__name__} ({needed}) to it first.")
        return place

    def _unit(self) -> str:
        assert self.base.coordinate is not None
        return self.base.coordinate.unit


class Drive(JointExtra):
    """Pulls the coordinate of a joint towards a target, φ = K_d/2 (x − x̃)², K_d = γ_d(m_i + m_j).

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | edges | `driving/is_constrained` | | 1: drives, 0: off (the default) |
    | edges | `is_passive` | | 1: holds the value it had when this became 1; default 0 |
    | edges | `driving/strength_ratio` | | γ_d |
    | edges | `aim_angle` or `aim_distance` | rad or m | target, in the frame of the reported value |
    | edges | `driving/effort` | N·m or N | what the drive exerts along +t, written by the world |

    The first four are read every frame, after the animator, and reset by every `apply_to`.
    """

    aim: ClassVar[str]

    @checked(ArgumentType)
    def apply_to(self, sc: SimplicialComplex, strength_ratio: ArrayLike = 100.0) -> None:
        """Put a drive, switched off, on every edge; `strength_ratio` is one number or one per edge."""
        place = self._on(sc)
        gamma = place.positive("driving/strength_ratio", strength_ratio)
        mark(sc, self._uid, builtin.constraint_uids)
        fill(sc.edges, "driving/is_constrained", 0)
        fill(sc.edges, "is_passive", 0)
        write(sc.edges, "driving/strength_ratio", 100.0, gamma)
        fill(sc.edges, self.aim, 0.0)
        fill(sc.edges, "driving/effort", 0.0)

    def check(self, geometry: Any, name: str = "") -> None:
        edges = geometry.edges
        place = Place(type(self).__name__, "edge", edges.size(), name)
        place.positive("driving/strength_ratio", edges.slot("driving/strength_ratio").values)
        place.numbers(self.aim, edges.slot(self.aim).values, self._unit())


class JointLimit(JointExtra, InterAffineBodyExtraConstitution):
    """Pushes the coordinate x of a joint back between l and u with a cubic penalty; inside it is free.

        φ = s((x − u)/w)³ above u,   s((l − x)/w)³ below l,   w = u − l, or 1 if u = l

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | edges | `limit/lower`, `limit/upper` | m or rad | bounds on the reported value; default 0, 0 |
    | edges | `limit/strength` | kg·m² | s; default 1; inf: the bounds are never crossed |
    | edges | `limit/violation` | m or rad | how far outside, 0 inside, written by the world |
    | edges | `limit/effort` | N or N·m | what it exerts along the coordinate, written by the world |

    The first three are read every frame, after the animator. An infinite strength makes a hard limit, a barrier
    (`laws.Stop`); the first one of a geometry must be there at init.
    """

    @classmethod
    def laws_on(cls, kind: type[Joint], elements: AttributeCollection) -> tuple[Compose, ...]:
        assert cls.base.coordinate is not None
        return limit_laws(cls.base.coordinate, elements)

    @checked(ArgumentType)
    def apply_to(
        self, sc: SimplicialComplex, lower: ArrayLike = 0.0, upper: ArrayLike = 0.0, strength: ArrayLike = 1.0
    ) -> None:
        """Limit every edge; each argument is one number or one per edge."""
        place = self._on(sc)
        numbers = checked_limit(place, self._unit(), lower, upper, strength)
        mark(sc, self._uid, builtin.extra_constitution_uids)
        write_limit(sc.edges, "", *numbers)

    def check(self, geometry: Any, name: str = "") -> None:
        place = Place(type(self).__name__, "edge", geometry.edges.size(), name)
        numbers = (geometry.edges.slot(f"limit/{a}").values for a in ("lower", "upper", "strength"))
        checked_limit(place, self._unit(), *numbers)


def limit_laws(word: Coordinate, elements: AttributeCollection) -> tuple[Compose, ...]:
    """The laws of a limit on a coordinate: a barrier too where some of its strengths are infinite."""
    laws = (Compose(Limit(word.prefix), word),)
    hard = np.isinf(elements.slot(f"{word.prefix}limit/strength").values).any()
    return (*laws, Compose(Stop(word.prefix), word)) if hard else laws


def checked_limit(
    place: Place, unit: str, lower: ArrayLike, upper: ArrayLike, strength: ArrayLike
) -> tuple[Array, Array, Array]:
    """Bounds and strengths that make a limit, one of each per element."""
    low, high = place.numbers("lower", lower, unit), place.numbers("upper", upper, unit)
    bad = np.flatnonzero(low > high)
    if bad.size:
        at = int(bad[0])
        raise place.error(f"has lower = {low[at]:g} > upper = {high[at]:g} [{unit}]; swap them.", at)
    return low, high, place.positive("strength", strength, infinite="bounds that are never crossed")


def write_limit(elements: AttributeCollection, prefix: str, lower: Array, upper: Array, strength: Array) -> None:
    """The attributes of a limit, all names with a prefix."""
    write(elements, f"{prefix}limit/lower", 0.0, lower)
    write(elements, f"{prefix}limit/upper", 0.0, upper)
    write(elements, f"{prefix}limit/strength", 1.0, strength)
    for name in ("violation", "effort"):
        fill(elements, f"{prefix}limit/{name}", 0.0)


class JointLoad(JointExtra, Constraint):
    """A force or torque along the axis of a joint, opposite on its two bodies; + increases the coordinate.

    It has no energy and is read every frame, after the animator. `<load>/is_constrained` switches each
    edge: it is 0 after `apply_to`, so set it to 1 for the load to act.
    """

    loads: ClassVar[tuple[Load, ...]]
    load: ClassVar[str]
    unit: ClassVar[str]

    def _apply(self, sc: SimplicialComplex, values: ArrayLike) -> None:
        place = self._on(sc)
        numbers = place.numbers(self.load, values, self.unit)
        mark(sc, self._uid, builtin.constraint_uids)
        write(sc.edges, self.load, 0.0, numbers)
        fill(sc.edges, f"{self.load}/is_constrained", 0)

    def check(self, geometry: Any, name: str = "") -> None:
        place = Place(type(self).__name__, "edge", geometry.edges.size(), name)
        place.numbers(self.load, geometry.edges.slot(self.load).values, self.unit)
