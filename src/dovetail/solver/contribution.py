"""Contributions: energies beyond a body's own, added to the block system and to the energies of islands.

**Targets that move.** A stiff term follows its target, so at a consistent start (consistent.py) it has the velocity and
the acceleration of the target, not zero. They are those of the parabola through the targets of the last two steps and
of this one. In terms of gradients at Qₙ with these targets, which change by D₋ and D₊ (minus stiffness times motion),
and of r, the length of this step over that of the last,

    h · velocity = (D₊ + r² D₋)/(1 + r)         h² · acceleration = 2r (D₊ − r D₋)/(1 + r)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Flags, Indices

__all__ = ["Contribution", "Start", "motion"]


@kernel
def motion(ratio: float, now: float, before: float) -> tuple[float, float]:
    """h · velocity and h² · acceleration of a target from the changes D₊ and D₋ of a gradient."""
    return (now + ratio * ratio * before) / (1.0 + ratio), 2.0 * ratio * (now - ratio * before) / (1.0 + ratio)


@dataclass(frozen=True)
class Start:
    """A consistent start in the making, see consistent.py.

    Q, V (n, 4, 3)       positions; velocities Vₙ, which become V̂ before curvatures are asked for
    h, ratio             length of the step [s], and over that of the last step
    mass_inverse         M̂⁻¹ (n, 4, 4)
    drift (free, 12)     what the velocity of targets that move adds: −h² K times that velocity, times h
    """

    Q: Array
    V: Array
    h: float
    ratio: float
    mass_inverse: Array
    drift: Array = field(default_factory=lambda: np.zeros((0, 12)))


class Contribution:
    """An energy of several bodies: soft transforms, joints, laws, articulations, contact."""

    def pairs(self) -> Indices:
        """Body pairs (k, 2) that its Hessian couples."""
        return np.zeros((0, 2), np.int64)

    @property
    def points(self) -> int:
        """How many of the pairs, from the first on, are coupled by one point each: K WᵀW ⊗ 1 with constant W."""
        return 0

    def add_constant(self, blocks: Blocks) -> None:
        """Add what never changes to base_D and base_U; called once per structure."""

    def add_energy(self, Q: Array, owner: Indices, E: Array) -> None:
        """E[owner of the bodies concerned] += value at Q, which may be infinite where Q is not allowed.

        owner (n,) is −1 for fixed bodies; what belongs to a pair goes to the larger owner of the two.
        """
        raise NotImplementedError

    def assemble(self, Q: Array, exact: bool, blocks: Blocks) -> None:
        """Add derivatives at Q; without `exact` the Hessian must be positive semi-definite."""
        raise NotImplementedError

    def add_start(self, start: Start, blocks: Blocks) -> None:
        """Add derivatives at the start of a step: gradient, positive semi-definite Hessian.

        The gradient is that with the target of the last step. Where targets move, h · velocity goes to the drift and
        h² · acceleration to the gradient.
        """
        self.assemble(start.Q, False, blocks)

    def add_curvature(self, start: Start, blocks: Blocks) -> None:
        """Add h² times the second derivative of the gradient along V̂; none where the energy is quadratic."""

    def accept_start(self, start: Start, smooth: Flags) -> None:
        """Prepare for a step that begins with V̂ on the smooth bodies (n,) and is taken as bdf1 by the others."""

    def rough(self) -> Indices:
        """Bodies that cannot have a consistent start: a step takes them as bdf1."""
        return np.zeros(0, np.int64)

    def energy(self, Q: Array) -> float:
        """Sum over all bodies."""
        E = np.zeros(1)
        self.add_energy(Q, np.zeros(len(Q), np.int64), E)
        return float(E[0])
