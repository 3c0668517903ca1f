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

from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.record import Record, f8, i8, nested, real
from dovetail.kernel.threads import MOST, Span, chunks, map_chunks
from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.contact.barrier import barrier
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.kinds import D_HAT, MU, THICKNESS, X0
from dovetail.solver.contact.roll import Turning, move, roll
from dovetail.solver.contact.rows import Terms
from dovetail.solver.contact.runs import Pieces, Runs, add_force, by_rows, list_runs, note_run, owner_of
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.contact.secant import foresee, size_by_rests, stiffness
from dovetail.solver.contact.slip import motion, slip
from dovetail.solver.islands import Islands
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = ["Frictions", "energies", "freeze_friction", "friction_terms", "rub", "slide_on", "slips"]

_CONE = 0.98  # (|F|/μλ)² from which on a contact slides
_SLIDES = 0.81  # (u₀/ε)² from which on a contact has slid: its force was within 1 % of the cone
_COST, _COST_TO_FREEZE = 25.0, 100.0  # [ns] of a row, of a contact
_NOWHERE = None, None, 0.0


class Frictions(Record):
    """Lagged friction, of which the first `count` rows are valid; it grows as needed.

    xi (k, 8)             ξ_a, ξ_b as of the contacts, moved to the surfaces; directions where they resist rolling
    tangent (k, 2, 3)     t₁, t₂
    load (k,)             μλ
    roll (k, 2)           what of the motion along the tangents is rolling [m], see roll.py
    carried (k, 2)        u₀, which the contact begins the step with [m]
    aim (k, 2)            slip that the contact is expected to end it with, as far as it sticks [m]; 0: nothing is known
    law (k, 4)            u, f₁ and what stands for f₀″, times μλ, as last assembled
    rest, edge            how far contacts of a run would go on to slide [m], see secant.py
    mass (n,)             of bodies, 0 of fixed ones [kg]
    bodies (k, 2)         a, b; −1 for a half-plane
    candidate (k,)        row of the candidates at that time, which `candidates` keeps
    runs, pieces          rows by body, and how chunks have found them
    epsilon               ε [m]
    """

    xi: Array = f8(2)
    tangent: Array = f8(3)
    load: Array = f8(1)
    roll: Array = f8(2)
    carried: Array = f8(2)
    aim: Array = f8(2)
    law: Array = f8(2)
    rest: Array = f8(1)
    edge: Array = f8(1)
    mass: Array = f8(1)
    bodies: Indices = i8(2)
    candidate: Indices = i8(1)
    runs: Runs = nested(Runs)
    pieces: Pieces = nested(Pieces)
    epsilon: float = real()
    slid: tuple[Array | None, Array | None, float]  # from where to where the forces are known, and the work done

    def __init__(self, mass: Array) -> None:
        self.count, self.in_place = 0, False  # states may be written over by marches: nothing known of them lasts
        self.candidates, self.slid = Candidates.none(), _NOWHERE
        # arrays that stay are known to those who call kernels (threads.py)
        self._force, self._on_bodies, self._first = np.empty((0, 3)), np.empty((len(mass), 16)), np.zeros(2, np.int64)
        super().__init__(
            xi=np.empty((0, 8)), tangent=np.empty((0, 2, 3)), load=np.empty(0), roll=np.empty((0, 2)),
            bodies=np.empty((0, 2), np.int64), candidate=np.empty(0, np.int64), carried=np.empty((0, 2)), epsilon=0.0,
            aim=np.empty((0, 2)), law=np.empty((0, 4)), rest=np.empty(0), edge=np.zeros(MOST), mass=mass,
            runs=Runs(len(mass)), pieces=Pieces(),
        )  # fmt: skip

    def make_room(self, size: int) -> None:
        """Room for so many rows; what was there is lost."""
        if size > len(self.xi):
            self.runs.make_room(size)
            size = 2 * size
            self.xi, self.tangent, self.load = np.empty((size, 8)), np.empty((size, 2, 3)), np.empty(size)
            self.roll, self.carried, self.aim = np.empty((size, 2)), np.empty((size, 2)), np.empty((size, 2))
            self.bodies, self.candidate = np.empty((size, 2), np.int64), np.empty(size, np.int64)
            self.law, self.rest, self._force = np.empty((size, 4)), np.empty(size), np.empty((size, 3))

    def freeze(self, s: ActiveContacts, scene: ContactScene, Q: Array, turning: Turning) -> None:
        """Be the friction of the contacts s at Q."""
        spans = chunks(s.count, _COST_TO_FREEZE)
        size = 2 * s.count if scene.resists_rolling else s.count
        if len(first := self._first) != len(spans) + 1:
            first = self._first = np.zeros(len(spans) + 1, np.int64)
        if len(spans) > 1:
            np.cumsum(map_chunks(_count_friction, spans, s, s.candidates, scene), out=first[1:])
            size = int(first[-1])
        self.make_room(size)
        self.pieces.make_room(size, len(spans))
        self.candidates = s.candidates
        self.count = sum(map_chunks(freeze_friction, spans, s, s.candidates, scene, Q, turning, self, first))
        list_runs(self.pieces, self.count, self.runs)
        self.slid, self.in_place = _NOWHERE, False

    @property
    def pairs(self) -> Indices:
        """The bodies (p, 2) of each run."""
        return self.runs.pairs[: self.runs.number[0] if self.count else 0]

    def add_energy(self, Q_start: Array, Q: Array, runs: Indices, owner: Indices, E: Array) -> None:
        """E[owner] += μλ f₀(|u|) where a body runs."""
        if self.count:
            map_chunks(energies, chunks(len(E), _COST * self.count / len(E)), self, Q_start, Q, runs, owner, E)

    def foresee(self, y: Array, islands: Islands, step_tol: float) -> None:
        """Expect the forces that the step −y (n, 12) leads to; size of islands ← at least what these leave."""
        if self.count:
            spans = chunks(self.count, _COST)
            if any(map_chunks(foresee, spans, self, y, islands.unconverged)):
                size_by_rests(self, self.count, len(spans), islands, step_tol)

    def slips(self, Q_start: Array, Q: Array) -> tuple[Array, float]:
        """Forces on bodies a (count, 3) and the work done against them from Q_start to Q, both times h².

        They are found once, and stay until others are asked for.
        """
        if not self.count:
            return self._force[:0], 0.0
        if self.in_place or not (self.slid[0] is Q_start and self.slid[1] is Q):
            lost = map_chunks(slips, chunks(self.count, _COST), self, Q_start, Q, self._force)
            self.slid = Q_start, Q, float(sum(lost))
        return self._force[: self.count], self.slid[2]

    def arrive(self, Q: Array, state: Array) -> None:
        """What the forces have led to, Q, is now there in another array."""
        if self.slid[1] is Q:
            self.slid = self.slid[0], state, self.slid[2]

    def add_gradient(self, Q_start: Array, Q: Array, g: Array) -> None:
        """g (n, 12) += gradient after a motion from Q_start to Q."""
        if self.count:
            self.slips(Q_start, Q)
            map_chunks(_add_gradient, chunks(len(g), _COST * self.count / len(g)), self, self._force, g)

    def on_bodies(self, Q_start: Array, Q: Array, h: float) -> Array:
        """Forces (n, 16) on bodies in a step of length h from Q_start to Q; see `rub`."""
        found = self._on_bodies
        found.fill(0.0)
        if self.count:
            self.slips(Q_start, Q)
            map_chunks(rub, chunks(len(Q), _COST * self.count / len(Q)), self, h * h, Q_start, Q, self._force, found)
        return found.copy()


