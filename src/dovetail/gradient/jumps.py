"""Where the map of a step jumps: a mechanism is taken in another way than one that starts a little differently.

Under ctr, and under bdf2 in contact, how a step is taken depends on what touches what (solver/scheme.py). Gradients are
those of the way that a step was taken. Of what happens where a change of the start has a touch begin or end a step
earlier or later, they tell nothing. Barriers, friction and bdf1 are smooth, or have kinks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dovetail.gradient.frame import Frame
from dovetail.typing import Array, Flags

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["Jump", "jumps_in"]

_SCHEME = {0: "as {0} again", 1: "as bdf1", 2: "as held"}


class Jump(NamedTuple):
    """A step of a tape, the body that it jumps by, of a mechanism one of its bodies, and why."""

    step: int
    body: str
    reason: str


def jumps_in(simulation: Simulation, k: int, frame: Frame, last: Frame | None, Q: Array) -> list[Jump]:
    """Jumps of step k, which has led to Q, after the last one."""
    model, methods, found = simulation.model, frame.methods, list[tuple[int, str]]()
    free = model.bodies.is_free != 0
    same = last is None or last.methods is methods  # most steps are taken as the one before
    if frame.touched is not None and frame.touched is not model.nobody:
        before = methods.touched if last is None or last.touched is None else last.touched
        landed = frame.touched & ((methods.of == 0) | (methods.held & ~before)) & free
        for guard in model.guards if landed.any() else ():
            why = "begins to touch something" if guard is model.contact else "reaches a hard limit"
            found += [(b, why) for b in _firsts(simulation, guard.touched(Q, frame.h) & landed)]
    if last is not None and methods.is_consistent and (not same or methods.some_held):
        left = last.methods.touched & ~methods.touched & free
        found += [(b, "touches nothing and no hard limit any more") for b in _firsts(simulation, left)]
        both = last.methods.held & methods.held & free
        if frame.past is not None and both.any():
            now, last_time = frame.past.rubbing[:, 15], frame.past.pushed[:, 12]
            slides = np.flatnonzero(both & (now != last_time))
            found += [(b, f"slides in {now[b]:.0f} contacts, before in {last_time[b]:.0f}") for b in slides.tolist()]
    elif last is not None and not same:
        turned = (methods.of != last.methods.of) & free
        name = methods.method.name
        found += [(b, f"is taken {_SCHEME[methods.of[b]].format(name)}") for b in _firsts(simulation, turned)]
    if frame.blow is not None:
        found += [(b, "is struck") for b in np.flatnonzero(frame.blow.who).tolist()]
    return [Jump(k, model.bodies.name(b), why) for b, why in found]


def _firsts(simulation: Simulation, some: Flags) -> list[int]:
    """The first of these bodies (n,) of each mechanism."""
    bodies = np.flatnonzero(some)
    _, at = np.unique(simulation.model.islands.mechanism[bodies], return_index=True)
    return sorted(bodies[at].tolist())
