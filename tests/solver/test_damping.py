"""Inertia added where steps are blocked."""

from __future__ import annotations

import numpy as np

from dovetail.solver.damping import adapt, add_inertia

OF = np.array([0, 0, 1, -1])


def adapted(alpha, sigma):
    sigma, size = np.array(sigma, float), np.ones(2)
    some = adapt(OF, np.array(alpha, float), size, sigma)
    return sigma.tolist(), size.tolist(), some


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
    position, active = np.array([1, -1, 0]), np.array([1, 0])
    D = np.zeros((2, 12, 12))
    add_inertia(position, active, mass, np.array([2.0, 5.0, 3.0]), D)
    np.testing.assert_allclose(D[1], 0.0)  # does not run
    np.testing.assert_allclose(D[0], 3.0 * np.kron(mass[2], np.eye(3)), rtol=1e-15)
