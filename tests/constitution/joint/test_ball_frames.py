"""Frames that the rotation vector of a ball is measured in."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import Sim
from dovetail.errors import ConstitutionError
from dovetail.geometry import AngleAxis


def turn(w):
    angle = float(np.linalg.norm(w))
    return AngleAxis(angle, np.asarray(w) / angle).matrix()


def ball(frames):
    sim = Sim(contact=False, gravity=(0, 0, 0))
    arm = sim.box((0.3, 0.1, 0.1), pos=(0.2, 0, 0), rot=turn([0.2, -0.4, 0.3]))
    base = sim.box(0.1, rot=turn([0.7, 0.1, 0.5]), fixed=True)
    joint = sim.spherical(base, arm, (0, 0, 0))
    joint.measure(frames)
    return sim, base, arm, joint


def test_it_is_zero_where_the_frames_agree():
    frames = turn([0.3, 0.8, -0.2]), turn([-0.5, 0.1, 0.9])
    sim, base, arm, joint = ball(frames)
    m = sim.mechanism(joint)
    R = (base.transform[:3, :3] @ frames[0]).T @ (arm.transform[:3, :3] @ frames[1])
    assert np.abs(turn(m.q) - R).max() < 1e-12
    assert joint.rotation == pytest.approx(m.q, abs=1e-12)
    m.q = w = [0.4, -1.2, 0.6]
    R = (base.transform[:3, :3] @ frames[0]).T @ (arm.transform[:3, :3] @ frames[1])
    assert np.abs(turn(w) - R).max() < 1e-12


def test_frames_that_are_no_rotations_are_refused():
    sim, *_ = ball((np.eye(3), np.diag([1.0, 1.0, -1.0])))
    with pytest.raises(ConstitutionError, match="r_frame"):
        sim.step()
