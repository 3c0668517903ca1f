"""Putting joints into a `Sim`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict, TypeVar, Unpack

import numpy as np

from dovetail.checked import checked, shown
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyCylindricalJoint,
    AffineBodyDistanceJoint,
    AffineBodyFixedJoint,
    AffineBodyJointCoupling,
    AffineBodyPlanarJoint,
    AffineBodyPointOnLineJoint,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodyScrewJoint,
    AffineBodyUniversalJoint,
    EdgeJoint,
    Joint,
)
from dovetail.errors import DovetailError, SceneError
from dovetail.geometry import SimplicialComplex, SimplicialComplexSlot
from dovetail.sim.body import Body
from dovetail.sim.coordinate import Coordinate
from dovetail.sim.coupling import Coupling
from dovetail.sim.further_joints import (
    CylindricalJoint,
    DistanceJoint,
    PlanarJoint,
    PointOnLineJoint,
    ScrewJoint,
    UniversalJoint,
)
from dovetail.sim.given import flag, positive, unit, vector
from dovetail.sim.joint import FixedJoint, MovingJoint, PrismaticJoint, RevoluteJoint, SimJoint
from dovetail.sim.making import Making, taken
from dovetail.typing import Array, ArrayLike, Indices

__all__ = ["HoldOptions", "JointMaking", "JointOptions", "lever"]

_SHORT = 1e-9  # axes of this length beside their place are looked at twice
_FIRST = np.zeros(1, np.int64)  # every geometry has one instance
_Joint = TypeVar("_Joint", bound=SimJoint)
_Moving = TypeVar("_Moving", bound=MovingJoint)


class HoldOptions(TypedDict, total=False):
    """What every joint takes.

    | | |
    |---|---|
    | `name` | unique; default such as "revolute joint 1" |
    | `exact` | False: it may yield; default that of the Sim |
    | `strength` | γ: if it may yield, it is as stiff as γ(m_i + m_j)/dt²; default 100 |
    """

    name: str
    exact: bool
    strength: float


class JointOptions(HoldOptions, total=False):
    """What joints with a coordinate take beside `HoldOptions`; all of it concerns the first coordinate.

    | | |
    |---|---|
    | `limit` | (lower, upper) [rad or m] |
    | `hard` | True: the limits are never crossed |
    | `drive` | a target [rad or m] to hold, or True for a drive that is off until it is given one |
    | `motor` | a speed [rad/s or m/s] to run at |
    | `spring` | the stiffness [N·m/rad or N/m] of a spring that is at rest where the joint is made; see `joint.rest` |
    | `damping` | a resistance in proportion to the velocity [N·m·s/rad or N·s/m] |
    | `friction` | a resistance of constant size [N·m or N] |
    | `armature` | inertia of the coordinate itself [kg·m² or kg]: a motor's rotor behind its gears |
    """

    limit: tuple[float, float] | None
    hard: bool
    drive: float | bool | None
    motor: float | None
    spring: float
    damping: float
    friction: float
    armature: float


class _Ends(NamedTuple):
    """The two bodies and the strength as constitutions take them."""

    l_slots: list[SimplicialComplexSlot]
    l_instances: Indices
    r_slots: list[SimplicialComplexSlot]
    r_instances: Indices
    strengths: list[float]


class JointMaking(Making):
    """The calls that make joints. `left` may be None for the world; places and directions are of the world now."""

    _exact: bool

    def __init__(self) -> None:
        super().__init__()
        self._anchor: SimplicialComplexSlot | None = None
        self._alike: dict[tuple[type[Joint], float], SimplicialComplex] = {}  # what such joints have in common
        self._couplings: dict[str, Coupling] = {}

    # --- joints of the specification ------------------------------------------------------------------------

    def revolute(
        self, left: Body | None, right: Body, pos: ArrayLike, axis: ArrayLike, **options: Unpack[JointOptions]
    ) -> RevoluteJoint:
        """A hinge through `pos` [m] along `axis`. Options: see `JointOptions`."""
        return self._moving(RevoluteJoint, AffineBodyRevoluteJoint(), left, right, pos, axis, options)

    def prismatic(
        self,
        left: Body | None,
        right: Body,
        axis: ArrayLike,
        pos: ArrayLike | None = None,
        **options: Unpack[JointOptions],
    ) -> PrismaticJoint:
        """A slider along `axis` through `pos` [m], by default the right body's place. Options: see `JointOptions`."""
        place = self._checked("Sim.prismatic", left, right).pos if pos is None else pos
        return self._moving(PrismaticJoint, AffineBodyPrismaticJoint(), left, right, place, axis, options)

    def fixed(
        self, left: Body | None, right: Body, pos: ArrayLike | None = None, **options: Unpack[HoldOptions]
    ) -> FixedJoint:
        """A weld at `pos` [m], by default midway; the bodies keep their relative pose. Options: see `HoldOptions`."""
        who = "Sim.fixed"
        ends = self._ends(who, left, right, options, AffineBodyFixedJoint)
        if pos is None:
            place = right.pos if left is None else np.asarray((left.pos + right.pos) / 2)
        else:
            place = vector(who, "pos", pos, "m")
        in_left = place if left is None else left.local(place)
        joint = AffineBodyFixedJoint().create_geometry([in_left], [right.local(place)], *ends)
        return self._join(FixedJoint, who, options, joint, left, right, place)

    # --- further joints -------------------------------------------------------------------------------------

    def cylindrical(
        self, left: Body | None, right: Body, pos: ArrayLike, axis: ArrayLike, **options: Unpack[JointOptions]
    ) -> CylindricalJoint:
        """A shaft in a sleeve through `pos` [m] along `axis`. Options: see `JointOptions`."""
        return self._moving(CylindricalJoint, AffineBodyCylindricalJoint(), left, right, pos, axis, options)

    def screw(
        self,
        left: Body | None,
        right: Body,
        pos: ArrayLike,
        axis: ArrayLike,
        pitch: float,
        **options: Unpack[JointOptions],
    ) -> ScrewJoint:
        """A nut on a thread through `pos` [m] along `axis`; `pitch` [m] per turn, right-handed where it is positive."""
        number = float(vector("Sim.screw", "pitch", pitch, "m", 1)[0])
        return self._moving(
            ScrewJoint, AffineBodyScrewJoint(), left, right, pos, axis, options, attributes={"pitch": number}
        )

    def universal(
        self,
        left: Body | None,
        right: Body,
        pos: ArrayLike,
        axis: ArrayLike,
        cross: ArrayLike | None = None,
        **options: Unpack[JointOptions],
    ) -> UniversalJoint:
        """A cross at `pos` [m]: a pin along `axis` in the left body, and one across it, along `cross`, in the right."""
        other = {} if cross is None else {"frame/n": unit("Sim.universal", "cross", cross)}
        return self._moving(
            UniversalJoint, AffineBodyUniversalJoint(), left, right, pos, axis, options, attributes=other
        )

    def planar(
        self,
        left: Body | None,
        right: Body,
        pos: ArrayLike,
        normal: ArrayLike,
        x: ArrayLike | None = None,
        **options: Unpack[JointOptions],
    ) -> PlanarJoint:
        """A puck at `pos` [m] on a plane with this normal; `x` is the direction that its coordinate x counts along."""
        other = {} if x is None else {"frame/n": unit("Sim.planar", "x", x)}
        return self._moving(PlanarJoint, AffineBodyPlanarJoint(), left, right, pos, normal, options, attributes=other)

    def point_on_line(
        self, left: Body | None, right: Body, pos: ArrayLike, axis: ArrayLike, **options: Unpack[JointOptions]
    ) -> PointOnLineJoint:
        """A bead: the right body's point at `pos` [m] stays on the left body's line along `axis`."""
        return self._moving(PointOnLineJoint, AffineBodyPointOnLineJoint(), left, right, pos, axis, options)

    def distance(
        self,
        left: Body | None,
        right: Body,
        start: ArrayLike,
        end: ArrayLike,
        **options: Unpack[JointOptions],
    ) -> DistanceJoint:
        """A rod from `start` [m] on the left body to `end` on the right keeps them as far apart as they are."""
        who = "Sim.distance"
        ends = self._ends(who, left, right, options, AffineBodyDistanceJoint)
        a, b = vector(who, "start", start, "m"), vector(who, "end", end, "m")
        joint = AffineBodyDistanceJoint().create_geometry([a], [b], *ends)
        return self._equipped(self._join(DistanceJoint, who, options, joint, left, right, b), options)

    # --- between joints -------------------------------------------------------------------------------------

    @checked(SceneError)
    def couple(
        self,
        follower: SimJoint | Coordinate,
        leader: SimJoint | Coordinate,
        ratio: float,
        offset: float = 0.0,
        *,
        strength: float = math.inf,
        name: str = "",
    ) -> Coupling:
        """Make a coordinate follow another: x = ratio·x_leader + offset [rad or m]. Gears, belts, racks, mimics.

        Two outer gears have the ratio −z_leader/z_follower; a rack has that of the pinion's radius [m/rad]. Of a joint
        it is the first coordinate; `joint.coordinates[…]` has others. With a finite `strength` γ it may yield.
        """
        who = "Sim.couple"
        self.reopen()
        ends = []
        for side, given in (("follower", follower), ("leader", leader)):
            first = next(iter(given.coordinates.values()), None) if isinstance(given, SimJoint) else given
            ours = isinstance(first, Coordinate) and self._joints.get(first.joint.name) is first.joint
            if not isinstance(first, Coordinate) or not ours:
                raise SceneError(f"{who}: the {side} is {shown(given)}; give a joint of this Sim with a coordinate.")
            ends.append(first)
        if ends[0] is ends[1]:
            raise SceneError(f"{who}: follower and leader are both {ends[0].who}; a coupling needs two coordinates.")
        gear, shift = (float(vector(who, w, x, size=1)[0]) for w, x in (("ratio", ratio), ("offset", offset)))
        geometry = AffineBodyJointCoupling().create_geometry(
            [ends[1].joint.slot], [ends[0].joint.slot], gear, shift, strength,
            leader_coordinate=ends[1].name, follower_coordinate=ends[0].name,
        )  # fmt: skip
        title = self._name(who, "coupling", name)
        slot = self._scene.objects.create(title).geometries.adopt(geometry)
        self._couplings[title] = Coupling(self, slot, *ends)  # type: ignore[arg-type]  # Sim is the one subclass
        return self._couplings[title]

    # --- how ------------------------------------------------------------------------------------------------

    def _moving(
        self,
        handle: type[_Moving],
        constitution: EdgeJoint,
        left: Body | None,
        right: Body,
        pos: ArrayLike,
        axis: ArrayLike,
        options: JointOptions,
        attributes: dict[str, Any] | None = None,
    ) -> _Moving:
        who = f"Sim.{handle.kind.removesuffix(' joint').replace('-', '_')}"
        ends = self._ends(who, left, right, options, type(constitution))
        start, along = vector(who, "pos", pos, "m"), unit(who, "axis", axis)
        along *= lever(left, right)
        key = type(constitution), ends.strengths[0]
        like = self._alike.get(key)
        if like is None or right.fixed or np.abs(along).max() < _SHORT * np.abs(start).max():
            joint = constitution.create_geometry([start], [start + along], *ends)
            if issubclass(handle, (RevoluteJoint, PrismaticJoint)):
                handle.prepare(joint)
            self._alike[key] = joint.copy()
        else:
            joint = like.copy()
            joint.positions.edit()[...] = start, start + along
            joint.edges.slot("l_geo_id").edit()[0] = ends.l_slots[0].id()
            joint.edges.slot("r_geo_id").edit()[0] = ends.r_slots[0].id()
        for name, value in (attributes or {}).items():
            joint.edges[name] = value
        return self._equipped(self._join(handle, who, options, joint, left, right, start), options)

    def _equipped(self, made: _Moving, options: JointOptions) -> _Moving:
        """The joint with what its options ask for; without a joint where it cannot have that."""
        return self._kept(made, lambda: self._equip(made, options))

    def _kept(self, made: _Joint, equip: Callable[[], None]) -> _Joint:
        """The joint, after it was equipped; it is removed where that is refused."""
        try:
            equip()
        except DovetailError:
            del self._joints[made.name]
            (owner,) = self._scene.objects.find(made.name)
            self._scene.objects.destroy(owner.id())
            raise
        return made

    def _equip(self, made: MovingJoint, options: JointOptions) -> None:
        limit, drive, motor = options.get("limit"), options.get("drive"), options.get("motor")
        if limit is not None:
            made.limit = limit
        if flag(made.who, "hard", options.get("hard", False)):
            made.hard = True
        if drive is not None and drive is not False and motor is not None:
            raise SceneError(f"{made.who}: both drive and motor are given; give a target or a speed.")
        if drive is True:
            made.drive.add()
        elif drive is not None and drive is not False:
            made.drive.target = drive
        if motor is not None:
            made.drive.target_velocity = motor
        if "spring" in options:
            made.spring = options["spring"]
        if "damping" in options:
            made.damping = options["damping"]
        if "friction" in options:
            made.friction = options["friction"]
        if "armature" in options:
            made.armature = options["armature"]

    def _ends(self, who: str, left: Body | None, right: Body, options: Any, kind: type[Joint]) -> _Ends:
        self.reopen()
        self._checked(who, left, right)
        known = JointOptions if kind.coordinate is not None else HoldOptions
        unknown = options.keys() - known.__annotations__.keys()
        if unknown:
            raise SceneError(f"{who}: there is no option '{sorted(unknown)[0]}'; {taken(known)}.")
        strength = positive(who, "strength", options.get("strength", 100.0))
        exact = flag(who, "exact", options.get("exact", self._exact and "strength" not in options))
        slot = self._world_anchor() if left is None else left.slot
        return _Ends([slot], _FIRST, [right.slot], _FIRST, [math.inf if exact else strength])

    def _checked(self, who: str, left: Body | None, right: Body) -> Body:
        """The right body, where both are bodies of this Sim and different ones."""
        for side, body in (("left", left), ("right", right)):
            ours = isinstance(body, Body) and self._bodies.get(body.name) is body
            if not ours and not (side == "left" and body is None):
                advice = "a body of this Sim, or None for the world" if side == "left" else "a body of this Sim"
                raise SceneError(f"{who}: the {side} body is {shown(body)}; give {advice}.")
        if left is right:
            raise SceneError(f"{who}: both bodies are '{right.name}'; a joint needs two.")
        if right.fixed and (left is None or left.fixed):
            base = "the world" if left is None else f"'{left.name}'"
            raise SceneError(f"{who}: {base} and '{right.name}' are both fixed; let one of them move, or leave it out.")
        return right

    def _join(
        self,
        handle: type[_Joint],
        who: str,
        options: HoldOptions,
        joint: SimplicialComplex,
        left: Body | None,
        right: Body,
        point: Array,
    ) -> _Joint:
        name = self._name(who, handle.kind, options.get("name", ""))
        made = handle(self, self._add(name, joint), left, right, point)  # type: ignore[arg-type]  # Sim is the one subclass
        self._joints[name] = made
        return made

    def _world_anchor(self) -> SimplicialComplexSlot:
        """The immovable point that joints with the world hold on to.

        It has next to no mass, so that a joint is made for the mass of its other body.
        """
        if self._anchor is None:
            proxy = AffineBodyConstitution().create_proxy(self._kappa, 1e-6, np.zeros(3), 1e-6 * np.eye(3), 1e-6)
            proxy.instances["is_fixed"] = 1
            self._anchor = self._add(self._name("Sim", "world", "world"), proxy)
        return self._anchor


def lever(left: Body | None, right: Body) -> float:
    """Length of a joint's axis [m], its lever against tilting: half the size of the smaller body."""
    return 0.5 * min(body.extent for body in (left, right) if body and body.extent > 0)
