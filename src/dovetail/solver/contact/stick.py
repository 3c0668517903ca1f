"""What a sticking contact remembers: its friction force, from one step to the next.

Measured from the start of a step, smoothed friction is a dashpot: a held load creeps, and where geometry pushes it on
(corners that stand on corners) the creep grows exponentially. So a contact of the same features begins a step with the
slip u₀ whose force is that of the last step's end, in the frame of body b and the present tangent plane,

    u₀ = −ε (1 − √(1 − τ)) f/|f|,   τ = |f|/(μλ), at most 1

and friction acts on u = u₀ + what slides in the step: a spring that holds, up to μλ. Where the load has changed the
force stays, as far as the present load holds it. The spring never stores more than ⅔ μλε. Features that part forget.

What barriers push with at the start of a step is what had to be pushed with one step earlier; friction that slides is
to act with the load in the middle of the step. So the load of a contact that slides is drawn on by 1.5 of its last
change.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.friction import Frictions
from dovetail.solver.contact.kinds import EDGE_EDGE, KIND, POINT_TRIANGLE, SHAPE, X0, B
from dovetail.typing import Array, Indices

__all__ = ["KEY", "Stick", "by_columns", "name_features", "recall"]

KEY = 4  # integers that name the features of a contact
_SLIDES = 0.9  # share of the cone from which on a contact is taken to have slid
_AHEAD = 1.5  # steps from the time of the load that barriers tell at the start of a step to the middle of it
_FADES = 4.0  # a change of the load by a quarter is an impact, as in held.py


class Stick:
    """Friction forces at the end of the last step.

    keys (k, 4)      features of each contact, each once
    bodies (k, 2)    its bodies a, b
    force (k, 4)     on a [N], by the columns of b: f = Σ cᵢ aᵢ, in the world where there is no b; and μλ [N]
    """

    def __init__(self) -> None:
        self.keys: Indices = np.zeros((0, KEY), np.int64)
        self.bodies: Indices = np.zeros((0, 2), np.int64)
        self.force = np.zeros((0, 4))
        self._present, self._load = self.keys, np.zeros(0)  # keys and μλh² of the step's frictions

    def begin(self, friction: Frictions, Q: Array, h: float) -> None:
        """Friction that was frozen at Q, for a step of length h, begins with what is remembered."""
        self._present = np.empty((friction.count, KEY), np.int64)
        name_features(friction, friction.candidates, self._present)
        self._load = friction.load[: friction.count].copy()
        if len(self.keys):
            recall(self.keys, self.force, self._present, Q, h * h, friction)

    def commit(self, friction: Frictions, force: Array, Q: Array, h: float) -> None:
        """The step has led to Q, with these forces (k, 3), times h²."""
        bodies, force = friction.bodies[: friction.count].copy(), force.copy()
        by_columns(bodies, h * h, Q, force)
        known = np.empty((friction.count, 4))
        known[:, :3], known[:, 3] = force, self._load[: friction.count] / (h * h)
        self.keys, self.bodies, self.force = self._present[: friction.count], bodies, known

    def clear(self) -> None:
        """Nothing touches anything."""
        if len(self.keys):
            self.keys, self.bodies, self.force = self.keys[:0], self.bodies[:0], self.force[:0]

    def forget(self, moved: Indices) -> None:
        """These bodies were moved from outside."""
        stays = ~np.isin(self.bodies, moved).any(axis=1)
        self.keys, self.bodies, self.force = self.keys[stays], self.bodies[stays], self.force[stays]

    def arrays(self) -> dict[str, Array]:
        """All of it."""
        named = np.hstack([self.keys, self.bodies]).astype(float)
        return {"contact/stick": named, "contact/stick_force": self.force}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`."""
        named = arrays["contact/stick"].astype(np.int64)
        self.keys, self.bodies = named[:, :KEY].copy(), named[:, KEY:].copy()
        self.force = arrays["contact/stick_force"].copy()

    def keep(self) -> Callable[[], None]:
        """A function that goes back to what is remembered now; steps put new arrays in place of these."""
        kept = {**vars(self)}
        return lambda: vars(self).update(kept)


