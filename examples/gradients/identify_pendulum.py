"""Identification: mass, friction and damping of a double pendulum from a film with 1 mm of noise.

The film shows where two marks are, 33 times a second; the machine that made it has other parameters than the first
guess. Gauss–Newton finds them, with intervals of confidence, and writes a page with plots.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from dovetail import Sim, identify

NAMES = ["mass of the second bob [kg]", "damping of the first hinge [N·m·s]", "friction of the second [N·m]"]
TRUE, GUESS = np.array([1.3, 0.05, 0.08]), np.array([1.0, 0.02, 0.02])
STEPS, NOISE = 60, 1e-3  # of 10 ms; [m]


def build(p):
    """A double pendulum, let go where it is level."""
    mass, damping, friction = p
    sim = Sim(dt=0.01, contact=False)
    first = sim.box((0.5, 0.04, 0.04), pos=(0.25, 0, 0), mass=1.0, name="first")
    second = sim.box((0.4, 0.04, 0.04), pos=(0.7, 0, 0), mass=mass, name="second")
    sim.revolute(None, first, pos=(0, 0, 0), axis=(0, 1, 0), damping=damping, name="shoulder")
    sim.revolute(first, second, pos=(0.5, 0, 0), axis=(0, 1, 0), friction=friction, name="elbow")
    return sim


def marks(tape):
    """x and z of the middles of both rods, in every third step."""
    places = [tape.Q[::3, tape.body(name), 0][:, [0, 2]] for name in ("first", "second")]
    return np.hstack(places)


def film():
    """What a camera has seen of the true machine."""
    seen = marks(build(TRUE).rollout(STEPS))
    return seen + np.random.default_rng(1).normal(scale=NOISE, size=seen.shape)


def check():
    found = identify(build, GUESS, film(), marks, steps=STEPS, names=NAMES, bounds=[(0.1, 5), (0, 1), (0, 1)])
    print(found)
    with tempfile.TemporaryDirectory() as folder:
        found.report(Path(folder) / "pendulum.html")
        size = (Path(folder) / "pendulum.html").stat().st_size
    print(f"report: {size / 1e3:.0f} kB; true values {TRUE.tolist()}")
    inside = (found.interval[:, 0] < TRUE) & (found.interval[:, 1] > TRUE)
    assert inside.all()
    assert abs(found.noise / NOISE - 1) < 0.25  # 84 data: their spread is known to 8 %, three times that
    assert found.rollouts < 80


if __name__ == "__main__":
    check()
