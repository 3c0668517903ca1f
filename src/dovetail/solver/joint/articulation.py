"""Articulations: the coordinates of several joints drawn to a wanted change together, weighed by a mass matrix.

    E = ½ dᵀ M d,   d = δθ − δθ̃,   δθ_k = x_k(Q) − x_k(Q_prev)

With y = M d the gradient is Σ y_k ∇x_k and the Hessian Σ M_km ∇x_k ∇x_mᵀ + Σ y_k ∇²x_k, the last part only when
exact. M couples every joint to every other, so all bodies of an articulation are neighbours in the linear system.
No h²: M weighs as a mass does.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.blocks import Blocks
from dovetail.solver.contribution import Contribution
from dovetail.solver.joint.coordinates import Coordinates
from dovetail.solver.joint.entries import Entries, couple, curve_entries, linearise_entries
from dovetail.typing import Array, Indices

__all__ = ["Articulations"]


@kernel
def _pull(entries: Entries, previous: Array, target: Array, owner: Indices, y: Array, E: Array) -> None:
    """y ← M d, E[owner] += ½ dᵀ M d; all of a group goes to its largest owner."""
    c, x = entries.coordinates, entries.x
    for a in range(len(entries.start) - 1):
        total = 0.0
        at = -1
        n = entries.start[a + 1] - entries.start[a]
        for k in range(n):
            e = entries.start[a] + k
            y[e] = 0.0
            for m in range(n):
                f = entries.start[a] + m
                y[e] += entries.M[entries.square[a] + n * k + m] * (x[f] - previous[f] - target[f])
            total += 0.5 * y[e] * (x[e] - previous[e] - target[e])
            at = max(at, owner[c.left[entries.of[e]]], owner[c.right[entries.of[e]]])
        if at >= 0:
            E[at] += total


class Articulations(Contribution):
    """All articulations of a scene; target, previous (e,) are δθ̃ and x(Q_prev) of every entry [rad or m]."""

    def __init__(self, coordinates: Coordinates, of: Indices, start: Indices) -> None:
        self.entries = Entries(coordinates, of, start)
        self.target, self.previous = np.zeros(self.entries.count), np.zeros(self.entries.count)
        self._pull = np.zeros(self.entries.count)

    @property
    def count(self) -> int:
        return self.entries.count

    def matrix(self, a: int) -> Array:
        """M of articulation a, (n, n), writable."""
        e = self.entries
        n = e.start[a + 1] - e.start[a]
        return e.M[e.square[a] : e.square[a + 1]].reshape(n, n)

    def values(self, Q: Array, reference: Array) -> Array:
        """x of every entry at Q; angles on the branch nearest the reference."""
        linearise_entries(self.entries, reference, Q)
        return self.entries.x

    def change(self, Q: Array) -> Array:
        """δθ of every entry."""
        difference: Array = self.values(Q, self.previous) - self.previous
        return difference

    def pairs(self) -> Indices:
        return self.entries.pairs

    def needs_bdf1(self) -> Indices:
        """All its bodies: δθ̃ is the step of another integrator, which ends when this one does."""
        bodies: Indices = np.unique(self.entries.body)
        return bodies

    def add_constant(self, blocks: Blocks) -> None:
        self.entries.coordinates.locate(blocks)
        self.entries.locate(blocks)

    def add_energy(self, Q: Array, owner: Indices, E: Array) -> None:
        linearise_entries(self.entries, self.previous, Q)
        _pull(self.entries, self.previous, self.target, owner, self._pull, E)

    def assemble(self, Q: Array, exact: bool, blocks: Blocks) -> None:
        self.energy(Q)
        couple(self.entries, self._pull, blocks.g, blocks.D, blocks.U)
        if exact:
            curve_entries(self.entries, self._pull, Q, blocks.D, blocks.U)
