"""Hard limits: laws that are infinite outside of their bounds, and the share of a step that stays within them.

No iterate of Newton's method is ever outside: a step −y is bounded so that every gap keeps a twentieth of what it was,
and the energy is infinite beyond the bound for what the line search tries. An angle is followed from iterate to
iterate, and a step may turn it by a fraction of a turn only, so that nothing wraps past a bound unseen.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.islands import Islands
from dovetail.solver.joint.function import Law, call_coordinate, nearest
from dovetail.solver.joint.stencil import gather, gather_step
from dovetail.solver.joint.terms import Coordinates, Laws
from dovetail.solver.kernel import kernel
from dovetail.solver.law.stop import MARGIN
from dovetail.typing import Array, Indices

__all__ = ["Stops"]

_LEFT_OVER = 0.05  # of a gap, after a step that would close it
_TURN = 0.35  # of its length, by which a direction may change in a step: two turn by less than a radian in all
_HALVINGS = 60  # after which a step is not taken at all


@kernel
def _follow(
    coordinate: Any, period: float, left: Indices, right: Indices, W: Array, of: Indices, Q: Array, reference: Array
) -> None:
    """reference[of] ← x at Q, on the branch nearest to what it was."""
    n = 3 * W.shape[1]
    F, dx, d2x = np.empty(n), np.zeros(n), np.zeros(n * n)
    for m in range(len(of)):
        k = of[m]
        gather(W, k, left[k], right[k], Q, F)
        reference[k] = nearest(call_coordinate(coordinate, F, 0.0, dx, d2x), period, reference[k])


@kernel
def _left_over(x: float, before: float, lower: float, upper: float) -> float:
    """Share of the gaps to both bounds that is left at x, the smaller one."""
    return min((x - lower) / (before - lower), (upper - x) / (upper - before))


@kernel
def _shares(
    coordinate: Any, period: float, left: Indices, right: Indices, W: Array, of: Indices, reference: Array, p: Array,
    position: Indices, active: Indices, Q: Array, y: Array, island: Indices, alpha: Array,
) -> None:  # fmt: skip
    """α of the islands ← at most the share of the step −y from Q that stays within all bounds; reference is x at Q."""
    n = 3 * W.shape[1]
    F, dF, G, dx, d2x = np.empty(n), np.empty(n), np.empty(n), np.zeros(n), np.zeros(n * n)
    for m in range(len(of)):
        k = of[m]
        i, j = position[left[k]], position[right[k]]
        i, j = (i if i >= 0 and active[i] else -1), (j if j >= 0 and active[j] else -1)
        if p[m, 2] < math.inf or (i < 0 and j < 0):
            continue
        at = max(island[left[k]], island[right[k]])
        gather(W, k, left[k], right[k], Q, F)
        gather_step(W, k, i, j, y, dF)
        share = alpha[at]
        if period > 0.0:
            for r in range(W.shape[1]):
                size = step = 0.0
                for a in range(3 * r, 3 * r + 3):
                    size += F[a] * F[a]
                    step += dF[a] * dF[a]
                if share * math.sqrt(step) > _TURN * math.sqrt(size):
                    share = _TURN * math.sqrt(size / step)
        before = reference[k]
        for halving in range(_HALVINGS + 1):
            for a in range(n):
                G[a] = F[a] - share * dF[a]
            x = nearest(call_coordinate(coordinate, G, 0.0, dx, d2x), period, before)
            # written so that a NaN is not taken
            if _left_over(x, before, p[m, 0], p[m, 1]) >= _LEFT_OVER:
                break
            # where the way is straight, this is where a twentieth is left
            way = abs(x - before)
            room = (1.0 - _LEFT_OVER) * (p[m, 1] - before if x > before else before - p[m, 0])
            share *= min(0.999 * room / way, 0.9) if halving == 0 and way > room else 0.5
            if halving == _HALVINGS:
                share = 0.0
        if share < alpha[at]:
            alpha[at] = share


class Stops(Laws):
    """Hard limits on some of a batch's coordinates; p (m, 4) are lower, upper, inf where there is a stop, κ.

    reference (k,) are the coordinates of the present iterate, continued from those at the start of the step.
    slack (m, 2) is for whoever fills p: how far behind the bounds that were asked for those in p are.
    """

    def __init__(self, law: Law, coordinates: Coordinates, of: Indices, p: Array) -> None:
        super().__init__(law, coordinates, of, p)
        self.reference = coordinates.value.copy()
        self.slack = np.full((len(self.of), 2), np.nan)

    def begin(self) -> None:
        """Start a step: the coordinates are those that were committed."""
        self.reference[:] = self.coordinates.value

    def follow(self, Q: Array) -> None:
        """Q is the next iterate."""
        c, s = self.coordinates, self.coordinates.stencils
        _follow(c.address, c.function.period, s.left, s.right, s.W, self.of, Q, self.reference)

    def bound(self, Q: Array, y: Array, blocks: Blocks, islands: Islands, alpha: Array) -> None:
        """α (m,) ← at most the share of the step −y from Q, which was followed, that stays within the bounds."""
        c, s = self.coordinates, self.coordinates.stencils
        _shares(
            c.address, c.function.period, s.left, s.right, s.W, self.of, self.reference, self.p, blocks.position,
            blocks.active, Q, y, islands.of, alpha,
        )  # fmt: skip

    def touching(self, Q: Array) -> Indices:
        """Bodies whose joints are at a stop at Q, the present iterate or one next to it."""
        c, s = self.coordinates, self.coordinates.stencils
        x = self.reference.copy()
        _follow(c.address, c.function.period, s.left, s.right, s.W, self.of, Q, x)
        lower, upper, strength = self.p[:, :3].T
        gap = np.minimum(x[self.of] - lower, upper - x[self.of])
        at_stop = np.isinf(strength) & (gap < MARGIN * np.minimum(1.0, upper - lower))
        bodies: Indices = np.unique(self.pairs()[at_stop])
        return bodies

    def commit(self, Q: Array) -> None:
        """The step ended in Q: coordinates that turned by more than half a turn in it are to be continued from here."""
        self.follow(Q)
        self.coordinates.value[self.of] = self.reference[self.of]
