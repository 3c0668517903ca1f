"""Bodies at the consistent start of a step: their share of the filter P, and the curvature of their shape constraint.

A stiff shape energy is a constraint G(Q) = AᵀA − 1 = 0 with weight w = h²κV. Its Gauss–Newton Hessian 4w JᵀJ,
J = ∂G/∂Q, resists every change of shape and no rotation; the stress term, which would also weigh rotations, is left
out. The rate J V = 0 has the rate J A + (∂J/∂Q V) V = 0, whose second part is the curvature: on a row a_i

    4w Σ_j 2(v_i·v_j) a_j          (a_i, v_i: rows 1 to 3 of Q and V)

which for a body that turns with ω makes the centripetal acceleration. It is taken along the spin of a velocity, v_i =
ω × a_i with ω by angular momentum.

ARAP, w‖A − R‖² = w‖S − 1‖² with S² = AᵀA, is w/4 ‖G‖² to second order in the strain, so it takes the same form with a
quarter of the weight.

A dual sweep knows the inertia of rotations ω and the stiffness k of strains ε, not what mass couples them by, which is
small beside k. In a start it must not be left out: a body that spins does not begin to strain, and the centripetal ε
gives the gyroscopic torque. So it is put into the right-hand side. With S the second moments in world axes, a force
with the torque τ and the symmetric part n on a body is replaced by one with

    n' = n − sym([ω]×S),  ω = J⁻¹τ       and      τ' = τ − t,  t·ω = tr([ω]× S ε),  ε = n'/k

which moves an uncoupled body as the first one moves the coupled one, but for terms of the order of S/k in ε. Forces in
joints, which the sweep finds, are not replaced: a tree in which S/k is not small is left to the blocks (trees.py).
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.emit import LANES
from dovetail.kernel.kernel import jit_enabled, kernel
from dovetail.solver.assembly.bodies import Weights
from dovetail.solver.bodies import ORTHO, Bodies
from dovetail.solver.body_lanes import start_of_eight, turn_of_eight
from dovetail.solver.contribution import Start
from dovetail.solver.energy.arap import add_arap_gradient
from dovetail.solver.energy.kinetic import add_kinetic_hessian
from dovetail.solver.energy.ortho import add_ortho_gradient, set_gauss_newton
from dovetail.typing import Array, Indices

__all__ = [
    "FAR",
    "FAST",
    "WILD",
    "aim_at_start",
    "aim_of_one",
    "assemble_shapes",
    "close_start",
    "mark_turning",
    "push_ahead",
    "scatter",
    "set_momentum",
    "spin_of",
    "turn_of",
    "turn_of_one",
    "turn_to_acceleration",
]

FAR = 1e6  # by how much what is asked of a sweep is enlarged, so that gaps in the joints, below 1e-6 m, do not count
FAST = 0.2  # [rad] turn in a step, up to which the spin of Vₙ may stand for that of V̂, a hundredth away
WILD = 1.0  # [rad] turn in a step, above which the strain by a spin, which sweeps leave out, counts


@kernel
def _share(k: float, largest_moment: float) -> float:
    """The share x/(1 + x) of the weight k of a shape.

    A stretch has the curvature 2k, so x = 2k over the largest second moment of the mass is ω²h² of the slowest.
    """
    return k * 2.0 * k / (largest_moment + 2.0 * k)


@kernel
def turn_of(mass: Array, Q: Array, b: int, r: Array, S: Array, w: Array) -> None:
    """S (3×3) ← second moments of body b in world axes; w (3) ← ω = J⁻¹τ, τ the torque of r (3×3) on rows 1 to 3."""
    m = mass[b, 0, 0]
    for x in range(3):
        for y in range(3):
            S[x, y] = 0.0
            for i in range(1, 4):
                for j in range(1, 4):
                    S[x, y] += (mass[b, i, j] - mass[b, 0, i] * mass[b, 0, j] / m) * Q[b, i, x] * Q[b, j, y]
    tx = ty = tz = 0.0
    for i in range(3):
        x, y, z = Q[b, 1 + i, 0], Q[b, 1 + i, 1], Q[b, 1 + i, 2]
        tx += y * r[i, 2] - z * r[i, 1]
        ty += z * r[i, 0] - x * r[i, 2]
        tz += x * r[i, 1] - y * r[i, 0]
    xx, yy, zz = S[1, 1] + S[2, 2], S[0, 0] + S[2, 2], S[0, 0] + S[1, 1]
    xy, xz, yz = -S[0, 1], -S[0, 2], -S[1, 2]
    c0, c1, c2 = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    d = 1.0 / (xx * c0 + xy * c1 + xz * c2)
    w[0] = d * (c0 * tx + c1 * ty + c2 * tz)
    w[1] = d * (c1 * tx + (xx * zz - xz * xz) * ty + (xy * xz - xx * yz) * tz)
    w[2] = d * (c2 * tx + (xy * xz - xx * yz) * ty + (xx * yy - xy * xy) * tz)


@kernel
def _weigh(mass: Array, V: Array, b: int, r: Array) -> None:
    """r (3×3) ← moments of the velocity V of body b about its centre of mass, on rows 1 to 3."""
    m = mass[b, 0, 0]
    for i in range(3):
        for x in range(3):
            r[i, x] = 0.0
            for j in range(3):
                S = mass[b, 1 + i, 1 + j] - mass[b, 0, 1 + i] * mass[b, 0, 1 + j] / m
                r[i, x] += S * V[b, 1 + j, x]


@kernel
def spin_of(mass: Array, Q: Array, V: Array, b: int, S: Array, w: Array) -> None:
    """w (3) ← ω of body b, which has the angular momentum of V; S (3×3) ← its second moments in world axes."""
    r = np.empty((3, 3))
    _weigh(mass, V, b, r)
    turn_of(mass, Q, b, r, S, w)


def _uncouple(S: Array, w: Array, k: float, Q: Array, b: int, r: Array) -> None:
    """r (3×3), forces on rows 1 to 3 with J⁻¹τ = w, ← what is to be added to them; see the module's equations."""
    cross = np.zeros((3, 3))
    cross[0, 1], cross[0, 2], cross[1, 2] = -w[2], w[1], -w[0]
    cross[1, 0], cross[2, 0], cross[2, 1] = w[2], -w[1], w[0]
    X, strain, couple = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for x in range(3):
        for y in range(3):
            n = sigma = 0.0
            for i in range(3):
                n += 0.5 * (r[i, x] * Q[b, 1 + i, y] + r[i, y] * Q[b, 1 + i, x])
                sigma += 0.5 * (cross[x, i] * S[i, y] + cross[y, i] * S[i, x])
            X[x, y] = -sigma
            strain[x, y] = (n - sigma) / k
    for x in range(3):
        for y in range(3):
            couple[x, y] = S[x, 0] * strain[0, y] + S[x, 1] * strain[1, y] + S[x, 2] * strain[2, y]
    # ½[t]× has the torque t
    for x in range(3):
        for y in range(3):
            X[x, y] += 0.5 * (couple[x, y] - couple[y, x])
    for i in range(3):
        for x in range(3):
            r[i, x] = X[x, 0] * Q[b, 1 + i, 0] + X[x, 1] * Q[b, 1 + i, 1] + X[x, 2] * Q[b, 1 + i, 2]


