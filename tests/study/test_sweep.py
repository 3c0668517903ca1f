"""Sweeps: each case once, results as they come, nothing lost by errors, deaths, kills and Ctrl-C."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import study_jobs as jobs

import dovetail
from dovetail.errors import StudyError
from dovetail.study import grid, sweep
from dovetail.study.sweep import TRIES

CASES = [{"x": x} for x in range(6)]


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def run_script(kind: str, out: Path) -> subprocess.Popen:
    where = os.pathsep.join([str(Path(dovetail.__file__).parents[1]), str(Path(jobs.__file__).parent)])
    return subprocess.Popen(
        [sys.executable, jobs.__file__, kind, str(out)],
        env={**os.environ, "PYTHONPATH": where}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_grid_is_all_combinations():
    assert grid(a=[1, 2], b="xy") == [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"}]


def test_rows_have_parameters_results_seeds_and_errors(tmp_path):
    out = tmp_path / "study.jsonl"
    rows = sweep(jobs.square, CASES, out, processes=2)
    assert [row["x"] for row in rows] == list(range(6))
    assert [row["square"] for row in rows if row["x"] != 3] == [0.0, 1.0, 4.0, 16.0, 25.0]
    assert rows[3]["error"] == "ValueError: three is refused" and "square" not in rows[3]
    draw = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(4,))).random()
    assert rows[4]["draw"] == draw and rows[4]["list"] == [0, 1]
    assert sorted(lines(out), key=lambda row: row["case"]) == rows


def test_results_do_not_depend_on_who_runs_them(tmp_path):
    own = sweep(jobs.square, CASES, tmp_path / "own.jsonl", processes=1, seed=7)
    with ThreadPoolExecutor(3) as threads:
        given = sweep(jobs.square, CASES, tmp_path / "given.jsonl", threads, seed=7)
    assert [{**row, "seconds": 0} for row in own] == [{**row, "seconds": 0} for row in given]


def test_what_is_in_the_table_is_not_run_again(tmp_path):
    out = tmp_path / "study.jsonl"
    with ThreadPoolExecutor(1) as threads:
        sweep(jobs.slow, CASES[:4], out, threads)
        before = out.read_text()
        rows = sweep(jobs.slow, CASES, out, threads)
        assert out.read_text().startswith(before) and len(lines(out)) == len(rows) == 6
        # torn by a kill in the middle of a line
        out.write_text(out.read_text()[:-9])
        assert sweep(jobs.slow, CASES, out, threads)[:5] == rows[:5] and len(lines(out)) == 6


def test_a_case_that_kills_its_worker_is_found_and_the_others_go_on(tmp_path):
    cases = [{"x": x, "folder": str(tmp_path)} for x in range(6)]
    rows = sweep(jobs.deadly, cases, tmp_path / "study.jsonl", processes=2)
    assert [row["x"] for row in rows if row["error"]] == [2]
    assert f"died {TRIES} times" in rows[2]["error"]
    assert len(lines(tmp_path / "study.jsonl")) == 6


def test_killed_it_goes_on_and_nothing_is_lost_or_twice(tmp_path):
    out, dice = tmp_path / "study.jsonl", random.Random(5)
    kills = 0
    while True:
        program = run_script("slow", out)
        while program.poll() is None:
            if out.exists() and out.read_text().count("\n") > dice.randrange(10, 30) + 10 * kills and kills < 2:
                program.kill()
                kills += 1
                break
            time.sleep(0.005)
        program.communicate()
        if program.returncode == 0:
            break
    assert kills == 2
    assert sorted(row["case"] for row in lines(out)) == list(range(40))


def test_ctrl_c_stops_at_once_with_one_line_and_no_orphans(tmp_path):
    out = tmp_path / "study.jsonl"
    program, pid = run_script("endless", out), Path(f"{out}.pid")
    while not (pid.exists() and pid.read_text()):
        assert program.poll() is None
        time.sleep(0.02)
    program.send_signal(signal.SIGINT)
    said = program.communicate(timeout=20)[1]
    assert "sweep: stopped; 0 of 1 case are in" in said
    assert_ends(int(pid.read_text()))


def test_workers_end_with_a_killed_parent(tmp_path):
    out = tmp_path / "study.jsonl"
    program, pid = run_script("endless", out), Path(f"{out}.pid")
    while not (pid.exists() and pid.read_text()):
        assert program.poll() is None
        time.sleep(0.02)
    program.kill()
    program.communicate()
    assert_ends(int(pid.read_text()))


def assert_ends(pid: int) -> None:
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            return  # ended; nobody has asked for its code
        time.sleep(0.02)
    raise AssertionError(f"process {pid} is still there")


@pytest.mark.parametrize(("kind", "said"), [
    ("set", "names are texts"), ("name", "'kind' has the name of a parameter"), ("none", "is a NoneType"),
])  # fmt: skip
def test_results_that_no_table_holds_are_errors_of_their_case(tmp_path, kind, said):
    with ThreadPoolExecutor(1) as threads:
        (row,) = sweep(jobs.wrong, [{"kind": kind}], tmp_path / "study.jsonl", threads)
    assert said in row["error"]


def other_cases(path):
    return {"cases": [{"x": 9}]}


def fewer_cases(path):
    return {"cases": []}


def other_seed(path):
    return {"seed": 1}


def no_table(path):
    path.write_text("a,b\n1,2\n")
    return {}


def twice(path):
    path.write_text(path.read_text() * 2)
    return {}


@pytest.mark.parametrize(("change", "said"), [
    (other_cases, "had x = 0, now 9"), (fewer_cases, "this study has 0"), (other_seed, "made with seed 0, now 1"),
    (no_table, "no row of a study"), (twice, "is there twice"),
])  # fmt: skip
def test_a_table_of_another_study_is_refused_and_not_touched(tmp_path, change, said):
    out = tmp_path / "study.jsonl"
    with ThreadPoolExecutor(1) as threads:
        sweep(jobs.slow, CASES[:1], out, threads)
        given = {"cases": CASES[:1], "executor": threads, **change(out)}
        before = out.read_text()
        with pytest.raises(StudyError, match=said):
            sweep(jobs.slow, out=out, **given)
    assert out.read_text() == before


def test_two_programs_do_not_write_one_table(tmp_path):
    out = tmp_path / "study.jsonl"
    program, pid = run_script("endless", out), Path(f"{out}.pid")
    while not (pid.exists() and pid.read_text()):
        time.sleep(0.02)
    with pytest.raises(StudyError, match="another program writes this table"):
        sweep(jobs.slow, CASES, out)
    program.kill()
    program.communicate()


@pytest.mark.parametrize(("given", "said"), [
    ({"run": lambda case, rng: {}}, "cannot be sent to other processes"),
    ({"executor": 3}, "give something with `submit`"),
    ({"processes": 0}, "processes is 0"),
    ({"seed": -1}, "seed is -1"),
    ({"cases": [{"error": 1}]}, "every table has itself"),
    ({"cases": [3]}, "case 0 is a int"),
    ({"out": "/no/such/folder/study.jsonl"}, "cannot be written"),
])  # fmt: skip
def test_mistakes_are_told(tmp_path, given, said):
    arguments = {"run": jobs.slow, "cases": CASES, "out": tmp_path / "study.jsonl", **given}
    with pytest.raises(StudyError, match=said):
        sweep(**arguments)


def test_a_script_without_a_guard_is_told_of_it(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(
        "import study_jobs as jobs\nfrom dovetail import sweep\n"
        f"sweep(jobs.slow, [{{'x': 1}}], {str(tmp_path / 'study.jsonl')!r})\n"
    )
    where = os.pathsep.join([str(Path(dovetail.__file__).parents[1]), str(Path(jobs.__file__).parent)])
    said = subprocess.run(
        [sys.executable, str(script)], env={**os.environ, "PYTHONPATH": where}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert said.returncode != 0 and "if __name__ == '__main__':" in said.stderr
