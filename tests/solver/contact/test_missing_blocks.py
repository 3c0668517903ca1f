"""The linear system has a block for every pair in touch, or says so: nothing is written where none is."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import Sim
from dovetail.errors import SolverError
from dovetail.solver.blocks import Blocks


def tower() -> Sim:
    """Two boxes at rest, one on the other."""
    sim = Sim(dt=0.01)
    sim.ground()
    sim.box(0.2, pos=(0, 0, 0.1005))
    sim.box(0.2, pos=(0, 0, 0.3015))
    sim.step(20)
    return sim


def test_what_touches_has_a_block_in_a_scene_that_was_just_changed():
    sim = tower()
    sim.box(0.1, pos=(2, 0, 1))
    simulation = sim.world._simulation
    contact, Q = simulation.contact, simulation.state.Q
    s = contact.press(Q, 0.01)
    assert contact.watch.is_blind and [0, 1] in np.sort(s.pairs).tolist()
    assert [0, 1] in np.sort(contact.touching(s)).tolist()


def test_bodies_come_and_go_while_others_touch():
    """A body is removed in the middle of a collapsing heap: the next start follows loads that turn."""
    rng, pool = np.random.default_rng(0), []
    sim = Sim(dt=0.01, threads=1)
    sim.ground()
    for n in range(1, 23):
        if len(pool) < 8 or rng.random() < 0.5:
            pool.append(sim.box(0.15, pos=rng.uniform(-0.4, 0.4, 3) + np.array([0, 0, 1 + 0.3 * (n % 4)])))
            sim.step()
        else:
            sim.remove(pool.pop(int(rng.integers(len(pool)))))
        sim.step(8)
    assert all(np.isfinite(body.pos).all() for body in sim.bodies)


def test_a_pair_in_touch_without_a_block_is_refused():
    simulation = tower().world._simulation
    contact, Q, bodies = simulation.contact, simulation.state.Q, simulation.model.bodies
    s, blocks = contact.press(Q, 0.01), Blocks(bodies.is_fixed, np.zeros((0, 2), np.int64))
    assert len(blocks.U) == 0 and not blocks.has(s.pairs)
    with pytest.raises(SolverError, match="without a block"):
        contact.assemble(Q, s, bodies.is_free, blocks)
