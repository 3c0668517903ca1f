"""Hinges with laws on their angle: bodies whose joints have one row more, which is linearised in every iteration.

Such a row is a covector a (4×3) on each of its bodies, a force on the rows of Q. About the centre of mass and with the
frame of compliance.py it is

    f = a₀,   τ = Σ r_k × a_k,   N = Σ sym(a_k r_kᵀ)      z = (f, τ, N):  it moves along by z · (dq, ω, ε)

and causes the motion (f/(c m), J⁻¹τ, N/k), half of it off the diagonal, so that rows of points and laws have the
compliances that `sweep.py` says. With seven rows of a joint and one right-hand side, lines of eight are full.
"""

from __future__ import annotations

from typing import Any

from dovetail.kernel.emit import LANES, Emitter, Matrix, Number, Vector3, emitted
from dovetail.kernel.emit_algebra import cross, dot, times
from dovetail.solver.articulated.lanes import Frame, Local, moved_row, put_lines

__all__ = ["local_driven_of", "motion_driven_of"]


def _row(a: Vector3, R: Matrix, centre: Vector3) -> list[Any]:
    """z of a covector (12)."""
    f, z = list(a[:3]), [0.0] * 9
    for i in range(3):
        x = [a[3 + 3 * i + e] - centre[i] * f[e] for e in range(3)]
        r = R[i]
        new = [*cross(r, x), x[0] * r[0], x[1] * r[1], x[2] * r[2], x[0] * r[1] + x[1] * r[0],
               x[0] * r[2] + x[2] * r[0], x[1] * r[2] + x[2] * r[1]]  # fmt: skip
        z = [old + more for old, more in zip(z, new, strict=True)]
    return [*f, *z]


def local_driven_of(children: int) -> Any:
    """Frame and compliances of eight bodies with such a joint to their parents, and with `children` such below."""

    @emitted(
        "body, place, constants, points, at, Q, Q_tilde, frame, frame_at, C, lines, covectors, residual, law, law_at, "
        "far"
    )
    def emit(e: Emitter) -> None:
        body = Local(e, 2 * (children + 1), far=15)
        place = e.index(14)
        covectors = [e.gathered(11, 13, e.plus(place, e.integer(LANES * n))) for n in range(children + 1)]
        z = [_row(a, body.R, body.centre) for a in covectors]
        v = [_motion(body, row) for row in z]
        moved = [[moved_row(u, alpha, x) for alpha, x in zip(body.alphas, body.X, strict=True)] for u in v]
        # below first: points, then the law; a law is (number, None)
        rows: list[tuple[int, int | None]] = []
        for n in reversed(range(children + 1)):
            points = range(2 * (children - n), 2 * (children - n) + 2)
            rows += [*((a, i) for a in points for i in range(3)), (n, None)]

        def value(r: int, s: int) -> Number:
            (a, i), (b, j) = rows[r], rows[s]
            if i is None:
                found = dot(z[a], v[b]) if j is None else moved[a][b][j]
            else:
                found = moved[b][a][i] if j is None else body.compliance(a, i, b, j)
            return found

        gap = e.picked(12, 13, e.plus(place, e.integer(2 * LANES)), 1)[0]
        sides = []
        for a, i in rows:
            along = body.right[a][i] if i is not None else -dot(z[a], body.u)
            sides.append([along + gap if i is None and a == 0 else along])
        put_lines(e, 7 * children, value, sides, C=9, lines=10)

    return emit


def _motion(body: Local, z: Vector3) -> list[Any]:
    """The motion (dq, ω, ε) that a row causes."""
    half = 0.5 * body.soft
    strains = [(body.soft if n < 3 else half) * z[6 + n] for n in range(6)]
    return [*(body.light * z[x] for x in range(3)), *times(body.K, z[3:6]), *strains]


def motion_driven_of(children: int) -> Any:
    """Steps of these bodies, once the forces in their joints are known."""

    @emitted(
        "body, place, constants, points, at, frame, frame_at, caused, c_at, force, child_at, own_at, covectors, law, "
        "law_at, y"
    )
    def emit(e: Emitter) -> None:
        place, law = e.index(1), e.index(14)
        forces = [e.picked(9, 10, place, 7)] if children else []
        forces.append(e.picked(9, 11, place, 7))
        body = Frame(e)
        body.pull(2 * (children + 1), [g for some in forces for g in some[:6]])
        for n, some in enumerate(reversed(forces)):
            z = _row(e.gathered(12, 13, e.plus(law, e.integer(LANES * n))), body.R, body.centre)
            pulls = [some[6] * x for x in z]
            body.add(pulls[:3], pulls[3:6], pulls[6:])
        e.scatter(15, 0, place, body.motion())

    return emit
