"""Damping, armature and range of a ball and socket, which act on its spin and its angle whatever the axis is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail import Sim
from dovetail.errors import ConstitutionError, SceneError

AXIS = np.array([2.0, -1.0, 2.0]) / 3.0
EDGE, MASS = 0.2, 3.0
INERTIA = MASS * EDGE**2 / 6.0  # of a cube, about any axis


def cube(gravity=(0, 0, 0), **options):
    """A cube that turns about its centre."""
    sim = Sim(contact=False, gravity=gravity, **options)
    body = sim.box(EDGE, mass=MASS, pos=(0, 0, 1))
    return sim, body, sim.spherical(None, body, pos=(0, 0, 1))


def test_the_mass_matrix_has_the_armature_at_any_rotation():
    """½ a ω² for a cube is what ½ I ω² is: M of w grows by the factor (I + a)/I, also far from w = 0."""
    sim, _, ball = cube()
    ball.rotation = 1.9 * AXIS
    M = sim.mechanism(ball).mass_matrix()
    ball.armature = 0.07
    assert sim.mechanism(ball).mass_matrix() == pytest.approx((1.0 + 0.07 / INERTIA) * M, rel=1e-9)
    assert not np.allclose(M, INERTIA * np.eye(3), rtol=1e-2)  # as it would be on the rates of w alone


def test_a_spin_decays_by_damping_over_all_inertia_through_half_a_turn():
    """ω = ω₀ e^(−t c/(I + a)), the axis kept, with an error of second order in the step."""
    errors = []
    for dt in (0.005, 0.0025):
        sim, body, ball = cube(dt=dt)
        ball.damping, ball.armature = 0.03, 0.04
        body.spin = spin = 12.0 * AXIS
        sim.step(round(0.4 / dt))
        expected = spin * math.exp(-0.4 * 0.03 / (INERTIA + 0.04))
        errors.append(float(np.abs(body.spin - expected).max()))
        assert body.spin == pytest.approx(expected, abs=4e-3)
    # 12 rad/s turn it by 4.1 rad: beyond half a turn, where w jumps
    assert errors[1] < errors[0] / 3.0


def test_a_ball_rests_at_its_largest_angle_and_is_free_within():
    sim = Sim(contact=False)
    rod = sim.box((0.4, 0.03, 0.03), mass=1.0, pos=(0.2, 0, 1))
    ball = sim.spherical(None, rod, pos=(0, 0, 1))
    ball.max_angle = 0.6
    ball.damping = 0.5
    for turned in (0.0, 0.5):  # about the rod itself, which takes a part of the angle
        ball.rotation = (turned, 0.0, 0.0)
        sim.step(300)
        assert np.linalg.norm(ball.rotation) == pytest.approx(0.6, abs=1e-3)  # ten times the weight goes 1 mrad beyond
    ball.max_angle = 0.3
    sim.step(300)
    assert ball.max_angle == 0.3 and np.linalg.norm(ball.rotation) == pytest.approx(0.3, abs=1e-3)


def test_what_makes_no_sense_is_refused():
    sim, _, ball = cube()
    for name in ("damping", "armature", "max_angle"):
        with pytest.raises(SceneError, match=f"{name} = -1; give a number from 0"):
            setattr(ball, name, -1)
    with pytest.raises(SceneError, match=r"max_angle = 4 .*between 0 and π"):
        ball.max_angle = 4
    ball.damping = 1.0
    ball.attributes["ball/damper/damping"] = -2.0
    with pytest.raises(ConstitutionError, match="ball/damper/damping = -2; give a finite number ≥ 0"):
        sim.step()
