"""What `make demo` runs."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dovetail import demo
from dovetail.io import Recording


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder, also for temporary files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("webbrowser.open", lambda url: pytest.fail("a test has no screen"))
    return tmp_path


def test_the_demo_prints_a_row_for_every_joint_and_leaves_a_replay_and_nothing_else(folder, capsys):
    assert demo.main(frames=20) == 0
    printed = capsys.readouterr().out
    rows = [line for line in printed.splitlines() if re.search(r" N ", line)]
    kinds = {"revolute", "prismatic", "spherical", "fixed"}
    assert {word for line in rows for word in line.split()} >= kinds
    assert all(name in printed for name in ("motor", "crank pin", "wrist", "slide", "weld", "gate hinge", "scale"))
    assert re.search(r"motor .* N·m\s*$", printed, re.MULTILINE)  # what the drive exerts
    assert not re.search(r"…\s", "\n".join(rows))  # nothing is cut off at 80 columns
    (page,) = folder.iterdir()
    assert page.name == "dovetail-demo.html" and str(page) in printed.replace("\n", "")


def test_a_second_demo_does_not_overwrite_the_replay_of_the_first(folder):
    (folder / "dovetail-demo.html").write_text("mine")
    assert demo.main(frames=2) == 0
    assert (folder / "dovetail-demo.html").read_text() == "mine"
    assert (folder / "dovetail-demo-2.html").stat().st_size > 100_000


def test_the_motor_turns_as_it_is_told_the_gate_opens_within_its_limits_and_parts_arrive(folder):
    press = demo.Press()
    crank, gate, violation = [], [], 0.0
    with press.sim.record(folder / "press.dove", every=10):
        for _ in press.sim.run(400):
            crank.append(press.motor.angle - 6.0 * press.sim.time)
            gate.append(press.hinge.angle)
            violation = max(violation, press.slide.violation)
    # the drive yields by torque/K: 2 N·m / 1e6 N·m/rad = 2e-6 rad when it pushes a part
    assert np.abs(crank).max() < 1e-4
    assert max(gate) > 0.3 and min(gate) > -0.01 and max(gate) < 1.11
    assert violation == 0.0  # the crank keeps the ram within its stops
    assert press.delivered >= 2
    assert press.sim.world.sanity_checker().check() == 0  # nothing intersects
    assert max(joint.gap for joint in press.sim.joints) < 1e-4
    with Recording(folder / "press.dove") as recording:
        assert len(recording) == 41


@pytest.mark.parametrize("frame", [0, 7])
def test_an_interrupt_says_how_far_the_demo_got_and_leaves_no_file(folder, capsys, monkeypatch, frame):
    control = demo.Press._control

    def interrupted(self):
        if self.sim.frame == frame:
            raise KeyboardInterrupt
        control(self)

    monkeypatch.setattr(demo.Press, "_control", interrupted)
    assert demo.main(frames=20) == 130
    assert f"Stopped after {frame} of 20 frames" in capsys.readouterr().out
    assert not any(folder.iterdir())
