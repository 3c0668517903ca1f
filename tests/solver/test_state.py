"""The state of a step: prediction, first guess, commit, and the past that two-step methods are shown."""

from __future__ import annotations

import numpy as np
import pytest
from plain_bodies import plain_bodies
from scenes import cross_matrix, rotation

from dovetail.solver.integrator import INTEGRATORS, Methods
from dovetail.solver.load.loads import accelerate
from dovetail.solver.predict import first_guess, predict
from dovetail.solver.state import State

IS_FREE = np.array([0, 1])
NOBODY = np.zeros(2, np.bool_)
UNTOUCHED = NOBODY, NOBODY, NOBODY, np.zeros((2, 12)), np.zeros((2, 16)), np.zeros((0, 3))  # knocked … carried


def random_state(rng: np.random.Generator) -> State:
    arrays = rng.normal(size=(5, 2, 4, 3))
    return State(*arrays, *(np.copy(array) for array in UNTOUCHED), dt_before=0.02)


@pytest.mark.parametrize("name", sorted(INTEGRATORS))
@pytest.mark.parametrize("is_dynamic", [1, 0])
def test_the_prediction_is_that_of_the_table(name, is_dynamic, rng):
    method, state, h = INTEGRATORS[name], random_state(rng), 0.03
    gravity, F = rng.normal(size=(2, 3)), rng.normal(size=(2, 4, 3))
    mass = np.array([np.cov(rng.normal(size=(4, 50))) for _ in range(2)])
    inverse = np.linalg.inv(mass)
    found = np.empty((2, 4, 3))
    flags = np.array([is_dynamic, 1])
    accelerations = np.empty((2, 4, 3))
    accelerate(plain_bodies(mass, is_fixed=1 - IS_FREE, gravity=gravity), F, accelerations)
    methods = Methods(method, np.zeros(2, np.bool_))
    predict(
        methods.prediction, methods.of, h, IS_FREE, flags[::-1].copy(), accelerations, state.Q, state.V, state.Q_before,
        state.V_before, found,
    )  # fmt: skip
    a = inverse[1] @ F[1]
    a[0] += gravity[1]
    np.testing.assert_allclose(accelerations, [np.zeros((4, 3)), a], rtol=1e-13)
    if is_dynamic:
        a0, a1 = method.position
        b0, b1 = method.velocity
        past = a0 * state.Q + a1 * state.Q_before + h * (b0 * state.V + b1 * state.V_before)
    else:
        past = state.Q  # neither velocity nor history
    np.testing.assert_allclose(found[1], past[1] + method.acceleration * h**2 * a, rtol=1e-13)
    assert (found[0] == state.Q[0]).all(), "a fixed body stays"


def test_the_first_guess_of_a_spinning_body_is_a_rotation():
    """Q̃ of a free spin stretches by (ωh)²/2; the guess turns it back to the polar rotation."""
    omega, h = np.array([1.0, 2.0, 3.0]), 0.1
    Q = np.zeros((1, 4, 3))
    Q[0, 1:] = rotation([0, 1, 0], 0.4).T
    Q_tilde = Q.copy()
    Q_tilde[0, 1:] += h * (cross_matrix(omega) @ Q[0, 1:].T).T
    out = np.empty_like(Q)
    first_guess(np.array([h * h]), np.array([1]), Q, Q_tilde, np.zeros_like(Q), out)
    A = out[0, 1:].T
    np.testing.assert_allclose(A.T @ A, np.eye(3), atol=1e-11)  # the polar iteration stops at 1e-6, squared
    angle = np.arctan(np.linalg.norm(omega) * h)  # of the polar rotation of 1 + h[ω]×
    np.testing.assert_allclose(A, rotation(omega, angle) @ rotation([0, 1, 0], 0.4), atol=1e-11)


