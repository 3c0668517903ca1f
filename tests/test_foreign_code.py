"""Processes that dovetail starts run no code of the current folder, in which there may be files of others."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import study_jobs
from usd_files import body, cube, stage

import dovetail

OTHERS = {"numpy", "numba", "llvmlite", "scipy", "pxr", "mujoco", "colorama", "coverage", "yaml", "dovetail"}
HOOKS = {"sitecustomize", "usercustomize"}

READ = """
        from dovetail.robot import limited
        from dovetail.robot.read import read_robot
        read_robot(wanted)
        limited._end()  # or else the next file is read by a process that has loaded everything
"""
USES = {
    "a stage in binary": READ,
    "an MJCF file": READ,
    "helpers that compile": """
        from dovetail.kernel.machine import helper
        process = helper()
        assert process.stdout.readline() == "ready\\n"
        process.communicate()
        """,
    "workers of a sweep": """
        from dovetail.study import sweep
        import study_jobs
        rows = sweep(study_jobs.square, [{"x": 1}], "rows.jsonl", processes=1)
        assert rows[0]["square"] == 1 and "PYTHONSAFEPATH" not in os.environ
        Path("rows.jsonl").unlink()
        """,
    "benchmarks": """
        from types import SimpleNamespace
        from dovetail.bench import interleave, startup
        told = startup._child(SimpleNamespace(requires="numpy", name="nobody"))
        worker = interleave._Worker(SimpleNamespace(name="nobody"), "chain 3", 1, interleave.Limits())
        worker._process.communicate()
        """,
}


@pytest.fixture
def trap(tmp_path):
    """A folder with a module of every name that there is, which leaves its name in `ran` when it is run."""
    folder, ran = tmp_path / "trap", tmp_path / "ran"
    folder.mkdir()
    code = f"open({str(ran)!r}, 'a').write(__name__ + ' ')\n"
    for name in (sys.stdlib_module_names | OTHERS | HOOKS) - {"__main__"}:
        (folder / f"{name}.py").write_text(code)
    return folder


@pytest.fixture
def robots(tmp_path):
    """Files that processes of their own read."""
    (tmp_path / "r.xml").write_text(
        '<mujoco><worldbody><body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    sdf = pytest.importorskip("pxr.Sdf")
    text = stage(tmp_path, body("b", content=cube()))
    sdf.Layer.FindOrOpen(str(text)).Export(str(tmp_path / "r.usdc"))
    return {"a stage in binary": tmp_path / "r.usdc", "an MJCF file": tmp_path / "r.xml"}


@pytest.mark.parametrize("use", USES)
def test_no_process_runs_code_of_the_current_folder(use, trap, robots, tmp_path):
    """Nor where sys.path or PYTHONPATH have empty entries. The first use, elsewhere, imports all that is needed."""
    code = f"""
import os, sys
from pathlib import Path
wanted = {str(robots.get(use, ""))!r}
def use():
{textwrap.indent(textwrap.dedent(USES[use]), "    ")}
if __name__ == "__main__":
    use()
    os.chdir({str(trap)!r})
    use()
    sys.path.insert(0, "")
    os.environ["PYTHONPATH"] = os.pathsep + os.environ["PYTHONPATH"]
    use()
"""
    script = tmp_path / "script.py"
    script.write_text(code)
    paths = os.pathsep.join([str(Path(dovetail.__file__).parents[1]), str(Path(study_jobs.__file__).parent)])
    done = subprocess.run(
        [sys.executable, script], env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}, cwd=tmp_path,
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    ran = tmp_path / "ran"
    assert not ran.exists(), f"{use}: the current folder's {ran.read_text()}was run"
    assert done.returncode == 0, done.stderr


def test_packages_of_the_current_folder_are_found_where_pythonpath_names_it(tmp_path, monkeypatch):
    from dovetail import interpreter

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), "/elsewhere"])
    monkeypatch.setenv("PYTHONPATH", os.pathsep)
    assert interpreter.import_path() == ["/elsewhere"]
    assert interpreter.environment()["PYTHONPATH"] == ""
    for named in (str(tmp_path), "."):
        monkeypatch.setenv("PYTHONPATH", os.pathsep + named)
        assert interpreter.import_path() == [str(tmp_path), "/elsewhere"]
        assert interpreter.environment()["PYTHONPATH"] == named
