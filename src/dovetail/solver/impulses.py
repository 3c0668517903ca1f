"""Impulses at contacts: Newton's law of restitution and Coulomb's law of friction, pair of bodies by pair.

In an island where anything bounces, the pair that approaches fastest collides first, at all of its contacts at once,
until no pair approaches any more. So a row of balls passes a blow on. Elsewhere all contacts of an island collide at
once. A collision changes V by impulses q along n, t₁, t₂ of its contacts,

    qₙ ≥ 0,   vₙ ≥ t,   qₙ (vₙ − t) = 0         ‖q_t‖ ≤ μ qₙ, and = μ qₙ against v_t where that is not 0

found by sweeps of Gauss and Seidel over its contacts. t = e · (speed that they met with) in the first collision of a
pair that meets in this step, e · (speed of approach) in others, 0 where that is slow. Where a pair comes apart again,
what loads have added to its approach after the meeting has no friction: μ acts on the share ρ of qₙ. Friction against
rolling is the same law for directions in place of points (friction.py): a row of its own with the load of the contact
that leads it.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8
from dovetail.typing import Array, Indices

__all__ = ["Impulses", "aim", "bear", "push", "rate", "resolve", "strike", "yielded"]

_EXACT, _SWEEPS = 1e-10, 200  # change of impulses in a sweep, over the largest, that ends sweeps; and their number
_FAIR, _SOME_SWEEPS = 1e-3, 40  # the same for more contacts than _FEW: heaps would need thousands of sweeps
_FEW = 24
_COLLISIONS = 40  # of a pair on average, after which an island is left as it is
_ROUNDS = 4  # of all contacts of an island
_STILL = 1e-4  # speed of approach, over the fastest of the island, that is no collision any more


class Impulses(Record):
    """Contacts of blows (m,), sorted by island and by pair of bodies.

    bodies (m, 2)           a, b; −1 for a half-plane
    leader (m,)             the row itself; of a row of friction against rolling its contact
    xi (m, 8)               weights of rows of Q: the points of both surfaces
    along (m, 9)            n, t₁, t₂
    rows (m, 3, 24)         what the rates of both bodies count with in that of the contact, by direction
    begin (3m + 1,)         where motions by a unit impulse along n, t₁, t₂ of each contact begin in
    moves (r,), motion (r, 12)   which body moves, and its rates
    yields (m, 2)           vₙ by a unit of qₙ; the most of v_t by a unit of q_t
    met (m,)                speed that a contact has met with in the step; 0 where none begins
    restitution, friction (m,)   e; μ, or the lever of friction against rolling
    slow (m,)               speed of approach up to which a collision is plastic
    pair (g + 1,)           the first contact of each pair
    island (c + 1,)         the first pair of each island
    V (n, 12)               rates of all bodies, before and after
    p (m, 3)                impulses
    collided (m,)           1 for contacts that have
    order (3k + 1,)         how many collisions there were; first and last contact of each, and its sweeps
    now (m, 5)              of the present collision: qₙ, q_t1, q_t2, t, ρ
    """

    bodies: Indices = i8(2)
    leader: Indices = i8(1)
    xi: Array = f8(2)
    along: Array = f8(2)
    rows: Array = f8(3)
    begin: Indices = i8(1)
    moves: Indices = i8(1)
    motion: Array = f8(2)
    yields: Array = f8(2)
    met: Array = f8(1)
    restitution: Array = f8(1)
    friction: Array = f8(1)
    slow: Array = f8(1)
    pair: Indices = i8(1)
    island: Indices = i8(1)
    V: Array = f8(2)
    p: Array = f8(2)
    collided: Indices = i8(1)
    order: Indices = i8(1)
    now: Array = f8(2)

    @classmethod
    def of(
        cls, bodies: Indices, xi: Array, along: Array, motions: tuple[Indices, Indices, Array], V: Array,
        **given: Array,
    ) -> Impulses:  # fmt: skip
        """Contacts with motions (begin, moves, motion); the rest of what is given is by its name."""
        begin, moves, motion = motions
        m, g = len(bodies), len(given["pair"]) - 1
        found = cls(
            bodies=bodies, xi=xi, along=along, begin=begin, moves=moves, motion=motion, V=V, yields=np.zeros((m, 2)),
            rows=np.zeros((m, 3, 24)), p=np.zeros((m, 3)), collided=np.zeros(m, np.int64),
            order=np.zeros(3 * _COLLISIONS * g + 1, np.int64), now=np.zeros((m, 5)), **given,
        )  # fmt: skip
        _fill_rows(found)
        _find_yields(found)
        return found


@kernel
def _fill_rows(b: Impulses) -> None:
    """rows ← ± ξ ⊗ direction of every contact."""
    for k in range(len(b.bodies)):
        for d in range(3):
            for i in range(8):
                w = b.xi[k, i] if i < 4 else -b.xi[k, i]
                for x in range(3):
                    b.rows[k, d, 3 * i + x] = w * b.along[k, 3 * d + x]


@kernel
def rate(b: Impulses, k: int, d: int) -> float:
    """Rate of contact k along direction d: body a as seen from body b."""
    total = 0.0
    for side in range(2):
        body = b.bodies[k, side]
        if body >= 0:
            for i in range(12):
                total += b.rows[k, d, 12 * side + i] * b.V[body, i]
    return total


@kernel
def yielded(b: Impulses, k: int, d: int, first: int, last: int) -> float:
    """Rate of contact k along direction d by the rows first … last of the motions."""
    total = 0.0
    for r in range(first, last):
        for side in range(2):
            if b.moves[r] == b.bodies[k, side]:
                for i in range(12):
                    total += b.rows[k, d, 12 * side + i] * b.motion[r, i]
    return total


@kernel
def _find_yields(b: Impulses) -> None:
    for k in range(len(b.bodies)):
        at = b.begin[3 * k : 3 * k + 4]
        if b.leader[k] == k:
            b.yields[k, 0] = yielded(b, k, 0, at[0], at[1])
        one, other = yielded(b, k, 1, at[1], at[2]), yielded(b, k, 2, at[2], at[3])
        both = yielded(b, k, 2, at[1], at[2])
        b.yields[k, 1] = 0.5 * (one + other) + math.sqrt(0.25 * (one - other) ** 2 + both * both)


@kernel
def push(b: Impulses, k: int, d: int, impulse: float) -> None:
    """V += the motion by an impulse of contact k along direction d."""
    for r in range(b.begin[3 * k + d], b.begin[3 * k + d + 1]):
        for i in range(12):
            b.V[b.moves[r], i] += impulse * b.motion[r, i]


@kernel
def aim(b: Impulses, first: int, last: int) -> None:
    """Begin a collision of the contacts first … last: no impulses yet, t and ρ."""
    for k in range(first, last):
        e, met, speed = b.restitution[k], b.met[k], -rate(b, k, 0)
        b.now[k, 0] = b.now[k, 1] = b.now[k, 2] = b.now[k, 3] = 0.0
        b.now[k, 4] = 1.0
        if met > 0.0 and not b.collided[k]:
            b.now[k, 3] = e * met
            if e > 0.0:
                b.now[k, 4] = min((1.0 + e) * met / max(e * met + speed, 1e-300), 1.0)
        elif speed > b.slow[k]:
            b.now[k, 3] = e * speed
        b.collided[k] = 1


@kernel
def strike(b: Impulses, k: int) -> float:
    """The impulses of contact k alone that obey both laws; how much they have changed."""
    q, before, load = b.now[k], (b.now[k, 0], b.now[k, 1], b.now[k, 2]), b.now[b.leader[k]]
    changed = 0.0
    if b.yields[k, 0] > 0.0:
        q[0] = max(q[0] + (q[3] - rate(b, k, 0)) / b.yields[k, 0], 0.0)
        push(b, k, 0, q[0] - before[0])
        changed = abs(q[0] - before[0])
    if b.friction[k] > 0.0 and b.yields[k, 1] > 0.0:
        one, other = q[1] - rate(b, k, 1) / b.yields[k, 1], q[2] - rate(b, k, 2) / b.yields[k, 1]
        size, most = math.sqrt(one * one + other * other), b.friction[k] * load[4] * load[0]
        share = most / size if size > most else 1.0
        q[1], q[2] = share * one, share * other
        push(b, k, 1, q[1] - before[1])
        push(b, k, 2, q[2] - before[2])
        changed = max(changed, abs(q[1] - before[1]), abs(q[2] - before[2]))
    return changed


@kernel
def _collide(b: Impulses, first: int, last: int) -> int:
    """Impulses of the contacts first … last together; how many sweeps they took."""
    close, most = (_EXACT, _SWEEPS) if last - first <= _FEW else (_FAIR, _SOME_SWEEPS)
    for sweep in range(most):
        changed = largest = 0.0
        for k in range(first, last):
            changed = max(changed, strike(b, k))
            largest = max(largest, abs(b.now[k, 0]))
        if changed <= close * largest:
            return sweep + 1
    return most


@kernel
def _fastest(b: Impulses, first: int, last: int, least: float) -> tuple[int, float]:
    """The pair from first on that approaches fastest, −1 if none does by more than `least`; and how fast."""
    found = -1
    for g in range(first, last):
        for k in range(b.pair[g], b.pair[g + 1]):
            speed = -rate(b, k, 0)
            if speed > least and b.yields[k, 0] > 0.0:
                found, least = g, speed
    return found, least


@kernel
def _bounces(b: Impulses, c: int) -> bool:
    """Whether anything in island c has a restitution."""
    most = 0.0
    for k in range(b.pair[b.island[c]], b.pair[b.island[c + 1]]):
        most = max(most, b.restitution[k])
    return most > 0.0


@kernel
def resolve(b: Impulses) -> None:
    """V, p ← those after all collisions."""
    done = 0
    for c in range(len(b.island) - 1):
        first, last = b.island[c], b.island[c + 1]
        bounces = _bounces(b, c)
        g, fastest = _fastest(b, first, last, 0.0)
        for _ in range(_COLLISIONS * (last - first) if bounces else _ROUNDS):
            if g < 0:
                break
            start, stop = (b.pair[g], b.pair[g + 1]) if bounces else (b.pair[first], b.pair[last])
            aim(b, start, stop)
            b.order[3 * done + 1], b.order[3 * done + 2], b.order[3 * done + 3] = start, stop, _collide(b, start, stop)
            done += 1
            for k in range(start, stop):
                for d in range(3):
                    b.p[k, d] += b.now[k, d]
            g, _ = _fastest(b, first, last, _STILL * fastest)
    b.order[0] = done


@kernel
def bear(b: Impulses) -> None:
    """V, p ← those where contacts bear V, by impulses along n alone: what loads add in a step."""
    for k in range(len(b.bodies)):
        b.friction[k] = 0.0
        for i in range(5):
            b.now[k, i] = 0.0
    b.order[0] = len(b.island) - 1
    for c in range(b.order[0]):
        start, stop = b.pair[b.island[c]], b.pair[b.island[c + 1]]
        b.order[3 * c + 1], b.order[3 * c + 2], b.order[3 * c + 3] = start, stop, _collide(b, start, stop)
    for k in range(len(b.bodies)):
        b.p[k, 0], b.p[k, 1], b.p[k, 2] = b.now[k, 0], 0.0, 0.0
