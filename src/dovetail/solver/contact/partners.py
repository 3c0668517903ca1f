"""Who touches whom: pairs of bodies as numbers, and which contacts are of a pair that is new."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.contact.barrier import barrier
from dovetail.solver.contact.kinds import D_HAT, THICKNESS, X0
from dovetail.typing import Array, Flags, Indices

__all__ = ["NOBODY", "Pressing", "bodies_of_others", "new_contacts", "pressing"]

_FIRM = 1e-3  # of the weight of the lighter body: a contact that bears less has hardly begun


class Pressing(NamedTuple):
    """Sorted numbers of pairs that press on each other (p,), and by what force [N]; a pair may be there repeatedly."""

    pairs: Indices
    force: Array

    def forces_of(self, sides: Indices) -> Array:
        """Forces (k,) by which pairs press on each other; −1 − p is half-plane p."""
        keys, sums = sides.max(axis=1) * 4294967296 + sides.min(axis=1), np.append(0.0, np.cumsum(self.force))
        first, last = (np.searchsorted(self.pairs, keys, side) for side in ("left", "right"))
        found: Array = sums[last] - sums[first]
        return found


NOBODY = Pressing(np.zeros(0, np.int64), np.zeros(0))


@kernel
def _key(s: ActiveContacts, n: int) -> int:
    """A number for the pair of contact n: two bodies, or a body and a half-plane."""
    a, b = s.bodies[n, 0], s.bodies[n, 1]
    if b < 0:
        b = -1 - s.candidates.pairs[s.candidate[n], X0 + 1]
    return max(a, b) * 4294967296 + min(a, b)


@kernel
def _list_pressing(s: ActiveContacts, count: int, weight: Array, h2: float, out: Indices, force: Array) -> int:
    """out ← numbers of pairs in one of whose contacts bodies press on each other, and by what force; how many."""
    found, numbers = 0, s.candidates.numbers
    for n in range(count):
        k, a, b = s.candidate[n], s.bodies[n, 0], s.bodies[n, 1]
        least = weight[a] if b < 0 else min(weight[a], weight[b])
        D = s.squared[n]
        _, slope, _ = barrier(D, numbers[k, THICKNESS], numbers[k, D_HAT])
        push = -2.0 * math.sqrt(D) * s.weight[n] * s.kappa[n] * slope
        if push > _FIRM * h2 * least:
            key = _key(s, n)
            if found == 0 or out[found - 1] != key:
                out[found], force[found] = key, 0.0
                found += 1
            force[found - 1] += push / h2
    return found


@kernel
def _mark_new(s: ActiveContacts, count: int, known: Indices, out: Flags) -> None:
    """out (k,) ← contacts of pairs whose numbers are not among the sorted ones that are known."""
    last, is_new = 0, False
    for n in range(count):
        key = _key(s, n)
        if n == 0 or key != last:
            low, high = 0, len(known)
            while low < high:
                middle = (low + high) // 2
                if known[middle] < key:
                    low = middle + 1
                else:
                    high = middle
            last, is_new = key, low == len(known) or known[low] != key
        out[n] = is_new


def pressing(s: ActiveContacts, weight: Array, h2: float) -> Pressing:
    """Who presses on whom in the contacts s at a step h² = h2; weight (n,) is m|g| [N]."""
    if not s.count:
        return NOBODY
    out, force = np.empty(s.count, np.int64), np.empty(s.count)
    count = _list_pressing(s, s.count, weight, h2, out, force)
    order = np.argsort(out[:count], kind="stable")
    return Pressing(out[order], force[order])


def new_contacts(s: ActiveContacts, known: Indices) -> Flags:
    """Which of the contacts s (k,) are of pairs that are not known."""
    out = np.empty(s.count, np.bool_)
    _mark_new(s, s.count, known, out)
    return out


def bodies_of_others(now: Indices, before: Indices, nobody: Flags) -> Flags:
    """Bodies (n,) of pairs (p, 2) that are in one of two lists alone; half-planes, below 0, are none."""
    if np.array_equal(now, before):
        return nobody
    both = np.concatenate([now, before])
    number = both @ np.array([2**32, 1])
    keys, counts = np.unique(number, return_counts=True)
    some = both[np.isin(number, keys[counts == 1])].ravel()
    found = np.zeros_like(nobody)
    found[some[some >= 0]] = True
    return found
