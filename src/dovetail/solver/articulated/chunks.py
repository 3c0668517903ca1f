"""Chunks: runs of up to eight places with joints of the same kind, which the sweeps take together.

upwards (n,)                 the order in which the way up takes the chunks
case, first, size (n,)       kind of joints (sweeps.CASES or PLAIN), first place and number of places of a chunk
store (n,)                   where the frames of a chunk lie between the sweeps, among those of its sort
lanes_at (n,)                where Y and y of a chunk of cousins lie
balls, hinges, driven        1 where there are chunks of these cases, else None
laws (24n,)                  of driven chunks, by lane: rows of covectors, those of the child, and of the residual
points, points_at            x̄ − α c̄ of every row (3·triples × 8 lanes) of a chunk, c̄ the centre of mass
rigid (n,)                   1 where the joints to the parents are exact
known (n,)                   which of the tables of constants is that of a chunk: one for all whose lanes are alike
lane (8n,)                   place of every lane; those beyond the last place of a chunk repeat it

Bodies are of one kind if their mass, stiffness and the α of their rows are equal. Constants are then read once, while
the points of every body are its own: those of equal links differ in the last digits.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.buffers import aligned
from dovetail.kernel.emit import LANES
from dovetail.kernel.kernel import jit_enabled, kernel
from dovetail.solver.articulated.layout import CONSTANTS
from dovetail.solver.articulated.rows import Rows
from dovetail.solver.articulated.sweeps import BALLS, CASES, COUSINS, DRIVEN, HINGES, PLAIN, ROPE, ROPES
from dovetail.solver.articulated.tree import Forest
from dovetail.typing import Array, Flags, Indices

__all__ = ["Chunks"]

_MOST = max(sum(children) + own for children, own in CASES)
_LOOK_BACK = 8  # kinds that a body is compared with
_SIDE_BY_SIDE = 4  # ropes at least, from which on eight lanes pay


@kernel
def _same(
    case: Indices, alpha: Array, body: Indices, mass: Array, stiffness: Array, kinetic: Array, i: int, j: int
) -> bool:
    a, b = body[i], body[j]
    same = case[i] == case[j] and stiffness[a] == stiffness[b] and kinetic[a] == kinetic[b]
    for r in range(alpha.shape[1]):
        same = same and alpha[i, r] == alpha[j, r]
    for r in range(4):
        for s in range(4):
            same = same and mass[a, r, s] == mass[b, r, s]
    return same


@kernel
def _find_kinds(
    case: Indices, alpha: Array, body: Indices, mass: Array, stiffness: Array, kinetic: Array, kind: Indices,
    example: Indices,
) -> int:  # fmt: skip
    """kind (m,) ← which of the examples a place is like, example (≤ m,) ← a place of every kind; how many there are."""
    count = 0
    for i in range(len(body)):
        kind[i] = -1
        if case[i] == PLAIN:
            continue
        for k in range(count - 1, max(-1, count - 1 - _LOOK_BACK), -1):
            if _same(case, alpha, body, mass, stiffness, kinetic, i, example[k]):
                kind[i] = k
                break
        if kind[i] < 0:
            kind[i] = count
            example[count] = i
            count += 1
    return count


def _cases(forest: Forest, rows: Rows, special: Indices) -> Indices:
    """The case of every place."""
    mine, fixed = np.diff(rows.upward), np.diff(rows.ground)
    children, below = np.diff(forest.children), np.diff(rows.upward[forest.children])
    odd = np.concatenate([[0], np.cumsum(special >= 0)])[rows.upward]
    mine_odd, below_odd = np.diff(odd), np.diff(odd[forest.children])
    size = rows.row_at[rows.upward]
    # a law on one coordinate, behind the points; everything else has other rows
    mine_law = (mine_odd == 1) & (np.diff(size) == 3 * mine - 2)
    below_law = (below_odd == 1) & (np.diff(size[forest.children]) == 3 * below - 2)
    case = np.full(forest.count, PLAIN)
    for number, (points, own) in enumerate(CASES):
        # with as many children as points below, each has one
        if number != ROPES:
            law = number in DRIVEN
            odd_ones = mine_law & (below_law | (children == 0)) if law else (mine_odd == 0) & (below_odd == 0)
            triples = sum(points) + (law and len(points) > 0)
            fits = (mine == own + law) & (children == len(points)) & (below == triples)
            case[(fixed == 0) & odd_ones & fits] = number
    rope = case == ROPE
    beside = np.bincount(forest.level[rope], minlength=1)
    case[rope] = np.where(beside[forest.level[rope]] >= _SIDE_BY_SIDE, ROPES, ROPE)
    return case


def _split(case: Indices, level: Indices) -> tuple[Indices, Indices]:
    """First place and size of runs of equal cases, at most eight long but for plain ones; cousins share a level."""
    ends = (case[1:] != case[:-1]) | (np.isin(case[1:], COUSINS) & (level[1:] != level[:-1]))
    starts = np.flatnonzero(np.concatenate([[True], ends]))
    lengths = np.diff(np.append(starts, len(case)))
    longest = np.where(case[starts] == PLAIN, lengths, LANES)
    pieces = -(-lengths // longest)
    run = np.repeat(np.arange(len(starts)), pieces)
    number = np.arange(len(run)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    first = starts[run] + number * longest[run]
    size = np.minimum(longest[run], starts[run] + lengths[run] - first)
    return first, size


def _upwards(is_cousins: Flags, level: Indices) -> Indices:
    """The order of chunks on the way up: the last one first, but cousins of one level from the first one on.

    None of those waits for another, and memory is read three times as fast forwards.
    """
    run = np.cumsum(np.concatenate([[True], ~is_cousins[1:] | ~is_cousins[:-1] | (level[1:] != level[:-1])]))
    return np.lexsort((np.arange(len(run)), -run))


class Chunks:
    """The places of a forest in chunks; the module's docstring names the arrays. Without `fast` all are plain."""

    def __init__(
        self, forest: Forest, rows: Rows, weights: Array, compliance: Array, special: Indices, mass: Array,
        stiffness: Array, kinetic: Array, fast: bool = True,
    ) -> None:  # fmt: skip
        m = forest.count
        place_case = _cases(forest, rows, special) if fast and jit_enabled else np.full(m, PLAIN)
        self.first, self.size = _split(place_case, forest.level)
        self.case = place_case[self.first]
        self.upwards = _upwards(np.isin(self.case, COUSINS), forest.level[self.first])
        plain = self.case == PLAIN
        before = np.cumsum(np.where(plain, self.size, 0)) - np.where(plain, self.size, 0)
        self.store = np.where(plain, before, np.cumsum(~plain) - 1)
        self.plain_places, self.fast_chunks = int(self.size[plain].sum()), int((~plain).sum())
        yields = np.concatenate([[0], np.cumsum((compliance != 0.0).any(axis=1))])[rows.upward]
        self.rigid = (yields[self.first] == yields[self.first + self.size]).astype(np.int64)
        lanes = np.minimum(np.arange(LANES), np.minimum(self.size, LANES)[:, None] - 1)
        self.lane = (self.first[:, None] + lanes).ravel()
        triples = np.array([*(sum(children) + own for children, own in CASES), 0])[self.case]
        self.points_at = np.cumsum(3 * LANES * triples) - 3 * LANES * triples
        self.points = aligned(int(3 * LANES * triples.sum()))
        # Y and y of cousins lie in lanes, behind those of the others
        below = np.array([*(sum(children) for children, _ in CASES), 0])[self.case]
        size = np.where(np.isin(self.case, COUSINS), LANES * 12 * below, 0)
        behind = int(rows.y_start[-1])
        self.lanes_at, self.y_size = behind + np.cumsum(size) - size, behind + int(size.sum())
        sorts = BALLS, HINGES, DRIVEN
        self.balls, self.hinges, self.driven = (1 if np.isin(cases, self.case).any() else None for cases in sorts)
        self.laws = self._laws(forest, rows, special)
        alpha = np.zeros((m, _MOST))
        centre = mass[:, 0, 1:] / mass[:, :1, 0]
        for number, (children, own) in enumerate(CASES):
            chosen = self.case == number
            if not chosen.any():
                continue
            at = self.points_at[chosen, None] + np.arange(LANES)
            self._fill(at, self._lanes_of(chosen), sum(children), own, forest, rows, weights, centre, alpha)
        place_kind, example = np.empty(m, np.int64), np.empty(m, np.int64)
        count = _find_kinds(place_case, alpha, forest.body, mass, stiffness, kinetic, place_kind, example)
        self.example = forest.body[example[:count]]
        by_lane = place_kind[self.lane].reshape(-1, LANES)
        self._lane_kinds, known = np.unique(by_lane, axis=0, return_inverse=True)
        self.known = known.reshape(-1)
        self.table = np.zeros((count, CONSTANTS + _MOST))
        self.table[:, CONSTANTS:] = alpha[example[:count]]

    def _lanes_of(self, chosen: Flags) -> Indices:
        return self.lane.reshape(-1, LANES)[chosen]

    def _laws(self, forest: Forest, rows: Rows, special: Indices) -> Indices:
        """The array `laws`: rows of covectors (·, 12) are those of special triples, near and far, of three each."""
        found: Indices = np.zeros((len(self.case), 3, LANES), np.int64)
        chosen = np.isin(self.case, DRIVEN)
        place = self._lanes_of(chosen)
        own = special[rows.upward[place + 1] - 1]
        child = special[rows.upward[forest.children[place + 1]] - 1]  # of leaves it is not asked
        found[chosen] = np.stack([6 * own, 6 * child + 3, 3 * own], axis=1)
        return found.ravel()

    def _fill(
        self, at: Indices, place: Indices, below: int, own: int, forest: Forest, rows: Rows, weights: Array,
        centre: Array, alpha: Array,
    ) -> None:  # fmt: skip
        """Points and α of the chunks of one case; at, place (chunks, 8)."""
        c = centre[forest.body[place]]
        for a in range(below + own):
            if a < below:
                row = weights[rows.upward[forest.children[place]] + a, 1]
            else:
                row = weights[rows.upward[place] + a - below, 0]
            alpha[place, a] = row[..., 0]
            x = row[..., 1:] - row[..., :1] * c
            for i in range(3):
                self.points[at + (3 * a + i) * LANES] = x[..., i]

    def weighed(self, mass: Array, inertia: Array, c: Array, w: Array, stress: Array) -> Array:
        """Tables (k, ·, 8) of constants for the weights c of the kinetic and w, stress of the shape terms (by body)."""
        b = self.example
        table = self.table.copy()
        table[:, 0] = c[b] * mass[b, 0, 0]
        table[:, 1:4] = mass[b, 0, 1:] / mass[b, :1, 0]
        for column, (i, j) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))):
            table[:, 4 + column] = c[b] * inertia[b, i, j]
        table[:, 10] = 4.0 * stress[b]
        table[:, 11] = 8.0 * w[b] + c[b] * np.trace(inertia[b], axis1=1, axis2=2) / 6.0
        tables = aligned(len(self._lane_kinds), table.shape[1], LANES)
        tables[:] = np.swapaxes(table[self._lane_kinds], 1, 2) if len(table) else 0.0
        return tables
