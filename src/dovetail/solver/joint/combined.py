"""Combined rows: exact constraints on coordinates of joints, each a weighted sum that is held at a value.

    C = Σ w_e x_e(Q) − c

One coordinate is what a joint holds beside its rows: the right angle of a universal joint, the thread of a screw. Two
are a gear. C is the first component of a row of three, as the other exact rows have them; the others are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8, nested
from dovetail.solver.blocks import Blocks
from dovetail.solver.joint.compliance import Compliance
from dovetail.solver.joint.coordinates import Coordinates, coordinate_at, gather_rows, second_rate
from dovetail.solver.joint.entries import Entries, couple, curve_entries, linearise_entries
from dovetail.typing import Array, Flags, Indices

__all__ = [
    "Combined",
    "apply_combined",
    "assemble_combined",
    "bend_combined",
    "combined_merits",
    "linearise_combined",
    "mark_pulled",
    "measure_combined",
    "pull_back_combined",
]


_OPEN = 1e-9  # [m or rad] a row whose target has not moved is closed to a hundredth of that


class Combined(Record):
    """Rows over the groups of some entries.

    weight (e,), target (k,)     w and c; both may change from step to step
    K (k,)                       see rows.py
    joint (k,)                   the joint whose reaction a row is part of, −1 − number if it belongs to a coupling
    multiplier, force, C (k, 3)  see rows.py; the first components count
    """

    entries: Entries = nested(Entries)
    weight: Array = f8(1)
    target: Array = f8(1)
    K: Array = f8(1)
    joint: Indices = i8(1)
    multiplier: Array = f8(2)
    force: Array = f8(2)
    C: Array = f8(2)

    def __init__(
        self, coordinates: Coordinates, of: Indices, start: Indices, weight: Array, target: Array, joint: Indices,
        compliance: Compliance,
    ) -> None:  # fmt: skip
        entries = Entries(coordinates, of, start)
        k = entries.groups
        super().__init__(
            entries=entries, weight=np.array(weight, float), target=np.array(target, float), K=np.zeros(k),
            joint=np.array(joint, np.int64), multiplier=np.zeros((k, 3)), force=np.zeros((k, 3)), C=np.zeros((k, 3)),
        )  # fmt: skip
        self.compliance = compliance

    @property
    def count(self) -> int:
        return len(self.target)

    @property
    def pairs(self) -> Indices:
        """Bodies (k, 2) of the first entry of every row, which stand for all of them."""
        return self.entries.body[self.entries.start[:-1]]

    @classmethod
    def joined(cls, parts: Sequence[Combined], coordinates: Coordinates) -> Combined:
        """One set of rows of which the parts become views: what is written to a part's numbers is written to it."""
        of = np.concatenate([np.zeros(0, np.int64), *(part.entries.of for part in parts)])
        sizes = np.concatenate([np.zeros(0, np.int64), *(np.diff(part.entries.start) for part in parts)])
        made = cls(
            coordinates, of, np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate([np.zeros(0), *(part.weight for part in parts)]),
            np.concatenate([np.zeros(0), *(part.target for part in parts)]),
            np.concatenate([np.zeros(0, np.int64), *(part.joint for part in parts)]),
            Compliance.joined([part.compliance for part in parts]),
        )  # fmt: skip
        row = entry = 0
        for part in parts:
            rows, entries = slice(row, row + part.count), slice(entry, entry + part.entries.count)
            part.weight = made.weight[entries]
            part.target, part.force = made.target[rows], made.force[rows]
            row, entry = rows.stop, entries.stop
        return made

    def add_constant(self, blocks: Blocks) -> None:
        """Find the blocks of all pairs of bodies."""
        self.entries.coordinates.locate(blocks)
        self.entries.locate(blocks)

    def add_forces(self, Q: Array, carried: Array, out: Array) -> None:
        """out[joint] −= force [N, N·m] of the last step on the right body at Q; for `carried` see row_algebra.py."""
        e = self.entries
        linearise_entries(e, e.coordinates.value[e.of], Q)
        joint = self.joint[e.group]
        mine = np.flatnonzero(joint >= 0)
        pull: Any = (self.force + carried)[e.group, 0] * self.weight
        np.subtract.at(out, joint[mine], (pull[:, None] * e.J[:, 1])[mine].reshape(-1, 4, 3))


@kernel
def mark_pulled(combined: Combined, found: Flags) -> bool:
    """found (n,) ← bodies of rows of joints that are open by what was committed; whether there are any.

    Something has moved their targets since. Not of couplings: gradients by their ratios and offsets suppose steps that
    do not change with these.
    """
    entries, some = combined.entries, False
    c = entries.coordinates
    for a in range(len(combined.target)):
        if combined.joint[a] < 0:
            continue
        gap, size = -combined.target[a], 1.0
        for e in range(entries.start[a], entries.start[a + 1]):
            x = combined.weight[e] * c.value[entries.of[e]]
            gap, size = gap + x, size + abs(x)
        if abs(gap) > _OPEN * size:
            some = True
            for e in range(entries.start[a], entries.start[a + 1]):
                found[c.left[entries.of[e]]] = found[c.right[entries.of[e]]] = True
    return some


@kernel
def _moves(entries: Entries, a: int, active: Indices) -> bool:
    """Whether a body of group a is active."""
    c = entries.coordinates
    for e in range(entries.start[a], entries.start[a + 1]):
        k = entries.of[e]
        if active[c.left[k]] or active[c.right[k]]:
            return True
    return False


