"""The linear system of one Newton iteration: a symmetric matrix of 12×12 blocks, a row for every body that can move.

All arrays are by body; in which order bodies are eliminated is known here and in linear/ alone. A part of the matrix
(bodies that blocks connect) is factored as long as its factor has not many more blocks than itself; else conjugate
gradients solve it, unless it has exact joints, which ask for a factor. Nets (nets.py) have no blocks off the diagonal;
they are factored by the forces in their points.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.kernel.buffers import Pool, aligned
from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8
from dovetail.kernel.threads import FINE, Span, Spans, as_cut, chunks, is_little, map_chunks
from dovetail.solver.islands import components
from dovetail.solver.linear.cholesky import factor, solve
from dovetail.solver.linear.conjugate import System, conjugate_gradients, factor_incompletely
from dovetail.solver.linear.dual import solve_points
from dovetail.solver.linear.ordering import (
    NO_BLOCK,
    Structure,
    by_parts,
    flipped,
    has_some_blocks,
    locate,
    structure_of,
    without_fill,
)
from dovetail.solver.linear.points import Net
from dovetail.solver.linear.separator import separated
from dovetail.solver.natural import natural
from dovetail.typing import Array, Flags, Indices

__all__ = ["Blocks", "clear_resting", "copy_active", "set_to_base"]

# A factor with more than so many blocks per block of the matrix, on more bodies than that, costs more than conjugate
# gradients (benchmarks/linear.py).
_FILL = 2.0
_BODIES = 400

_TOLERANCE = 1e-4  # of conjugate gradients: Newton's method needs no more
_ROUNDS = 500
_COST = 0.06  # [ns] of a multiply–add of the factor
_COST_TO_FIND = 20.0  # [ns] of two bodies, to have their block found
_COST_OF_ROUND = 130.0  # [ns] of a block, in a round of conjugate gradients
_LEAVES = 4  # of these, for two and four threads: more of them have a larger separator
_NONE: Indices = np.zeros((0, 2), np.int64)


@kernel
def _without(active: Indices, some: Indices, others: Indices, out: Indices) -> None:
    """out ← active bodies that are neither among some nor among others."""
    for b in range(len(active)):
        out[b] = active[b] if not (some[b] or others[b]) else 0


@kernel
def copy_active(active: Indices, found: Array, y: Array) -> None:
    """y[b] ← found[b] of active bodies; the others keep theirs."""
    for b in range(len(y)):
        if active[b]:
            for i in range(12):
                y[b, i] = found[b, i]


@kernel
def clear_resting(active: Indices, b: Array) -> None:
    """b ← 0 for bodies that are not active."""
    for k in range(len(active)):
        if not active[k]:
            for i in range(12):
                b[k, i] = 0.0


class Blocks(Record):
    """Gradient, diagonal and off-diagonal blocks on a fixed structure.

    order (m,), position (n,)   bodies in the order of elimination, and where each is in it; −1 for a fixed body
    row_start, column           off-diagonal blocks by place in that order, see linear/ordering.py
    g (n, 12)                   gradient
    D (n, 12, 12)               diagonal blocks (upper triangles), overwritten by the factor
    U (k, 12, 12)               off-diagonal blocks, overwritten by the factor
    R (n, 12)                   reciprocals of the factor's diagonal
    base_D (n, 12, 12), base_U  what never changes between iterations: linear joints, which few blocks have
    base_of (k,)                the block of base_U that a block begins with, −1: with nothing
    in_net (n,)                 1 for bodies that points join, and nothing else
    iterative (n,)              1 for bodies whose part conjugate gradients solve; it must be positive definite
    """

    order: Indices = i8(1)
    position: Indices = i8(1)
    row_start: Indices = i8(1)
    column: Indices = i8(1)
    g: Array = f8(2)
    D: Array = f8(3)
    U: Array = f8(3)
    R: Array = f8(2)
    base_D: Array = f8(3)
    base_U: Array = f8(3)
    base_of: Indices = i8(1)
    in_net: Indices = i8(1)
    iterative: Indices = i8(1)

    def __init__(self, is_fixed: Indices, pairs: Indices | None = None) -> None:
        n = len(is_fixed)
        self._free = np.flatnonzero(np.asarray(is_fixed) == 0)
        self._node = np.full(n, -1)
        self._node[self._free] = np.arange(len(self._free))
        g, none = aligned(n, 12), np.zeros((0, 12, 12))
        g.fill(0.0)
        super().__init__(
            order=self._free, position=self._node.copy(), row_start=np.zeros(len(self._free) + 1, np.int64),
            column=np.zeros(0, np.int64), g=g, D=none, U=none, R=np.zeros((0, 12)), base_D=none, base_U=none,
            base_of=np.zeros(0, np.int64), in_net=np.zeros(n, np.int64), iterative=np.zeros(n, np.int64),
        )  # fmt: skip
        self._pool = Pool()
        self.net: Net | None = None
        self._system: System | None = None
        self.laid_out = self._iterates = self._is_net = False
        self._spans: Sequence[Span] = [(0, 0, 0)]
        self._leaves: Indices = np.zeros(2, np.int64)
        self._rest = np.zeros(n, np.int64)
        if pairs is not None:
            self.restructure(pairs)
            self.U[:] = 0.0

    def restructure(
        self, pairs: Indices, joined: Indices = _NONE, may_iterate: Flags | None = None, always: bool = False
    ) -> None:
        """Lay the blocks out anew for these body pairs (k, 2), of arbitrary contents; base blocks must be filled again.

        joined (t, 2) are the bodies of the points of nets, `add_points` is to follow in the same order. may_iterate
        (n,) says whose part conjugate gradients may solve where that is less work, or `always`.
        """
        n = len(self.position)
        if not self.laid_out:
            self.laid_out = True
            self.D, self.base_D, self.R = np.zeros((n, 12, 12)), np.zeros((n, 12, 12)), np.zeros((n, 12))
        edges = self._node[np.asarray(pairs, np.int64).reshape(-1, 2)]
        edges = edges[(edges >= 0).all(axis=1)]
        structure = structure_of(len(self._free), edges)
        self.iterative[:] = 0
        if may_iterate is not None and may_iterate.any() and (always or len(self._free) > _BODIES):
            structure, chosen, self._leaves = _by_parts(structure, edges, may_iterate[self._free], always)
            self.iterative[self._free[chosen]] = 1
        self._iterates = bool(self.iterative.any())
        structure, self._spans = _cut(structure, self._leaves[0] if self._iterates else len(self._free))
        self.structure = structure
        self.position[self._free] = structure.position
        order = np.empty_like(self._free)
        order[structure.position] = self._free
        self.order, self.row_start, self.column = order, structure.row_start, structure.column
        self.U = self._room(len(structure.column))
        self.base_of = np.full(len(self.U), -1)
        rows, self._system = (order, structure.row_start, structure.column), None
        if self._iterates:
            self._system = System(rows, (self.D, self.U, self.R), self._room(len(self.U)), self._leaves)
        self.in_net[:] = 0
        self.in_net[joined] = 1
        self.in_net[self.position < 0] = 0
        self.net = Net(np.where(self.position[joined] >= 0, joined, -1)) if len(joined) else None
        self._is_net = self.net is not None and bool(self.in_net[self._free].all())  # no rows are left to be factored

    def _room(self, count: int) -> Array:
        """Room for so many blocks, of arbitrary contents."""
        found: Array = self._pool.rows(count, (144, np.float64))[0]
        return found.reshape(count, 12, 12)

    def take_up(self) -> None:
        """Have no blocks any more."""
        self.laid_out = self._iterates = self._is_net = False
        self.net = self._system = None
        self.position[:] = self._node
        self.in_net[:] = self.iterative[:] = 0

    def clear_base(self) -> None:
        """Forget what never changes."""
        self.base_D[:] = 0.0
        self.base_of[:] = -1
        if self.net is not None:
            self.net.clear()

    def have_base(self, block: Indices) -> None:
        """Have blocks of a base for these blocks, in the way of `locate`; they are 0."""
        self.base_U = np.zeros((_number_base(block, self.base_of), 12, 12))

    def add_points(self, left: Indices, right: Indices, W: Array, K: Array) -> None:
        """Add K WᵀW ⊗ I₃ with weights W (k, 8) on pairs of bodies (k,), of those that are in nets."""
        if self.net is not None:
            inside = (self.in_net[left] | self.in_net[right]) != 0
            self.net.add(W[inside], K[inside])

    def locate(self, first: Indices, second: Indices, block: Indices) -> None:
        """block ← off-diagonal blocks of pairs of bodies, see linear/ordering.py."""
        locate(first, second, self.position, self.row_start, self.column, block)

    def has(self, pairs: Indices) -> bool:
        """Whether there is a block for every pair (p, 2) of free bodies."""
        spans = chunks(len(pairs), _COST_TO_FIND)
        return min(map_chunks(has_some_blocks, spans, pairs, self.position, self.row_start, self.column)) == 1

    @property
    def in_one_piece(self) -> bool:
        """Whether rows are factored one after the other, by one thread."""
        return type(self._spans) is not Spans or is_little(1e3 * self._spans.work)

    def iterates(self, active: Indices) -> bool:
        """Whether conjugate gradients solve the part of an active body (n,)."""
        return self._iterates and bool((active * self.iterative).any())

    @property
    def is_plain(self) -> bool:
        """Whether one chunk of a factor is all there is: no nets, no conjugate gradients."""
        return self.net is None and not self._iterates and self.in_one_piece

    def by_factor(self, active: Indices) -> Indices:
        """1 for the active bodies (n,) whose rows are factored in blocks: neither in nets nor iterative."""
        if self.net is None and not self._iterates:
            return active
        _without(active, self.in_net, self.iterative, self._rest)
        return self._rest

    def factor(self, active: Indices) -> int:
        """Factor the rows of active bodies. Returns −1, or a body at which they are not positive definite."""
        bad = -1 if self.net is None else self.net.factor(active, self.D)
        if bad < 0 and not self._is_net:
            rest = self.by_factor(active)
            rows = (self.order, self.row_start, self.column)
            bad = int(max(map_chunks(factor, as_cut(self._spans), *rows, rest, self.D, self.U, self.R)))
        if bad < 0 and self._system is not None and self.iterates(active):
            bad = factor_incompletely(self._system, active * self.iterative)
        return bad

    def solve(self, active: Indices, b: Array, tolerance: float = _TOLERANCE) -> Array:
        """b (n, 12) ← H⁻¹ b of active bodies with the factor in place, 0 for the others.

        The tolerance is that of conjugate gradients.
        """
        if self.net is not None:
            solve_points(self.net, active, self.D, b)
        if self._iterates:
            chosen = active * self.iterative
            if chosen.any():
                self.iterate(chosen, tolerance, _ROUNDS, b)
        if not self._is_net:
            rows = (self.order, self.row_start, self.column)
            map_chunks(solve, as_cut(self._spans), *rows, self.by_factor(active), self.D, self.U, self.R, b)
        clear_resting(active, b)
        return b

    def iterate(self, active: Indices, tolerance: float, most: int, b: Array) -> int:
        """b (n, 12) ← H⁻¹ b of active bodies that are iterative, by so many rounds at most; how many there were."""
        assert self._system is not None
        return conjugate_gradients(self._system, active, tolerance, most, b)


@kernel
def _number_base(block: Indices, base_of: Indices) -> int:
    """base_of ← numbers of the blocks, each once; how many."""
    count = 0
    for k in range(len(block)):
        at = block[k] if block[k] >= 0 else flipped(block[k])
        if block[k] != NO_BLOCK and base_of[at] < 0:
            base_of[at] = count
            count += 1
    return count


@kernel
def set_to_base(blocks: Blocks, start: int, stop: int) -> None:
    """Some blocks U ← what they begin with."""
    U, base, base_of = blocks.U, blocks.base_U, blocks.base_of
    for k in range(start, stop):
        k = natural(k)
        of = base_of[k]
        for i in range(12):
            for j in range(12):
                U[k, i, j] = base[natural(of), i, j] if of >= 0 else 0.0


def _cut(structure: Structure, rows: int) -> tuple[Structure, Sequence[Span]]:
    """The structure part by part, and chunks of whole parts, where factoring its first rows may be work enough."""
    work = structure.work(12)[:rows]
    cost = _COST * float(work.sum())
    parts = len(chunks(rows, cost / (FINE * max(rows, 1)), False))
    if parts == 1:
        return structure, [(0, 0, rows)]
    starts = structure.row_start[: rows + 1]
    pairs = np.stack([np.repeat(np.arange(rows), np.diff(starts)), structure.column[: starts[-1]]], axis=1)
    part = np.full(len(structure.position), rows)
    part[:rows] = components(rows, pairs)
    structure, ends = by_parts(structure, part)
    done = np.cumsum(structure.work(12)[:rows])[ends[ends < rows]]
    last = ends[np.searchsorted(done, done[-1] * np.arange(1, parts + 1) / parts * (1.0 - 1e-12))]
    bounds = np.append(0, np.unique(last) + 1)
    return structure, [(0, 0, rows)] if len(bounds) == 2 else Spans(rows, len(bounds) - 1, 1e-3 * cost, bounds=bounds)


def _by_parts(
    structure: Structure, edges: Indices, may_iterate: Flags, always: bool
) -> tuple[Structure, Indices, Indices]:
    """The structure with the nodes last that conjugate gradients solve, without fill; these, and where leaves begin.

    Where there is none of them, nothing is changed.
    """
    sparse = without_fill(structure, edges)
    part = components(len(may_iterate), edges)
    order = np.argsort(structure.position)
    filled = np.bincount(part[order], np.diff(structure.row_start), len(part))
    given = np.bincount(part[order], np.diff(sparse.row_start), len(part))
    pays = (filled > _FILL * given) & (np.bincount(part, minlength=len(part)) > _BODIES)
    pays |= always
    pays[part[~may_iterate]] = False
    chosen = pays[part]
    nodes, n = np.flatnonzero(chosen), len(chosen)
    if not len(nodes):
        return structure, nodes, np.zeros(0, np.int64)
    inner = edges[chosen[edges[:, 0]]]
    leaves = min(len(chunks(len(inner), _COST_OF_ROUND / FINE, False)), _LEAVES)
    leaf = np.full(n, -1)
    leaf[nodes] = separated(len(nodes), (np.cumsum(chosen) - 1)[inner], leaves) if leaves > 1 else 0
    leaves = int(leaf.max()) if leaves > 1 and leaf.max() > 0 else 1
    position = np.empty(n, np.int64)
    position[np.lexsort((structure.position, leaf))] = np.arange(n)
    rows = np.repeat(np.arange(n), np.diff(structure.row_start))
    factored = np.stack([order[rows], order[structure.column]], axis=1)
    kept = np.concatenate([factored[~chosen[factored[:, 0]]], inner])
    begin = n - len(nodes) + np.searchsorted(np.sort(leaf[nodes]), np.arange(leaves + 1))
    return without_fill(Structure(position, structure.row_start, structure.column), kept), nodes, np.append(begin, n)
