"""Friction and restitution between bodies that each have their own, and which of them do not touch."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, NamedTuple

from dovetail.builtin import adaptive

if TYPE_CHECKING:
    from dovetail.core import ContactElement, Scene

__all__ = ["Material", "Materials"]


class Material(NamedTuple):
    """A coefficient, whether it takes part in contact, its groups, and what else a pair may have."""

    friction: float
    collides: bool
    groups: frozenset[int] = frozenset()
    rolling_friction: float = 0.0
    restitution: float = 0.0


class Materials:
    """One contact element for each material; two of them rub with μ = √(μ_a μ_b), and have the larger of the rest.

    Bodies that take no part in contact share one that is disabled with all others.
    """

    def __init__(self, scene: Scene, friction: float) -> None:
        self._tabular = scene.contact_tabular
        self._tabular.default_model(friction, adaptive)
        self._elements: dict[Material, ContactElement] = {}
        self._elements[Material(friction, True)] = self._tabular.default_element()
        self._apart: list[tuple[int, int]] = []  # groups that do not touch

    def apply(self, geometry: Any, material: Material) -> None:
        """Give a geometry its material."""
        if material not in self._elements:
            groups = "".join(f", group {group}" for group in sorted(material.groups))
            more = "".join(
                f", {what.replace('_', ' ')} {value:g}"
                for what, value in zip(Material._fields[3:], material[3:], strict=True)
                if value
            )
            name = f"friction {material.friction:g}{more}{groups}" if material.collides else "no contact"
            self._elements[material] = self._tabular.create(name)
            self._pair(material)
        self._elements[material].apply_to(geometry)

    def keep_apart(self) -> tuple[int, int]:
        """Two new groups that do not touch each other."""
        first = 2 * len(self._apart)
        self._apart.append((first, first + 1))
        return self._apart[-1]

    def _pair(self, new: Material) -> None:
        for a, b in combinations_with_replacement(self._elements, 2):
            if new in (a, b):
                mu = math.sqrt(a.friction * b.friction)
                ignored = any(
                    (one in a.groups and other in b.groups) or (other in a.groups and one in b.groups)
                    for one, other in self._apart
                )
                touch = a.collides and b.collides and not ignored
                more = {what: max(getattr(a, what), getattr(b, what)) for what in Material._fields[3:]}
                self._tabular.insert(self._elements[a], self._elements[b], mu, adaptive, touch, more)
