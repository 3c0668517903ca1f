"""Forces on affine bodies that the user or an animator prescribes (666)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import builtin
from dovetail.checked import checked
from dovetail.constitution.base import IConstitution, fill, mark
from dovetail.constitution.place import Place
from dovetail.errors import ArgumentType
from dovetail.geometry import SimplicialComplex
from dovetail.typing import ArrayLike

__all__ = ["AffineBodyExternalBodyForce"]


class AffineBodyExternalBodyForce(IConstitution, uid=666):
    """A generalised force F on each instance, which accelerates the body by M⁻¹F; it has no energy.

    | where | attribute | unit | value |
    |---|---|---|---|
    | instances | `external_force` (Vector12) | N, N·m | F over [p, rows of A] |
    | instances | `external_force/is_constrained` | | 1: acts, 0: off |

    Both are read every frame, so an animator can change them. A force of three components acts at the
    body's *local origin*, not at its centre of mass. Over the affine part, F pairs with rates of A: a pure
    torque τ is ½[τ]× A⁻ᵀ there.
    """

    @checked(ArgumentType)
    def apply_to(self, sc: SimplicialComplex, force: ArrayLike, enable: bool = True) -> None:
        """Set the force of all instances: 12 components, or 3 for a force at the origin of the body [N]."""
        place = Place(type(self).__name__, "instance", sc.instances.size())
        components = place.vector("force", force, 3, 12, unit="N")
        generalised = np.zeros(12)
        generalised[: components.size] = components
        mark(sc, self._uid, builtin.constraint_uids)
        fill(sc.instances, "external_force", generalised)
        fill(sc.instances, "external_force/is_constrained", int(enable))

    def check(self, geometry: Any, name: str = "") -> None:
        forces = geometry.instances.slot("external_force").values
        bad = np.flatnonzero(~np.isfinite(forces).all(axis=1))
        if bad.size:
            place = Place(type(self).__name__, "instance", len(forces), name)
            raise place.error(
                f"has external_force = {forces[bad[0]].tolist()} [N]; give finite components.", int(bad[0])
            )
