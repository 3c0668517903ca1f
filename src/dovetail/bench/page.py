"""The page of a comparison: what was measured how, tables, pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dovetail.bench.plots import write_plots
from dovetail.bench.tables import engine_table, scaling_table, scene_table, startup_table
from dovetail.files import atomic_write

__all__ = ["render", "write_page"]

_PICTURES = {
    "scaling": "Time per step against the number of bodies.",
    "energy": "Energy of the falling chain of ten links over time. Nothing takes energy out or puts it in: 0 is right.",
    "overlap": "Largest penetration against time per step. Engines that guarantee none are at the bottom.",
}


def _state(found: dict[str, Any]) -> str:
    """How much the figures can be trusted."""
    machine = found["machine"]
    text = f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}."
    if found["mode"] == "quick" or found["partial"]:
        kind = "A **quick** run" if found["mode"] == "quick" else "A **partial** run"
        text += f" {kind}: fewer scenes and steps than a full one."
    if machine["load"] is not None and machine["load"] > 0.5 * machine["cores"]:
        text += (
            f" **Other programs were running** (load {machine['load']:.1f} at the beginning): ratios hold, times are "
            "longer than on a machine that is quiet."
        )
    if found["absent"]:
        text += " Not installed, and so left out: " + ", ".join(found["absent"]) + "."
    return text


def render(found: dict[str, Any], pictures: dict[str, str], folder: Path) -> str:
    """The page as Markdown, for a folder."""
    parts = [
        "# Benchmarks",
        "<!-- Written by python -m dovetail.bench from results.json; do not edit. -->",
        "dovetail beside other engines on the same scenes, on one thread of the same machine. Each engine runs in a "
        "process of its own; they are stepped in turns, so that whatever else the machine does slows all alike. Times "
        "are processor time; `ms/step` is the median per 0.01 s simulated, substeps included, `time ÷ dovetail` "
        "that of the means over the steps that both have done. Run it yourself: `make bench`, or "
        "`dovetail bench --quick`.",
        "Accuracy is measured from poses alone, by the same code for all. *Joint gap*: the farthest that two points "
        "which a joint holds together come apart; reduced coordinates cannot gap, except where joints close loops. "
        "*Penetration*: the deepest overlap of two bodies or of a body and the ground, exact for the convex pieces "
        "that all shapes consist of. *Energy*: kinetic and potential, as a share of what the scene's fall can release; "
        "without contact any change is an error, with contact a gain is.",
        _state(found),
        "## Engines",
        engine_table(found["engines"]),
        "## Scenes",
    ]
    for scene in found["scenes"]:
        parts.append(f"### {scene['name'][0].upper() + scene['name'][1:]}")
        joints = f", {scene['joints']} joint{'s'[: scene['joints'] > 1]}" if scene["joints"] else ""
        parts.append(f"{scene['bodies']} bodies{joints}, {scene['frames']} steps of {scene['dt']:g} s.")
        parts.append(scene_table(scene))
    for name, file in pictures.items():
        parts.append(f"![{name}]({file})\n\n{_PICTURES[name]}")
    if any(found["scaling"].values()):
        parts += ["## Scaling", "b of time ~ bodies^b, fitted to the medians.", scaling_table(found["scaling"])]
    if found["startup"]:
        parts += [
            "## Start-up",
            "Processor time from the start of a process to the end of the first step of `chain 10`, and the memory it "
            "has had until then. dovetail compiles its kernels once per version and machine and keeps them.",
            startup_table(found["startup"]),
        ]
    if (folder / "profile.md").exists():
        parts.append("Where dovetail's own time goes, stage by stage: [profile](profile.md).")
    return "\n\n".join(parts) + "\n"


def write_page(found: dict[str, Any], folder: Path) -> None:
    """`index.md` and the pictures."""
    pictures = write_plots(found, folder)
    atomic_write(folder / "index.md", render(found, pictures, folder))
