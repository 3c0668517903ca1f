"""Where a step begins that touches something: not where a blow that is over would throw it, and at rest where it is."""

from __future__ import annotations

import numpy as np
import pytest
from plain_bodies import plain_bodies
from scenes import rotation

from dovetail import AngleAxis, Sim
from dovetail.solver.predict import stay_if_struck


def test_mechanisms_that_were_struck_stay():
    """Two bodies of one mechanism, of which one was thrown, two that go on as before, and one that touched nothing."""
    bodies, mechanism = plain_bodies(np.tile(np.eye(4), (5, 1, 1))), np.array([0, 0, 1, 2, 3])
    touched = np.array([True, True, True, True, False])
    Q_before = np.zeros((5, 4, 3))
    Q_before[:, 1:] = np.eye(3)
    Q, free, guess = Q_before.copy(), Q_before.copy(), Q_before.copy()
    Q[:, 0, 0], free[:, 0, 0] = 0.01, 0.03  # 10 mm in the last step, 20 mm of free flight
    guess[:, 0, 0] = [0.02, 0.042, 0.039, 0.0, 0.1]  # ways of 10, 32, 29, 10 and 90 mm
    expected = guess.copy()
    expected[:2] = Q[:2]
    stay_if_struck(bodies, mechanism, touched, 1.0, Q_before, Q, free, guess)
    np.testing.assert_array_equal(guess, expected)
    # a turn counts as well, by the corners of a box: 0.2 rad of a metre
    guess[2, 1:] = rotation((0.0, 0.0, 1.0), 0.2).T
    stay_if_struck(bodies, mechanism, touched, 1.0, Q_before, Q, free, guess)
    np.testing.assert_array_equal(guess[2], Q[2])
    # the way of a step twice as long as the last one is twice as long
    guess[3, 0, 0], free[3, 0, 0] = 0.039, 0.01
    stay_if_struck(bodies, mechanism, touched, 2.0, Q_before, Q, free, guess)
    assert guess[3, 0, 0] == 0.039
    stay_if_struck(bodies, mechanism, touched, 1.0, Q_before, Q, free, guess)
    assert guess[3, 0, 0] == Q[3, 0, 0]


def test_a_pile_that_lands_is_not_looked_at_as_if_it_were_thrown(rng):
    """27 turned cubes fall on the ground: guesses that repeated the blows had 16,900 candidates, and now 4,500."""
    sim = Sim()
    sim.ground()
    for x, y, z in np.ndindex(3, 3, 3):
        turn = AngleAxis(0.15, rng.normal(size=3))
        sim.box(0.1, pos=(0.12 * x, 0.12 * y, 0.15 + 0.12 * z), rot=turn)
    most = 0
    for _ in range(22):
        sim.step()
        most = max(most, sim.world.report.candidates)
    assert sim.world.report.contacts > 50
    assert most < 300 * 27


def test_contacts_at_rest_are_found_once_a_step(monkeypatch: pytest.MonkeyPatch):
    """Where it ends; a guess that hardly differs from where it begins is no state of its own."""
    sim = Sim()
    sim.ground()
    sim.box(0.1, pos=(0, 0, 0.0505))
    sim.step(60)
    contact = sim.world._simulation.contact
    found, find = [], contact._find
    monkeypatch.setattr(contact, "_find", lambda *given: found.append(given) or find(*given))
    sim.step(5)
    assert len(found) == 5 and sim.world.report.restarts == 0
