"""Kinematics without any insight: what joints hold and report as functions of all bodies, derivatives by differences.

Bodies move by a twist each, (v, ω) with the velocity of their own origin, and least squares over all of these twists,
one wish after the other, find the motion. It is slow, good to seven digits, and knows neither trees nor loops.
"""

from __future__ import annotations

import numpy as np

from dovetail.constitution.laws import Hold

__all__ = ["DenseKinematics", "moved"]


def moved(Q, twist):
    """Bodies (n, 4, 3) moved by (v, ω): p + v, and axes turned about ω by its length (Rodrigues)."""
    Q = Q.copy()
    w = twist[:, None, 3:]
    angle = np.maximum(np.linalg.norm(w, axis=-1, keepdims=True), 1e-300)
    axis = w / angle
    once = np.cross(axis, Q[:, 1:])
    Q[:, 1:] += np.sin(angle) * once + (1.0 - np.cos(angle)) * np.cross(axis, once)
    Q[:, 0] += twist[:, :3]
    return Q


class DenseKinematics:
    """Of the bodies and coordinates of a mechanism's island."""

    def __init__(self, mechanism):
        state = mechanism._state
        self.simulation, island = state._simulation, state._kinematics.island
        self.lowered = self.simulation.joints.lowered
        self.bodies, self.rows, self.size = island.bodies, island.rows, island.size
        self.mine = np.array([self.rows.tolist().index(row) for row in state._of.tolist()])
        self.others = np.setdiff1d(np.arange(len(self.rows)), self.mine)

    def told(self, Q):
        """C (r,) and x (m,)."""
        parts = []
        for rows in (self.lowered.points, self.lowered.slides):
            concerned = np.isin(rows.pairs, self.bodies).any(axis=1)
            both = np.concatenate([Q[rows.left], Q[rows.right]], axis=1)
            F = np.einsum("kmi,kia->kma", rows.W, both)[concerned]
            parts.append((F[:, 0] if rows.W.shape[1] == 1 else np.cross(F[:, 0], F[:, 1])).ravel())
        every = self.lowered.coordinates.derivatives(Q, np.zeros_like(Q))[0]
        for use in self.lowered.law_uses:
            if isinstance(use.word, Hold):
                _, target, scale = use.laws.p[use.rows].T
                of = use.laws.of[use.rows]
                parts.append((scale * (every[of] - target))[np.isin(of, self.rows)])
        if self.lowered.couplings is not None:
            of, weight, c = self.lowered.couplings.equations()
            parts.append(((weight * every[of]).sum(axis=1) - c)[np.isin(of, self.rows).any(axis=1)])
        return np.concatenate(parts), every[self.rows]

    def moved(self, Q, twist):
        Q = Q.copy()
        Q[self.bodies] = moved(Q[self.bodies], twist)
        return Q

    def jacobians(self, Q, e=1e-6):
        """∂C, ∂x over twists."""
        columns = []
        for unit in np.eye(6 * len(self.bodies)).reshape(-1, len(self.bodies), 6):
            ends = [self.told(self.moved(Q, sign * e * unit)) for sign in (1, -1)]
            columns.append([(a - b) / (2 * e) for a, b in zip(*ends, strict=True)])
        return (np.stack(part, axis=1) for part in zip(*columns, strict=True))

    def rates(self, Q, rates, others):
        """Rates of Q for rates of the chosen coordinates and of the others; what nothing tells of rests."""
        J_c, J_x = self.jacobians(Q)
        scale = np.tile([1.0] * 3 + [1.0 / self.size] * 3, len(self.bodies))
        found, Z = np.zeros(len(scale)), np.eye(len(scale))
        for A, b in ((J_c, np.zeros(len(J_c))), (J_x[self.mine], rates), (J_x[self.others], others)):
            A = A * scale
            U, s, Vt = np.linalg.svd(A @ Z)
            count = int((s > 1e-6 * np.linalg.norm(A)).sum())  # derivatives are good to 1e-9
            found = found + Z @ (Vt[:count].T @ ((U[:, :count].T @ (b - A @ found)) / s[:count]))
            Z = Z @ Vt[count:].T
        twist = (found * scale).reshape(-1, 6)
        V = np.zeros_like(Q)
        V[self.bodies, 0], V[self.bodies, 1:] = twist[:, :3], np.cross(twist[:, None, 3:], Q[self.bodies, 1:])
        return V
