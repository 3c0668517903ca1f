"""Joint coupling (10105): a gear between two joint coordinates, which may be of any joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.checked import checked, shown
from dovetail.constitution.base import Constraint, mark
from dovetail.constitution.joint.coordinate_extra import Target
from dovetail.constitution.place import Place
from dovetail.errors import ArgumentType
from dovetail.geometry import AttributeCollection, Geometry, SimplicialComplexSlot
from dovetail.typing import ArrayLike

__all__ = ["AffineBodyJointCoupling"]

_EXACT = "an exact coupling"


class AffineBodyJointCoupling(Constraint, uid=10105):
    """Makes one joint coordinate follow another one: gears, belts, racks, fingers that mimic each other.

        x_f = ratio·x_l + offset,        E = K/2 (x_f − ratio·x_l − offset)²,   K = γ(m_i + m_j) of the follower

    x are the reported values, of angles those that count turns. Both joints may share a body or none.

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | `coupling` | `leader_geo_id`, `leader_index` | | slot of a joint geometry, and joint in it |
    | `coupling` | `leader_coordinate` | | number of the coordinate in the order in which the joint reports them |
    | `coupling` | `follower_geo_id`, `follower_index`, `follower_coordinate` | | the same |
    | `coupling` | `ratio` | unit of x_f over that of x_l | read every frame |
    | `coupling` | `offset` | unit of x_f | read every frame |
    | `coupling` | `strength_ratio` | | γ; inf makes the coupling exact |
    | `coupling` | `effort` | N or N·m | what it exerts along x_f, and −ratio times that along x_l |
    | `coupling` | `gap` | unit of x_f | x_f − ratio·x_l − offset |

    The last two are written by the world.
    """

    @checked(ArgumentType)
    def create_geometry(
        self,
        leader_slots: list[Any],
        follower_slots: list[Any],
        ratios: ArrayLike,
        offsets: ArrayLike = 0.0,
        strength_ratios: ArrayLike = np.inf,
        leader_indices: ArrayLike = 0,
        follower_indices: ArrayLike = 0,
        leader_coordinate: str = "",
        follower_coordinate: str = "",
    ) -> Geometry:
        """A geometry with a coupling for each pair of slots of joint geometries.

        An index says which joint of its geometry, a name which coordinate where that is not the first. One number may
        do for all.
        """
        who = type(self).__name__
        if not (isinstance(leader_slots, list) and isinstance(follower_slots, list)) or not leader_slots:
            raise Place(who, "coupling", 0).error("leader_slots and follower_slots must be lists of slots of joints.")
        place = Place(who, "coupling", len(leader_slots))
        if len(follower_slots) != place.count:
            raise place.error(
                f"follower_slots has {len(follower_slots)} slots for {place.counted()}; give one for each."
            )
        geometry = Geometry()
        mark(geometry, self._uid)
        elements = geometry["coupling"]
        elements.resize(place.count)
        _write_side(place, elements, "leader", leader_slots, leader_indices, leader_coordinate)
        _write_side(place, elements, "follower", follower_slots, follower_indices, follower_coordinate)
        elements.create("ratio", 1.0).edit()[:] = place.numbers("ratio", ratios)
        elements.create("offset", 0.0).edit()[:] = place.numbers("offset", offsets)
        gamma = place.positive("strength_ratio", strength_ratios, infinite=_EXACT)
        elements.create("strength_ratio", np.inf).edit()[:] = gamma
        for name in ("effort", "gap"):
            elements.create(name, 0.0)
        return geometry

    def check(self, geometry: Any, name: str = "") -> None:
        elements = geometry["coupling"]
        place = Place(type(self).__name__, "coupling", elements.size(), name)
        for attribute in ("ratio", "offset"):
            place.numbers(attribute, elements.slot(attribute).values)
        place.positive("strength_ratio", elements.slot("strength_ratio").values, infinite=_EXACT)


def _write_side(
    place: Place, elements: AttributeCollection, side: str, slots: list[Any], indices: ArrayLike, coordinate: str
) -> None:
    """Refer to the joints of one side."""
    joints = place.indices(f"{side}_indices", indices)
    numbers = np.zeros(place.count, np.int32)
    for k, slot in enumerate(slots):
        if not isinstance(slot, SimplicialComplexSlot):
            raise place.error(f"has the {side} {shown(slot)}, which is no slot of a joint geometry.", k)
        target = Target(place.who, slot.geometry, coordinate, slot.object_name)
        count = target.elements.size()
        if not 0 <= joints[k] < count:
            raise place.error(
                f"has the {side} joint {joints[k]} of '{slot.object_name}', which has {count} (0..{count - 1}).", k
            )
        numbers[k] = target.kind.coordinates().index(target.coordinate)
    elements.create(f"{side}_geo_id", -1).edit()[:] = [slot.id() for slot in slots]
    elements.create(f"{side}_index", 0).edit()[:] = joints
    elements.create(f"{side}_coordinate", 0).edit()[:] = numbers
