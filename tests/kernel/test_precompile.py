"""Kernels compiled ahead by several processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dovetail
from dovetail.kernel.kernel import jit_enabled

pytestmark = pytest.mark.skipif(not jit_enabled, reason="nothing is compiled")

HEAD = """
import json, sys, time
from dovetail.kernel import machine, precompile
from dovetail.kernel.manifest import Task, tasks
from dovetail.kernel.precompile import missing

precompile._WORTH = 0.0
precompile.processors = lambda: 2
# small ones: two that call others, and two that call none
small = sorted((task for task in tasks() if task.form == "python"), key=lambda task: task.seconds)
wanted = [task for task in small if task.needs][:2] + [task for task in small if not task.needs][:2]
told = []
def own():
    '''How many functions this process has compiled itself.'''
    from dovetail.kernel.files import KernelFiles
    saved = []
    save = KernelFiles.save_overload
    KernelFiles.save_overload = lambda *given: (saved.append(1), save(*given))
    return saved
saved = own()
def slow():
    '''Before each task this one waits until the others have compiled something, or for 2.5 s.'''
    compile = Task.compile
    def wait(task):
        left, end = len(missing(wanted)), time.monotonic() + 2.5
        while len(missing(wanted)) == left and time.monotonic() < end:
            time.sleep(0.02)
        compile(task)
    Task.compile = wait
ahead = missing(wanted)
"""
TAIL = """
precompile.precompile(ahead, told.append)
print(json.dumps([len(ahead), max(told), len(saved), len(missing(wanted))]))
"""


def run(cache: Path, script: str) -> tuple[int, int, int, int]:
    """Tasks, how many were told to be done, how many this process compiled, how many are missing afterwards."""
    paths = {"PYTHONPATH": str(Path(dovetail.__file__).parents[1]), "DOVETAIL_CACHE_DIR": str(cache)}
    found = subprocess.run(
        [sys.executable, "-c", HEAD + script + TAIL],
        env={**os.environ, **paths},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert found.returncode == 0, found.stderr
    count, told, own, missing = json.loads(found.stdout)
    return count, told, own, missing


@pytest.mark.long
def test_all_is_compiled_once_by_this_process_and_others(tmp_path):
    count, told, own, missing = run(tmp_path, "slow()")
    assert count > 4 and told == count and 0 < own < count and missing == 0
    files = sorted(path.name for path in tmp_path.rglob("*.nbc"))
    assert len(files) == count, "each once, and nothing else"
    # and with what others leave undone: none can be started, one ends at once, one ends when it is given a task
    ends = "import sys; print(); sys.stdin.readline()"
    for n, broken in enumerate(
        (
            "sys.executable = '/nowhere/python'",
            "machine._START = 'raise SystemExit'",
            f"machine._START = '{ends}'",
        )
    ):
        count, told, own, missing = run(tmp_path / str(n), broken)
        assert told == count == own and missing == 0


BEHIND = """
from dovetail.kernel.kernel import is_awaited
every, ahead = ahead, missing(wanted[2:])
behind = [task for task in every if task.number not in {other.number for other in ahead}]
spared = behind[-1]._found()[0]
assert behind[-1].form == "python"
slow()
precompile.precompile(ahead, told.append, behind)
while is_awaited(spared):
    time.sleep(0.05)
ahead = []
"""


@pytest.mark.long
def test_what_can_wait_is_left_to_others(tmp_path):
    _, told, own, missing = run(tmp_path, BEHIND)
    assert missing == 0 and 0 < own <= told, "this one compiles nothing that can wait"
    # without others nobody waits, and it is compiled when it is called
    _, told, own, missing = run(tmp_path / "alone", "sys.executable = '/nowhere/python'; slow = list" + BEHIND)
    assert own == told and missing > 0


def test_help_comes_early_only_where_nothing_was_ever_compiled(tmp_path, monkeypatch):
    from dovetail.kernel import machine

    started = []
    monkeypatch.setattr(machine, "helper", lambda: started.append(1))
    monkeypatch.setattr(machine, "processors", lambda: 2)
    monkeypatch.delitem(sys.modules, "numba")
    monkeypatch.setenv("DOVETAIL_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    machine.help_early()
    assert len(started) == 1
    (tmp_path / "kernels-0123").mkdir()
    machine.help_early()
    (tmp_path / "kernels-0123").rmdir()
    monkeypatch.setattr(machine, "processors", lambda: 1)
    machine.help_early()
    monkeypatch.setattr(machine, "processors", lambda: 2)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    machine.help_early()
    assert len(started) == 1


def test_where_nothing_can_be_kept_nothing_is_compiled_ahead(tmp_path):
    (tmp_path / "note").write_text("mine")
    count, told, own, missing = run(tmp_path / "note" / "cache", "told.append(0)")
    assert (told, own) == (0, 0) and missing == count > 4


def test_an_interrupt_leaves_whole_files_only(tmp_path):
    script = """
def interrupt(done):
    if done > 1:
        raise KeyboardInterrupt
try:
    precompile.precompile(ahead, interrupt)
except KeyboardInterrupt:
    left = len(missing(wanted))
    assert 0 < left < len(ahead), left
"""
    assert run(tmp_path, script)[-1] == 0
