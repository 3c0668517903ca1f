"""Contributions: energies beyond those of bodies, joint rows and laws, and what a consistent start asks of all.

**Targets that move.** A stiff term follows its target, so at a consistent start (consistent.py) it has the velocity and
the acceleration of the target, not zero. They are those of the parabola through the targets of the last two steps and
of this one. In terms of gradients at Qₙ with these targets, which change by D₋ and D₊ (minus stiffness times motion),
and of r, the length of this step over that of the last,

    h · velocity = (D₊ + r² D₋)/(1 + r)         h² · acceleration = 2r (D₊ − r D₋)/(1 + r)
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.buffers import aligned
from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8, real
from dovetail.solver.blocks import Blocks
from dovetail.typing import Array, Flags, Indices

__all__ = ["Contribution", "Start", "motion"]


@kernel
def motion(ratio: float, now: float, before: float) -> tuple[float, float]:
    """h · velocity and h² · acceleration of a target from the changes D₊ and D₋ of a gradient."""
    return (now + ratio * ratio * before) / (1.0 + ratio), 2.0 * ratio * (now - ratio * before) / (1.0 + ratio)


class Start(Record):
    """A consistent start in the making, see consistent.py.

    Q, V (n, 4, 3)       positions; velocities Vₙ, which become V̂ before curvatures are asked for
    h, ratio             length of the step [s], and over that of the last step
    mass_inverse         M̂⁻¹ (n, 4, 4), 0 of fixed bodies
    drift (n, 12)        what the velocity of targets that move adds: −h² K times that velocity, times h
    filtered (n,)        weight of every shape in the filter
    held (n,)            1 for bodies whose laws are left to the end of the step, see held.py
    carried (r, 3)       what rows of joints on these carry besides their multipliers [N]
    """

    Q: Array = f8(3)
    V: Array = f8(3)
    h: float = real()
    ratio: float = real()
    mass_inverse: Array = f8(3)
    drift: Array = f8(2)
    filtered: Array = f8(1)
    held: Indices = i8(1)
    carried: Array = f8(2)

    def __init__(self, mass_inverse: Array, rows: int = 0) -> None:
        n = len(mass_inverse)
        super().__init__(
            Q=np.zeros((n, 4, 3)), V=aligned(n, 4, 3), h=1.0, ratio=1.0, mass_inverse=mass_inverse,
            drift=np.zeros((n, 12)), filtered=np.zeros(n), held=np.zeros(n, np.int64), carried=np.zeros((rows, 3)),
        )  # fmt: skip

    def begin(self, Q: Array, V: Array, held: Flags, h: float, ratio: float) -> None:
        """Start from a state; its positions and velocities are copied."""
        np.copyto(self.Q, Q)
        np.copyto(self.V, V)
        np.copyto(self.held, held)
        self.carried.fill(0.0)
        if h != self.h or ratio != self.ratio:
            self.h, self.ratio = h, ratio

    def renew(self) -> None:
        """A step was broken off: have h and the ratio set anew."""
        self.h = 0.0


class Contribution:
    """An energy of several bodies beyond those that every scene has: soft transforms, articulations, users' terms."""

    def pairs(self) -> Indices:
        """Body pairs (k, 2) that its Hessian couples."""
        return np.zeros((0, 2), np.int64)

    def add_constant(self, blocks: Blocks) -> None:
        """Find the blocks it adds to; called once per structure."""

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

    def needs_bdf1(self) -> Indices:
        """Bodies that cannot have a consistent start: a step takes them as bdf1."""
        return np.zeros(0, np.int64)

    def energy(self, Q: Array) -> float:
        """Sum over all bodies."""
        E = np.zeros(1)
        self.add_energy(Q, np.zeros(len(Q), np.int64), E)
        return float(E[0])
