"""Bodies that begin nearer to each other than they would rest are let apart slowly, instead of being thrown apart.

A barrier with gravity against it has a gap of balance. Where two bodies are put nearer, its push exceeds what either
weighs, and within a step or two they would leave each other with up to d̂/h. So the pair gets a range of its own, s d̂,
with which all its contacts together push as hard as the lighter of the two weighs, with all that joints connect to it,

    Σ −∂b/∂d (s d̂) = m |g|,      s < 1 grows back to 1 by h/T with every step,   T = 1 s

A pair in balance keeps s = 1, and nothing changes for it. A narrower barrier is a barrier: nothing passes through it.

After a blow (blow.py) it is the same: what a barrier holds of that is given up. Those that stay together push with what
loads press them with from then on; those that part have the range of their gap, which grows half as fast as they part,
but in no step beyond the gap that it begins with: a range that reaches bodies while it grows would push them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.contact.barrier import barrier
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.kinds import D_HAT, KAPPA, THICKNESS, X0, A, B
from dovetail.solver.contact.scene import ContactScene
from dovetail.typing import Array, Flags, Indices

__all__ = ["GROWTH", "Ease", "Eased", "Easing", "keys_of_sides", "ranges_of", "sides_of", "with_ranges"]

GROWTH = 1.0  # [s]: bodies part with about d̂/T, which lifts them by less than a micrometre where d̂ is a millimetre
_HALVINGS = 50  # of the interval that s is looked for in: down to round-off
_ROUND_OFF = 1e-9  # of a share: a range that ends at the gap ends before it
_WORTH_TELLING = 0.9  # a share below which something would have been seen


class Eased(NamedTuple):
    """Pairs that were eased at the start of a step: how many, and the nearest of them.

    b is −1 − p for half-plane p; gap [m] is how far they are apart, seconds how long their range takes to grow back.
    """

    pairs: int
    a: int
    b: int
    gap: float
    seconds: float


class Easing(NamedTuple):
    """Pairs (k, 2) that were eased in a step: share s (k,) at its start, which of them it has found, growth [1/s].

    held_back, by_gap (k,)   which of them have grown less than they would, and no farther than to the nearest contact
    """

    pairs: Indices
    share: Array
    found: Flags
    growth: Array
    held_back: Flags
    by_gap: Flags


class Ease:
    """Ranges of body pairs that began too near.

    pairs (k, 2)     a body, and another one or −1 − p for half-plane p; sorted by `keys_of_sides`
    weight (n,)      m|g| [N], infinite for what is fixed: that bears anything
    share (k,)       s in (0, 1) at the end of the last step
    growth (k,)      its rate [1/s]
    placed (n,)      1 for bodies that were put where they are since the last step
    news             what was found since it was last told
    last             of the last step, None where no pair was eased
    """

    def __init__(self, weight: Array, is_free: Indices) -> None:
        self.weight = np.where(is_free != 0, weight, np.inf)
        self.pairs: Indices = np.zeros((0, 2), np.int64)
        self.share, self.growth = np.zeros((2, 0))
        self._most: dict[int, float] = {}  # share of pairs at the end of the present step at most, by their keys
        self.placed = np.ones(len(weight))
        self.news: Eased | None = None
        self.last: Easing | None = None
        self._new: Indices = np.zeros(0, np.int64)  # pairs that the present step has found, by their keys

    # ---- in a step -------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """A step begins, or begins again: no ranges are held back yet."""
        self._most = {}

    def applied(self, scene: ContactScene, candidates: Candidates, h: float) -> Candidates:
        """The candidates with the ranges that eased pairs have after a further time h."""
        return with_ranges(scene, candidates, self.pairs, self._grown(h))

    def look(self, scene: ContactScene, active: ActiveContacts, mechanism: Indices, h2: float) -> bool:
        """Ease pairs with a body that was placed, of which these are the contacts; whether there are any."""
        if not np.count_nonzero(self.placed):
            return False
        sides = sides_of(active.candidates.pairs[active.candidate[: active.count]])
        placed = (self.placed[np.maximum(sides, 0)] * (sides >= 0)).any(axis=1)
        # a step that is tried again has found its pairs before
        chosen = np.flatnonzero(placed & ~np.isin(keys_of_sides(sides), keys_of_sides(self.pairs)))
        if not len(chosen):
            return False
        keys, first, pair = np.unique(keys_of_sides(sides[chosen]), return_index=True, return_inverse=True)
        pairs, pair = sides[chosen][first], pair.reshape(-1)
        pushes = _Pushes(scene, active, chosen, pair)
        borne = h2 * self.lighter(pairs, mechanism)[0]
        eased = pushes.of(np.ones(len(keys))) > borne
        if not eased.any():
            return False
        share = pushes.shares(borne)
        self._put(pairs[eased], share[eased], np.full(int(eased.sum()), 1.0 / GROWTH))
        self._new = np.append(self._new, keys_of_sides(pairs[eased]))
        closest = int(np.argmin(np.where(eased, pushes.nearest, np.inf)))
        if share[closest] < _WORTH_TELLING:
            a, b = pairs[closest].tolist()
            gap_there, seconds = float(pushes.gap[pair == closest].min()), GROWTH * float(1.0 - share[closest])
            self.news = Eased(int(eased.sum()), a, b, gap_there, seconds)
        return True

    def release(
        self, scene: ContactScene, active: ActiveContacts, chosen: Indices, borne: Array, parts: Array, h: float
    ) -> tuple[Indices, Array]:
        """Have the pairs of chosen contacts (m,) push with what is borne [N], or part with some speed [m/s].

        Returns these pairs (k, 2), and their shares (k,).
        """
        sides = sides_of(active.candidates.pairs[active.candidate[chosen]])
        keys, first, pair = np.unique(keys_of_sides(sides), return_index=True, return_inverse=True)
        pair = pair.reshape(-1)
        pushes, apart = _Pushes(scene, active, chosen, pair), np.zeros(len(keys))
        np.maximum.at(apart, pair, parts)
        share = pushes.shares(np.asarray(h * h * np.bincount(pair, borne, len(keys)), float))
        share = np.where(apart > 0.0, np.minimum(pushes.nearest, 1.0), share) * (1.0 - _ROUND_OFF)
        growth = np.where(apart > 0.0, 0.5 * apart / pushes.widest, 1.0 / GROWTH)
        stays = ~np.isin(keys_of_sides(self.pairs), keys)
        self.pairs, self.share, self.growth = self.pairs[stays], self.share[stays], self.growth[stays]
        self._put(sides[first], share, growth)
        return sides[first], share

    def _grown(self, h: float) -> Array:
        """Shares (k,) after a further time h."""
        grown = np.minimum(self.share + h * self.growth, 1.0)
        if h > 0.0 and self._most:
            most = [self._most.get(key, 1.0) for key in keys_of_sides(self.pairs).tolist()]
            grown = np.minimum(grown, most)
        return grown

    def hold_back(self, scene: ContactScene, active: ActiveContacts, h: float) -> bool:
        """Let ranges that grow fast, with which contacts at the start of a step are these, reach nobody.

        Whether any has to be another one.
        """
        fast = self.growth > 2.0 / GROWTH
        if not np.count_nonzero(fast) or not active.count:
            return False
        sides = sides_of(active.candidates.pairs[active.candidate[: active.count]])
        chosen = np.flatnonzero(np.isin(keys_of_sides(sides), keys_of_sides(self.pairs[fast])))
        if not len(chosen):
            return False
        keys, pair = np.unique(keys_of_sides(sides[chosen]), return_inverse=True)
        nearest = _Pushes(scene, active, chosen, pair.reshape(-1)).nearest * (1.0 - _ROUND_OFF)
        share = self.share[np.searchsorted(keys_of_sides(self.pairs), keys)]
        self._most = dict(zip(keys.tolist(), np.maximum(nearest, share + h / GROWTH).tolist(), strict=True))
        return True

    def _put(self, pairs: Indices, share: Array, growth: Array) -> None:
        """Pairs that are not known yet are eased."""
        pairs = np.concatenate([self.pairs, pairs])
        share, growth = np.append(self.share, share), np.append(self.growth, growth)
        order = np.argsort(keys_of_sides(pairs), kind="stable")
        self.pairs, self.share, self.growth = pairs[order], share[order], growth[order]

    def lighter(self, pairs: Indices, mechanism: Indices) -> tuple[Array, Indices]:
        """What the lighter side of each pair weighs [N], with all that joints connect to it; and a body of it."""
        total = np.zeros(len(mechanism) + 1)
        np.add.at(total, mechanism, np.where(np.isfinite(self.weight), self.weight, 0.0))
        weight = np.append(np.where(np.isfinite(self.weight), total[mechanism], np.inf), np.inf)
        both = weight[np.maximum(pairs, -1)]
        return both.min(axis=1), pairs[np.arange(len(pairs)), both.argmin(axis=1)]

    def commit(self, h: float) -> None:
        """A step of length h was taken."""
        if np.count_nonzero(self.placed):
            self.placed = np.zeros(len(self.placed))
        self.last = None
        if len(self.pairs):
            share = self._grown(h)
            growth = np.where(share < 1.0, (share - self.share) / h, self.growth)
            held_back: Flags = share < np.minimum(self.share + h * self.growth, 1.0)
            by_gap: Flags = held_back & (share > self.share + h / GROWTH)
            found: Flags = np.isin(keys_of_sides(self.pairs), self._new)
            self.last = Easing(self.pairs, self.share, found, growth, held_back, by_gap)
            stays, self._new = share < 1.0, self._new[:0]
            self.pairs, self.share, self.growth = self.pairs[stays], share[stays], self.growth[stays]
        self._most = {}

    def forget(self, moved: Indices) -> None:
        """These bodies were put somewhere else."""
        stays = ~np.isin(self.pairs, moved).any(axis=1)
        self.pairs, self.share, self.growth = self.pairs[stays], self.share[stays], self.growth[stays]
        self.placed = self.placed.copy()
        self.placed[moved] = 1.0

    # ---- dump ------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """What outlives a step."""
        eased = np.column_stack([self.pairs, self.share, self.growth])
        return {"contact/eased": eased, "contact/placed": self.placed}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`."""
        eased = arrays["contact/eased"]
        self.pairs, self.share, self.growth = eased[:, :2].astype(np.int64), eased[:, 2].copy(), eased[:, 3].copy()
        self.placed = arrays["contact/placed"].copy()

    def keep(self) -> Callable[[], None]:
        """A function that goes back to what is now; steps put new arrays in place of these."""
        kept = {**vars(self)}
        return lambda: vars(self).update(kept)


