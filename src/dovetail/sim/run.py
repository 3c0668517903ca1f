"""Runs of a `Sim`: loops that compute a step each time round."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

from dovetail.logger import Logger
from dovetail.messages import counted

if TYPE_CHECKING:
    from dovetail.sim.sim import Sim

__all__ = ["Run"]


class Run:
    """Steps that are computed as the loop asks for them; made by `Sim.run`."""

    def __init__(self, sim: Sim, steps: int | None, progress: bool) -> None:
        self._sim = sim
        self._steps = steps
        self._progress = progress
        self._begun = False

    def __iter__(self) -> Iterator[int]:
        self._begun = True
        turns = count() if self._steps is None else range(self._steps)
        if not self._progress:
            for _ in turns:
                self._sim.step()
                yield self._sim.frame
            return
        from dovetail.sim.progress import RunProgress

        with RunProgress(self._sim.world, self._steps) as bar:
            for _ in turns:
                self._sim.step()
                bar.step()
                yield self._sim.frame

    def __del__(self) -> None:
        if not self._begun:
            Logger.warn(
                f"Sim.run({self._steps}): nothing was computed, because no loop went over it; write "
                f"`for _ in sim.run({self._steps}): …`, or sim.step({self._steps})."
            )

    def __repr__(self) -> str:
        return "<run without end>" if self._steps is None else f"<run of {counted(self._steps, 'step')}>"
