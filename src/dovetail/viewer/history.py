"""What was seen lately: joint coordinates, reactions, gaps and energies over time, for plots."""

from __future__ import annotations

import numpy as np

from dovetail.io.cast import Cast
from dovetail.typing import Array
from dovetail.viewer.source import Moment

__all__ = ["QUANTITIES", "History"]

QUANTITIES = ("coordinate", "reaction", "effort", "gap")
"""Angle or distance [rad, m]; strength of the reaction force [N]; effort of a drive [N·m, N]; gap [m]."""


class History:
    """The last `length` moments; NaN where a joint does not have a quantity."""

    def __init__(self, cast: Cast, length: int = 1200) -> None:
        self._cast, self._length = cast, length
        self._columns = [self._columns_of(group) for group in range(len(cast.layout.groups))]
        self._coordinates = [self._coordinate_of(group) for group in range(len(cast.layout.groups))]
        self.clear()

    def _coordinate_of(self, group: int) -> str:
        """The column with the coordinate of a group's joints: of an angle the one that counts turns."""
        names = {
            joint.coordinate for joint, (g, _) in zip(self._cast.joints, self._cast.places, strict=True) if g == group
        }
        name = next(iter(names), "")
        turns = f"{name}/multi_turn"
        return turns if turns in self._columns[group] else name

    def _columns_of(self, group: int) -> dict[str, int]:
        """The first column of every name."""
        found, start = {}, 0
        for name, size in self._cast.layout.groups[group].names:
            found[name] = start
            start += size
        return found

    def clear(self) -> None:
        """Forget everything."""
        self._times = np.zeros(0)
        self._joints = np.zeros((0, len(self._cast.joints), len(QUANTITIES)), np.float32)
        self._energies = np.zeros((0, len(self._cast.energies)))

    def add(self, moment: Moment) -> None:
        """Remember a moment; one that lies before the last, as after a reset, begins a new history."""
        if len(self._times) and moment.time <= self._times[-1]:
            if moment.time == self._times[-1]:
                return
            self.clear()
        keep = slice(-self._length + 1, None)
        self._times = np.append(self._times[keep], moment.time)
        self._joints = np.concatenate([self._joints[keep], self.numbers(moment)[None]])
        energies = [moment.energies[name] for name in self._cast.energies]
        self._energies = np.concatenate([self._energies[keep], [energies]])

    def numbers(self, moment: Moment) -> Array:
        """All quantities of all joints, (j, q)."""
        parts = [np.zeros((0, len(QUANTITIES)))]
        for group, rows in enumerate(moment.joints):
            columns = self._columns[group]
            found = np.full((len(rows), len(QUANTITIES)), np.nan)
            for k, name in ((0, self._coordinates[group]), (2, "driving/effort"), (2, "drive/effort"), (3, "gap")):
                if name in columns:
                    found[:, k] = rows[:, columns[name]]
            if "reaction/force" in columns:
                start = columns["reaction/force"]
                found[:, 1] = np.linalg.norm(rows[:, start : start + 3], axis=1)
            parts.append(found)
        return np.concatenate(parts).astype(np.float32)

    @property
    def times(self) -> Array:
        """[s], ascending."""
        return self._times

    def joint(self, number: int, quantity: str) -> Array:
        """A quantity of a joint at these times."""
        values: Array = self._joints[:, number, QUANTITIES.index(quantity)].astype(float)
        return values

    def energy(self, name: str) -> Array:
        """An energy at these times [J]."""
        values: Array = self._energies[:, self._cast.energies.index(name)]
        return values
