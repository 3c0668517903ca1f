"""Progress bars: steps and their pace, Newton iterations, contacts and the largest joint gap."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from dovetail.constitution import Joint
from dovetail.constitution.base import class_of, uid_of
from dovetail.io.describe import joint_slots

if TYPE_CHECKING:
    from rich.console import Console

    from dovetail.core import World

__all__ = ["RunProgress", "largest_gap"]


def largest_gap(world: World) -> tuple[float, str] | None:
    """The largest gap of all joints [m] as last retrieved, and the joint's name; None without joints."""
    found: list[tuple[float, str]] = []
    for slot in joint_slots(world.scene):
        kind = class_of(uid_of(slot.geometry))
        assert issubclass(kind, Joint)
        found.append((float(kind.elements(slot.geometry).slot("gap").values.max()), slot.object_name))
    return max(found, default=None)


class RunProgress:
    """A bar that is told of every step; `with RunProgress(world, 1000) as bar: … bar.step()`.

    It is redrawn a few times a second, and only then are joints read back.
    """

    def __init__(self, world: World, steps: int | None, console: Console | None = None) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        texts = TextColumn("{task.fields[pace]}")
        self._progress: Any = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn(), texts, console=console
        )
        self._bar = self._progress.add_task("simulating", total=steps, pace="")
        self._world = world
        self._done = 0
        self._iterations = 0
        self._began = self._shown = 0.0

    def step(self) -> None:
        """A step was computed."""
        report = self._world.report
        assert report is not None
        self._done += 1
        self._iterations += report.iterations
        now = time.perf_counter()
        if self._done == 1:  # the first step may have compiled kernels; the clock starts after it
            self._began = now
        if now - self._shown > 0.1:
            self._show(now)

    def _show(self, now: float) -> None:
        self._shown = now
        self._progress.update(self._bar, completed=self._done, pace=self.summary(now))

    def summary(self, now: float | None = None) -> str:
        """Pace, iterations, contacts and gap in one line."""
        seconds = (time.perf_counter() if now is None else now) - self._began
        texts = []
        if self._done > 1 and seconds > 0:
            texts.append(f"{(self._done - 1) / seconds:,.0f} steps/s")
        if self._done:
            texts.append(f"{self._iterations / self._done:.1f} iterations")
        report = self._world.report
        if report is not None and self._world.scene.config["contact/enable"]:
            texts.append(f"{report.contacts} contacts")
        self._world.retrieve()
        gap = largest_gap(self._world)
        if gap is not None:
            texts.append(f"gap {gap[0]:.1e} m")
        return ", ".join(texts)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._done:
            self._show(time.perf_counter())
        self._progress.stop()
