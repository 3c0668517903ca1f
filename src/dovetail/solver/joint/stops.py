"""Hard limits: laws that are infinite outside of their bounds, and the share of a step that stays within them.

No iterate of Newton's method is ever outside: a step −y is bounded so that every gap keeps a twentieth of what it was,
and the energy is infinite beyond the bound for what the line search tries. An angle is followed from iterate to
iterate, and a step may turn it by a fraction of a turn only, so that nothing wraps past a bound unseen.

κ of a stop, the inertia of its two bodies, knows nothing of what they carry nor of what drives them. Under an arm or a
strong motor gaps would be nanometres, into which straight steps of bodies that turn bend by second order: Newton's
steps would be as short. So κ is ten times as large as long as the joint is pressed, as often as it takes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.islands import Islands
from dovetail.solver.joint.coordinates import Coordinates, coordinate_at, gather_rows
from dovetail.solver.joint.function import call_coordinate, nearest
from dovetail.solver.joint.laws import LawBatch, Laws
from dovetail.solver.law.stop import MARGIN
from dovetail.typing import Array, Flags, Indices

if TYPE_CHECKING:
    from dovetail.solver.directions import Directions
    from dovetail.solver.potential import Evaluation

__all__ = ["Stops"]

_LEFT_OVER = 0.05  # of a gap, after a step that would close it
_TURN = 0.35  # of its length, by which a direction may change in a step: two turn by less than a radian in all
_HALVINGS = 60  # after which a step is not taken at all
_PRESSED, _LOOSE = 0.001, 0.5  # gaps by ĝ, below which κ is too small and from which on a tenth of it does
_STRAIGHT = 0.1  # of a gap, by which a step may lead elsewhere than its first derivative says
_TENFOLD = 10.0  # the slope at _PRESSED, 1,012 κĝ, is then had at 0.01 ĝ; sooner, what lands is thrown back for ever


@kernel
def _follow(c: Coordinates, of: Indices, Q: Array, reference: Array) -> None:
    """reference[of] ← x at Q, on the branch nearest to what it was."""
    size = 3 * c.widest
    F, dx, d2x = np.empty(size), np.zeros(size), np.zeros(size * size)
    for m in range(len(of)):
        k = of[m]
        n = gather_rows(c, k, Q, F)
        reference[k] = nearest(coordinate_at(c, k, 0.0, F, n, dx, d2x), c.period[k], reference[k])


@kernel
def _left_over(x: float, before: float, lower: float, upper: float) -> float:
    """Share of the gaps to both bounds that is left at x, the smaller one."""
    return min((x - lower) / (before - lower), (upper - x) / (upper - before))


@kernel
def _shares(laws: Laws, which: Indices, Q: Array, y: Array, islands: Islands) -> None:
    """α of the islands ← at most the share of the step −y from Q that stays within all bounds; reference is x at Q."""
    c, unconverged, island, alpha = laws.coordinates, islands.unconverged, islands.of, islands.alpha
    size = 3 * c.widest
    F, dF, G, dx = np.empty(size), np.empty(size), np.empty(size), np.zeros(size)
    d2x, step_rows = np.zeros(size * size), y.reshape((len(y), 4, 3))
    for m in which:
        k, at_p = laws.of[m], laws.at[m]
        lower, upper, strength = laws.p[at_p], laws.p[at_p + 1], laws.p[at_p + 2]
        if strength < math.inf or not (unconverged[c.left[k]] or unconverged[c.right[k]]):
            continue
        at = max(island[c.left[k]], island[c.right[k]])
        n = gather_rows(c, k, Q, F)
        gather_rows(c, k, step_rows, dF)
        share = alpha[at]
        if c.period[k] > 0.0:
            for r in range(0, n, 3):
                length = step = 0.0
                for a in range(r, r + 3):
                    length += F[a] * F[a]
                    step += dF[a] * dF[a]
                if share * math.sqrt(step) > _TURN * math.sqrt(length):
                    share = _TURN * math.sqrt(length / step)
        before = c.reference[k]
        for halving in range(_HALVINGS + 1):
            for a in range(n):
                G[a] = F[a] - share * dF[a]
            x = nearest(call_coordinate(c.address[k], G, 0.0, dx, d2x), c.period[k], before)
            # written so that a NaN is not taken
            if _left_over(x, before, lower, upper) >= _LEFT_OVER:
                break
            # where the way is straight, this is where a twentieth is left
            way = abs(x - before)
            room = (1.0 - _LEFT_OVER) * (upper - before if x > before else before - lower)
            share *= min(0.999 * room / way, 0.9) if halving == 0 and way > room else 0.5
            if halving == _HALVINGS:
                share = 0.0
        if share < alpha[at]:
            alpha[at] = share


@kernel
def _gap(laws: Laws, m: int) -> tuple[float, float, float]:
    """Gap of law m to the nearer bound at the reference, inf if it is soft; ĝ; 1 for the upper bound, −1 for lower."""
    at, x = laws.at[m], laws.coordinates.reference[laws.of[m]]
    below, above = x - laws.p[at], laws.p[at + 1] - x
    gap = min(below, above) if laws.p[at + 2] == math.inf else math.inf
    return gap, MARGIN * min(1.0, laws.p[at + 1] - laws.p[at]), 1.0 if above < below else -1.0


@kernel
def _begin(laws: Laws, which: Indices, least: Array, closes: Indices) -> None:
    """κ ← that of the last step, or a tenth of it, not below `least`, where that does; `closes` where it does not."""
    for m in range(len(which)):
        gap, margin, _ = _gap(laws, which[m])
        place = laws.at[which[m]] + 3
        kappa = laws.past[0, place]
        laws.p[place] = max(kappa / _TENFOLD, least[m]) if gap > _LOOSE * margin else kappa
        closes[m] = 1


@kernel
def _stiffen(laws: Laws, which: Indices, closes: Indices) -> bool:
    """κ ← ten times as much where a stop is pressed that the last direction `closes` still; whether there is one."""
    found = False
    for m in range(len(which)):
        gap, margin, _ = _gap(laws, which[m])
        if closes[m] and gap < _PRESSED * margin:
            laws.p[laws.at[which[m]] + 3] *= _TENFOLD
            found = True
        closes[m] = 0
    return found


@kernel
def _bends(laws: Laws, which: Indices, acting: Indices, Q: Array, y: Array, closes: Indices, force: Array) -> bool:
    """force (n, 12) ← Σ φ″ b ∇x of stops in touch, b by how much the step −y from Q bends towards them beyond ∇x.

    Whether it does so by more than a little of a gap; `closes` (m,) ← whether the step closes it by ∇x alone. Laws are
    as linearised at Q.
    """
    c, found, step_rows = laws.coordinates, False, y.reshape((len(y), 4, 3))
    size = 3 * c.widest
    F, dF, dx, d2x = np.empty(size), np.empty(size), np.zeros(size), np.zeros(size * size)
    for m in range(len(which)):
        gap, margin, side = _gap(laws, which[m])
        if gap >= margin:
            continue
        k, J = laws.of[which[m]], laws.J[acting[m]]
        left, right, way = c.left[k], c.right[k], 0.0
        for e in range(12):
            way -= J[0, e] * y[left, e] + J[1, e] * y[right, e]
        n = gather_rows(c, k, Q, F)
        gather_rows(c, k, step_rows, dF)
        for a in range(n):
            F[a] -= dF[a]
        x = nearest(call_coordinate(c.address[k], F, 0.0, dx, d2x), c.period[k], c.reference[k])
        bend = x - c.reference[k] - way
        closes[m] = side * way > 0.0
        if side * bend > _STRAIGHT * gap:
            found = True
            for e in range(12):
                force[left, e] += laws.bend[acting[m]] * bend * J[0, e]
                force[right, e] += laws.bend[acting[m]] * bend * J[1, e]
    return found


class Stops:
    """The guard over hard limits: laws with p = lower, upper, inf where there is a stop, κ.

    bodies (n,) is 1 for those on joints with one. slack[batch] (m, 2) is for whoever fills p: how far behind the bounds
    that were asked for those in p are.
    """

    def __init__(self, laws: Laws, bodies: int) -> None:
        self._laws = laws
        self._batches = [batch for batch in laws.batches if batch.is_stop]
        rows = [np.arange(batch.rows.start, batch.rows.stop) for batch in self._batches]
        self._which = np.concatenate([np.zeros(0, np.int64), *rows])
        self._of = laws.of[self._which]
        self._least = laws.p[laws.at[self._which] + 3]
        self._closes = np.zeros(len(self._which), np.int64)
        self._acting = np.searchsorted(laws.acting, self._of)
        self._pairs = laws.coordinates.pairs[self._of]
        self.bodies = np.zeros(bodies, np.int64)
        self.bodies[self._pairs] = 1
        self.slack: dict[LawBatch, Array] = {batch: np.full((batch.count, 2), np.nan) for batch in self._batches}

    @property
    def count(self) -> int:
        return len(self._which)

    def begin(self) -> None:
        """Start a step: the coordinates are those that were committed."""
        c = self._laws.coordinates
        c.reference[self._of] = c.value[self._of]
        _begin(self._laws, self._which, self._least, self._closes)

    def stiffen(self, Q: Array) -> bool:
        """Whether κ of a stop was too small for what presses against it at the iterate Q: energies have changed."""
        self.follow(Q)
        return bool(_stiffen(self._laws, self._which, self._closes))

    def follow(self, Q: Array) -> None:
        """Q is the next iterate."""
        _follow(self._laws.coordinates, self._of, Q, self._laws.coordinates.reference)

    def straighten(self, directions: Directions, Q: Array, y: Array) -> None:
        """y, the last direction, from Q, which was followed, += what keeps it from bending into stops."""
        force = np.zeros_like(y)
        if _bends(self._laws, self._which, self._acting, Q, y, self._closes, force):
            directions.add_force(force, y)

    def cover(self, at: Evaluation, y: Array, islands: Islands, share: Array, commits: Indices | None = None) -> None:
        """Nothing: bounds do not move."""

    def couple(self, at: Evaluation, y: Array, islands: Islands) -> None:
        """All bodies with hard limits are guarded."""
        islands.marks |= self.bodies

    def free_share(self, at: Evaluation, y: Array, islands: Islands) -> None:
        self.follow(at.Q)
        self.bound(at.Q, y, islands)

    def bound(self, Q: Array, y: Array, islands: Islands) -> None:
        """α ← at most the share of the step −y from Q, which was followed, that stays within the bounds."""
        _shares(self._laws, self._which, Q, y, islands)

    def record_motion(self, islands: Islands) -> None:
        """Nothing: the next `free_share` follows."""

    def touched(self, Q: Array, h: float) -> Flags:
        """Bodies whose joints are at a stop at Q, the present iterate or one next to it."""
        c, laws = self._laws.coordinates, self._laws
        x = c.reference.copy()
        _follow(c, self._of, Q, x)
        at = laws.at[self._which]
        lower, upper, strength = laws.p[at], laws.p[at + 1], laws.p[at + 2]
        gap = np.minimum(x[self._of] - lower, upper - x[self._of])
        at_stop = np.isinf(strength) & (gap < MARGIN * np.minimum(1.0, upper - lower))
        found = np.zeros(len(self.bodies), np.bool_)
        found[self._pairs[at_stop]] = True
        return found

    def commit(self, Q: Array) -> None:
        """The step ended in Q: coordinates that turned by more than half a turn in it are to be continued from here."""
        self.follow(Q)
        c = self._laws.coordinates
        c.value[self._of] = c.reference[self._of]
