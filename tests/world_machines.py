"""Machines that many worlds are made of, each with numbers of its own."""

from __future__ import annotations

import numpy as np

__all__ = ["Y", "Z", "arm", "chain", "lander", "numbers_of"]

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
