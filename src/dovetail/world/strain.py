"""A look at how far bodies are from rigid, and one warning for each that is too far.

A body under load is strained by an amount ∝ 1/κ, and a mechanism of strained bodies moves differently: see
docs/choosing.md.
"""

from __future__ import annotations

import numpy as np

from dovetail.logger import Logger
from dovetail.messages import shortened
from dovetail.solver.bodies import Bodies
from dovetail.typing import Array

__all__ = ["EVERY", "LARGE", "StrainWatch", "strains"]

EVERY = 64  # frames from one look to the next: it then costs nothing that could be measured
LARGE = 1e-2  # a strain above which a body is told of: mechanisms of such bodies are off by per cent (docs/choosing.md)


def strains(Q: Array) -> Array:
    """Largest entry of |AᵀA − 1| of bodies Q (n, 4, 3)."""
    A = Q[:, 1:]
    found: Array = np.abs(A @ A.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2), initial=0.0)
    return found


class StrainWatch:
    """Which bodies of a world were told of."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self._quiet = bodies.is_free == 0

    def look(self, frame: int, Q: Array) -> None:
        """Warn of bodies at Q (n, 4, 3) that are strained and were not told of; every so many frames."""
        if frame % EVERY:
            return
        strain = strains(Q)
        new = (strain > LARGE) & ~self._quiet
        if not new.any():
            return
        self._quiet |= new
        worst, others = int(np.argmax(np.where(new, strain, 0.0))), int(new.sum()) - 1
        more = f" and {others} other bodies by more than {LARGE:g}" if others else ""
        text = (
            f"World.advance: frame {frame}: {self._bodies.name(worst)} is strained by {strain[worst]:.2g}, the largest "
            f"entry of AᵀA − 1{more}. Under their loads such bodies are not rigid, and move differently; if they are "
            f"meant to be, choose a kappa {strain[worst] / LARGE:.2g} times as large."
        )
        Logger.warn(shortened(text))
