"""What joints tell of a posture, and the motions of the bodies, as rigid ones, that they allow.

The bodies that joints connect form a forest, and some joints close loops in it. A motion is a twist ρ = (v, ω) of each
branch, of its right body relative to the left one, with the velocity v of what is at a common centre (motions.py): it
is in the directions that the joint leaves, by numbers z, one for each motion of the forest. Joints of loops ask for
Σ hold·ρ = 0 over the branches around the loop, which are few equations for few numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.constitution.laws import Armature, Hold
from dovetail.solver.bodies import Bodies
from dovetail.solver.joint.motions import JointRows, Motions, find_motions
from dovetail.solver.joint.rows import Rows
from dovetail.typing import Array, Flags, Indices
from dovetail.world.forward import Forest
from dovetail.world.lower.lowered import LoweredJoints

__all__ = ["Island", "Posture"]


@dataclass(frozen=True)
class Posture:
    """At a posture, beside the motions of joints:

    centre (3,), arm (n, 3)   where twists have their velocity, and where the bodies are from there
    free (t, 6)               twist of each motion of the forest
    W (w, m), off (w,)        W ẋ = 0 is what couplings hold, and by how much W x is off
    """

    motions: Motions
    centre: Array
    arm: Array
    free: Array
    W: Array
    off: Array

    @property
    def x(self) -> Array:
        """Coordinates (m,)."""
        return self.motions.x


class Island:
    """The free bodies that joints and couplings connect with those of some coordinates.

    bodies (n,)    their numbers
    rows (m,)      all coordinates that concern them
    size           of the smallest body [m], which makes angles and lengths comparable
    forest         its joints
    branch (t,)    the branch of each motion of the forest
    """

    def __init__(self, lowered: LoweredJoints, bodies: Bodies, Q: Array, rows: Indices) -> None:
        """Q is a state in which joints are closed, from which it is told what each holds."""
        self._lowered, c = lowered, lowered.coordinates
        free = np.asarray(bodies.is_fixed) == 0
        self._couplings: Indices = np.zeros((0, 2), np.int64)
        if lowered.couplings is not None:
            self._couplings = lowered.couplings.equations()[0]
        self.bodies = _connected(free, [lowered.pairs, *self._coupled(c.left, c.right)], [c.left[rows], c.right[rows]])
        column = np.full(len(free), -1)
        column[self.bodies] = np.arange(len(self.bodies))
        self.rows = np.flatnonzero((column[c.pairs] >= 0).any(axis=1))
        self._place = np.full(c.count, -1)
        self._place[self.rows] = np.arange(len(self.rows))
        size = 2.0 * float(np.linalg.norm(bodies.half[self.bodies], axis=1).min(initial=np.inf))
        self.size = size if 0.0 < size < np.inf else 1.0
        mine = np.flatnonzero((column[lowered.pairs] >= 0).any(axis=1))
        self.forest = Forest(column[lowered.pairs[mine]], len(self.bodies))
        self._uncoupled = np.zeros((0, len(self.rows))), np.zeros(0)
        self._holds = [use for use in lowered.law_uses if isinstance(use.word, Hold)]
        self._joints = self._rows_of(mine)
        self._still = np.zeros_like(Q)
        self._find(Q, c.value[self.rows], None)  # which tells the ranks
        roots = np.flatnonzero(self.forest.joint < 0)
        ranks = self._joints.rank[self.forest.joint]
        ranks[roots] = 0
        self.branch: Indices = np.repeat(np.arange(len(ranks)), 6 - ranks)
        self._direction: Indices = _joined([np.arange(rank, 6) for rank in ranks.tolist()])
        on = self.forest.joint[self.branch]
        self.of_root, self.of_joints = np.flatnonzero(on < 0), np.flatnonzero(on >= 0)
        """Which motions are those of free roots, and which of joints."""
        self._motion = on[self.of_joints], self._direction[self.of_joints]
        self._unit = np.diag([1.0] * 3 + [1.0 / self.size] * 3)[self._direction[self.of_root]]
        self.paths = self.forest.paths[self._joints.joint]
        """(m, b): how coordinates take part in motions of the branches."""
        ranks = self._joints.rank[self.forest.loops]
        self._closing = np.repeat(self.forest.loops, ranks)
        self._closed_by = _joined([np.arange(rank) for rank in ranks.tolist()])

    def _rows_of(self, mine: Indices) -> JointRows:
        """What these joints hold and report."""
        lowered, c = self._lowered, self._lowered.coordinates
        number = np.full(len(lowered.pairs), -1)
        number[mine] = np.arange(len(mine))
        joint = np.concatenate([number[lowered.points.joint], number[lowered.slides.joint]])
        W = np.concatenate([_padded(lowered.points), _padded(lowered.slides)])
        is_slide = np.repeat([0, 1], [lowered.points.count, lowered.slides.count])
        held = self._place[_joined([use.laws.of[use.rows] for use in self._holds])]
        ours, kept = _sorted_by(joint), _sorted_by(np.where(held >= 0, number[c.joint[self.rows]][held], -1))
        self._held = kept
        every = np.arange(len(mine) + 1)
        of_held = number[c.joint[self.rows]][held[kept]] if len(kept) else kept
        return JointRows(
            pairs=np.ascontiguousarray(lowered.pairs[mine]), first=np.searchsorted(joint[ours], every), W=W[ours],
            is_slide=is_slide[ours], rank=np.full(len(mine), -1), size=self.size, joint=number[c.joint[self.rows]],
            of=self.rows, period=c.period[self.rows], first_held=np.searchsorted(of_held, every), held=held[kept],
            weight=np.zeros(len(kept)), target=np.zeros(len(kept)),
        )  # fmt: skip

    @property
    def may_change(self) -> bool:
        """Whether joints and couplings hold coordinates at targets, which users may change."""
        return len(self._holds) + len(self._couplings) > 0

    def joints_of_rows(self) -> Indices:
        """The joint of each coordinate."""
        return self._joints.joint

    def ends(self) -> Indices:
        """Parent and child (b, 2) of the branches that are joints, by their numbers in the world."""
        on = self.forest.joint >= 0
        pairs = self._joints.pairs[self.forest.joint[on]]
        return np.where(self.forest.sign[on, None] > 0.0, pairs, pairs[:, ::-1])

    def _coupled(self, left: Indices, right: Indices) -> list[Indices]:
        """Pairs of bodies that couplings connect."""
        a, b = self._couplings.T
        return [np.stack([x[a], y[b]], axis=1) for x in (left, right) for y in (left, right)]

    # --- a posture ------------------------------------------------------------------------------------------

    def posture(self, Q: Array, reference: Array, twists: Array | None = None) -> Posture:
        """All of it at Q; angles are on the branch nearest to `reference` (m,).

        Bends are those of motions with twists (n, 6) of the bodies, and zero without.
        """
        motions, centre = self._find(Q, reference, twists)
        free = np.empty((len(self.branch), 6))
        free[self.of_root] = self._unit
        free[self.of_joints] = motions.motion[self._motion]
        W, c = self._coupling()
        off = W @ motions.x - c if len(c) else c
        return Posture(motions, centre, Q[self.bodies, 0] - centre, free, W, off)

    def _find(self, Q: Array, reference: Array, twists: Array | None) -> tuple[Motions, Array]:
        if len(self._joints.held):
            p = np.concatenate([use.laws.p[use.rows] for use in self._holds])[self._held]
            self._joints.target[:], self._joints.weight[:] = p[:, 1], p[:, 2]
        centre: Array = Q[self.bodies[0], 0].copy() if len(self.bodies) else np.zeros(3)
        V = turning = self._still
        if twists is not None:
            V = self.rates(Q, twists, centre)
            turning = self.turning(V, twists)
        out = Motions(len(self._joints.pairs), len(self.rows))
        alone = self._lowered.coordinates.derivatives(Q, V)
        find_motions(self._joints, Q, V, turning, centre, alone, reference, out.coordinates, out.directions)
        return out, centre

    def rates(self, Q: Array, twists: Array, centre: Array) -> Array:
        """Rates of Q for twists (n, 6) of the bodies."""
        V, at = np.zeros_like(Q), Q[self.bodies]
        at[:, 0] -= centre
        moves = at @ _spin(twists)
        moves[:, 0] += twists[:, :3]
        V[self.bodies] = moves
        return V

    def turning(self, V: Array, twists: Array) -> Array:
        """What is left of the accelerations of Q, with rates V, while twists (n, 6) are constant."""
        out = np.zeros_like(V)
        out[self.bodies] = V[self.bodies] @ _spin(twists)
        return out

    # --- what joints ask of motions -------------------------------------------------------------------------

    def closing(self, at: Posture, opening: Array) -> Array:
        """The least twists (b, 6) of the branches that take `opening` (k, 6) out of their joints."""
        least = ((opening * at.motions.gain)[:, None] @ at.motions.motion)[self.forest.joint, 0]
        least[self.forest.joint < 0] = 0.0
        return np.asarray(-least)

    def held(self, at: Posture) -> tuple[Array, Array]:
        """What joints of loops hold (r, 6), and over which branches (r, b)."""
        return at.motions.hold[self._closing, self._closed_by], self.forest.paths[self._closing]

    def still_open(self, opening: Array) -> Array:
        """What of an opening (k, 6) of joints belongs to loops (r,)."""
        return np.asarray(opening[self._closing, self._closed_by])

    def _coupling(self) -> tuple[Array, Array]:
        """W and c of W x = c, as couplings have it now."""
        if self._lowered.couplings is None or not len(self._couplings):
            return self._uncoupled
        rows, weight, c = self._lowered.couplings.equations()
        mine = np.flatnonzero((self._place[rows] >= 0).any(axis=1))
        W = np.zeros((len(mine), len(self.rows)))
        np.add.at(W, (np.arange(len(mine))[:, None], self._place[rows[mine]]), weight[mine])
        return W, c[mine]

    def armature(self) -> Array:
        """Inertia (m,) [kg or kg·m²] of the coordinates themselves."""
        out = np.zeros(self._lowered.coordinates.count)
        for use in self._lowered.law_uses:
            if isinstance(use.word, Armature):
                out[use.laws.of[use.rows]] += use.entry.elements.slot(use.word.parameters[0].attribute).values
        return np.asarray(out[self.rows])


def _joined(parts: list[Indices]) -> Indices:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _padded(rows: Rows) -> Array:
    """Weights (r, 2, 8), with zeros where there is no second row."""
    return np.concatenate([rows.W, np.zeros((rows.count, 2 - rows.W.shape[1], 8))], axis=1)


def _sorted_by(joint: Indices) -> Indices:
    """Which rows have a joint, joint by joint."""
    order = np.argsort(joint, kind="stable")
    return np.asarray(order[np.searchsorted(joint[order], 0) :])


def _spin(twists: Array) -> Array:
    """S (n, 3, 3) with r S = ω × r."""
    S = np.zeros((len(twists), 3, 3))
    x, y, z = twists[:, 3], twists[:, 4], twists[:, 5]
    S[:, 0, 1], S[:, 0, 2], S[:, 1, 2] = z, -y, x
    S[:, 1, 0], S[:, 2, 0], S[:, 2, 1] = -z, y, -x
    return S


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
