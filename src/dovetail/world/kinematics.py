"""Where bodies are, and how they move, when coordinates of joints have given values and rates.

Asked for rates ẋ of some coordinates, bodies move by twists ξ (posture.py) so that, in this order,

    1  J_c ξ = 0          all joints stay closed: loops are solved for
    2  J_x ξ = ẋ          the chosen coordinates do what they are asked for, as nearly as 1 allows
    3  J_o ξ = ẋ_o        the others do what they did, as nearly as 1 and 2 allow
    4  ξ_root             the body that a free tree hangs on goes on as it did
    5  ‖ξ‖ is least       what nothing tells of rests

and the same with accelerations and finite ways. Trees go theirs by forward kinematics (forward.py), loops step by step,
on the branch that they are on, each step closed by Gauss–Newton. Equations of trees are solved joint by joint
(tree_equations.py), in the order above for their coordinates; those of loops are dense, over all bodies.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.bodies import Bodies
from dovetail.typing import Array, Indices
from dovetail.world.forward import composed, screw, turned
from dovetail.world.lower.lowered import LoweredJoints
from dovetail.world.posture import Island, Posture
from dovetail.world.tree_equations import TreeEquations

__all__ = ["Kinematics"]

_RANK = 1e-9  # of the largest: singular values below are those of dependent rows, which carry 1e-15
_OPEN = 1e-3  # the same at most while joints are open
_MOST = 2000  # strides of a way
_LOST = 1e-3  # [sizes of a body] by which joints are open where a way does not go on
_STRIDE = 0.2  # [rad, or sizes of the smallest body] that are gone at once, well within Gauss–Newton's reach
_ITERATIONS = 30
_CLOSED = 1e-13  # [m, rad] by a step below which nothing is gained


def _solve_in_order(levels: list[tuple[Array, Array]], scale: Array, rank: float) -> Array:
    """X with A X as near to B as those before allow, for one (A, B) after the other; X/scale is the least such.

    Singular values below `rank` of the largest are taken for zero.
    """
    X = np.zeros((len(scale), levels[0][1].shape[1]))
    Z = np.eye(len(X))
    for A, B in levels:
        A = A * scale
        if not A.size or not Z.shape[1]:
            continue
        U, s, Vt = np.linalg.svd(A @ Z)
        count = int((s > rank * np.linalg.norm(A)).sum())
        X = X + Z @ (Vt[:count].T @ ((U[:, :count].T @ (B - A @ X)) / s[:count, None]))
        Z = Z @ Vt[count:].T
    return X * scale[:, None]


class Kinematics:
    """Chosen coordinates (k,) of a world, by their rows among all, and the bodies that they move."""

    def __init__(self, lowered: LoweredJoints, bodies: Bodies, Q: Array, chosen: Indices) -> None:
        self._bodies, self._coordinates = bodies, lowered.coordinates
        self.island = Island(lowered, bodies, Q, chosen)
        self._scale = np.tile([1.0] * 3 + [1.0 / self.island.size] * 3, len(self.island.bodies))
        place = {row: k for k, row in enumerate(self.island.rows.tolist())}
        self._mine = np.array([place[row] for row in chosen.tolist()], np.int64)
        self._has_several = len(np.unique(self.island.joints_of_rows())) < len(place)
        self._others = np.setdiff1d(np.arange(len(place)), self._mine)

    def _reference(self) -> Array:
        reference: Array = self._coordinates.value[self.island.rows]
        return reference

    def twists(self, Q: Array) -> Array:
        """N (n, 6, k): how the bodies move for a unit rate of each chosen coordinate, the others at rest."""
        return self._moves(self.island.posture(Q, self._reference()), np.eye(len(self._mine)), 0.0, 0.0)

    def _moves(self, at: Posture, rates: Array, others: Array | float, root: Array | float) -> Array:
        """Twists (n, 6, k) for rates of the chosen coordinates, of the others, and the twist of the root."""
        rest = np.zeros((len(self._others), rates.shape[1])) + others
        closed = np.zeros((len(at.C), rates.shape[1]))
        return self._solve(at, closed, (rates, rest), root, _RANK).reshape(-1, 6, rates.shape[1])

    def _solve(self, at: Posture, c: Array, x: tuple[Array, Array], root: Array | float | None, rank: float) -> Array:
        """ξ (6n, k) with J_c ξ = c, then J_x ξ = x of the chosen coordinates, of the others, and the root's twist.

        Where that is None, the root of a free tree is not asked for anything.
        """
        tree = TreeEquations.of(self.island, at)
        if tree is not None:
            held = at.joint < 0
            return tree.solve(c[~held], self._completed(c[held], x, rank), 0.0 if root is None else root)
        levels = [(at.J_c, c), (at.J_x[self._mine], x[0]), (at.J_x[self._others], x[1])]
        if self.island.root >= 0 and root is not None:
            levels.append((self._of_root(), np.zeros((6, c.shape[1])) + root))
        return _solve_in_order(levels, self._scale, rank)

    def _completed(self, c: Array, x: tuple[Array, Array], rank: float) -> Array:
        """Changes (m, k) of all coordinates, c what couplings and held coordinates W x ask for."""
        out = np.zeros((len(self.island.rows), x[0].shape[1]))
        out[self._others], out[self._mine] = x[1], x[0]
        if not len(c):
            return out
        every = np.eye(len(out))
        levels = [(self.island.combined()[0], c), (every[self._mine], x[0]), (every[self._others], x[1])]
        return _solve_in_order(levels, np.ones(len(out)), rank)

    def _of_root(self) -> Array:
        """(6, 6n): takes the twist of the root out of those of all bodies."""
        return np.eye(len(self._scale))[self.island.columns(self.island.root)]

    def rates(self, Q: Array, rates: Array, all_rates: Array, V: Array) -> Array:
        """V (n, 4, 3) of all bodies; the island's for rates (k,) of the chosen, and `all_rates` of the others.

        The root of a free tree goes on as it does in V.
        """
        at = self.island.posture(Q, self._reference())
        others = all_rates[self.island.rows[self._others]][:, None]
        root = np.concatenate(
            [V[self.island.root, 0], 0.5 * np.cross(Q[self.island.root, 1:], V[self.island.root, 1:]).sum(0)]
        )
        return self.island.rates(Q, self._moves(at, rates[:, None], others, root[:, None])[:, :, 0])[0]

    def mass_matrix(self, Q: Array) -> Array:
        """Nᵀ M N (k, k) [kg, kg·m, kg·m²], with the inertia of coordinates themselves."""
        at = self.island.posture(Q, self._reference())
        N = self._moves(at, np.eye(len(self._mine)), 0.0, 0.0)
        V, rates = self._columns(Q, N), at.J_x @ N.reshape(-1, N.shape[2])
        mass = np.einsum("kbia,bij,lbja->kl", V, self._bodies.mass[self.island.bodies], V)
        mass += (rates.T * self.island.armature()) @ rates
        return np.asarray((mass + mass.T) / 2)

    def bias(self, Q: Array, rates: Array) -> Array:
        """Efforts (k,) [N, N·m] that leave all rates as they are: against gravity and Coriolis forces, Nᵀ M (Q̈ − g)."""
        bodies, N = self.island.bodies, self.twists(Q)
        twist = N @ rates
        at = self.island.posture(Q, self._reference(), twist)
        bend = -at.bend_x[self._mine, None], -at.bend_x[self._others, None]
        change = self._solve(at, -at.bend_c[:, None], bend, 0.0, _RANK).reshape(-1, 6)
        acceleration = (self.island.rates(Q, change)[0] + self.island.rates(Q, twist)[1])[bodies]
        acceleration[:, 0] -= self._bodies.gravity[bodies]
        force = np.einsum("bij,bja->bia", self._bodies.mass[bodies], acceleration)
        spun = self.island.armature() * (at.J_x @ change.reshape(-1) + at.bend_x)
        efforts = np.einsum("kbia,bia->k", self._columns(Q, N), force)
        return np.asarray(efforts + (at.J_x @ N.reshape(-1, N.shape[2])).T @ spun)

    def _columns(self, Q: Array, N: Array) -> Array:
        """Rates (k, n, 4, 3) of the island's Q that twists (n, 6, k) are."""
        parts = [self.island.rates(Q, N[:, :, k])[0][self.island.bodies] for k in range(N.shape[2])]
        return np.stack(parts) if parts else np.zeros((0, len(self.island.bodies), 4, 3))

    def jacobian(self, Q: Array, body: int, point: Array) -> Array:
        """(6, k): velocity [m/s] of the point of a body that is at a place of the world, and its spin [rad/s]."""
        out, at = np.zeros((6, len(self._mine))), np.flatnonzero(self.island.bodies == body)
        if at.size:
            v, w = self.twists(Q)[at[0]].reshape(2, 3, -1)
            out[:3], out[3:] = v + np.cross(w.T, point - Q[body, 0]).T, w
        return out

    def move(self, Q: Array, values: Array, start: Array | None = None) -> tuple[Array, Array, float]:
        """Q and all coordinates with the chosen ones at `values` (k,), as nearly as joints allow; how open they stay.

        `start` (all coordinates) says which branch the angles of Q are on; by default that of the world.
        """
        x = self._reference() if start is None else start[self.island.rows]
        at = self.island.posture(Q, x)
        kept, before = at.x[self._others], at.x[self._mine]
        turns = self._coordinates.period[self.island.rows[self._mine]] > 0.0
        way = np.abs(values - before) / np.where(turns, 1.0, self.island.size)
        strides = max(1, math.ceil(min(_MOST, float(way.max(initial=0.0)) / _STRIDE)))
        if self.island.branches is not None and not self._has_several:
            strides = 1
        for stride in range(1, strides + 1):
            goal = before + (values - before) * (stride / strides)
            if self.island.branches is not None:
                ahead = at.x.copy()
                ahead[self._mine] = goal
                ahead = self.island.completed(ahead, self._mine)
                Q = self._forward(Q, at, ahead - at.x)
                at = self.island.posture(Q, ahead)
            Q, at = self._close(Q, at, goal, kept)
            if not float(np.abs(at.C).max(initial=0.0)) < _LOST * self.island.size:
                break
        every = self._coordinates.value.copy() if start is None else start.copy()
        every[self.island.rows] = at.x
        return Q, every, float(np.abs(at.C).max(initial=0.0))

    def _close(self, Q: Array, at: Posture, goal: Array, kept: Array) -> tuple[Array, Posture]:
        least = math.inf
        for _ in range(_ITERATIONS):
            ahead = (goal - at.x[self._mine])[:, None], (kept - at.x[self._others])[:, None]
            # around loops too, rows that depend on each other seem not to where joints are open
            rank = max(_RANK, min(_OPEN, float(np.abs(at.C).max(initial=0.0)) / self.island.size))
            step = self._solve(at, -at.C[:, None], ahead, None, rank).reshape(-1, 6)
            largest = float(np.abs(step).max(initial=0.0))
            if largest < _CLOSED or (largest < 1e-9 and largest >= least):
                break
            least = largest
            Q = self._moved(Q, step * min(1.0, 2.0 * _STRIDE / max(1e-300, float(np.abs(step[:, 3:]).max(initial=0)))))
            at = self.island.posture(Q, at.x)
        return Q, at

    def _forward(self, Q: Array, at: Posture, wanted: Array) -> Array:
        """Bodies of a tree moved by the screw motions of its joints, for changes (m,) of all of its coordinates."""
        of, out = self.island.joints_of_rows(), Q.copy()
        still = np.eye(3), np.zeros(3)
        motion: dict[int, tuple[Array, Array]] = {}
        for joint, parent, child in self.island.branches or ():
            here, mine = self.island.columns(child), np.flatnonzero(of == joint)
            A, X = at.J_c[at.joint == joint, here], at.J_x[mine, here]
            levels = [(A, np.zeros((len(A), 1))), (X, wanted[mine, None])]
            v, w = _solve_in_order(levels, self._scale[:6], _RANK)[:, 0].reshape(2, 3)
            R, t = motion[child] = composed(motion.get(parent, still), screw(v, w, Q[child, 0]))
            out[child, 0], out[child, 1:] = R @ Q[child, 0] + t, Q[child, 1:] @ R.T
        return out

    def _moved(self, Q: Array, step: Array) -> Array:
        """Bodies moved by (v, ω): p + v, and axes turned about ω by its length."""
        Q, bodies = Q.copy(), self.island.bodies
        Q[bodies, 1:] = turned(step[:, None, 3:], Q[bodies, 1:])
        Q[bodies, 0] += step[:, :3]
        return Q
