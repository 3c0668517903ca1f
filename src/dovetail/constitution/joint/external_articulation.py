"""External articulation constraint (24, on a geometry that carries 23): many joints moved as an outside
model asks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import builtin
from dovetail.checked import shown
from dovetail.constitution.base import Constraint, class_on, mark, uid_of
from dovetail.constitution.joint.base import Joint
from dovetail.constitution.place import Place
from dovetail.constitution.terms import Articulation
from dovetail.geometry import Geometry, GeometrySlot
from dovetail.typing import ArrayLike

__all__ = ["ExternalArticulationConstraint"]

_CARRIER = 23  # the constitution_uid of the geometry, which is no simplicial complex


class ExternalArticulationConstraint(Constraint, uid=(24, _CARRIER)):
    """Makes the coordinates of several joints change by δθ̃ during a step, weighed by a mass matrix.

        E = ½ (δθ − δθ̃)ᵀ M (δθ − δθ̃),   δθ = θ(q) − θ(q_prev) of each joint

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | `joint` | `geo_id`, `index` | | slot of the joint geometry, and edge in it |
    | `joint` | `delta_theta_tilde` | rad or m | δθ̃, read every frame |
    | `joint` | `delta_theta` | rad or m | δθ, written by the world |
    | `joint_joint` | `mass` | | M, n×n row by row, read every frame |

    An instance attribute `ref_dof_prev` (Vector12, [p, rows of A]) on a link replaces its q_prev. Links
    that an outside model moves usually get `external_kinetic` = 1, which removes their kinetic energy,
    gravity and forces.
    """

    terms = (Articulation(),)

    def create_geometry(self, joint_slots: list[Any], indices: ArrayLike = 0) -> Geometry:
        """A geometry that refers to edge `indices[k]` of the joint geometry in `joint_slots[k]`."""
        place = Place(type(self).__name__, "joint", len(joint_slots) if isinstance(joint_slots, list) else 0)
        if place.count == 0:
            raise place.error("joint_slots must be a list of at least one slot of a joint geometry.")
        edges = place.indices("indices", indices)
        for k, slot in enumerate(joint_slots):
            kind = _joint_with_coordinate(slot.geometry) if isinstance(slot, GeometrySlot) else None
            if kind is None:
                raise place.error(
                    f"is {shown(slot)}, which holds no joint with a coordinate; give slots of "
                    "AffineBodyRevoluteJoint (18) or AffineBodyPrismaticJoint (20) geometries.",
                    k,
                )
            count = kind.elements(slot.geometry).size()
            if not 0 <= edges[k] < count:
                raise place.error(
                    f"is {kind.element} {edges[k]} of '{slot.object_name}', which has {count} (0..{count - 1}).", k
                )
        geometry = Geometry()
        mark(geometry, _CARRIER)
        mark(geometry, self._uid, builtin.constraint_uids)
        joints, pairs = geometry["joint"], geometry["joint_joint"]
        joints.resize(place.count)
        joints.create("geo_id", -1).edit()[...] = [slot.id() for slot in joint_slots]
        joints.create("index", 0).edit()[...] = edges
        joints.create("delta_theta_tilde", 0.0)
        joints.create("delta_theta", 0.0)
        pairs.resize(place.count**2)
        pairs.create("mass", 0.0)
        return geometry

    def check(self, geometry: Any, name: str = "") -> None:
        count = geometry["joint"].size()
        place = Place(type(self).__name__, "joint", count, name)
        place.numbers("delta_theta_tilde", geometry["joint"].slot("delta_theta_tilde").values)
        M = geometry["joint_joint"].slot("mass").values.reshape(count, count)
        if not np.isfinite(M).all() or np.abs(M - M.T).max() > 1e-9 * np.abs(M).max():
            raise place.error("the mass matrix in joint_joint is not finite and symmetric; use (M + Mᵀ)/2.")


def _joint_with_coordinate(geometry: Any) -> type[Joint] | None:
    uid = uid_of(geometry)
    cls = class_on(geometry) if uid else Joint
    return cls if issubclass(cls, Joint) and cls.coordinate is not None else None
