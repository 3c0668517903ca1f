"""Driving spherical joint (27): a servo on a ball and socket."""

from __future__ import annotations

import math

from dovetail.builtin import constraint_uids
from dovetail.checked import checked
from dovetail.constitution.base import IConstitution, fill, mark, uid_of
from dovetail.constitution.joint.joint_drive import AffineBodyJointDrive
from dovetail.constitution.joint.spherical import AffineBodySphericalJoint, MeasuredSphericalJoint
from dovetail.constitution.place import Place
from dovetail.errors import ArgumentType
from dovetail.geometry import SimplicialComplex
from dovetail.typing import ArrayLike

__all__ = ["AffineBodyDrivingSphericalJoint"]


class AffineBodyDrivingSphericalJoint(IConstitution, uid=27):
    """Turns a spherical joint (26) towards a target rotation, by a joint drive (10101) on each component of w.

        R_iᵀ R_j = exp [w]×,   ‖w‖ < π,   efforts k(w̃ − w) + c(ṽ − ẇ), each cut off at ±max_effort

    w is the rotation vector [rad] of the right body in the left one, along the world's axes at the start, which the
    left body carries with it. The efforts are dual to ẇ: for w = 0 they are the torque.

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | vertices | `rotation_x`, `rotation_y`, `rotation_z` | rad | w, written by the world |
    | vertices | `rotation_x/velocity`, … | rad/s | ẇ, written by the world |
    | vertices | `init_rotation_x`, … | rad | shift the zero of what is reported; default 0 |
    | vertices | `rotation_x/drive/…`, … | | those of the joint drive (10101) |
    """

    @checked(ArgumentType)
    def apply_to(
        self,
        sc: SimplicialComplex,
        stiffness: ArrayLike = 0.0,
        damping: ArrayLike = 0.0,
        max_effort: ArrayLike = math.inf,
    ) -> None:
        """Measure and drive every joint; one number each for all axes, or one per joint."""
        if uid_of(sc) != AffineBodySphericalJoint.uids[0]:
            raise Place(type(self).__name__, "joint", sc.vertices.size()).error(
                f"the geometry carries constitution {uid_of(sc)}; apply AffineBodySphericalJoint (26) to it first."
            )
        for word in MeasuredSphericalJoint.coordinates():
            for name in (word.offset, *word.reported):
                fill(sc.vertices, name, 0.0)
        mark(sc, self._uid, constraint_uids)
        for word in MeasuredSphericalJoint.coordinates():
            AffineBodyJointDrive().apply_to(sc, stiffness, damping, max_effort, coordinate=word.attribute)
