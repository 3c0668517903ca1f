"""Laws φ(x) on coordinates of joints: springs, drives, limits, dampers. What they add up to is found once per iterate.

    E = Σ s φ(x)      g = φ′∇x      H = φ″∇x∇xᵀ + φ′∇²x  (the last part only if exact)

All laws on one coordinate have the same ∇x, so they act as one law with the sums of φ′ and φ″. s is a scale, 1 but for
laws that depend on the rate (law_start.py), or are inertia (rotors.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.kernel.kernel import jit_enabled, kernel
from dovetail.kernel.record import Record, f8, i8, integer, nested
from dovetail.solver.joint.coordinates import (
    Coordinates,
    add_outer,
    coordinate_at,
    gather_rows,
    pull_back_slope,
)
from dovetail.solver.joint.function import Law, call_law
from dovetail.solver.linear.ordering import NO_BLOCK, flipped
from dovetail.typing import Array, Indices

__all__ = [
    "CONSTANT",
    "EXCESS",
    "LINE",
    "LawBatch",
    "Laws",
    "assemble_laws",
    "law_efforts",
    "law_energies",
    "linearise_laws",
    "locate_law",
    "part_at",
]

CONSTANT, LINE, NEARER, PARABOLA = range(4)
"""What Newton's method may take for a law with a cap, see caps.py."""
EXCESS = 3
"""Places behind the prediction of what is inertia, by which its rate exceeds ∇x·V; see rotors.py."""
_NEAR = 0.2  # ways by which the largest effort moves the inertia in a step: the line of a law is as near as that


class LawBatch:
    """One law on some coordinates `of` (m,); p (m, q) are its parameters, `past` (2, m, q) those of the last two steps.

    start, step     columns of p that are xₙ and h, for a law that depends on the rate; −1 if there is none
    aim             column of p that is a prediction, for a law that is inertia: see rotors.py
    exerted         column of p that is S, with σ next, for a law with a cap: see law_start.py
    is_stop         infinite beyond its bounds: see stops.py

    `Laws` puts all batches into common arrays; p, past and scale (m,) of a batch then are parts of these.
    """

    def __init__(
        self, law: Law, of: Indices, p: Array, start: int = -1, step: int = -1, is_stop: bool = False, aim: int = -1,
        exerted: int = -1,
    ) -> None:  # fmt: skip
        self.law, self.start, self.step, self.aim, self.is_stop = law, start, step, aim, is_stop
        self.exerted = exerted
        self.of = np.ascontiguousarray(of, np.int64)
        self.p: Array = np.ascontiguousarray(p, float)
        self.past, self.scale = np.stack([self.p, self.p]), np.ones(len(self.of))
        self.rows = slice(0)  # of all laws

    @property
    def count(self) -> int:
        return len(self.of)

    def efforts(self, coordinates: Coordinates, h: float) -> Array:
        """What each law has exerted along +x [N or N·m] in a step of length h to the committed coordinates."""
        out = np.empty(self.count)
        law_efforts(self.law.address, self.of, coordinates.value, self.p, self.scale, self.step, self.exerted, h, out)
        return out


