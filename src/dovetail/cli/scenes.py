"""The scenes that come with the command line: small machines for `demo`, `bench` and `warmup`."""

from __future__ import annotations

import math
from collections.abc import Callable

from dovetail.sim import Sim

__all__ = ["SCENES"]


def pendulum() -> Sim:
    """A rod between two stops."""
    sim = Sim(dt=0.01)
    rod = sim.box((0.6, 0.05, 0.05), pos=(0.3, 0, 1), color="orange", name="rod")
    sim.revolute(None, rod, pos=(0, 0, 1), axis=(0, 1, 0), limit=(-0.5, 2.0), name="hinge")
    return sim


def chain() -> Sim:
    """Twenty links on ball joints, held at both ends."""
    sim = Sim(dt=0.01)
    length = 0.1
    links = [
        sim.capsule(0.02, 0.05, pos=((k + 0.5) * length, 0, 1), rot=(1, 0, 1, 0), detail=1, name=f"link {k + 1}")
        for k in range(20)
    ]
    sim.spherical(None, links[0], pos=(0, 0, 1))
    for k in range(19):
        sim.spherical(links[k], links[k + 1], pos=((k + 1) * length, 0, 1))
    sim.spherical(None, links[-1], pos=(20 * length, 0, 1))
    return sim


def crank() -> Sim:
    """A slider-crank: a driven crank pushes a piston to and fro, which carries a loose block."""
    sim = Sim(dt=0.005)
    wheel = sim.cylinder(0.2, 0.04, rot=(1, 1, 0, 0), color="grey", name="wheel")
    rod = sim.box((0.64, 0.03, 0.04), pos=(0.45, -0.06, 0), color="orange", name="rod")
    piston = sim.box((0.2, 0.16, 0.1), pos=(0.85, 0, 0), color="blue", name="piston")
    sim.box(0.05, pos=(0.85, 0, 0.0768), color="green", name="load")
    motor = sim.revolute(None, wheel, pos=(0, 0, 0), axis=(0, 1, 0), drive=0.0, name="motor")
    sim.revolute(wheel, rod, pos=(0.15, -0.06, 0), axis=(0, 1, 0), name="crank pin")
    sim.revolute(rod, piston, pos=(0.75, -0.06, 0), axis=(0, 1, 0), name="piston pin")
    sim.prismatic(None, piston, axis=(1, 0, 0), name="guide")

    @sim.before_step
    def turn() -> None:
        motor.drive.target = math.tau * (sim.time + sim.dt)  # once a second

    return sim


def pile() -> Sim:
    """Sixty-four cubes that fall in a heap."""
    sim = Sim(dt=0.01, friction=0.5)
    sim.ground()
    for k in range(64):
        x, y, z = k % 4, k // 4 % 4, k // 16
        place = (0.13 * x + 0.02 * z, 0.13 * y - 0.015 * z, 0.08 + 0.14 * z)
        sim.box(0.1, pos=place, rot=(1.0, 0.05 * x, 0.04 * y, 0.1 * z), name=f"cube {k + 1}")
    return sim


SCENES: dict[str, Callable[[], Sim]] = {"pendulum": pendulum, "chain": chain, "crank": crank, "pile": pile}
"""By name, from easy to hard."""
