"""The results as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["engine_table", "length", "scaling_table", "scene_table", "startup_table"]


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def length(value: float | None) -> str:
    """A length in the unit that fits."""
    if value is None:
        return "–"
    if value <= 0.0:
        return "0"
    for unit, size in (("m", 1.0), ("mm", 1e-3), ("µm", 1e-6), ("nm", 1e-9)):
        if value >= size:
            return f"{value / size:.2g} {unit}" if value < 100 * size else f"{value / size:.0f} {unit}"
    return "round-off"


def _deepest(row: dict[str, Any]) -> str:
    found = row.get("penetration") or {}
    values = [value for value in found.values() if value is not None]
    return length(max(values)) if values else "–"


def _energy(row: dict[str, Any], contact: bool) -> str:
    if row.get("energy_change") is None:
        return "–"
    if row["finite_frames"] < row["frames"]:
        return f"not finite after {row['finite_frames']} steps"
    gain, change = row["energy_gain"], row["energy_change"]
    if gain > 1.0:
        return f"**blows up** (+{100 * gain:.3g} %)"
    return f"+{100 * gain:.1f} %" if contact else f"{100 * change:+.1f} %, most +{100 * gain:.1f} %"


def _cells(row: dict[str, Any], contact: bool) -> Iterator[str]:
    yield row["engine"]
    yield _ms(row["median"])
    yield _ms(row["p95"])
    yield "–" if row["real_time"] is None else f"{row['real_time']:.3g}"
    yield "–" if row["ratio"] is None else f"{row['ratio']:.3g}"
    yield length(row.get("joint_gap"))
    yield _deepest(row)
    yield _energy(row, contact)
    yield row["failed"].replace("|", "/")


def scene_table(scene: dict[str, Any]) -> str:
    """One scene, a row for each engine."""
    contact = any((row.get("penetration") or {}).get("bodies") is not None for row in scene["results"])
    energy = "energy gained" if contact else "energy at the end"
    head = ["engine", "ms/step", "p95", "simulated s/s", "time ÷ dovetail", "joint gap", "penetration", energy, "note"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * 7 + "|---|"]
    lines += ["| " + " | ".join(_cells(row, contact)) + " |" for row in scene["results"]]
    if scene["libuipc_H200"] is not None:
        quoted = f"*libuipc on an H200, another machine* | *{scene['libuipc_H200']:g}*"
        lines.append(f"| {quoted} | | | | | | | *mean, quoted* |")
    return "\n".join(lines)


def startup_table(startup: dict[str, Any]) -> str:
    """Import, first step, memory."""
    lines = [
        "| engine | import | to the first step | the same, nothing compiled yet | memory |",
        "|---|---:|---:|---:|---:|",
    ]
    for engine, row in startup.items():
        cold = row.get("first_step_cold")
        cells = [
            engine, f"{row['import']:.2f} s", f"{row['first_step']:.2f} s", "–" if cold is None else f"{cold:.0f} s",
            f"{row['memory'] / 2**20:.0f} MB",
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def scaling_table(scaling: dict[str, dict[str, float]]) -> str:
    """Exponents b of time ~ bodies^b."""
    kinds = [kind for kind, found in scaling.items() if found]
    engines = list(dict.fromkeys(engine for kind in kinds for engine in scaling[kind]))
    lines = ["| engine | " + " | ".join(kinds) + " |", "|---" + "|---:" * len(kinds) + "|"]
    for engine in engines:
        cells = [f"{scaling[kind][engine]:.2f}" if engine in scaling[kind] else "–" for kind in kinds]
        lines.append("| " + " | ".join([engine, *cells]) + " |")
    return "\n".join(lines)


def engine_table(engines: dict[str, dict[str, str]]) -> str:
    """Versions and settings."""
    lines = ["| engine | version | settings |", "|---|---|---|"]
    lines += [f"| {name} | {told['version']} | {told['settings']} |" for name, told in engines.items()]
    return "\n".join(lines)
