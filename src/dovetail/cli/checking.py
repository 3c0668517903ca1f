"""`dovetail check`: findings about a mesh or a scene, with advice."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dovetail.cli.exit_codes import OK, PROBLEMS
from dovetail.doctor import Finding, examine_mesh, examine_scene
from dovetail.errors import SceneError
from dovetail.messages import counted
from dovetail.sim.given import positive

__all__ = ["check_file"]

_SCENES = {".py", ".toml", ".json"}
_STYLES = {"problem": "bold red", "warning": "yellow", "remark": "green"}


def check_file(path: Path, d_hat: float | None, scale: float) -> int:
    """Print what was found; the exit code is `PROBLEMS` where something must be mended."""
    from rich.console import Console
    from rich.text import Text

    if not path.is_file():
        raise SceneError(f"there is no file '{path}'.")
    findings = _of_scene(path, d_hat) if path.suffix.lower() in _SCENES else _of_mesh(path, d_hat, scale)
    console = Console()
    for finding in findings:
        console.print(Text(f"{finding.kind}: ", _STYLES[finding.kind]) + Text(finding.text), soft_wrap=True)
        if finding.advice:
            console.print(Text(f"         {finding.advice}", "dim"), soft_wrap=True)
    problems, warnings = (sum(finding.kind == kind for finding in findings) for kind in ("problem", "warning"))
    told = [counted(problems, "problem") + " to mend"] if problems else []
    told += [counted(warnings, "warning")] if warnings else []
    console.print(f"{path.name}: {', '.join(told) or 'no problems'}", highlight=False)
    return PROBLEMS if problems else OK


def _of_mesh(path: Path, d_hat: float | None, scale: float) -> list[Finding]:
    from dovetail.geometry import SimplicialComplexIO

    factor = positive("dovetail check", "scale", scale)
    mesh = SimplicialComplexIO(np.diag([factor, factor, factor, 1.0])).read(path)
    return examine_mesh(mesh, 1e-3 if d_hat is None else positive("dovetail check", "d_hat", d_hat, "m"))


def _of_scene(path: Path, d_hat: float | None) -> list[Finding]:
    from dovetail.cli.load import load_scene
    from dovetail.sim import Sim

    found = load_scene(path)
    scene = found.scene if isinstance(found, Sim) else found
    if d_hat is not None:
        scene.config["contact/d_hat"] = positive("dovetail check", "d_hat", d_hat, "m")
    return examine_scene(scene)
