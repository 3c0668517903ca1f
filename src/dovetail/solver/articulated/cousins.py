"""Eight bodies of one level of their trees, joined by a point each: everything about them without leaving registers.

None of them waits for another, so that not only frames and compliances but also eliminations are done eight at a time.
What they read and tell lies where `sweep.py` says; Y and y, which they alone read, lie in lanes.
"""

from __future__ import annotations

from typing import Any

from dovetail.kernel.emit import LANES, Emitter, Memory, Number, emitted
from dovetail.solver.articulated.eliminations import carry, reduced, solved_columns
from dovetail.solver.articulated.lanes import Local, moved_by
from dovetail.solver.articulated.layout import CHILDREN, FIRST_CHILD, JOINT, MOTION, OWN

__all__ = ["down_of", "up_of"]


def up_of(children: int) -> Any:
    @emitted(
        "body, place, constants, points, at, Q, Q_tilde, frame, frame_at, two, push, caused, c_at, Phi, starts, Y, "
        "y_at, soft, compliance, second, far"
    )
    def emit(e: Emitter) -> None:
        triples = children + 1
        body = Local(e, triples, far=20, two=9, push=10, caused=11)
        A, r, s = body.blocks, body.right, body.second
        for a in range(children):
            told = e.listed(13, 14, LANES * (FIRST_CHILD + a), 12)
            for i in range(3):
                for j in range(i, 3):
                    A[a, a][i][j] = A[a, a][j][i] = A[a, a][i][j] + told[4 * i + j]
                r[a][i] = r[a][i] + told[4 * i + 3]
        P, M = reduced(A, children, triples)
        carry(M, r, children)
        yields = e.when(17, lambda: e.listed(18, 14, LANES * JOINT, 3))
        Phi = []
        for i in range(3):
            Phi += [
                A[children, children][i][j] + yields[i] if i == j else A[children, children][i][j] for j in range(3)
            ]
            Phi.append(r[children][i])
        e.put_listed(13, 14, LANES * OWN, Phi)
        Y = e.lanes(15, e.index(16))
        solved = {}
        for row, values in enumerate(solved_columns(P, M, r, 1)):
            for column, value in enumerate(values):
                # y behind all of Y
                solved[3 * row + column if column < 3 else 9 * children + row] = value
        e.put_all(20, Y, solved)

        def respond() -> list[Number]:
            kept = e.lanes(11, e.index(12))
            theirs = e.listed(19, 14, LANES * CHILDREN, 3 * children) if children else []
            for a in range(children):
                s[a] = [s[a][i] + theirs[3 * a + i] for i in range(3)]
            carry(M, s, children)
            for row, (value,) in enumerate(solved_columns(P, M, s, 0)):
                kept.put(MOTION + row, value)
            e.put_listed(19, 14, LANES * JOINT, s[children])
            return []

        e.when(9, respond)

    return emit


def down_of(children: int) -> Any:
    @emitted(
        "body, place, constants, points, at, frame, frame_at, caused, c_at, force, starts, Y, y_at, initial, i_at, y"
    )
    def emit(e: Emitter) -> None:
        own = e.listed(9, 10, LANES * JOINT, 3)
        Y: Memory = e.lanes(11, e.index(12))
        initial: Memory = e.lanes(13, e.index(14))
        below = []
        for row in range(3 * children):
            value = initial.at(row)
            for column in range(3):
                value = value - Y.at(3 * row + column) * own[column]
            below.append(value)
        if children:
            e.put_listed(9, 10, LANES * CHILDREN, below)
        e.scatter(15, 0, e.index(1), moved_by(e, children + 1, [*below, *own]))

    return emit
