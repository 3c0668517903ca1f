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
from dovetail.solver.blocks import Blocks
from dovetail.solver.joint.combined import apply_combined
from dovetail.solver.joint.row_algebra import apply_rows
from dovetail.solver.model import Model
from dovetail.solver.potential import Evaluation
from dovetail.typing import Array, Indices

__all__ = ["AdjointSystem"]

_SHAPE = (-1, 4, 3)
_blocks: WeakKeyDictionary[Model, Blocks] = WeakKeyDictionary()  # laying them out takes as long as some steps


class AdjointSystem:
    """Blocks of its own for a model; while it is in use the blocks of Newton's directions are not."""

    def __init__(self, model: Model) -> None:
        self._model = model
        if model not in _blocks:
            _blocks[model] = Blocks(model.bodies.is_fixed)
        self.blocks = _blocks[model]
        self._active: Indices = model.bodies.is_free
        self._none = np.zeros((0, 3))

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

    def assemble(self, at: Evaluation, contact: ContactAdjoint | None) -> Array:
        """Have the true Hessian at a state; the gradient there (n, 12), zero but for what Newton has left."""
        potential = self._model.potential
        if contact is not None and not contact.fits(self.blocks):
            self.lay_out(contact.pairs)
        if potential.laws is not None:
            potential.laws.parabolas = 0
        potential.assemble(at, True, self._active, self.blocks, with_contact=False)
        if potential.laws is not None:
            potential.laws.parabolas = 1
        if contact is not None:
            contact.assemble(self.blocks)
        if potential.exact is not None:
            potential.exact.begin_start()  # nothing is asked of J x but that it is zero
        return self.blocks.g * self._active[:, None]

    def factor(self, step: int) -> None:
        """Factor what was assembled for a step."""
        bad = self.blocks.factor(self._active)
        if bad >= 0:
            raise GradientError(
                f"Tape.backward: step {step} has no gradient: the Hessian at its end is not positive definite at "
                f"{self._model.bodies.name(bad)}, so that the state is no minimum but a point of bifurcation, or "
                "Newton's method has ended early there; shorten dt, or end the rollout before it."
            )

    def newton_step(self, g: Array) -> float:
        """The largest entry of the step that Newton's method would take next, from the gradient (n, 12).

        Exact joints count as stiff as they are in the matrix, which they are closed with to some digits.
        """
        step = self.blocks.solve(self._active, g)
        return float(max(step.max(initial=0.0), -step.min(initial=0.0)))

    def solve(self, Q: Array, q: Array, active: Indices | None = None, scaled: bool = True) -> tuple[Array, Array]:
        """x (n, 4, 3) and ν (r, 3) of H x + Jᵀν = q, J x = 0, with the matrix last factored; x = 0 for fixed bodies.

        With what is asked of J x (exact.py, add_curvature) it must not be `scaled`.
        """
        active = self._active if active is None else active
        x = np.ascontiguousarray(q.reshape(-1, 12) * active[:, None])
        self.blocks.solve(active, x)
        exact = self._model.potential.exact
        if exact is None:
            return x.reshape(_SHAPE), self._none
        size = float(max(x.max(initial=0.0), -x.min(initial=0.0))) if scaled else 1.0
        size = size or 1.0
        x /= size  # joints are closed to an absolute tolerance
        exact.restrict(Q, self.blocks, active, x)
        left, (points, slides) = np.empty_like(exact.restraint), (exact.points, exact.slides)
        after = points.count - points.exact
        apply_rows(points, active, x, 0, left)
        if slides.count:
            apply_rows(slides, active, x, after, left)
        if exact.combined.count:
            apply_combined(exact.combined, active, x, after + slides.count - slides.exact, left)
        left -= exact.constraints.bend
        left *= exact.constraints.K[:, None]
        left -= exact.restraint
        x *= size
        left *= size
        return x.reshape(_SHAPE), left
