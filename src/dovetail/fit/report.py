"""The page that `identify` writes: parameters with their intervals, data beside the model, and what is left."""

from __future__ import annotations

from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dovetail.files import atomic_write
from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.fit.identification import Identified

__all__ = ["write_report"]

_WIDTH, _HEIGHT, _EDGE = 720, 200, 46
_MOST = 24  # plots of columns; the others are left out, and that is said
_STYLE = """
:root { color-scheme: light dark; --line: #888; --data: #d9822b; --model: #2b6cb0; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 760px; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; } td, th { padding: .3rem .6rem; text-align: right; border-bottom:
1px solid var(--line); } td:first-child, th:first-child { text-align: left; } svg { width: 100%; height: auto; }
text { font: 11px system-ui, sans-serif; fill: currentColor; } .warn { color: #b00; }
"""


def write_report(path: str | PathLike[str], found: Identified) -> None:
    """Write the page; an existing one is replaced."""
    percent = f"{100 * found.confidence:g} %"
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{value:.6g}</td><td>{low:.6g}</td><td>{high:.6g}</td></tr>"
        for name, value, (low, high) in zip(found.names, found.p, found.interval, strict=True)
    )
    data, model = (np.reshape(a, (len(a), -1)) for a in (found.data, found.fitted))
    columns = data.shape[1]
    plots = "".join(_plot(f"column {k}", data[:, k], model[:, k]) for k in range(min(columns, _MOST)))
    left_out = f"<p>{columns - _MOST} more columns are not shown.</p>" if columns > _MOST else ""
    told = "".join(f'<p class="warn">{escape(each)}</p>' for each in found.unknown)
    page = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Identified parameters</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style>
<h1>Identified parameters</h1>
<table><tr><th>parameter</th><th>value</th><th colspan="2">{percent} interval</th></tr>{rows}</table>{told}
<p>Data are {found.noise:.3g} from the model (standard deviation); {np.isfinite(data).sum()} data,
{found.rollouts} rollouts. {escape(found.message)}</p>
<h2>Data and model</h2>{plots}{left_out}
<h2>What is left</h2>{_plot("data − model", (data - model).ravel(), None)}
</html>"""
    atomic_write(Path(path), page)


def _plot(title: str, data: Array, model: Array | None) -> str:
    """Points of data, and a line of the model."""
    both = data if model is None else np.concatenate([data, model])
    both = both[np.isfinite(both)]
    low, high = (float(both.min()), float(both.max())) if len(both) else (0.0, 1.0)
    spread = (high - low) or max(abs(high), 1e-12)
    low, high = low - 0.05 * spread, high + 0.05 * spread
    x = _EDGE + (_WIDTH - _EDGE - 8) * np.arange(len(data)) / max(len(data) - 1, 1)

    def y(values: Array) -> Array:
        scaled: Array = 18 + (_HEIGHT - 30) * (high - values) / (high - low)
        return scaled

    dots = "".join(
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="1.6"/>' for a, b in zip(x, y(data), strict=True) if np.isfinite(b)
    )
    line = ""
    if model is not None:
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y(model), strict=True) if np.isfinite(b))
        line = f'<polyline points="{points}" fill="none" stroke="var(--model)" stroke-width="1.5"/>'
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"><title>{escape(title)}</title>'
        f'<text x="{_EDGE}" y="12">{escape(title)}</text>'
        f'<text x="2" y="26">{high:.3g}</text><text x="2" y="{_HEIGHT - 12}">{low:.3g}</text>'
        f'<path d="M{_EDGE} 16V{_HEIGHT - 10}H{_WIDTH - 8}" fill="none" stroke="var(--line)"/>'
        f'<g fill="var(--data)">{dots}</g>{line}</svg>'
    )