def with_ranges(scene: ContactScene, candidates: Candidates, pairs: Indices, share: Array) -> Candidates:
    """Candidates with the ranges that sorted pairs (k, 2) have by their shares (k,)."""
    if not len(pairs) or not candidates.count:
        return candidates
    numbers = candidates.numbers.copy()  # a step that is broken off goes back to the others
    _set_ranges(candidates.pairs, scene.d_hat, keys_of_sides(pairs), share, numbers)
    return Candidates(candidates.pairs, numbers, candidates.known)


@kernel
def _set_ranges(pairs: Indices, d_hat: Array, known: Indices, share: Array, numbers: Array) -> None:
    """Ranges in the numbers of candidates (k, ·) ← shares of those of sorted pairs, by their keys (p,)."""
    one, other, at = -1, -1, -1
    for k in range(len(pairs)):
        a, b = pairs[k, A], pairs[k, B]
        side = b if b >= 0 else -1 - pairs[k, X0 + 1]
        if a != one or side != other:
            one, other, at = a, side, -1
            key = (max(a, side) + 1) * 2147483648 + min(a, side)
            low, high = 0, len(known)
            while low < high:
                middle = (low + high) // 2
                if known[middle] < key:
                    low = middle + 1
                else:
                    high = middle
            if low < len(known) and known[low] == key:
                at = low
        if at >= 0:
            numbers[k, D_HAT] = share[at] * (d_hat[a] if b < 0 else 0.5 * (d_hat[a] + d_hat[b]))


