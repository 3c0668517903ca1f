"""Prismatic joint external force (667): a push along a slider."""

from __future__ import annotations

from dovetail.checked import checked
from dovetail.constitution.joint.extra import JointLoad
from dovetail.constitution.joint.prismatic import AffineBodyPrismaticJoint
from dovetail.constitution.terms import AxialForce
from dovetail.errors import ArgumentType
from dovetail.geometry import SimplicialComplex
from dovetail.typing import ArrayLike

__all__ = ["AffineBodyPrismaticJointExternalForce"]


class AffineBodyPrismaticJointExternalForce(JointLoad, uid=667):
    """A force f along the axis of a prismatic joint (20): +f·t on the right body, −f·t on the left.

        F_j = [+f t; 0₉],   F_i = [−f t; 0₉],   t = ½(A_i t̄_i + A_j t̄_j), not normalised

    f > 0 increases `distance`. The force acts on the translation of each body, that is at its *local
    origin*: where that is not the centre of mass, it turns the body as well.

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | edges | `external_force` | N | f |
    | edges | `external_force/is_constrained` | | 1: acts, 0: off (the default) |
    """

    base = AffineBodyPrismaticJoint
    load, unit = "external_force", "N"
    loads = (AxialForce(force=load, is_constrained="external_force/is_constrained"),)

    @checked(ArgumentType)
    def apply_to(self, sc: SimplicialComplex, force: ArrayLike = 0.0) -> None:
        """Put a force [N], switched off, on every edge: one number or one per edge."""
        self._apply(sc, force)
