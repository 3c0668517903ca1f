"""Coordinates of all joints of a `Sim`, read from its world at once and kept until something moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.world.live import Live

__all__ = ["Readings"]


class Readings:
    """Values [rad or m] and rates of coordinates by their place in the world, as plain floats."""

    __slots__ = ("_rates", "_values", "_version", "live")

    def __init__(self, live: Live) -> None:
        self.live = live
        self._version = -1
        self._values: list[float] = []
        self._rates: list[float] = []

    def value(self, row: int) -> float:
        if self._version != self.live.version:
            self._read()
        return self._values[row]

    def rate(self, row: int) -> float:
        if self._version != self.live.version:
            self._read()
        return self._rates[row]

    def _read(self) -> None:
        self._values, self._rates = self.live.values().tolist(), self.live.rates().tolist()
        self._version = self.live.version