def test_the_first_guess_carries_internal_accelerations_and_leaves_fixed_bodies(rng):
    Q = np.zeros((2, 4, 3))
    Q[:, 1:] = np.eye(3)
    A = np.zeros_like(Q)
    A[:, 0] = [1.0, -2.0, 3.0]
    out = np.empty_like(Q)
    first_guess(0.2**2 / np.array([1.0, 4.0]), IS_FREE, Q, Q, A, out)
    assert (out[0] == Q[0]).all()
    np.testing.assert_allclose(out[1, 0], 0.01 * A[1, 0], rtol=1e-15)


@pytest.mark.parametrize("name", sorted(INTEGRATORS))
def test_a_commit_moves_the_present_into_the_past(name, rng):
    method, state, h = INTEGRATORS[name], random_state(rng), 0.05
    before = State(**{k: np.copy(v) for k, v in state.arrays().items()})
    Q, Q_tilde = rng.normal(size=(2, 2, 4, 3))
    past, V_start = rng.normal(size=(2, 2, 4, 3))
    methods, start = Methods(method, NOBODY), (V_start, np.zeros_like(Q))
    state.commit(
        methods, h, IS_FREE, Q, Q_tilde, past.copy(), start, (UNTOUCHED[3], UNTOUCHED[5]), UNTOUCHED[4], NOBODY, NOBODY
    )
    d, d0, d1, carry, _ = method.rates
    np.testing.assert_array_equal(state.Q, Q)
    np.testing.assert_array_equal(state.Q_before, before.Q)
    np.testing.assert_array_equal(state.V_before, before.V)
    np.testing.assert_allclose(state.V[1], ((d * Q + d0 * before.Q + d1 * past) / h + carry * V_start)[1], rtol=1e-12)
    assert not state.V[0].any(), "a fixed body has no velocity"
    np.testing.assert_allclose(state.A, method.weight * (Q - Q_tilde) / h**2, rtol=1e-12)
    assert state.dt_before == h


def test_a_body_that_needs_bdf1_takes_the_step_as_that(rng):
    """Prediction, weight and new velocity come from the row of its own method."""
    is_free = np.ones(2, np.int64)
    methods = Methods(INTEGRATORS["ctr"], np.array([False, True]))
    np.testing.assert_array_equal(methods.weight, [4.0, 1.0])
    state, a, found = random_state(rng), rng.normal(size=(2, 4, 3)), np.empty((2, 4, 3))
    Q, V = state.Q.copy(), state.V.copy()
    predict(methods.prediction, methods.of, 0.1, is_free, np.ones(2, int), a, Q, V, Q, V, found)
    np.testing.assert_allclose(found, Q + 0.1 * V + np.array([0.0025, 0.01])[:, None, None] * a, rtol=1e-13)
    new = rng.normal(size=(2, 4, 3))
    state.commit(
        methods, 0.1, is_free, new, found, Q.copy(), (V, a), (UNTOUCHED[3], UNTOUCHED[5]), UNTOUCHED[4], NOBODY, NOBODY
    )
    np.testing.assert_allclose(state.V[0], (20 * (new - Q) - V)[0], rtol=1e-12)
    np.testing.assert_allclose(state.V[1], (10 * (new - Q))[1], rtol=1e-12)
    assert not state.lagging.any()


def test_a_body_in_touch_is_held_and_one_that_lands_has_its_velocity(rng):
    """Held: Qₙ + hV̂ + h²/4 a with c = 1, then (Q − Qₙ)/h + h/4 a. One that only ends in touch begins as ctr."""
    is_free = np.ones(2, np.int64)
    methods = Methods(INTEGRATORS["ctr"], NOBODY, np.array([False, True]))
    np.testing.assert_array_equal(methods.weight, [4.0, 1.0])
    np.testing.assert_array_equal(methods.starts, [True, True])
    state, a, found = random_state(rng), rng.normal(size=(2, 4, 3)), np.empty((2, 4, 3))
    Q, V = state.Q.copy(), state.V.copy()
    predict(methods.prediction, methods.of, 0.1, is_free, np.ones(2, int), a, Q, V, Q, V, found)
    np.testing.assert_allclose(found, Q + 0.1 * V + 0.0025 * a, rtol=1e-13)
    new = rng.normal(size=(2, 4, 3))
    state.commit(
        methods,
        0.1,
        is_free,
        new,
        found,
        Q.copy(),
        (V, a),
        (UNTOUCHED[3], UNTOUCHED[5]),
        UNTOUCHED[4],
        np.ones(2, np.bool_),
        NOBODY,
    )
    np.testing.assert_allclose(state.V, 10 * (new - Q) + 0.025 * a, rtol=1e-12)
    assert state.lagging.all()


