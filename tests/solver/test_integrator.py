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
    """V at t = h from positions at h, 0 and −h and the velocity at 0, with h = 1."""
    for degree in range(method.order + 1):
        x, v, _ = polynomial(degree)
        found = np.dot(method.rates, [x(1), x(0), x(-1), v(0), 0.0])
        assert found == pytest.approx(v(1), abs=1e-14)
    x, v, _ = polynomial(method.order + 1)
    assert np.dot(method.rates, [x(1), x(0), x(-1), v(0), 0.0]) != pytest.approx(v(1), abs=1e-3), (
        "its order is no higher"
    )


def test_the_step_is_exact_for_polynomials_up_to_the_order(method):
    """Free motion under a given acceleration: Q − Q̃ with σ h² a moved to t = h vanishes.

    A consistent start adds the acceleration at t = 0.
    """
    a0, a1 = method.position
    b0, b1 = method.velocity
    for degree in range(method.order + 1):
        x, v, a = polynomial(degree)
        predicted = a0 * x(0) + a1 * x(-1) + b0 * v(0) + b1 * v(-1)
        predicted += method.acceleration * (a(1) + (a(0) if method.is_consistent else 0.0))
        assert predicted == pytest.approx(x(1), abs=1e-14)


def test_the_weight_turns_the_kinetic_term_into_a_force(method):
    """C (Q − Q̃) = h² (a − what Q̃ has already): the potential's h² carries no factor, so c σ = 1."""
    assert method.weight * method.acceleration == pytest.approx(1.0, abs=1e-15)


def test_second_order_takes_a_look_back_or_a_consistent_start(method):
    assert method.looks_back + method.is_consistent == method.order - 1


def test_the_documented_tables_are_stored():
    bdf1, bdf2, ctr = (INTEGRATORS[name] for name in ("bdf1", "bdf2", "ctr"))
    np.testing.assert_array_equal(bdf1.prediction, [1, 0, 1, 0, 1])
    np.testing.assert_array_equal(bdf1.rates, [1, -1, 0, 0, 0])
    np.testing.assert_allclose(bdf2.prediction, [4 / 3, -1 / 3, 8 / 9, -2 / 9, 4 / 9], rtol=1e-15)
    np.testing.assert_array_equal(bdf2.rates, [1.5, -2, 0.5, 0, 0])
    np.testing.assert_array_equal(ctr.prediction, [1, 0, 1, 0, 0.25])
    np.testing.assert_array_equal(ctr.rates, [2, -2, 0, -1, 0])
    assert (bdf1.weight, bdf2.weight, ctr.weight) == (1.0, 2.25, 4.0)


def step_matrix(method: Integrator, k: float) -> np.ndarray:
    """(x, x₋, v, v₋) → the next ones, of x″ = −k x with h = 1: c (x − x̃) + k x = 0."""
    a0, a1 = method.position
    b0, b1 = method.velocity
    d, d0, d1, carry, _ = method.rates
    x, x_before, v, v_before = np.eye(4)
    started, acceleration = v, 0.0 * x
    if method.is_consistent:
        # the filter of consistent.py with its share k/(1 + k) of a spring
        started = v / (1 + k * k / (1 + k))
        acceleration = -k * x / (1 + k * k / (1 + k))
    tilde = a0 * x + a1 * x_before + b0 * started + b1 * v_before + method.acceleration * acceleration
    new = method.weight / (method.weight + k) * tilde
    return np.array([new, x, d * new + d0 * x + d1 * x_before + carry * started, v])


@pytest.mark.parametrize("k", [1e-3, 0.1, 1.0, 3.0, 10.0, 1e3, 1e9])
def test_springs_of_every_stiffness_lose_energy(method, k):
    """Eigenvalues of a step lie in the unit circle."""
    assert np.abs(np.linalg.eigvals(step_matrix(method, k))).max() < 1.0


def test_a_stiff_spring_is_at_rest_after_few_steps(method):
    """Eigenvalues go to 0 with growing stiffness: no ringing, no velocity that changes its sign for ever."""
    assert np.abs(np.linalg.eigvals(step_matrix(method, 1e9))).max() < 1e-2  # bdf2 has the fourth root of 1/k


def test_slow_springs_lose_less_the_higher_the_order(method):
    """The amplitude a step loses is ω²h²/2 for order 1 and O(h⁴) for order 2."""
    lost = [1 - np.abs(np.linalg.eigvals(step_matrix(method, k))).max() for k in (1e-3, 1e-4)]
    assert np.log10(lost[0] / lost[1]) == pytest.approx(method.order, abs=0.01)  # the next term is k times smaller
