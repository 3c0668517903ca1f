"""Random trees of affine bodies with all kinds of rows, and the dense system that the sweep must agree with."""

from __future__ import annotations

import numpy as np
from plain_bodies import plain_bodies

from dovetail.solver.articulated.articulated import Articulated
from dovetail.solver.articulated.rows import Rows
from dovetail.solver.articulated.tree import plant, tree_islands

__all__ = ["RandomTree"]


def cross(v: np.ndarray) -> np.ndarray:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def symmetric_basis() -> np.ndarray:
    """Six symmetric matrices, orthonormal in the Frobenius product."""
    basis = np.zeros((6, 3, 3))
    for k, (i, j) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))):
        basis[k, i, j] = basis[k, j, i] = 1.0 if i == j else np.sqrt(0.5)
    return basis


class RandomTree:
    """Bodies in two trees, the first of them held by fixed bodies at several places.

    Every joint has one to three triples; a third of them weighted points held exactly, a third by springs, and the
    others arbitrary linear rows, with an idle one here and there. With `common`, the joints are of the kinds for which
    there is emitted code: "balls" in binary trees, "hinges" in chains, "driven" ones with a row more, a "rope" of
    balls, or six "ropes" on one body.
    """

    def __init__(self, rng: np.random.Generator, bodies: int = 12, common: str = "") -> None:
        self.n = n = bodies + 2
        self._common = common
        fixed = np.zeros(n, np.int64)
        fixed[[2, n - 1]] = 1
        free = np.flatnonzero(fixed == 0)
        free = free if common else rng.permutation(free)
        half = bodies // 2
        begins = np.where(np.arange(bodies) < half, 0, half)
        parents = [(free[k], free[self._parent(rng, k, begins[k])]) for k in range(1, bodies) if k != half]
        pairs = [p if rng.random() < 0.5 else p[::-1] for p in parents]
        pairs += [(free[0], 2), (n - 1, free[1]), (free[0], n - 1)]
        each = {"hinges": 2, "driven": 3}.get(common, 1)
        counts = np.full(len(pairs), each) if common else rng.integers(1, 4, len(pairs))
        # a body offers twelve rows; what it shares with fixed bodies must stay below
        counts[-3:] = 1
        triples = np.repeat(np.arange(len(pairs)), counts)
        triples = triples if common == "driven" else rng.permutation(triples)
        self.left, self.right = np.array(pairs)[triples].T
        self.is_free = 1 - fixed
        self.island = island = np.full(n, -1)
        island[free] = begins > 0
        joined = np.array(pairs)
        grounded = np.array([a if fixed[b] else b for a, b in pairs if fixed[a] or fixed[b]])
        trees = tree_islands(island, 2, self.is_free, joined)
        assert trees.all()
        self.forest = plant(self.is_free, joined, island, trees, grounded)
        self._kind = rng.integers(0, 2 if common else 3, len(self.left))
        if common == "driven":  # the last triple of every joint but those to fixed bodies
            self._kind[2:-3:3] = 2
        some = 1 if common == "driven" else rng.integers(1, 4, len(self.left))
        lengths = np.where(self._kind == 2, some, 3)
        self.rows = Rows(self.forest, self.left, self.right, lengths)
        self._draw_bodies(rng)
        self._draw_rows(rng)

    def _parent(self, rng: np.random.Generator, k: int, begin: int) -> int:
        if self._common == "balls":
            return int(begin + (k - begin - 1) // 2)
        if self._common:
            return max(begin, k - 6) if self._common == "ropes" else k - 1
        return int(rng.integers(max(begin, k - 3), k))

    def _draw_bodies(self, rng: np.random.Generator) -> None:
        n = self.n
        points = rng.normal(size=(n, 20, 3))
        rows = np.concatenate([np.ones((n, 20, 1)), points], axis=2)
        self.c = rng.uniform(0.5, 2.0, n)
        self.w = rng.uniform(50.0, 100.0, n)
        self.bodies = plain_bodies(np.einsum("npi,npj->nij", rows, rows), stiffness=self.w, is_fixed=1 - self.is_free)
        self.mass, self.inertia = self.bodies.mass, self.bodies.inertia
        rotation = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
        rotation *= np.linalg.det(rotation)[:, None, None]
        self.Q = np.concatenate([rng.normal(size=(n, 1, 3)), rotation + 2e-4 * rng.normal(size=(n, 3, 3))], axis=1)
        self.Q_tilde = self.Q + 0.1 * rng.normal(size=self.Q.shape)
        self.push = rng.normal(size=self.Q.shape)

    def _draw_rows(self, rng: np.random.Generator) -> None:
        t = self.rows.count
        kind = self._kind[self.rows.source]
        self.weights = rng.normal(size=(t, 2, 4))
        self.special = np.where(kind == 2, np.cumsum(kind == 2) - 1, -1)
        self.covectors = rng.normal(size=(int((kind == 2).sum()), 2, 3, 4, 3))
        self.compliance = np.where(kind[:, None] == 0, 0.0, rng.uniform(0.1, 1.0, (t, 3)))
        self.residual = rng.normal(size=(len(self.covectors), 3))
        for s in range(0, len(self.covectors), 2):
            at = int(np.flatnonzero(self.special == s)[0])
            self.covectors[s, :, 1], self.compliance[at, 1], self.residual[s, 1] = 0.0, 1.0, 0.0
        for at in np.flatnonzero(np.diff(self.rows.row_at) < 3):
            idle = slice(self.rows.row_at[at + 1] - self.rows.row_at[at], 3)
            self.covectors[self.special[at], :, idle], self.compliance[at, idle] = 0.0, 1.0
            self.residual[self.special[at], idle] = 0.0

    def double_first_row(self) -> None:
        """Make two exact triples of one joint the same."""
        upward, full = self.rows.upward, np.diff(self.rows.row_at) == 3
        place = np.repeat(np.arange(len(upward) - 1), np.diff(upward))
        a = int(np.flatnonzero((np.diff(place) == 0) & full[: len(place)][:-1] & full[: len(place)][1:])[0])
        b = a + 1
        self.special[[a, b]] = -1
        self.compliance[[a, b]] = 0.0
        self.weights[b] = self.weights[a]

    # ---- the sweep ---------------------------------------------------------------------------------------------

    def solver(self, fast: bool) -> Articulated:
        solver = Articulated(self.forest, self.rows, self.weights, self.compliance, self.special, self.bodies, fast)
        solver.arrays.covectors, solver.arrays.residual = self.covectors, self.residual
        solver.weigh(self.c, self.w)
        return solver

    def _run(self, fast: bool, active: np.ndarray | None, far: int = 0) -> tuple[int, np.ndarray, np.ndarray]:
        solver = self.solver(fast)
        solver.arrays.far = far
        y = np.zeros((self.n, 12))
        bad = solver.direction(self.Q, self.Q_tilde, self.is_free if active is None else active, y)
        return bad, y, solver.multiplier

    def sweep(self, fast: bool, active: np.ndarray | None = None, far: int = 0) -> tuple[np.ndarray, np.ndarray]:
        bad, y, multiplier = self._run(fast, active, far)
        assert bad == -1
        return y, multiplier

    def respond(self, fast: bool) -> tuple[np.ndarray, np.ndarray]:
        """Steps of bodies without stress: Newton's, and the response to the push."""
        solver = self.solver(fast)
        solver.weigh_response(self.w)
        y, y_push = np.zeros((2, self.n, 12))
        assert solver.respond(self.Q, self.Q_tilde, self.push, self.is_free, y, y_push) == -1
        return y, y_push

    def sweep_status(self) -> int:
        return self._run(fast=False, active=None)[0]

    # ---- the dense system --------------------------------------------------------------------------------------

    def hessian(self, b: int, stress: float = 1.0) -> np.ndarray:
        """12×12 of body b: m, J and k in the coordinates (centre of mass, ω, ε), pulled back."""
        A = self.Q[b, 1:].T
        U, _, Vt = np.linalg.svd(A)
        R = U @ Vt
        G = A.T @ A - np.eye(3)
        m, centre = self.mass[b, 0, 0], self.mass[b, 0, 1:] / self.mass[b, 0, 0]
        J = self.c[b] * self.inertia[b] + stress * 4 * self.w[b] * (np.trace(G) * np.eye(3) - G)
        k = 8 * self.w[b] + self.c[b] * np.trace(self.inertia[b]) / 6
        T = np.zeros((12, 12))
        T[:3, :3] = np.eye(3)
        generators = [*(cross(e) for e in np.eye(3)), *symmetric_basis()]
        for column, generator in enumerate(generators):
            dA = generator @ R
            T[:3, 3 + column] = -dA @ centre
            T[3:, 3 + column] = dA.T.ravel()
        D = np.zeros((12, 12))
        D[:3, :3] = self.c[b] * m * np.eye(3)
        D[3:6, 3:6] = R @ J @ R.T
        D[6:, 6:] = k * np.eye(6)
        inverse = np.linalg.inv(T)
        return inverse.T @ D @ inverse

    def gradient(self, b: int, stress: float = 1.0) -> np.ndarray:
        A = self.Q[b, 1:].T
        g = self.c[b] * self.mass[b] @ (self.Q[b] - self.Q_tilde[b])
        g[1:] += stress * 4 * self.w[b] * ((A.T @ A - np.eye(3)) @ self.Q[b, 1:])
        return g.ravel()

    def _system(self, stress: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The saddle matrix, and the right-hand sides of bodies and rows; of a fixed body the unit matrix and 0."""
        r, size = self.rows, 12 * self.n
        H, g, W = np.eye(size), np.zeros(size), np.zeros((3 * r.count, size))
        for b in self.forest.body:
            at = slice(12 * b, 12 * b + 12)
            H[at, at], g[at] = self.hessian(b, stress), self.gradient(b, stress)
        c = np.zeros((r.count, 3))
        for t in range(r.count):
            for side, b in enumerate((r.near[t], r.other[t])):
                if self.special[t] < 0:
                    c[t] += self.weights[t, side] @ self.Q[b]
                elif side == 0:
                    c[t] = self.residual[self.special[t]]
                if not self.is_free[b]:
                    continue
                plain = np.einsum("i,xy->xiy", self.weights[t, side], np.eye(3))
                a = self.covectors[self.special[t], side] if self.special[t] >= 0 else plain
                W[3 * t : 3 * t + 3, 12 * b : 12 * b + 12] = a.reshape(3, 12)
        return np.block([[H, -W.T], [W, np.diag(self.compliance.ravel())]]), g, c.ravel()

    def dense(self) -> tuple[np.ndarray, np.ndarray]:
        K, g, c = self._system(1.0)
        solution = np.linalg.solve(K, np.concatenate([g, c]))
        return solution[: len(g)].reshape(-1, 12), solution[len(g) :].reshape(-1, 3)

    def dense_response(self) -> tuple[np.ndarray, np.ndarray]:
        """What `respond` must find, c being 1."""
        kept, self.c = self.c, np.ones_like(self.c)
        K, g, c = self._system(0.0)
        pushed = np.zeros_like(g)
        for b in self.forest.body:
            pushed[12 * b : 12 * b + 12] = (self.mass[b] @ self.push[b]).ravel()
        sides = np.stack([np.concatenate([g, c]), np.concatenate([pushed, -c])], axis=1)
        self.c = kept
        first, second = np.linalg.solve(K, sides)[: len(g)].T
        return first.reshape(-1, 12), second.reshape(-1, 12)