class Laws(Record):
    """All laws of a scene, in the order of their batches.

    coordinates           what they act on
    of, address (m,)      coordinate and function of each
    at (m,), p            its parameters begin at p[at]; `past` (2, …) has those of the last two steps
    start, step (m,)      places in p of xₙ and h, −1 if there are none
    aim (m,)              place in p of the prediction of what is inertia, −1 elsewhere
    exerted (m,)          place in p of S, −1 where there is no cap: before it are I and f, behind it σ and the side
    scale (m,)            s
    weight, push, moved (m,)   what each has in a consistent start: weight of ∇x∇xᵀ, slope and drift along ∇x
    acting (a,)           coordinates that have a law; its laws are law[first[i]] … law[first[i + 1] − 1]
    longest               most parameters of a law
    capped                laws with a cap
    part, begins (m,)     which part of it Newton's method takes for all of it, and begins with: see caps.py
    J (a, 2, 12)          ∇x on the left and right bodies of the acting coordinates as last linearised,
    x, slope, bend (a,)   x, Σ s φ′ and Σ s φ″ there
    row (m,)              which of the acting coordinates a law is on
    """

    coordinates: Coordinates = nested(Coordinates)
    of: Indices = i8(1)
    address: Indices = i8(1)
    at: Indices = i8(1)
    p: Array = f8(1)
    past: Array = f8(2)
    start: Indices = i8(1)
    step: Indices = i8(1)
    aim: Indices = i8(1)
    exerted: Indices = i8(1)
    scale: Array = f8(1)
    weight: Array = f8(1)
    push: Array = f8(1)
    moved: Array = f8(1)
    acting: Indices = i8(1)
    first: Indices = i8(1)
    law: Indices = i8(1)
    row: Indices = i8(1)
    longest: int = integer()
    capped: Indices = i8(1)
    part: Indices = i8(1)
    begins: Indices = i8(1)
    J: Array = f8(3)
    x: Array = f8(1)
    slope: Array = f8(1)
    bend: Array = f8(1)

    def __init__(self, coordinates: Coordinates, batches: Sequence[LawBatch]) -> None:
        self.batches = list(batches)
        counts = [batch.count for batch in batches]
        width = np.repeat([batch.p.shape[1] for batch in batches], counts).astype(np.int64)
        addresses: Any = [batch.law.address for batch in batches for _ in range(batch.count)]
        of = np.concatenate([np.zeros(0, np.int64), *(batch.of for batch in batches)])
        at = np.cumsum(width) - width
        p = np.concatenate([np.zeros(0), *(batch.p.ravel() for batch in batches)])
        past = np.concatenate([np.zeros((2, 0)), *(batch.past.reshape(2, -1) for batch in batches)], axis=1)
        past, scale = np.ascontiguousarray(past), np.ones(len(of))
        law = np.argsort(of, kind="stable")
        acting, first = np.unique(of[law], return_index=True)

        def column(name: str) -> Indices:
            places = np.repeat([getattr(batch, name) for batch in batches], counts).astype(np.int64)
            return np.where(places >= 0, at + places, -1)

        exerted = column("exerted")
        super().__init__(
            coordinates=coordinates, of=of, address=np.array(addresses, np.int64) if jit_enabled else addresses, at=at,
            p=p, past=past, start=column("start"), step=column("step"), aim=column("aim"), exerted=exerted,
            scale=scale, weight=np.zeros(len(of)), push=np.zeros(len(of)), moved=np.zeros(len(of)), acting=acting,
            first=np.append(first, len(of)).astype(np.int64), law=law, row=np.searchsorted(acting, of),
            longest=int(width.max(initial=0)),
            capped=np.flatnonzero(exerted >= 0), part=np.zeros(len(of), np.int64), begins=np.full(len(of), NEARER),
            J=np.zeros((len(acting), 2, 12)), x=np.zeros(len(acting)), slope=np.zeros(len(acting)),
            bend=np.zeros(len(acting)),
        )  # fmt: skip
        self.rotors = np.flatnonzero(self.aim >= 0)  # laws that are inertia
        done, place = 0, 0
        for batch in batches:
            end = place + batch.p.size
            batch.rows = slice(done, done + batch.count)
            batch.p, batch.scale = p[place:end].reshape(batch.p.shape), scale[batch.rows]
            # a view: parts of rows are not contiguous, but no kernel takes them
            batch.past = past[:, place:end].reshape(2, *batch.p.shape)
            done, place = done + batch.count, end

    @property
    def count(self) -> int:
        return len(self.of)

    @property
    def pairs(self) -> Indices:
        """Bodies (a, 2) of the acting coordinates."""
        return self.coordinates.pairs[self.acting]

    @property
    def without_step(self) -> Indices:
        """Bodies of laws that know xₙ but no h: they can have no rate."""
        bodies: Indices = np.unique(self.coordinates.pairs[self.of[(self.start >= 0) & (self.step < 0)]])
        return bodies

    def as_they_are(self) -> None:
        """Have them linearised as they are at their caps, which Newton's method does not (caps.py)."""
        self.part.fill(CONSTANT)

    def forget_rates(self) -> None:
        """Velocities were given from outside: those of rotors are what they make of them."""
        for k in range(2):
            self.p[self.aim[self.rotors] + EXCESS + k] = 0.0

    def add_forces(self, batches: Sequence[LawBatch], h: float, Q: Array, out: Array) -> None:
        """out[joint] += generalised force [N, N·m] on the right body at the committed Q, of some batches."""
        for batch in batches:
            _add_forces(self.coordinates, batch.of, batch.efforts(self.coordinates, h), Q, out)