def _add_curvature(weight: float, h: float, mass: Array, Q: Array, V: Array, b: int, g: Array, k: int) -> None:
    """g[k] += h² curvature of the shape of body b along the spin of V, which has the angular momentum of V."""
    S, w = np.empty((3, 3)), np.empty(3)
    spin_of(mass, Q, V, b, S, w)
    wx, wy, wz = w[0], w[1], w[2]
    ww = wx * wx + wy * wy + wz * wz
    for i in range(1, 4):
        along = wx * Q[b, i, 0] + wy * Q[b, i, 1] + wz * Q[b, i, 2]
        for j in range(1, 4):
            # (ω × a_i)·(ω × a_j)
            vv = ww * (Q[b, i, 0] * Q[b, j, 0] + Q[b, i, 1] * Q[b, j, 1] + Q[b, i, 2] * Q[b, j, 2])
            vv -= along * (wx * Q[b, j, 0] + wy * Q[b, j, 1] + wz * Q[b, j, 2])
            for x in range(3):
                g[k, 3 * i + x] += 2.0 * h * h * weight * vv * Q[b, j, x]


@kernel
def assemble_shapes(weights: Weights, active: Indices, base: Array, start: Start, g: Array, D: Array) -> None:
    """g ← gradient of the shapes, D ← M + base + Gauss–Newton Hessian, of active bodies; drift ← 0.

    filtered (n,) ← its weight, a share of k = 4w, or w for ARAP.
    """
    bodies, w, Q, filtered = weights.bodies, weights.w, start.Q, start.filtered
    u, v, R = np.zeros((3, 12)), np.zeros((3, 12)), np.empty((3, 3))
    for b in range(len(Q)):
        for i in range(12):
            g[b, i] = start.drift[b, i] = 0.0
        if not active[b]:
            continue
        stiffness = w[b]
        if bodies.model[b] == ORTHO:
            stiffness *= 4.0
            add_ortho_gradient(stiffness, Q, b, g, b)
        else:
            add_arap_gradient(w[b], Q, b, R, g)
        filtered[b] = _share(stiffness, bodies.largest_moment[b])
        set_gauss_newton(filtered[b], Q, b, u, v, base, D)
        add_kinetic_hessian(bodies.mass, 1.0, b, D)


