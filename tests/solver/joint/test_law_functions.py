"""Limits, servos and stops in particular, against what their equations say."""

from __future__ import annotations

import numpy as np
import pytest
from joint_functions import STEP, phi

from dovetail.solver.joint.function import LAWS
from dovetail.world.lower import joints as _built_in  # noqa: F401  registers the functions

# ---- the limit in particular ------------------------------------------------------------------------------

TINY = 1e-12


@pytest.mark.parametrize("width", [0.0, 0.5])
def test_a_limit_is_silent_inside_and_on_its_borders(width):
    p = np.array([-0.25, -0.25 + width, 7.0])
    for x in (p[0], p[1], p[0] + width / 2, p[0] + min(TINY, width), p[1] - min(TINY, width)):
        assert phi(LAWS["limit"], x, p) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("width", [0.0, 0.5])
@pytest.mark.parametrize("side", [-1, 1])
def test_a_limit_pushes_back_right_outside_its_borders(width, side):
    p = np.array([1.0, 1.0 + width, 7.0])
    value, first, second = phi(LAWS["limit"], (p[0] if side < 0 else p[1]) + side * TINY, p)
    assert value > 0.0
    assert side * first > 0.0
    assert second > 0.0


@pytest.mark.parametrize(("lower", "upper"), [(-1.0, 3.0), (2.0, 2.0)])
def test_a_limit_is_a_cubic_of_the_excess_over_its_width(lower, upper):
    p = np.array([lower, upper, 7.0])
    width = upper - lower or 1.0
    for excess in (0.1, 1.0, 5.0):
        assert phi(LAWS["limit"], upper + excess, p)[0] == pytest.approx(7.0 * (excess / width) ** 3, rel=1e-14)
        assert phi(LAWS["limit"], lower - excess, p)[0] == pytest.approx(7.0 * (excess / width) ** 3, rel=1e-14)


def test_the_width_of_a_limit_does_not_change_how_hard_it_is_at_the_same_relative_excess():
    narrow = phi(LAWS["limit"], 0.1 + 0.01, np.array([0.0, 0.1, 3.0]))[0]
    wide = phi(LAWS["limit"], 10.0 + 1.0, np.array([0.0, 10.0, 3.0]))[0]
    assert narrow == pytest.approx(wide, rel=1e-12)


# ---- the stop in particular --------------------------------------------------------------------------------

SERVO = {  # k, c, target, target velocity, start, h, v̂, w, I, f, S, σ, side, x at the start of the step
    "plain": (3.0, 0.5, 0.4, 0.2, 0.1, 0.3, np.inf, 0.0, 1.0, 6.0, 0.0, 1.0, 0.0, 0.0),
    "slow": (3.0, 0.5, 5.0, 0.2, 0.1, 0.3, 0.7, 20.0, 1.0, 6.0, 0.0, 1.0, 0.0, 0.0),
    "slow and weak": (3.0, 0.5, -5.0, 0.2, 0.1, 0.3, 0.7, 20.0, 1.0, 2.0, 0.0, 1.0, 0.0, 0.0),
    "soft brake": (3.0, 0.5, 5.0, 0.2, 0.1, 0.3, 0.7, 0.1, 1.0, 60.0, 0.0, 1.0, 0.0, 0.0),
    "half a step": (3.0, 0.5, 0.4, 0.2, 0.1, 0.3, np.inf, 0.0, 1.0, 3.0, 1.2, 2.0, 0.0, 0.0),
    "more than its cap": (3.0, 0.5, 0.4, 0.2, 0.1, 0.3, np.inf, 0.0, 1.0, 3.0, -4.0, 2.0, 0.0, 0.0),
    "up alone": (3.0, 0.5, 0.4, 0.2, 0.1, 0.3, 0.7, 20.0, 1.0, 3.0, 0.5, 2.0, 1.0, 0.0),
    "down alone": (3.0, 0.5, 0.4, 0.2, 0.1, 0.3, np.inf, 0.0, 1.0, 3.0, 0.0, 1.0, -1.0, 0.0),
}


@pytest.mark.parametrize("case", SERVO)
def test_a_servo_is_held_to_its_speed_and_its_mean_effort_to_its_cap(case):
    k, c, target, speed, start, h, fastest, brake, _, f, given, share, side, _ = p = np.array(SERVO[case])
    gain = c + h * k
    w = brake if brake > 2 * gain else gain
    least, most = (0.0 if side > 0 else -f), (0.0 if side < 0 else f)
    for x in np.linspace(-3, 3, 61) + 1e-3:  # off the kinks
        rate = (x - start) / h
        effort = k * (target - x) + c * (speed - rate)
        if np.isfinite(fastest):
            effort = np.clip(effort, w * (-fastest - rate), w * (fastest - rate))
        mean = np.clip(given + effort / share, least, most)
        _, slope, bend = phi(LAWS["servo"], x, p)
        assert slope == pytest.approx(-h * h * share * (mean - given), rel=1e-12, abs=1e-14)
        ahead, behind = (phi(LAWS["servo"], x + s * STEP, p) for s in (1, -1))
        assert (ahead[0] - behind[0]) / (2 * STEP) == pytest.approx(slope, abs=1e-7)
        assert (ahead[1] - behind[1]) / (2 * STEP) == pytest.approx(bend, abs=1e-7)


STOP = np.array([-0.5, 1.5, np.inf, 3.0])


def test_a_stop_is_silent_inside_and_infinite_on_its_bounds_and_beyond():
    for x in (-0.4998, 0.0, 1.4998):
        assert phi(LAWS["stop"], x, STOP) == (0.0, 0.0, 0.0)
    for x in (-0.5, -0.6, 1.5, 100.0):
        assert phi(LAWS["stop"], x, STOP)[0] == np.inf
    assert phi(LAWS["stop"], 7.0, np.array([-0.5, 1.5, 2.0, 3.0])) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("share", [1e-9, 1e-3, 0.1, 0.5, 0.9])
def test_a_stop_is_the_barrier_of_its_gap(share):
    """φ = −κ(g − ĝ)² ln(g/ĝ) at both ends, with derivatives by differences relative to the gap."""
    margin, kappa = 1e-4, 3.0

    def barrier(y):
        return -kappa * margin**2 * (y - 1) ** 2 * np.log(y)

    y, d = share, 1e-4 * min(share, 1 - share)
    slope = (barrier(y + d) - barrier(y - d)) / (2 * d * margin)
    curvature = (barrier(y + d) - 2 * barrier(y) + barrier(y - d)) / (d * margin) ** 2
    for x, sign in ((STOP[0] + share * margin, 1), (STOP[1] - share * margin, -1)):
        value, first, second = phi(LAWS["stop"], x, STOP)
        # x of order 1 holds a gap of 1e-13 to 1e-3 relative; differences of second order with a relative step of 1e-4
        tolerance = 1e-5 + 1e-15 / (share * margin)
        assert value == pytest.approx(barrier(y), rel=tolerance)
        assert first == pytest.approx(sign * slope, rel=2 * tolerance)
        assert second == pytest.approx(curvature, rel=1e-3 + 2 * tolerance)
