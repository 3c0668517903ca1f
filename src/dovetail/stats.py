"""Where the time of each frame goes: timers collected frame by frame, as tables and plots.

stats = SimulationStats()
for _ in range(100):
    world.advance()
    world.retrieve()
    stats.collect()
print(stats.to_markdown(["Pipeline", "Newton Iteration"]))
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dovetail.errors import DovetailError, MissingExtra
from dovetail.files import atomic_write
from dovetail.logger import Logger
from dovetail.timer import Timer
from dovetail.typing import Array, Indices

__all__ = ["SimulationStats"]

_METRICS = {"duration": "time [ms]", "count": "calls"}


class SimulationStats:
    """Timer trees, one per `collect`; making one switches the timers on."""

    DEFAULT_ALIASES: ClassVar[dict[str, str]] = {
        "newton_iteration": r"(?i)newton.?iteration",
        "global_linear_system": r"(?i)(solve.?)?global.?linear.?system",
        "line_search": r"(?i)line.?search$",
        "dcd": r"(?i)detect.?dcd.?candidates",
        "spmv": r"(?i)spmv",
    }
    """Short names that can stand for timers: patterns, of which the first match counts."""

    def __init__(self) -> None:
        self._frames: list[dict[str, Any]] = []
        Timer.enable_all()

    def collect(self) -> SimulationStats:
        """Keep what was measured since the last call as one frame, and return the object."""
        self._frames.append(Timer.report_as_json())
        return self

    @property
    def num_frames(self) -> int:
        return len(self._frames)

    @property
    def all_timer_names(self) -> set[str]:
        return {node["name"] for tree in self._frames for node in _nodes(tree)}

    def get_values(self, key: str, metric: str = "duration") -> tuple[Indices, Array]:
        """Frames in which the timer ran, and its duration [s] or number of calls in each."""
        _check_metric(metric)
        name = self._timer(key)
        frames, values = [], []
        for frame, tree in enumerate(self._frames):
            found = [node[metric] for node in _nodes(tree) if node["name"] == name]
            if found:
                frames.append(frame)
                values.append(sum(found))
        return np.array(frames, np.int64), np.array(values, np.float64)

    def to_markdown(
        self,
        keys: str | Sequence[str] | None = None,
        metric: str = "duration",
        display_map: dict[str, str] | None = None,
    ) -> str:
        """A table with a row per frame and a column per timer, all of them by default."""
        _check_metric(metric)
        chosen = self._chosen(keys)
        titles = [(display_map or {}).get(key, key) for key in chosen]
        lines = [f"| Frame | {' | '.join(titles)} |", f"|---|{'---|' * len(chosen)}"]
        columns = [dict(zip(*(part.tolist() for part in self.get_values(key, metric)), strict=True)) for key in chosen]
        for frame in range(self.num_frames):
            cells = [_cell(column.get(frame), metric) for column in columns]
            lines.append(f"| {frame} | {' | '.join(cells)} |")
        return "\n".join(lines)

    def summary(self) -> dict[str, dict[str, float]]:
        """For each timer: frames, total, mean and longest duration [s], and calls in all."""
        found: dict[str, dict[str, float]] = {}
        for name in self._chosen(None):
            durations, calls = self.get_values(name)[1], self.get_values(name, "count")[1]
            found[name] = {
                "frames": len(durations),
                "total": float(durations.sum()),
                "mean": float(durations.mean()),
                "max": float(durations.max()),
                "count": float(calls.sum()),
            }
        return found

    def summary_report(self, output_dir: str | Path = "perf_report", **options: Any) -> Path:
        """Write report.md with a table of all timers, and a plot of the longest if matplotlib is there."""
        folder = Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        rows = sorted(self.summary().items(), key=lambda item: -item[1]["total"])
        lines = ["# Where the time goes", "", f"{self.num_frames} frames.", ""]
        lines += ["| timer | total [ms] | mean [ms] | longest [ms] | calls |", "|---|---|---|---|---|"]
        for name, row in rows:
            times = " | ".join(f"{1e3 * row[part]:.3f}" for part in ("total", "mean", "max"))
            lines.append(f"| {name} | {times} | {row['count']:.0f} |")
        try:
            self.plot([name for name, _ in rows[:6]], output_path=folder / "timers.svg")
            lines += ["", "![timers](timers.svg)"]
        except MissingExtra as error:
            Logger.info(str(error))
        atomic_write(folder / "report.md", "\n".join(lines) + "\n")
        return folder / "report.md"

    def plot(
        self,
        keys: str | Sequence[str],
        metric: str = "duration",
        kind: str = "line",
        title: str | None = None,
        output_path: str | Path | None = None,
    ) -> Any:
        """The figure of timers over frames, as lines or bars; saved to `output_path`, or shown without one."""
        _check_metric(metric)
        if kind not in ("line", "bar"):
            raise ValueError(f"SimulationStats.plot: kind = {kind!r}; give 'line' or 'bar'.")
        plt = _pyplot()
        figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
        chosen = self._chosen(keys)
        for place, key in enumerate(chosen):
            frames, values = self.get_values(key, metric)
            if not len(frames):
                Logger.warn(f"SimulationStats: there is no timer '{key}'; there are {sorted(self.all_timer_names)}.")
                continue
            scaled = values * (1e3 if metric == "duration" else 1.0)
            if kind == "bar":
                width = 0.8 / len(chosen)
                axes.bar(frames + (place - (len(chosen) - 1) / 2) * width, scaled, width, label=key)
            else:
                axes.plot(frames, scaled, ".-", label=key)
        axes.set(xlabel="frame", ylabel=_METRICS[metric], title=title or f"{', '.join(chosen)}: {metric} per frame")
        if axes.get_legend_handles_labels()[0]:
            axes.legend()
        _finish(plt, figure, output_path)
        return figure

    def profiler_heatmap(
        self,
        frame_index: int = -1,
        output_path: str | Path | None = None,
        max_depth: int = 999,
        include_other: bool = True,
    ) -> Any:
        """The timers of one frame as nested bars, each as wide as it lasted; None where nothing was collected."""
        if not self._frames:
            Logger.warn("SimulationStats.profiler_heatmap: no frame was collected.")
            return None
        plt = _pyplot()
        figure, axes = plt.subplots(figsize=(10, 4), layout="constrained")
        _draw(axes, self._frames[frame_index], 0.0, 0, max_depth)
        axes.set(xlabel="time [ms]", yticks=[])
        _finish(plt, figure, output_path)
        return figure

    def _chosen(self, keys: str | Sequence[str] | None) -> list[str]:
        if keys is None:
            roots = {tree["name"] for tree in self._frames}
            return sorted(self.all_timer_names - roots)
        return [keys] if isinstance(keys, str) else list(keys)

    def _timer(self, key: str) -> str:
        """The timer that a name or an alias stands for."""
        names = self.all_timer_names
        pattern = self.DEFAULT_ALIASES.get(key)
        if key in names or pattern is None:
            return key
        return next((name for name in sorted(names) if re.search(pattern, name)), key)


def _nodes(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield tree
    for child in tree["children"]:
        yield from _nodes(child)


def _check_metric(metric: str) -> None:
    if metric not in _METRICS:
        raise ValueError(f"SimulationStats: metric = {metric!r}; give 'duration' or 'count'.")


def _cell(value: float | None, metric: str) -> str:
    if value is None:
        return "N/A"
    return f"{value:.4f}s" if metric == "duration" else f"{value:.0f}"


def _draw(axes: Any, node: dict[str, Any], start: float, depth: int, max_depth: int) -> None:
    axes.barh(-depth, 1e3 * node["duration"], left=1e3 * start, height=0.9, edgecolor="white")
    axes.text(1e3 * (start + node["duration"] / 2), -depth, node["name"], ha="center", va="center", fontsize=7)
    if depth < max_depth:
        for child in node["children"]:
            _draw(axes, child, start, depth + 1, max_depth)
            start += child["duration"]


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtra("SimulationStats: matplotlib is not installed; `pip install matplotlib` to plot.") from None
    return plt


def _finish(plt: Any, figure: Any, output_path: str | Path | None) -> None:
    if output_path is None:
        plt.show()
        return
    try:
        figure.savefig(output_path, dpi=150)
    except OSError as error:
        raise DovetailError(f"SimulationStats: cannot write '{output_path}': {error.strerror or error}.") from error
    plt.close(figure)
