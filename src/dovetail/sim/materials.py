"""Friction between bodies that each have a coefficient of their own."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

from dovetail.builtin import adaptive

if TYPE_CHECKING:
    from dovetail.core import ContactElement, Scene

__all__ = ["Materials"]


class Materials:
    """One contact material for each coefficient; two of them rub with μ = √(μ_a μ_b).

    Bodies that take no part in contact share one that is disabled with all others.
    """

    def __init__(self, scene: Scene, friction: float) -> None:
        self._tabular = scene.contact_tabular
        self._tabular.default_model(friction, adaptive)
        self._elements: dict[tuple[float, bool], ContactElement] = {}
        self._elements[friction, True] = self._tabular.default_element()

    def apply(self, geometry: Any, friction: float, collides: bool) -> None:
        """Give a geometry its material."""
        key = (friction, collides)
        if key not in self._elements:
            name = f"friction {friction:g}" if collides else "no contact"
            self._elements[key] = self._tabular.create(name)
            self._pair(key)
        self._elements[key].apply_to(geometry)

    def _pair(self, new: tuple[float, bool]) -> None:
        for a, b in combinations_with_replacement(self._elements, 2):
            if new in (a, b):
                mu = math.sqrt(a[0] * b[0])
                self._tabular.insert(self._elements[a], self._elements[b], mu, adaptive, a[1] and b[1])