def aim_of_one(
    bodies: Bodies, stiffness: float, filtered: float, h: float, scale: float, a: Array, Q: Array, V: Array, b: int,
    aims: Array, push: Array,
) -> None:  # fmt: skip
    """Aim and push of one body."""
    mass, mass_inverse, g = bodies.mass, bodies.mass_inverse, np.zeros((1, 12))
    add_ortho_gradient(stiffness, Q, b, g, 0)
    _add_curvature(filtered, h, mass, Q, V, b, g, 0)
    r, S, w = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    _weigh(mass, V, b, r)
    turn_of(mass, Q, b, r, S, w)
    soft = 2.0 * filtered + (S[0, 0] + S[1, 1] + S[2, 2]) / 3.0
    _uncouple(S, w, soft, Q, b, r)
    for i in range(4):
        for x in range(3):
            value = V[b, i, x]
            for j in range(1, 4):
                value += mass_inverse[b, i, j] * r[j - 1, x]
            aims[b, i, x] = Q[b, i, x] - scale * value
    for i in range(3):
        share = mass[b, 0, 1 + i] / mass[b, 0, 0]
        for x in range(3):
            # of h²Ma − g, about the centre of mass
            r[i, x] = -g[0, 3 + 3 * i + x]
            for j in range(3):
                r[i, x] += h * h * (mass[b, 1 + i, 1 + j] - share * mass[b, 0, 1 + j]) * a[b, 1 + j, x]
    turn_of(mass, Q, b, r, S, w)
    _uncouple(S, w, soft, Q, b, r)
    for i in range(4):
        for x in range(3):
            value = h * h * a[b, i, x]
            for j in range(1, 4):
                value += mass_inverse[b, i, j] * (r[j - 1, x] - g[0, 3 * j + x])
            push[b, i, x] = value


def turn_of_one(mass: Array, filtered: float, h: float, a: Array, Q: Array, V: Array, b: int, change: Array) -> None:
    """change[b] ← −h² M a + h² curvature of one body."""
    for i in range(4):
        for x in range(3):
            change[b, 3 * i + x] = 0.0
            for j in range(4):
                change[b, 3 * i + x] -= h * h * mass[b, i, j] * a[b, j, x]
    _add_curvature(filtered, h, mass, Q, V, b, change, b)


@kernel
def mark_turning(mechanism: Indices, active: Indices, V: Array, least: float, out: Indices) -> int:
    """out (n,) ← 1 for active bodies of mechanisms in which A of one changes by more than `least` [1/s]; how many."""
    turns, count = np.zeros(len(V), np.bool_), 0
    for b in range(len(V)):
        fastest = 0.0
        for i in range(1, 4):
            for x in range(3):
                fastest = max(fastest, abs(V[b, i, x]))
        if active[b] and not fastest <= least:
            turns[mechanism[b]] = True
    for b in range(len(V)):
        out[b] = 1 if active[b] and turns[mechanism[b]] else 0
        count += out[b]
    return count


