"""How far a simulation has come: numbers that steps without Python count as well, and the report of the last step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dovetail.solver.step import StepReport
    from dovetail.world.marcher import Marcher

__all__ = ["FRAME", "OPENED", "VERSION", "Counted"]

FRAME, VERSION, OPENED = range(3)
"""Entries of `counters`; the last one is 1 once the scene was opened for changes, and another simulation goes on."""


class Counted:
    """The frame that a state is of, and `version`, another number whenever something may have moved."""

    @property
    def marcher(self) -> Marcher:
        """What takes steps together with other simulations."""
        raise NotImplementedError

    def __init__(self) -> None:
        self.counters = np.zeros(3, np.int64)
        self._last: tuple[int, StepReport | None] = 0, None

    @property
    def last(self) -> tuple[int, StepReport | None]:
        """Frame that the state is of, and the report of the last step: set at once, when a step is accepted."""
        if self._last[0] != self.counters[FRAME]:
            self._last = int(self.counters[FRAME]), self.marcher.report
        return self._last

    @last.setter
    def last(self, last: tuple[int, StepReport | None]) -> None:
        self.counters[FRAME] = last[0]
        self._last = last

    @property
    def version(self) -> int:
        return int(self.counters[VERSION])

    @version.setter
    def version(self, number: int) -> None:
        self.counters[VERSION] = number
