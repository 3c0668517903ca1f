"""Running a world from the command line: a progress bar, a recording, a summary; Ctrl-C keeps what was recorded."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.cli.exit_codes import INTERRUPTED, OK
from dovetail.io.recorder import Recorder
from dovetail.messages import counted
from dovetail.sim.progress import RunProgress, largest_gap

if TYPE_CHECKING:
    from dovetail.core import World

__all__ = ["run_world", "watch"]


def run_world(world: World, steps: int, record: Path | None, every: int = 1, overwrite: bool = False) -> int:
    """So many steps under a progress bar, then a summary; the exit code."""
    from rich.console import Console

    console = Console()
    interrupted = False
    stalled = 0
    first = world.frame()
    with contextlib.ExitStack() as open_things:
        recorder = None
        if record is not None:
            recorder = open_things.enter_context(Recorder(record, world, every=every, overwrite=overwrite))
            recorder.write()
        begin = time.perf_counter()
        try:
            with RunProgress(world, steps, console) as bar:
                for _ in range(steps):
                    world.advance()
                    if recorder is not None:
                        recorder.write()
                    bar.step()
                    stalled += world.report is not None and not world.report.converged
        except KeyboardInterrupt:
            interrupted = True
        seconds = time.perf_counter() - begin
    for line in _summary(world, world.frame() - first, steps, seconds, stalled, interrupted):
        console.print(line, highlight=False, soft_wrap=True)
    if record is not None:
        console.print(f"recording: {record}", highlight=False, soft_wrap=True)
    return INTERRUPTED if interrupted else OK


def _summary(world: World, done: int, steps: int, seconds: float, stalled: int, interrupted: bool) -> list[str]:
    of = f"Stopped after {done} of {counted(steps, 'step')}" if interrupted else counted(done, "step")
    lines = [f"{of}: {world.time():g} s of simulated time in {seconds:.2f} s"]
    if stalled:
        lines.append(f"{counted(stalled, 'step')} reached the iteration limit; try a smaller dt.")
    world.retrieve()
    gap = largest_gap(world)
    if gap is not None:
        lines.append(f"largest joint gap {gap[0]:.2g} m at '{gap[1]}'")
    return lines


def watch(world: World, record: Path | None, every: int, overwrite: bool) -> int:
    """Look at a world in the browser until Ctrl-C; what it computes meanwhile is recorded."""
    from dovetail.viewer import view

    if record is None:
        view(world)
        return OK
    with Recorder(record, world, every=every, overwrite=overwrite) as recorder:
        # before each step, whoever asks for it, the frame that it starts from
        world.scene.animator.insert(world.scene.objects.create("recorder"), lambda _: recorder.write())
        view(world)
        if recorder.last_frame != world.frame():
            recorder.write()
    print(f"recording: {record}")
    return OK
