"""Contact that is on, with nothing near anything, changes nothing: the same motion, found in the same way."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import Sim

TOLERANCE = 1e-9
"""Both take the same steps with the same numbers, but for the last digit of sums over islands."""

ALONG, ACROSS = (0, 1, 0), (0, 0, 1)
JOINTS = {
    "revolute": lambda s, a, b, p, **more: s.revolute(a, b, pos=p, axis=ALONG, **more),
    "prismatic": lambda s, a, b, p, **more: s.prismatic(a, b, axis=ALONG, pos=p, **more),
    "spherical": lambda s, a, b, p: s.spherical(a, b, p),
    "fixed": lambda s, a, b, p: s.fixed(a, b),
    "cylindrical": lambda s, a, b, p, **more: s.cylindrical(a, b, pos=p, axis=ALONG, **more),
    "screw": lambda s, a, b, p, **more: s.screw(a, b, pos=p, axis=ALONG, pitch=0.1, **more),
    "universal": lambda s, a, b, p, **more: s.universal(a, b, pos=p, axis=ALONG, cross=ACROSS, **more),
    "planar": lambda s, a, b, p, **more: s.planar(a, b, pos=p, normal=ALONG, x=(1, 0, 0), **more),
    "point_on_line": lambda s, a, b, p, **more: s.point_on_line(a, b, pos=p, axis=ALONG, **more),
    "distance": lambda s, a, b, p, **more: s.distance(a, b, start=p, end=(p[0] + 0.1, p[1], p[2]), **more),
}
LAWS = {
    "drive": {"drive": 0.2},
    "limit": {"limit": (-0.1, 0.1)},
    "hard limit": {"limit": (-0.1, 0.1), "hard": True},
    "damping": {"damping": 0.3},
    "friction": {"joint_friction": 0.2},
}


def machine(contact, make, integrator="ctr", exact=True, **more):
    """Three links far apart from each other but where they are joined, the first one on the world."""
    sim = Sim(dt=0.01, contact=contact, integrator=integrator, exact=exact)
    parent = None
    for k in range(3):
        link = sim.box((0.3, 0.05, 0.05), pos=(0.5 * k + 0.25, 0, 1), spin=(0.5, 1.0, 0.2 * k))
        make(sim, parent, link, (0.5 * k, 0, 1), **more)
        parent = link
    return sim


def moved(sim, frames=25):
    """Transforms of all bodies after some steps, iterations of each, and the bodies that were swept."""
    iterations = []
    for _ in range(frames):
        sim.step()
        iterations.append(sim.world.report.iterations)
    sweep = sim.world._simulation.model.directions.sweep
    swept = [] if sweep is None else sweep.fits.tolist()
    assert sim.world.report.contacts == 0
    return np.array([body.transform for body in sim.bodies]), iterations, swept


def assert_same(make, **more):
    off, on = (moved(machine(contact, make, **more)) for contact in (False, True))
    np.testing.assert_allclose(on[0], off[0], rtol=0, atol=TOLERANCE)
    assert on[1:] == off[1:]


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "penalty"])
@pytest.mark.parametrize("joint", JOINTS)
def test_every_joint_moves_as_without_contact(joint, exact):
    assert_same(JOINTS[joint], exact=exact)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("joint", ["revolute", "prismatic"])
def test_every_law_acts_as_without_contact(joint, law):
    more = dict(LAWS[law])
    if (friction := more.pop("joint_friction", None)) is not None:
        make = JOINTS[joint]

        def rubbing(*given):
            made = make(*given)
            made.friction = friction

        assert_same(rubbing)
    else:
        assert_same(JOINTS[joint], **more)


@pytest.mark.parametrize("integrator", ["bdf1", "bdf2", "ctr"])
def test_every_integrator_steps_as_without_contact(integrator):
    assert_same(JOINTS["spherical"], integrator=integrator)
