"""Orders of convergence, measured on a tumbling body against the exact motion of a rigid one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scenes import add_boxes, cross_matrix, new_scene, rate, read_state
from scipy.integrate import solve_ivp

SIZE = np.array([0.5, 0.2, 0.3])
SPIN = np.array([0.7, 2.5, 0.4])
TIME = 0.4
# strains of ρω²L²/κ = 2e-8 are the floor of all errors below
KAPPA = 1e11


@cache
def rigid_rotation() -> np.ndarray:
    """R(TIME) of Euler's equations by a method of order 8 with a tolerance of 1e-12."""
    inertia = SIZE @ SIZE - SIZE**2

    def rhs(t: float, y: np.ndarray) -> np.ndarray:
        R, w = y[:9].reshape(3, 3), y[9:]
        return np.concatenate([(R @ cross_matrix(w)).ravel(), np.cross(inertia * w, w) / inertia])

    y = np.concatenate([np.eye(3).ravel(), SPIN])
    return solve_ivp(rhs, (0, TIME), y, "DOP853", rtol=1e-12, atol=1e-12).y[:9, -1].reshape(3, 3)


def error(start, steps: np.ndarray, **config: object) -> float:
    """Largest error in an entry of A after steps of these lengths."""
    scene = new_scene(gravity=[0, 0, 0], newton__velocity_tol=1e-7, newton__transrate_tol=1e-6, **config)
    add_boxes(scene, size=SIZE, velocities=[rate(np.eye(4), angular=SPIN)], kappa=KAPPA)
    world = start(scene)
    for h in steps:
        scene.config["dt"] = h
        world.advance()
    return float(np.abs(read_state(world)[0][0, :3, :3] - rigid_rotation()).max())


def equal_steps(count: int) -> np.ndarray:
    return np.full(count, TIME / count)


def measured_order(errors: list[float]) -> np.ndarray:
    return np.log2(np.array(errors[:-1]) / errors[1:])


def test_implicit_euler_is_of_first_order(start):
    errors = [error(start, equal_steps(n)) for n in (40, 80, 160)]
    np.testing.assert_allclose(measured_order(errors), 1.0, atol=0.05)  # the next term is h times smaller, h ω = 0.03


def test_bdf2_started_with_bdf1_is_of_second_order(start):
    errors = [
        error(start, equal_steps(n), integrator__type="bdf2", integrator__bdf2_start="bdf1") for n in (40, 80, 160)
    ]
    np.testing.assert_allclose(measured_order(errors), 2.0, atol=0.15)  # the first step's error is of the same order


def test_bdf2_started_as_libuipc_does_is_of_first_order_only(start):
    """Its first step takes the body for one that rested: what is wrong by then stays. That is why the choice exists."""
    errors = [error(start, equal_steps(n), integrator__type="bdf2") for n in (40, 80, 160)]
    np.testing.assert_allclose(measured_order(errors), 1.0, atol=0.15)


@pytest.mark.parametrize("spread", [0.3, 0.6])
def test_bdf2_stays_of_second_order_when_the_step_keeps_changing(start, rng, spread):
    """Random steps, each halved again and again: the past is moved along with the step length."""
    coarse = rng.uniform(1 - spread, 1 + spread, 40)
    coarse *= TIME / coarse.sum()
    errors = [
        error(start, np.repeat(coarse / n, n), integrator__type="bdf2", integrator__bdf2_start="bdf1")
        for n in (1, 2, 4)
    ]
    # lengths that jump disturb the leading term, but a lost order would show as 1
    np.testing.assert_allclose(measured_order(errors), 2.0, atol=0.4)