def test_a_velocity_that_lags_is_told_as_the_mean_of_the_step():
    """A body that turns by θ in a step of the trapezoidal rule has the spin 2 tan(θ/2)/h."""
    h, theta, centre = 0.1, 0.5, np.array([0.3, -0.2, 0.1])
    mass = np.zeros((1, 4, 4))
    mass[0, 0, 0], mass[0, 0, 1:] = 2.0, 2.0 * centre
    state = State.without_past(np.zeros((1, 4, 3)), np.full((1, 4, 3), 7.0))
    np.testing.assert_array_equal(state.velocity(mass), state.V)
    state.lagging[:], state.dt_before = True, h
    axis, R = np.array([0.0, 0.0, 1.0]), rotation([0, 0, 1], theta)
    state.Q_before = np.concatenate([np.zeros((1, 3)), np.eye(3)])[None]
    move = np.array([0.01, 0.02, 0.03])  # of the centre of mass
    state.Q = np.concatenate([(centre + move - R @ centre)[None], R.T])[None]
    found = state.velocity(mass)[0]
    spin = 2 * np.tan(theta / 2) / h * axis
    np.testing.assert_allclose(found[1:], np.cross(spin, state.Q[0, 1:]), atol=1e-12)
    np.testing.assert_allclose(found[0] + centre @ found[1:], move / h, atol=1e-12)


def test_a_new_step_length_shows_the_past_of_the_same_parabola():
    """Q(t) = a + b t + c t²: the state 0.02 s ago becomes the one 0.05 s ago."""
    a, b, c = np.random.default_rng(5).normal(size=(3, 1, 4, 3))

    def at(t: float) -> np.ndarray:
        return a + b * t + c * t * t

    state = State(
        at(1),
        b + 2 * c,
        at(0.98),
        b + 2 * c * 0.98,
        np.zeros_like(a),
        NOBODY[:1],
        NOBODY[:1],
        NOBODY[:1],
        np.zeros((1, 12)),
        np.zeros((1, 16)),
        np.zeros((0, 3)),
        0.02,
    )
    Q_before, V_before = state.past(0.05)
    np.testing.assert_allclose(Q_before, at(0.95), atol=1e-13)
    np.testing.assert_allclose(V_before, b + 2 * c * 0.95, atol=1e-13)
    np.testing.assert_array_equal(state.Q_before, at(0.98), "the state itself is left alone")


def test_an_equal_step_or_a_start_leaves_the_past_alone(rng):
    for dt_before, h in ((0.02, 0.02), (0.0, 0.05)):
        state = random_state(rng)
        state.dt_before = dt_before
        Q_before, V_before = state.past(h)
        np.testing.assert_array_equal(state.Q_before, Q_before)
        np.testing.assert_array_equal(state.V_before, V_before)


def test_an_external_write_ends_the_past_of_that_body_only(rng):
    state = random_state(rng)
    kept = {name: value[0].copy() for name, value in state.arrays().items() if value.ndim and len(value)}
    state.forget(np.array([1]))
    np.testing.assert_array_equal(state.Q_before[1], state.Q[1])
    np.testing.assert_array_equal(state.V_before[1], state.V[1])
    assert not state.A[1].any()
    for name, value in kept.items():
        np.testing.assert_array_equal(state.arrays()[name][0], value)


def test_what_is_saved_can_be_restored(rng):
    state, other = random_state(rng), random_state(rng)
    other.restore(state.arrays())
    assert state.arrays().keys() == other.arrays().keys()
    for name, value in state.arrays().items():
        np.testing.assert_array_equal(other.arrays()[name], value)
    other.Q += 1.0
    assert not (other.Q == state.Q).any(), "the arrays are copies"
