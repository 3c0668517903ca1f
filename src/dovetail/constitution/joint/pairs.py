"""Which two bodies each joint connects, and whether it can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail import builtin
from dovetail.builtin import ConstitutionUIDCollection
from dovetail.constitution.base import uid_of
from dovetail.constitution.place import Place
from dovetail.errors import ArgumentType
from dovetail.geometry import AttributeCollection, SimplicialComplexSlot
from dovetail.logger import Logger
from dovetail.typing import Array, ArrayLike, Indices

__all__ = ["PAIR_ATTRIBUTES", "Pairs", "Side"]

PAIR_ATTRIBUTES = ("l_geo_id", "l_inst_id", "r_geo_id", "r_inst_id")


@dataclass(frozen=True, slots=True)
class Side:
    """The left or the right bodies of all joints: instance `instances[k]` of the geometry in `slots[k]`."""

    slots: list[SimplicialComplexSlot]
    instances: Indices

    @classmethod
    def checked(cls, place: Place, letter: str, slots: object, instances: ArrayLike) -> Side:
        """A side whose slots hold affine bodies and have those instances."""
        argument = f"{letter}_geo_slots"
        if not isinstance(slots, list):
            raise ArgumentType(f"{place.who}: {argument} is a {type(slots).__name__}; give a list of geometry slots.")
        if len(slots) != place.count or not slots:
            raise place.error(f"{argument} has {len(slots)} slots for {place.counted()}; give one per {place.element}.")
        for k, slot in enumerate(slots):
            if not isinstance(slot, SimplicialComplexSlot):
                raise place.error(
                    f"{argument}[{k}] is a {type(slot).__name__}; give the slot that "
                    "object.geometries().create(...) returned first."
                )
        side = cls(slots, place.indices(f"{letter}_instance_ids", instances))
        for slot, joints in side.by_slot():
            side._check(place, slot, joints)
        return side

    def _check(self, place: Place, slot: SimplicialComplexSlot, joints: Indices) -> None:
        registry, uid = ConstitutionUIDCollection.instance(), uid_of(slot.geometry)
        if not registry.exists(uid) or registry.find(uid).type != builtin.AffineBody:
            raise place.error(
                f"connects '{slot.object_name}', which is not an affine body; "
                "apply AffineBodyConstitution to its geometry first.",
                int(joints[0]),
            )
        transforms, wanted = slot.geometry.transforms.values, self.instances[joints]
        count = len(transforms)
        if not 0 <= wanted.min() <= wanted.max() < count:
            at = int(joints[(wanted < 0) | (wanted >= count)][0])
            plural = "1 instance (0)" if count == 1 else f"{count} instances (0..{count - 1})"
            raise place.error(
                f"connects instance {self.instances[at]} of '{slot.object_name}', which has {plural}.", at
            )
        finite = np.isfinite(transforms)
        lost = joints[:0] if finite.all() else joints[~finite.all(axis=(1, 2))[wanted]]
        if lost.size:
            at = int(lost[0])
            raise place.error(f"connects {self.describe(at)}, whose transform is not finite.", at)

    def by_slot(self) -> list[tuple[SimplicialComplexSlot, Indices]]:
        """Each different slot with its joints, so that a long chain costs a few array operations."""
        if len(self.slots) == 1:
            return [(self.slots[0], np.zeros(1, np.int64))]
        order: dict[int, int] = {}
        group = np.array([order.setdefault(id(slot), len(order)) for slot in self.slots], np.int64)
        joints = np.argsort(group, kind="stable")
        parts = np.split(joints, np.flatnonzero(np.diff(group[joints])) + 1)
        return [(self.slots[part[0]], part) for part in parts if part.size]

    def geometry_ids(self) -> NDArray[np.int32]:
        return np.array([slot.id() for slot in self.slots], np.int32)

    def gather(self, attribute: str) -> NDArray[Any]:
        """An instance attribute of each body, (n, ...); all bodies have it."""
        first = self.slots[0].geometry.instances.slot(attribute).values
        if len(self.slots) == 1:
            return first[self.instances]
        parts = self.by_slot()
        values = np.empty((len(self.slots), *first.shape[1:]), first.dtype)
        for slot, joints in parts:
            values[joints] = slot.geometry.instances.slot(attribute).values[self.instances[joints]]
        return values

    def describe(self, k: int) -> str:
        return f"instance {self.instances[k]} of '{self.slots[k].object_name}'"


@dataclass(frozen=True, slots=True)
class Pairs:
    """The left and right body of every joint."""

    left: Side
    right: Side

    @classmethod
    def checked(cls, place: Place, left: Side, right: Side) -> Pairs:
        """Pairs of different bodies; a joint of which neither can move is told of, for it has nothing to do."""
        for k in map(int, np.flatnonzero(left.instances == right.instances)):
            if left.slots[k] is right.slots[k]:
                raise place.error(f"connects {left.describe(k)} to itself; give two different bodies.", k)
        fixed = np.flatnonzero((left.gather(builtin.is_fixed) != 0) & (right.gather(builtin.is_fixed) != 0))
        if fixed.size:
            at = int(fixed[0])
            told = place.error(
                f"connects {left.describe(at)} and {right.describe(at)}, which are both fixed: it does nothing. "
                "Leave the joint out, or let one of them move.",
                at,
            )
            Logger.warn(str(told))
        return cls(left, right)

    def poses(self) -> Array:
        """The present transforms, (2, n, 4, 4)."""
        return np.stack([self.left.gather(builtin.transform), self.right.gather(builtin.transform)])

    def write(self, collection: AttributeCollection) -> None:
        """Store ids in the attributes."""
        left, right = self.left, self.right
        ids = (left.geometry_ids(), left.instances, right.geometry_ids(), right.instances)
        for name, values in zip(PAIR_ATTRIBUTES, ids, strict=True):
            collection.slot(name).edit()[...] = values
