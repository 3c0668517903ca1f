"""Revolute joint external force (668): a torque about a hinge."""

from __future__ import annotations

from dovetail.checked import checked
from dovetail.constitution.joint.extra import JointLoad
from dovetail.constitution.joint.revolute import AffineBodyRevoluteJoint
from dovetail.constitution.terms import AxialTorque
from dovetail.errors import ArgumentType
from dovetail.geometry import SimplicialComplex
from dovetail.typing import ArrayLike

__all__ = ["AffineBodyRevoluteJointExternalForce"]


class AffineBodyRevoluteJointExternalForce(JointLoad, uid=668):
    """A torque τ about the axis of a revolute joint (18): +τ·e on the right body, −τ·e on the left.

        F_A = ±½ τ [e]× A⁻ᵀ,   e the mean of both bodies' unit axes P0 → P1

    τ > 0 spins the right body right-handed about +t and increases `angle`. A body so flat that A cannot be
    inverted gets nothing, with a warning.

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | edges | `external_torque` | N·m | τ |
    | edges | `external_torque/is_constrained` | | 1: acts, 0: off (the default) |
    """

    base = AffineBodyRevoluteJoint
    load, unit = "external_torque", "N·m"
    loads = (AxialTorque(torque=load, is_constrained="external_torque/is_constrained"),)

    @checked(ArgumentType)
    def apply_to(self, sc: SimplicialComplex, torque: ArrayLike = 0.0) -> None:
        """Put a torque [N·m], switched off, on every edge: one number or one per edge."""
        self._apply(sc, torque)
