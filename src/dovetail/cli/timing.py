"""`dovetail bench` and `dovetail warmup`: how fast this machine is, and kernels compiled before they are needed."""

from __future__ import annotations

import time

from dovetail.cli.exit_codes import OK
from dovetail.cli.scenes import SCENES
from dovetail.messages import counted

__all__ = ["bench_scenes", "warm_up"]


def bench_scenes(steps: int) -> int:
    """Run every scene for so many steps and print a table. The first step of each, which may compile, is not timed."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=f"{counted(steps, 'step')} each, one thread; iterations are per step", box=SIMPLE_HEAD, pad_edge=False
    )
    table.add_column("scene", no_wrap=True)
    for heading in ("bodies", "joints", "contacts", "iterations", "ms/step", "steps/s", "× real"):
        table.add_column(heading, justify="right", no_wrap=True)
    console = Console()
    with console.status("running …"):
        for name, build in SCENES.items():
            sim = build()
            sim.step()
            iterations = contacts = 0
            begin = time.process_time()
            for _ in sim.run(steps):
                report = sim.world.report
                assert report is not None
                iterations += report.iterations
                contacts = max(contacts, report.contacts)
            seconds = max(time.process_time() - begin, 1e-9)
            table.add_row(
                name,
                str(len(sim.bodies)),
                str(len(sim.joints)),
                str(contacts),
                f"{iterations / steps:.1f}",
                f"{1e3 * seconds / steps:.2f}",
                f"{steps / seconds:,.0f}",
                f"{steps * sim.dt / seconds:,.1f}",
            )
    console.print(table)
    return OK


def warm_up() -> int:
    """Let every scene run a few steps, with a drive, a limit, contact, friction, a recording's read-back."""
    from rich.console import Console

    begin = time.perf_counter()
    with Console().status("compiling kernels …"):
        for build in SCENES.values():
            sim = build()
            for _ in sim.run(5):
                assert sim.energy.total == sim.energy.total
                sim.contacts  # noqa: B018  its kernels are wanted, not its value
    print(f"All kernels are compiled ({time.perf_counter() - begin:.1f} s). `dovetail info` tells where they lie.")
    return OK