@kernel
def name_features(f: Frictions, candidates: Candidates, keys: Indices) -> None:
    """keys (k, 4) ← equal for the same features at two states; of a vertex and a patch the triangle does not count.

    Two edges: their four vertices. Other kinds end in −1 − kind, which is no vertex. What resists rolling begins with
    −1 − x0.
    """
    for n in range(len(keys)):
        k = f.candidate[n]
        kind = candidates.pairs[k, KIND]
        for i in range(KEY):
            keys[n, i] = candidates.pairs[k, X0 + i]
        if kind == POINT_TRIANGLE:
            keys[n, 1], keys[n, 2] = candidates.pairs[k, B], int(candidates.numbers[k, SHAPE])
        if kind != EDGE_EDGE:
            keys[n, 3] = -1 - kind
        if f.xi[n, 0] == 0.0:
            keys[n, 0] = -1 - keys[n, 0]


@kernel
def _same(keys: Indices, n: int, others: Indices, p: int) -> bool:
    same = True
    for i in range(KEY):
        same &= keys[n, i] == others[p, i]
    return same


@kernel
def _place(keys: Indices, n: int, mask: int) -> int:
    """Where a table of mask + 1 = 2ᵏ places begins to look for a key."""
    mixed = 0
    for i in range(KEY):
        mixed = ((mixed ^ (keys[n, i] & 0xFFFFFFFF)) * 0x1E3779B1) & 0xFFFFFFFF
        mixed ^= mixed >> 15
    return mixed & mask


@kernel
def recall(known: Indices, past: Array, keys: Indices, Q: Array, h2: float, f: Frictions) -> None:
    """carried (k, 2) ← u₀ of frictions with these keys, where a force of the past (p, 4) is known for the same key."""
    mask = 1
    while mask < 2 * len(known):
        mask *= 2
    mask -= 1
    table = np.full(mask + 1, -1)
    for p in range(len(known)):
        at = _place(known, p, mask)
        while table[at] >= 0:
            at = (at + 1) & mask
        table[at] = p
    for n in range(len(keys)):
        at = _place(keys, n, mask)
        while table[at] >= 0 and not _same(keys, n, known, table[at]):
            at = (at + 1) & mask
        p = table[at]
        if p < 0:
            continue
        b = f.bodies[n, 1]
        u = v = 0.0
        for x in range(3):
            force = past[p, x]
            if b >= 0:
                force = past[p, 0] * Q[b, 1, x] + past[p, 1] * Q[b, 2, x] + past[p, 2] * Q[b, 3, x]
            u -= force * f.tangent[n, 0, x]
            v -= force * f.tangent[n, 1, x]
        length = math.sqrt(u * u + v * v)
        if length > _SLIDES * past[p, 3]:
            change = f.load[n] - h2 * past[p, 3]
            fades = (_FADES * change / f.load[n]) ** 4
            f.load[n] += max(1.0 - fades, 0.0) * _AHEAD * change
        if length > 0.0:
            share = min(h2 * length / f.load[n], 1.0)
            scale = f.epsilon * (1.0 - math.sqrt(1.0 - share)) / length
            f.carried[n, 0], f.carried[n, 1] = f.aim[n, 0], f.aim[n, 1] = scale * u, scale * v


@kernel
def by_columns(bodies: Indices, h2: float, Q: Array, force: Array) -> None:
    """force (k, 3), times h² in the world ← [N], by the columns a of body b at Q.

    By Cramer's rule, cᵢ = f·(aⱼ × aₖ)/(a₁·(a₂ × a₃)): aᵢ·f in its place would let the force of a body that is strained
    a little grow or decay from step to step.
    """
    for n in range(len(force)):
        b = bodies[n, 1]
        f0, f1, f2 = force[n, 0] / h2, force[n, 1] / h2, force[n, 2] / h2
        force[n, 0], force[n, 1], force[n, 2] = f0, f1, f2
        if b < 0:
            continue
        for i in range(3):
            s, t = Q[b, 1 + (i + 1) % 3], Q[b, 1 + (i + 2) % 3]
            m0, m1, m2 = s[1] * t[2] - s[2] * t[1], s[2] * t[0] - s[0] * t[2], s[0] * t[1] - s[1] * t[0]
            volume = Q[b, 1 + i, 0] * m0 + Q[b, 1 + i, 1] * m1 + Q[b, 1 + i, 2] * m2
            force[n, i] = (f0 * m0 + f1 * m1 + f2 * m2) / volume
