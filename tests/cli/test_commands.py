"""The command line: commands do what their names say, errors are one line, exit codes are as documented."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import dovetail
from dovetail.cli import main
from dovetail.cli.exit_codes import ERROR, INTERRUPTED, OK, PROBLEMS, USAGE
from dovetail.cli.main import _COMMANDS
from dovetail.io import Recording, SceneIO

EXAMPLES = Path(__file__).parents[2] / "examples"
DOCS = Path(__file__).parents[2] / "docs"
PENDULUM = """
    from dovetail import Sim

    def build():
        sim = Sim(dt=0.01, contact=False)
        rod = sim.box((0.6, 0.05, 0.05), pos=(0.3, 0, 1), name="rod")
        return sim, sim.revolute(None, rod, pos=(0, 0, 1), axis=(0, 1, 0), name="hinge")

    if __name__ == "__main__":
        raise SystemExit("only build() is wanted")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pendulum.py").write_text(textwrap.dedent(PENDULUM))
    return tmp_path


def python(*arguments, **options):
    """The command line in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-m", "dovetail", *arguments], env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


def test_help_names_every_command_and_loads_neither_numpy_nor_numba(capsys):
    assert main(["--help"]) == OK
    shown = capsys.readouterr().out
    assert all(f"• {name}" in shown for name in _COMMANDS)
    # what makes it answer within a fifth of a second: these take a quarter of a second and more
    code = "import sys, dovetail.cli as c; c.main(['--help']); print({'numpy', 'numba', 'rich'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip().endswith("set()")


@pytest.mark.parametrize("command", list(_COMMANDS))
def test_every_command_has_help_and_stands_on_its_page(command, capsys):
    assert main([command, "--help"]) == OK
    assert len(capsys.readouterr().out) > 100
    assert f"dovetail {command}" in (DOCS / "cli.md").read_text(encoding="utf-8")


def test_nonsense_is_a_usage_error(capsys):
    assert main(["fly"]) == USAGE
    assert main(["run"]) == USAGE
    assert main(["run", "a.py", "--steps", "many"]) == USAGE
    assert "--steps" in capsys.readouterr().err


def test_the_version_is_told(capsys):
    assert main(["--version"]) == OK
    assert capsys.readouterr().out == f"dovetail {dovetail.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "pendulum.py", "--steps", "-5"], "--steps is -5; give a number from 0 on"),
        (["run", "pendulum.py", "--every", "0"], "--every is 0; give a number from 1 on"),
        (["demo", "pendulum", "--steps", "-1"], "--steps is -1; give a number from 0 on"),
        (["bench", "--steps", "0"], "--steps is 0; give a number from 1 on"),
        (["view", "pendulum.py", "--port", "-1"], "--port is -1; give a number from 0 on"),
    ],
)
def test_wrong_numbers_are_refused(folder, arguments, told, capsys):
    assert main(arguments) == ERROR
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            "from dovetail import Sim\ndef build():\n    sim = Sim()\n    sim.box(-1)\n",
            "'bad.py', line 4: box 'box 1': size",
        ),
        ("x = 1\ny = z\n", "'bad.py', line 2: NameError: name 'z' is not defined."),
        ("x = 1\ny = (\n", "'bad.py', line 2: SyntaxError: '(' was never closed."),
    ],
)
def test_errors_in_a_program_say_file_and_line(folder, content, told, capsys):
    (folder / "bad.py").write_text(content)
    assert main(["run", "bad.py"]) == ERROR
    assert told in capsys.readouterr().err


# --- run -----------------------------------------------------------------------------------------------------


def test_a_python_scene_runs_and_is_recorded(folder, capsys):
    assert main(["run", "pendulum.py", "--steps", "12", "--record", "swing.dove", "--every", "3"]) == OK
    shown = capsys.readouterr().out
    assert "12 steps: 0.12 s of simulated time" in shown and "largest joint gap" in shown and "'hinge'" in shown
    assert "recording: swing.dove" in shown
    assert Recording(folder / "swing.dove").frames.tolist() == [0, 3, 6, 9, 12]
    assert main(["run", "pendulum.py", "--steps", "1", "--record", "swing.dove"]) == ERROR
    assert "exists already; choose another name, or give --overwrite." in capsys.readouterr().err
    assert main(["run", "pendulum.py", "--steps", "1", "--record", "swing.dove", "--overwrite"]) == OK
    assert "1 step:" in capsys.readouterr().out
    assert len(Recording(folder / "swing.dove")) == 2


@pytest.mark.parametrize("variable", ["sim", "scene"])
def test_a_variable_will_do_instead_of_build(folder, variable, capsys):
    value = "Sim(dt=0.02)" if variable == "sim" else "Scene({'dt': 0.02})"
    (folder / "plain.py").write_text(f"from dovetail import Scene, Sim\n{variable} = {value}\n")
    assert main(["run", "plain.py", "--steps", "2"]) == OK
    assert "0.04 s of simulated time" in capsys.readouterr().out


def test_examples_json_files_and_toml_files_run(folder, capsys):
    assert main(["run", str(EXAMPLES / "02_revolute_joint.py"), "--steps", "3"]) == OK
    sys.path.insert(0, str(folder))
    import pendulum

    SceneIO(pendulum.build()[0].scene).save(folder / "pendulum.json")
    sys.path.remove(str(folder))
    assert main(["run", "pendulum.json", "--steps", "3"]) == OK
    (folder / "ball.toml").write_text("[[ground]]\n[[sphere]]\nradius = 0.1\npos = [0, 0, 0.2]\n")
    assert main(["run", "ball.toml", "--steps", "3"]) == OK
    assert capsys.readouterr().out.count("3 steps:") == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gone.py", None, "there is no file 'gone.py'"),
        ("scene.txt", "", "scenes end in .py, .toml or .json"),
        ("empty.py", "", "has no build(), and no variable `sim` or `scene`"),
        ("wrong.py", "def build(): return 3", "build() of 'wrong.py' gives a int; a Scene or a Sim is needed"),
        ("bad.json", "{}", "SceneIO.load"),
        (
            "overlap.py",
            "from dovetail import Sim\nsim = Sim()\nsim.box(1, name='a')\nsim.box(1, pos=(0.5, 0.1, 0.1), name='b')",
            "the scene cannot start as it is",
        ),
    ],
)
def test_a_scene_that_cannot_run_is_told_in_one_line(folder, name, content, message, capsys):
    if content is not None:
        (folder / name).write_text(content)
    assert main(["run", name]) == ERROR
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("dovetail: ")]
    assert len(told) == 1 and message in told[0]


def test_ctrl_c_ends_a_run_with_130_and_keeps_the_recording(folder):
    process = python("run", "pendulum.py", "--steps", "1000000", "--record", "long.dove")
    path = folder / "long.dove"
    deadline = time.monotonic() + 120
    while not (path.exists() and len(Recording(path)) > 20):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert "Stopped after" in out and "recording: long.dove" in out and "Traceback" not in err
    recording = Recording(path)
    assert recording.frames.tolist() == list(range(len(recording)))
    assert recording.end == path.stat().st_size  # no torn frame


# --- the others ----------------------------------------------------------------------------------------------


def test_demos_are_listed_and_run(folder, capsys):
    assert main(["demo", "list"]) == OK
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names[0] == "showcase" and len(names) > 3
    assert main(["demo", "pendulum", "--steps", "5", "--record", "p.dove"]) == OK
    assert len(Recording(folder / "p.dove")) == 6
    assert main(["demo", "pendulum", "--steps", "4", "--record", "p.dove", "--overwrite"]) == OK
    assert len(Recording(folder / "p.dove")) == 5
    assert main(["demo", "--steps", "3", "--record", "s.dove"]) == OK
    assert "gate hinge" in [joint.name for joint in Recording(folder / "s.dove").joints]
    assert main(["demo", "moon"]) == ERROR
    assert "there is no demo 'moon'; there are showcase, pendulum" in capsys.readouterr().err


def test_bench_prints_a_row_per_scene_and_warmup_leaves_no_file(folder, capsys):
    before = sorted(folder.iterdir())
    assert main(["bench", "--steps", "3"]) == OK
    assert main(["warmup"]) == OK
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("pendulum", "chain", "crank", "pile", "All kernels are compiled"))
    assert sorted(folder.iterdir()) == before


def test_bench_can_compare_with_other_engines(monkeypatch):
    given = []
    monkeypatch.setattr("dovetail.bench.command.main", lambda arguments: given.append(arguments) or OK)
    assert main(["bench", "--quick", "--out", "there"]) == OK
    assert given == [["--quick", "--out", "there"]]


def test_versions_threads_and_cache_are_told(capsys):
    import numba

    assert main(["info"]) == OK
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("dovetail", numba.__version__, "kernel cache", "threads", "viser"))


def test_check_finds_what_is_wrong_and_says_so_with_its_exit_code(folder, capsys):
    import trimesh

    box = trimesh.creation.box((0.1, 0.1, 0.1))
    box.export(folder / "whole.obj")
    trimesh.Trimesh(box.vertices, box.faces[1:], process=False).export(folder / "open.obj")
    assert main(["check", "whole.obj"]) == OK
    assert "whole.obj: no problems" in capsys.readouterr().out
    assert main(["check", "open.obj"]) == PROBLEMS
    shown = capsys.readouterr().out
    assert (
        "problem: the surface is open at 3 edges" in shown
        and "fill the holes" in shown
        and "1 problem to mend" in shown
    )
    assert main(["check", "whole.obj", "--d-hat", "0.05"]) == OK
    shown = capsys.readouterr().out
    assert "warning: the thinnest wall is 100 mm" in shown and shown.endswith("whole.obj: 1 warning\n")
    assert main(["check", "whole.obj", "--scale", "1000"]) == OK
    assert "scale it by 0.001" in capsys.readouterr().out
    assert main(["check", "pendulum.py"]) == OK
    assert "2 bodies, 1 joint, " in capsys.readouterr().out
    assert main(["check", "nothing.stl"]) == ERROR
    assert main(["check", "whole.obj", "--scale", "0"]) == ERROR


def test_exports_go_where_they_are_told(folder, capsys):
    assert main(["run", "pendulum.py", "--steps", "4", "--record", "a.dove"]) == OK
    assert main(["export", "a.dove", "a.csv"]) == OK
    assert (folder / "a.csv").read_text().startswith("frame,time,hinge/")
    assert main(["export", "a.dove", "a.csv"]) == ERROR
    assert "exists already" in capsys.readouterr().err
    assert main(["export", "a.dove", "a.csv", "--overwrite"]) == OK
    assert main(["export", "a.dove", "a.html"]) == OK
    assert (folder / "a.html").stat().st_size > 10_000
    assert main(["export", "pendulum.py", "b.csv"]) == ERROR
    assert "is not a recording" in capsys.readouterr().err


def test_view_of_what_is_no_recording_is_an_error(folder, capsys):
    assert main(["view", "pendulum.py"]) == ERROR
    assert "is not a recording" in capsys.readouterr().err


def test_a_libuipc_script_gets_its_own_arguments(folder, capfd):
    (folder / "script.py").write_text("import sys, uipc\nprint('given', sys.argv[1:], uipc.Scene.__name__)\n")
    process = python("uipc", "script.py", "--steps", "3", "-x")
    out, err = process.communicate(timeout=120)
    assert process.returncode == OK, err
    assert "given ['--steps', '3', '-x'] Scene" in out


def test_a_watched_run_is_recorded_as_whoever_steps_it(folder, monkeypatch):
    import dovetail.viewer

    def look(world, **_):
        for _ in range(5):
            world.advance()

    monkeypatch.setattr(dovetail.viewer, "view", look)
    assert main(["run", "pendulum.py", "--view", "--record", "seen.dove"]) == OK
    assert Recording(folder / "seen.dove").frames.tolist() == [0, 1, 2, 3, 4, 5]
