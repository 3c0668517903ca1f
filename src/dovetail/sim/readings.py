"""Coordinates of all joints of a `Sim`, read from its world at once and kept until something moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.world.live import Live

__all__ = ["Readings"]


class Readings:
    """Values [rad or m] and rates of coordinates by their place in the world, as plain floats."""

    __slots__ = ("_exerted", "_exerted_version", "_rates", "_values", "_version", "live")

    def __init__(self, live: Live) -> None:
        self.live = live
        self._version = -1
        self._values: list[float] = []
        self._rates: list[float] = []
        self._exerted_version = -1

    def value(self, row: int) -> float:
        if self._version != self.live.version:
            self._read()
        return self._values[row]

    def rate(self, row: int) -> float:
        if self._version != self.live.version:
            self._read()
        return self._rates[row]

    def exerted(self, joint: int) -> tuple[Array, Array]:
        """Force [N] and torque [N·m] of what was added to a joint, on its right body."""
        if self._exerted_version != self.live.version:
            self._exerted, self._exerted_version = self.live.exerted(), self.live.version
        force, torque = self._exerted
        return force[joint], torque[joint]

    def _read(self) -> None:
        self._values, self._rates = self.live.values().tolist(), self.live.rates().tolist()
        self._version = self.live.version
