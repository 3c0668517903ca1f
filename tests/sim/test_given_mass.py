"""Bodies with a mass, a centre of mass and an inertia that were given: they move as these say."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trimesh

from dovetail import AngleAxis, Sim
from dovetail.errors import SceneError


def test_what_was_given_is_what_the_body_has():
    turn = AngleAxis(0.7, [1, 2, 3]).matrix()
    inertia = turn @ np.diag([0.03, 0.04, 0.05]) @ turn.T
    cup = trimesh.creation.annulus(0.04, 0.05, 0.1)  # concave
    sim = Sim(contact=False)
    for body in (
        sim.mesh(cup, mass=2.0, center_of_mass=(0.01, 0.02, -0.03), inertia=inertia),
        sim.sphere(0.1, mass=2.0, center_of_mass=(0.01, 0.02, -0.03), inertia=inertia),
        sim.box(0.1, mass=2.0, center_of_mass=(0.01, 0.02, -0.03), inertia=inertia),
    ):
        assert body.mass == 2.0
        np.testing.assert_allclose(body.center, (0.01, 0.02, -0.03), rtol=1e-12)
        np.testing.assert_allclose(body.inertia, inertia, rtol=1e-12)
    diagonal = sim.box(0.1, inertia=(0.03, 0.04, 0.05))
    assert np.isclose(diagonal.mass, 1.0)
    np.testing.assert_allclose(diagonal.inertia, np.diag([0.03, 0.04, 0.05]), atol=1e-15)


def test_what_was_not_given_is_that_of_the_shape():
    sim = Sim(contact=False)
    box, moved = sim.box((0.1, 0.2, 0.3)), sim.box((0.1, 0.2, 0.3), center_of_mass=(0.05, 0, 0))
    heavy = sim.box((0.1, 0.2, 0.3), mass=2 * box.mass, inertia=box.inertia)
    np.testing.assert_allclose(moved.inertia, box.inertia, rtol=1e-12, atol=1e-16)
    np.testing.assert_allclose(moved.center, (0.05, 0, 0), rtol=1e-12)
    np.testing.assert_allclose(heavy.inertia, box.inertia, rtol=1e-12, atol=1e-16)
    np.testing.assert_allclose(heavy.center, 0, atol=1e-15)


def test_a_pendulum_swings_with_the_given_inertia():
    # small swings about the hinge: ω² = m g l / (I + m l²)
    m, below, inertia = 1.5, 0.3, 0.2
    sim = Sim(dt=2e-3, contact=False)
    bob = sim.box(
        0.1, mass=m, center_of_mass=(0, 0, -below), inertia=(inertia, inertia, 0.3), rot=AngleAxis(0.02, [0, 1, 0])
    )
    hinge = sim.revolute(None, bob, pos=(0, 0, 0), axis=(0, 1, 0))
    period = 2 * math.pi / math.sqrt(m * 9.81 * below / (inertia + m * below**2))
    sim.step(round(period / 4 / sim.dt))
    # at 0.02 rad the period is longer by 2.5e-5; a quarter of it is met to half a step, 1 ms of 2.2 s
    assert abs(hinge.angle + 0.02) < 0.02 * 2 * math.pi * 1.1e-3 / period


def test_a_torque_turns_it_as_the_inertia_says():
    sim = Sim(gravity=(0, 0, 0), contact=False)
    body = sim.sphere(0.1, mass=1.0, center_of_mass=(0.02, 0, 0), inertia=(0.1, 0.2, 0.25))
    body.torque = (0, 0, 0.5)
    sim.step(10)
    np.testing.assert_allclose(body.spin, (0, 0, 0.5 / 0.25 * sim.time), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(body.center, (0.02, 0, 0), atol=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"inertia": (1.0, 1.0, 2.1)}, r"principal moments \(1, 1, 2\.1\) \[kg·m²\].*any two of them must be more"),
        ({"inertia": (1.0, 1.0, 2.0)}, r"of a thin plate or rod, count its thickness"),
        ({"inertia": (-1.0, -1.0, -1.0)}, r"any two of them must be more"),
        ({"inertia": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]}, r"is not symmetric; use \(I \+ Iᵀ\)/2"),
        ({"inertia": 1.0}, r"give a 3×3 matrix about the centre of mass, or three moments"),
        ({"center_of_mass": (0, 1)}, r"center_of_mass = \(0, 1\) \[m\]; give 3 finite numbers"),
        ({"mass": 1.0, "density": 1.0}, r"both mass and density are given"),
    ],
)
def test_inertias_that_no_body_has_are_refused(given, message):
    sim = Sim()
    with pytest.raises(SceneError, match=message):
        sim.box(0.1, **given)
    assert sim.bodies == []
