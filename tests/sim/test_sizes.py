"""Bodies from the size of a molecule to that of a planet."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail import Sim
from dovetail.errors import SceneError

SHAPES = {
    "box": lambda sim, s, **options: sim.box((s, 2 * s, 3 * s), **options),
    "sphere": lambda sim, s, **options: sim.sphere(s, **options),
    "capsule": lambda sim, s, **options: sim.capsule(s, 2 * s, **options),
    "cylinder": lambda sim, s, **options: sim.cylinder(s, 2 * s, **options),
}


@pytest.mark.parametrize(("radius", "length", "detail"), [(0.001, 1.0, 2), (0.02, 0.1, 5), (0.005, 0.1, 5)])
def test_a_thin_capsule_is_a_body(radius, length, detail):
    capsule = Sim().capsule(radius, length, detail=detail)
    assert capsule.mass == pytest.approx(1000 * math.pi * radius**2 * (length + 4 / 3 * radius), rel=1e-12)  # round-off


@pytest.mark.parametrize("radius", [3e-4, 1e-4, 1e-6])
def test_a_thin_cylinder_is_a_body(radius):
    cylinder = Sim().cylinder(radius, 0.1)
    assert cylinder.mass == pytest.approx(1000 * 0.1 * math.pi * radius**2, rel=1e-12)  # round-off


@pytest.mark.parametrize("detail", [0, 3])
@pytest.mark.parametrize("shape", ["capsule", "cylinder"])
def test_capsules_and_cylinders_are_closed_and_as_long_and_thick_as_said(shape, detail):
    body = getattr(Sim(), shape)(0.5, 2.0, detail=detail)  # a body has a mass only if its surface is closed
    extent = np.ptp(body.vertices, axis=0)
    # corners of a cylinder lie 1e-4 inside, so that one that stands at its radius does not touch yet
    wide = 1 if shape == "capsule" else 1 - 1e-4
    np.testing.assert_allclose(extent, (wide, wide, 3 if shape == "capsule" else 2), rtol=1e-12)
    np.testing.assert_allclose(body.center, 0, atol=1e-12)
    sides = 4 * 2**detail
    assert len(body.vertices) == (sides**2 + 2 if shape == "capsule" else 4 * sides + 2)


@pytest.mark.parametrize("size", [1e-9, 1e-7, 1e-5, 1e-3, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_body_of_any_size_turns_and_flies(shape, size):
    """At 1e-9 m the inertia is 1e-20 of the default stiffness κVh², which float64 cannot see."""
    sim = Sim(gravity=(0, 0, 0), contact=False)
    body = SHAPES[shape](sim, size, spin=(1, 0, 0), velocity=(size, 0, 0))
    sim.step(10)
    A = body.transform[:3, :3]
    assert body.pos[0] == pytest.approx(0.1 * size, rel=1e-9)
    # the trapezoidal rule turns by 2 atan(h/2) a step, 1e-5 less than h; Newton's tolerance is 1e-2·h of an entry of A
    assert math.atan2(A[2, 1], A[1, 1]) == pytest.approx(0.1, abs=2e-4)
    np.testing.assert_allclose(np.linalg.svd(A, compute_uv=False), 1, atol=1e-5)  # spun bodies stretch


@pytest.mark.parametrize("size", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_body_of_a_planets_size_falls(shape, size):
    sim = Sim()
    body = SHAPES[shape](sim, size)
    sim.step(10)
    assert body.velocity[2] == pytest.approx(-0.981, rel=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_small_body_comes_to_rest_on_the_ground(shape):
    """Contact is for lengths of its own: d_hat goes with the bodies."""
    size = 1e-5
    sim = Sim(dt=1e-4, d_hat=0.02 * size)
    sim.ground()
    body = SHAPES[shape](sim, size)
    body.pos = (0, 0, -body.vertices[:, 2].min() + 0.03 * size)
    sim.step(40)
    # what is round touches at its radius, so it rests within the barrier's range below that
    lowest = body.vertices[:, 2].min() + (0.02 * size if shape in ("sphere", "capsule") else 0.0)
    assert 0 < lowest < 0.02 * size
    assert abs(body.velocity[2]) < 0.1 * size / 1e-2


@pytest.mark.parametrize("size", [1e-10, 1e-300, 1e8, 1e300])
@pytest.mark.parametrize("shape", SHAPES)
def test_beyond_that_a_size_is_refused_in_a_sentence(shape, size):
    with pytest.raises(SceneError, match=r"give (a length|lengths|a number|numbers) (from|up to) "):
        SHAPES[shape](Sim(), size)
