"""Laws of joint coordinates as rows of the sweep: drives, limits and dampers, linearised anew in every iteration.

With x the coordinate and φ the law, the force along ∇x after a step −y is λ = φ′ − φ″∇x·y, so that a law is the row

    φ′/φ″ − ∇x·y = λ/φ″          a joint row with residual φ′/φ″ and compliance 1/φ″

in a triple of its own, whose other rows are idle; all are where φ″ = 0. The curvature φ′∇²x of the coordinate is
left out, as the sweep leaves out that of the bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.solver.articulated.articulated import Articulated
from dovetail.solver.contribution import Contribution
from dovetail.solver.joint.function import call_coordinate, call_law, nearest
from dovetail.solver.joint.stencil import gather
from dovetail.solver.joint.terms import Laws
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["LawRows", "is_row"]

_ROWS = {"damping", "limit", "spring"}
"""Laws with φ″ > 0 wherever φ′ is not zero."""


def is_row(contribution: Contribution) -> bool:
    """Whether the sweep can take a contribution as a row."""
    return type(contribution) is Laws and contribution.law.name in _ROWS


@kernel
def _linearise(
    coordinate: Any, period: float, law: Any, left: Indices, right: Indices, W: Array, of: Indices, reference: Array,
    p: Array, scale: Array, triple: Indices, flipped: Indices, Q: Array, covectors: Array, residual: Array,
    compliance: Array, first: int,
) -> None:  # fmt: skip
    n = 3 * W.shape[1]
    F, dx, d2x, d = np.empty(n), np.empty(n), np.zeros(n * n), np.zeros(2)
    for m in range(len(of)):
        s = first + m
        if triple[s] < 0:
            continue
        k = of[m]
        gather(W, k, left[k], right[k], Q, F)
        dx[:] = 0.0
        x = nearest(call_coordinate(coordinate, F, 0.0, dx, d2x), period, reference[k])
        call_law(law, x, p, m, d)
        stiff = scale[m] * d[1] > 0.0
        residual[s, 0] = d[0] / d[1] if stiff else 0.0
        compliance[triple[s], 0] = 1.0 / (scale[m] * d[1]) if stiff else 1.0
        for side in range(2):
            columns = 4 * (side if not flipped[triple[s]] else 1 - side)
            for i in range(4):
                for a in range(3):
                    value = 0.0
                    for r in range(W.shape[1]):
                        value += W[k, r, columns + i] * dx[3 * r + a]
                    covectors[s, side, 0, i, a] = value if stiff else 0.0


class LawRows:
    """All laws of a system that can be rows; pairs (k, 2) are their bodies."""

    def __init__(self, contributions: Sequence[Contribution]) -> None:
        self._laws = [law for law in contributions if isinstance(law, Laws) and is_row(law)]
        self.pairs = np.concatenate([np.zeros((0, 2), np.int64), *(law.pairs() for law in self._laws)])

    def place(self, triples: Indices, numbers: Indices, flipped: Indices, sweep: Articulated) -> None:
        """Laws `numbers` are the triples of these places in the sweep; the others belong to no tree."""
        self._sweep, self._flipped = sweep, flipped
        self._triple = np.full(len(self.pairs), -1)
        self._triple[numbers] = triples
        sweep.covectors = np.zeros((len(self.pairs), 2, 3, 4, 3))
        sweep.residual = np.zeros((len(self.pairs), 3))

    def linearise(self, Q: Array) -> None:
        """Take the rows at Q."""
        first = 0
        for law in self._laws:
            c, s, sweep = law.coordinates, law.coordinates.stencils, self._sweep
            _linearise(
                c.address, c.function.period, law.law.address, s.left, s.right, s.W, law.of, law.reference, law.p,
                law.scale, self._triple, self._flipped, Q, sweep.covectors, sweep.residual, sweep.compliance, first,
            )  # fmt: skip
            first += len(law.of)
