"""Contacts that are eased in, in an adjoint: the share s of its range that a pair of bodies has (see contact/ease.py).

    Σ push(s; Q₀) = h² m|g|   in the step that finds the pair        s ← s + h ds/dt   from step to step

In a step, friction has the loads of s, barriers at its end the range of s + h ds/dt, or of less (`Ease.hold_back`).
What touching adds to a start knows no shares that are still to be found. Pairs that a blow has released are known at
the start of the next step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.gradient.closest import Closest
from dovetail.gradient.formulas import Graph, Node, gathered
from dovetail.gradient.touching import Touching, Walk
from dovetail.solver.contact.contact import Contact
from dovetail.solver.contact.ease import Easing, keys_of_sides, ranges_of, sides_of
from dovetail.solver.contact.kinds import THICKNESS
from dovetail.typing import Array, Flags, Indices

if TYPE_CHECKING:
    from dovetail.gradient.sums import Sums
    from dovetail.solver.model import Model

__all__ = ["EaseAdjoint", "Ranges", "pairs_of"]

_BEYOND = 1e-6  # of a share, so that the contact that it ends at is found

Ranges = tuple[Indices, Array]
"""Pairs (k, 2), and their shares (k,)."""


def pairs_of(pairs: Indices, t: Touching) -> Indices:
    """Which of some pairs (p, 2), sorted by `keys_of_sides`, each contact (k,) is of, −1 for none of them."""
    known, asked = keys_of_sides(pairs), keys_of_sides(sides_of(t.pairs))
    place = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    return np.where(known[place] == asked, place, -1)


class EaseAdjoint:
    """Pairs (p, 2) that are eased in one step of length h; `at_start`, `at_end` and `before` are their ranges.

    bars, growth_bars (p,)     derivatives by their shares at its start, and by how these grow
    """

    def __init__(self, contact: Contact, easing: Easing, h: float) -> None:
        self._contact, self.pairs, self.found = contact, easing.pairs, easing.found
        grown = easing.share + h * easing.growth
        self._grows = grown < 1.0
        self._h, self._held_back, self._by_gap = h, easing.held_back, easing.by_gap
        self.at_start: Ranges = easing.pairs, easing.share
        self.at_end: Ranges = easing.pairs, np.minimum(grown, 1.0)
        self.before: Ranges = easing.pairs[~easing.found], easing.share[~easing.found]
        self.bars, self.growth_bars, self._gap_bars = np.zeros((3, len(easing.pairs)))

    def rows(self, t: Touching) -> Indices:
        """The pair of each contact (k,), −1 where it is not eased."""
        return pairs_of(self.pairs, t)

    def add(self, t: Touching, slope: Array, grown: bool = False, known: bool = False) -> None:
        """bars += what derivatives (k, 1) by the ranges of contacts tell; of shares that have grown, or were known."""
        at = self.rows(t)
        some, by = (at >= 0) & np.isfinite(slope[:, 0]), np.zeros_like(self.bars)
        np.add.at(by, at[some], (slope[:, 0] * ranges_of(self._contact.scene, t.bodies))[some])
        if grown:
            self.grow(by * self._grows, np.zeros_like(by))
        else:
            self.bars += by * (~self.found if known else 1.0)

    def grow(self, bars: Array, growth_bars: Array) -> None:
        """Have derivatives (p,) by shares at the end of the step, and by how they grow from then on."""
        self.bars += np.where(self._by_gap, 0.0, bars)
        self.growth_bars += np.where(self._held_back, 0.0, self._h * bars) + growth_bars
        self._gap_bars += np.where(self._by_gap, bars, 0.0)

    def changes(self, t: Touching, ds: Array) -> Array:
        """Changes (k, 1) of the ranges of contacts with shares that change by ds (p,)."""
        at = self.rows(t)
        found: Array = np.where(at >= 0, ds[at] * ranges_of(self._contact.scene, t.bodies), 0.0)[:, None]
        return found

    def ahead(self, t: Touching, walk: Walk, Q: Array, dQ: Array) -> tuple[Array, Array]:
        """By how much shares (p,) at the start of the step and at its end change with the state Q at its start."""
        start = self._found_ahead(t, Q, dQ) if self.found.any() else np.zeros_like(self.bars)
        end = start * self._grows
        if self._by_gap.any():
            shares, closest = self._nearest(walk, Q)
            shares.graph.push((closest.Q, dQ))
            end = np.where(self._by_gap, shares.change, end)
        return start, end

    def pull_gaps(self, walk: Walk, Q: Array, sums: Sums) -> Array:
        """Adjoint of Q (n, 4, 3), the start, by shares that grow no farther than to the nearest contact there."""
        if not self._gap_bars.any():
            return np.zeros_like(Q)
        shares, closest = self._nearest(walk, Q)
        shares.graph.pull((shares, self._gap_bars))
        closest.tell_shapes(self._contact.scene, sums)
        shares.graph.free()
        return closest.Q.slope

    def _nearest(self, walk: Walk, Q: Array) -> tuple[Node, Closest]:
        """Shares (p,) that reach the nearest contact at Q, of pairs that grow no farther; 0 of others."""
        pairs, share = self.at_end
        t, graph = walk.to(Q, self._h, (pairs, share * (1.0 + _BEYOND))), Graph()
        closest, at = Closest(graph, t, self._contact.scene, graph.of(Q)), self.rows(t)
        reach = (closest.d[:, 0] - t.numbers[:, THICKNESS]) / ranges_of(self._contact.scene, t.bodies)
        nearest = np.full(len(pairs), -1)
        for k in np.lexsort((-reach.value, at)):
            if at[k] >= 0 and self._by_gap[at[k]]:
                nearest[at[k]] = k
        return gathered(reach, nearest), closest

    def pull_end(self, t: Touching, Q: Array, x: Array) -> None:
        """bars += −x·∂g/∂s of barriers at the end Q of the step."""
        graph = Graph()
        closest = Closest(graph, t, self._contact.scene, graph.of(Q))
        graph.pull((closest.forces(len(Q)), -x))
        self.add(t, closest.reach.slope, grown=True)
        graph.free()

    def push_end(self, t: Touching, Q: Array, ds: Array) -> Array:
        """By how much (n, 12) the gradient of barriers at the end Q changes with shares there."""
        graph = Graph()
        closest = Closest(graph, t, self._contact.scene, graph.of(Q))
        forces = closest.forces(len(Q))
        graph.push((closest.reach, self.changes(t, ds)))
        return forces.change.reshape(-1, 12)

    # ---- pairs that the step has found -----------------------------------------------------------------------

    def _pushes(self, t: Touching, Q: Array) -> tuple[Closest, Flags, Array]:
        """Contacts at the start Q, those of pairs that were found (k,), and how Σ push changes with s (p,)."""
        graph = Graph()
        closest = Closest(graph, t, self._contact.scene, graph.of(Q))
        at = self.rows(t)
        mine = (at >= 0) & self.found[at]
        pushes = closest.pushes()
        graph.push((closest.reach, self.changes(t, np.ones(len(self.pairs)))))
        slope = np.bincount(at[mine], pushes.change[mine, 0], len(self.pairs))
        return closest, mine, np.where(slope != 0.0, slope, np.inf)

    def pull_found(self, t: Touching, model: Model, Q: Array, sums: Sums) -> tuple[Array, Array]:
        """Adjoint of Q (n, 4, 3) and derivatives by ln κ (k,) of contacts by shares that the step has found."""
        closest, mine, slope = self._pushes(t, Q)
        bars = np.where(self.found, self.bars, 0.0) / slope
        by = np.where(mine, -bars[self.rows(t)], 0.0)[:, None]
        graph = closest.r.graph
        graph.pull((closest.pushes(), by))
        closest.tell_shapes(self._contact.scene, sums)
        ease, bodies, islands = self._contact.ease, model.bodies, model.islands
        assert ease is not None
        _, lighter = ease.lighter(self.pairs, islands.mechanism)
        for bar, body in zip(bars, lighter, strict=True):
            some = np.flatnonzero((islands.mechanism == islands.mechanism[body]) & (bodies.is_free != 0))
            g = np.linalg.norm(bodies.gravity[some], axis=1)
            borne = bar * self._h**2 * bodies.mass[some, 0, 0]
            sums.log_mass[some] += borne * g
            sums.constant["gravity"][some] += (borne / np.maximum(g, 1e-300))[:, None] * bodies.gravity[some]
        return closest.Q.slope, closest.log_kappa.slope[:, 0]

    def _found_ahead(self, t: Touching, Q: Array, dQ: Array) -> Array:
        """By how much (p,) shares that the step finds change with Q."""
        closest, mine, slope = self._pushes(t, Q)
        pushes = closest.pushes()
        closest.r.graph.push((closest.Q, dQ))
        return -np.bincount(self.rows(t)[mine], pushes.change[mine, 0], len(self.pairs)) / slope
