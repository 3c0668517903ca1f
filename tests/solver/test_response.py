"""What joints make of blows leaves the forces of the step in the joints."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import Sim
from dovetail.solver import step as steps


@pytest.mark.parametrize("kind", ["prismatic", "revolute"])
def test_forces_in_joints_are_those_of_the_step_that_ended_in_a_blow(monkeypatch, kind):
    """Two bodies that fall on the ground, one of which a joint holds: it carries something from there on."""

    def landed(has_blows):
        sim = Sim(friction=0.3)
        sim.ground()
        body = sim.box((0.3, 0.3, 0.05), pos=(0, 0, 0.1), velocity=(0, 0, -1))
        other = sim.box((0.05, 0.05, 0.3), pos=(0.1, 0, 0.3), velocity=(0, 0, -1))
        if kind == "prismatic":
            sim.prismatic(body, other, axis=(0.1, 0, 1))
        else:
            sim.revolute(body, other, pos=(0.1, 0, 0.15), axis=(0, 1, 0))
        if not has_blows:
            monkeypatch.setattr(steps, "blow", lambda *_: None)
        exact = sim.world._simulation.model.potential.exact
        for _ in range(20):
            sim.step()
            if sim.world._simulation.state.knocked.any():
                break
        return exact, sim.world._simulation.contact.struck

    with_blow, struck = landed(True)
    without, none = landed(False)
    assert struck is not None and none is None
    for one, other in zip((with_blow.points, with_blow.slides), (without.points, without.slides), strict=True):
        assert np.array_equal(one.force, other.force)
    assert max(np.abs(rows.force).max(initial=0.0) for rows in (with_blow.points, with_blow.slides)) > 1.0