@kernel
def _evaluate(laws: Laws, i: int, x: float, stored: bool, d: Array) -> tuple[float, float, float]:
    """Σ s φ, Σ s φ′, Σ s φ″ of acting coordinate i at x, or of laws that store energy alone; d (3) is scratch."""
    value = slope = bend = 0.0
    for n in range(laws.first[i], laws.first[i + 1]):
        m = laws.law[n]
        if stored and (laws.start[m] >= 0 or laws.aim[m] >= 0):
            continue  # what depends on the rate does work
        d[:] = 0.0
        value += laws.scale[m] * call_law(laws.address[m], x, laws.p, laws.at[m], d)
        slope += laws.scale[m] * d[0]
        bend += laws.scale[m] * d[1]
    return value, slope, bend


@kernel
def law_energies(laws: Laws, Q: Array, owner: Indices, E: Array, stored: bool = False) -> None:
    """E[owner] += Σ s φ(x) at Q; what belongs to a pair goes to the larger owner of the two.

    `stored` leaves out laws that depend on the rate, which do work and store nothing, and inertia.
    """
    c = laws.coordinates
    size = 3 * c.widest
    F, dx, d2x, d = np.empty(size), np.empty(size), np.zeros(size * size), np.zeros(3)
    for i in range(len(laws.acting)):
        k = laws.acting[i]
        n = gather_rows(c, k, Q, F)
        value, _, _ = _evaluate(laws, i, coordinate_at(c, k, 0.0, F, n, dx, d2x), stored, d)
        at = max(owner[c.left[k]], owner[c.right[k]])
        if at >= 0:
            E[at] += value


@kernel
def locate_law(laws: Laws, i: int, Q: Array, F: Array, dx: Array, d2x: Array) -> None:
    """J, x of acting coordinate i ← those at Q; F, dx, d2x are scratch."""
    c, k = laws.coordinates, laws.acting[i]
    n = gather_rows(c, k, Q, F)
    laws.x[i] = coordinate_at(c, k, 0.0, F, n, dx, d2x)
    pull_back_slope(c, k, dx, laws.J[i])


@kernel
def part_at(laws: Laws, m: int, x: float, slope: float, room: Array, d: Array) -> tuple[float, float]:
    """φ′ and φ″ of the part that Newton's method takes of law m, which is at its strongest at x with φ′ = slope.

    room, d are scratch.
    """
    at, exerted = laws.at[m], laws.exerted[m]
    end = laws.at[m + 1] if m + 1 < len(laws.at) else len(laws.p)
    for j in range(at, end):
        room[j - at] = laws.p[j]
    room[exerted - 1 - at], room[exerted + 2 - at] = math.inf, 0.0
    call_law(laws.address[m], x, room, 0, d)
    if laws.part[m] == LINE:
        return d[0], d[1]
    near = laws.p[exerted - 2] * abs(d[0]) < _NEAR * abs(slope) * d[1]
    if laws.part[m] == NEARER:
        return (d[0], d[1]) if near else (slope, 0.0)
    # a parabola that touches φ at x, with its minimum where the line is zero
    return slope, d[1] * slope / d[0] if d[0] * slope > 0.0 else 0.0


@kernel
def linearise_laws(laws: Laws, Q: Array) -> None:
    """J, x, slope, bend ← those at Q, as Newton's method takes them: see caps.py."""
    c = laws.coordinates
    size = 3 * c.widest
    F, dx, d2x, d = np.empty(size), np.empty(size), np.zeros(size * size), np.zeros(3)
    room = np.empty(laws.longest + 1)
    for i in range(len(laws.acting)):
        locate_law(laws, i, Q, F, dx, d2x)
        _, laws.slope[i], laws.bend[i] = _evaluate(laws, i, laws.x[i], False, d)
    for m in laws.capped:
        i = laws.row[m]
        call_law(laws.address[m], laws.x[i], laws.p, laws.at[m], d)
        slope, bend = d[0], d[1]
        if bend == 0.0 and laws.part[m] != CONSTANT:
            slope_of_part, bend_of_part = part_at(laws, m, laws.x[i], slope, room, d)
            laws.slope[i] += laws.scale[m] * (slope_of_part - slope)
            laws.bend[i] += laws.scale[m] * bend_of_part