def ranges_of(scene: ContactScene, bodies: Indices) -> Array:
    """d̂ (k,) of pairs (k, 2) whose ranges are whole; −1 for a half-plane."""
    (a, b), d_hat = bodies.T, scene.d_hat
    found: Array = np.where(b < 0, d_hat[a], 0.5 * (d_hat[a] + d_hat[b]))
    return found


def keys_of_sides(sides: Indices) -> Indices:
    """A number for each pair of sides, whichever comes first."""
    low, high = sides.min(axis=1), sides.max(axis=1)
    keys: Indices = (high + 1) * 2**31 + low
    return keys


def sides_of(rows: Indices) -> Indices:
    """a and b (k, 2) of candidates, −1 − p in place of half-plane p."""
    return np.stack([rows[:, A], np.where(rows[:, B] < 0, -1 - rows[:, X0 + 1], rows[:, B])], axis=1)


class _Pushes:
    """How hard pairs push with shares of their ranges.

    gap (m,), nearest, widest (p,)     gaps of contacts [m]; by pair the least over its range, and the widest range
    """

    def __init__(self, scene: ContactScene, active: ActiveContacts, chosen: Indices, pair: Indices) -> None:
        rows, count = active.candidate[chosen], int(pair.max(initial=-1)) + 1
        numbers = active.candidates.numbers[rows]
        squared, thickness = active.squared[chosen], numbers[:, THICKNESS]
        whole = ranges_of(scene, active.candidates.pairs[rows, A : B + 1])
        # κ of an adaptive contact is that of the range it has
        adaptive = np.where(numbers[:, KAPPA] < 0.0, numbers[:, D_HAT] / whole, 0.0) ** 2
        scale = 2.0 * np.sqrt(squared) * active.weight[chosen] * active.kappa[chosen]
        self._pair, self.gap = pair, np.sqrt(squared) - thickness
        self._contacts = np.stack([squared, thickness, whole, adaptive, scale, self.gap], axis=1)
        self.nearest, self.widest = np.full(count, np.inf), np.zeros(count)
        np.minimum.at(self.nearest, pair, self.gap / whole)
        np.maximum.at(self.widest, pair, whole)

    def of(self, share: Array) -> Array:
        """Pushes · h² (p,) with shares s (p,)."""
        out = np.zeros(len(share))
        _add_pushes(self._contacts, self._pair, share, out)
        return out

    def shares(self, wanted: Array) -> Array:
        """Shares (p,) up to 1 with which pairs push as wanted, times h²; 1 where they cannot push as hard."""
        out = np.ones(len(wanted))
        _find_shares(self._contacts, self._pair, self.nearest, wanted, out)
        return out


