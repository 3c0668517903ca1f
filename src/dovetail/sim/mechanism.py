"""Joints of a `Sim` as arrays: one number for each coordinate, in one order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.checked import checked, shown
from dovetail.errors import SceneError
from dovetail.messages import counted, listed
from dovetail.sim.given import rotation_of, vector
from dovetail.sim.handle import Handle
from dovetail.sim.inverse_kinematics import inverse_kinematics
from dovetail.sim.table import spell
from dovetail.sim.targets import Targets
from dovetail.sim.words import in_own_words
from dovetail.typing import Array, ArrayLike

if TYPE_CHECKING:
    from dovetail.sim.body import Body
    from dovetail.sim.coordinate import Coordinate
    from dovetail.sim.sim import Sim
    from dovetail.world.gauge import Gauge
    from dovetail.world.live import Live
    from dovetail.world.mechanism_state import MechanismState

__all__ = ["Mechanism"]

_FARTHEST = 64.0
"""Rad or m that a coordinate goes at once: loops are followed step by step."""


@in_own_words
class Mechanism(Handle):
    """All coordinates of some joints, (n,) numbers each, joint by joint; `sim.mechanism(*joints)` makes it.

    | property | unit | |
    |---|---|---|
    | `coordinates` | | handles of them |
    | `names` | | of joints, with the coordinate behind a point where a joint has several |
    | `q`, `v` | rad or m, per s | coordinates and their rates |
    | `home` | rad or m | q in the state that `sim.reset()` goes to |
    | `limits` | rad or m | (n, 2), infinite where there are none |
    | `target`, `target_velocity` | rad or m, per s | of the drives |
    | `effort` | N·m or N | what drives, and torques and forces of the joints, exert; setting it sets the latter |

    Setting q puts the bodies there, all joints closed: loops are solved for, on the branch that they are on. Joints
    that are not part of the mechanism stay as they are, as far as that is possible. Rates are kept. What cannot be
    reached, is beyond limits, or would make surfaces intersect, is refused, and nothing is changed.
    """

    names: list[str]
    coordinates: list[Coordinate]

    def __init__(self, sim: Sim, coordinates: list[Coordinate]) -> None:
        self._sim, self._lock = sim, sim._lock
        self.coordinates = coordinates
        self.names = [
            c.joint.name if len(c.joint.coordinates) == 1 else f"{c.joint.name}.{c.name}" for c in self.coordinates
        ]
        self._made: MechanismState | None = None
        self._live: Live | None = None  # whose it is
        self._targets: Targets | None = None  # once all joints have drives

    def __len__(self) -> int:
        return len(self.coordinates)

    @property
    def sim(self) -> Sim:
        """The simulation that it is part of."""
        return self._sim

    @property
    def _state(self) -> MechanismState:
        live = self._sim.world.live
        if self._made is None or self._live is not live:
            for c in self.coordinates:
                self._sim.require_present(c.joint.who, c.joint.slot)
            places = [live.coordinate(c.joint.slot, c.name) for c in self.coordinates]
            self._made, self._live = live.mechanism(np.array(places, np.int64)), live
        return self._made

    @property
    def gauge(self) -> Gauge:
        """Where the coordinates lie in memory, until the simulation is changed."""
        return self._state.gauge

    # --- state ----------------------------------------------------------------------------------------------

    @property
    def q(self) -> Array:
        return self._state.q

    @q.setter
    def q(self, values: ArrayLike) -> None:
        self.place(values)

    def place(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Set q, and v with it: both in one go, which costs half as much as one after the other."""
        q, limits, state = self._given("q", q), self.limits, self._state
        v = None if v is None else self._given("v", v)
        for k in np.flatnonzero((q < limits[:, 0]) | (q > limits[:, 1]))[:1].tolist():
            unit = self.coordinates[k].unit
            raise SceneError(
                f"Mechanism.q: '{self.names[k]}' would be at {q[k]:g} [{unit}], beyond its limits "
                f"{spell(limits[k])}; stay within them."
            )
        for k in np.flatnonzero(np.abs(q - state.q) > _FARTHEST)[:1].tolist():
            raise SceneError(
                f"Mechanism.q: '{self.names[k]}' = {q[k]:g} [{self.coordinates[k].unit}] is more than {_FARTHEST:g} "
                "from where it is; go there in several steps."
            )
        Q, values, reached = state.reach(q)
        for k in state.misses(q, reached)[:1].tolist():
            unit = self.coordinates[k].unit
            how = "joints would stay open" if np.isnan(reached[k]) else f"{reached[k]:g} is as near as joints allow"
            raise SceneError(
                f"Mechanism.q: '{self.names[k]}' cannot be at {q[k]:g} [{unit}] with the others where they are asked "
                f"to be: {how}. Of a loop, give a mechanism of the joints that you set alone."
            )
        state.put("Mechanism.q", Q, values, v)

    @property
    def v(self) -> Array:
        return self._state.v

    @v.setter
    def v(self, values: ArrayLike) -> None:
        self._state.set_rates("Mechanism.v", self._given("v", values))

    @property
    def home(self) -> Array:
        return self._state.q_in(self._sim.home)

    @property
    def limits(self) -> Array:
        return np.array([c.limit or (-np.inf, np.inf) for c in self.coordinates]).reshape(-1, 2)

    # --- drives ---------------------------------------------------------------------------------------------

    @property
    def target(self) -> Array:
        return np.array([c.drive.target for c in self.coordinates])

    @target.setter
    def target(self, values: ArrayLike) -> None:
        given = self._given("target", values)
        if self._targets is None and self.coordinates and all(c.drive.present for c in self.coordinates):
            self._targets = Targets(self.coordinates)
        if self._targets is not None and self._targets.put(given):
            return
        for coordinate, value in zip(self.coordinates, given.tolist(), strict=True):
            coordinate.drive.target = value

    def hold(self) -> None:
        """Have all drives hold the coordinates where they are now."""
        for coordinate in self.coordinates:
            coordinate.drive.hold()

    @property
    def target_velocity(self) -> Array:
        return np.array([c.drive.target_velocity for c in self.coordinates])

    @target_velocity.setter
    def target_velocity(self, values: ArrayLike) -> None:
        for coordinate, value in zip(self.coordinates, self._given("target_velocity", values).tolist(), strict=True):
            coordinate.drive.target_velocity = value

    @property
    def effort(self) -> Array:
        return np.array([c.drive.effort + (c.load or 0.0) for c in self.coordinates])

    @effort.setter
    def effort(self, values: ArrayLike) -> None:
        given = self._given("effort", values).tolist()
        for name in [name for name, c in zip(self.names, self.coordinates, strict=True) if c.load is None][:1]:
            raise SceneError(
                f"Mechanism.effort: '{name}' takes no effort; only hinges and sliders do. Drive the others, or leave "
                "them out of the mechanism."
            )
        for coordinate, value in zip(self.coordinates, given, strict=True):
            coordinate.load = value

    @property
    def settings(self) -> Array:
        """(n, 5) of each coordinate: stiffness, damping, target and its velocity of the drive, and the load on it.

        Setting it brings all of them back, of drives and loads that there are.
        """
        rows = []
        for c in self.coordinates:
            drive = c.drive
            rows.append((drive.stiffness, drive.damping, drive.target, drive.target_velocity, c.load or 0.0))
        return np.array(rows)

    @settings.setter
    def settings(self, values: ArrayLike) -> None:
        size = 5 * len(self)
        rows = vector("Mechanism.settings", f"{size} numbers", values, size=size).reshape(-1, 5)
        for c, (*gains, load) in zip(self.coordinates, rows.tolist(), strict=True):
            if c.drive.present:
                for name, value in zip(("stiffness", "damping", "target", "target_velocity"), gains, strict=True):
                    c.set(f"drive/{name}", value)
            if c.load is not None:
                c.load = load

    # --- what follows from it -------------------------------------------------------------------------------

    def jacobian(self, body: Body, point: ArrayLike | None = None) -> Array:
        """(6, n): `jacobian @ v` is the velocity [m/s] of a point of the body, and below it its spin [rad/s].

        The point is given in the world, where it is now [m]; by default it is the body's origin.
        """
        number = self._number("jacobian", body)
        place = body.pos if point is None else vector("Mechanism.jacobian", "point", point, "m")
        return self._state.jacobian(number, place)

    def mass_matrix(self) -> Array:
        """M (n, n): ½ v·M v is the kinetic energy [J] of the bodies that the mechanism moves.

        Around loops not every v is possible; M is for those that are.
        """
        return self._state.mass_matrix()

    def bias(self) -> Array:
        """The efforts (n,) [N·m or N] against gravity and Coriolis forces: with them, and no others, v stays as it is.

        M v̇ + bias = effort, where the mechanism is a tree and all of its coordinates are part of it.
        """
        return self._state.bias()

    @checked(SceneError)
    def inverse_kinematics(
        self, body: Body, pos: ArrayLike, rot: Any = None, *, tolerance: float = 1e-6, steps: int = 200
    ) -> Array:
        """q (n,) within limits that brings the body's origin to `pos` [m], and the body to `rot`, if that is given.

        It begins in the present state, which it leaves alone: `m.q = m.inverse_kinematics(…)` goes there. Raises
        SceneError where it comes no nearer than `tolerance` [m, rad], with how near that is.
        """
        return self._solve(body, np.eye(4), pos, rot, tolerance, steps)

    # --- how ------------------------------------------------------------------------------------------------

    def _solve(self, body: Body, frame: Array, pos: ArrayLike, rot: Any, tolerance: float, steps: int) -> Array:
        """q that brings a frame of a body, of which `frame` (4, 4) is the pose in the body, to a place."""
        who = "Mechanism.inverse_kinematics"
        place = vector(who, "pos", pos, "m")
        turn = None if rot is None else rotation_of(who, rot)
        tip = self._number("inverse_kinematics", body), frame
        return inverse_kinematics(self._state, tip, place, turn, self.limits, tolerance, steps)

    def _number(self, call: str, body: Body) -> int:
        if not any(ours is body for ours in self._sim.bodies):
            raise SceneError(f"Mechanism.{call}: {shown(body)} is not a body of this Sim; give one.")
        return body.number

    def _given(self, what: str, values: ArrayLike) -> Array:
        return vector(f"Mechanism.{what}", f"{what} of {counted(len(self), 'coordinate')}", values, size=len(self))

    def __repr__(self) -> str:
        return f"<Mechanism of {counted(len(self), 'coordinate')}: {listed(self.names)}>"
