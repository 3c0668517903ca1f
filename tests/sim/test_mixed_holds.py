"""Joints that hold a coordinate exactly beside others that hold one by a stiffness."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import Sim


def test_a_rod_that_is_exact_and_one_that_is_not_run_in_one_scene():
    """Both hang from the world: one keeps its length to round-off, the other yields a little."""
    sim = Sim(contact=False)
    bobs = [sim.box((0.1, 0.1, 0.1), pos=(x, 0, -0.5)) for x in (0.0, 1.0)]
    ends = [(x, 0, -0.45) for x in (0.0, 1.0)]
    for bob, end, x, exact in zip(bobs, ends, (0.0, 1.0), (True, False), strict=True):
        sim.distance(None, bob, (x, 0, 0), end, exact=exact)
    sim.step(20)
    lengths = [np.linalg.norm(bob.point((0, 0, 0.05)) - (x, 0, 0)) for bob, x in zip(bobs, (0.0, 1.0), strict=True)]
    assert lengths[0] == pytest.approx(0.45, abs=1e-12)
    assert 0.45 < lengths[1] < 0.46