@kernel
def _add_pushes(contacts: Array, pair: Indices, share: Array, out: Array) -> None:
    """out (p,) += pushes · h² with shares (p,) of contacts (m, 6), see `_Pushes`."""
    for k in range(len(pair)):
        squared, thickness, whole, adaptive, scale, gap = contacts[k]
        s = share[pair[k]]
        if gap < s * whole:
            _, slope, _ = barrier(squared, thickness, s * whole)
            out[pair[k]] -= scale * slope * (adaptive / (s * s) if adaptive > 0.0 else 1.0)


@kernel
def _find_shares(contacts: Array, pair: Indices, nearest: Array, wanted: Array, out: Array) -> None:
    """out (p,) ← shares with which contacts push as wanted; `out` is 1 in the beginning."""
    count = len(wanted)
    low, high, middle, found = np.empty(count), np.ones(count), np.ones(count), np.zeros(count)
    for p in range(count):
        low[p] = min(nearest[p], 1.0)
    _add_pushes(contacts, pair, middle, found)
    enough = found > wanted
    for _ in range(_HALVINGS):
        for p in range(count):
            middle[p], found[p] = 0.5 * (low[p] + high[p]), 0.0
        _add_pushes(contacts, pair, middle, found)
        for p in range(count):
            if found[p] > wanted[p]:
                high[p] = middle[p]
            else:
                low[p] = middle[p]
    for p in range(count):
        if enough[p]:
            out[p] = low[p]
