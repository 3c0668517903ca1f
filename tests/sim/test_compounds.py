"""Compound bodies: mass and inertia are those of the parts together, all parts touch, and none its neighbours."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trimesh

from dovetail import AngleAxis, Part, Sim
from dovetail.errors import SceneError


def test_mass_centre_and_inertia_are_those_of_the_parts():
    head, shaft = 2.0, 0.5
    sim = Sim()
    hammer = sim.compound(
        [
            Part.capsule(0.01, 0.3, rot=AngleAxis(math.pi / 2, [0, 1, 0]), mass=shaft),
            Part.box((0.04, 0.12, 0.04), pos=(0.2, 0, 0), mass=head),
        ],
        pos=(1, 2, 3),
    )
    assert np.isclose(hammer.mass, head + shaft, rtol=1e-12)
    x = 0.2 * head / (head + shaft)
    np.testing.assert_allclose(hammer.center, (1 + x, 2, 3), rtol=1e-12)
    r, length = 0.01, 0.3
    m1 = shaft * length / (length + 4 / 3 * r)  # of the cylinder; the rest are two half-balls
    m2 = shaft - m1
    along = m1 * r * r / 2 + m2 * 2 / 5 * r * r
    across = m1 * (length**2 / 12 + r * r / 4) + m2 * (2 / 5 * r * r + length**2 / 4 + 3 / 8 * length * r)
    box = head / 12 * np.array([0.12**2 + 0.04**2, 0.04**2 + 0.04**2, 0.04**2 + 0.12**2])
    moved = shaft * x**2 + head * (0.2 - x) ** 2
    expected = np.diag(np.array([along, across + moved, across + moved]) + box)
    np.testing.assert_allclose(hammer.inertia, expected, rtol=1e-12, atol=1e-16)


def test_a_density_is_that_of_parts_without_their_own_and_a_mass_that_of_all():
    sim = Sim()
    parts = [Part.box(0.1), Part.cylinder(0.1, 0.2, pos=(1, 0, 0), density=500), Part.sphere(0.1, pos=(2, 0, 0))]
    weights = [1.0, 500 * math.pi * 0.01 * 0.2, 1000 * 4 / 3 * math.pi * 1e-3]
    whole = sim.compound(parts, contact=False)
    assert np.isclose(whole.mass, sum(weights), rtol=1e-12)
    light = sim.compound(parts, density=100, contact=False)
    assert np.isclose(light.mass, 0.1 * (weights[0] + weights[2]) + weights[1], rtol=1e-12)
    scaled = sim.compound(parts, mass=3.0, contact=False)
    np.testing.assert_allclose(
        scaled.inertia / whole.inertia[0, 0], whole.inertia * 3 / whole.mass / whole.inertia[0, 0]
    )
    np.testing.assert_allclose(scaled.center, whole.center, rtol=1e-12)


def test_every_part_touches_others_and_none_of_its_own_body():
    sim = Sim(gravity=(0, 0, 0))
    solid = trimesh.creation.icosphere(subdivisions=1, radius=0.05)
    places = {
        "box": (0, 0, 0),
        "sphere": (0.3, 0, 0),
        "capsule": (0.6, 0, 0),
        "cylinder": (0.9, 0, 0),
        "mesh": (1.2, 0, 0),
    }
    parts = [
        Part.box(0.1, pos=places["box"]),
        Part.sphere(0.05, pos=places["sphere"]),
        Part.capsule(0.05, 0.1, pos=places["capsule"], rot=AngleAxis(math.pi / 2, [1, 0, 0])),
        Part.cylinder(0.05, 0.1, pos=places["cylinder"]),
        Part.mesh(solid, pos=places["mesh"]),
        Part.box((1.3, 0.02, 0.02), pos=(0.6, 0, 0)),  # through all of them
    ]
    frame = sim.compound(parts, fixed=True)
    balls = {
        kind: sim.sphere(0.04, pos=np.add(place, (0, 0, 0.2)), velocity=(0, 0, -2)) for kind, place in places.items()
    }
    for _ in sim.run(12):
        assert not any(frame.number in pair and pair[0] == pair[1] for pair in sim.contacts.bodies.tolist())
    for kind, ball in balls.items():
        assert ball.pos[2] > 0.08, kind  # radii are 0.05 and 0.04; without the part it would be at −0.04


def test_a_compound_rests_on_the_ground_as_its_lowest_parts_say():
    sim = Sim(integrator="bdf1")
    sim.ground()
    table = sim.compound(
        [Part.box((0.6, 0.4, 0.02), pos=(0, 0, 0.3))]
        + [Part.box((0.04, 0.04, 0.3), pos=(x, y, 0.155)) for x in (-0.25, 0.25) for y in (-0.15, 0.15)],
        pos=(0, 0, 0.0),
    )
    cup = sim.cylinder(0.04, 0.1, pos=(0.1, 0.05, 0.365), detail=0, mass=0.2)
    sim.step(100)
    assert np.isclose(table.contact_force[2], 9.81 * table.mass, rtol=1e-4)  # it is at rest to Newton's tolerance
    assert np.abs(table.pos).max() < 5.1e-3  # it came down by the 5 mm below its legs, less the gap of the barrier
    assert np.isclose(cup.pos[2] - table.pos[2], 0.36, atol=2e-3)


def test_what_is_no_part_is_refused_by_name():
    sim = Sim()
    for parts, message in (
        ([], r"give a list of parts"),
        ([0.1], r"give a list of parts"),
        ([Part.box(0.1, colour="red")], r"part 0 \(box\) of Sim\.compound: there is no option 'colour'; it takes pos"),
        ([Part.box(0.1), Part.sphere(-1.0)], r"part 1 \(sphere\) of Sim\.compound: radius = -1\.0"),
        ([Part.box(0.1, pos=(0, 1))], r"part 0 \(box\) of Sim\.compound: pos = \(0, 1\) \[m\]; give 3 finite numbers"),
        ([Part.box(0.1, mass=-1)], r"part 0 \(box\) of Sim\.compound: mass = -1"),
    ):
        with pytest.raises(SceneError, match=message):
            sim.compound(parts)
    assert sim.bodies == []
