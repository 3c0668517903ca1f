"""Laws that depend on the rate of their coordinate, as those of dampers, servos and dry friction do.

φ(x; xₙ, h) is h² times a potential of x and of the rate (x − xₙ)/h, which is the rate at the end of a step of bdf1. A
step of ctr that begins with the rate ẋ ends with 2(x − xₙ)/h − ẋ. That is the rate of half a step from xₙ + hẋ/2; and
as φ has a factor h²,

    at the end     4 φ(x;  xₙ + hẋ/2, h/2)
    at the start   4 φ(xₙ; xₙ − hẋ/2, h/2)

are h² times the same potential with the rates there. At a consistent start a damping counts as mass that P and M share
(start.py): V̂ is not filtered by it and Â that of an implicit step, so that stiff dampers stop a body within a step,
slow ones are of second order, and a steady motion under a load stays what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.contribution import Start
from dovetail.solver.joint.start import rate_laws_gradient, rate_laws_start
from dovetail.solver.joint.terms import Laws
from dovetail.typing import Array, Flags, Indices

__all__ = ["RateLaws"]


class RateLaws(Laws):
    """Laws whose parameters `starts` and `steps` (columns of p) are xₙ and h.

    One that knows no h can have no rate: its bodies take their steps as bdf1.
    """

    def __init__(self, *laws: Any, starts: Sequence[int], steps: Sequence[int]) -> None:
        super().__init__(*laws)
        self._starts, self._steps = list(starts), list(steps)

    def rough(self) -> Indices:
        bodies: Indices = np.unique(self.pairs()) if not self._steps else np.zeros(0, np.int64)
        return bodies

    def _ending(self, parameters: Array, start: Start, length: float) -> Array:
        """Parameters (…, m, q) for a step of some length [s] that ends at Qₙ with the velocity V."""
        c = self.coordinates
        changed = parameters.copy()
        changed[..., self._starts] = (c.value - length * c.rates(start.Q, start.V))[self.of, None]
        changed[..., self._steps] = length
        return changed

    def add_start(self, start: Start, blocks: Blocks) -> None:
        if not self._steps:
            return
        c, s = self.coordinates, self.coordinates.stencils
        half = self._ending(np.concatenate([self.p[None], self.past]), start, 0.5 * start.h)
        rate_laws_start(
            c.address, c.function.period, self._phi, s.left, s.right, s.W, s.block, self.of, c.value, half,
            self._ending(self.p, start, start.h), c.rates(start.Q, start.V), start.h, start.mass_inverse,
            blocks.position, start.Q, start.ratio, blocks.g, blocks.D, blocks.U, start.drift, self._filter,
        )  # fmt: skip

    def add_curvature(self, start: Start, blocks: Blocks) -> None:
        """Beside curvature the gradient, which needs V̂."""
        if not self._steps:
            return
        super().add_curvature(start, blocks)
        c, s = self.coordinates, self.coordinates.stencils
        rate_laws_gradient(
            c.address, c.function.period, self._phi, s.left, s.right, s.W, self.of, c.value,
            self._ending(np.stack([self.p, self.past[0]]), start, 0.5 * start.h), blocks.position, start.Q, blocks.g,
        )  # fmt: skip

    def accept_start(self, start: Start, smooth: Flags) -> None:
        c = self.coordinates
        on = (smooth[c.stencils.left] & smooth[c.stencils.right])[self.of]
        middle = (c.value + 0.5 * start.h * c.rates(start.Q, start.V))[self.of]
        self.p[:, self._starts] = np.where(on, middle, c.value[self.of])[:, None]
        self.p[:, self._steps] = np.where(on, 0.5 * start.h, start.h)[:, None]
        self.scale[:] = np.where(on, 4.0, 1.0)
