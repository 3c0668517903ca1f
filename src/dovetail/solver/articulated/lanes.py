"""What concerns one body alone in the dual sweep, for eight bodies at once.

What is computed is what `compliance.py` and `sweep.py` say in loops, for bodies whose joints are weighted points: with
x = R x̄ the image of a point about the centre of mass, a force f at row b moves row a by C_ab f,

    C_ab = α_a α_b/(c m) 1 + [x_a]× J⁻¹ [x_b]×ᵀ + ((x_a·x_b) 1 + x_b x_aᵀ)/(2k)

so no vectors z are formed. The number of triples is fixed when the code is emitted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.kernel.emit import LANES, Emitter, Matrix, Number, Vector3, emitted
from dovetail.kernel.emit_algebra import PAIRS, cross, dot, full, inverse, times
from dovetail.solver.articulated.layout import CONSTANTS, entry, right_side, second_side, upper
from dovetail.solver.body_lanes import polar_of_eight
from dovetail.solver.energy.ortho import FLOOR

__all__ = ["Frame", "Local", "local_of", "motion_of", "moved_by", "moved_row", "put_lines"]

# ---- one body, in lanes --------------------------------------------------------------------------------------


def _inertia(R: Matrix, rest: Vector3, stress: Vector3) -> list[Number]:
    """J in world axes as xx … yz: rest turned by R, plus the stress; a tenth of the former is always left."""
    M = full(rest)
    T = [[M[i][0] * R[0][e] + M[i][1] * R[1][e] + M[i][2] * R[2][e] for e in range(3)] for i in range(3)]
    turned = [R[0][i] * T[0][j] + R[1][i] * T[1][j] + R[2][i] * T[2][j] for i, j in PAIRS]
    x, y, z, xy, xz, yz = J = [(1.0 - FLOOR) * t + s for t, s in zip(turned, stress, strict=True)]
    minor = x * y - xy * xy
    determinant = x * (y * z - yz * yz) - xy * (xy * z - yz * xz) + xz * (xy * yz - y * xz)
    lowest = (x - xy.size() - xz.size()).least(y - xy.size() - yz.size()).least(z - xz.size() - yz.size())
    shift = x.least(minor).least(determinant).where_positive(0.0, (-lowest).most(0.0))
    J = [j + FLOOR * t for j, t in zip(J, turned, strict=True)]
    return [J[0] + shift, J[1] + shift, J[2] + shift, *J[3:]]


def moved_row(u: Vector3, alpha: Number, x: Vector3) -> list[Number]:
    """How a row moves: α dq + ω × x + ε x, with the motion u = (dq, ω, ε)."""
    turn, stretch = cross(u[3:6], x), times(u[6:12], x)
    return [alpha * u[i] + turn[i] + stretch[i] for i in range(3)]


def _own_motion(
    R: Matrix, K: Vector3, soft: Any, centre: Vector3, rest: Vector3, d: Vector3, pull: Matrix | None
) -> list[Any]:
    """u = (dq, ω, ε) that the body's own gradient causes: mass times d (12), and the pull on rows 1 to 3."""
    D = [d[3 + 3 * i : 6 + 3 * i] for i in range(3)]
    # about the centre of mass; c S = ½tr(I) − I
    half = 0.5 * (rest[0] + rest[1] + rest[2])
    S = full([half - rest[0], half - rest[1], half - rest[2], -rest[3], -rest[4], -rest[5]])
    tau: list[Any] = [0.0, 0.0, 0.0]
    N: list[Any] = [0.0] * 6
    for i in range(3):
        g = [S[i][0] * D[0][x] + S[i][1] * D[1][x] + S[i][2] * D[2][x] for x in range(3)]
        if pull is not None:
            g = [g[x] + pull[i][x] for x in range(3)]
        tau = [t + x for t, x in zip(tau, cross(R[i], g), strict=True)]
        N = [
            n + (g[x] * R[i][y] if x == y else 0.5 * (g[x] * R[i][y] + g[y] * R[i][x]))
            for n, (x, y) in zip(N, PAIRS, strict=True)
        ]
    u = [d[x] + dot(centre, [D[0][x], D[1][x], D[2][x]]) for x in range(3)]
    return [*u, *times(K, tau), *(soft * n for n in N)]


