"""Pairs that an axis keeps apart: they have no candidates, and what slides past is never looked at."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from contact_scenes import BOX, STAR, Probe, Stage, random_rotation, scaled
from scenes import pose

from dovetail import Engine, World
from dovetail.bench.engines.scene import describe
from dovetail.bench.scenes import pile
from dovetail.solver.contact.motion import look_at_step, pair_motion, record_motion

D_HAT = 1e-3
GAP = 0.02


def side_by_side() -> Probe:
    """Two cubes of 1 m, 2 cm apart along x."""
    stage = Stage(d_hat=D_HAT)
    for k in range(2):
        stage.add(f"cube {k}", BOX, [pose((k * (np.ptp(BOX[0][:, 0]) + GAP), 0, 0))])
    return stage.probe()


def test_cubes_that_slide_past_each_other_have_no_candidates():
    probe = side_by_side()
    motion = np.zeros_like(probe.Q)
    motion[1, 0, 2] = 0.1  # five times the gap, across it
    probe.look(probe.Q, motion)
    assert probe.contact.candidates.count == 0
    assert np.allclose(probe.contact.watch.axis, [[1, 0, 0]])
    # as far towards each other as half the gap is no matter of features either; farther is
    motion[1, 0] = [-0.3 * GAP, 0, 0.1]
    probe.look(probe.Q, motion)
    assert probe.contact.candidates.count == 0
    motion[1, 0] = [-GAP, 0, 0]
    probe.look(probe.Q, motion)
    assert probe.contact.candidates.count > 0
    assert not probe.contact.watch.axis.any()


def test_a_pair_gets_candidates_when_it_has_used_up_its_slack():
    probe = side_by_side()
    probe.look(probe.Q)
    assert probe.contact.candidates.count == 0
    y = np.zeros((2, 12))
    y[1, 0] = GAP
    probe.iteration.bound(y)
    assert probe.contact.candidates.count > 0


@pytest.mark.parametrize("shapes", [(BOX, BOX), (BOX, STAR), (STAR, STAR)], ids=["boxes", "box-star", "stars"])
def test_a_gap_along_the_axis_shrinks_by_no_more_than_is_booked(rng, shapes):
    """Random steps with turns and stretches, of which each body takes a share of its own: need and spent are bounds."""
    stage = Stage(d_hat=D_HAT)
    for k, mesh in enumerate(shapes):
        stage.add(f"body {k}", scaled(mesh, 0.5), [pose((2.0 * k, 0, 0), random_rotation(rng))])
    probe = stage.probe()
    probe.look(probe.Q)
    watch, islands, Q = probe.contact.watch, probe.model.islands, probe.Q.copy()
    watch.near, watch.axis = np.array([[0, 1]]), rng.normal(size=(1, 3))
    watch.axis /= np.linalg.norm(watch.axis)
    watch.slack, watch.spent, watch.path, watch.need = (np.zeros(1) for _ in range(4))
    watch.pair_short, watch.commits[:] = np.zeros(1, np.int64), 0

    def gap() -> float:
        first, second = (scaled(mesh, 0.5)[0] @ Q[b, 1:] + Q[b, 0] for b, mesh in enumerate(shapes))
        return float((second @ watch.axis[0]).min() - (first @ watch.axis[0]).max())

    for _ in range(50):
        before, spent = gap(), watch.spent[0]
        y = rng.normal(size=(2, 12)) * 0.05
        look_at_step(watch, Q, y, False, islands.of, np.ones(2))
        pair_motion(watch, islands.of)
        islands.alpha[:2] = rng.uniform(size=2)
        record_motion(watch, islands)
        Q -= (islands.alpha[islands.of][:, None] * y).reshape(-1, 4, 3)
        # round-off of sums of a dozen numbers of order one
        assert before - gap() <= watch.spent[0] - spent + 1e-14
        assert watch.spent[0] - spent <= watch.need[0] + 1e-14


def test_piles_watch_few_candidates_per_contact():
    """At most 8 while they fall on each other, 4 at rest: cubes beside each other are none of them."""
    world = World(Engine("cpu", tempfile.mkdtemp()))
    world.init(describe(pile(4))[0])
    falling, resting = [], 0.0
    for _ in range(60):
        world.advance()
        assert world.report is not None
        if world.report.contacts > 100:
            resting = world.report.candidates / world.report.contacts
            falling.append(resting)
    assert max(falling) < 8
    assert resting < 4
