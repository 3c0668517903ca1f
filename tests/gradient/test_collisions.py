"""Gradients through collisions by position, velocity and control, after Zhong et al. (2022), beside closed forms.

What many simulators get wrong is the time of impact: a ball that begins higher hits the ground later and is lower in
the end, dz_T/dz₀ = v_T/v₀ < 0, where positions that are merely projected say +1 or 0.
"""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import BOX, Stage, scaled
from gradient_check import TIGHT_TAPE, Problem
from scenes import pose

TIGHT = {name.replace("/", "__"): value for name, value in TIGHT_TAPE.items()}
DT, STEPS, SPEED = 4e-4, 125, 1.0


def stage(kappa=1e6, mu=0.0, gravity=(0, 0, 0), dt=DT, method="bdf2"):
    made = Stage(
        gravity, d_hat=0.02, dt=dt, integrator__type=method, integrator__bdf2_start="bdf1",
        contact__friction__memory=0, **TIGHT,
    )  # fmt: skip
    made.material(mu, kappa)
    return made


def bounce():
    """A box of 1 kg that hits the ground, within some 80 steps, and comes back nearly as fast: e = 0.92."""
    made = stage()
    made.ground(0.0)
    made.add("ball", scaled(BOX, 0.1), [pose((0, 0, 0.0741))], velocity=(0.3, 0, -SPEED), density=1000.0)
    return made.world


def along(body, x, bodies=1):
    way = np.zeros((bodies, 4, 3))
    way[body, 0, x] = 1.0
    return way


def by_differences(problem, body, x, step, **ways):
    """Richardson's, of where a body is in the end along x, and how fast."""

    def end(s):
        tape = problem.tape(**{name: way(s) if callable(way) else s * way for name, way in ways.items()})
        return np.array([tape.Q[-1, body, 0, x], tape.V[-1, body, 0, x]])

    wide, narrow = ((end(h) - end(-h)) / (2 * h) for h in (step, step / 2))
    return (4 * narrow - wide) / 3


def backward(tape, body, x):
    """Gradients of where a body is in the end along x, and of how fast."""
    way = along(body, x, tape.Q.shape[1])
    return tape.backward(way, strict=True), tape.backward(None, way, strict=True)


def test_a_bounce_by_position_velocity_and_control():
    problem = Problem(bounce, STEPS)
    tape, pushes, early = problem.tape(), problem.world._simulation.pushes, 1
    z, v = tape.Q[:, 0, 0, 2], tape.V[:, 0, 0, 2]
    assert z[0] > 0.07 > z.min() and 0.9 * SPEED < v[-1] < SPEED

    def push(s):
        def write(k):
            pushes.set(np.array([0]), s * along(0, 2) * (k == early))

        return write

    found = backward(tape, 0, 2)
    by_position, by_velocity = (
        [float(each[0, 0, 2]) for each in by] for by in zip(*((f.Q, f.V) for f in found), strict=True)
    )
    by_force = np.array([each.forces[:, 0, 0, 2] for each in found])
    # dv/dz is nearly zero, where differences over 10 µm see 1e-11 m/s of what Newton's method leaves
    assert by_position == pytest.approx(by_differences(problem, 0, 2, 1e-5, dQ=along(0, 2)), rel=1e-5, abs=1e-6)
    assert by_velocity == pytest.approx(by_differences(problem, 0, 2, 1e-5, dV=along(0, 2)), rel=1e-5)
    assert by_force[:, early] == pytest.approx(by_differences(problem, 0, 2, 1e-2, control=push), rel=1e-5)
    # a start of one step's way higher is a start one step later; the phase of the step within the impact is the rest
    ratio = v[-1] / v[0]
    assert by_position[0] == pytest.approx(ratio, rel=2e-3)
    assert abs(by_position[1]) * DT * SPEED < 1e-5  # m/s, by a whole step's way
    assert by_velocity[1] == pytest.approx(ratio, rel=0.03)  # e depends a little on the speed
    assert by_force[1, early] == pytest.approx(DT * ratio, rel=0.03)  # of 1 kg, turned round by the ground
    assert by_force[1, STEPS - 20] == pytest.approx(DT, rel=1e-6)  # and not, once it has left it
    # along the ground nothing happens: x_T = x₀ + T v₀
    place, rate = backward(tape, 0, 0)
    assert place.Q[0, 0, 0] == pytest.approx(1.0, rel=1e-7) and abs(rate.Q[0, 0, 0]) < 1e-7
    assert place.V[0, 0, 0] == pytest.approx(STEPS * DT, rel=1e-6) and rate.V[0, 0, 0] == pytest.approx(1.0, rel=1e-6)


def strike():
    """A box hits another of the same mass, and nearly stops."""
    made = stage()
    made.add("first", scaled(BOX, 0.1), [pose((0, 0, 0))], velocity=(SPEED, 0, 0), density=1000.0)
    made.add("second", scaled(BOX, 0.08), [pose((0.112, 0, 0))], density=1000.0 / 0.8**3)
    return made.world


def test_a_strike_passes_position_and_velocity_on():
    problem = Problem(strike, STEPS)
    tape = problem.tape()
    place, rate = backward(tape, 1, 0)
    for name, by, pick in (("dQ", place.Q, 0), ("dV", rate.V, 1)):
        expected = by_differences(problem, 1, 0, 1e-6, **{name: along(0, 0, 2)})[pick]
        assert by[0, 0, 0] == pytest.approx(expected, rel=1e-5)
        # of an elastic strike (1, 0); what is lost is shared
        assert by[:, 0, 0] == pytest.approx(tape.V[-1, ::-1, 0, 0], abs=0.04)
        assert by[:, 0, 0].sum() == pytest.approx(1.0, rel=1e-6)  # both moved, or both faster: seen from elsewhere


def test_a_box_that_slides_to_rest_by_velocity_and_friction():
    """x = v²/2μg: dx/dv = v/μg, dx/dln μ = −v²/2μg, but for the rate at which friction begins."""
    mu, g, v, dt = 0.5, 9.81, 1.0, 4e-3

    def build():
        made = stage(1e8, mu, (0, 0, -g), dt, "bdf1")
        made.ground(0.0)
        # where it rests in the barrier: its weight is borne there from the start
        made.add("box", scaled(BOX, 0.1), [pose((0, 0, 0.06978))], velocity=(v, 0, 0), density=1000.0)
        return made.world

    problem = Problem(build, 65)
    tape = problem.tape()
    found = tape.backward(along(0, 0), strict=True)
    assert tape.V[-1, 0, 0, 0] < 0.01 * v
    assert found.V[0, 0, 0] == pytest.approx(by_differences(problem, 0, 0, 1e-5, dV=along(0, 0))[0], rel=1e-5)
    # steps of 4 ms of 200, and a creep with contact/eps_velocity in the end
    assert found.V[0, 0, 0] == pytest.approx(v / (mu * g), rel=0.04)
    assert found.log_mu.sum() == pytest.approx(-(v**2) / (2 * mu * g), rel=0.04)