@kernel
def _factors(k: int, a: int, b: int, scale: float, candidates: Candidates, scene: ContactScene) -> tuple[float, float]:
    """μ and the lever c of rolling friction of a contact, times m h²κ: where they are 0 there is no friction."""
    other = scene.material[b] if b >= 0 else scene.plane_material[candidates.pairs[k, X0 + 1]]
    return scale * candidates.numbers[k, MU], scale * scene.rolling[scene.material[a], other]


@mapped
def _count_friction(s: ActiveContacts, candidates: Candidates, scene: ContactScene, span: Span) -> int:
    """How many rows `freeze_friction` will make of some contacts."""
    count = 0
    for n in range(span[1], span[2]):
        n = natural(n)
        scale = s.weight[n] * s.kappa[n]
        mu, lever = _factors(natural(s.candidate[n]), s.bodies[n, 0], s.bodies[n, 1], scale, candidates, scene)
        count += (mu > 0.0) + (lever > 0.0)
    return count


@mapped
def freeze_friction(
    s: ActiveContacts, candidates: Candidates, scene: ContactScene, Q: Array, turning: Turning, f: Frictions,
    first: Indices, span: Span,
) -> int:  # fmt: skip
    """Friction of some contacts at Q, from row first[part] on; how many: those that resist rolling follow theirs."""
    part, start, stop = span
    kept, half_thickness, numbers = natural(first[part]), scene.thickness, candidates.numbers
    xi, tangents, rolls, loads, carried = f.xi, f.tangent, f.roll, f.load, f.carried
    bodies, rows, points, gap, candidate = f.bodies, f.candidate, s.xi, s.r, s.candidate
    pieces, piece, one, other = f.pieces, kept - 1, -2, -2
    for n in range(start, stop):
        n = natural(n)
        k, a, b, squared = natural(candidate[n]), natural(s.bodies[n, 0]), s.bodies[n, 1], s.squared[n]
        factors = _factors(k, a, b, s.weight[n] * s.kappa[n], candidates, scene)
        if not (factors[0] > 0.0 or factors[1] > 0.0):
            continue
        if not ((a == one and b == other) or (a == other and b == one)):
            one, other = a, b
            piece += 1
            note_run(pieces, natural(piece), kept, a, b)
        _, slope, _ = barrier(squared, numbers[k, THICKNESS], numbers[k, D_HAT])
        d = math.sqrt(squared)
        n0, n1, n2 = gap[n, 0] / d, gap[n, 1] / d, gap[n, 2] / d
        # the axis least along n gives a well-conditioned tangent
        if abs(n0) < 0.6:
            t0, t1, t2 = 0.0, n2, -n1
        else:
            t0, t1, t2 = -n2, 0.0, n0
        length = math.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
        t0, t1, t2 = t0 / length, t1 / length, t2 / length
        for kind in range(2):
            if not factors[kind] > 0.0:
                continue
            kept, d0, d1, d2 = natural(kept), 0.0, 0.0, 0.0
            for side in range(2):
                body, row, sign = (a, 0, -1.0) if side == 0 else (b, 4, 1.0)
                for i in range(4):
                    xi[kept, row + i] = points[n, row + i] if kind == 0 else 0.0
                if body < 0:
                    continue
                far = sign * half_thickness[body] if kind == 0 else 1.0
                if far != 0.0:
                    move(Q, body, far * n0, far * n1, far * n2, xi, kept, row)
                if kind == 0:
                    r0, r1, r2 = roll(turning, body, (n0, n1, n2), far, Q, xi, kept, row)
                    d0, d1, d2 = d0 - sign * r0, d1 - sign * r1, d2 - sign * r2
            tangent = tangents[kept]
            tangent[0, 0], tangent[0, 1], tangent[0, 2] = t0, t1, t2
            tangent[1, 0], tangent[1, 1], tangent[1, 2] = n1 * t2 - n2 * t1, n2 * t0 - n0 * t2, n0 * t1 - n1 * t0
            for t in range(2):
                rolls[kept, t] = tangent[t, 0] * d0 + tangent[t, 1] * d1 + tangent[t, 2] * d2
            loads[kept] = -2.0 * d * slope * factors[kind]
            carried[kept, 0] = carried[kept, 1] = f.aim[kept, 0] = f.aim[kept, 1] = 0.0
            bodies[kept, 0], bodies[kept, 1], rows[kept] = a, b, k
            kept += 1
    pieces.span[part, 0], pieces.span[part, 1] = first[part], piece + 1
    return kept - first[part]


