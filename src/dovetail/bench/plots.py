"""The results as pictures: time against size, energy over time, overlap against time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["write_plots"]

_COLOURS = {
    "dovetail": "#b3541e",
    "dovetail, exact joints": "#e09f3e",
    "MuJoCo": "#1d3557",
    "MuJoCo ×5": "#457b9d",
    "PyBullet ×5": "#6a994e",
    "Drake ×10": "#8d5a97",
    "Newton XPBD": "#767676",
}
_LEAST = 1e-6  # m, where the axis of overlaps begins: what is 0 is drawn there


def write_plots(found: dict[str, Any], folder: Path) -> dict[str, str]:
    """Write the pictures that the results are enough for; file name by what it shows."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["svg.hashsalt"] = "dovetail"
    matplotlib.rcParams["font.size"] = 9
    written = {}
    for name, draw in (("scaling", _scaling), ("energy", _energy), ("overlap", _overlap)):
        figure = draw(found)
        if figure is not None:
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
            written[name] = f"{name}.svg"
    return written


def _axes(xlabel: str, ylabel: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 3.4))
    axes = figure.subplots()
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.grid(alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _scaling(found: dict[str, Any]) -> Any:
    """Milliseconds a step of chains, nets and piles against the number of bodies."""
    figure, axes = _axes("bodies", "ms per step")
    marks = {"chain": "o-", "net": "s--", "pile": "^:"}
    drawn = False
    for kind, mark in marks.items():
        lines: dict[str, list[tuple[float, float]]] = {}
        for scene in found["scenes"]:
            for row in scene["results"]:
                if scene["name"].startswith(kind) and row["median"]:
                    lines.setdefault(row["engine"], []).append((scene["bodies"], row["median"]))
        for engine, points in lines.items():
            if len(points) > 1:
                drawn = True
                axes.loglog(
                    *np.array(points).T, mark, color=_COLOURS.get(engine, "k"), ms=4, lw=1.2, label=f"{engine}, {kind}"
                )
    if not drawn:
        return None
    axes.legend(fontsize=6, ncols=2, frameon=False)
    return figure


def _energy(found: dict[str, Any]) -> Any:
    """Energy of the chain of ten links, which has no reason to change."""
    scene = next((scene for scene in found["scenes"] if scene["name"] == "chain 10"), None)
    if scene is None:
        return None
    figure, axes = _axes("time [s]", "energy − start, share of M g L/2")
    for row in scene["results"]:
        if row.get("energy"):
            time = np.linspace(0.0, scene["dt"] * row["finite_frames"], len(row["energy"]))
            axes.plot(time, row["energy"], color=_COLOURS.get(row["engine"], "k"), lw=1.2, label=row["engine"])
    axes.set_ylim(-1.0, 1.0)
    axes.legend(fontsize=7, frameon=False)
    return figure


def _overlap(found: dict[str, Any]) -> Any:
    """Largest overlap against milliseconds a step, scenes with contact."""
    figure, axes = _axes("ms per step", "largest penetration [m]; 0 is drawn at the bottom")
    marks = dict(zip(("pile 3³", "pile 5³", "pile 10³", "wrecking ball"), "os^*", strict=True))
    seen: set[str] = set()
    for scene in found["scenes"]:
        for row in scene["results"]:
            depths = [d for d in (row.get("penetration") or {}).values() if d is not None]
            if scene["name"] in marks and depths and row["median"]:
                name = row["engine"]
                label = None if name in seen else name
                seen.add(name)
                axes.loglog(
                    row["median"],
                    max(*depths, _LEAST),
                    marks[scene["name"]],
                    ms=6,
                    color=_COLOURS.get(name, "k"),
                    label=label,
                )
    if not seen:
        return None
    axes.set_ylim(0.5 * _LEAST, 1.0)
    axes.legend(fontsize=7, frameon=False)
    axes.set_title("○ 3³   □ 5³   △ 10³ cubes   ☆ wrecking ball", fontsize=8)
    return figure
