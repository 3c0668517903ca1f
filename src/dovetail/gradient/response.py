"""Adjoint of what bodies and joints make of impulses at contacts (solver/response.py), as formulas with derivatives.

Lone bodies are rigid. Of those that joints tie, x = P⁻¹F with J x = 0 solves P x + Jᵀm = F, and its adjoint the same:
P μ + Jᵀν = x̄, J μ = 0. F gets μ, and everything in P and J the derivative of −μ·(P x + Jᵀm) − ν·J x.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from dovetail.gradient.closest import Closest, image, moved_on
from dovetail.gradient.formulas import Node, add_up, cross, custom, dot, gathered, joined, reshaped, root, where
from dovetail.gradient.frame import Frame
from dovetail.gradient.linear import AdjointSystem
from dovetail.gradient.rigid import Moments, inverse_of
from dovetail.gradient.start import StartAdjoint
from dovetail.gradient.sums import Sums
from dovetail.solver.blow import Blow
from dovetail.solver.consistent import assemble_filter, factor_filter
from dovetail.solver.contact.readback import axis_beside
from dovetail.solver.integrator import Methods
from dovetail.solver.joint.constraints import CLOSED
from dovetail.solver.model import Model
from dovetail.solver.response import LONG
from dovetail.typing import Array, Flags, Indices

__all__ = ["ResponseAdjoint", "Tied"]

_STEP = 1e-5  # largest change of Q in differences of P along a direction, which is smooth


class Tied:
    """P⁻¹ of active bodies (n,) at the end of step k; `sums` are set before anything is pulled."""

    def __init__(
        self, model: Model, system: AdjointSystem, start: StartAdjoint, k: int, frame: Frame, active: Indices
    ) -> None:
        self._model, self._system, self._start, self._k, self.active = model, system, start, k, active
        everybody = ~model.nobody
        methods = Methods(frame.methods.method, model.nobody, everybody)
        self._now, self._frame = frame, replace(frame, h=LONG * frame.h, ratio=1.0, methods=methods)
        self._ones, self._held = np.ones(model.bodies.count), everybody
        self.sums: Sums | None = None

    def at(self, Q: Node) -> None:
        """Go to Q."""
        self._Q = Q

    @contextmanager
    def _ready(self, moved: Array | float = 0.0) -> Iterator[None]:
        """P is factored where Q has moved on; what was factored is left as it was."""
        model, blocks, long = self._model, self._system.blocks, self._frame.h
        kept = blocks.D, blocks.U, blocks.R
        blocks.D, blocks.U, blocks.R = (np.zeros_like(each) for each in kept)
        self._system.prepare(long, self._ones)
        Q = self._Q.value + moved
        model.start.begin(Q, np.zeros_like(Q), self._held, long, 1.0)
        if model.potential.exact is not None:
            model.potential.exact.begin_start()
        assemble_filter(model, model.start, self.active, blocks)
        factor_filter(model, self.active, blocks)
        try:
            yield
        finally:
            blocks.D, blocks.U, blocks.R = kept
            self._system.prepare(self._now.h, self._now.methods.weight)

    def _solved(self, F: Array) -> tuple[Array, list[Array]]:
        """x (r, n, 4, 3) and multipliers of each."""
        pairs = [self._system.solve(each, self.active, CLOSED) for each in F]
        return np.stack([x for x, _ in pairs]), [m for _, m in pairs]

    def solve(self, F: Node) -> Node:
        """x (r, n, 4, 3), each by itself."""
        with self._ready():
            x, m = self._solved(F.value)

        def pull(bar: Array) -> tuple[Array, Array]:
            sums, Q, by_Q = self.sums, self._Q.value, np.zeros_like(self._Q.value)
            assert sums is not None
            with self._ready():
                mu, nu = self._solved(bar)
                for of in range(len(x)):
                    by_Q += self._start.filter_adjoint(
                        self._k,
                        self._frame,
                        Q,
                        np.zeros_like(Q),
                        self.active,
                        mu[of],
                        x[of],
                        sums,
                        rows=(m[of], nu[of]),
                    )
            return mu, by_Q

        def push(dF: Array, dQ: Array) -> Array:
            found, step = np.zeros_like(x), _STEP / max(float(np.abs(dQ).max()), 1e-300)
            for share, weight in ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)):
                with self._ready(share * step * dQ):
                    found += weight / (12.0 * step) * self._solved(F.value)[0]
            with self._ready():
                return found + self._solved(dF)[0]

        return custom((F, self._Q), x, pull, push)


class ResponseAdjoint:
    """Of the rows (m,) of a blow, which are contacts `at` those that are known.

    c (m, 8), along (m, 3, 3)     nodes: weights on both surfaces with the sign of their body, and n, t₁, t₂
    motion (r, 12)                node: by unit impulses, as in `Impulses`
    """

    def __init__(self, model: Model, blow: Blow, closest: Closest, at: Indices, mass: Node, tied: Tied | None) -> None:
        assert model.contact is not None
        known = blow.blows
        self._count, self._Q, self._mass, self._tied = model.bodies.count, closest.Q, mass, tied
        self._bodies = known.bodies
        self.moves: Flags = ((blow.island >= 0) & (model.bodies.is_free != 0))[:, None, None]
        self._is_tied: Flags = np.zeros(self._count, np.bool_) if tied is None else tied.active != 0
        rolls = known.leader != np.arange(len(at))
        n = gathered(closest.n, at)
        t1 = cross(n, axis_beside(n.value))
        t1 = t1 / root(dot(t1, t1))
        self.along = joined([each[:, None] for each in (n, t1, cross(n, t1))], axis=1)
        self.c = gathered(closest.c, at) * ~rolls[:, None]
        thick = np.where(self._bodies >= 0, model.contact.scene.thickness[self._bodies], 0.0)
        far = np.where(rolls[:, None], 1.0, thick * np.array([-1.0, 1.0])) * (self._bodies >= 0)
        for side in range(2):
            some = np.flatnonzero(far[:, side])
            if len(some):
                away = far[some, side, None] * gathered(n, some)
                self.c = moved_on(self.c, some, self._bodies[some, side], side, away, self._Q)
        self._moments = Moments(mass, self._Q)
        parts = [self._of_lone_bodies()]
        if tied is not None:
            parts.append(self._of_mechanisms(tied, model.islands.mechanism))
        rows, moves = (np.concatenate([part[i] for part in parts]) for i in range(2))
        order = np.argsort(rows, kind="stable")
        assert np.array_equal(moves[order], known.moves)
        self._rows, self._moves = rows[order], moves[order]
        motion = gathered(joined([part[2] for part in parts], axis=0), order)
        self.motion = reshaped(motion, len(order), 12)

    def _rigid(self, body: Indices, V: Node) -> Node:
        """Rates (r, 4, 3) of rigid bodies with the momentum of V."""
        moments = Moments(gathered(self._mass, body), gathered(self._Q, body))
        return moments.rows_of(moments.rigid(V))

    def _patterns(self, k: Indices, side: Indices) -> Node:
        """Generalised forces (3 s, 4, 3) of unit impulses along n, t₁, t₂ of rows k on the bodies of a side (s,)."""
        both = joined([self.c[:, :4], self.c[:, 4:]], axis=0)
        c, along = gathered(both, side * len(self._bodies) + k), gathered(self.along, k)
        return reshaped(c[:, None, :, None] * along[:, :, None, :], 3 * len(k), 4, 3)

    def _of_lone_bodies(self) -> tuple[Indices, Indices, Node]:
        """Rows 3k + d, the bodies that they move, and how (r, 4, 3)."""
        b = self._bodies
        k, side = np.nonzero((b >= 0) & self.moves[b, 0, 0] & ~self._is_tied[b])
        rows, body = (3 * k[:, None] + np.arange(3)).ravel(), np.repeat(b[k, side], 3)
        moved = gathered(inverse_of(self._mass), body) @ self._patterns(k, side)
        return rows, body, self._rigid(body, moved)

    def _of_mechanisms(self, tied: Tied, mechanism: Indices) -> tuple[Indices, Indices, Node]:
        """The same of bodies that joints tie."""
        b, n = self._bodies, self._count
        k, side = np.nonzero((b >= 0) & self._is_tied[b])
        struck, place = np.unique(k, return_inverse=True)
        at = (3 * place.reshape(-1)[:, None] + np.arange(3)) * n + b[k, side][:, None]
        F = add_up(self._patterns(k, side), at.ravel(), 3 * len(struck) * n)
        x = reshaped(tied.solve(reshaped(F, 3 * len(struck), n, 4, 3)), 3 * len(struck) * n, 4, 3)
        rows, moves, where_at = list[Indices](), list[Indices](), list[Indices]()
        for number, row in enumerate(struck.tolist()):
            pair = b[row][(b[row] >= 0) & self._is_tied[b[row]]]
            together = np.flatnonzero(np.isin(mechanism, mechanism[pair]) & self._is_tied)
            for d in range(3):
                rows.append(np.full(len(together), 3 * row + d))
                moves.append(together)
                where_at.append((3 * number + d) * n + together)
        none = [np.zeros(0, np.int64)]
        body = np.concatenate(none + moves)
        return np.concatenate(none + rows), body, self._rigid(body, gathered(x, np.concatenate(none + where_at)))

    def rigid_motion(self, V: Node, otherwise: Node | Array) -> Node:
        """V (n, 4, 3) as of rigid bodies, for those that impulses may move; others have another one."""
        found = V
        if self._tied is not None:
            by_joints = self._tied.solve((self._mass @ V)[None])[0]
            found = where(self._is_tied[:, None, None], by_joints, V)
        return where(self.moves, self._moments.rows_of(self._moments.rigid(found)), otherwise)

    def rates(self, V: Node) -> Node:
        """n·(v_a − v_b) (m,) at both surfaces, of rates V (n, 4, 3)."""
        return dot(self.along[:, 0], image(self.c, self._bodies, V))[:, 0]

    def after(self, V: Node, p: Node) -> Node:
        """V (n, 12) with the impulses p (m, 3) besides."""
        size = len(self._bodies) * 3
        change = gathered(reshaped(p, size, 1), self._rows) * self.motion
        return reshaped(V, self._count, 12) + add_up(change, self._moves, self._count)
