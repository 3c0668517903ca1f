"""Writes the figures of the README, between its markers, from docs/benchmarks/results.json.

    python docs/scripts/readme_figures.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dovetail.bench.tables import length

__all__ = ["README", "block", "render"]

_REPOSITORY = Path(__file__).parents[2]
README = _REPOSITORY / "README.md"
RESULTS = _REPOSITORY / "docs" / "benchmarks" / "results.json"
BEGIN, END = "<!-- figures: begin; written by docs/scripts/readme_figures.py -->", "<!-- figures: end -->"
_SCENES = ("chain 100", "chain 1000", "net 100", "pile 5³", "pile 10³", "wrecking ball")
_ENGINES = ("dovetail", "MuJoCo ×5", "Drake ×10", "PyBullet ×5", "Newton XPBD")


def _cell(row: dict[str, Any] | None) -> str:
    """Milliseconds a step, and the worst that went wrong: a gap in a joint or an overlap of bodies."""
    if row is None or "frames" not in row:
        return "–"
    errors = [row.get("joint_gap") or 0.0, *(d or 0.0 for d in (row.get("penetration") or {}).values())]
    gains = row.get("energy_gain") or 0.0
    blown = row.get("finite_frames", 0) < row.get("frames", 0) or gains > 1.0
    text = f"{row['median']:.2g} ms" if row["median"] < 10 else f"{row['median']:.0f} ms"
    return f"{text}, " + ("blows up" if blown else f"{length(max(errors))}")


def block(found: dict[str, Any]) -> str:
    """The lines between the markers."""
    engines = [name for name in _ENGINES if name in found["engines"]]
    lines = [
        "| ms per 0.01 s, largest joint gap or overlap | " + " | ".join(engines) + " |",
        "|---" + "|---:" * len(engines) + "|",
    ]
    for scene in found["scenes"]:
        if scene["name"] in _SCENES:
            rows = {row["engine"]: row for row in scene["results"]}
            lines.append(f"| {scene['name']} | " + " | ".join(_cell(rows.get(name)) for name in engines) + " |")
    machine = found["machine"]
    note = f"One thread of {machine['processor']}, {found['mode']} run"
    busy = machine["load"] is not None and machine["load"] > 0.5 * machine["cores"]
    lines += ["", note + (" on a busy machine" if busy else "") + "; `make bench` repeats it. Tables, energies and"]
    lines.append("settings: [benchmarks](docs/benchmarks/index.md). Accuracy: [verification](docs/verification.md).")
    return "\n".join(lines)


def render() -> str:
    """The README with its figures."""
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    assert after, f"README.md lacks the markers {BEGIN} and {END}"
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    return f"{before}{BEGIN}\n\n{block(found)}\n\n{END}{after}"


if __name__ == "__main__":
    README.write_text(render(), encoding="utf-8")
    print(f"wrote the figures of {README.name}")
