"""Putting joints with several rotations into a `Sim`: ball and socket, and the joint of six axes."""

from __future__ import annotations

from typing import Any, TypeAlias, Unpack

from dovetail.checked import shown
from dovetail.constitution import AffineBodyD6Joint, AffineBodySphericalJoint
from dovetail.constitution.joint.d6 import AXES
from dovetail.errors import SceneError
from dovetail.sim.body import Body
from dovetail.sim.d6_joint import D6Joint
from dovetail.sim.given import rotation_of, vector
from dovetail.sim.make_joints import HoldOptions, JointMaking, lever
from dovetail.sim.spherical_joint import SphericalJoint
from dovetail.typing import ArrayLike

__all__ = ["Axis", "FreeJointMaking"]

Axis: TypeAlias = str | tuple[float, float]
"""What an axis of a D6 joint may do: "locked", "free", "driven", or stay within (lower, upper) [m or rad]."""


class FreeJointMaking(JointMaking):
    """The calls that make them."""

    def spherical(
        self,
        left: Body | None,
        right: Body,
        pos: ArrayLike,
        drive: ArrayLike | bool | None = None,
        **options: Unpack[HoldOptions],
    ) -> SphericalJoint:
        """A ball and socket at `pos` [m]. Options: see `HoldOptions`.

        `drive` is a rotation vector [rad] to hold, or True for a drive that is off until it is given one.
        """
        who = "Sim.spherical"
        ends = self._ends(who, left, right, options, AffineBodySphericalJoint)
        place = vector(who, "pos", pos, "m")
        target = None if drive is None or isinstance(drive, bool) else vector(who, "drive", drive, "rad")
        joint = AffineBodySphericalJoint().create_geometry([place], *ends)
        made = self._join(SphericalJoint, who, options, joint, left, right, place)
        if target is not None:
            made.drive.target = target
        elif drive:
            made.measure()
        return made

    def d6(
        self,
        left: Body | None,
        right: Body,
        pos: ArrayLike,
        rot: Any = None,
        *,
        x: Axis = "locked",
        y: Axis = "locked",
        z: Axis = "locked",
        rx: Axis = "locked",
        ry: Axis = "locked",
        rz: Axis = "locked",
        **options: Unpack[HoldOptions],
    ) -> D6Joint:
        """Six axes of a frame at `pos` [m], turned to `rot`: each is "locked", "free", "driven" or (lower, upper).

        x, y, z are translations [m] along the frame that the left body carries, rx, ry, rz Cardan angles [rad], see
        `D6Joint`. A driven axis is free, with a motor that is off until `joint.coordinates["rx"].drive.target = …`.
        Options: see `HoldOptions`.
        """
        who, wishes = "Sim.d6", dict(zip(AXES, (x, y, z, rx, ry, rz), strict=True))
        for axis, wish in wishes.items():
            if isinstance(wish, str) and wish not in ("locked", "free", "driven"):
                raise SceneError(
                    f'{who}: {axis} = {shown(wish)}; give "locked", "free", "driven", or (lower, upper) within which '
                    "it is free."
                )
        moving = {axis: wish for axis, wish in wishes.items() if not (isinstance(wish, str) and wish == "locked")}
        kind = AffineBodyD6Joint.with_free(*moving)
        ends = self._ends(who, left, right, options, AffineBodyD6Joint)
        place, frame = vector(who, "pos", pos, "m"), rotation_of(who, rot)
        joint = kind().create_geometry([place], [place + lever(left, right) * frame[:, 0]], *ends)
        joint.edges["frame/n"] = frame[:, 1]
        made = self._join(D6Joint, who, options, joint, left, right, place)
        return self._kept(made, lambda: made.equip(moving))
