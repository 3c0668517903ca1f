"""Energies, coordinates and laws that joints are made of: every registered one is checked against its derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from joint_functions import close, coordinates, energies, laws, parameters_of, phi, psi, rows_of, sample, slopes, x_of
from joint_scenes import random_rotation

from dovetail.world.lower import joints as _built_in  # noqa: F401  registers the functions

SEEDS = range(8)


@energies
@pytest.mark.parametrize("seed", SEEDS)
def test_gradient_is_the_derivative_of_the_energy(function, seed):
    F, p = sample(function, seed)
    assert close(psi(function, F, p)[1], slopes(lambda F: psi(function, F, p)[0], F))


@energies
@pytest.mark.parametrize("seed", SEEDS)
def test_exact_hessian_is_the_derivative_of_the_gradient(function, seed):
    F, p = sample(function, seed)
    assert close(psi(function, F, p)[2], slopes(lambda F: psi(function, F, p)[1], F))


@energies
@pytest.mark.parametrize("seed", SEEDS)
def test_safe_hessian_is_positive_semidefinite_and_keeps_energy_and_gradient(function, seed):
    F, p = sample(function, seed)
    value, g, H = psi(function, F, p, exact=0.0)
    assert np.array_equal(H, H.T)
    # eigenvalues of a matrix with entries of order 10 carry round-off of some 1e-15
    assert np.linalg.eigvalsh(H)[0] >= -1e-12 * np.abs(H).max()
    assert (value, *g) == (psi(function, F, p)[0], *psi(function, F, p)[1])


@energies
@pytest.mark.parametrize("seed", SEEDS)
def test_an_energy_does_not_change_when_the_world_is_turned(function, seed):
    F, p = sample(function, seed)
    turned = (F.reshape(-1, 3) @ random_rotation(np.random.default_rng(seed)).T).ravel()
    assert psi(function, turned, p)[0] == pytest.approx(psi(function, F, p)[0], rel=1e-12)


@energies
def test_the_parameters_of_an_energy_are_named(function):
    assert function.rows >= 1
    assert all(function.parameters)


@coordinates
@pytest.mark.parametrize("seed", SEEDS)
def test_a_coordinate_has_the_derivatives_it_says(function, seed):
    F = rows_of(function, seed)
    _, dx, d2x = x_of(function, F)
    wrap = function.period or np.inf

    def difference(F_near):
        away = x_of(function, F_near)[0] - x_of(function, F)[0]
        return away - (wrap * np.round(away / wrap) if np.isfinite(wrap) else 0.0)

    assert close(dx, slopes(difference, F))
    assert close(d2x, slopes(lambda F: x_of(function, F)[1], F))


@coordinates
@pytest.mark.parametrize("seed", SEEDS)
def test_a_coordinate_does_not_change_when_the_world_is_turned(function, seed):
    F = rows_of(function, seed)
    turned = (F.reshape(-1, 3) @ random_rotation(np.random.default_rng(seed)).T).ravel()
    assert x_of(function, turned)[0] == pytest.approx(x_of(function, F)[0], abs=1e-12)


@coordinates
@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_derivatives_of_a_coordinate_do_not_depend_on_exact(function, seed):
    F = rows_of(function, seed)
    n = len(F)
    dx = np.zeros(n)
    value = function.function(F, 0.0, dx, np.zeros(n * n))
    assert (value, *dx) == (x_of(function, F)[0], *x_of(function, F)[1])


@laws
@pytest.mark.parametrize("x", np.linspace(-3, 3, 13) + 0.01)
def test_a_law_is_convex_and_has_the_derivatives_it_says(function, x):
    p = parameters_of(function, np.random.default_rng(1))
    if function.name == "stop":
        p[:3], x = (-1e-4, 0.1e-4, np.inf), -0.45e-4 + 0.15e-4 * x  # between bounds so near that both barriers act
    if function.name == "servo":
        p[10:13] = 0.0, 1.0, 0.0  # what it has exerted at the start is a line in φ, of either sign
    value, first, second = phi(function, x, p)
    if np.isinf(value):
        return
    assert close(first, slopes(lambda x: phi(function, x[0], p)[0], np.array([x])))
    assert close(second, slopes(lambda x: phi(function, x[0], p)[1], np.array([x])))
    assert value >= 0.0
    assert second >= 0.0
