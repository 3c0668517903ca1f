"""Adjoint of restitution: velocity that bodies without joints are given back after a step (solver/bounce.py).

    V⁺ = V + s Σ p u        u: rigid motion by a unit impulse along n       W_kl = n_l·c_l u_k
                            p: W p = e v⁻ − n·cV where p > 0

s < 1 where energy would be gained. Which contacts bounce, and whether energy ends it, is as it was, no part of a
derivative.
"""

from __future__ import annotations

import numpy as np

from dovetail.errors import GradientError
from dovetail.gradient.closest import Closest, image
from dovetail.gradient.contact import ContactAdjoint
from dovetail.gradient.formulas import Graph, Node, add_up, custom, dot, gathered, joined, root, summed, where
from dovetail.gradient.rigid import Moments, inverse_of
from dovetail.gradient.sums import Sums
from dovetail.gradient.touching import materials_of
from dovetail.solver.bounce import SLOW, impulses
from dovetail.solver.model import Model
from dovetail.typing import Array, Flags, Indices

__all__ = ["BlowAdjoint"]


class BlowAdjoint:
    """The blow after a step of length h.

    Q_before, Q, V_before, V, a (n, 4, 3)    nodes: states at the start of the step and at its end, before the blow, and
                                             accelerations by loads at its start
    bounced (n,)                             who has been given anything
    """

    def __init__(
        self, model: Model, contact: ContactAdjoint, h: float, Q_before: Array, Q: Array, V_before: Array, V: Array,
        a: Array,
    ) -> None:  # fmt: skip
        self._model, self._contact, n = model, contact, model.bodies.count
        self.bounced: Flags = np.zeros(n, np.bool_)
        t, graph, free = contact.end, Graph(), (model.bodies.is_free != 0)[:, None, None]
        self._t, self._graph, self._h, self._count = t, graph, h, n
        moving = (np.where(free, each, 0.0) for each in (V_before, V, a))
        self.Q_before, self.Q, self.V_before, self.V, self.a = map(graph.of, (Q_before, Q, *moving))
        self.mass = graph.of(np.where(free, model.bodies.mass, np.eye(4)))
        self._closest = Closest(graph, t, model.contact.scene, self.Q) if t.count and model.contact else None
        if self._closest is None:
            return
        begun, falls = self._along(self.V_before), self._along(self.a)
        square = begun * begun + 2.0 * falls * self._along(self.Q - self.Q_before)
        assert model.contact is not None
        e = model.contact.scene.restitution[materials_of(model.contact.scene, t)][:, None]
        met = np.sqrt(np.maximum(square.value, 0.0))
        e = e * ((begun.value < 0.0) & (met > SLOW * h * np.abs(falls.value)))
        if not e.any():
            return
        self._log_e = graph.of(np.zeros_like(e))
        wanted = e * (1.0 + self._log_e) * root(where(e > 0.0, square, 1.0)) - self._along(self.V)
        self._give(e[:, 0] > 0.0, wanted, free)

    def _along(self, rows: Node) -> Node:
        """n·(x_a − x_b) (k, 1) of every contact, for rows (n, 4, 3) of positions or their rates."""
        assert self._closest is not None
        return dot(self._closest.n, image(self._closest.c, self._t.bodies, rows))

    def _give(self, strikes: Flags, wanted: Node, free: Array) -> None:
        """V⁺ where some contacts (k,) strike."""
        bodies = self._t.bodies
        bouncing = np.zeros(self._count + 1, np.bool_)
        bouncing[bodies[strikes]] = True
        bouncing[-1] = False
        chosen = np.flatnonzero(bouncing[bodies].any(axis=1))
        is_free, struck = self._model.bodies.is_free, np.unique(bodies[chosen])
        tied = struck[(struck >= 0) & (is_free[struck] != self._model.lone.among(is_free)[struck])]
        if len(tied):
            raise GradientError(
                "Tape.backward: gradients are not known of a blow with restitution on "
                f"{self._model.bodies.name(int(tied[0]))}, which joints hold; set its restitution to 0."
            )
        assert self._closest is not None
        n, c, of = gathered(self._closest.n, chosen), gathered(self._closest.c, chosen), bodies[chosen]
        u = [self._response(c[:, 4 * side : 4 * side + 4], n, of[:, side]) for side in range(2)]
        W = self._products(n, c, of, u)
        p = _impulses(W, gathered(wanted, chosen))
        parts = [add_up(p[:, :, None] * each, of[:, side], self._count) for side, each in enumerate(u)]
        change = parts[0] + parts[1]
        self.bounced = np.asarray(change.value.any(axis=(1, 2)))
        self._given = self._share(change, free) * change

    def _response(self, c: Node, n: Node, body: Indices) -> Node:
        """Motions (m, 4, 3) of bodies by unit impulses along n, on the points with weights c (m, 4)."""
        is_free = (self._model.bodies.is_free[body] != 0) & (body >= 0)
        mass, Q = gathered(self.mass, np.where(is_free, body, 0)), gathered(self.Q, np.where(is_free, body, 0))
        moments = Moments(mass, Q)
        u = moments.rows_of(moments.rigid(inverse_of(mass) @ (c[:, :, None] * n[:, None])))
        found: Node = u * is_free[:, None, None]
        return found

    def _products(self, n: Node, c: Node, of: Indices, u: list[Node]) -> Node:
        """W (m, m)."""
        m, parts, places = len(of), [], []
        for side in range(2):
            for other in range(2):
                first, second = np.nonzero((of[:, None, side] == of[None, :, other]) & (of[:, None, side] >= 0))
                moved = gathered(c, second)[:, None, 4 * other : 4 * other + 4] @ gathered(u[side], first)
                parts.append(dot(gathered(n, second), moved[:, 0]))
                places.append(first * m + second)
        return add_up(joined(parts, axis=0), np.concatenate(places), m * m)

    def _share(self, change: Node, free: Array) -> Node | float:
        """The largest share of a change of V, at most 1, with which no energy is gained in the step."""
        assert self._closest is not None

        def work(one: Node, other: Node) -> Node:
            return summed(summed(summed(free * one * (self.mass @ other), 1), 1), 0)

        closest, h = self._closest, self._h
        stored = summed((closest.scale * closest.slope_of_barrier(0))[:, 0], 0) / (h * h)
        most = 0.5 * work(self.V_before, self.V_before) + work(self.a, self.Q - self.Q_before) - stored
        quadratic, linear = 0.5 * work(change, change), work(self.V, change)
        left = most - 0.5 * work(self.V, self.V)
        square = linear * linear + 4.0 * quadratic * left
        if quadratic.value + linear.value <= left.value or quadratic.value == 0.0:
            return 1.0
        found = (root(square) - linear) / (2.0 * quadratic) if square.value > 0.0 else linear * 0.0
        return found if 0.0 < found.value < 1.0 else 1.0 * bool(found.value >= 1.0)

    def ahead(self, dQ_before: Array, dQ: Array, dV_before: Array, dV: Array, da: Array) -> Array:
        """What V⁺ − V (n, 4, 3) changes by."""
        nodes = (self.Q_before, self.Q, self.V_before, self.V, self.a)
        self._graph.push(*zip(nodes, (dQ_before, dQ, dV_before, dV, da), strict=True))
        return self._given.change

    def back(self, V_bar: Array, sums: Sums) -> None:
        """Slopes of all nodes ← from the adjoint of V⁺; gradients by masses and materials go to the sums."""
        self._graph.pull((self._given, V_bar))
        self._graph.free()
        contact, free = self._model.contact, (self._model.bodies.is_free != 0)[:, None, None]
        assert contact is not None and self._closest is not None
        sums.constant["mass"] += np.where(free, self.mass.slope, 0.0)
        np.add.at(sums.log_restitution, materials_of(contact.scene, self._t), self._log_e.slope[:, 0])
        self._closest.tell_shapes(contact.scene, sums)
        self._contact.tell_friction(self._t, self._closest.log_kappa.slope[:, 0], None, sums)


