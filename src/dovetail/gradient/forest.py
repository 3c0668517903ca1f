"""Many right-hand sides on a matrix whose bodies form trees, with the exact rows of their joints.

A body i that is eliminated has one later neighbour p at most. With the exact rows J_i x_i + J_p x_p = 0 between them

    A_i x_i + U_i x_p + J_iᵀν = y_i        x_i = P y_i − F x_p,   y_p ← y_p − Fᵀ y_i,   A_p ← A_p − (what is eliminated)

With A_i = RᵀR, J = J_i R⁻¹, J Jᵀ = LᵀL and Û = R⁻ᵀU_i

    B = L⁻ᵀJ,  G = L⁻ᵀJ_p − B Û          P = R⁻¹(1 − BᵀB)R⁻ᵀ,   F = R⁻¹(Û + BᵀG),   A_p ← A_p − ÛᵀÛ + GᵀG

so that nothing is iterated for exact joints, and a right-hand side takes three products of a block.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8
from dovetail.solver.blocks import Blocks
from dovetail.solver.joint.rows import Rows, across
from dovetail.solver.linear.block12 import (
    add_gram,
    cholesky,
    subtract_gram,
    subtract_product,
    upper_transposed_solve_block,
)
from dovetail.solver.linear.ordering import flipped
from dovetail.solver.potential import Potential
from dovetail.typing import Array, Indices

__all__ = ["Forest", "factor_forest", "forest_of", "solve_forest"]

_TRIPLES = 4  # triples of exact rows that fit into a block
_DEPENDENT = 1e-9  # of the rows' mean compliance, added: rows that depend on others ask for nothing


class Forest(Record):
    """Bodies (m,) in the order of elimination.

    order, parent, block (m,)    body, later neighbour (−1 without), and the block of both, see linear/ordering.py
    first (m + 1,), triple       exact triples it is eliminated with: those of slides are counted after all points
    P, F, F_t (n, 12, 12)        −P, F and Fᵀ of bodies
    """

    order: Indices = i8(1)
    parent: Indices = i8(1)
    block: Indices = i8(1)
    first: Indices = i8(1)
    triple: Indices = i8(1)
    P: Array = f8(3)
    F: Array = f8(3)
    F_t: Array = f8(3)


def forest_of(blocks: Blocks, potential: Potential) -> Forest | None:
    """The trees of a matrix; None where bodies form loops, or have exact rows of another kind.

    The last body of a tree is one that is joined to a fixed body, if there is any.
    """
    exact, n = potential.exact, len(blocks.position)
    if (np.diff(blocks.row_start) > 1).any() or (exact is not None and exact.combined.count):
        return None
    beside: dict[int, list[tuple[int, int]]] = {int(b): [] for b in blocks.order}
    for k, b in enumerate(blocks.order.tolist()):
        for s in range(blocks.row_start[k], blocks.row_start[k + 1]):
            other = int(blocks.order[blocks.column[s]])
            beside[b].append((other, s))
            beside[other].append((b, int(flipped(s))))
    held = [rows.pairs[rows.exact :] for rows in (potential.points, potential.slides)]
    pairs = np.concatenate(held)
    grounded = set(pairs[(blocks.position[pairs] < 0).any(axis=1)].ravel().tolist())
    found: dict[int, tuple[int, int]] = {}  # parent and block, from the roots on
    for root in sorted(beside, key=lambda b: b not in grounded):
        todo = [] if root in found else [(root, -1, 0)]
        while todo:
            body, parent, block = todo.pop()
            found[body] = parent, block
            todo += [(other, body, int(flipped(s))) for other, s in beside[body] if other != parent]
    order = list(found)[::-1]
    place, triples = {b: k for k, b in enumerate(order)}, [list[int]() for _ in order]
    first = (potential.points.exact, potential.points.count + potential.slides.exact)
    for start, some in zip(first, held, strict=True):
        for k, pair in enumerate(some.tolist()):
            places = [place[b] for b in pair if b in place]
            if places:
                triples[min(places)].append(start + k)
    counts = [len(each) for each in triples]
    if max(counts, default=0) > _TRIPLES:
        return None
    return Forest(
        order=np.array(order, np.int64), parent=np.array([found[b][0] for b in order], np.int64),
        block=np.array([found[b][1] for b in order], np.int64),
        first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        triple=np.array([k for each in triples for k in each], np.int64), P=np.zeros((n, 12, 12)),
        F=np.zeros((n, 12, 12)), F_t=np.zeros((n, 12, 12)),
    )  # fmt: skip


@kernel
def _set_rows(rows: Rows, k: int, body: int, at: int, J: Array) -> None:
    """J[at : at + 3] (·, 12) ← derivative of C of row k by the Q of one of its bodies."""
    W, m = rows.W, rows.W.shape[1]
    side = 0 if rows.left[k] == body else 4
    pull = np.empty((1, 3))
    for i in range(4):
        for x in range(3):
            for a in range(3):
                pull[0, a] = (W[k, 0, side + i] if a == x else 0.0) if m == 1 else 0.0
            if m == 2:  # δu × v + u × δv, across v
                y, z = (x + 1) % 3, (x + 2) % 3
                first, second = W[k, 0, side + i], W[k, 1, side + i]
                pull[0, y] = second * rows.at[k, z] - first * rows.at[k, 3 + z]
                pull[0, z] = first * rows.at[k, 3 + y] - second * rows.at[k, y]
                across(rows.at, k, pull, 0)
            for a in range(3):
                J[at + a, 3 * i + x] = pull[0, a]


@kernel
def _copy(A: Array, out: Array) -> None:
    for i in range(12):
        for j in range(12):
            out[i, j] = A[i, j]


@kernel
def _set_transposed(A: Array, out: Array) -> None:
    for i in range(12):
        for j in range(12):
            out[i, j] = A[j, i]


@kernel
def factor_forest(f: Forest, points: Rows, slides: Rows, D: Array, U: Array, R: Array) -> int:
    """P, F ← those of the matrix D, U (blocks.py), which is overwritten. −1, or a body that is no minimum of it."""
    zero, one = np.zeros((12, 12)), np.zeros((12, 12))
    for i in range(12):
        one[i, i] = 1.0
    room, r = np.zeros((10, 12, 12)), np.zeros((1, 12))
    UP, INVERSE, ROWS, TURNED, SQUARE, B, G, SHARE, MINUS, OWN = range(10)
    for k in range(len(f.order)):
        body: int = f.order[k]
        parent, block = f.parent[k], f.block[k]
        if not cholesky(D, body, R, body) > 0.0:
            return body
        _copy(one, room[INVERSE])
        upper_transposed_solve_block(D, body, R, body, room, INVERSE)
        if parent < 0:
            _copy(zero, room[UP])
        elif block >= 0:
            _copy(U[block], room[UP])
        else:
            _set_transposed(U[flipped(block)], room[UP])
        upper_transposed_solve_block(D, body, R, body, room, UP)
        if parent >= 0:
            subtract_gram(D, parent, room, UP)
        count = 3 * (f.first[k + 1] - f.first[k])
        if count:
            _copy(zero, room[ROWS])
            _copy(zero, room[G])
            for e in range(f.first[k], f.first[k + 1]):
                t, at = f.triple[e], 3 * (e - f.first[k])
                if t < len(points.left):
                    _set_rows(points, t, body, at, room[ROWS])
                    if parent >= 0 and (points.left[t] == parent or points.right[t] == parent):
                        _set_rows(points, t, parent, at, room[G])
                else:
                    t -= len(points.left)
                    _set_rows(slides, t, body, at, room[ROWS])
                    if parent >= 0 and (slides.left[t] == parent or slides.right[t] == parent):
                        _set_rows(slides, t, parent, at, room[G])
            _set_transposed(room[ROWS], room[TURNED])
            upper_transposed_solve_block(D, body, R, body, room, TURNED)  # Jᵀ
            _copy(zero, room[SQUARE])
            add_gram(room, SQUARE, room, TURNED)
            mean = 0.0
            for i in range(count):
                mean += room[SQUARE, i, i] / count
            for i in range(12):
                room[SQUARE, i, i] += _DEPENDENT * mean if i < count else 1.0
            if not cholesky(room, SQUARE, r, 0) > 0.0:
                return body
            _set_transposed(room[TURNED], room[B])
            upper_transposed_solve_block(room, SQUARE, r, 0, room, B)
            upper_transposed_solve_block(room, SQUARE, r, 0, room, G)
            _set_transposed(room[B], room[TURNED])
            subtract_product(room, G, room, TURNED, room, UP)
            for i in range(12):
                for j in range(12):
                    room[MINUS, i, j] = -room[B, i, j]
            subtract_product(room, UP, room, MINUS, room, G)
            _copy(zero, room[SHARE])
            subtract_product(room, SHARE, room, TURNED, room, INVERSE)
            if parent >= 0:
                add_gram(D, parent, room, G)
        _copy(zero, room[OWN])
        subtract_gram(room, OWN, room, INVERSE)
        if count:
            add_gram(room, OWN, room, SHARE)
        for i in range(12):
            for j in range(12):
                f.P[body, i, j] = room[OWN, min(i, j), max(i, j)]
                room[MINUS, i, j] = -room[INVERSE, i, j]
                f.F[body, i, j] = 0.0
        subtract_product(f.F, body, room, MINUS, room, UP)
        _set_transposed(f.F[body], f.F_t[body])
    return -1


@kernel
def solve_forest(f: Forest, Y: Array, X: Array, filled: Indices) -> None:
    """X (n, 12, 12) ← the solution for the twelve right-hand sides Y, which is overwritten; filled (n,): Y is not 0."""
    for k in range(len(f.order)):
        body, parent = f.order[k], f.parent[k]
        if filled[body] and parent >= 0:
            subtract_product(Y, parent, f.F, body, Y, body)
            filled[parent] = 1
    for k in range(len(f.order) - 1, -1, -1):
        body, parent = f.order[k], f.parent[k]
        for i in range(12):
            for j in range(12):
                X[body, i, j] = 0.0
        if filled[body]:
            subtract_product(X, body, f.P, body, Y, body)
        if parent >= 0:
            subtract_product(X, body, f.F_t, body, X, parent)
