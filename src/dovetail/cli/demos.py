"""`dovetail demo`: the showcase, and the scenes of dovetail.cli.scenes."""

from __future__ import annotations

from pathlib import Path

from dovetail.cli.exit_codes import OK
from dovetail.cli.running import run_world, watch
from dovetail.cli.scenes import SCENES
from dovetail.errors import SceneError
from dovetail.sim import Sim

__all__ = ["run_demo"]

_STEPS = 300


def run_demo(name: str, steps: int | None, record: Path | None, overwrite: bool, view: bool) -> int:
    """Run a demo by name; the exit code."""
    if name == "list":
        print("showcase    what `make demo` runs")
        for known, build in SCENES.items():
            print(f"{known:<11} {build.__doc__}")
        return OK
    if name == "showcase" and not view and record is None and steps is None:
        from dovetail.demo import main

        return main()
    if name not in ("showcase", *SCENES):
        raise SceneError(f"there is no demo '{name}'; there are showcase, {', '.join(SCENES)}.")
    world = _scene(name).world
    if view:
        return watch(world, record, every=1, overwrite=overwrite)
    return run_world(world, _STEPS if steps is None else steps, record, overwrite=overwrite)


def _scene(name: str) -> Sim:
    if name == "showcase":
        from dovetail.demo import build

        return build()
    return SCENES[name]()
