"""Exact joints: constraints that hold to round-off, by multipliers on the factor of the same block system.

A penalty joint adds K/2 ‖C‖² to the energy E and yields by f h²/K. An exact one asks for the minimum of E with
C(Q) = 0. Newton's step −y and the multipliers λ then satisfy

    H y = ∇E + Jᵀλ,    C(Q − y) = 0          H = ∇²(E + λ·C)

which is solved without a larger matrix: A = H + JᵀKJ has the structure of a penalty joint and is factored once; then

    y ← A⁻¹(∇E + Jᵀ(λ + K C) + Jᵀμ),    λ ← λ + K(C − J y) + μ,    μ such that C(Q − y) = 0

Without μ little is left of C: what the inertia and stiffness that stand against a row are to K, 1e-6 or 1e-2. μ is
found by conjugate gradients on J A⁻¹Jᵀ, which is nearly K⁻¹: one or two iterations, each a back-substitution, more
where gaps along a chain of hundreds of links add up. The constraint itself is evaluated in the end, not its
linearisation, so that sliders too are closed after every whole step. Redundant rows, as in every planar four-bar, do no
harm: A is definite, and the multipliers are those of least K⁻¹-norm.

The line search needs one number for energy and closure: E + λ·C + K_m/2 ‖C‖² with the new λ falls along −y, and is E
where the joints are closed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.contribution import Contribution, Start
from dovetail.solver.joint.combined import Combined
from dovetail.solver.joint.exact_rows import Coinciding, Parallel, Rows
from dovetail.typing import Array, Flags, Indices

__all__ = ["ExactJoints"]

_RETUNE = 2.0  # change of h at which K is chosen anew
_MERIT = 1e-4  # K_m / K, the strength of a usual penalty: a stiff one would only let a slider creep along its curve
_CLOSED = 1e-13  # [m, –] a residual that is not worth a correction, for a scene of the size of a metre
_OPEN = 1e-11  # [m, –] one at which a joint does not count as closed: 1e-9 rad on a hinge of a centimetre
_ROUNDS = 6  # in which curved constraints are evaluated again
_CORRECTIONS = 40  # at most in a round; one or two are usual
_LOST = 1e-5  # J A⁻¹Jᵀ over K⁻¹, below which rows count as dependent on each other


class ExactJoints(Contribution):
    """The constraints of all exact joints, their multipliers, and the solution of the systems that have them.

    name says how messages call a joint. worst is the largest residual that the last step leaves, in units
    of 1 m plus the size of the scene.
    """

    def __init__(
        self,
        coinciding: Coinciding,
        parallel: Parallel,
        combined: Sequence[Combined] = (),
        name: Callable[[int], str] = lambda joint: f"joint {joint}",
    ) -> None:
        self.coinciding, self.parallel, self.combined, self.name = coinciding, parallel, list(combined), name
        self.rows: list[Rows] = [rows for rows in (coinciding, parallel, *combined) if rows.count]
        count = sum(rows.count for rows in self.rows)
        self._residual, self._applied = np.zeros((count, 3)), np.zeros((count, 3))
        self._K, self._yields = np.zeros((count, 1)), np.zeros((count, 1))  # K⁻¹, 0 between fixed bodies
        at = 0
        for rows in self.rows:
            # each kind has its part of common arrays, on which vectors over all rows are formed
            here = slice(at, at + rows.count)
            rows.residual, rows.applied = self._residual[here], self._applied[here]
            at += rows.count
        self._tuned = np.zeros(1)  # h for which K is to be, and for which it is
        self._weighed = 0.0
        self._kept = np.zeros(1)  # 1 if the last step has closed all joints, and no body was moved since
        self.worst = 0.0
        self._scale = 1.0  # h²
        self._size = 1.0  # of the scene [m]
        self._bends = [np.zeros((rows.count, 3)) for rows in self.rows]

    def pairs_of(self, joints: Sequence[int]) -> Indices:
        """Left and right bodies (m, 2) of all rows of some joints."""
        return np.concatenate([rows.stencils.pairs[np.isin(rows.stencils.joint, joints)] for rows in self.rows])

    def tune(self, h: float) -> bool:
        """Choose K for steps of length h; True if it has changed, and with it what is constant in the blocks."""
        if not self._tuned[0] / _RETUNE <= h <= self._tuned[0] * _RETUNE:
            self._tuned[0] = h
        if self._weighed == self._tuned[0]:
            return False
        self._weighed = float(self._tuned[0])
        for rows in self.rows:
            rows.K = rows.compliance.weights(self._weighed)
        self._K = np.concatenate([rows.K for rows in self.rows])[:, None]
        self._yields = np.divide(1.0, self._K, out=np.zeros_like(self._K), where=self._K > 0.0)
        return True

    # ---- as a contribution ------------------------------------------------------------------------------------

    def pairs(self) -> Indices:
        return np.concatenate([rows.pairs() for rows in self.rows])

    @property
    def points(self) -> int:
        return self.coinciding.count

    def add_constant(self, blocks: Blocks) -> None:
        for rows in self.rows:
            rows.add_constant(blocks)

    def add_energy(self, Q: Array, owner: Indices, E: Array) -> None:
        """None: an exact joint stores no energy."""

    def assemble(self, Q: Array, exact: bool, blocks: Blocks) -> None:
        """Add Jᵀ(λ + K C) and JᵀKJ, and the curvature λ·∇²C when exact."""
        self.worst = 0.0
        for rows in self.rows:
            self.worst = max(self.worst, rows.linearise(Q, blocks))
            rows.add_hessian(exact, blocks)
        self.add_gradient(blocks)

    def add_gradient(self, blocks: Blocks) -> None:
        """Add Jᵀ(λ + K C)."""
        for rows in self.rows:
            rows.pull_back(rows.multiplier + rows.K[:, None] * rows.residual, blocks, blocks.g)

    def add_merit(self, Q: Array, owner: Indices, E: Array) -> None:
        """E[owner] += λ·C + K_m/2 ‖C‖² at Q, which is 0 where the joints are closed."""
        for rows in self.rows:
            rows.add_merit(Q, _MERIT, owner, E)

    # ---- solving ----------------------------------------------------------------------------------------------

    def direction(self, Q: Array, blocks: Blocks) -> Array:
        """y with C(Q − y) = 0, and the multipliers that go with it; after `assemble` at Q and the factorisation."""
        y = blocks.solve(blocks.g)
        self._size = 1.0 + float(np.abs(Q).max())
        mu = self._K * self._residual
        kept, before = (y, mu), np.inf
        for _ in range(_ROUNDS):
            self.worst = max(rows.measure(Q, y, blocks) for rows in self.rows) / self._size
            # a step can be too long for its correction, or rows that depend on each other not fit any more; a NaN too
            if not self.worst < before:
                y, mu = kept
                self.worst = max(rows.measure(Q, y, blocks) for rows in self.rows) / self._size
                break
            if self.worst <= _CLOSED or self.worst > 0.5 * before:
                break
            kept, before = (y, mu), self.worst
            change, more = self._cancel(blocks, _CLOSED * self._size)
            y, mu = y + change, mu + more
        self._apply(y, blocks)
        mu -= self._K * self._applied
        at = 0
        for rows in self.rows:
            rows.multiplier += mu[at : at + rows.count]
            at += rows.count
        return y

    def survey(self, Q: Array, y: Array, blocks: Blocks) -> None:
        """Find out how far a step that was found elsewhere closes the joints."""
        self._size = 1.0 + float(np.abs(Q).max())
        for rows in self.rows:
            rows.linearise(Q, blocks)
        self.worst = max(rows.measure(Q, y, blocks) for rows in self.rows) / self._size

    def _cancel(self, blocks: Blocks, tolerance: float) -> tuple[Array, Array]:
        """A⁻¹Jᵀμ and μ with J A⁻¹Jᵀ μ = residual, by conjugate gradients with K as the inverse of the matrix."""
        r = self._residual.copy()
        mu, y = np.zeros_like(r), np.zeros_like(blocks.g)
        p = self._K * r
        rz = float(np.vdot(r, p))
        for _ in range(_CORRECTIONS):
            step = np.zeros_like(y)
            self._pull_back(p, blocks, step)
            self._apply(blocks.solve(step), blocks)
            curvature = float(np.vdot(p, self._applied))
            # the same with K⁻¹ in place of the matrix
            if not curvature > _LOST * float(np.vdot(p, self._yields * p)):
                break
            alpha = rz / curvature
            y += alpha * step
            mu += alpha * p
            r -= alpha * self._applied
            if np.abs(r).max() <= tolerance:
                break
            z = self._K * r
            rz, before = float(np.vdot(r, z)), rz
            p = z + (rz / before) * p
        return y, mu

    def _apply(self, y: Array, blocks: Blocks) -> None:
        """applied ← J y."""
        for rows in self.rows:
            rows.apply(y, blocks)

    def _pull_back(self, values: Array, blocks: Blocks, g: Array) -> None:
        """g += Jᵀ values."""
        at = 0
        for rows in self.rows:
            rows.pull_back(values[at : at + rows.count], blocks, g)
            at += rows.count

    @property
    def closed(self) -> bool:
        """Whether all joints will be closed after the step of the last `direction`."""
        return self.worst <= _OPEN

    def widest(self, Q: Array, blocks: Blocks) -> str:
        """The joint that is open the most at Q, in words; empty if all are closed."""
        rows = max(self.rows, key=lambda rows: rows.linearise(Q, blocks))
        size = np.abs(rows.residual).max(axis=1)
        if size.max() <= _OPEN * (1.0 + float(np.abs(Q).max())):
            return ""
        return f"exact {self.name(int(rows.stencils.joint[size.argmax()]))} stays open by {size.max():.2g} [m or rad]"

    @property
    def stay_closed(self) -> bool:
        """Whether the joints are closed in all states of a step: those that are linear are, if it begins so."""
        return self._kept[0] != 0.0 and self.parallel.count == 0 and not self.combined

    def loosen(self) -> None:
        """Bodies are moved without regard to the joints: from outside, or by steps that go round."""
        self._kept[0] = 0.0

    def open(self, bodies: int) -> Array:
        """1 for each of the bodies on a joint that will not be closed, else 0."""
        flags = np.zeros(bodies)
        for rows in self.rows:
            flags[rows.stencils.pairs[~(np.abs(rows.residual).max(axis=1) <= _OPEN * self._size)]] = 1.0
        return flags

    def add_start(self, start: Start, blocks: Blocks) -> None:
        """Add JᵀKJ: a consistent start obeys J V̂ = 0 and J Â = −(∂J/∂Q V̂) V̂, whatever the multipliers are."""
        for rows, bend in zip(self.rows, self._bends, strict=True):
            rows.linearise(start.Q, blocks)
            rows.add_hessian(False, blocks)
            bend.fill(0.0)

    def add_curvature(self, start: Start, blocks: Blocks) -> None:
        """Ask the next `restrict` for J x = h² (∂J/∂Q V) V."""
        for rows, bend in zip(self.rows, self._bends, strict=True):
            rows.bend(start.V, start.h * start.h, bend)
            rows.pull_back(rows.K[:, None] * bend, blocks, blocks.g)

    def restrict(self, x: Array, blocks: Blocks) -> None:
        """x (free, 12) = A⁻¹b becomes the solution of H x + Jᵀμ = b with J x = 0, J as last assembled.

        After `add_curvature`, which adds to b what makes it so, J x is as asked for there.
        """
        for _ in range(2):
            self._apply(x, blocks)
            np.subtract(np.concatenate(self._bends), self._applied, out=self._residual)
            size = float(np.abs(x).max())
            if float(np.abs(self._residual).max()) > _CLOSED * size:
                x += self._cancel(blocks, _CLOSED * size)[0]

    def add_forces(self, Q: Array, out: Array) -> None:
        """out[joint] (4, 3) −= generalised force [N, N·m] of the last step on the right body, which is now at Q."""
        for rows in self.rows:
            rows.add_forces(Q, out)

    # ---- over a step ------------------------------------------------------------------------------------------

    def begin(self, h: float) -> None:
        """Start a step of length h with the forces of the last one."""
        self._scale = h * h
        for rows in self.rows:
            np.multiply(rows.force, self._scale, out=rows.multiplier)

    def restart(self, bodies: Flags) -> None:
        """Start again on the joints of some bodies (n,)."""
        for rows in self.rows:
            chosen = bodies[rows.stencils.left] | bodies[rows.stencils.right]
            rows.multiplier[chosen] = self._scale * rows.force[chosen]

    def release(self) -> list[Array]:
        """Set the multipliers to zero; what they were."""
        kept = [rows.multiplier.copy() for rows in self.rows]
        for rows in self.rows:
            rows.multiplier.fill(0.0)
        return kept

    def resume(self, multipliers: list[Array]) -> None:
        """Inverse of `release`."""
        for rows, kept in zip(self.rows, multipliers, strict=True):
            rows.multiplier[:] = kept

    def commit(self, h: float, converged: bool) -> None:
        """The step was taken: keep its forces."""
        self._kept[0] = self.closed and converged
        for rows in self.rows:
            np.divide(rows.multiplier, h * h, out=rows.force)

    def arrays(self) -> dict[str, Array]:
        """What the next step depends on."""
        forces = {"exact/coinciding": self.coinciding.force, "exact/parallel": self.parallel.force}
        forces |= {f"exact/combined/{k}": rows.force for k, rows in enumerate(self.combined)}
        return {**forces, "exact/tuned": self._tuned, "exact/closed": self._kept}
