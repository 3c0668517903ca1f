"""Friction, lagged: normal forces, tangents and contact points are those at the start of the step.

    E = μ λ f₀(|u|),   u = u₀ + Tᵀ(x_a − x_b moved since the start of the step) − rolling,   λ = −∂b/∂d (with h²)
    f₀(y) = y for y ≥ ε,  y²(ε − y/3)/ε² + ε/3 below,   ε = eps_velocity · h

x_a and x_b are points of the surfaces: of what has a thickness ξ, so far from the closest points of the cores along n.
Below ε the force grows smoothly from zero: with u₀ = 0 a body at rest creeps by less than eps_velocity; with the u₀
that stick.py remembers it does not. Refreshing λ and T inside a step does not converge; one lag per step does.

Friction against rolling is the same on directions in place of points, ξ = (0, A⁻¹n) on both bodies, with the load cλ: u
is the relative turn across n [rad], and the torque against it is cλ at most, c the lever of rolling friction [m].
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.contact.barrier import barrier
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.kinds import D_HAT, MU, THICKNESS, X0
from dovetail.solver.contact.roll import Turning, move, roll
from dovetail.solver.contact.rows import HessianTerms, set_term
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.kernel import kernel
from dovetail.solver.record import Record, f8, i8, real
from dovetail.typing import Array, Indices

__all__ = [
    "Frictions",
    "add_friction",
    "add_friction_gradient",
    "freeze_friction",
    "friction_energy",
    "friction_slips",
    "mark_bodies",
    "slide_on",
]


_CONE = 0.98  # (|F|/μλ)² from which on a contact slides
_SLIDES = 0.81  # (u₀/ε)² from which on a contact has slid: its force was within 1 % of the cone


class Frictions(Record):
    """Lagged friction, of which the first `count` rows are valid; it grows as needed.

    xi (k, 8)             ξ_a, ξ_b as of the contacts, moved to the surfaces; directions where they resist rolling
    tangent (k, 2, 3)     t₁, t₂
    load (k,)             μλ
    roll (k, 2)           what of the motion along the tangents is rolling [m], see roll.py
    carried (k, 2)        u₀, which the contact begins the step with [m]
    bodies (k, 2)         a, b; −1 for a half-plane
    candidate (k,)        row of the candidates at that time, which `candidates` keeps
    epsilon               ε [m]
    """

    xi: Array = f8(2)
    tangent: Array = f8(3)
    load: Array = f8(1)
    roll: Array = f8(2)
    carried: Array = f8(2)
    bodies: Indices = i8(2)
    candidate: Indices = i8(1)
    epsilon: float = real()

    def __init__(self) -> None:
        self.count = 0
        self.candidates = Candidates.none()
        super().__init__(
            xi=np.empty((0, 8)), tangent=np.empty((0, 2, 3)), load=np.empty(0), roll=np.empty((0, 2)),
            bodies=np.empty((0, 2), np.int64), candidate=np.empty(0, np.int64), carried=np.empty((0, 2)), epsilon=0.0,
        )  # fmt: skip

    def make_room(self, size: int) -> None:
        """Room for so many rows; what was there is lost."""
        if size > len(self.xi):
            size = 2 * size
            self.xi, self.tangent, self.load = np.empty((size, 8)), np.empty((size, 2, 3)), np.empty(size)
            self.roll = np.empty((size, 2))
            self.bodies, self.candidate = np.empty((size, 2), np.int64), np.empty(size, np.int64)
            self.carried = np.empty((size, 2))

    def slips(self, Q_start: Array, Q: Array) -> tuple[Array, float]:
        """Forces on bodies a (count, 3) and the work done against them from Q_start to Q, both times h²."""
        force = np.empty((self.count, 3))
        lost = friction_slips(self, self.count, Q_start, Q, force)
        return force, float(lost)

    def on_bodies(self, Q_start: Array, Q: Array, force: Array, h: float) -> Array:
        """Forces (n, 16) on bodies in a step of length h, by those (count, 3) of contacts, times h²; see `rub`."""
        found = np.zeros((len(Q), 16))
        if self.count:
            rub(self, self.count, h * h, Q_start, Q, force, found)
        return found


@kernel
def mark_bodies(s: ActiveContacts, contacts: int, f: Frictions, frictions: int, out: Indices) -> None:
    """out[b] ← 1 for the bodies of contacts and of friction."""
    for k in range(contacts):
        out[s.bodies[k, 0]] = 1
        if s.bodies[k, 1] >= 0:
            out[s.bodies[k, 1]] = 1
    for k in range(frictions):
        out[f.bodies[k, 0]] = 1
        if f.bodies[k, 1] >= 0:
            out[f.bodies[k, 1]] = 1


@kernel
def freeze_friction(
    s: ActiveContacts, count: int, candidates: Candidates, scene: ContactScene, Q: Array, turning: Turning,
    frictions: Frictions,
) -> int:  # fmt: skip
    """Friction of the active contacts at Q; returns how many rows: those that resist rolling follow their contact."""
    kept, half_thickness, material, rolling = 0, scene.thickness, scene.material, scene.rolling
    for n in range(count):
        k = s.candidate[n]
        mu = candidates.numbers[k, MU]
        squared = s.squared[n]
        d = math.sqrt(squared)
        _, first, _ = barrier(squared, candidates.numbers[k, THICKNESS], candidates.numbers[k, D_HAT])
        normal_force = -2.0 * d * first * s.weight[n] * s.kappa[n]
        a, b = s.bodies[n, 0], s.bodies[n, 1]
        lever = rolling[material[a], material[b] if b >= 0 else scene.plane_material[candidates.pairs[k, X0 + 1]]]
        if not (mu + lever) * normal_force > 0.0:
            continue
        n0, n1, n2 = s.r[n, 0] / d, s.r[n, 1] / d, s.r[n, 2] / d
        # the axis least along n gives a well-conditioned tangent
        if abs(n0) < 0.6:
            t0, t1, t2 = 0.0, n2, -n1
        else:
            t0, t1, t2 = -n2, 0.0, n0
        length = math.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
        t0, t1, t2 = t0 / length, t1 / length, t2 / length
        for part in range(2):
            load = normal_force * (mu if part == 0 else lever)
            if not load > 0.0:
                continue
            d0 = d1 = d2 = 0.0
            for side in range(2):
                body, first, sign = (a, 0, -1.0) if side == 0 else (b, 4, 1.0)
                for i in range(4):
                    frictions.xi[kept, first + i] = s.xi[n, first + i] if part == 0 else 0.0
                if body < 0:
                    continue
                far = sign * half_thickness[body] if part == 0 else 1.0
                if far != 0.0:
                    move(Q, body, far * n0, far * n1, far * n2, frictions.xi, kept, first)
                if part == 0:
                    r0, r1, r2 = roll(turning, body, (n0, n1, n2), far, Q, frictions.xi, kept, first)
                    d0, d1, d2 = d0 - sign * r0, d1 - sign * r1, d2 - sign * r2
            tangent = frictions.tangent[kept]
            tangent[0, 0], tangent[0, 1], tangent[0, 2] = t0, t1, t2
            tangent[1, 0], tangent[1, 1], tangent[1, 2] = n1 * t2 - n2 * t1, n2 * t0 - n0 * t2, n0 * t1 - n1 * t0
            for t in range(2):
                frictions.roll[kept, t] = tangent[t, 0] * d0 + tangent[t, 1] * d1 + tangent[t, 2] * d2
            frictions.load[kept] = load
            frictions.carried[kept, 0] = frictions.carried[kept, 1] = 0.0
            frictions.candidate[kept] = k
            frictions.bodies[kept, 0], frictions.bodies[kept, 1] = a, b
            kept += 1
    return kept


@kernel
def _slip(xi: Array, t: Array, roll: Array, bodies: Indices, k: int, Q: Array, Q_start: Array) -> tuple[float, float]:
    """u − u₀ (2): how far the contact has slid since the start of the step [m]."""
    a, b = bodies[k, 0], bodies[k, 1]
    x = y = z = 0.0
    for i in range(4):
        w = xi[k, i]
        x += w * (Q[a, i, 0] - Q_start[a, i, 0])
        y += w * (Q[a, i, 1] - Q_start[a, i, 1])
        z += w * (Q[a, i, 2] - Q_start[a, i, 2])
        if b >= 0:
            w = xi[k, 4 + i]
            x -= w * (Q[b, i, 0] - Q_start[b, i, 0])
            y -= w * (Q[b, i, 1] - Q_start[b, i, 1])
            z -= w * (Q[b, i, 2] - Q_start[b, i, 2])
    return (
        t[k, 0, 0] * x + t[k, 0, 1] * y + t[k, 0, 2] * z - roll[k, 0],
        t[k, 1, 0] * x + t[k, 1, 1] * y + t[k, 1, 2] * z - roll[k, 1],
    )


@kernel
def slide_on(f: Frictions, count: int, has_memory: bool, Q_before: Array, Q: Array) -> None:
    """carried += what has slid from Q_before to Q, of contacts that slide: a step would go on like that."""
    for k in range(count):
        u, v = f.carried[k, 0], f.carried[k, 1]
        if not has_memory or u * u + v * v > _SLIDES * f.epsilon * f.epsilon:
            du, dv = _slip(f.xi, f.tangent, f.roll, f.bodies, k, Q, Q_before)
            f.carried[k, 0], f.carried[k, 1] = u + du, v + dv


@kernel
def friction_energy(
    f: Frictions, count: int, Q_start: Array, Q: Array, runs: Indices, owner: Indices, E: Array
) -> None:
    """E[owner] += μλ f₀(|u|) where a body runs."""
    epsilon, xi, tangent, bodies, load, carried = f.epsilon, f.xi, f.tangent, f.bodies, f.load, f.carried
    for k in range(count):
        a, b = bodies[k, 0], bodies[k, 1]
        if not (runs[a] or (b >= 0 and runs[b])):
            continue
        m = owner[a] if b < 0 else max(owner[a], owner[b])
        u, v = _slip(xi, tangent, f.roll, bodies, k, Q, Q_start)
        u, v = u + carried[k, 0], v + carried[k, 1]
        y = math.sqrt(u * u + v * v)
        f0 = y if y >= epsilon else y * y * (epsilon - y / 3.0) / (epsilon * epsilon) + epsilon / 3.0
        E[m] += load[k] * f0


@kernel
def friction_slips(f: Frictions, count: int, Q_start: Array, Q: Array, force: Array) -> float:
    """force (k, 3) ← friction force on body a, times h²; returns the work done against it in the step, times h²."""
    lost, epsilon, xi, tangent, bodies = 0.0, f.epsilon, f.xi, f.tangent, f.bodies
    for k in range(count):
        slid, aside = _slip(xi, tangent, f.roll, bodies, k, Q, Q_start)
        u, v = slid + f.carried[k, 0], aside + f.carried[k, 1]
        y = math.sqrt(u * u + v * v)
        f1 = 1.0 / y if y >= epsilon else (2.0 - y / epsilon) / epsilon
        scale = f.load[k] * f1
        lost += scale * (u * slid + v * aside)
        for x in range(3):
            force[k, x] = -scale * (u * f.tangent[k, 0, x] + v * f.tangent[k, 1, x])
    return lost


@kernel
def add_friction_gradient(f: Frictions, count: int, force: Array, g: Array) -> None:
    """g += gradient, of which the forces (k, 3) on bodies a are known."""
    for k in range(count):
        a, b = f.bodies[k, 0], f.bodies[k, 1]
        for i in range(4):
            for x in range(3):
                g[a, 3 * i + x] -= f.xi[k, i] * force[k, x]
                if b >= 0:
                    g[b, 3 * i + x] += f.xi[k, 4 + i] * force[k, x]


@kernel
def rub(f: Frictions, count: int, h2: float, Q_start: Array, Q: Array, force: Array, out: Array) -> None:
    """out (n, 16) += forces of contacts that slide, of which those F (k, 3) on bodies a are known, times h2.

    Twelve numbers are their rows, −F on b; three are Σ d × F, d how far x has gone in the step; the last is how many.
    """
    for k in range(count):
        if force[k, 0] ** 2 + force[k, 1] ** 2 + force[k, 2] ** 2 < _CONE * f.load[k] * f.load[k]:
            continue
        for side in range(1 if f.bodies[k, 1] < 0 else 2):
            b, first, scale = f.bodies[k, side], 4 * side, (1.0 - 2.0 * side) / h2
            F0, F1, F2 = scale * force[k, 0], scale * force[k, 1], scale * force[k, 2]
            d0 = d1 = d2 = 0.0
            for i in range(4):
                w = f.xi[k, first + i]
                d0 += w * (Q[b, i, 0] - Q_start[b, i, 0])
                d1 += w * (Q[b, i, 1] - Q_start[b, i, 1])
                d2 += w * (Q[b, i, 2] - Q_start[b, i, 2])
                out[b, 3 * i] += w * F0
                out[b, 3 * i + 1] += w * F1
                out[b, 3 * i + 2] += w * F2
            out[b, 12] += d1 * F2 - d2 * F1
            out[b, 13] += d2 * F0 - d0 * F2
            out[b, 14] += d0 * F1 - d1 * F0
            out[b, 15] += 1.0


@kernel
def add_friction(
    f: Frictions, count: int, stride: Array, Q_start: Array, Q: Array, active: Indices, g: Array, terms: HessianTerms
) -> int:
    """g += gradient; the Hessian (positive semi-definite by nature) as terms, see rows.py. Returns how many.

    With e = u/|u|: gradient μλ f₁ u, f₁ = f₀′/y; Hessian μλ (f₁ e⊥e⊥ᵀ + f₀″ e eᵀ). Beyond ε the second term is zero: a
    step may then lead far over the point where the slip turns round, and the next one back. As long as the last step
    of a body, stride (n,) [m], could do so, half of f₁ stands in for f₀″; f₁ itself would never lead over it.
    """
    kept, epsilon, xi, tangent, bodies, loads, carried = 0, f.epsilon, f.xi, f.tangent, f.bodies, f.load, f.carried
    for k in range(count):
        a, b = bodies[k, 0], bodies[k, 1]
        if not (active[a] or (b >= 0 and active[b])):
            continue
        u, v = _slip(xi, tangent, f.roll, bodies, k, Q, Q_start)
        u, v = u + carried[k, 0], v + carried[k, 1]
        y = math.sqrt(u * u + v * v)
        load, t = loads[k], tangent[k]
        if y >= epsilon:
            f1, f2 = load / y, 0.0
            if y < max(stride[a], stride[b] if b >= 0 else 0.0):
                f2 = 0.5 * f1
        else:
            f1 = load * (2.0 - y / epsilon) / epsilon
            f2 = load * (2.0 - 2.0 * y / epsilon) / epsilon
        cu, cv = (u / y, v / y) if y > 0.0 else (1.0, 0.0)
        for i in range(4):
            for x in range(3):
                force = f1 * (u * t[0, x] + v * t[1, x])
                g[a, 3 * i + x] += xi[k, i] * force
                if b >= 0:
                    g[b, 3 * i + x] -= xi[k, 4 + i] * force
        # across the slip, then along it
        for direction in range(2):
            stiffness, cs, ct = (f1, -cv, cu) if direction == 0 else (f2, cu, cv)
            if stiffness > 0.0:
                q = math.sqrt(stiffness)
                set_term(
                    terms, kept, xi, k, a, b, q * (cs * t[0, 0] + ct * t[1, 0]), q * (cs * t[0, 1] + ct * t[1, 1]),
                    q * (cs * t[0, 2] + ct * t[1, 2]),
                )  # fmt: skip
                kept += 1
    return kept