@kernel
def slide_on(f: Frictions, count: int, has_memory: bool, Q_before: Array, Q: Array) -> None:
    """carried += what has slid from Q_before to Q, of contacts that slide: a step would go on like that.

    aim ← the slip at Q, for a step that begins there: stiffnesses are those of the law itself.
    """
    d = np.empty((8, 3))
    for k in range(count):
        u, v = f.carried[k, 0], f.carried[k, 1]
        if not has_memory or u * u + v * v > _SLIDES * f.epsilon * f.epsilon:
            motion(Q, Q_before, natural(f.bodies[k, 0]), f.bodies[k, 1], d)
            du, dv = slip(f.xi, f.tangent, f.roll, k, d)
            f.carried[k, 0], f.carried[k, 1] = u + du, v + dv
        f.aim[k, 0], f.aim[k, 1] = f.carried[k, 0] - f.roll[k, 0], f.carried[k, 1] - f.roll[k, 1]


@mapped
def energies(f: Frictions, Q_start: Array, Q: Array, runs: Indices, owner: Indices, E: Array, span: Span) -> None:
    """E of some bodies += energies of the rows that they own, where a body runs."""
    epsilon, xi, tangent, bodies, load, carried, roll = f.epsilon, f.xi, f.tangent, f.bodies, f.load, f.carried, f.roll
    begin, of, first, pairs, d = f.runs.start, f.runs.of, f.runs.first, f.runs.pairs, np.empty((8, 3))
    for own in range(by_rows(f.runs, span[1]), by_rows(f.runs, span[2])):
        own = natural(own)
        for e in range(begin[own], begin[own + 1]):
            run = natural(of[natural(e)])
            a, b = natural(pairs[run, 0]), pairs[run, 1]
            if own != owner_of(owner, a, b) or not (runs[a] or (b >= 0 and runs[b])):
                continue
            one = -2
            for k in range(first[run], first[run + 1]):
                k = natural(k)
                if bodies[k, 0] != one:  # either body may be the first
                    one = bodies[k, 0]
                    motion(Q, Q_start, natural(one), bodies[k, 1], d)
                u, v = slip(xi, tangent, roll, k, d)
                u, v = u + carried[k, 0], v + carried[k, 1]
                y = math.sqrt(u * u + v * v)
                f0 = y if y >= epsilon else y * y * (epsilon - y / 3.0) / (epsilon * epsilon) + epsilon / 3.0
                E[own] += load[k] * f0


