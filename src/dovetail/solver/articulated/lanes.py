"""The dual sweep in registers: what concerns one body alone for eight of them at once, eliminations as straight lines.

What is computed is what `compliance.py` and `sweep.py` say in loops, for bodies whose joints are weighted points: with
x = R x̄ the image of a point about the centre of mass, a force f at row b moves row a by C_ab f,

    C_ab = α_a α_b/(c m) 1 + [x_a]× J⁻¹ [x_b]×ᵀ + ((x_a·x_b) 1 + x_b x_aᵀ)/(2k)

so no vectors z are formed. Eliminations go by blocks of three. Sizes are fixed when the code is emitted: numbers of
triples that a body shares with its children and with its parent.
"""

from __future__ import annotations

from typing import Any

from numba.extending import intrinsic

from dovetail.solver.articulated.emit import LANES, Emitter, Matrix, Memory, Number, Vector3, emitted
from dovetail.solver.energy.ortho import FLOOR

__all__ = ["CONSTANTS", "FRAME", "eliminate_of", "entries", "local_of", "motion_of", "substitute_of"]

CONSTANTS = 12
"""Per body: c m; centre of mass (3); c(tr(S)1 − S) as xx, yy, zz, xy, xz, yz; 4w; k. The α of its triples follow."""

FRAME = 27
"""Per body, from one sweep to the other: R (9), J⁻¹ (6), motion caused by the body's own gradient (12)."""

_SYMMETRIC = {(0, 0): 0, (1, 1): 1, (2, 2): 2, (0, 1): 3, (1, 0): 3, (0, 2): 4, (2, 0): 4, (1, 2): 5, (2, 1): 5}
_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
_POLAR_SWEEPS = 3


def entries(triples: int) -> int:
    """Numbers in the compliance matrix of a body with its right-hand side."""
    return 6 * triples + 9 * triples * (triples - 1) // 2 + 3 * triples


def _entry(triples: int, a: int, b: int, i: int, j: int) -> int:
    """Place of entry (i, j) of block (a, b) among them: symmetric blocks, then the blocks a < b."""
    if a == b:
        return 6 * a + _SYMMETRIC[i, j]
    if a > b:
        return _entry(triples, b, a, j, i)
    block = a * triples - a * (a + 1) // 2 + b - a - 1
    return 6 * triples + 9 * block + 3 * i + j


def _right(triples: int, a: int, i: int) -> int:
    return entries(triples) - 3 * triples + 3 * a + i


# ---- small algebra -------------------------------------------------------------------------------------------


def _dot(a: Vector3, b: Vector3) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Vector3, b: Vector3) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _inverse(s: Vector3) -> list[Any]:
    """Inverse of a symmetric matrix xx, yy, zz, xy, xz, yz, likewise."""
    x, y, z, xy, xz, yz = s
    c0, c1, c2 = y * z - yz * yz, xz * yz - xy * z, xy * yz - xz * y
    d = 1.0 / (x * c0 + xy * c1 + xz * c2)
    return [c0 * d, (x * z - xz * xz) * d, (x * y - xy * xy) * d, c1 * d, c2 * d, (xy * xz - x * yz) * d]


def _full(s: Vector3) -> Matrix:
    return [[s[_SYMMETRIC[i, j]] for j in range(3)] for i in range(3)]


def _times(s: Vector3, v: Vector3) -> list[Any]:
    """Symmetric matrix times a vector."""
    M = _full(s)
    return [_dot(M[i], v) for i in range(3)]


# ---- one body, in lanes --------------------------------------------------------------------------------------


def _polar(a: Matrix) -> Matrix:
    """Rows of the rotation nearest to the rows a, by X ← ½(X + X⁻ᵀ); enough sweeps for strains up to a tenth."""
    X = a
    for _ in range(_POLAR_SWEEPS):
        C = [_cross(X[1], X[2]), _cross(X[2], X[0]), _cross(X[0], X[1])]
        half = 0.5 / _dot(X[0], C[0])
        X = [[0.5 * X[i][e] + half * C[i][e] for e in range(3)] for i in range(3)]
    return X


