"""Machines as users build them: through `Sim`, with its defaults."""

from __future__ import annotations

import math
from pathlib import Path
from runpy import run_path

from dovetail import Sim

EXAMPLES = Path(__file__).parents[1] / "examples"


def arm(contact: bool, driven: bool, links: int = 6) -> Sim:
    """Links on hinges about y and z in turns, the first one on the world; with drives and limits on all, or on none."""
    sim = Sim(dt=0.01, contact=contact)
    _add_arm(sim, links, driven, 0.0)
    return sim


def arms(count: int) -> Sim:
    """Driven and limited arms beside each other, without contact."""
    sim = Sim(dt=0.01, contact=False)
    for n in range(count):
        _add_arm(sim, 6, True, float(n))
    return sim


def _add_arm(sim: Sim, links: int, driven: bool, y: float) -> None:
    parent = None
    for k in range(links):
        link = sim.box((0.3, 0.05, 0.05), pos=(0.3 * k + 0.15, y, 1))
        more = {"limit": (-3.0, 3.0), "drive": 0.0} if driven else {}
        sim.revolute(parent, link, pos=(0.3 * k, y, 1), axis=(0, 1, 0) if k % 2 == 0 else (0, 0, 1), **more)
        parent = link


def walker() -> Sim:
    """The example's walker with four legs only, 26 bodies and 37 exact hinges; it does not stay upright for long."""
    sim: Sim = run_path(str(EXAMPLES / "44_walker.py"))["build"](((-0.3, 0.3), (0.3, 0.3 + math.pi)))[0]
    return sim
