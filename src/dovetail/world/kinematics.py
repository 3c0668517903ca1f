"""Where bodies are, and how they move, when coordinates of joints have given values and rates.

Asked for rates ẋ of some coordinates, bodies move (posture.py) so that, in this order,

    1  Ċ = 0              all joints stay closed: loops are solved for
    2  ẋ of those chosen  is what they are asked for, as nearly as 1 allows
    3  ẋ of the others    is what it was, as nearly as 1 and 2 allow
    4  roots              that are free go on as they did
    5  ‖ξ‖ is least       what nothing tells of rests

and the same with accelerations and finite ways, which branches go by screws (screws.py); what nothing tells of rests
relative to its parent then. Where coordinates tell all, as
in trees of hinges and sliders, that is one division each, and one step is the whole way; otherwise it is least squares
in as many unknowns as the forest has motions, and loops are followed step by step, on the branch that they are on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dovetail.solver.bodies import Bodies
from dovetail.solver.joint.screws import move_bodies
from dovetail.typing import Array, Indices
from dovetail.world.lower.lowered import LoweredJoints
from dovetail.world.posture import Island, Posture

if TYPE_CHECKING:
    from dovetail.gradient.screws import Screws

__all__ = ["Kinematics"]

_RANK = 1e-9  # of the largest: singular values below are those of dependent rows, which carry 1e-15
_OPEN = 1e-3  # the same at most while joints are open
_MOST = 2000  # strides of a way
_LOST = 1e-3  # [sizes of a body] by which joints are open where a way does not go on
_STRIDE = 0.2  # [rad, or sizes of the smallest body] that are gone at once, well within Gauss–Newton's reach
_ITERATIONS = 30
_CLOSED = 1e-13  # [m, rad] by a step below which nothing is gained
_NOTHING = 1e-15  # [m, rad] which is round-off, and no reason for a step


def _solve_in_order(levels: list[tuple[Array, Array]], rank: float) -> tuple[Array, Array]:
    """X with A X as near to B as those before allow, for one (A, B) after the other; what is left free (t, f).

    Singular values below `rank` of the largest are taken for zero.
    """
    (first, right), *_ = levels
    X, Z = np.zeros((first.shape[1], right.shape[1])), np.eye(first.shape[1])
    for A, B in levels:
        if not A.size or not Z.shape[1]:
            continue
        U, s, Vt = np.linalg.svd(A @ Z)
        count = int((s > rank * np.linalg.norm(A)).sum())
        X = X + Z @ (Vt[:count].T @ ((U[:, :count].T @ (B - A @ X)) / s[:count, None]))
        Z = Z @ Vt[count:].T
    return X, Z


class Kinematics:
    """Chosen coordinates (k,) of a world, by their rows among all, and the bodies that they move."""

    def __init__(self, lowered: LoweredJoints, bodies: Bodies, Q: Array, chosen: Indices) -> None:
        self._bodies, self._coordinates = bodies, lowered.coordinates
        self.island = Island(lowered, bodies, Q, chosen)
        place = {row: k for k, row in enumerate(self.island.rows.tolist())}
        self._mine = np.array([place[row] for row in chosen.tolist()], np.int64)
        self._others = np.setdiff1d(np.arange(len(place)), self._mine)
        joints = self.island.joints_of_rows()
        self._has_loops = len(self.island.forest.loops) > 0
        self._has_several = len(np.unique(joints)) < len(place)
        self._told_by = self._tellers(joints, self.island.posture(Q, self._reference()))
        self._begun: tuple[Array, Array, Posture] | None = None  # where the last way began
        self._reached: tuple[Array, Posture] | None = None  # and where it ended

    def _tellers(self, joints: Indices, at: Posture) -> Indices | None:
        """For each motion of a branch the coordinate that tells it alone; None where they have to be solved for."""
        on = self.island.forest.joint[self.island.branch]
        own = on[on >= 0]
        if self._has_loops or len(at.off) or len(np.unique(own)) < len(own):
            return None
        first = [*self._mine.tolist(), *self._others.tolist()]
        found = [next((row for row in first if joints[row] == joint), -1) for joint in own.tolist()]
        slopes = (at.motions.slope[found] * at.free[on >= 0]).sum(axis=1) * self.island.size
        return np.array(found, np.int64) if min(found, default=0) >= 0 and (np.abs(slopes) > _OPEN).all() else None

    def _reference(self) -> Array:
        reference: Array = self._coordinates.value[self.island.rows]
        return reference

    def _at(self, Q: Array) -> Posture:
        if self._reached is not None and self._reached[0] is Q:
            return self._reached[1]
        return self.island.posture(Q, self._reference())

    # --- motions --------------------------------------------------------------------------------------------

    def _relative(
        self, at: Posture, rates: Array, root: Array | None, opening: tuple[Array, Array] | None = None
    ) -> Array:
        """Twists (b, 6, c) of branches for rates (m, c) of all coordinates, and twists (6 f, c) of free roots.

        `opening` is what is to be taken out of joints (k, 6) and couplings (w,) besides; c = 1 then.
        """
        island, slope, wanted = self.island, at.motions.slope, rates
        if opening is not None:
            shift = island.closing(at, opening[0])
            off = self._told(at, shift)
            wanted = rates - off[:, None]
        roots = None if root is None else root * np.tile([1.0] * 3 + [island.size] * 3, len(root) // 6)[:, None]
        if self._told_by is None:
            levels = self._levels(at, wanted, roots)
            if opening is not None:
                hold, over = island.held(at)
                loops = island.still_open(opening[0]) + ((hold @ shift.T) * over).sum(axis=1)
                levels[0][1][:, 0] -= np.concatenate([loops, opening[1] + at.W @ off])
            # around loops rows that depend on each other seem not to where joints are open
            rank = max(_RANK, min(_OPEN, self._opening(at) / island.size))
            z, Z = _solve_in_order(levels, rank)
            if Z.shape[1] and opening is None:
                z = z + Z @ self._rest(at, z, Z)
        else:
            z = np.zeros((len(island.branch), wanted.shape[1]))
            own, by = island.of_joints, self._told_by
            z[own] = wanted[by] / (slope[by] * at.free[own]).sum(axis=1)[:, None]
            z[island.of_root] = 0.0 if roots is None else roots
        out = np.zeros((len(island.forest.joint), 6, wanted.shape[1]))
        np.add.at(out, island.branch, at.free[:, :, None] * z[:, None, :])
        return out if opening is None else out + shift[:, :, None]

    def _levels(self, at: Posture, rates: Array, roots: Array | None) -> list[tuple[Array, Array]]:
        """Equations for z, in order, where motions depend on each other, or on nothing; joints are closed."""
        island, count = self.island, rates.shape[1]
        hold, over = island.held(at)
        A = (hold @ at.free.T) * over[:, island.branch]
        G = (at.motions.slope @ at.free.T) * island.paths[:, island.branch]
        mine, others = self._mine, self._others
        closed = np.zeros((len(A) + len(at.W), count))
        levels = [(np.concatenate([A, at.W @ G]), closed), (G[mine], rates[mine]), (G[others], rates[others])]
        if len(island.of_root):
            goes = np.zeros((len(island.of_root), count)) if roots is None else roots
            levels.append((np.eye(len(at.free))[island.of_root], goes))
        return levels

    def _rest(self, at: Posture, z: Array, Z: Array) -> Array:
        """How much of motions Z that nothing tells of makes the twists of bodies about their own origins least."""
        island = self.island
        twists = island.forest.way[:, None, island.branch] * at.free.T
        v, w = twists[:, :3] + np.cross(twists[:, 3:], at.arm[:, :, None], axis=1), island.size * twists[:, 3:]
        B = np.concatenate([v, w], axis=1).reshape(6 * len(at.arm), -1)
        return np.asarray(np.linalg.lstsq(B @ Z, -B @ z, rcond=None)[0], float)

    def _bodies_of(self, relative: Array) -> Array:
        """Twists (n, 6, c) of the bodies for those of the branches."""
        found: Array = np.tensordot(self.island.forest.way, relative, 1)
        return found

    def _unit(self, at: Posture) -> Array:
        """Twists (b, 6, k) of branches for a unit rate of each chosen coordinate, the others at rest."""
        rates = np.zeros((len(at.x), len(self._mine)))
        rates[self._mine] = np.eye(len(self._mine))
        return self._relative(at, rates, None)

    def rates(self, Q: Array, rates: Array, all_rates: Array, V: Array) -> Array:
        """Rates V of Q for rates (k,) of the chosen coordinates; `all_rates` are those that coordinates have.

        Free roots go on as they do in V.
        """
        at, wanted = self._at(Q), all_rates[self.island.rows]
        wanted[self._mine] = rates
        return self.island.rates(Q, self._twists(Q, at, wanted, V), at.centre)

    def _twists(self, Q: Array, at: Posture, rates: Array, V: Array) -> Array:
        """Twists (n, 6) of the bodies for rates (m,) of all coordinates; free roots go as they do in V."""
        roots = self.island.forest.ends[self.island.forest.joint < 0, 1]
        root, body = None, self.island.bodies[roots]
        if len(roots):
            spin = 0.5 * np.cross(Q[body, 1:], V[body, 1:]).sum(axis=1)
            root = np.concatenate([V[body, 0] - np.cross(spin, at.arm[roots]), spin], axis=1).reshape(-1, 1)
        return np.asarray(self.island.forest.way @ self._relative(at, rates[:, None], root)[:, :, 0])

    def mass_matrix(self, Q: Array) -> Array:
        """Nᵀ M N (k, k) [kg, kg·m, kg·m²], with the inertia of coordinates themselves."""
        at = self._at(Q)
        V, rates = self._columns(Q, at)
        momentum = np.einsum("bij,kbja->kbia", self._bodies.mass[self.island.bodies], V)
        mass = V.reshape(len(V), -1) @ momentum.reshape(len(V), -1).T
        mass += (rates.T * self.island.armature()) @ rates
        return np.asarray((mass + mass.T) / 2)

    def bias(self, Q: Array, rates: Array) -> Array:
        """Efforts (k,) [N, N·m] that leave all rates as they are: against gravity and Coriolis forces, Nᵀ M (Q̈ − g)."""
        bodies = self.island.bodies
        at, relative, every = self._kept_up(Q, self._bodies_of(self._unit(self._at(Q))) @ rates)
        acceleration = every[bodies]
        acceleration[:, 0] -= self._bodies.gravity[bodies]
        force = np.einsum("bij,bja->bia", self._bodies.mass[bodies], acceleration)
        V, unit = self._columns(Q, at)
        spun = self.island.armature() * (self._told(at, relative) + at.motions.curve)
        return np.asarray(np.einsum("kbia,bia->k", V, force) + unit.T @ spun)

    def _kept_up(self, Q: Array, twists: Array) -> tuple[Posture, Array, Array]:
        """The posture of bodies with twists (n, 6), how twists (b, 6) of branches change, and Q̈ of all bodies.

        All coordinates keep their rates.
        """
        island, at = self.island, self.island.posture(Q, self._reference(), twists)
        bends = at.motions.bend, at.W @ at.motions.curve
        relative = self._relative(at, -at.motions.curve[:, None], None, bends)[:, :, 0]
        change = island.rates(Q, island.forest.way @ relative, at.centre)
        return at, relative, change + island.turning(island.rates(Q, twists, at.centre), twists)

    def _columns(self, Q: Array, at: Posture) -> tuple[Array, Array]:
        """Rates (k, n, 4, 3) of the island's Q, and rates (m, k) of coordinates, for a unit rate of each chosen one."""
        relative = self._unit(at)
        N = self._bodies_of(relative)
        V = np.zeros((len(self._mine), len(self.island.bodies), 4, 3))
        for k in range(len(V)):
            V[k] = self.island.rates(Q, N[:, :, k], at.centre)[self.island.bodies]
        return V, self._told(at, relative)

    def _told(self, at: Posture, relative: Array) -> Array:
        """Rates (m, …) of coordinates for twists (b, 6, …) of branches."""
        twists = np.tensordot(self.island.paths, relative, 1)
        return np.asarray(np.einsum("mi,mi...->m...", at.motions.slope, twists))

    def jacobian(self, Q: Array, body: int, point: Array) -> Array:
        """(6, k): velocity [m/s] of the point of a body that is at a place of the world, and its spin [rad/s]."""
        out, place = np.zeros((6, len(self._mine))), np.flatnonzero(self.island.bodies == body)
        if place.size:
            at = self._at(Q)
            v, w = self._bodies_of(self._unit(at))[place[0]].reshape(2, 3, -1)
            out[:3], out[3:] = v + np.cross(w.T, point - at.centre).T, w
        return out

    def screws(self, Q: Array) -> Screws | None:
        """The joints of a tree as screw motions; None where one has several, or several coordinates, and of gears."""
        from dovetail.gradient.screws import Screws

        island, forest, of_joint = self.island, self.island.forest, self.island.forest.joint >= 0
        if self._told_by is None or self._has_several:
            return None
        Q, (U, _, Vt) = Q.copy(), np.linalg.svd(Q[:, 1:])
        Q[:, 1:] = U @ Vt  # joints that yield, and bodies that are strained, would tilt the axes
        at = island.posture(Q, self._reference())
        Q, at = self._go(Q, at, at.x)
        twists = forest.sign[:, None] * self._relative(at, np.ones((len(at.x), 1)), None)[:, :, 0]
        w, arm = twists[of_joint, 3:], at.arm[forest.ends[of_joint, 1]]
        v = twists[of_joint, :3] + np.cross(w, arm)  # of the child's origin
        square = (w * w).sum(axis=1, keepdims=True)
        turns = square * island.size**2 > 1e-12 * (v * v).sum(axis=1, keepdims=True)
        w = np.where(turns, w, 0.0)
        point = np.cross(w, v) / np.where(turns, square, 1.0)  # of the axis, from there
        parent, child = island.ends().T
        parts = np.stack([w, point, v - np.cross(point, w)], axis=1) @ np.linalg.inv(Q[child, 1:])
        place, number = np.full(len(of_joint), -1), np.full(len(at.x) + 1, -1)
        place[island.branch[island.of_joints]], number[self._mine] = self._told_by, np.arange(len(self._mine))
        place = place[of_joint]
        axis, point, along = (np.ascontiguousarray(part) for part in parts.swapaxes(0, 1))
        return Screws(
            child=np.ascontiguousarray(child), parent=np.ascontiguousarray(parent), number=number[place],
            row=np.where(place >= 0, island.rows[place], -1), axis=axis, point=point, along=along,
            chosen=island.rows[self._mine],
        )  # fmt: skip

    def lifted(self, Q: Array, V: Array, rates: Array) -> tuple[Array, Array]:
        """∂Q/∂q and ∂V/∂q (k, n, 4, 3) of all bodies at Q, V, with rates (all coordinates) that V has.

        With q̈ = 0 bodies have accelerations Q̈ = Σ ∂²Q/∂q_i∂q_j q̇_i q̇_j; those of q̇ ± e_j tell the change with q_j.
        """
        at, T, W = self._at(Q), *np.zeros((2, len(self._mine), *Q.shape))
        twists = self._twists(Q, at, rates[self.island.rows], V)
        for j, way in enumerate(np.moveaxis(self._bodies_of(self._unit(at)), 2, 0)):
            T[j] = self.island.rates(Q, way, at.centre)
            W[j] = (self._kept_up(Q, twists + way)[2] - self._kept_up(Q, twists - way)[2]) / 4.0
        return T, W

    # --- ways -----------------------------------------------------------------------------------------------

    def move(self, Q: Array, values: Array, start: Array | None = None) -> tuple[Array, Array, float]:
        """Q and all coordinates with the chosen ones at `values` (k,), as nearly as joints allow; how open they stay.

        `start` (all coordinates) says which branch the angles of Q are on; by default that of the world.
        """
        at = self._start(Q, self._reference() if start is None else start[self.island.rows])
        goal, before = at.x.copy(), at.x[self._mine]
        turns = self._coordinates.period[self.island.rows[self._mine]] > 0.0
        way = np.abs(values - before) / np.where(turns, 1.0, self.island.size)
        strides = max(1, math.ceil(min(_MOST, float(way.max(initial=0.0)) / _STRIDE)))
        if not self._has_loops and not self._has_several:
            strides = 1
        for stride in range(1, strides + 1):
            goal[self._mine] = before + (values - before) * (stride / strides)
            Q, at = self._go(Q, at, goal)
            if not self._opening(at) < _LOST * self.island.size:
                break
        every = self._coordinates.value.copy() if start is None else start.copy()
        every[self.island.rows] = at.x
        self._reached = Q, at
        return Q, every, self._opening(at)

    def _start(self, Q: Array, reference: Array) -> Posture:
        """The posture at Q; many ways begin in one and the same state, such as that at home."""
        begun = self._begun
        if begun is not None and np.array_equal(begun[0], Q) and np.array_equal(begun[1], reference):
            return begun[2]
        at = self.island.posture(Q, reference)
        if not self.island.may_change:
            self._begun = Q.copy(), reference, at
        return at

    def _opening(self, at: Posture) -> float:
        """How open joints and couplings are at most."""
        joints = float(np.abs(at.motions.open).max(initial=0.0))
        return max(joints, float(np.abs(at.off).max())) if len(at.off) else joints

    def _go(self, Q: Array, at: Posture, goal: Array) -> tuple[Array, Posture]:
        """Go to coordinates (m,) as near as joints allow, by Newton's method."""
        island, least = self.island, math.inf
        for _ in range(_ITERATIONS):
            way = goal - at.x
            opening: tuple[Array, Array] | None = (at.motions.open, at.off)
            if self._told_by is not None and self._opening(at) < _NOTHING:
                if np.abs(way).max(initial=0.0) < _NOTHING:
                    break
                opening = None
            relative = self._relative(at, way[:, None], None, opening)[:, :, 0]
            largest = float(np.abs(relative).max(initial=0.0))
            if largest < _CLOSED or (largest < 1e-9 and largest >= least):
                break
            least = largest
            if self._has_loops:
                relative *= min(1.0, 2.0 * _STRIDE / max(1e-300, float(np.abs(relative[:, 3:]).max(initial=0.0))))
            Q = Q.copy()
            forest = island.forest
            move_bodies(forest.ends, forest.sign, relative, at.centre, island.bodies, Q)
            at = island.posture(Q, at.x + self._told(at, relative))
        return Q, at
