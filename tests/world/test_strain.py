"""Strained bodies: what is measured, and that each is told of once."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from joint_scenes import random_rotation

from dovetail import Sim
from dovetail.world.strain import EVERY, LARGE, strains


def test_the_strain_is_what_a_rotation_lacks(rng):
    R, stretch = random_rotation(rng), np.diag([1.0, 1.01, 0.99])
    Q = np.zeros((2, 4, 3))
    Q[0, 1:], Q[1, 1:] = R.T, (R @ stretch).T
    np.testing.assert_allclose(strains(Q), [0.0, 1.01**2 - 1.0], atol=1e-15)


def hung(kappa):
    """A rod of 1 m and density 1000 that hangs by one end; ε = ρgL/(16κ), AᵀA − 1 = 2ε."""
    sim = Sim(contact=False, kappa=kappa)
    rod = sim.box((0.1, 0.1, 1.0), name="rod")
    sim.spherical(None, rod, pos=(0, 0, 0.5))
    return sim, rod


def test_a_body_that_yields_to_its_load_is_told_of_once(caplog):
    sim, rod = hung(kappa=5e4)
    with caplog.at_level(logging.WARNING, "dovetail"):
        sim.step(3 * EVERY)
    # the strain swings at first, and its square is left out of the closed form
    assert rod.strain == pytest.approx(2 * 1000 * 9.81 / 8e5, rel=0.05)
    (told,) = [record.getMessage() for record in caplog.records]
    assert "'rod'" in told and "kappa" in told and f"frame {EVERY}" in told


def test_a_body_that_is_as_good_as_rigid_is_not_told_of(caplog):
    sim, rod = hung(kappa=1e8)
    with caplog.at_level(logging.WARNING, "dovetail"):
        sim.step(2 * EVERY)
    assert not caplog.records and 0.0 < rod.strain < LARGE