def _inertia(R: Matrix, rest: Vector3, stress: Vector3) -> list[Number]:
    """J in world axes as xx … yz: rest turned by R, plus the stress; a tenth of the former is always left."""
    M = _full(rest)
    T = [[M[i][0] * R[0][e] + M[i][1] * R[1][e] + M[i][2] * R[2][e] for e in range(3)] for i in range(3)]
    turned = [R[0][i] * T[0][j] + R[1][i] * T[1][j] + R[2][i] * T[2][j] for i, j in _PAIRS]
    x, y, z, xy, xz, yz = J = [(1.0 - FLOOR) * t + s for t, s in zip(turned, stress, strict=True)]
    minor = x * y - xy * xy
    determinant = x * (y * z - yz * yz) - xy * (xy * z - yz * xz) + xz * (xy * yz - y * xz)
    lowest = (x - xy.size() - xz.size()).least(y - xy.size() - yz.size()).least(z - xz.size() - yz.size())
    shift = x.least(minor).least(determinant).where_positive(0.0, (-lowest).most(0.0))
    J = [j + FLOOR * t for j, t in zip(J, turned, strict=True)]
    return [J[0] + shift, J[1] + shift, J[2] + shift, *J[3:]]


def _moved(u: Vector3, alpha: Number, x: Vector3) -> list[Number]:
    """How a row moves: α dq + ω × x + ε x, with the motion u = (dq, ω, ε)."""
    turn, stretch = _cross(u[3:6], x), _times(u[6:12], x)
    return [alpha * u[i] + turn[i] + stretch[i] for i in range(3)]


def _emit_local(triples: int) -> Any:
    def emit(e: Emitter) -> None:
        # arguments: body, place, constants, points, at, Q, Q_tilde, frame, frame_at, C
        place = e.index(1)
        Q, T = e.gathered(5, 0, place), e.gathered(6, 0, place)
        known, points = e.lanes(2, e.times(place, 0)), e.lanes(3, e.index(4))
        mass, centre, rest, s, k = known.at(0), known.list(1, 3), known.list(4, 6), known.at(10), known.at(11)
        A = [Q[3 + 3 * i : 6 + 3 * i] for i in range(3)]
        d = [q - t for q, t in zip(Q, T, strict=True)]
        D = [d[3 + 3 * i : 6 + 3 * i] for i in range(3)]
        B = [_dot([A[0][i], A[1][i], A[2][i]], [A[0][j], A[1][j], A[2][j]]) for i, j in _PAIRS]
        sB = [s * (b - 1.0) if n < 3 else s * b for n, b in enumerate(B)]
        R = _polar(A)
        stress = [sB[1] + sB[2], sB[0] + sB[2], sB[0] + sB[1], -sB[3], -sB[4], -sB[5]]
        K = _inverse(_inertia(R, rest, stress))
        # gradient about the centre of mass; c S = ½tr(I) − I
        half = 0.5 * (rest[0] + rest[1] + rest[2])
        S = _full([half - rest[0], half - rest[1], half - rest[2], -rest[3], -rest[4], -rest[5]])
        tau: list[Any] = [0.0, 0.0, 0.0]
        N: list[Any] = [0.0] * 6
        for i in range(3):
            pull = _times(sB, A[i])
            g = [S[i][0] * D[0][x] + S[i][1] * D[1][x] + S[i][2] * D[2][x] + pull[x] for x in range(3)]
            turn = _cross(R[i], g)
            tau = [t + x for t, x in zip(tau, turn, strict=True)]
            N = [
                n + (g[x] * R[i][y] if x == y else 0.5 * (g[x] * R[i][y] + g[y] * R[i][x]))
                for n, (x, y) in zip(N, _PAIRS, strict=True)
            ]
        soft = 1.0 / k
        u = [d[x] + _dot(centre, [D[0][x], D[1][x], D[2][x]]) for x in range(3)]
        u += [*_times(K, tau), *(soft * n for n in N)]
        frame = e.lanes(7, e.index(8))
        for number, value in enumerate([*R[0], *R[1], *R[2], *K, *u]):
            frame.put(number, value)
        q = [Q[x] + _dot(centre, [A[0][x], A[1][x], A[2][x]]) for x in range(3)]
        C = e.lanes(9, e.times(place, 0))
        alphas = known.list(CONSTANTS, triples)
        light = 1.0 / mass
        X, turned = [], []
        for a in range(triples):
            x_bar = points.list(3 * a, 3)
            X.append([_dot(x_bar, [R[0][x], R[1][x], R[2][x]]) for x in range(3)])
            image = [alphas[a] * q[x] + _dot(x_bar, [A[0][x], A[1][x], A[2][x]]) for x in range(3)]
            moved = _moved(u, alphas[a], X[a])
            for x in range(3):
                C.put(_right(triples, a, x), image[x] - moved[x])
            # J⁻¹[x]×ᵀ: column y is J⁻¹ (x × e_y)
            x0, x1, x2 = X[a]
            columns = [[0.0, x2, -x1], [-x2, 0.0, x0], [x1, -x0, 0.0]]
            turned.append([_sparse(_full(K), column) for column in columns])
        half_soft = 0.5 * soft
        for a in range(triples):
            for b in range(a, triples):
                both = alphas[a] * alphas[b] * light + half_soft * _dot(X[a], X[b])
                for i in range(3):
                    for j in range(i if a == b else 0, 3):
                        value = _cross(turned[b][j], X[a])[i] + half_soft * (X[b][i] * X[a][j])
                        C.put(_entry(triples, a, b, i, j), value + both if i == j else value)

    return emit


