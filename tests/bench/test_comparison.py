"""The comparison runs to its end: engines in turns, one that fails is told, tables and pages of what was found."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dovetail.bench import comparison
from dovetail.bench.command import main
from dovetail.bench.comparison import run
from dovetail.bench.engines import ENGINES, Entry, find
from dovetail.bench.interleave import Limits, Outcome, compare
from dovetail.bench.plots import write_plots
from dovetail.bench.scenes import build
from dovetail.bench.tables import scene_table
from dovetail.bench.warmup import warm_up
from dovetail.bench.worker import measures

STARTED = {"import": 0.1, "first_step": 0.7, "first_step_cold": 30.0, "memory": 100 * 2**20}


def test_an_engine_steps_a_scene_to_its_end_and_tells_what_it_did():
    # the first step may have to compile, on a busy machine
    (outcome,) = compare("chain 3", 12, [find("dovetail, as libuipc")], Limits(steps=300.0))
    assert outcome.failed == "" and len(outcome.times) == 12
    assert outcome.measured["frames"] == outcome.measured["finite_frames"] == 12
    # γ = 100 at 10 ms: some g h²/(2γ) per link that hangs on it, 5e-6 m each
    assert 1e-8 < outcome.measured["joint_gap"] < 1e-4
    assert outcome.measured["energy_gain"] <= 0.0


def test_an_engine_that_cannot_be_built_is_told_and_the_others_go_on():
    broken = Entry("nobody", "scene", "dovetail", {}, "")
    outcomes = compare("chain 2", 2, [broken, find("dovetail")], Limits(steps=300.0))
    assert "StopIteration" in outcomes[0].failed or "ended with code" in outcomes[0].failed
    assert outcomes[1].failed == ""


def test_time_runs_out_after_some_steps_and_the_report_says_so():
    (outcome,) = compare("chain 3", 500, [find("dovetail")], Limits(steps=1e-4))
    assert 0 < len(outcome.times) < 500
    assert outcome.failed == f"stopped after {len(outcome.times)} of 500 steps, 0.0001 s were over"
    assert outcome.measured["frames"] == len(outcome.times)


def test_an_engine_that_takes_too_long_to_build_is_told():
    (outcome,) = compare("chain 3", 5, [find("dovetail")], Limits(build=0.0))
    assert outcome.failed == "not built within 0 s" and outcome.times == []


def test_a_single_step_counts_where_it_is_all_there_is():
    outcomes = [Outcome("dovetail", "", 0.1, [0.5, 0.002, 0.002]), Outcome("Drake", "stopped", 0.1, [20.0])]
    base, slow = comparison._scene("chain 2", 3, outcomes)["results"]
    assert base["ratio"] == 1.0 and slow["median"] == 20e3 and slow["ratio"] == pytest.approx(1e4)


def test_a_net_with_too_many_coordinates_is_built_of_constraints_in_pybullet():
    entry = find("PyBullet ×5")
    if not entry.is_installed:
        pytest.skip("install pybullet to test its adapter")
    scene = build("net 49", 5)
    engine = entry.build(scene)
    poses = [engine.poses()]
    for _ in range(5):
        engine.step()
        poses.append(engine.poses())
    np.testing.assert_array_equal(poses[0], scene.transform[:, :3])
    # it falls, and constraints hold it together to what its iterations leave
    assert poses[-1][:, 2, 3].min() < -0.005 and measures(scene, np.array(poses))["joint_gap"] < 1e-3


@pytest.mark.parametrize("entry", [e for e in ENGINES if e.requires != "dovetail"], ids=lambda e: e.name)
def test_other_engines_start_where_the_scene_has_the_bodies_and_fall_like_it(entry):
    if not entry.is_installed:
        pytest.skip(f"install {entry.requires} to test its adapter")
    for name in ("chain 3", "net 4", "pile 2³"):
        scene = build(name, 3)
        engine = entry.build(scene)
        poses = [engine.poses()]
        np.testing.assert_allclose(poses[0], scene.transform[:, :3], atol=1e-5)  # round-off in single precision
        for _ in range(3):
            engine.step()
            poses.append(engine.poses())
        found = measures(scene, np.array(poses))
        # in 0.03 s nothing has happened that would gain energy; a joint in the wrong place would
        assert abs(found["energy_change"]) < 0.02
        assert (found["joint_gap"] or 0.0) < 1e-3


def test_a_motion_that_is_no_number_is_cut_where_it_ends():
    scene = build("chain 3", 5)
    poses = np.tile(scene.transform[None, :, :3], (6, 1, 1, 1))
    poses[4:, 1] = np.nan
    found = measures(scene, poses)
    assert found["finite_frames"] == 3 and found["frames"] == 5
    assert found["energy_gain"] == 0.0


def test_a_run_writes_results_page_and_pictures(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="install matplotlib to test the page")
    monkeypatch.setitem(comparison.SIZES, "quick", {"chain 2": 4, "pile 1³": 4})
    monkeypatch.setattr(comparison, "ENGINES", [find("dovetail"), find("dovetail, as libuipc")])
    monkeypatch.setattr(comparison, "warm_up", lambda entries, anew, runs, say: {"dovetail": STARTED})
    assert main(["--quick", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [scene["name"] for scene in found["scenes"]] == ["chain 2", "pile 1³"]
    rows = {row["engine"]: row for row in found["scenes"][0]["results"]}
    assert rows["dovetail"]["ratio"] == 1.0
    # exact to the tolerance to which Newton closes joints, 1e-9 m
    assert rows["dovetail"]["joint_gap"] < 1e-9
    page = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "### Chain 2" in page and "| dovetail, as libuipc |" in page and "**quick**" in page
    assert "| dovetail | 0.10 s | 0.70 s | 30 s | 100 MB |" in page
    assert "wrote" in capsys.readouterr().out


def test_an_engine_without_times_leaves_the_others_without_ratios():
    outcomes = [Outcome("dovetail", "not built within 60 s"), Outcome("MuJoCo", "", 0.1, [0.2, 0.001, 0.003])]
    scene = comparison._scene("chain 2", 3, outcomes)
    base, other = scene["results"]
    assert base["median"] is None and other["median"] == pytest.approx(2.0) and other["ratio"] is None
    assert comparison._line(base) == "not built within 60 s" and "2.000 ms a step" in comparison._line(other)
    assert "| MuJoCo | 2 | 2.9 | 5 | – |" in scene_table(scene)


def test_the_start_of_an_engine_is_told_in_seconds_and_bytes():
    entry = find("MuJoCo")
    if not entry.is_installed:
        pytest.skip("install mujoco to test how it starts")
    told = warm_up([entry], anew=False, runs=1, say=print)["MuJoCo"]
    # each is of a process of its own, so neither is bound to be the larger
    assert 0.0 < told["import"] < 100.0
    assert 0.0 < told["first_step"] < 100.0
    assert 1e6 < told["memory"] < 1e10


def test_pictures_are_drawn_of_what_there_is(tmp_path):
    pytest.importorskip("matplotlib", reason="install matplotlib to test pictures")
    row = {"engine": "dovetail", "energy": [0.0, -0.1], "finite_frames": 2}
    chains = [
        {"name": f"chain {n}", "bodies": n, "dt": 0.01, "results": [{**row, "median": 0.1 * n}]} for n in (10, 100)
    ]
    pile = {
        "name": "pile 3³",
        "bodies": 27,
        "dt": 0.01,
        "results": [{**row, "median": 1.0, "penetration": {"bodies": 0.0}}],
    }
    assert write_plots({"scenes": []}, tmp_path) == {}
    assert sorted(write_plots({"scenes": [*chains, pile]}, tmp_path)) == ["energy", "overlap", "scaling"]
    assert all(path.stat().st_size < 60_000 for path in tmp_path.glob("*.svg"))


def test_engines_that_are_not_installed_are_left_out_with_a_line(monkeypatch):
    lines: list[str] = []
    monkeypatch.setattr(comparison, "ENGINES", [Entry("Gone", "gone", "no_such_package", {}, "")])
    monkeypatch.setattr(comparison, "SIZES", {"quick": {}})
    found = run("quick", say=lines.append)
    assert "Gone is left out: no_such_package is not installed" in lines
    assert found["absent"] == ["no_such_package"] and found["scenes"] == []