@kernel
def linearise_combined(rows: Combined, active: Indices, Q: Array) -> float:
    """J, C ← those at Q, C = 0 for rows whose bodies do not move; the largest C."""
    entries, largest = rows.entries, 0.0
    reference = np.empty(len(entries.of))
    for e in range(len(reference)):
        reference[e] = entries.coordinates.reference[entries.of[e]]
    linearise_entries(entries, reference, Q)
    for k in range(len(rows.target)):
        value = -rows.target[k]
        for e in range(entries.start[k], entries.start[k + 1]):
            value += rows.weight[e] * entries.x[e]
        rows.C[k, 0] = value if _moves(entries, k, active) else 0.0
        if not abs(rows.C[k, 0]) <= largest:
            largest = abs(rows.C[k, 0])
    return largest


@kernel
def assemble_combined(rows: Combined, exact: bool, closed: bool, Q: Array, g: Array, D: Array, U: Array) -> None:
    """g += Jᵀ(λ + K C) as linearised at Q, or 0 as if `closed`; D, U += K JᵀJ, and λ·∇²C if exact."""
    e, weight = rows.entries, rows.weight
    pull, bend = np.empty(len(weight)), np.empty(len(weight))
    for k in range(len(rows.target)):
        n, at = e.start[k + 1] - e.start[k], e.square[k]
        for first in range(e.start[k], e.start[k + 1]):
            bend[first] = weight[first] * rows.multiplier[k, 0]
            pull[first] = 0.0 if closed else weight[first] * (rows.multiplier[k, 0] + rows.K[k] * rows.C[k, 0])
            for second in range(e.start[k], e.start[k + 1]):
                e.M[at + n * (first - e.start[k]) + second - e.start[k]] = rows.K[k] * weight[first] * weight[second]
    couple(e, pull, g, D, U)
    if exact:
        curve_entries(e, bend, Q, D, U)


@kernel
def measure_combined(rows: Combined, active: Indices, Q: Array, y: Array, first: int, out: Array) -> float:
    """out[first …, 0] ← C(Q − y), 0 where no body is active; the largest."""
    entries = rows.entries
    c, largest = entries.coordinates, 0.0
    size = 3 * c.widest
    F, dF, dx, d2x = np.empty(size), np.empty(size), np.empty(size), np.zeros(size * size)
    step = y.reshape((len(y), 4, 3))
    for k in range(len(rows.target)):
        out[first + k, 0] = out[first + k, 1] = out[first + k, 2] = 0.0
        if not _moves(entries, k, active):
            continue
        value = -rows.target[k]
        for e in range(entries.start[k], entries.start[k + 1]):
            n = gather_rows(c, entries.of[e], Q, F)
            gather_rows(c, entries.of[e], step, dF)
            for i in range(n):
                F[i] -= dF[i]
            value += rows.weight[e] * coordinate_at(c, entries.of[e], 0.0, F, n, dx, d2x)
        out[first + k, 0] = value
        if not abs(value) <= largest:
            largest = abs(value)
    return largest


@kernel
def apply_combined(rows: Combined, active: Indices, y: Array, first: int, out: Array) -> None:
    """out[first …, 0] ← J y, 0 where no body is active."""
    entries = rows.entries
    c, J = entries.coordinates, entries.J
    for k in range(len(rows.target)):
        value = 0.0
        if _moves(entries, k, active):
            for e in range(entries.start[k], entries.start[k + 1]):
                left, right = c.left[entries.of[e]], c.right[entries.of[e]]
                for i in range(12):
                    value += rows.weight[e] * (J[e, 0, i] * y[left, i] + J[e, 1, i] * y[right, i])
        out[first + k, 0] = value
        out[first + k, 1] = out[first + k, 2] = 0.0


@kernel
def pull_back_combined(rows: Combined, values: Array, first: int, g: Array) -> None:
    """g += Jᵀ values[first …]."""
    entries = rows.entries
    c, J = entries.coordinates, entries.J
    for k in range(len(rows.target)):
        for e in range(entries.start[k], entries.start[k + 1]):
            pull = values[first + k, 0] * rows.weight[e]
            left, right = c.left[entries.of[e]], c.right[entries.of[e]]
            for i in range(12):
                g[left, i] += pull * J[e, 0, i]
                g[right, i] += pull * J[e, 1, i]


@kernel
def combined_merits(rows: Combined, share: float, Q: Array, owner: Indices, E: Array) -> None:
    """E[owner] += λC + share·K/2 C²."""
    entries = rows.entries
    c = entries.coordinates
    size = 3 * c.widest
    F, dx, d2x = np.empty(size), np.empty(size), np.zeros(size * size)
    for k in range(len(rows.target)):
        C, at = -rows.target[k], -1
        for e in range(entries.start[k], entries.start[k + 1]):
            of = entries.of[e]
            n = gather_rows(c, of, Q, F)
            C += rows.weight[e] * coordinate_at(c, of, 0.0, F, n, dx, d2x)
            at = max(at, owner[c.left[of]], owner[c.right[of]])
        if at >= 0:
            E[at] += (rows.multiplier[k, 0] + 0.5 * share * rows.K[k] * C) * C


@kernel
def bend_combined(rows: Combined, Q: Array, V: Array, scale: float, first: int, out: Array) -> None:
    """out[first …, 0] ← scale · (∂J/∂Q V) V at Q, where they were linearised."""
    entries = rows.entries
    c = entries.coordinates
    size = 3 * c.widest
    F, dF, dx, d2x = np.empty(size), np.empty(size), np.empty(size), np.empty(size * size)
    for k in range(len(rows.target)):
        value = 0.0
        for e in range(entries.start[k], entries.start[k + 1]):
            n = gather_rows(c, entries.of[e], Q, F)
            gather_rows(c, entries.of[e], V, dF)
            coordinate_at(c, entries.of[e], 1.0, F, n, dx, d2x)
            value += scale * rows.weight[e] * second_rate(n, d2x, dF)
        out[first + k, 0] = value
        out[first + k, 1] = out[first + k, 2] = 0.0
