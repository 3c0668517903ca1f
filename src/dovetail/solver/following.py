"""The lag of what touches, body by body: what has pushed in the last step, how that has changed, who follows it.

held.py has the equations; these are its loops. f and w are columns 0 to 5 and 6 to 11 of what pushes (n, 13), forces
and torques of rigid bodies (rigid.py); the last column is in how many contacts friction slides.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.bodies import Bodies
from dovetail.solver.islands import Islands
from dovetail.solver.rigid import rigid, rows_of
from dovetail.typing import Array, Flags, Indices

__all__ = [
    "FADES",
    "FELT",
    "RESTS",
    "RIGID",
    "STILL",
    "SWAYS",
    "compare",
    "follow",
    "judge",
    "lag",
    "remember",
    "stands",
    "twist",
]

FADES = 4.0  # a change of f by a quarter of itself is an impact; chosen by random drops that must not gain energy
FELT = 1e-5  # [m/s] change of a velocity from which on P_c is worth being factored
STILL = 1e-6  # [m, –] change of Q in a step, below which a body without joints stands still
RESTS = 1e-2  # [m/s] speed below which the lag follows a changing load by itself: at rest, Q = Qₙ sets it
SWAYS = 0.05  # (ωh)² of a force that is a spring: bodies that roll or swing have 0.02 at most, towers of boxes 0.1
RIGID = 256.0  # γ − 1 at most: what is left of a spring is nothing by then, and more would cost digits


@kernel
def stands(tied: Indices, held: Flags, lagging: Flags, Q_before: Array, Q: Array) -> bool:
    """Whether no body has joints (tied) or a velocity that was given, and those that are held have stood still."""
    for b in range(len(Q)):
        if tied[b] or (held[b] and not lagging[b]):
            return False
        if held[b]:
            for i in range(4):
                for x in range(3):
                    if not abs(Q[b, i, x] - Q_before[b, i, x]) < STILL:
                        return False
    return True


@kernel
def _measure(bodies: Bodies, u: Array, change: Array, Q_before: Array, Q: Array, sizes: Array) -> None:
    """sizes (6, n) ← ‖u‖²_M, ‖change‖²_M; change, and motion d in the last step, of a corner of its box at most.

    And −⟨change, d⟩_M, ‖d‖²_M.
    """
    mass, half, is_free = bodies.mass, bodies.half, bodies.is_free
    for b in range(len(u)):
        for k in range(6):
            sizes[k, b] = 0.0
        if not is_free[b]:
            continue
        for i in range(4):
            length = moved = 0.0
            for x in range(3):
                length += change[b, i, x] * change[b, i, x]
                d = Q[b, i, x] - Q_before[b, i, x]
                moved += d * d
                for j in range(4):
                    sizes[4, b] -= mass[b, i, j] * change[b, j, x] * d
                    sizes[5, b] += mass[b, i, j] * (Q[b, j, x] - Q_before[b, j, x]) * d
                    sizes[0, b] += mass[b, i, j] * u[b, i, x] * u[b, j, x]
                    sizes[1, b] += mass[b, i, j] * change[b, i, x] * change[b, j, x]
            arm = 1.0 if i == 0 else half[b, i - 1]
            sizes[2, b] += np.sqrt(length) * arm
            sizes[3, b] += np.sqrt(moved) * arm


@kernel
def compare(
    bodies: Bodies, active: Indices, fresh: Flags, Q: Array, A: Array, Q_before: Array, before: Array, rubbing: Array,
    pushed: Array, u: Array, change: Array, sizes: Array,
) -> None:  # fmt: skip
    """pushed ← f and w of the last step, u, change (n, 4, 3) ← rows of f and Δ, sizes (6, n) ← those of `_measure`.

    By its acceleration A, what it began with, `before` (n, 19), and friction that slides (n, 16). f of bodies whose
    velocity was given, `fresh`, is in `pushed`.
    """
    n, mass = len(Q), bodies.mass
    w = np.empty((n, 6))
    for b in range(n):
        for i in range(4):
            for x in range(3):
                u[b, i, x] = 0.0
                for j in range(4):
                    u[b, i, x] += bodies.mass_inverse[b, i, j] * rubbing[b, 3 * j + x]
    rigid(mass, Q, u, w)
    for b in range(n):
        for x in range(6):
            pushed[b, 6 + x] = w[b, x]
        pushed[b, 12] = rubbing[b, 15]
    rigid(mass, Q, A, w)
    for b in range(n):
        share = 0.5 if pushed[b, 12] == before[b, 12] else 0.0  # as many contacts slide
        for x in range(6):
            if not active[b]:
                pushed[b, x] = 0.0
            elif not fresh[b]:
                pushed[b, x] = w[b, x] - before[b, 13 + x]
            w[b, x] = pushed[b, x] - before[b, x] - share * (pushed[b, 6 + x] - before[b, 6 + x])
    rows_of(mass, Q, pushed, u)
    rows_of(mass, Q, w, change)
    _measure(bodies, u, change, Q_before, Q, sizes)


@kernel
def judge(
    s: Islands, sizes: Array, h: float, dt_before: float, active: Indices, phi: Array, rigour: Array,
    follows: Indices, waits: Indices,
) -> bool:  # fmt: skip
    """φ (n,); follows (n,) ← active bodies that are to follow the change, those of islands that move and would feel it.

    rigour (n + 1,) is 1 ← γ of bodies in islands; its end is for what is no body.
    waits (n,) ← those that are to feel it later. Returns whether any follows.
    """
    total = np.zeros((s.count, 6))
    for b in range(len(phi)):
        m = s.of[b]
        if m >= 0:
            total[m, 0] += sizes[0, b]
            total[m, 1] += sizes[1, b]
            total[m, 2] += 1.0 if h * sizes[2, b] >= FELT else 0.0
            total[m, 3] += 1.0 if sizes[3, b] >= RESTS * dt_before else 0.0
            total[m, 4] += sizes[4, b]
            total[m, 5] += sizes[5, b]
    some = False
    for b in range(len(phi)):
        m = s.of[b]
        phi[b] = 0.0
        follows[b] = waits[b] = 0
        if m < 0:
            continue
        ratio = min(FADES * FADES * total[m, 1] / max(total[m, 0], 1e-300), 1.0)
        phi[b] = 1.0 - ratio * ratio
        sway = max(h * h / SWAYS * total[m, 4] / max(total[m, 5], 1e-300), 0.0)
        rigour[b] = 1.0 + min(sway**4, RIGID)
        feels, moves = total[m, 2] > 0.0, total[m, 3] > 0.0
        follows[b] = active[b] if feels and moves and phi[b] > 0.0 else 0
        waits[b] = 1 if moves and not feels else 0
        some = some or follows[b] != 0
    return some


@kernel
def twist(
    mass: Array, inverse: Array, h: float, phi: Array, Q: Array, moved: Array, rubbing: Array, u: Array, V: Array
) -> None:
    """V += M⁻¹(½ℓ × a_k on row k), by body; φ (n,), moved (n, 4, 3): what has led to Q."""
    rows, c = np.zeros((4, 3)), np.zeros(3)
    for b in range(len(Q)):
        if phi[b] == 0.0:
            continue
        m, F = mass[b, 0, 0], rubbing[b]
        l0 = l1 = l2 = 0.0
        for i in range(1, 4):
            for j in range(1, 4):
                S = mass[b, i, j] - mass[b, 0, i] * mass[b, 0, j] / m
                l0 -= S * (u[b, i, 1] * V[b, j, 2] - u[b, i, 2] * V[b, j, 1])
                l1 -= S * (u[b, i, 2] * V[b, j, 0] - u[b, i, 0] * V[b, j, 2])
                l2 -= S * (u[b, i, 0] * V[b, j, 1] - u[b, i, 1] * V[b, j, 0])
        for x in range(3):
            c[x] = moved[b, 0, x]
            for k in range(1, 4):
                c[x] += mass[b, 0, k] / m * moved[b, k, x]
        l0 -= 0.5 / h * (F[12] - (c[1] * F[2] - c[2] * F[1]))
        l1 -= 0.5 / h * (F[13] - (c[2] * F[0] - c[0] * F[2]))
        l2 -= 0.5 / h * (F[14] - (c[0] * F[1] - c[1] * F[0]))
        scale = 0.5 * h * h * phi[b]
        for k in range(1, 4):
            rows[k, 0] = scale * (l1 * Q[b, k, 2] - l2 * Q[b, k, 1])
            rows[k, 1] = scale * (l2 * Q[b, k, 0] - l0 * Q[b, k, 2])
            rows[k, 2] = scale * (l0 * Q[b, k, 1] - l1 * Q[b, k, 0])
        for i in range(4):
            for j in range(1, 4):
                for x in range(3):
                    V[b, i, x] += inverse[b, i, j] * rows[j, x]


@kernel
def lag(mass: Array, chosen: Flags, island: Indices, h: float, a: Array, u: Array, w: Array, V: Array) -> None:
    """V of chosen bodies −= h/2 (u + w), of which no more than the acceleration a (n, 4, 3) by loads can balance u.

    Nothing where a body leaves faster than loads can bring it back in a step. All chosen bodies of an island (n,) take
    the same share, the least of theirs: what pushes one of them pushes another one back.
    """
    n = len(V)
    share = np.ones(n)
    for b in range(n):
        if not chosen[b] or island[b] < 0:
            continue
        loads = pushes = leaves = 0.0
        for i in range(4):
            for j in range(4):
                for x in range(3):
                    leaves += mass[b, i, j] * u[b, i, x] * V[b, j, x]
                    loads += mass[b, i, j] * a[b, i, x] * a[b, j, x]
                    pushes += mass[b, i, j] * u[b, i, x] * u[b, j, x]
        if leaves > h * np.sqrt(loads * pushes):
            share[island[b]] = 0.0
        elif pushes > loads:
            share[island[b]] = min(share[island[b]], np.sqrt(loads / pushes))
    for b in range(n):
        if chosen[b] and island[b] >= 0:
            for i in range(4):
                for x in range(3):
                    V[b, i, x] -= share[island[b]] * 0.5 * h * (u[b, i, x] + w[b, i, x])


@kernel
def follow(
    bodies: Bodies, h: float, phi: Array, waits: Indices, Q: Array, moved: Array, rubbing: Array, before: Array,
    u: Array, y: Array, out: tuple[Array, Array, Array],
) -> None:  # fmt: skip
    """out: V −= hφy and by the twist, half ← ½hφf, pushed ← that of `before` where bodies wait. y may be empty: 0."""
    V, half, pushed = out
    for b in range(len(y)):
        for i in range(4):
            for x in range(3):
                V[b, i, x] -= h * phi[b] * y[b, 3 * i + x]
    twist(bodies.mass, bodies.mass_inverse, h, phi, Q, moved, rubbing, u, V)
    for b in range(len(Q)):
        for i in range(4):
            for x in range(3):
                half[b, i, x] = 0.5 * h * phi[b] * u[b, i, x]
        for x in range(13 if waits[b] else 0):
            pushed[b, x] = before[b, x]


@kernel
def remember(mass: Array, Q: Array, share: float, inner: Array, held: Flags, pushed: Array, out: Array) -> None:
    """out (n, 19) ← what pushes, and a share of what the inner forces (n, 4, 3) of bodies that are held push with."""
    w = np.empty((len(Q), 6))
    rigid(mass, Q, inner, w)
    for b in range(len(Q)):
        for x in range(13):
            out[b, x] = pushed[b, x]
        for x in range(6):
            out[b, 13 + x] = share * w[b, x] if held[b] else 0.0