@kernel
def _some_act(active: Indices, first: int) -> bool:
    """Whether any of eight bodies is active."""
    acting = 0
    for k in range(first, min(first + LANES, len(active))):
        acting += active[k]
    return acting != 0


@kernel
def aim_at_start(
    weights: Weights, active: Indices, h: float, scale: float, a: Array, Q: Array, V: Array, aims: Array, push: Array
) -> None:
    """aims ← Q − scale · V, push ← h²a − M⁻¹(shapes), of active bodies; aims ← Q and push ← 0 of the others.

    The shapes, all with the OrthoPotential, have their gradient and h² times their curvature. Both are as uncoupled
    bodies need them, see the module's equations.
    """
    bodies = weights.bodies
    stiffness, filtered, lengths = np.empty(len(Q)), np.empty(len(Q)), np.empty(2)
    lengths[0], lengths[1] = h * h, scale
    for b in range(len(Q)):
        stiffness[b] = 4.0 * weights.w[b]
        filtered[b] = _share(stiffness[b], bodies.largest_moment[b])
    mass, last = bodies.mass, len(Q) - 1
    for b in range(0, len(Q) if jit_enabled else 0, LANES):
        if _some_act(active, b):
            start_of_eight(b, last, mass, stiffness, filtered, lengths, a, Q, V, aims, push)
    for b in range(len(Q)):
        if active[b]:
            if not jit_enabled:
                aim_of_one(bodies, stiffness[b], filtered[b], h, scale, a, Q, V, b, aims, push)
            continue
        for i in range(4):
            for x in range(3):
                aims[b, i, x] = Q[b, i, x]
                push[b, i, x] = 0.0


@kernel
def push_ahead(Q: Array, push: Array) -> None:
    """push ← Q + push, which a sweep answers with P⁻¹ M (−push)."""
    for b in range(len(Q)):
        for i in range(4):
            for x in range(3):
                push[b, i, x] += Q[b, i, x]


@kernel
def set_momentum(mass: Array, active: Indices, V: Array, h: float, drift: Array, g: Array) -> None:
    """g ← M V − drift/h, of active bodies: the right-hand side of V̂."""
    for b in range(len(V)):
        if not active[b]:
            continue
        for i in range(4):
            for x in range(3):
                total = 0.0
                for j in range(4):
                    total += mass[b, i, j] * V[b, j, x]
                g[b, 3 * i + x] = total - drift[b, 3 * i + x] / h


@kernel
def turn_to_acceleration(
    mass: Array, active: Indices, filtered: Array, h: float, a: Array, Q: Array, V: Array, g: Array
) -> None:
    """g ← g − h² M a + h² curvature of the shapes along V, of active bodies."""
    change, squared, last = np.empty((len(V), 12)), np.empty(1), len(V) - 1
    squared[0] = h * h
    for b in range(0, len(V) if jit_enabled else 0, LANES):
        if _some_act(active, b):
            turn_of_eight(b, last, mass, filtered, squared, a, Q, V, change)
    for b in range(len(V)):
        if not active[b]:
            continue
        if not jit_enabled:
            turn_of_one(mass, filtered[b], h, a, Q, V, b, change)
        for i in range(12):
            g[b, i] += change[b, i]


@kernel
def scatter(active: Indices, y: Array, scale: float, out: Array) -> None:
    """out[b] ← scale · y[b] for active bodies; the others keep theirs."""
    for b in range(len(y)):
        if active[b]:
            for i in range(4):
                for x in range(3):
                    out[b, i, x] = scale * y[b, 3 * i + x]


@kernel
def close_start(active: Indices, h: float, y: Array, scale: float, a_end: Array, a: Array, inner: Array) -> None:
    """Of active bodies, whose Â is scale · y/h²: a ← Â + a_end, inner ← Â − a_end."""
    for b in range(len(y)):
        if active[b]:
            for i in range(4):
                for x in range(3):
                    A, end = scale * y[b, 3 * i + x] / (h * h), a_end[b, i, x]
                    a[b, i, x] = A + end
                    inner[b, i, x] = A - end
