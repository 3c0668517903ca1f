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
    """Compile all kernels that are not on disk, those of every scene."""
    from dovetail.kernel.kernel import jit_enabled
    from dovetail.kernel.manifest import entries
    from dovetail.world.first_compile import compile_all

    if not jit_enabled:
        print("Nothing is compiled: NUMBA_DISABLE_JIT is set.")
        return OK
    begin = time.perf_counter()
    count = compile_all(entries())
    what = f"{count} were compiled in {time.perf_counter() - begin:.1f} s" if count else "they were so before"
    print(f"All kernels are compiled: {what}. `dovetail info` tells where they lie.")
    return OK
