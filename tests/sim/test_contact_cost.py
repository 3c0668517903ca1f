"""What contact costs, by counts: what is at rest is looked at twice a step, and waits for no machine beside it."""

from __future__ import annotations

import numpy as np

from dovetail import Sim
from dovetail.solver.contact.contact import Contact


def test_contacts_at_rest_are_looked_for_once_a_step(monkeypatch):
    """At the end, which the next step begins with, and its guess too: four times, were nothing remembered."""
    sim = Sim()
    sim.ground()
    for k in range(3):
        sim.box((0.1, 0.1, 0.1), pos=(0, 0, 0.051 + 0.101 * k))
    sim.step(30)
    looks = []
    find = Contact._find
    monkeypatch.setattr(Contact, "_find", lambda *arguments: looks.append(1) or find(*arguments))
    sim.step(10)
    assert len(looks) == 10


def test_what_rests_beside_a_machine_that_moves_is_solved_with_its_contacts():
    """A pendulum on exact joints has its guess tried first; a box on the ground keeps its contacts meanwhile.

    It fell as if there were no ground, by g dt² at first, which took the line search all of its halvings every step.
    """
    sim = Sim(integrator="bdf1")
    sim.ground()
    box = sim.box((0.1, 0.1, 0.1), pos=(0, 0, 0.051))
    rod = sim.box((0.4, 0.02, 0.02), pos=(1.2, 0, 1.0))
    sim.revolute(None, rod, pos=(1.0, 0, 1.0), axis=(0, 1, 0))
    sim.step(20)  # until the box is at rest
    halvings, height = [], box.pos[2]
    for _ in range(20):
        sim.step()
        halvings.append(sim.world.report.halvings)
    assert abs(rod.spin[1]) > 0.1
    assert sum(halvings) == 0
    np.testing.assert_allclose(box.pos[2], height, atol=1e-5)  # two tolerances of Newton's steps, 1e-3 m/s · dt


def test_marbles_keep_their_guess_while_a_machine_tries_its_own():
    """A marble lands behind the first one, and a pendulum swings elsewhere: all were sent back: 25 iterations."""
    sim = Sim(dt=0.005, friction=0.3)
    sim.box((4, 0.2, 0.1), pos=(1.5, 0, -0.05), fixed=True)
    for k in range(2):
        pos = (0.034 * k, 0, 0.0155 + 0.01 * k)
        sim.sphere(0.015, pos=pos, density=2500, velocity=(1.5, 0, 0), spin=(0, 100, 0))
    sim.revolute(None, sim.box((0.2, 0.02, 0.02), pos=(0.1, 5, 1)), pos=(0, 5, 1), axis=(0, 1, 0))
    assert max(sim.world.report.iterations for _ in sim.run(15)) < 15
