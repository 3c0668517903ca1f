"""Bodies that nothing is tied to: at a consistent start each is a system of its own, of 12 unknowns."""

from __future__ import annotations

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.potential import Potential
from dovetail.typing import Indices

__all__ = ["LoneBodies"]


class LoneBodies:
    """Which bodies are alone, and blocks for them, made when they are asked for."""

    def __init__(self, potential: Potential) -> None:
        self._potential, bodies = potential, potential.bodies
        self._alone = bodies.is_free.copy()
        self._alone[potential.pairs] = 0
        self._blocks: Blocks | None = None

    def among(self, active: Indices) -> Indices:
        """1 for the active bodies (n,) that are alone in this step."""
        found = active * self._alone
        found[self._potential.soft_transforms.bodies] = 0
        return found

    @property
    def blocks(self) -> Blocks:
        """A block for each body, and none between them."""
        if self._blocks is None:
            self._blocks = Blocks(self._potential.bodies.is_fixed, np.zeros((0, 2), np.int64))
        return self._blocks
