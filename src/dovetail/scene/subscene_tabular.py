"""Subscenes: groups of bodies that may or may not notice each other's contact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.checked import checked
from dovetail.errors import SceneError
from dovetail.scene.pair_table import Element, ModelCollection, PairTable

__all__ = ["SubsceneElement", "SubsceneModel", "SubsceneModelCollection", "SubsceneTabular"]


class SubsceneElement(Element):
    """A subscene; `apply_to(geometry)` writes the meta attribute `subscene_element_id`."""

    attribute = "subscene_element_id"


class SubsceneModelCollection(ModelCollection):
    """The rows of a subscene table: `topo`, `is_enabled`."""


@dataclass(frozen=True, slots=True)
class SubsceneModel:
    """Whether bodies of two subscenes collide, as it was when asked for."""

    _topo: tuple[int, int]
    _is_enabled: bool

    def topo(self) -> NDArray[np.int32]:
        """The two subscenes' numbers, shape (2, 1), smaller first."""
        return np.array(self._topo, np.int32).reshape(2, 1)

    def is_enabled(self) -> bool:
        return self._is_enabled

    def config(self) -> dict[str, Any]:
        """Further settings of a pair in libuipc; there are none."""
        return {}


class SubsceneTabular(PairTable[SubsceneElement]):
    """The subscenes of a scene. Pairs not defined: bodies of one subscene collide, those of two do not.

    `config` arguments exist for libuipc scripts; nothing reads them.
    """

    element_class = SubsceneElement

    def __init__(self) -> None:
        super().__init__({"is_enabled": 1})

    @checked(SceneError)
    def insert(
        self,
        L: SubsceneElement,
        R: SubsceneElement,
        enable: bool = False,
        config: Mapping[str, Any] | None = None,
    ) -> int:
        """Say whether bodies of L and R collide, in either order; returns the row. An old row is replaced."""
        return self._insert(L, R, {"is_enabled": int(bool(enable))})

    def at(self, i: int, j: int) -> SubsceneModel:
        """Whether bodies of subscenes i and j collide."""
        pair = self._pair_at(i, j)
        row = self._row_of.get(pair)
        if row is None:
            return SubsceneModel(pair, i == j)
        return SubsceneModel(pair, bool(self._rows.slot("is_enabled").values[row]))

    def subscene_models(self) -> SubsceneModelCollection:
        """All rows as attributes."""
        return SubsceneModelCollection(self._rows)

    def table(self) -> NDArray[np.bool_]:
        """Whether each two subscenes collide: a symmetric N x N array."""
        return self._spread("is_enabled", np.eye(self.element_count(), dtype=np.bool_))
