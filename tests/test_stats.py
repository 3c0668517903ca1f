"""Timers collected frame by frame."""

from __future__ import annotations

import pytest

from dovetail import Timer
from dovetail.stats import SimulationStats


@pytest.fixture
def stats():
    Timer.report_as_json()
    stats = SimulationStats()
    for calls in (1, 3):
        with Timer("Pipeline"):
            for _ in range(calls):
                with Timer("Newton Iteration"):
                    pass
        stats.collect()
    yield stats
    Timer.disable_all()


def test_values_are_given_by_name_and_by_alias(stats):
    frames, calls = stats.get_values("newton_iteration", "count")
    assert frames.tolist() == [0, 1] and calls.tolist() == [1, 3]
    assert stats.num_frames == 2 and stats.all_timer_names == {"GlobalTimer", "Pipeline", "Newton Iteration"}
    assert stats.get_values("none")[0].size == 0
    with pytest.raises(ValueError, match="'duration' or 'count'"):
        stats.get_values("Pipeline", "length")


def test_a_table_has_a_row_for_each_frame(stats):
    table = stats.to_markdown(["Newton Iteration", "none"], metric="count", display_map={"Newton Iteration": "Newton"})
    assert table.splitlines() == ["| Frame | Newton | none |", "|---|---|---|", "| 0 | 1 | N/A |", "| 1 | 3 | N/A |"]


def test_reports_and_plots_are_written(stats, tmp_path):
    pytest.importorskip("matplotlib", reason="pip install matplotlib to test plots").use("Agg")
    report = stats.summary_report(tmp_path / "report")
    assert "| Pipeline |" in report.read_text() and (tmp_path / "report" / "timers.svg").exists()
    stats.plot("Pipeline", kind="bar", output_path=tmp_path / "bars.png")
    stats.profiler_heatmap(output_path=tmp_path / "tree.png")
    assert (tmp_path / "bars.png").exists() and (tmp_path / "tree.png").exists()
    with pytest.raises(ValueError, match="'line' or 'bar'"):
        stats.plot("Pipeline", kind="pie")