def _impulses(W: Node, wanted: Node) -> Node:
    """p (m, 1) of `impulses`, W (m·m,) by rows.

    Its sweeps are gone through one by one: where a box strikes with four corners W is singular, and they do not end.
    """
    m = len(wanted.value)
    matrix, b, past = W.value.reshape(m, m), wanted.value[:, 0], list[tuple[int, Array]]()
    p = impulses(matrix, b, past)

    def pull(bar: Array) -> tuple[Array, Array]:
        by_p, by_W, by_b = bar[:, 0].copy(), np.zeros((m, m)), np.zeros(m)
        for k, after in reversed(past):  # p_k ← (b_k − Σ W_jk p_j)/W_kk over all others, or 0
            by, by_p[k] = by_p[k] / matrix[k, k] if after[k] > 0.0 else 0.0, 0.0
            by_b[k] += by
            by_W[:, k] -= by * after
            by_p -= by * np.where(np.arange(m) == k, 0.0, matrix[:, k])
        return by_W.reshape(W.value.shape), by_b[:, None]

    def push(dW: Array, db: Array) -> Array:
        dp, change = np.zeros(m), dW.reshape(m, m)
        for k, after in past:
            dp[k] = 0.0
            if after[k] > 0.0:
                dp[k] = (db[k, 0] - change[:, k] @ after - matrix[:, k] @ dp) / matrix[k, k]
        return dp[:, None]

    return custom((W, wanted), p[:, None], pull, push)