@mapped
def slips(f: Frictions, Q_start: Array, Q: Array, force: Array, span: Span) -> float:
    """force (k, 3) ← friction force on body a, times h²; returns the work done against it in the step, times h²."""
    lost, epsilon, xi, tangent, bodies = 0.0, f.epsilon, f.xi, f.tangent, f.bodies
    roll, carried, load, d, one, other = f.roll, f.carried, f.load, np.empty((8, 3)), -2, -2
    for k in range(span[1], span[2]):
        k = natural(k)
        if bodies[k, 0] != one or bodies[k, 1] != other:
            one, other = bodies[k, 0], bodies[k, 1]
            motion(Q, Q_start, natural(one), other, d)
        slid, aside = slip(xi, tangent, roll, k, d)
        u, v = slid + carried[k, 0], aside + carried[k, 1]
        y = math.sqrt(u * u + v * v)
        scale = load[k] * (1.0 / y if y >= epsilon else (2.0 - y / epsilon) / epsilon)
        lost += scale * (u * slid + v * aside)
        for x in range(3):
            force[k, x] = -scale * (u * tangent[k, 0, x] + v * tangent[k, 1, x])
    return lost


@mapped
def _add_gradient(f: Frictions, force: Array, g: Array, span: Span) -> None:
    """g += ξ ⊗ −F of some bodies, F (k, 3) on bodies a."""
    start, of, first, xi, bodies = f.runs.start, f.runs.of, f.runs.first, f.xi, f.bodies
    for b in range(by_rows(f.runs, span[1]), by_rows(f.runs, span[2])):
        for e in range(start[b], start[b + 1]):
            for k in range(first[of[e]], first[of[e] + 1]):
                add_force(xi, bodies, natural(k), force, -1.0, b, g)


