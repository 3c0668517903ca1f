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

from dovetail.kernel.program import Program
from dovetail.solver.blocks import Blocks
from dovetail.solver.joint.combined import Combined
from dovetail.solver.joint.compliance import Compliance
from dovetail.solver.joint.constraints import (
    CLOSED,
    GAP,
    Constraints,
    add_bends,
    close_direction,
    linearise_constraints,
    measure_constraints,
    restrict_direction,
    survey_direction,
)
from dovetail.solver.joint.rows import Rows
from dovetail.typing import Array, Flags, Indices

__all__ = ["ExactJoints"]

_RETUNE = 2.0  # change of h at which K is chosen anew


class ExactJoints:
    """The constraints of all exact joints, their multipliers, and the solution of the systems that have them.

    restraint (r, 3) are the multipliers of the last `restrict`. name says how messages call a joint. worst is the
    largest residual that the last step leaves, in units of 1 m plus the size of the scene.
    """

    def __init__(
        self,
        points: Rows,
        slides: Rows,
        combined: Combined,
        compliance: tuple[Compliance, Compliance],
        name: Callable[[int], str] = lambda joint: f"joint {joint}",
    ) -> None:
        self.points, self.slides, self.combined, self.name = points, slides, combined, name
        self._sets = points, slides, combined
        self._compliance = (*compliance, combined.compliance)
        self.joint = np.concatenate([points.joint[points.exact :], slides.joint[slides.exact :], combined.joint])
        self.pairs = np.concatenate([points.pairs[points.exact :], slides.pairs[slides.exact :], combined.pairs])
        count = len(self.joint)
        self.constraints = Constraints(
            points=points, slides=slides, combined=combined, K=np.zeros(count), yields=np.zeros(count),
            residual=np.zeros((count, 3)), bend=np.zeros((count, 3)),
            slides_from=points.count - points.exact, combined_from=count - combined.count,
            of=np.zeros(count, np.int64), body_of=np.zeros(0, np.int64), mechanisms=1,
        )  # fmt: skip
        self.restraint = np.zeros((count, 3))
        self._tuned = np.zeros(1)  # h for which K is to be, and for which it is
        self._weighed = 0.0
        self._kept = np.zeros(1)  # 1 if the last step has closed all joints, and no body was moved since
        self.worst = 0.0
        self._scale = 1.0  # h²
        self.size = 1.0  # of the scene [m]
        # whether a whole step closes all joints: there are no sliders or combined rows
        self.is_linear = slides.exact == slides.count and combined.count == 0

    def pairs_of(self, joints: Sequence[int]) -> Indices:
        """Left and right bodies (m, 2) of all rows of some joints."""
        return self.pairs[np.isin(self.joint, joints)]

    def tune(self, h: float) -> bool:
        """Choose K for steps of length h; True if it has changed, and with it what is constant in the blocks."""
        if not self._tuned[0] / _RETUNE <= h <= self._tuned[0] * _RETUNE:
            self._tuned[0] = h
        if self._weighed == self._tuned[0]:
            return False
        self._weighed = float(self._tuned[0])
        weights = [compliance.weights(self._weighed) for compliance in self._compliance]
        self.points.K[self.points.exact :], self.slides.K[self.slides.exact :] = weights[:2]
        self.combined.K[:] = weights[2]
        K = np.concatenate(weights)
        self.constraints.K[:] = K
        self.constraints.yields[:] = np.divide(1.0, K, out=np.zeros_like(K), where=K > 0.0)
        return True

    def renew(self) -> None:
        """A step was broken off: K is chosen anew before the next one."""
        self._weighed = 0.0

    # ---- solving ----------------------------------------------------------------------------------------------

    def direction(self, Q: Array, blocks: Blocks, active: Indices, y: Array) -> None:
        """y = A⁻¹g becomes a step with C(Q − y) = 0, with its multipliers; after assembly at Q and factorisation."""
        self.worst, self.size = close_direction(
            self.constraints, blocks, blocks.net, active, blocks.by_factor(active), Q, y
        )

    def survey(self, Q: Array, y: Array, active: Indices) -> None:
        """Find out how far a step that was found elsewhere closes the joints."""
        self.worst, self.size = survey_direction(self.constraints, active, Q, y)

    def bind(self, program: Program, found_elsewhere: bool, blocks: Blocks, active: Indices, Q: Array, y: Array) -> int:
        """The place of `direction`, or of `survey`, in a program; blocks are without nets."""
        if found_elsewhere:
            return program.add(survey_direction, self.constraints, active, Q, y)
        return program.add(close_direction, self.constraints, blocks, None, active, active, Q, y)

    def part(self, mechanism: Indices) -> None:
        """Know which mechanism (n,) each body is in, −1 where it is fixed."""
        c = self.constraints
        c.of, c.body_of = mechanism[self.pairs].max(axis=1, initial=-1), mechanism
        c.mechanisms = max(int(mechanism.max(initial=-1)) + 1, 1)

    def restrict(
        self, blocks: Blocks, active: Indices, x: Array, closed: float = CLOSED, apart: bool = False, least: float = 0.0
    ) -> None:
        """x (n, 12) = A⁻¹b becomes the solution of H x = b + Jᵀμ with J x = bend, J as last linearised.

        bend is zero, or what `add_curvature` has asked for, up to `closed` times x, or to `least`. `restraint` ← μ.
        `apart` says that no contacts couple mechanisms.
        """
        rest = blocks.by_factor(active)
        known, net = self.constraints, blocks.net
        restrict_direction(known, blocks, net, active, rest, closed, least, apart, x, self.restraint)

    def begin_start(self) -> None:
        """A consistent start obeys J V̂ = 0, whatever the multipliers are."""
        self.constraints.bend.fill(0.0)

    def add_curvature(self, h: float, Q: Array, V: Array, g: Array) -> None:
        """Ask the next `restrict` for J x = h² (∂J/∂Q V) V: an acceleration obeys J Â = −(∂J/∂Q V̂) V̂."""
        if not self.is_linear:
            add_bends(self.constraints, h, Q, V, g)

    # ---- whether they are closed ------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether all joints will be closed after the step of the last `direction`."""
        return self.worst <= GAP

    def widest(self, Q: Array, active: Indices) -> str:
        """The joint that is open the most at Q, in words; empty if all are closed."""
        linearise_constraints(self.constraints, active, Q)
        measure_constraints(self.constraints, active, Q, np.zeros((len(Q), 12)), self.constraints.residual)
        size = np.abs(self.constraints.residual).max(axis=1)
        if not len(size) or size.max() <= GAP * (1.0 + float(np.abs(Q).max())):
            return ""
        return f"exact {self.name(int(self.joint[size.argmax()]))} stays open by {size.max():.2g} [m or rad]"

    @property
    def stay_closed(self) -> bool:
        """Whether the joints are closed in all states of a step: those that are linear are, if it begins so."""
        return self._kept[0] != 0.0 and self.is_linear

    def allow_gaps(self) -> None:
        """Bodies are moved without regard to the joints: from outside, or by steps that go round."""
        self._kept[0] = 0.0

    def open(self, bodies: int) -> Array:
        """1 for each of the bodies on a joint that will not be closed, else 0."""
        flags = np.zeros(bodies)
        residual = self.constraints.residual
        flags[self.pairs[~(np.abs(residual).max(axis=1) <= GAP * self.size)]] = 1.0
        return flags

    # ---- over a step ------------------------------------------------------------------------------------------

    def begin(self, h: float) -> None:
        """Start a step of length h with the forces of the last one."""
        self._scale = h * h
        self.worst = 0.0  # which sweeps of points leave at that, whatever the last step has left
        for rows in self._sets:
            np.multiply(rows.force, self._scale, out=rows.multiplier)

    def restart(self, bodies: Flags) -> None:
        """Start again on the joints of some bodies (n,)."""
        for rows in self._sets:
            chosen = bodies[rows.pairs].any(axis=1)
            rows.multiplier[chosen] = self._scale * rows.force[chosen]

    def release(self) -> list[Array]:
        """Set the multipliers to zero; what they were."""
        kept = [rows.multiplier.copy() for rows in self._sets]
        for rows in self._sets:
            rows.multiplier.fill(0.0)
        return kept

    def resume(self, multipliers: list[Array]) -> None:
        """Inverse of `release`."""
        self.points.multiplier[:], self.slides.multiplier[:], self.combined.multiplier[:] = multipliers

    def commit(self, h: float, converged: bool) -> None:
        """The step was taken: keep its forces."""
        self._kept[0] = self.closed and converged
        for rows in self._sets:
            np.divide(rows.multiplier, h * h, out=rows.force)

    def take_over(self, other: ExactJoints, closed: bool) -> None:
        """Go on from what another set of joints has left; `closed`: all of them were among those, as they are now."""
        self._tuned[:] = other._tuned
        self._kept[0] = other._kept[0] if closed else 0.0

    def arrays(self) -> dict[str, Array]:
        """What the next step depends on."""
        return {
            "exact/coinciding": self.points.force[self.points.exact :],
            "exact/parallel": self.slides.force[self.slides.exact :],
            "exact/combined": self.combined.force,
            "exact/tuned": self._tuned,
            "exact/closed": self._kept,
        }
