"""Inertia added where steps are blocked."""

from __future__ import annotations

import numpy as np

from dovetail.solver.damping import Damping

OF = np.array([0, 0, 1, -1])


def adapted(alpha, sigma):
    damping, size = Damping(np.zeros((4, 4, 4))), np.ones(2)
    damping.sigma[:], damping.acts = sigma, any(sigma)
    damping.update(OF, np.array(alpha, float), size)
    return damping.sigma.tolist(), size.tolist(), damping.acts


def test_it_grows_in_islands_whose_step_is_blocked():
    assert adapted([0.05, 1.0], [0, 0, 0, 0]) == ([1, 1, 0, 0], [1, 1], True)
    assert adapted([0.05, 1.0], [1, 1, 0, 0]) == ([4, 4, 0, 0], [2, 1], True)


def test_it_stays_where_a_step_is_partly_free_and_goes_where_it_is_free():
    assert adapted([0.3, 1.0], [4, 4, 4, 0])[0] == [4, 4, 1, 0]
    sigma, size, some = adapted([0.9, 0.9], [1, 1, 0.5, 0])
    assert sigma == [0, 0, 0, 0] and not some
    assert size == [2, 1.5]  # a damped step is shorter than the one that decides on convergence


def test_an_island_that_has_grown_takes_the_largest_of_its_parts():
    assert adapted([0.3, 1.0], [0, 4, 0, 0])[0] == [4, 4, 0, 0]


def test_the_inertia_is_that_of_the_kinetic_term():
    rng = np.random.default_rng(3)
    mass = rng.normal(size=(3, 4, 4))
    damping, D = Damping(mass), np.zeros((3, 12, 12))
    damping.sigma[:], damping.acts = (2.0, 5.0, 3.0), True
    damping.add(np.array([0, 0, 1]), D)
    np.testing.assert_allclose(D[:2], 0.0)  # do not run
    np.testing.assert_allclose(D[2], 3.0 * np.kron(mass[2], np.eye(3)), rtol=1e-15)


def test_a_new_step_begins_without():
    damping, D = Damping(np.ones((4, 4, 4))), np.zeros((4, 12, 12))
    damping.update(OF, np.array([0.05, 1.0]), np.ones(2))
    assert damping.acts
    damping.begin()
    damping.add(np.ones(4, np.int64), D)
    assert not damping.acts and not damping.sigma.any() and not D.any()
