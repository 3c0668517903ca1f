"""A robot in a `Sim`: a mechanism that knows the names of its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.errors import SceneError
from dovetail.sim.body import Body
from dovetail.sim.given import quaternion_of
from dovetail.sim.handle import Handle
from dovetail.sim.joint import SimJoint
from dovetail.sim.mechanism import Mechanism
from dovetail.typing import Array

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
        self.name, self.body, self.local = name, body, local

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
    | `bodies`, `joints` | by the names of the file | links that fixed joints hold together are one body, named by the first |
    | `frames` | by the names of the file | where every link is, also those that are part of another's body |
    | `names`, `q`, `v`, `target`, … | | those of `Mechanism`; a joint that mimics another is in `joints` alone |
    | `base`, `pos`, `rot` | m | the first body, and where it is; a free base can be put elsewhere with all that it carries |
    | `findings` | | what of the file was not honoured as it stands, and what was masked |
    | `mass` | kg | of all bodies, the fixed ones included |
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
            if description.joints[file_name].mimic is None
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
    def mass(self) -> float:
        return sum(body.mass for body in self.bodies.values())

    @property
    def pos(self) -> Array:
        return self.base.pos

    @property
    def rot(self) -> Array:
        return self.base.rot

    def place(self, pos: Array, rot: Array) -> None:
        """Put a robot with a free base elsewhere, as it is: its base at `pos` [m], turned to `rot`."""
        raise SceneError("not yet")

    def __repr__(self) -> str:
        return f"<robot '{self.name}': {len(self.bodies)} bodies, {len(self.joints)} joints, q: {', '.join(self.names)}>"


def _called(joint: str, coordinate: Coordinate) -> str:
    return joint if len(coordinate.joint.coordinates) == 1 else f"{joint}.{coordinate.name}"