def _sparse(M: Matrix, v: Vector3) -> list[Any]:
    """Matrix times a vector, some entries of which are the Python number 0."""
    out = []
    for row in M:
        total: Any = 0.0
        for m, x in zip(row, v, strict=True):
            if isinstance(x, Number):
                total = total + m * x
        out.append(total)
    return out


def _emit_motion(triples: int, own: int) -> Any:
    def emit(e: Emitter) -> None:
        # arguments: position, place, constants, points, at, frame, frame_at, multiplier, child_at, own_at, y
        place = e.index(1)
        known, points, frame = e.lanes(2, e.times(place, 0)), e.lanes(3, e.index(4)), e.lanes(5, e.index(6))
        R = [frame.list(3 * i, 3) for i in range(3)]
        K, u = frame.list(9, 6), frame.list(15, 12)
        below = triples - own
        force = e.picked(7, 8, place, 3 * below) if below else []
        force += e.picked(7, 9, place, 3 * own)
        alphas, centre = known.list(CONSTANTS, triples), known.list(1, 3)
        f: list[Any] = [0.0] * 3
        tau: list[Any] = [0.0] * 3
        N: list[Any] = [0.0] * 6
        for a in range(triples):
            x_bar, g = points.list(3 * a, 3), force[3 * a : 3 * a + 3]
            x = [_dot(x_bar, [R[0][i], R[1][i], R[2][i]]) for i in range(3)]
            f = [f[i] + alphas[a] * g[i] for i in range(3)]
            tau = [t + c for t, c in zip(tau, _cross(x, g), strict=True)]
            N = [N[0] + g[0] * x[0], N[1] + g[1] * x[1], N[2] + g[2] * x[2], N[3] + (g[0] * x[1] + g[1] * x[0]),
                 N[4] + (g[0] * x[2] + g[2] * x[0]), N[5] + (g[1] * x[2] + g[2] * x[1])]  # fmt: skip
        light, soft = 1.0 / known.at(0), 1.0 / known.at(11)
        dq = [light * f[i] + u[i] for i in range(3)]
        turn = _times(K, tau)
        w = [turn[i] + u[3 + i] for i in range(3)]
        half = 0.5 * soft
        E = [soft * N[i] + u[6 + i] for i in range(3)] + [half * N[i] + u[6 + i] for i in range(3, 6)]
        dA = [[t + s for t, s in zip(_cross(w, R[i]), _times(E, R[i]), strict=True)] for i in range(3)]
        dp = [dq[x] - _dot(centre, [dA[0][x], dA[1][x], dA[2][x]]) for x in range(3)]
        e.scatter(10, 0, place, [*dp, *dA[0], *dA[1], *dA[2]])

    return emit


# ---- one body, scalar ----------------------------------------------------------------------------------------


def _product(A: Matrix, B: Matrix) -> Matrix:
    return [[_dot(A[i], [B[0][j], B[1][j], B[2][j]]) for j in range(len(B[0]))] for i in range(3)]


