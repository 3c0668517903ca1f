"""What joints tell of a posture, and how that changes when the bodies, as rigid ones, move.

A motion is a twist ξ = (v, ω) for each body that is not fixed: δp = v [m], δa_i = ω × a_i. What joints hold, as
penalties or exactly, is C(Q) = 0; x(Q) are their coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.constitution.laws import Armature, Hold
from dovetail.solver.bodies import Bodies
from dovetail.solver.joint.rows import Rows
from dovetail.typing import Array, Flags, Indices
from dovetail.world.forward import Branch, branches
from dovetail.world.lower.lowered import LoweredJoints

__all__ = ["Island", "Posture"]

_HELD = 1e-4  # of the strongest: a direction that a joint holds, angles measured by the size of a body


@dataclass(frozen=True)
class Posture:
    """C (r,) and x (m,), their derivatives J_c, J_x over twists, and what of C̈, ẍ is left with ξ̇ = 0: bends.

    `joint` (r,) is what a row belongs to; −1 for coordinates that are held.
    """

    joint: Indices
    C: Array
    J_c: Array
    bend_c: Array
    x: Array
    J_x: Array
    bend_x: Array


class Island:
    """The free bodies that joints and couplings connect with those of some coordinates.

    bodies (n,)   their numbers
    rows (m,)     all coordinates that concern them
    size          of the smallest body [m], which makes angles and lengths comparable
    """

    def __init__(self, lowered: LoweredJoints, bodies: Bodies, Q: Array, rows: Indices) -> None:
        """Q is a state in which joints are closed, from which it is told what each holds."""
        self._lowered, c = lowered, lowered.coordinates
        free = np.asarray(bodies.is_fixed) == 0
        self._couplings: Indices = np.zeros((0, 2), np.int64)
        if lowered.couplings is not None:
            self._couplings = lowered.couplings.equations()[0]
        self.bodies = _connected(free, [lowered.pairs, *self._coupled(c.left, c.right)], [c.left[rows], c.right[rows]])
        n = len(self.bodies)
        self._column = np.full(len(free), n)
        self._column[self.bodies] = np.arange(n)
        self.rows = np.flatnonzero(self._concerns(c.left, c.right))
        self._place = np.full(c.count, -1)
        self._place[self.rows] = np.arange(len(self.rows))
        size = 2.0 * float(np.linalg.norm(bodies.half[self.bodies], axis=1).min(initial=np.inf))
        self.size = size if 0.0 < size < np.inf else 1.0
        pairs = lowered.pairs
        mine = np.flatnonzero(self._concerns(pairs[:, 0], pairs[:, 1]))
        self.branches: list[Branch] | None = branches(mine, pairs[mine], free)
        """The joints from the root on, where they form a tree."""
        self.root = self.branches[0][1] if self.branches and free[self.branches[0][1]] else -1
        """The body that a tree hangs on, where that is free to move itself; −1 elsewhere."""
        self._ranks: dict[int, int] = {}
        self.posture(Q, c.value[self.rows])

    def columns(self, body: int) -> slice:
        """Where the twist of a body of the island is."""
        return slice(6 * int(self._column[body]), 6 * int(self._column[body]) + 6)

    def completed(self, x: Array, given: Indices) -> Array:
        """Coordinates (m,) with those given as they are, and the others as held coordinates and couplings ask for."""
        W, c = self.combined()
        others, out = np.setdiff1d(np.arange(len(x)), given), x.copy()
        out[others] += np.linalg.pinv(W[:, others]) @ (c - W @ x)
        return out

    def joints_of_rows(self) -> Indices:
        """The joint of each coordinate."""
        return np.asarray(self._lowered.coordinates.joint[self.rows])

    def _coupled(self, left: Indices, right: Indices) -> list[Indices]:
        """Pairs of bodies that couplings connect."""
        a, b = self._couplings.T
        return [np.stack([x[a], y[b]], axis=1) for x in (left, right) for y in (left, right)]

    def _concerns(self, left: Indices, right: Indices) -> Flags:
        n = len(self.bodies)
        return np.asarray((self._column[left] < n) | (self._column[right] < n))

    def rates(self, Q: Array, twist: Array) -> tuple[Array, Array]:
        """Rates of Q, and what is left of its accelerations with ξ̇ = 0, for twists (n, 6) of the island."""
        V, turning = np.zeros_like(Q), np.zeros_like(Q)
        V[self.bodies, 0], w = twist[:, :3], twist[:, None, 3:]
        V[self.bodies, 1:] = np.cross(w, Q[self.bodies, 1:])
        turning[self.bodies, 1:] = np.cross(w, V[self.bodies, 1:])
        return V, turning

    def posture(self, Q: Array, reference: Array, twist: Array | None = None) -> Posture:
        """All of it at Q; angles are on the branch nearest to `reference` (m,); without a twist bends are zero."""
        n, c = len(self.bodies), self._lowered.coordinates
        V, turning = self.rates(Q, np.zeros((n, 6)) if twist is None else twist)
        found = self._independent(
            [self._rows(rows, Q, V, turning) for rows in (self._lowered.points, self._lowered.slides)]
        )
        x, slope, curve = (part[self.rows] for part in c.derivatives(Q, V))
        period = c.period[self.rows]
        x = x + np.where(period > 0.0, period * np.round((reference - x) / np.where(period > 0.0, period, 1.0)), 0.0)
        J = np.zeros((len(x), n + 1, 6))
        for side, body in enumerate((c.left[self.rows], c.right[self.rows])):
            g = slope[:, side].reshape(-1, 4, 3)
            torque = np.cross(Q[body, 1:], g[:, 1:]).sum(axis=1)
            J[np.arange(len(x)), self._column[body]] += np.concatenate([g[:, 0], torque], axis=1)
            curve = curve + (g * turning[body]).sum(axis=(1, 2))
        J_x = J[:, :n].reshape(len(x), 6 * n)
        W, c0 = self.combined()
        held = (np.full(len(c0), -1), W @ x - c0, W @ J_x, W @ curve)
        joint, C, J_c, bend = (np.concatenate(parts) for parts in zip(found, held, strict=True))
        return Posture(joint, C, J_c, bend, x, J_x, curve)

    def _independent(self, parts: list[tuple[Indices, Array, Array, Array]]) -> tuple[Indices, Array, Array, Array]:
        """Joint, C, J_c and its bend of all joints, as many rows of each as it holds motions of rigid bodies.

        Joints hold some things twice, such as the distance of two points. Where they are open the second row seems to
        hold something else, and would stop what should be free: only the strongest directions of each are kept.
        """
        joint, *rest = (np.concatenate(part) for part in zip(*parts, strict=True))
        n = len(self.bodies)
        scale = np.tile([1.0] * 3 + [1.0 / self.size] * 3, n)
        none = np.zeros(0)
        kept: list[tuple[Array, Array, Array, Array]] = [(none, none, np.zeros((0, 6 * n)), none)]
        order = np.argsort(joint, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(joint[order])) + 1) if len(order) else ():
            C, J, bend = (part[rows] for part in rest)
            U, s, _ = np.linalg.svd((J * scale)[:, np.abs(J).any(axis=0)], full_matrices=False)
            rank = self._ranks.setdefault(int(joint[rows[0]]), int((s > _HELD * s[0]).sum()))
            mine = np.full(rank, float(joint[rows[0]]))
            kept.append((mine, U[:, :rank].T @ C, U[:, :rank].T @ J, U[:, :rank].T @ bend))
        of, C, J, bend = (np.concatenate(part) for part in zip(*kept, strict=True))
        return of.astype(np.int64), C, J, bend

    def _rows(self, rows: Rows, Q: Array, V: Array, turning: Array) -> tuple[Indices, Array, Array, Array]:
        """Joint, C, J_c and its bend of points or slides."""
        n, mine = len(self.bodies), np.flatnonzero(self._concerns(rows.left, rows.right))
        W, ends = rows.W[mine], (rows.left[mine], rows.right[mine])
        k, m = W.shape[:2]
        F, dF, ddF = (
            sum(np.einsum("kmi,kia->kma", W[:, :, 4 * s : 4 * s + 4], of[body]) for s, body in enumerate(ends))
            for of in (Q, V, turning)
        )
        slopes = np.zeros((k, n + 1, m, 3, 6))
        for side, body in enumerate(ends):
            w = W[:, :, 4 * side : 4 * side + 4]
            block = np.zeros((k, m, 3, 6))
            block[..., :3] = w[:, :, :1, None] * np.eye(3)
            block[..., 3:] = -_skew(np.einsum("kmi,kia->kma", w[:, :, 1:], Q[body, 1:]))
            slopes[np.arange(k), self._column[body]] += block
        J = np.moveaxis(slopes[:, :n], 1, 3).reshape(k, m, 3, 6 * n)
        if m == 1:
            return np.repeat(rows.joint[mine], 3), F.reshape(-1), J.reshape(3 * k, 6 * n), ddF.reshape(-1)
        u, v = F[:, 0], F[:, 1]
        bend = np.cross(ddF[:, 0], v) + 2.0 * np.cross(dF[:, 0], dF[:, 1]) + np.cross(u, ddF[:, 1])
        J_c = _skew(u) @ J[:, 1] - _skew(v) @ J[:, 0]
        C = np.cross(u, v).reshape(-1)
        return np.repeat(rows.joint[mine], 3), C, J_c.reshape(3 * k, 6 * n), bend.reshape(-1)

    def armature(self) -> Array:
        """Inertia (m,) [kg or kg·m²] of the coordinates themselves."""
        out = np.zeros(self._lowered.coordinates.count)
        for use in self._lowered.law_uses:
            if isinstance(use.word, Armature):
                out[use.laws.of[use.rows]] += use.entry.elements.slot(use.word.parameters[0].attribute).values
        return np.asarray(out[self.rows])

    def combined(self) -> tuple[Array, Array]:
        """W and c of W x = c: coordinates that joints hold, and couplings, as they are now."""
        W, c = [np.zeros((0, len(self.rows)))], [np.zeros(0)]

        def add(rows: Indices, weight: Array, target: Array) -> None:
            mine = np.flatnonzero((self._place[rows] >= 0).any(axis=1))
            part = np.zeros((len(mine), len(self.rows)))
            np.add.at(part, (np.arange(len(mine))[:, None], self._place[rows[mine]]), weight[mine])
            W.append(part)
            c.append(target[mine])

        for use in self._lowered.law_uses:
            if isinstance(use.word, Hold):
                _, target, scale = use.laws.p[use.rows].T
                add(use.laws.of[use.rows][:, None], scale[:, None], scale * target)
        if self._lowered.couplings is not None:
            add(*self._lowered.couplings.equations())
        return np.concatenate(W), np.concatenate(c)


def _skew(w: Array) -> Array:
    """[w]× (…, 3, 3) of vectors (…, 3)."""
    out = np.zeros((*w.shape, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -w[..., 2], w[..., 1], -w[..., 0]
    return out - out.swapaxes(-1, -2)


def _connected(free: Flags, pairs: list[Indices], seeds: list[Indices]) -> Indices:
    """Free bodies that chains of pairs of free bodies connect with the seeds."""
    links = np.concatenate(pairs)
    links = links[free[links].all(axis=1)]
    reached = np.zeros(len(free), np.bool_)
    reached[np.concatenate(seeds)] = True
    reached &= free
    while True:
        touched = links[reached[links].any(axis=1)].reshape(-1)
        if reached[touched].all():
            return np.flatnonzero(reached)
        reached[touched] = True
