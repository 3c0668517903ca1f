"""The linear system of an adjoint: the true Hessian of a step at its end, factored, with exact joints.

At the end Q of a step the potential E is stationary, with multipliers m of the exact joints,

    ∇E(Q; θ) + Jᵀm = 0        C(Q; θ) = 0

so that for a loss with the derivative q by Q the solution of

    H x + Jᵀν = q             J x = 0             H = ∇²(E + m·C)

has dL/dθ = −x·∂(∇E + Jᵀm)/∂θ − ν·∂C/∂θ for everything that the step depends on.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from dovetail.errors import GradientError
from dovetail.gradient.contact import ContactAdjoint
from dovetail.kernel.kernel import kernel
from dovetail.solver.blocks import Blocks
from dovetail.solver.joint.combined import linearise_combined
from dovetail.solver.joint.constraints import ALONG, Constraints
from dovetail.solver.joint.rows import linearise_rows
from dovetail.solver.model import Model
from dovetail.solver.potential import Evaluation
from dovetail.typing import Array, Indices

__all__ = ["AdjointSystem"]

_SHAPE = (-1, 4, 3)
_MOVING = 1e-12  # |J x| over |x| where targets may move: by one in one step, the next ones take back all but millionths
_blocks: WeakKeyDictionary[Model, Blocks] = WeakKeyDictionary()  # laying them out takes as long as some steps


@kernel
def _largest(x: Array) -> float:
    """The largest entry of x (n, 12) by size."""
    found = 0.0
    for b in range(len(x)):
        for i in range(12):
            found = max(found, abs(x[b, i]))
    return found


@kernel
def _set_active(q: Array, active: Indices, x: Array) -> None:
    """x (n, 12) ← q (n, 4, 3) of active bodies, 0 of the others."""
    for b in range(len(q)):
        for i in range(4):
            for z in range(3):
                x[b, 3 * i + z] = q[b, i, z] if active[b] else 0.0


@kernel
def _tell_multipliers(c: Constraints, mu: Array, out: Array) -> None:
    """out (r, 3) ← ν of all exact rows, K (J x − bend) − μ, from what the solution was last restricted with."""
    K, residual = c.K, c.residual
    for k in range(len(out)):
        for z in range(3):
            out[k, z] = -K[k] * residual[k, z] - mu[k, z]


class AdjointSystem:
    """Blocks of its own for a model; while it is in use the blocks of Newton's directions are not.

    They have room for two factors: that of the filter at the start of a step is put aside for the way back.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        if model not in _blocks:
            _blocks[model] = Blocks(model.bodies.is_fixed)
        self.blocks = _blocks[model]
        self._active: Indices = model.bodies.is_free
        self._aside: tuple[Array, Array, Array] = (np.zeros((0, 12, 12)), np.zeros((0, 12, 12)), np.zeros((0, 12)))
        self._none, self._y = np.zeros((0, 3)), np.zeros_like(self.blocks.g)

    def enter(self) -> None:
        """Take the place of the blocks of Newton's directions."""
        self._kept, self._model.directions.blocks = self._model.directions.blocks, self.blocks
        if self.blocks.laid_out:
            self._model.potential.add_constant(self.blocks)
        else:
            self.lay_out(np.zeros((0, 2), np.int64))

    def lay_out(self, touching: Indices) -> None:
        """Have blocks for joints and these pairs of bodies (k, 2)."""
        potential = self._model.potential
        self.blocks.restructure(np.concatenate([potential.pairs, touching]))
        potential.add_constant(self.blocks)

    def prepare(self, h: float, weight: Array) -> None:
        """Take the weights of a step of length h, weight (n,) that of the kinetic terms."""
        potential = self._model.potential
        potential.prepare(h, weight)
        if potential.exact is not None and potential.exact.tune(h):
            potential.add_constant(self.blocks)

    def leave(self) -> None:
        """Give everything back to Newton's directions."""
        model = self._model
        model.directions.blocks = self._kept
        model.potential.renew()
        if model.directions.blocks.laid_out:
            model.potential.add_constant(model.directions.blocks)

    def assemble(self, at: Evaluation, contact: ContactAdjoint | None) -> None:
        """Have the true Hessian at a state, and the gradient, zero but for what Newton's method has left.

        Blocks must have been laid out for the contacts.
        """
        potential = self._model.potential
        if potential.laws is not None:
            potential.laws.as_they_are()
        potential.assemble(at, True, self._active, self.blocks, with_contact=False)
        if contact is not None:
            contact.assemble(self.blocks)
        if potential.exact is not None:
            potential.exact.begin_start()  # nothing is asked of J x but that it is zero

    def factor(self, step: int, closes: bool = False) -> float:
        """Factor what was assembled for a step; the largest entry of the step that Newton's method would take next.

        Exact joints count as stiff as they are in the matrix, which they are closed with to some digits. If it
        `closes` them, those of points get their multipliers, which are zero so far: H x + Jᵀν = ∇E.
        """
        blocks, y = self.blocks, self._y
        if blocks.is_plain:
            bad = self._model.potential.factor(self._active, blocks, y)
        else:
            bad = blocks.factor(self._active)
            np.copyto(y, blocks.g)
            if bad < 0:
                blocks.solve(self._active, y)
        if bad >= 0:
            raise GradientError(
                f"Tape.backward: step {step} has no gradient: the Hessian at its end is not positive definite at "
                f"{self._model.bodies.name(bad)}, so that the state is no minimum but a point of bifurcation, or "
                "Newton's method has ended early there; shorten dt, or end the rollout before it."
            )
        if closes:
            points = self._model.potential.points
            np.negative(self._restricted(y, self._active)[1], out=points.multiplier[points.exact :])
        return float(_largest(y))

    def swap(self) -> None:
        """Put the factor aside, and have the one that was."""
        blocks, aside = self.blocks, self._aside
        self._aside = blocks.D, blocks.U, blocks.R
        if len(aside[0]) != len(blocks.D) or len(aside[1]) != len(blocks.U):  # blocks were laid out anew
            aside = np.zeros_like(blocks.D), np.zeros_like(blocks.U), np.zeros_like(blocks.R)
        blocks.D, blocks.U, blocks.R = aside

    def recall(self, Q: Array, active: Indices) -> None:
        """Have the factor that was put aside, and rows of exact joints as they are at Q, where it was made."""
        self.swap()
        exact = self._model.potential.exact
        if exact is None:
            return
        exact.begin_start()
        linearise_rows(exact.slides, active, Q)
        if exact.combined.count:
            linearise_combined(exact.combined, active, Q)

    def solve(self, q: Array, active: Indices | None = None, closed: float | None = None) -> tuple[Array, Array]:
        """x (n, 4, 3) and ν (r, 3) of H x + Jᵀν = q, J x = bend, with the matrix last factored; x = 0 for fixed bodies.

        bend is zero unless a start asks for more (`add_curvature` in exact.py). For `closed` see `restrict` there.
        """
        active = self._active if active is None else active
        x = np.empty((len(active), 12))
        _set_active(q.reshape(_SHAPE), active, x)
        self.blocks.solve(active, x)
        x, nu = self._restricted(x, active, closed)
        return x.reshape(_SHAPE), nu

    def _restricted(self, x: Array, active: Indices, closed: float | None = None) -> tuple[Array, Array]:
        """x (n, 12), the solution without regard to rows, in place, and ν (r, 3)."""
        exact = self._model.potential.exact
        if exact is None:
            return x, self._none
        if closed is None:
            closed = _MOVING if exact.combined.count else ALONG
        exact.restrict(self.blocks, active, x, closed)
        nu = np.empty_like(exact.restraint)
        _tell_multipliers(exact.constraints, exact.restraint, nu)
        return x, nu
