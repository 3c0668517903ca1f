"""A robot in a `Sim`: a mechanism that knows the names of its file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.checked import checked
from dovetail.core import AffineBodyStateAccessorFeature
from dovetail.errors import SceneError
from dovetail.messages import counted, listed
from dovetail.sim.body import Body
from dovetail.sim.given import quaternion_of, rotation_of, vector
from dovetail.sim.handle import Handle
from dovetail.sim.joint import SimJoint
from dovetail.sim.mechanism import Mechanism
from dovetail.typing import Array, ArrayLike

if TYPE_CHECKING:
    from dovetail.doctor.finding import Finding
    from dovetail.robot.description import RobotDescription
    from dovetail.sim.coordinate import Coordinate
    from dovetail.sim.sim import Sim

__all__ = ["Frame", "Robot"]


class Frame(Handle):
    """The frame of a link of the file, on the body that carries it: `pos` [m], `rot`, `transform`, `body`, `name`."""

    name: str
    body: Body
    local: Array
    """Its pose (4, 4) in the frame of the body."""

    def __init__(self, name: str, body: Body, local: Array) -> None:
        self.name, self.body, self.local, self._lock = name, body, local, body._lock

    @property
    def transform(self) -> Array:
        return np.asarray(self.body.transform @ self.local)

    @property
    def pos(self) -> Array:
        return self.transform[:3, 3]

    @property
    def rot(self) -> Array:
        return quaternion_of(self.transform[:3, :3])

    def __repr__(self) -> str:
        return f"<frame '{self.name}' on body '{self.body.name}'>"


class Robot(Mechanism):
    """What `sim.robot(file)` makes: a `Mechanism` of the joints that are free to move, in the order of the file.

    | property | | |
    |---|---|---|
    | `bodies`, `joints` | by the names of the file | links that fixed joints hold are one body, named by the first |
    | `frames` | by the names of the file | where every link is, also those that are part of another's body |
    | `names`, `q`, `v`, `target`, … | | those of `Mechanism`; a joint that mimics another is in `joints` alone |
    | `base`, `pos`, `rot` | m | the first body, and where it is; setting them moves all of a robot with a free base |
    | `keyframes` | rad or m | postures q that the file names; it starts in `home` |
    | `findings` | | what of the file was not honoured as it stands, and what was masked |
    | `mass` | kg | of all links, the fixed ones included |
    """

    name: str
    description: RobotDescription
    bodies: dict[str, Body]
    joints: dict[str, SimJoint]
    frames: dict[str, Frame]
    base: Body

    def __init__(
        self,
        sim: Sim,
        name: str,
        description: RobotDescription,
        bodies: dict[str, Body],
        joints: dict[str, SimJoint],
        frames: dict[str, Frame],
    ) -> None:
        free = [
            c
            for file_name, joint in joints.items()
            if file_name in description.joints and description.joints[file_name].mimic is None
            for c in joint.coordinates.values()
        ]
        super().__init__(sim, free)
        self.name, self.description = name, description
        self.bodies, self.joints, self.frames = bodies, joints, frames
        self.base = bodies[description.root]
        of = {joint.name: file_name for file_name, joint in joints.items()}
        self.names = [_called(of[c.joint.name], c) for c in free]

    @property
    def findings(self) -> list[Finding]:
        return self.description.findings

    @property
    def keyframes(self) -> dict[str, Array]:
        known = self.description.joints
        leading = [name for name, made in self.joints.items() if made.coordinates and name in known]
        leading = [name for name in leading if known[name].mimic is None]
        return {
            title: np.concatenate([np.zeros(0), *(np.reshape(frame.q[joint], -1) for joint in leading)])
            for title, frame in self.description.keyframes.items()
        }

    @property
    def mass(self) -> float:
        return sum(link.inertia.mass for link in self.description.links.values() if link.inertia is not None)

    @property
    def pos(self) -> Array:
        return self.base.pos

    @pos.setter
    def pos(self, value: ArrayLike) -> None:
        T = self.base.transform
        T[:3, 3] = vector(f"robot '{self.name}'", "pos", value, "m")
        self._carry(T)

    @property
    def rot(self) -> Array:
        return self.base.rot

    @rot.setter
    def rot(self, value: Any) -> None:
        T = self.base.transform
        T[:3, :3] = rotation_of(f"robot '{self.name}'", value)
        self._carry(T)

    def _carry(self, T: Array) -> None:
        """Put the base at T and all else where it is then; velocities turn with it."""
        if self.base.fixed:
            raise SceneError(
                f"robot '{self.name}': its base is fixed; give pos and rot when you make it, or fixed_base=False."
            )
        motion = T @ np.linalg.inv(self.base.transform)
        turn = motion.copy()
        turn[:3, 3] = turn[3, 3] = 0.0
        accessor = self._sim.world.features().find(AffineBodyStateAccessorFeature)
        assert accessor is not None
        numbers = np.array([body.number for body in self.bodies.values()])
        state = accessor.create_geometry(int(numbers.min()), int(np.ptp(numbers)) + 1)
        for name in ("transform", "velocity"):
            state.instances.create(name, np.zeros((4, 4)))
        accessor.copy_to(state)
        for name, moved in (("transform", motion), ("velocity", turn)):
            values = state.instances.slot(name).edit()
            values[numbers - numbers.min()] = moved @ values[numbers - numbers.min()]
        accessor.copy_from(state)

    # --- of frames, too -------------------------------------------------------------------------------------

    def jacobian(self, body: Body | Frame, point: ArrayLike | None = None) -> Array:
        """(6, n) of a body or of a frame, by default at its origin; see `Mechanism.jacobian`."""
        if isinstance(body, Frame):
            return super().jacobian(body.body, body.pos if point is None else point)
        return super().jacobian(body, point)

    @checked(SceneError)
    def inverse_kinematics(
        self, body: Body | Frame, pos: ArrayLike, rot: Any = None, *, tolerance: float = 1e-6, steps: int = 200
    ) -> Array:
        """q (n,) within limits that brings a body, or a frame, to `pos` [m] and `rot`; see `Mechanism`."""
        if isinstance(body, Frame):
            return self._solve(body.body, body.local, pos, rot, tolerance, steps)
        return self._solve(body, np.eye(4), pos, rot, tolerance, steps)

    def __repr__(self) -> str:
        bodies = counted(len(self.bodies), "body", "bodies")
        return f"<robot '{self.name}': {bodies}, {counted(len(self.joints), 'joint')}, q: {listed(self.names)}>"


def _called(joint: str, coordinate: Coordinate) -> str:
    return joint if len(coordinate.joint.coordinates) == 1 else f"{joint}.{coordinate.name}"
