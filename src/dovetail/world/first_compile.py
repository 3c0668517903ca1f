"""What a scene needs of kernels is compiled before its first step, in all processors, with word of how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dovetail.kernel.machine import dismiss
from dovetail.kernel.manifest import needed
from dovetail.kernel.precompile import missing, precompile

if TYPE_CHECKING:
    from dovetail.kernel.manifest import Task
    from dovetail.scene.config import ConfigAttributes

__all__ = ["compile_all", "features", "first_compile"]

_TEXT = "dovetail: compiling kernels (first run only) …"
_WIDTH = 24
_known: set[frozenset[str]] = set()


def features(config: ConfigAttributes, constitutions: Iterable[str]) -> set[str]:
    """What a scene has that decides which kernels it needs: constitutions, how joints hold, integrator, contact."""
    found = {*constitutions, config["integrator/type"], config["newton/direction"]}
    if config["joint/exact"] and "penalty" in found:
        found = found - {"penalty"} | {"exact"}
    return found | ({"contact"} if config["contact/enable"] else set())


def first_compile(found: set[str]) -> None:
    """Compile what a scene with these features needs and is not on disk; for each set of them one look is enough.

    What its first steps can do without may still be under way then.
    """
    if (looked_for := frozenset(found)) not in _known:
        try:
            compile_all(needed(found), may_wait=True)
        finally:
            dismiss()
        _known.add(looked_for)


def compile_all(wanted: list[Task], may_wait: bool = False) -> int:
    """Compile what is not on disk of these; how many that was. What can wait may be left to others."""
    every = missing(wanted)
    ahead = missing([task for task in wanted if not task.can_wait]) if may_wait else []
    ahead = ahead or every
    if ahead:
        behind = {task.number for task in every} - {task.number for task in ahead}
        bar = _Bar(len(ahead), sys.stderr)
        precompile(ahead, bar.show, [task for task in every if task.number in behind])
        bar.close()
    return len(ahead)


class _Bar:
    """One line on a terminal that fills; elsewhere one that stays."""

    def __init__(self, total: int, stream: Any) -> None:
        self._total, self._stream, self._began = total, stream, time.perf_counter()
        self._live = stream is not None and stream.isatty()
        if stream is not None:
            print(_TEXT, end="" if self._live else "\n", file=stream, flush=True)

    def show(self, done: int) -> None:
        if self._live:
            full = _WIDTH * done // self._total
            bar = "█" * full + "░" * (_WIDTH - full)
            text = f"\r{_TEXT} {bar} {done}/{self._total}, {time.perf_counter() - self._began:.0f} s"
            print(text, end="", file=self._stream, flush=True)

    def close(self) -> None:
        if self._live:
            print(file=self._stream, flush=True)
