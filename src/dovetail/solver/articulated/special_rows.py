"""Rows of the sweep that are linearised anew in every iteration: laws on joint coordinates, and slides.

**Laws.** With x the coordinate and φ the sum of its laws, the force along ∇x after a step −y is λ = φ′ − φ″∇x·y: the
row

    φ′/φ″ − ∇x·y = λ/φ″          a joint row with residual φ′/φ″ and compliance 1/φ″

Up to three coordinates of a joint share a triple of as many rows; those with φ′ = φ″ = 0 are idle. Where laws are a
constant force, as that of a drive at its limit, φ″ is taken for a tiny part of what resists the row. The curvature
φ′∇²x of the coordinate is left out, as the sweep leaves out that of the bodies.

**Slides.** C − J y = λ/K with C and J of rows.py, a triple each. An exact slide has K⁻¹ = 0 and says nothing along v,
so that its rows are those along two directions e₁, e₂ across v. The curvature λ·∇²C is left out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.articulated.arrays import SweepArrays
from dovetail.solver.joint.coordinates import compliance as yields_of
from dovetail.solver.joint.laws import Laws, linearise_laws
from dovetail.solver.joint.rows import Rows, cross
from dovetail.solver.joint.stencil import gather
from dovetail.typing import Array, Indices

__all__ = ["SpecialRows", "place_row"]

_TINY = 1e-10


@kernel
def place_row(
    J: Array, resists: float, slope: float, bend: float, at: tuple[int, int, int], flipped: Indices, s: SweepArrays
) -> None:
    """Row of a coordinate with a slope φ′ and φ″ = bend along J = ∇x; at: its triple, number, and which of its rows."""
    t, n, x = at
    acts = slope != 0.0 or bend > 0.0
    for side in range(2):
        own = 1 - side if flipped[t] else side
        for e in range(12):
            s.covectors[n, side, x, e // 3, e % 3] = J[own, e] if acts else 0.0
    stiffness = max(bend, _TINY / resists) if resists > 0.0 else 1.0
    s.residual[n, x] = slope / stiffness if acts else 0.0
    s.compliance[t, x] = 1.0 / stiffness if acts else 1.0


@kernel
def _place_laws(
    laws: Laws, triple: Indices, number: Indices, row: Indices, flipped: Indices, mass_inverse: Array, s: SweepArrays
) -> None:
    """Rows of the laws as linearised; triple (a,) is −1 for those in no tree."""
    c = laws.coordinates
    for i in range(len(laws.acting)):
        if triple[i] >= 0:
            k = laws.acting[i]
            resists = yields_of(laws.J[i], c.left[k], c.right[k], mass_inverse)
            place_row(laws.J[i], resists, laws.slope[i], laws.bend[i], (triple[i], number[i], row[i]), flipped, s)


@kernel
def _set_across(v: Array, e: Array) -> None:
    """e (3×3) ← two unit vectors across v (3), and zero."""
    least = 0
    for a in range(1, 3):
        if abs(v[a]) < abs(v[least]):
            least = a
    i, j = (least + 1) % 3, (least + 2) % 3
    length = math.sqrt(v[i] * v[i] + v[j] * v[j])
    e[:] = 0.0
    e[0, i], e[0, j] = v[j] / length, -v[i] / length
    size = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        e[1, a] = (v[b] * e[0, c] - v[c] * e[0, b]) / size


@kernel
def _place_slides(
    rows: Rows, triple: Indices, first: int, flipped: Indices, Q: Array, directions: Array, s: SweepArrays
) -> None:
    """Rows of the slides at Q, from number `first` on; triple (k,) is −1 for those in no tree.

    directions (k, 3, 3) ← those that rows are taken along: the axes, or e₁, e₂ and none.
    """
    F, C, W = np.empty(6), np.empty(3), rows.W
    for k in range(len(rows.left)):
        t, n, exact = triple[k], first + k, k >= rows.exact
        if t < 0:
            continue
        gather(W, k, rows.left[k], rows.right[k], Q, F)
        if exact:
            _set_across(F[3:], directions[k])
        else:
            directions[k] = 0.0
            for a in range(3):
                directions[k, a, a] = 1.0
        for a in range(3):
            C[a] = cross(F, a)
        for x in range(3):
            e = directions[k, x]
            s.residual[n, x] = e[0] * C[0] + e[1] * C[1] + e[2] * C[2]
            s.compliance[t, x] = 1.0 / rows.K[k] if not exact else (0.0 if x < 2 else 1.0)
            for side in range(2):
                columns = 4 * (side if not flipped[t] else 1 - side)
                for i in range(4):
                    along_u, along_v = W[k, 0, columns + i], W[k, 1, columns + i]
                    for a in range(3):
                        # e·(δu × v) = δu·(v × e),  e·(u × δv) = δv·(e × u)
                        b, c = (a + 1) % 3, (a + 2) % 3
                        value = along_u * (F[3 + b] * e[c] - F[3 + c] * e[b])
                        s.covectors[n, side, x, i, a] = value + along_v * (e[b] * F[c] - e[c] * F[b])


@kernel
def _export_slides(rows: Rows, triple: Indices, near: Indices, swept: Indices, directions: Array, force: Array) -> None:
    """λ of exact slides ← their forces in axes of the world, of the bodies that are swept."""
    for k in range(rows.exact, len(rows.left)):
        t = triple[k]
        if t >= 0 and swept[near[t]]:
            for a in range(3):
                rows.multiplier[k, a] = force[t, 0] * directions[k, 0, a] + force[t, 1] * directions[k, 1, a]


class SpecialRows:
    """All rows of a potential that can be special.

    pairs (k, 2) are the bodies of their triples: those of laws first, one for up to three coordinates of a joint, then
    those of slides. lengths (k,) are how many of their rows are not idle for ever.
    """

    def __init__(self, laws: Laws | None, slides: Rows, mass_inverse: Array) -> None:
        self._laws, self._slides, self._mass_inverse = laws, slides, mass_inverse
        self._number, self._row = np.zeros(0, np.int64), np.zeros(0, np.int64)
        pairs = np.zeros((0, 2), np.int64)
        if laws is not None:
            joint = laws.coordinates.joint[laws.acting]
            order = np.argsort(joint, kind="stable")
            fresh = np.flatnonzero(np.diff(joint[order], prepend=-1))
            rank = np.arange(len(order)) - np.repeat(fresh, np.diff(fresh, append=len(order)))
            new = rank % 3 == 0
            self._number, self._row = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
            self._number[order], self._row[order] = np.cumsum(new) - 1, rank % 3
            pairs = laws.pairs[order[new]]
        self._law_triples = len(pairs)
        self.pairs = np.concatenate([pairs, slides.pairs])
        lengths = np.where(np.arange(slides.count) < slides.exact, 3, 2)
        self.under_slides: Indices = slides.pairs
        self.lengths: Indices = np.concatenate([np.bincount(self._number, minlength=len(pairs)), lengths])
        self._directions = np.zeros((slides.count, 3, 3))

    def place(self, triples: Indices, numbers: Indices, near: Indices, flipped: Indices, arrays: SweepArrays) -> None:
        """Rows `numbers` are the triples of these places in the sweep; the others belong to no tree."""
        self._arrays, self._flipped, self._near = arrays, flipped, near
        triple = np.full(len(self.pairs), -1)
        triple[numbers] = triples
        self._law_triple = triple[: self._law_triples][self._number] if self._law_triples else self._number
        self._slide_triple = np.ascontiguousarray(triple[self._law_triples :])
        arrays.covectors = np.zeros((len(self.pairs), 2, 3, 4, 3))
        arrays.residual = np.zeros((len(self.pairs), 3))
        arrays.compliance[triples] = 1.0
        self._with_laws = bool((self._law_triple >= 0).any())
        self._with_slides = bool((self._slide_triple >= 0).any())
        exact = self._slide_triple[self._slides.exact :]
        self.are_curved = bool((exact >= 0).any())  # a whole step leaves exact slides open

    @property
    def placed_laws(self) -> tuple[Any, ...] | None:
        """Laws in trees, with triples, numbers, rows, and what else placing them takes; None if there are none."""
        if not self._with_laws:
            return None
        places = self._law_triple, self._number, self._row, self._flipped
        return self._laws, *places, self._mass_inverse, self._arrays

    def linearise(self, Q: Array) -> None:
        """Take the rows at Q."""
        for one, *args in self.linearising(Q):
            one(*args)

    def linearising(self, Q: Array) -> list[tuple[Any, ...]]:
        """The calls that take the rows at Q: kernels with their arguments."""
        calls: list[tuple[Any, ...]] = []
        if self._with_laws:
            calls += [(linearise_laws, self._laws, Q), (_place_laws, *(self.placed_laws or ()))]
        if self._with_slides:
            rows = self._slides, self._slide_triple, self._law_triples, self._flipped
            calls.append((_place_slides, *rows, Q, self._directions, self._arrays))
        return calls

    def exporting(self, swept: Indices) -> list[tuple[Any, ...]]:
        """The calls that hand the multipliers of exact slides over; swept (n,) says of which bodies."""
        if not self.are_curved:
            return []
        placed = self._slides, self._slide_triple, self._near, swept
        return [(_export_slides, *placed, self._directions, self._arrays.multiplier)]
