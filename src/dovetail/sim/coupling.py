"""Couplings of a `Sim`: joint coordinates that follow others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.geometry import GeometrySlot
from dovetail.sim.given import vector
from dovetail.sim.handle import Handle

if TYPE_CHECKING:
    from dovetail.sim.coordinate import Coordinate
    from dovetail.sim.sim import Sim

__all__ = ["Coupling"]


class Coupling(Handle):
    """x = ratio·x_leader + offset, of two joint coordinates.

    | property | unit | |
    |---|---|---|
    | `follower`, `leader` | | the coordinates |
    | `ratio`, `offset` | of x over that of x_leader, of x | may change at any time |
    | `effort` | N·m or N | what it exerted in the last step along x; −ratio times that acts along x_leader |
    | `gap` | rad or m | x − ratio·x_leader − offset |
    """

    follower: Coordinate
    leader: Coordinate

    def __init__(self, sim: Sim, slot: GeometrySlot, follower: Coordinate, leader: Coordinate) -> None:
        self._sim, self._slot, self._lock = sim, slot, sim._lock
        self.follower, self.leader = follower, leader

    @property
    def name(self) -> str:
        return self._slot.object_name

    @property
    def slot(self) -> GeometrySlot:
        return self._slot

    @property
    def ratio(self) -> float:
        return self._get("ratio")

    @ratio.setter
    def ratio(self, value: float) -> None:
        self._set("ratio", value)

    @property
    def offset(self) -> float:
        return self._get("offset")

    @offset.setter
    def offset(self, value: float) -> None:
        self._set("offset", value)

    @property
    def effort(self) -> float:
        self._sim.sync()
        return self._get("effort")

    @property
    def gap(self) -> float:
        self._sim.sync()
        return self._get("gap")

    def _get(self, name: str) -> float:
        return float(self._slot.geometry["coupling"].slot(name).first)

    def _set(self, name: str, value: float) -> None:
        self._slot.geometry["coupling"][name] = vector(f"coupling '{self.name}'", name, value, size=1)[0]

    def __repr__(self) -> str:
        return f"<coupling '{self.name}': ratio {self.ratio:g}, offset {self.offset:g}>"
