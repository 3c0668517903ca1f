"""Contact of round bodies: touching at the radius, friction on the surface, every pair of cores counted once."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dovetail import Sim
from dovetail.errors import SceneError

R = 0.1
SHAPES = {
    "ball": lambda sim, **options: sim.sphere(R, **options),
    "capsule": lambda sim, **options: sim.capsule(R, 0.3, rot=(0.5**0.5, 0, 0.5**0.5, 0), **options),  # along x
    "box": lambda sim, **options: sim.box(2 * R, **options),
}


def touching(one: str, other: str, gap: float) -> Sim:
    """Two bodies, the second held, whose surfaces are `gap` apart along z."""
    sim = Sim(gravity=(0, 0, 0), dt=0.01)
    SHAPES[one](sim, name="one", pos=(0, 0, 2 * R + gap))
    SHAPES[other](sim, name="other", fixed=True)
    return sim


@pytest.mark.parametrize(("one", "other"), [p for p in itertools.product(SHAPES, repeat=2) if p != ("box", "box")])
def test_round_bodies_push_from_their_radius_on(one, other):
    sim = touching(one, other, 1e-7)
    sim.step()
    assert abs(sim["one"].velocity[2]) < 1e-12  # round-off
    sim = touching(one, other, -0.5e-3)  # d̂ is 1 mm
    sim.step()
    assert sim["one"].velocity[2] > 0.0
    with pytest.raises(SceneError, match="too near"):
        touching(one, other, -1.2e-3).step()  # what is nearer by less than a tenth of that is set apart


def test_a_ball_at_the_height_of_its_radius_stays_there():
    sim = Sim()
    sim.ground()
    ball = sim.sphere(R, pos=(0, 0, R))
    sim.step(50)
    assert R - 1e-3 < ball.pos[2] < R
    np.testing.assert_allclose(ball.velocity, 0, atol=1e-9)


def test_friction_acts_on_the_surface():
    """A ball that slides begins to turn as μ m g r says; on its centre friction would have no lever."""
    mu, g, steps = 0.3, 9.81, 10
    sim = Sim(dt=0.001, friction=mu, gravity=(0, 0, -g))
    sim.ground()
    ball = sim.sphere(R, pos=(0, 0, R), velocity=(2, 0, 0))
    sim.step(100)  # until it has settled into the barrier
    before = ball.velocity[0], ball.spin[1]
    sim.step(steps)
    t = steps * 0.001
    assert before[0] - ball.velocity[0] == pytest.approx(mu * g * t, rel=1e-3)  # the load is that of the step before
    # bdf1 loses the share (ωh)²/2 of a spin of 8 rad/s in each step, 0.6 % of what friction adds
    assert ball.spin[1] - before[1] == pytest.approx(2.5 * mu * g / R * t, rel=1e-2)


def test_a_contact_is_told_at_the_surface():
    sim = Sim()
    sim.ground()
    sim.sphere(R, pos=(0.3, 0, R))
    sim.step(20)
    np.testing.assert_allclose(sim.contacts.point, [(0.3, 0, 0)], atol=1e-3)  # d̂


def test_a_shell_rubs_on_its_surface():
    """A thick plate that slides on the ground is braked at its lower side: pushed forward, it leans on its front."""
    sim = Sim(dt=0.001, friction=0.3)
    sim.ground()
    corners = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]) * 0.2
    plate = sim.mesh((corners, [(0, 1, 2), (0, 2, 3)]), thickness=0.05, pos=(0, 0, 0.051), velocity=(1, 0, 0))
    sim.step(200)
    found = sim.contacts
    lever = found.point[:, 0] - plate.pos[0]
    # moments about the middle: Σ N x = μ N ξ
    assert found.normal_force @ lever == pytest.approx(0.3 * found.normal_force.sum() * 0.05, rel=0.02)
