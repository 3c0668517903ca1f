"""What `make demo` runs."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dovetail import demo


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder, also for temporary files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_the_demo_prints_a_row_for_every_body_and_joint_and_leaves_no_file(folder, capsys):
    assert demo.main(frames=30) == 0
    printed = capsys.readouterr().out
    for name in ("30/30", "box, long axis", "box, short axis", "block", "rod 3", "1, motor", "3, stops at ±90°"):
        assert name in printed
    assert re.search(r"[\d,]+ steps/s, \d\.\d Newton iterations/step", printed)
    assert not any(folder.iterdir())


def test_the_motor_of_the_demo_keeps_its_speed_and_free_boxes_their_energy(folder):
    run = demo.Demo(str(folder))
    for _ in range(200):
        run.advance()
    run.world.retrieve()
    # 200 steps of 1 ms at 3 rad/s; the drive yields by torque·h²/K, some 1e-7 rad
    assert np.isclose(run._hinges[0].geometry.edges["angle/multi_turn"][0], 0.6, atol=1e-5)
    # bdf2 at ωh = 4e-3: the velocity formula is off by (ωh)²/3 = 5e-6, and so twice that in the energy
    assert np.allclose(run._kinetic_energies(), run._energy_at_start, rtol=5e-5)


@pytest.mark.parametrize("frame", [0, 7])
def test_an_interrupt_says_how_far_the_demo_got_and_leaves_no_file(folder, capsys, monkeypatch, frame):
    advance = demo.Demo.advance

    def interrupted(self):
        if self.world.frame() == frame:
            raise KeyboardInterrupt
        advance(self)

    monkeypatch.setattr(demo.Demo, "advance", interrupted)
    assert demo.main(frames=20) == 130
    assert f"Stopped after {frame} of 20 frames" in capsys.readouterr().out
    assert not any(folder.iterdir())
