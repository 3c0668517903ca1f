"""Adaptive contacts become firmer while they are squeezed.

An adaptive contact is as stiff as the lighter of its bodies needs to be stopped (barrier.py). What a heavy one, a
drive or a fast blow presses on it with may close its gap to a thousandth of d̂. There the step of Newton's method that
slides is cut again and again: a turn closes the gap to second order, and continuous collision detection lets nothing
through. So κ of a body, which gives the κ of its contacts with heavier ones, is multiplied by a firmness f ≥ 1:

    g < 0.02 d̂ from iteration 8 on                                    f ← f min(16, 0.1 d̂/g)
    g > 0.2 d̂ at the start of a step, in all contacts of the body     f ← max(f/4, 1)

The barrier pushes with ∝ κ/g, so that the gap opens to 0.1 d̂. A contact that becomes firmer holds more energy. What it
gains is at most half of what its island has lost since the start of the step, so that no energy comes from there: f
grows by less then. A body without contacts has f = 1. κ that a user gave is used as given. Most steps end before
iteration 8.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.contact.kinds import D_HAT, KAPPA, THICKNESS
from dovetail.solver.islands import Islands
from dovetail.typing import Array

__all__ = ["MOST", "Firmness"]

MOST = 1e8  # that f may be

_SQUEEZED = 0.02  # [d̂]
_WANTED = 0.1  # [d̂]
_STRIDE = 16.0  # most that f grows by in an iteration
_BEGINS = 8  # iteration
_OPEN = 0.2  # [d̂]
_RELAXED = 0.25
_SHARE = 0.5  # of the energy that an island has lost
_WORTHWHILE = 1.01  # growth below which f stays


class Firmness:
    """f (n,) of all bodies, which goes from step to step."""

    def __init__(self, bodies: int) -> None:
        self.of = np.ones(bodies)
        self._bare, self._stiffness = np.zeros((2, bodies))

    @property
    def some(self) -> bool:
        """Whether any body has f > 1."""
        return bool(np.count_nonzero(self.of != 1.0))

    def begin(self, bare: Array) -> Array:
        """f times what stiffness (n,) is without it, and stays that when f changes."""
        self._bare, self._stiffness = bare, bare * self.of
        return self._stiffness

    def stiffen(self, s: ActiveContacts | None, islands: Islands, k: int, lost: Array) -> bool:
        """Multiply f of bodies whose contacts are squeezed in iteration k; whether any, which changes energies.

        Bodies have lost (n,) energy since the start of the step, times h².
        """
        if k < _BEGINS or s is None or not s.count:
            return False
        return self._changes(_stiffen(s, s.count, islands, self._stiffness, self.of, lost))

    def relax(self, s: ActiveContacts) -> bool:
        """A step begins with the contacts s: divide f of bodies whose contacts are open; whether any."""
        return self.some and self._changes(_relax(s, s.count, self.of))

    def forget(self) -> None:
        """Nothing touches anything."""
        if self.some:
            self.of.fill(1.0)
            self._changes(True)

    def _changes(self, some: bool) -> bool:
        if some:
            np.multiply(self._bare, self.of, out=self._stiffness)
        return some

    def arrays(self) -> dict[str, Array]:
        """What outlives a step."""
        return {"contact/firmness": self.of}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`."""
        self.of = arrays["contact/firmness"].copy()

    def keep(self) -> Callable[[], None]:
        """A function that goes back to what is now."""
        kept = self.of.copy()

        def undo() -> None:
            self.of = kept

        return undo


@kernel
def _gap(s: ActiveContacts, n: int) -> float:
    """Gap of contact n in units of d̂."""
    k, numbers = s.candidate[n], s.candidates.numbers
    found: float = (math.sqrt(s.squared[n]) - numbers[k, THICKNESS]) / numbers[k, D_HAT]
    return found


@kernel
def _softer(s: ActiveContacts, n: int, stiffness: Array) -> int:
    """The body that gives contact n its κ."""
    a, b = s.bodies[n, 0], s.bodies[n, 1]
    gives = b >= 0 and stiffness[b] > 0.0 and (stiffness[a] == 0.0 or stiffness[b] < stiffness[a])
    found: int = b if gives else a
    return found


@kernel
def _stiffen(s: ActiveContacts, count: int, islands: Islands, stiffness: Array, firmness: Array, lost: Array) -> bool:
    """firmness (n,) ← that of bodies of running islands whose adaptive contacts are squeezed; whether any."""
    running, of, candidate, numbers = islands.running, islands.of, s.candidate, s.candidates.numbers
    growth, some = np.ones(1), False
    for n in range(count):
        gap = _gap(s, n)
        if gap >= _SQUEEZED or numbers[candidate[n], KAPPA] >= 0.0:
            continue
        b = _softer(s, n, stiffness)
        if of[b] < 0 or not running[of[b]] or firmness[b] >= MOST:
            continue
        if not some:
            growth, some = np.ones(len(firmness)), True
        growth[b] = max(growth[b], min(min(_STRIDE, _WANTED / gap), MOST / firmness[b]))
    if not some:
        return False
    room, wanted = np.zeros(islands.count), np.zeros(islands.count)
    for b in range(len(of)):
        if of[b] >= 0:
            room[of[b]] += _SHARE * lost[b]
    for n in range(count):
        b = _softer(s, n, stiffness)
        if of[b] >= 0 and numbers[candidate[n], KAPPA] < 0.0:
            wanted[of[b]] += (growth[b] - 1.0) * s.energy[n]
    some = False
    for b in range(len(firmness)):
        if growth[b] > 1.0:
            m = of[b]
            times = growth[b] if wanted[m] <= room[m] else 1.0 + (growth[b] - 1.0) * max(room[m], 0.0) / wanted[m]
            if times > _WORTHWHILE:
                firmness[b], some = min(firmness[b] * times, MOST), True
    return some


@kernel
def _relax(s: ActiveContacts, count: int, firmness: Array) -> bool:
    """firmness (n,) ← less for bodies whose adaptive contacts are open; whether any has changed."""
    least = np.full(len(firmness), math.inf)
    for n in range(count):
        if s.candidates.numbers[s.candidate[n], KAPPA] < 0.0:
            gap = _gap(s, n)
            for side in range(2):
                b = s.bodies[n, side]
                if b >= 0:
                    least[b] = min(least[b], gap)
    some = False
    for b in range(len(firmness)):
        if firmness[b] > 1.0 and least[b] > _OPEN:
            firmness[b] = max(_RELAXED * firmness[b], 1.0) if least[b] < math.inf else 1.0
            some = True
    return some
