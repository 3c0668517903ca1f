"""Integrators as tables: the conditions on their coefficients that give consistency and order."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.scene.config_schema import KEYS
from dovetail.solver.integrator import INTEGRATORS, Integrator


@pytest.fixture(params=sorted(INTEGRATORS))
def method(request) -> Integrator:
    return INTEGRATORS[request.param]


def polynomial(degree: int):
    """x(t) = t^degree with its first two derivatives."""
    x = np.polynomial.Polynomial([0.0] * degree + [1.0])
    return x, x.deriv(1), x.deriv(2)


def test_every_integrator_of_the_config_is_tested_here():
    assert sorted(KEYS["integrator/type"].allowed) == sorted(INTEGRATORS)
    assert all(method.name == name for name, method in INTEGRATORS.items())


def test_the_new_velocity_is_exact_for_polynomials_up_to_the_order(method):
    """V at t = h from positions at h, 0 and −h, with h = 1."""
    for degree in range(method.order + 1):
        x, v, _ = polynomial(degree)
        found = np.dot(method.rate, [x(1), x(0), x(-1)])
        assert found == pytest.approx(v(1), abs=1e-14)
    x, v, _ = polynomial(method.order + 1)
    assert np.dot(method.rate, [x(1), x(0), x(-1)]) != pytest.approx(v(1), abs=1e-3), "its order is no higher"


def test_the_step_is_exact_for_polynomials_up_to_the_order(method):
    """Free motion under a given acceleration at the end of the step: Q − Q̃ with σ h² a moved to t = h vanishes."""
    a0, a1 = method.position
    b0, b1 = method.velocity
    for degree in range(method.order + 1):
        x, v, a = polynomial(degree)
        predicted = a0 * x(0) + a1 * x(-1) + b0 * v(0) + b1 * v(-1) + method.acceleration * a(1)
        assert predicted == pytest.approx(x(1), abs=1e-14)


def test_the_weight_turns_the_kinetic_term_into_a_force(method):
    """C (Q − Q̃) = h² (a − what Q̃ has already): the potential's h² carries no factor, so c σ = 1."""
    assert method.weight * method.acceleration == pytest.approx(1.0, abs=1e-15)


def test_only_two_step_methods_look_back(method):
    assert method.looks_back == (method.order > 1)


def test_the_documented_tables_are_stored():
    bdf1, bdf2 = INTEGRATORS["bdf1"], INTEGRATORS["bdf2"]
    np.testing.assert_array_equal(bdf1.prediction, [1, 0, 1, 0, 1])
    np.testing.assert_array_equal(bdf1.rates, [1, -1, 0])
    np.testing.assert_allclose(bdf2.prediction, [4 / 3, -1 / 3, 8 / 9, -2 / 9, 4 / 9], rtol=1e-15)
    np.testing.assert_array_equal(bdf2.rates, [1.5, -2, 0.5])
    assert (bdf1.weight, bdf2.weight) == (1.0, 2.25)


def test_bdf2_is_stable_for_stiff_springs(method):
    """The error of x″ = −k x must decay for every k: eigenvalues of the step's matrix lie in the unit circle."""
    for k in (1e-3, 1.0, 1e3, 1e9):
        a0, a1 = method.position
        b0, b1 = method.velocity
        d, d0, d1 = method.rate
        # c (x − x̃) + k x = 0 with h = 1, state (x, x₋, v, v₋)
        pull = method.weight / (method.weight + k)
        row = pull * np.array([a0, a1, b0, b1])
        step = np.array([row, [1, 0, 0, 0], d * row + [d0, d1, 0, 0], [0, 0, 1, 0]])
        assert np.abs(np.linalg.eigvals(step)).max() < 1.0
