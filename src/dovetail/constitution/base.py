"""What every constitution is: a UID, a name, a type, and attributes it writes on a geometry.

    IConstitution                              bodies (1, 2), drives (19, 21), body force (666)
    ├── Constraint                             soft transforms (16), joint loads (667, 668), articulation (24)
    ├── InterAffineBodyConstitution            joints (18, 20, 25, 26)
    └── InterAffineBodyExtraConstitution       what is added to a joint: limits (669, 670)

A class claims its UID where it is defined, `class Screw(EdgeJoint, uid=2**32 + 7)`, and is found by it
afterwards (`class_of`). UIDs below 2³² belong to the specification.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from dovetail import builtin
from dovetail.builtin import ConstitutionUIDCollection
from dovetail.checked import checked, shown, whole
from dovetail.errors import ArgumentType, ConstitutionError
from dovetail.geometry import AttributeCollection, AttributeSlot, Geometry
from dovetail.geometry.attribute import Buffer

__all__ = [
    "Constraint",
    "IConstitution",
    "InterAffineBodyConstitution",
    "InterAffineBodyExtraConstitution",
    "class_of",
    "class_on",
    "constitution_classes",
    "create_missing",
    "fill",
    "mark",
    "uid_of",
    "write",
]

_classes: dict[int, type[IConstitution]] = {}


class IConstitution:
    """Something a user applies to a geometry. It only writes attributes; the world reads them."""

    uids: ClassVar[tuple[int, ...]] = ()
    kind: ClassVar[str] = builtin.Constraint
    """The `type()` that a user's own subclass gets."""

    def __init_subclass__(cls, *, uid: int | tuple[int, ...] = (), **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if uid == ():
            return
        cls.uids = (uid,) if isinstance(uid, int) else uid
        for claimed in cls.uids:
            _claim(claimed, cls)

    @checked(ArgumentType)
    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        if not self.uids:
            raise TypeError(f"{type(self).__name__} is a base class; use one of its subclasses")
        self._uid = self.uids[0]
        defaults = self.default_config()
        unknown = [key for key in config or {} if key not in defaults]
        if unknown:
            allowed = ", ".join(map(repr, defaults)) or "nothing"
            raise ConstitutionError(
                f"{type(self).__name__}: unknown config key {shown(unknown[0])}; it takes {allowed}."
            )
        self._config = {**defaults, **(config or {})}

    @staticmethod
    def default_config() -> dict[str, Any]:
        """The config a constructor without arguments uses."""
        return {}

    def uid(self) -> int:
        return self._uid

    def name(self) -> str:
        return ConstitutionUIDCollection.instance().find(self._uid).name

    def type(self) -> str:
        return ConstitutionUIDCollection.instance().find(self._uid).type

    @classmethod
    @checked(ArgumentType)
    def on(cls, geometry: Geometry) -> builtins.type[Self]:
        """What it is on this very geometry; some constitutions are a family, and a geometry says which one of it."""
        return cls

    def check(self, geometry: Any, name: str = "") -> None:
        """Raise ConstitutionError if the attributes on `geometry`, of the object `name`, make no sense.

        `apply_to` refuses bad arguments at once; the world calls this at init for what was edited since.
        """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} uid {self._uid}>"


class Constraint(IConstitution):
    """An addition to a geometry that an animator can switch and steer every frame."""


class InterAffineBodyConstitution(IConstitution):
    """A relation between pairs of affine bodies, on a geometry of its own."""

    kind = builtin.InterAffineBody


class InterAffineBodyExtraConstitution(IConstitution):
    """A further term on a geometry that already relates affine bodies."""

    kind = builtin.InterAffineBody


def _claim(uid: int, cls: type[IConstitution]) -> None:
    register = ConstitutionUIDCollection.instance()
    owner = _classes.get(uid)
    if owner is not None and (owner.__module__, owner.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ConstitutionError(
            f"{cls.__name__}: uid {uid} already belongs to {owner.__name__}; choose another one ≥ 2**32."
        )
    if not register.exists(uid):
        register.register(uid, cls.__name__, cls.kind)
    _classes[uid] = cls


@checked(ArgumentType)
def class_of(uid: int) -> type[IConstitution]:
    """The class that claimed a UID."""
    found = _classes.get(int(uid))
    if found is None:
        raise ConstitutionError(
            f"no constitution has uid {uid}; a class of your own claims one with "
            "`class Mine(EdgeJoint, uid=2**32 + 1)`, and its module must be imported before it is looked up."
        )
    return found


def class_on(geometry: Geometry) -> type[IConstitution]:
    """The class of what a geometry carries, as it is there."""
    return class_of(uid_of(geometry)).on(geometry)


def constitution_classes() -> dict[int, type[IConstitution]]:
    """All constitutions by UID, in order of UID."""
    return dict(sorted(_classes.items()))


# ---- writing attributes ------------------------------------------------------------------------------------


def create_missing(collection: AttributeCollection, name: str, default: Any) -> AttributeSlot:
    """The attribute `name`; created with `default` if it is not there, otherwise left as it is."""
    slot = collection.find(name)
    return collection.create(name, default) if slot is None else slot


def fill(collection: AttributeCollection, name: str, value: Any) -> AttributeSlot:
    """The attribute `name` with `value` in every element, also in those that a later resize adds."""
    slot = collection.find(name)
    if slot is None:
        return collection.create(name, value)
    slot.replace(Buffer.filled(slot.buffer.type, slot.size(), value))
    return slot


def write(collection: AttributeCollection, name: str, default: Any, values: Any) -> AttributeSlot:
    """The attribute `name` with `values`, one per element; `default` is for elements added later."""
    slot = create_missing(collection, name, default)
    slot.edit()[...] = values
    return slot


def mark(geometry: Geometry, uid: int, where: str = builtin.constitution_uid) -> None:
    """Say in meta that the geometry carries the constitution `uid`; sets of UIDs keep what they have."""
    if where == builtin.constitution_uid:
        fill(geometry.meta, where, np.uint64(uid))
    else:
        geometry.meta.create_uid_list(where).insert(uid)


def uid_of(geometry: Geometry) -> int:
    """The constitution that a geometry carries, 0 if none."""
    slot = geometry.meta.find(builtin.constitution_uid)
    if slot is None:
        return 0
    uid = whole(slot.first)
    if uid is None:
        raise ConstitutionError(f"the meta attribute '{builtin.constitution_uid}' is no UID, but {shown(slot)}.")
    return uid