@kernel
def assemble_laws(laws: Laws, exact: bool, Q: Array, g: Array, D: Array, U: Array) -> None:
    """Linearise at Q; g += φ′∇x, D, U += φ″∇x∇xᵀ, and φ′∇²x if exact."""
    c = laws.coordinates
    linearise_laws(laws, Q)
    size = 3 * c.widest
    F, dx, d2x, weighed = np.empty(size), np.empty(size), np.empty(size * size), np.empty((2, 12))
    for i in range(len(laws.acting)):
        slope, bend, J = laws.slope[i], laws.bend[i], laws.J[i]
        if slope == 0.0 and bend == 0.0:
            continue
        k = laws.acting[i]
        left, right = c.left[k], c.right[k]
        for e in range(12):
            g[left, e] += slope * J[0, e]
            g[right, e] += slope * J[1, e]
        if bend != 0.0:
            add_outer(bend, left, right, c.block[k], J, weighed, D, U)
        if exact and slope != 0.0:
            n = gather_rows(c, k, Q, F)
            coordinate_at(c, k, 1.0, F, n, dx, d2x)
            add_bend(c, k, slope, n, d2x, D, U)


@kernel
def _add_block(
    c: Coordinates, k: int, first: int, second: int, slope: float, n: int, d2x: Array, target: Array, at: int
) -> None:
    """target[at] += slope · (W columns from `first`)ᵀ ∇²x (W columns from `second`), also below a diagonal."""
    start = c.first[k]
    for r in range(n // 3):
        if not c.sides[start + r, first // 4]:
            continue
        for s in range(n // 3):
            if not c.sides[start + s, second // 4]:
                continue
            for i in range(4):
                for j in range(4):
                    w = slope * c.W[start + r, first + i] * c.W[start + s, second + j]
                    if w != 0.0:
                        for a in range(3):
                            for b in range(3):
                                target[at, 3 * i + a, 3 * j + b] += w * d2x[n * (3 * r + a) + 3 * s + b]


@kernel
def add_bend(c: Coordinates, k: int, slope: float, n: int, d2x: Array, D: Array, U: Array) -> None:
    """D, U += slope ∇²x of coordinate k."""
    left, right, block = c.left[k], c.right[k], c.block[k]
    _add_block(c, k, 0, 0, slope, n, d2x, D, left)
    _add_block(c, k, 4, 4, slope, n, d2x, D, right)
    if block >= 0:
        _add_block(c, k, 0, 4, slope, n, d2x, U, block)
    elif block != NO_BLOCK:
        _add_block(c, k, 4, 0, slope, n, d2x, U, flipped(block))


@kernel
def law_efforts(
    law: Any, of: Indices, value: Array, p: Array, scale: Array, step: int, exerted: int, h: float, out: Array
) -> None:
    """out (m,) ← efforts of a law with parameters p (m, q) in a step of length h: its mean over the step if it has a
    cap.

    S + F/σ then, with F = −φ′/h² for the h that the law is given, which is part of the step. Of other laws, what they
    exert at the end of the step.
    """
    flat, d = p.ravel(), np.zeros(3)
    for m in range(len(of)):
        call_law(law, value[of[m]], flat, m * p.shape[1], d)
        if exerted < 0:
            out[m] = -d[0] * scale[m] / (h * h)
        elif p[m, step] > 0.0 and h < math.inf:
            out[m] = p[m, exerted] - d[0] / (p[m, step] * p[m, step] * p[m, exerted + 1])
        else:
            out[m] = 0.0


@kernel
def _add_forces(c: Coordinates, of: Indices, effort: Array, Q: Array, out: Array) -> None:
    size = 3 * c.widest
    F, dx, d2x, J = np.empty(size), np.empty(size), np.zeros(size * size), np.empty((2, 12))
    for m in range(len(of)):
        k = of[m]
        n = gather_rows(c, k, Q, F)
        coordinate_at(c, k, 0.0, F, n, dx, d2x)
        pull_back_slope(c, k, dx, J)
        for i in range(4):
            for a in range(3):
                out[c.joint[k], i, a] += effort[m] * J[1, 3 * i + a]
