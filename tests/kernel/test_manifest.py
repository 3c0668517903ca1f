"""The list of kernels to compile ahead: nothing is missing in it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba import types

import dovetail
from dovetail.kernel.kernel import jit_enabled

pytestmark = pytest.mark.skipif(not jit_enabled, reason="nothing is compiled")

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "kernels.py"


@pytest.mark.long
def test_it_has_all_kernels_that_scenes_call_and_all_of_the_solver():
    """Also fails where it has what nobody calls any more; the message says which, and what to run."""
    paths = {"PYTHONPATH": str(Path(dovetail.__file__).parents[1])}
    found = subprocess.run(
        [sys.executable, str(SCRIPT)], env={**os.environ, **paths}, capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, found.stdout + found.stderr[-2000:]


def test_types_come_back_from_their_short_names():
    from dovetail.kernel.manifest import parse, spell
    from dovetail.solver.joint.rows import Rows

    floats = types.Array(types.float64, 2, "C")
    for kind in (types.int64, floats, types.Tuple([floats, types.UniTuple(types.int64, 2)]), Rows._numba_type_):
        assert parse(spell(kind)) == kind
    assert spell(floats) == "f2"
    with pytest.raises(TypeError, match="no short name"):
        spell(types.complex128)


def test_a_scene_needs_what_scenes_with_less_in_them_need():
    from dovetail.kernel.manifest import entries, needed, tasks

    free = {task.number for task in needed({"ctr", "auto", "AffineBodyConstitution"})}
    touching = {task.number for task in needed({"ctr", "auto", "contact", "AffineBodyConstitution"})}
    assert 0 < len(free) < len(touching) < len(entries())
    assert not any(task.module.startswith("dovetail.solver.contact") for task in tasks() if task.number in free)
    assert all(need < task.number for task in tasks() for need in task.needs), "callees come first"


def test_kernels_are_looked_for_once_for_each_kind_of_scene(monkeypatch):
    """Which is a fifth of the time that a small world takes to be made."""
    module = importlib.import_module("dovetail.world.first_compile")
    looked: list[object] = []
    monkeypatch.setattr(module, "compile_all", lambda wanted, may_wait: looked.append(wanted))
    monkeypatch.setattr(module, "_known", set())
    for found in ({"ctr", "auto"}, {"auto", "ctr"}, {"ctr", "auto", "contact"}):
        module.first_compile(found)
    assert len(looked) == 2
