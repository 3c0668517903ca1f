"""Putting robots into a `Sim`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail import builtin
from dovetail.checked import checked, shown
from dovetail.errors import SceneError
from dovetail.geometry import SimplicialComplex
from dovetail.sim.body import Body
from dovetail.sim.given import rotation_of, vector
from dovetail.sim.make_bodies import BodyMaking
from dovetail.sim.make_free_joints import FreeJointMaking
from dovetail.typing import Array, ArrayLike

if TYPE_CHECKING:
    from dovetail.robot.robot import Robot

__all__ = ["RobotMaking"]


class RobotMaking(BodyMaking, FreeJointMaking):
    """The call that makes robots, and what it needs of a Sim."""

    @checked(SceneError)
    def robot(
        self,
        file: str | PathLike[str],
        *,
        pos: ArrayLike = (0.0, 0.0, 0.0),
        rot: Any = None,
        fixed_base: bool | None = None,
        q: Mapping[str, ArrayLike] | str | None = None,
        collision: str | None = "hull",
        self_collision: bool = True,
        merge_fixed: bool = True,
        visuals: bool = True,
        folders: Sequence[str | PathLike[str]] = (),
        friction: float | None = None,
        name: str = "",
    ) -> Robot:
        """The robot in a URDF or MJCF file; see `Robot`, docs/robots.md.

        pos, rot        where the file's frame is [m]: of a URDF that is the first link's
        fixed_base      False: the base is free to move; default what the file says, which of a URDF is True
        q               coordinates at the start by name [rad or m], or the name of a keyframe; default the keyframe
                        `home`, or 0, or within limits
        collision       "hull": meshes touch as their convex hulls; "mesh": as they are; "boxes": as boxes around them;
                        None: nothing touches the robot
        self_collision  False: its links do not touch each other
        merge_fixed     False: links that fixed joints hold are bodies of their own, where they have mass
        visuals         False: the file's shapes to look at are not read; links look as what touches
        folders         where `package://` and meshes are looked for beside the robot's own package
        friction        coefficient of all links; default that of the Sim
        name            of the robot, which the names of its bodies and joints begin with; default that of the file
        """
        from dovetail.robot.build import Wishes, build
        from dovetail.robot.read import read_robot
        from dovetail.robot.surfaces import COLLISIONS

        who = "Sim.robot"
        self.reopen()
        if collision is not None and collision not in COLLISIONS:
            raise SceneError(f"{who}: collision = {shown(collision)}; give one of {', '.join(COLLISIONS)}, or None.")
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = rotation_of(who, rot), vector(who, "pos", pos, "m")
        description = read_robot(file, folders)
        title = name or self._free_name(description.name or "robot")
        wishes = Wishes(pose, fixed_base, collision, self_collision, merge_fixed, visuals, q or {}, friction, title)
        return build(self, description, wishes, self._body_of)  # type: ignore[arg-type]  # Sim is the one subclass

    def _body_of(
        self, mesh: SimplicialComplex, M_hat: Array, volume: float, options: Any, looks: Sequence[SimplicialComplex]
    ) -> Body:
        """A link with a mesh and moments M̂ of its own; `volume` [m³] is that of what resists deformation."""
        body = self._body("link", lambda _: mesh, None, options, moments=lambda _: (M_hat, volume))
        (owner,) = self._scene.objects.find(body.name)
        for look in looks:
            look.meta.create(builtin.looks_of, body.slot.id())
            owner.geometries.adopt(look)
        return body

    def _free_name(self, wanted: str) -> str:
        """The name, with a number where something is called `name/…` already."""
        taken = {known.partition("/")[0] for known in (*self._bodies, *self._joints)}
        numbered = (f"{wanted} {k}" for k in range(2, len(taken) + 3))
        return wanted if wanted not in taken else next(name for name in numbered if name not in taken)
