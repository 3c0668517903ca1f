"""Eliminations of the joints below one body, as straight lines of code in blocks of three.

The matrix of a body, its compliances and what its children tell, is symmetric; of the joints below it, pivots P are
inverted as 3×3 blocks, M = A P⁻¹ carries the rest, and Y comes from back-substitution. Where a joint has six rows,
these and two right-hand sides fit a register, and rows of the matrix beside the pivots are taken as one number each.

Sizes are fixed when the code is emitted: triples that a body shares with each child, and with its parent.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from dovetail.kernel.emit import LANES, Emitter, Matrix, Memory, Number, emitted
from dovetail.kernel.emit_algebra import difference, dot, full, inverse, product, transposed
from dovetail.solver.articulated.layout import entry, right_side, room_for_second, second_side, stride, upper

__all__ = [
    "Blocks",
    "carry",
    "eliminate_of",
    "eliminate_wide_of",
    "reduced",
    "root_of",
    "solved_columns",
    "substitute_of",
]


Blocks: TypeAlias = dict[tuple[int, int], Matrix]


def reduced(A: Blocks, below: int, triples: int) -> tuple[list[Matrix], Blocks]:
    """P⁻¹ and M of the first triples; the blocks of the others are left as they are after these are eliminated."""
    P: list[Matrix] = []
    M: Blocks = {}
    for p in range(below):
        D = A[p, p]
        P.append(full(inverse([D[0][0], D[1][1], D[2][2], D[0][1], D[0][2], D[1][2]])))
        for b in range(p + 1, triples):
            M[b, p] = product(transposed(A[p, b]), P[p])
        for a in range(p + 1, triples):
            for b in range(a, triples):
                A[a, b] = difference(A[a, b], M[a, p], A[p, b], symmetric=a == b)
    return P, M


def carry(M: Blocks, r: Matrix, below: int) -> None:
    """The same with a right-hand side, triple by triple."""
    for p in range(below):
        for a in range(p + 1, len(r)):
            r[a] = [r[a][i] - dot(M[a, p][i], r[p]) for i in range(3)]


def solved_columns(P: list[Matrix], M: Blocks, r: Matrix, own: int) -> Matrix:
    """Rows of Y, y by back-substitution, after `carry`; with own = 0 of y alone."""
    below = len(P)
    found: dict[int, Matrix] = {}
    for p in range(below - 1, -1, -1):
        rows = [[M[below + b, p][j][i] for b in range(own) for j in range(3)] + [dot(P[p][i], r[p])] for i in range(3)]
        for q in range(p + 1, below):
            update = product(transposed(M[q, p]), found[q])
            rows = [[x - y for x, y in zip(*pair, strict=True)] for pair in zip(rows, update, strict=True)]
        found[p] = rows
    return [row for p in range(below) for row in found[p]]


def eliminate_of(children: tuple[int, ...], own: int) -> Any:
    below = sum(children)
    triples = below + own

    def load(C: Memory, Phis: list[Memory]) -> tuple[Blocks, Matrix]:
        """Blocks a ≤ b of the matrix with what the children tell, and right-hand sides."""
        A = {
            (a, b): [[C.at(entry(triples, a, b, i, j)) for j in range(3)] for i in range(3)]
            for a in range(triples)
            for b in range(a, triples)
        }
        r = [[C.at(right_side(triples, a, i)) for i in range(3)] for a in range(triples)]
        first = 0
        for size, Phi in zip(children, Phis, strict=True):
            width = stride(3 * size)
            for a in range(size):
                for b in range(a, size):
                    for i in range(3):
                        for j in range(i if a == b else 0, 3):
                            value = A[first + a, first + b][i][j] + Phi.at(width * (3 * a + i) + 3 * b + j)
                            A[first + a, first + b][i][j] = value
                            if a == b:
                                A[first + a, first + a][j][i] = value
                for i in range(3):
                    r[first + a][i] = r[first + a][i] + Phi.at(width * (3 * a + i) + 3 * size)
            first += size
        return A, r

    @emitted("C, lane, Phi, child, mine, Y, y_at, compliance, own_at, two, second, theirs, ours")
    def emit(e: Emitter) -> None:
        C = e.scalars(0, e.index(1), LANES)
        A, r = load(C, [e.scalars(2, e.index(3))] if children else [])
        Phi, Y, K = e.scalars(2, e.index(4)), e.scalars(5, e.index(6)), e.scalars(7, e.index(8))
        P, M = reduced(A, below, triples)
        carry(M, r, below)
        width = stride(3 * own)
        for a in range(own):
            for b in range(own):
                block = A[below + a, below + b] if a <= b else transposed(A[below + b, below + a])
                for i in range(3):
                    for j in range(3):
                        value = block[i][j]
                        if a == b and i == j:
                            value = value + K.at(3 * a + i)
                        Phi.put(width * (3 * a + i) + 3 * b + j, value)
            for i in range(3):
                Phi.put(width * (3 * a + i) + 3 * own, r[below + a][i])
        for row, values in enumerate(solved_columns(P, M, r, own)):
            for column, value in enumerate(values):
                Y.put(width * row + column, value)

        def respond() -> list[Number]:
            """The second right-hand side, by the same pivots."""
            theirs, ours = e.scalars(10, e.index(11)), e.scalars(10, e.index(12))
            s = [[C.at(second_side(triples, a, i)) for i in range(3)] for a in range(triples)]
            for p in range(below):
                s[p] = [s[p][i] + theirs.at(3 * p + i) for i in range(3)]
            carry(M, s, below)
            for row, (value,) in enumerate(solved_columns(P, M, s, 0)):
                theirs.put(row, value)
            told = [s[below + a][i] for a in range(own) for i in range(3)]
            for row, value in enumerate(told):
                ours.put(row, value)
            return told

        told = e.when(9, respond)
        if room_for_second(3 * own):
            for i in range(3 * own):
                Phi.put(width * i + 3 * own + 1, told[i])

    return emit


def eliminate_wide_of(below: tuple[int, ...], own: int) -> Any:
    """The same for one child with blocks of these sizes, or none; rows of eight: `own` rows, and right-hand sides."""
    rows = sum(below)
    first = [sum(below[:p]) for p in range(len(below))]

    @emitted("C, lines, lane, Phi, child, mine, Y, y_at, compliance, own_at, two, second, theirs, ours, far")
    def emit(e: Emitter) -> None:
        width, told = stride(own), stride(rows)
        C, child = e.scalars(0, e.index(2), LANES), e.scalars(3, e.index(4))
        lines, weights = e.rows(1, e.times(e.index(2), LANES), LANES * LANES), e.scalars(1, e.times(e.index(2), LANES))
        Phi, Y, K = e.rows(3, e.index(5), width), e.rows(6, e.index(7), width), e.scalars(8, e.index(9))
        S: Matrix = [[None] * rows for _ in range(rows)]
        for r in range(rows):
            for s in range(r, rows):
                S[r][s] = S[s][r] = C.at(upper(rows, r, s)) + child.at(told * r + s)
        A = {
            (a, b): [[S[first[a] + i][first[b] + j] for j in range(below[b])] for i in range(below[a])]
            for a in range(len(below))
            for b in range(a, len(below))
        }
        X = [lines.at(r) for r in range(rows)]
        sides = e.pairs(3, e.plus(e.index(4), e.integer(rows)), told)
        for r in range(rows):
            X[r] = X[r] + (e.last(sides.at(r)) if room_for_second(own) else e.only(own, child.at(told * r + rows)))
        P: list[Matrix] = []
        M: dict[tuple[int, int], Matrix] = {}
        for p in range(len(below)):
            D = A[p, p]
            P.append([[1.0 / D[0][0]]])
            if below[p] == 3:
                P[p] = full(inverse([D[0][0], D[1][1], D[2][2], D[0][1], D[0][2], D[1][2]]))
            for a in range(p + 1, len(below)):
                M[a, p] = product(transposed(A[p, a]), P[p])
                for i in range(below[a]):
                    for j in range(below[p]):
                        X[first[a] + i] = X[first[a] + i] - e.wide(M[a, p][i][j]) * X[first[p] + j]
                for b in range(a, len(below)):
                    A[a, b] = difference(A[a, b], M[a, p], A[p, b], symmetric=a == b)
        solved: list[Any] = [None] * rows
        for p in range(len(below) - 1, -1, -1):
            for i in range(below[p]):
                row = dot([e.wide(x) for x in P[p][i]], X[first[p] : first[p] + below[p]])
                for a in range(p + 1, len(below)):
                    for j in range(below[a]):
                        row = row - e.wide(M[a, p][j][i]) * solved[first[a] + j]
                solved[first[p] + i] = row
        e.put_all(14, Y, dict(enumerate(solved)))
        told_up = []
        for s in range(own):
            row = lines.at(rows + s) + e.only(s, K.at(s))
            for r in range(rows):
                row = row - e.wide(weights.at(LANES * LANES * r + s)) * solved[r]
            Phi.put(s, row)
            told_up.append(row)

        def respond() -> list[Number]:
            theirs, ours = e.scalars(11, e.index(12)), e.scalars(11, e.index(13))
            for r in range(rows):
                theirs.put(r, e.lane(LANES - 1, solved[r]))
            for s in range(own):
                ours.put(s, e.lane(LANES - 1, told_up[s]))
            return []

        if room_for_second(own):
            e.when(10, respond)

    return emit


def root_of(blocks: tuple[int, ...]) -> Any:
    """Φ λ = ρ of a root and fixed bodies, by blocks of these sizes, for two right-hand sides.

    sides (rows, 2) ← λ for ρ; beyond them, by row, ← minors of the pivots, which are all positive if Φ is.
    """
    rows = sum(blocks)
    first = [sum(blocks[:p]) for p in range(len(blocks))]

    @emitted("Phi, mine, sides")
    def emit(e: Emitter) -> None:
        Phi, sides, told = e.scalars(0, e.index(1)), e.scalars(2, e.integer(0)), e.scalars(2, e.integer(2 * rows))
        width = stride(rows)
        A = {
            (a, b): [
                [Phi.at(width * min(first[a] + i, first[b] + j) + max(first[a] + i, first[b] + j)) for j in range(n)]
                for i in range(m)
            ]
            for a, m in enumerate(blocks)
            for b, n in enumerate(blocks)
            if a <= b
        }
        P: list[Matrix] = []
        M: Blocks = {}
        for p, size in enumerate(blocks):
            D = A[p, p]
            told.put(first[p], D[0][0])
            if size == 3:
                P.append(full(inverse([D[0][0], D[1][1], D[2][2], D[0][1], D[0][2], D[1][2]])))
                told.put(first[p] + 1, dot(D[0][:2], [D[1][1], -D[0][1]]))
                told.put(first[p] + 2, P[p][2][2])
            else:
                P.append([[1.0 / D[0][0]]])
            for a in range(p + 1, len(blocks)):
                M[a, p] = product(transposed(A[p, a]), P[p])
                for b in range(a, len(blocks)):
                    A[a, b] = difference(A[a, b], M[a, p], A[p, b], symmetric=a == b)
        for side in range(2):
            r = [[sides.at(2 * (first[p] + i) + side) for i in range(size)] for p, size in enumerate(blocks)]
            for a in range(len(blocks)):
                for p in range(a):
                    r[a] = [r[a][i] - dot(M[a, p][i], r[p]) for i in range(blocks[a])]
            for p in range(len(blocks) - 1, -1, -1):
                r[p] = [dot(row, r[p]) for row in P[p]]
                for a in range(p + 1, len(blocks)):
                    r[p] = [r[p][i] - dot([row[i] for row in M[a, p]], r[a]) for i in range(blocks[p])]
                for i in range(blocks[p]):
                    sides.put(2 * (first[p] + i) + side, r[p][i])

    return emit


def substitute_of(below: int, own: int) -> Any:
    """Forces of so many rows below a body, from those of its own."""

    @emitted("Y, y_at, multiplier, own_at, child_at, two, second")
    def emit(e: Emitter) -> None:
        Y, width = e.scalars(0, e.index(1)), stride(own)

        def substitute(k: int) -> list[Number]:
            mine, theirs = e.scalars(k, e.index(3)), e.scalars(k, e.index(4))
            force = mine.list(0, own)
            for r in range(below):
                value = Y.at(width * r + own) if k == 2 else theirs.at(r)
                for s in range(own):
                    value = value - Y.at(width * r + s) * force[s]
                theirs.put(r, value)
            return []

        substitute(2)
        e.when(5, lambda: substitute(6))

    return emit
