"""The world of a `Sim`: made when it is first needed, and made anew where bodies or joints were added or removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.checked import checked, shown
from dovetail.core import World
from dovetail.errors import SceneError
from dovetail.geometry import GeometrySlot
from dovetail.sim.body import Body
from dovetail.sim.burden import Burden, burdens
from dovetail.sim.coordinate import GRAVITY
from dovetail.sim.coupling import Coupling
from dovetail.sim.joint import SimJoint
from dovetail.sim.make_bodies import BodyMaking
from dovetail.sim.make_free_joints import FreeJointMaking
from dovetail.sim.readings import Readings
from dovetail.sim.recording import Recording
from dovetail.sim.start import resume, start
from dovetail.sim.words import speaking
from dovetail.typing import Array
from dovetail.world.world_state import WorldState

if TYPE_CHECKING:
    from dovetail.world.live import Live

__all__ = ["Changes"]


class Changes(BodyMaking, FreeJointMaking):
    """Bodies, joints and the world that runs them."""

    readings: Readings | None
    """Coordinates of joints as they are now; None before the world is there."""

    def __init__(self) -> None:
        super().__init__()
        self._world: World | None = None
        self._burdens: dict[tuple[str, str], Burden] = {}
        self._is_open = False  # things are added and removed; until the world is needed again
        self._synced = -1  # version of the state that attributes show
        self._start: tuple[int, dict[str, Array]] = 0, {}  # where the world was made
        self._home: WorldState | None = None
        self._rests: tuple[WorldState, Live, int] | None = None  # home, and the version of the state that is there
        self.readings = None
        self._recorders: list[Recording] = []
        self._in_rollout = False

    @property
    def world(self) -> World:
        """The world; made, and the scene checked, where that has not happened since something was added or removed."""
        if self._world is None or self._is_open:
            self._tune()
            world = self._world
            with speaking():
                if world is None:
                    world = start(self._scene)
                else:
                    resume(world)
            self.readings = Readings(world.live)
            for joint in self._joints.values():
                for coordinate in joint.coordinates.values():
                    coordinate.let_go()
            self._require_inside(world)
            self._world, self._is_open = world, False
            self._start, self._home = (self._world.frame(), self._world.live.arrays()), None
        return self._world

    def _tune(self) -> None:
        """Let drives without gains reckon with what they have to move."""
        drives = [c.drive for joint in self._joints.values() for c in joint.coordinates.values() if c.drive.present]
        self._burdens = self._weigh() if drives else {}
        for drive in drives:
            drive.tune()

    def _require_inside(self, world: World) -> None:
        """Refuse joints that begin outside of their limits: these would throw them back in the first step."""
        values = world.live.values()
        for joint in self._joints.values():
            for coordinate in joint.coordinates.values():
                value = float(values[world.live.coordinate(joint.slot, coordinate.name)])
                try:
                    coordinate.require_inside(value)
                except SceneError:
                    # another try is possible
                    if self._world is None:
                        self.readings = None
                        self._scene.thaw()
                    else:
                        self._world.reopen()
                    raise

    @property
    def burdens(self) -> dict[tuple[str, str], Burden]:
        """What coordinates have to move and carry, with bodies as at the start; by names of joint and coordinate."""
        return self._burdens or self._weigh()

    def _weigh(self) -> dict[tuple[str, str], Burden]:
        gravity = np.ravel(np.asarray(self._scene.config["gravity"], float))
        return burdens(self._joints.values(), self._couplings.values(), gravity, GRAVITY)

    @property
    def started(self) -> bool:
        """Whether the world is there, as the bodies and joints are now."""
        return self._world is not None and not self._is_open

    def reopen(self) -> None:
        """Let bodies and joints be added and removed, which their calls do by themselves.

        The world is made anew when it is needed next, and goes on with all that stayed.
        """
        if not self.started:
            return
        assert self._world is not None
        if any(recording.begun for recording in self._recorders):
            raise SceneError(
                "Sim: bodies, joints, and what they have, cannot be added or removed in the middle of a recording; "
                "close it first, and begin another one afterwards."
            )
        if self._in_rollout:
            raise SceneError(
                "Sim: bodies, joints, and what they have, cannot be added or removed in the middle of a rollout. What "
                "`controls` give their first force, torque, target or limit gets room for it that way: give it one, "
                "which may be 0, before the rollout."
            )
        self._world.reopen()
        self._is_open, self._burdens = True, {}
        for body in self._bodies.values():
            body.let_go()

    @checked(SceneError)
    def runs(self, slot: GeometrySlot) -> bool:
        """Whether the world is there, and something of this slot in it."""
        return self.started and slot.id() in self._scene.geometries

    @checked(SceneError)
    def require_present(self, who: str, slot: GeometrySlot) -> None:
        """Refuse what was removed."""
        if slot.id() not in self._scene.geometries:
            raise SceneError(f"{who}: it was removed; make it anew.")

    def remove(self, *things: Body | SimJoint | Coupling) -> None:
        """Take bodies, joints and couplings out, before the first step or between two.

        Joints go with their bodies, and couplings with their joints. All others go on as they were.
        """
        known = {id(found) for found in (*self._bodies.values(), *self._joints.values())}
        known |= {id(coupling) for coupling in self._couplings.values()}
        for thing in things:
            if id(thing) not in known:
                raise SceneError(
                    f"Sim.remove: {shown(thing)} is not in this Sim; give bodies, joints or couplings of it."
                )
        gone = {id(thing) for thing in things}
        joints = [j for j in self._joints.values() if gone & {id(j), id(j.left), id(j.right)}]
        gone |= {id(joint) for joint in joints}
        couplings = [c for c in self._couplings.values() if gone & {id(c), id(c.follower.joint), id(c.leader.joint)}]
        self.reopen()
        for coordinate in (c for joint in joints for c in joint.coordinates.values()):
            coordinate.let_go()
        bodies = [body for body in self._bodies.values() if id(body) in gone]
        for name in [thing.name for group in (couplings, joints, bodies) for thing in group]:
            (owner,) = self._scene.objects.find(name)
            self._scene.objects.destroy(owner.id())
            for named in (self._couplings, self._joints, self._bodies, self._material):
                named.pop(name, None)