class Local:
    """Frame and compliances of eight bodies, in registers; R, J⁻¹ and u are stored for the way back.

    right[a], second[a]    right-hand sides of triple a; the second one is zero unless integer argument `two` is not
    blocks[a, b], a ≤ b    C_ab
    R, K, u, centre        frame, J⁻¹, the motion that the own gradient causes, and c̄
    light, soft            1/(c m), 1/k
    alphas, X              α and x of the triples

    Arguments 0 to 8 are body, place, constants, points, at, Q, Q_tilde, frame, frame_at; push (n, 4, 3) makes the
    second right-hand side, and what it causes is stored in argument `caused`, from the index behind that on. There is
    none where `two` is None.
    """

    def __init__(
        self, e: Emitter, triples: int, far: int, two: int | None = None, push: int = 0, caused: int = 0
    ) -> None:
        place = e.index(1)
        Q, T = e.gathered(5, 0, place), e.gathered(6, 0, place)
        known, points = e.lanes(2, e.times(place, 0)), e.lanes(3, e.index(4))
        mass, centre, rest, s, k = known.at(0), known.list(1, 3), known.list(4, 6), known.at(10), known.at(11)
        A = [Q[3 + 3 * i : 6 + 3 * i] for i in range(3)]
        d = [q - t for q, t in zip(Q, T, strict=True)]
        B = [dot([A[0][i], A[1][i], A[2][i]], [A[0][j], A[1][j], A[2][j]]) for i, j in PAIRS]
        sB = [s * (b - 1.0) if n < 3 else s * b for n, b in enumerate(B)]
        R, _ = polar_of_eight(A)
        stress = [sB[1] + sB[2], sB[0] + sB[2], sB[0] + sB[1], -sB[3], -sB[4], -sB[5]]
        K = inverse(_inertia(R, rest, stress))
        soft = 1.0 / k
        u = _own_motion(R, K, soft, centre, rest, d, [times(sB, A[i]) for i in range(3)])
        frame = e.lanes(7, e.index(8))
        e.put_all(far, frame, dict(enumerate([*R[0], *R[1], *R[2], *K, *u])))
        q = [Q[x] + dot(centre, [A[0][x], A[1][x], A[2][x]]) for x in range(3)]
        alphas = known.list(CONSTANTS, triples)
        X: list[list[Any]] = []
        turned = []
        self.right: list[list[Any]] = []
        images = []
        for a in range(triples):
            x_bar = points.list(3 * a, 3)
            X.append([dot(x_bar, [R[0][x], R[1][x], R[2][x]]) for x in range(3)])
            image = [alphas[a] * q[x] + dot(x_bar, [A[0][x], A[1][x], A[2][x]]) for x in range(3)]
            images.append(image)
            moved = moved_row(u, alphas[a], X[a])
            self.right.append([image[x] - moved[x] for x in range(3)])
            # J⁻¹[x]×ᵀ: column y is J⁻¹ (x × e_y)
            x0, x1, x2 = X[a]
            columns = [[0.0, x2, -x1], [-x2, 0.0, x0], [x1, -x0, 0.0]]
            turned.append([_sparse(full(K), column) for column in columns])

        def respond() -> list[Number]:
            """No pull of shapes, and gaps as forces that close them."""
            v = _own_motion(R, K, soft, centre, rest, e.gathered(push, 0, place), None)
            kept = e.lanes(caused, e.index(caused + 1))
            for number, value in enumerate(v):
                kept.put(number, value)
            moves = [moved_row(v, alphas[a], X[a]) for a in range(triples)]
            return [-images[a][x] - moves[a][x] for a in range(triples) for x in range(3)]

        response = e.when(two, respond) if two is not None else []
        self.second = [response[3 * a : 3 * a + 3] for a in range(triples)]
        light, half_soft = 1.0 / mass, 0.5 * soft
        self.R, self.K, self.u, self.centre, self.light, self.soft = R, K, u, centre, light, soft
        self.alphas, self.X = alphas, X
        self.blocks: dict[tuple[int, int], Matrix] = {}
        for a in range(triples):
            for b in range(a, triples):
                both = alphas[a] * alphas[b] * light + half_soft * dot(X[a], X[b])
                block = self.blocks[a, b] = [[None] * 3 for _ in range(3)]
                for i in range(3):
                    for j in range(i if a == b else 0, 3):
                        value = cross(turned[b][j], X[a])[i] + half_soft * (X[b][i] * X[a][j])
                        block[i][j] = value + both if i == j else value
                        if a == b:
                            block[j][i] = block[i][j]

    def compliance(self, a: int, i: int, b: int, j: int) -> Number:
        """Entry (i, j) of C_ab."""
        return self.blocks[a, b][i][j] if a <= b else self.blocks[b, a][j][i]


def local_of(triples: int, below: int | None = None) -> Any:
    """The same, left in C; with `below`, all beside those triples as lines, see `put_lines`."""

    @emitted("body, place, constants, points, at, Q, Q_tilde, frame, frame_at, C, lines, two, push, caused, c_at, far")
    def emit(e: Emitter) -> None:
        body = Local(e, triples, far=15, two=11, push=12, caused=13)
        C = e.lanes(9, e.times(e.index(1), 0))
        if below is not None:
            rows = [(a, i) for a in range(triples) for i in range(3)]
            sides = [[body.right[a][i], body.second[a][i]] for a, i in rows]
            put_lines(e, 3 * below, lambda r, s: body.compliance(*rows[r], *rows[s]), sides, C=9, lines=10)
            return
        for (a, b), block in body.blocks.items():
            for i in range(3):
                for j in range(i if a == b else 0, 3):
                    C.put(entry(triples, a, b, i, j), block[i][j])
        for a in range(triples):
            for x in range(3):
                C.put(right_side(triples, a, x), body.right[a][x])
                C.put(second_side(triples, a, x), body.second[a][x])

    return emit