def _difference(A: Matrix, B: Matrix, C: Matrix, symmetric: bool) -> Matrix:
    """A − B C; of a symmetric result one half is computed."""
    out: Matrix = [[None] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(i if symmetric else 0, 3):
            out[i][j] = A[i][j] - _dot(B[i], [C[0][j], C[1][j], C[2][j]])
            if symmetric:
                out[j][i] = out[i][j]
    return out


def _transposed(A: Matrix) -> Matrix:
    return [list(column) for column in zip(*A, strict=True)]


def _emit_eliminate(children: tuple[int, ...], own: int) -> Any:
    below = sum(children)
    triples = below + own

    def load(C: Memory, Phis: list[Memory]) -> tuple[dict[tuple[int, int], Matrix], list[list[Any]]]:
        """Blocks a ≤ b of the matrix with what the children tell, and right-hand sides."""
        A = {
            (a, b): [[C.at(_entry(triples, a, b, i, j)) for j in range(3)] for i in range(3)]
            for a in range(triples)
            for b in range(a, triples)
        }
        r = [[C.at(_right(triples, a, i)) for i in range(3)] for a in range(triples)]
        first = 0
        for size, Phi in zip(children, Phis, strict=True):
            width = 3 * size + 1
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

    def emit(e: Emitter) -> None:
        # arguments: C, lane, Phi, child0, child1, mine, Y, y_at, compliance, own_at
        C = e.scalars(0, e.index(1), LANES)
        A, r = load(C, [e.scalars(2, e.index(3 + n)) for n in range(len(children))])
        Phi, Y, K = e.scalars(2, e.index(5)), e.scalars(6, e.index(7)), e.scalars(8, e.index(9))
        M: dict[tuple[int, int], Matrix] = {}
        P: list[Matrix] = []
        for p in range(below):
            D = A[p, p]
            P.append(_full(_inverse([D[0][0], D[1][1], D[2][2], D[0][1], D[0][2], D[1][2]])))
            for b in range(p + 1, triples):
                M[b, p] = _product(_transposed(A[p, b]), P[p])
            for a in range(p + 1, triples):
                for b in range(a, triples):
                    A[a, b] = _difference(A[a, b], M[a, p], A[p, b], symmetric=a == b)
                r[a] = [r[a][i] - _dot(M[a, p][i], r[p]) for i in range(3)]
        width = 3 * own + 1
        for a in range(own):
            for b in range(own):
                block = A[below + a, below + b] if a <= b else _transposed(A[below + b, below + a])
                for i in range(3):
                    for j in range(3):
                        value = block[i][j]
                        if a == b and i == j:
                            value = value + K.at(3 * a + i)
                        Phi.put(width * (3 * a + i) + 3 * b + j, value)
            for i in range(3):
                Phi.put(width * (3 * a + i) + 3 * own, r[below + a][i])
        solved: dict[int, Matrix] = {}
        for p in range(below - 1, -1, -1):
            rows = [
                [M[below + b, p][j][i] for b in range(own) for j in range(3)] + [_dot(P[p][i], r[p])] for i in range(3)
            ]
            for q in range(p + 1, below):
                update = _product(_transposed(M[q, p]), solved[q])
                rows = [[rows[i][j] - update[i][j] for j in range(width)] for i in range(3)]
            solved[p] = rows
            for i in range(3):
                for j in range(width):
                    Y.put(width * (3 * p + i) + j, rows[i][j])

    return emit


def _emit_substitute(below: int, own: int) -> Any:
    def emit(e: Emitter) -> None:
        # arguments: Y, y_at, multiplier, own_at, child_at
        Y, mine, theirs = e.scalars(0, e.index(1)), e.scalars(2, e.index(3)), e.scalars(2, e.index(4))
        force = mine.list(0, 3 * own)
        width = 3 * own + 1
        for r in range(3 * below):
            value = Y.at(width * r + 3 * own)
            for s in range(3 * own):
                value = value - Y.at(width * r + s) * force[s]
            theirs.put(r, value)

    return emit


def local_of(triples: int) -> Any:
    emit = _emit_local(triples)
    return intrinsic(
        lambda context, body, place, constants, points, at, Q, Q_tilde, frame, frame_at, C: emitted(
            emit, body, place, constants, points, at, Q, Q_tilde, frame, frame_at, C
        )
    )


def motion_of(triples: int, own: int) -> Any:
    emit = _emit_motion(triples, own)
    return intrinsic(
        lambda context, position, place, constants, points, at, frame, frame_at, multiplier, child_at, own_at, y: (
            emitted(emit, position, place, constants, points, at, frame, frame_at, multiplier, child_at, own_at, y)
        )
    )


def eliminate_of(children: tuple[int, ...], own: int) -> Any:
    emit = _emit_eliminate(children, own)
    return intrinsic(
        lambda context, C, lane, Phi, child0, child1, mine, Y, y_at, compliance, own_at: emitted(
            emit, C, lane, Phi, child0, child1, mine, Y, y_at, compliance, own_at
        )
    )


def substitute_of(below: int, own: int) -> Any:
    emit = _emit_substitute(below, own)
    return intrinsic(
        lambda context, Y, y_at, multiplier, own_at, child_at: emitted(emit, Y, y_at, multiplier, own_at, child_at)
    )
