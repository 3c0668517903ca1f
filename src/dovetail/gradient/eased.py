"""Contacts that are eased in, in an adjoint: the share s of its range that a pair of bodies has (see contact/ease.py).

    Σ push(s; Q₀) = h² m|g|   in the step that finds the pair        s ← s + h/T   from step to step

In a step, friction has the loads of s, barriers at its end the range of s + h/T. What touching adds to a start knows no
shares that are still to be found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.gradient.closest import Closest
from dovetail.gradient.formulas import Graph
from dovetail.gradient.touching import Touching
from dovetail.solver.contact.contact import Contact
from dovetail.solver.contact.ease import GROWTH, Easing, keys_of_sides, sides_of
from dovetail.typing import Array, Flags, Indices

if TYPE_CHECKING:
    from dovetail.gradient.sums import Sums
    from dovetail.solver.model import Model

__all__ = ["EaseAdjoint", "Ranges"]

Ranges = tuple[Indices, Array]
"""Pairs (k, 2), and their shares (k,)."""


class EaseAdjoint:
    """Pairs that are eased in one step of length h; `at_start`, `at_end` and `before` are their ranges."""

    def __init__(self, contact: Contact, easing: Easing, h: float) -> None:
        self._contact, self.pairs, self._share, self.found = contact, easing.pairs, easing.share, easing.found
        grown = easing.share + h / GROWTH
        self._grows = grown < 1.0
        self._h = h
        self.at_start: Ranges = easing.pairs, easing.share
        self.at_end: Ranges = easing.pairs, np.minimum(grown, 1.0)
        self.before: Ranges = easing.pairs[~easing.found], easing.share[~easing.found]
        self.bars = np.zeros(len(easing.pairs))

    def rows(self, t: Touching) -> Indices:
        """The pair of each contact (k,), −1 where it is not eased."""
        known, asked = keys_of_sides(self.pairs), keys_of_sides(sides_of(t.pairs))
        place = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        return np.where(known[place] == asked, place, -1)

    def _whole(self, t: Touching) -> Array:
        """d̂ (k,) of contacts whose ranges are not eased."""
        (a, b), d_hat = t.bodies.T, self._contact.scene.d_hat
        found: Array = np.where(b < 0, d_hat[a], 0.5 * (d_hat[a] + d_hat[b]))
        return found

    def add(self, t: Touching, slope: Array, grown: bool = False, known: bool = False) -> None:
        """bars += what derivatives (k, 1) by the ranges of contacts tell; of shares that have grown, or were known."""
        at = self.rows(t)
        some = (at >= 0) & np.isfinite(slope[:, 0])
        by = np.bincount(at[some], (slope[:, 0] * self._whole(t))[some], len(self.bars))
        self.bars += by * (self._grows if grown else 1.0) * (~self.found if known else 1.0)

    def changes(self, t: Touching, ds: Array, grown: bool = False) -> Array:
        """Changes (k, 1) of the ranges of contacts with shares that change by ds (p,)."""
        at = self.rows(t)
        by = ds * (self._grows if grown else 1.0)
        found: Array = np.where(at >= 0, by[at] * self._whole(t), 0.0)[:, None]
        return found

    def pull_end(self, t: Touching, Q: Array, x: Array) -> None:
        """bars += −x·∂g/∂s of barriers at the end Q of the step."""
        graph = Graph()
        closest = Closest(graph, t, self._contact.scene, graph.of(Q))
        graph.pull((closest.forces(len(Q)), -x))
        self.add(t, closest.reach.slope, grown=True)
        graph.free()

    def push_end(self, t: Touching, Q: Array, ds: Array) -> Array:
        """By how much (n, 12) the gradient of barriers at the end Q changes with shares."""
        graph = Graph()
        closest = Closest(graph, t, self._contact.scene, graph.of(Q))
        forces = closest.forces(len(Q))
        graph.push((closest.reach, self.changes(t, ds, grown=True)))
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

    def push_found(self, t: Touching, Q: Array, dQ: Array) -> Array:
        """By how much (p,) shares that the step finds change with Q."""
        closest, mine, slope = self._pushes(t, Q)
        pushes = closest.pushes()
        closest.r.graph.push((closest.Q, dQ))
        return -np.bincount(self.rows(t)[mine], pushes.change[mine, 0], len(self.pairs)) / slope