def put_lines(
    e: Emitter, below: int, value: Callable[[int, int], Number], sides: list[list[Number]], C: int, lines: int
) -> None:
    """Compliances of rows and their right-hand sides, as `eliminate_wide_of` takes them.

    C ← the upper half of those among the first `below` rows, in lanes; lines ← of every row those with the others and
    its sides, a line for each lane. `value` is that of two rows; arguments C, lines are the arrays.
    """
    zero, count = e.integer(0), len(sides)
    square, whole = e.lanes(C, zero), e.rows(lines, zero, LANES)
    for r in range(below):
        for s in range(r, below):
            square.put(upper(below, r, s), value(r, s))
    for r in range(count):
        line = [value(r, s) for s in range(below, count)] + sides[r]
        for lane, row in enumerate(e.turned(line)):
            whole.put(LANES * r + lane, row)


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


class Frame:
    """Frame of eight bodies as the way up has left it, and the forces that have been gathered on them.

    Arguments 2 to 8 are constants, points, at, frame, frame_at, caused, c_at; the last ones say where u lies.
    """

    def __init__(self, e: Emitter) -> None:
        self.known, self._points = e.lanes(2, e.times(e.index(1), 0)), e.lanes(3, e.index(4))
        frame = e.lanes(5, e.index(6))
        self.R, self.K, self.u = [frame.list(3 * i, 3) for i in range(3)], frame.list(9, 6), e.lanes(7, e.index(8))
        self.centre = self.known.list(1, 3)
        self.f: list[Any] = [0.0] * 3
        self.tau: list[Any] = [0.0] * 3
        self.N: list[Any] = [0.0] * 6

    def pull(self, triples: int, force: Vector3) -> None:
        """Forces on the points of so many triples."""
        alphas, R = self.known.list(CONSTANTS, triples), self.R
        for a in range(triples):
            x_bar, g = self._points.list(3 * a, 3), force[3 * a : 3 * a + 3]
            x = [dot(x_bar, [R[0][i], R[1][i], R[2][i]]) for i in range(3)]
            N = [g[0] * x[0], g[1] * x[1], g[2] * x[2], g[0] * x[1] + g[1] * x[0], g[0] * x[2] + g[2] * x[0],
                 g[1] * x[2] + g[2] * x[1]]  # fmt: skip
            self.add([alphas[a] * g[i] for i in range(3)], cross(x, g), N)

    def add(self, f: Vector3, tau: Vector3, N: Vector3) -> None:
        """A force at the centre of mass, a torque, and what strains."""
        self.f = [a + b for a, b in zip(self.f, f, strict=True)]
        self.tau = [a + b for a, b in zip(self.tau, tau, strict=True)]
        self.N = [a + b for a, b in zip(self.N, N, strict=True)]

    def motion(self) -> list[Any]:
        """The steps (12) under these forces and the own gradient."""
        R, N, u, centre = self.R, self.N, self.u.list(0, 12), self.centre
        light, soft = 1.0 / self.known.at(0), 1.0 / self.known.at(11)
        dq = [light * self.f[i] + u[i] for i in range(3)]
        turn = times(self.K, self.tau)
        w = [turn[i] + u[3 + i] for i in range(3)]
        half = 0.5 * soft
        E = [soft * N[i] + u[6 + i] for i in range(3)] + [half * N[i] + u[6 + i] for i in range(3, 6)]
        dA = [[t + s for t, s in zip(cross(w, R[i]), times(E, R[i]), strict=True)] for i in range(3)]
        dp = [dq[x] - dot(centre, [dA[0][x], dA[1][x], dA[2][x]]) for x in range(3)]
        return [*dp, *dA[0], *dA[1], *dA[2]]


def moved_by(e: Emitter, triples: int, force: Vector3) -> list[Any]:
    """The steps (12) of eight bodies under forces on their triples and their own gradient; arguments as for `Frame`."""
    body = Frame(e)
    body.pull(triples, force)
    return body.motion()


def motion_of(triples: int, own: int) -> Any:
    @emitted("body, place, constants, points, at, frame, frame_at, caused, c_at, force, child_at, own_at, y")
    def emit(e: Emitter) -> None:
        place, below = e.index(1), triples - own
        force = e.picked(9, 10, place, 3 * below) if below else []
        force += e.picked(9, 11, place, 3 * own)
        e.scatter(12, 0, place, moved_by(e, triples, force))

    return emit
