"""Machines that many worlds are made of, each with numbers of its own."""

from __future__ import annotations

import numpy as np

from dovetail import Sim

__all__ = ["Y", "Z", "alone", "arm", "chain", "lander", "mixed", "numbers_of", "require_equal"]

Y, Z = (0, 1, 0), (0, 0, 1)


def chain(sim, rng):
    """Six exact links with masses of their own."""
    parent = None
    for k in range(6):
        link = sim.box((0.1, 0.02, 0.02), pos=(0.1 * k + 0.05, 0, 1), mass=rng.uniform(0.05, 0.1))
        sim.revolute(parent, link, pos=(0.1 * k, 0, 1), axis=Y)
        parent = link


def arm(sim, rng):
    """Three driven and limited links above a ground, lengths and gains of their own."""
    sim.ground()
    parent, x = None, 0.0
    for k in range(3):
        length = rng.uniform(0.25, 0.35)
        link = sim.box((length - 0.02, 0.05, 0.05), pos=(x + length / 2, 0, 1))
        sim.revolute(parent, link, pos=(x, 0, 1), axis=Z if k % 2 else Y, limit=(-2.0, 2.0), drive=0.0)
        parent, x = link, x + length
    return sim.mechanism()


def lander(sim, rng):
    """A body on two sprung legs that falls on the ground and stays there, friction of its own."""
    sim.ground(friction=rng.uniform(0.3, 0.8))
    trunk = sim.box((0.3, 0.1, 0.05), pos=(0, 0, 0.24), velocity=(rng.uniform(-0.3, 0.3), 0, 0))
    for x in (-0.12, 0.12):
        leg = sim.box((0.03, 0.08, 0.16), pos=(x, 0, 0.12))
        sim.revolute(trunk, leg, pos=(x, 0, 0.2), axis=Y, drive=0.0)


def numbers_of(number, seed=0):
    """The generator that a world has among others."""
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(number + 1)[number])


def mixed(sim, rng, **joint):
    """Arms, every second of which is so low that it swings down to the ground; options are those of their hinges."""
    sim.ground()
    z = 0.35 if rng.uniform() < 0.5 else 2.0
    parent = None
    for k in range(2):
        link = sim.box((0.2, 0.04, 0.04), pos=(0.2 * k + 0.1, 0, z), mass=0.5)
        sim.revolute(parent, link, pos=(0.2 * k, 0, z), axis=Y, **joint)
        parent = link


def alone(build, number, **options):
    sim = Sim(**options)
    build(sim, numbers_of(number))
    return sim


def require_equal(one, other):
    """All that outlives a step is the same, and so is what is told of it."""
    mine, theirs = one.state.arrays, other.state.arrays
    assert mine.keys() == theirs.keys()
    assert not [name for name in mine if not np.array_equal(mine[name], theirs[name], equal_nan=True)]
    assert one.frame == other.frame and one.time == other.time and one.world.report == other.world.report
