"""The results as pictures: time against size, energy over time, overlap against time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["write_plots"]

_COLOURS = {
    "dovetail": "#b3541e",
    "dovetail, as libuipc": "#e09f3e",
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


def _axes(xlabel: str, ylabel: str, panels: int = 1) -> tuple[Any, Any]:
    """A figure with panels side by side; one legend to the right of them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.8 + 2.6 * max(panels, 1.3), 3.0))
    row = figure.subplots(1, panels, sharey=True, squeeze=False)[0]
    row[0].set_ylabel(ylabel)
    for axes in row:
        axes.set_xlabel(xlabel)
        axes.grid(alpha=0.3)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    return figure, row


def _explain(axes: Any, lines: dict[str, Any]) -> None:
    axes.legend(lines.values(), lines.keys(), fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _scaling(found: dict[str, Any]) -> Any:
    """Milliseconds a step against the number of bodies, a panel for each kind of scene with several sizes."""
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for kind in ("chain", "net", "pile"):
        lines: dict[str, list[tuple[float, float]]] = {}
        for scene in found["scenes"]:
            for row in scene["results"]:
                if scene["name"].startswith(kind) and row["median"]:
                    lines.setdefault(row["engine"], []).append((scene["bodies"], row["median"]))
        if any(len(points) > 1 for points in lines.values()):
            panels[kind] = lines
    if not panels:
        return None
    figure, row_of_axes = _axes("bodies", "ms per step", len(panels))
    drawn: dict[str, Any] = {}
    for axes, (kind, lines) in zip(row_of_axes, panels.items(), strict=True):
        axes.set_title(kind, fontsize=9)
        for engine, points in lines.items():
            (drawn[engine],) = axes.loglog(*np.array(points).T, "o-", color=_COLOURS.get(engine, "k"), ms=3.5, lw=1.2)
    _explain(row_of_axes[-1], drawn)
    return figure


def _energy(found: dict[str, Any]) -> Any:
    """Energy of the chain of ten links, which has no reason to change."""
    scene = next((scene for scene in found["scenes"] if scene["name"] == "chain 10"), None)
    if scene is None:
        return None
    figure, (axes,) = _axes("time [s]", "energy − start, share of M g L/2")
    drawn = {}
    for row in scene["results"]:
        if row.get("energy"):
            time = np.linspace(0.0, scene["dt"] * row["finite_frames"], len(row["energy"]))
            (drawn[row["engine"]],) = axes.plot(time, row["energy"], color=_COLOURS.get(row["engine"], "k"), lw=1.2)
    axes.set_ylim(-1.0, 1.0)
    _explain(axes, drawn)
    return figure


def _overlap(found: dict[str, Any]) -> Any:
    """Largest overlap against milliseconds a step, scenes with contact."""
    marks = dict(zip(("pile 3³", "pile 5³", "pile 10³", "wrecking ball"), "os^*", strict=True))
    figure, (axes,) = _axes("ms per step", "largest penetration [m]; 0 is at the bottom")
    drawn: dict[str, Any] = {}
    for scene in found["scenes"]:
        for row in scene["results"]:
            depths = [d for d in (row.get("penetration") or {}).values() if d is not None]
            if scene["name"] in marks and depths and row["median"]:
                name = row["engine"]
                (point,) = axes.loglog(
                    row["median"], max(*depths, _LEAST), marks[scene["name"]], ms=6, color=_COLOURS.get(name, "k")
                )
                drawn.setdefault(name, point)
    if not drawn:
        return None
    axes.set_ylim(0.5 * _LEAST, 1.0)
    _explain(axes, drawn)
    axes.set_title("○ 3³   □ 5³   △ 10³ cubes   ☆ wrecking ball", fontsize=8)
    return figure
