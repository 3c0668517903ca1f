"""What can be added to any coordinate of any joint: drives, dampers, friction, limits.

All attributes of an addition lie on the elements of the joint, under the prefix of the coordinate: `damper/damping` for
the first one that the joint reports, `angle/damper/damping` for a further one called `angle`. They are read every
frame, after the animator.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from dovetail import builtin
from dovetail.constitution.base import class_on, mark, uid_of
from dovetail.constitution.joint.base import Joint
from dovetail.constitution.joint.extra import JointExtra
from dovetail.constitution.place import Place
from dovetail.constitution.terms import Compose, Coordinate, Law
from dovetail.geometry import AttributeCollection, SimplicialComplex

__all__ = ["CoordinateExtra", "Target"]


class _Prefixed(Protocol):
    def __call__(self, *, prefix: str) -> Law: ...


class Target:
    """A coordinate of a joint geometry that something is added to."""

    def __init__(self, who: str, sc: SimplicialComplex, name: str = "", of: str = "") -> None:
        uid = uid_of(sc)
        kind = class_on(sc) if uid else None
        if kind is None or not issubclass(kind, Joint) or not kind.coordinates():
            found = "no joint" if kind is None else f"{kind.__name__} ({uid}), which reports no coordinate"
            raise Place(who, "joint", 0, of).error(
                f"the geometry carries {found}; apply it to a joint that can move and says how far, such as "
                "AffineBodyRevoluteJoint (18)."
            )
        self.kind: type[Joint] = kind
        self.elements: AttributeCollection = kind.elements(sc)
        self.place = Place(who, "joint", self.elements.size(), of)
        named = {word.attribute: word for word in kind.coordinates()}
        if name and name not in named:
            raise self.place.error(
                f"{kind.__name__} reports no coordinate '{name}', but {', '.join(named)}; name one of those."
            )
        self.coordinate: Coordinate = named[name] if name else kind.coordinates()[0]

    @property
    def effort(self) -> str:
        """Unit of what acts along the coordinate."""
        return "N" if self.coordinate.unit == "m" else "N·m"


class CoordinateExtra(JointExtra):
    """An addition to one coordinate of any joint that reports one."""

    law: ClassVar[_Prefixed]
    main: ClassVar[str]
    """The attribute, below the prefix, that says that a coordinate has it."""
    uid_list: ClassVar[str] = builtin.constraint_uids

    @classmethod
    def laws_on(cls, kind: type[Joint], elements: AttributeCollection) -> tuple[Compose, ...]:
        chosen = [word for word in kind.coordinates() if f"{word.prefix}{cls.main}" in elements]
        return tuple(Compose(cls.law(prefix=word.prefix), word) for word in chosen)

    def _target(self, sc: SimplicialComplex, coordinate: str) -> Target:
        return Target(type(self).__name__, sc, coordinate)

    def _mark(self, sc: SimplicialComplex) -> None:
        mark(sc, self._uid, self.uid_list)

    def check(self, geometry: Any, name: str = "") -> None:
        who = type(self).__name__
        for word in Target(who, geometry, of=name).kind.coordinates():
            if f"{word.prefix}{self.main}" in Target(who, geometry, word.attribute, name).elements:
                self._check(Target(who, geometry, word.attribute, name))

    def _check(self, target: Target) -> None:
        """Refuse numbers that make no sense on a coordinate that has the addition."""
        raise NotImplementedError