@mapped
def rub(f: Frictions, h2: float, Q_start: Array, Q: Array, force: Array, out: Array, span: Span) -> None:
    """out (n, 16) += forces on some bodies of contacts that slide; those F (k, 3) on bodies a are known, times h2.

    Twelve numbers are their rows, −F on b; three are Σ d × F, d how far x has gone in the step; the last is how many.
    """
    runs, bodies = f.runs, f.bodies
    for b in range(by_rows(runs, span[1]), by_rows(runs, span[2])):
        for e in range(runs.start[b], runs.start[b + 1]):
            for k in range(runs.first[runs.of[e]], runs.first[runs.of[e] + 1]):
                k = natural(k)
                if force[k, 0] ** 2 + force[k, 1] ** 2 + force[k, 2] ** 2 < _CONE * f.load[k] * f.load[k]:
                    continue
                for side in range(2):
                    if bodies[k, side] != b:
                        continue
                    first, scale = 4 * side, (1.0 - 2.0 * side) / h2
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
def friction_terms(
    f: Frictions, Q_start: Array, Q: Array, active: Indices, start: int, stop: int, terms: Terms
) -> None:
    """Terms of some rows ← gradient and Hessian (positive semi-definite by nature); not where no body is active.

    Gradient μλ f₁ u, f₁ = f₀′/y; Hessian μλ (f₁ e⊥e⊥ᵀ + f₀″ e eᵀ), e = u/|u|, with secants in place of f₀″ (secant.py).
    """
    epsilon, xi, tangent, bodies, carried, aim = f.epsilon, f.xi, f.tangent, f.bodies, f.carried, f.aim
    force, S, roll, law, d, one, other = terms.force, terms.S, f.roll, f.law, np.empty((8, 3)), -2, -2
    for k in range(start, stop):
        k = natural(k)
        a, b = natural(bodies[k, 0]), bodies[k, 1]
        if not (active[a] or (b >= 0 and active[b])):
            continue
        if a != one or b != other:
            one, other = a, b
            motion(Q, Q_start, a, b, d)
        u, v = slip(xi, tangent, roll, k, d)
        u, v = u + carried[k, 0], v + carried[k, 1]
        y = math.sqrt(u * u + v * v)
        f1, f2 = stiffness(f.load[k], epsilon, u, v, aim[k])
        law[k, 0], law[k, 1], law[k, 2], law[k, 3] = u, v, f1, f2
        cu, cv = (u / y, v / y) if y > 0.0 else (1.0, 0.0)
        along, t, push = max(f2, 0.0), tangent[k], f1 * y
        e0, e1, e2 = cu * t[0, 0] + cv * t[1, 0], cu * t[0, 1] + cv * t[1, 1], cu * t[0, 2] + cv * t[1, 2]
        c0, c1, c2 = cu * t[1, 0] - cv * t[0, 0], cu * t[1, 1] - cv * t[0, 1], cu * t[1, 2] - cv * t[0, 2]
        force[k, 0], force[k, 1], force[k, 2] = push * e0, push * e1, push * e2
        # across the slip, and along it
        S[k, 0], S[k, 3] = f1 * c0 * c0 + along * e0 * e0, f1 * c1 * c1 + along * e1 * e1
        S[k, 1], S[k, 4] = f1 * c0 * c1 + along * e0 * e1, f1 * c1 * c2 + along * e1 * e2
        S[k, 2], S[k, 5] = f1 * c0 * c2 + along * e0 * e2, f1 * c2 * c2 + along * e2 * e2
