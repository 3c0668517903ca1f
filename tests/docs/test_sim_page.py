"""The page of the short form keeps its promise of brevity."""

from __future__ import annotations

from docs.pages import DOCS, blocks


def test_a_pendulum_with_limits_and_a_plot_takes_at_most_twelve_lines():
    code, _ = blocks(DOCS / "sim.md")[0]
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 12
    assert "limit=" in code and "plot" in code
