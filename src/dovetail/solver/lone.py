"""Bodies that nothing is tied to: at a consistent start each is a system of its own, of 12 unknowns."""

from __future__ import annotations

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.potential import Potential
from dovetail.typing import Indices

__all__ = ["LoneBodies"]


class LoneBodies:
    """Which bodies are alone, whether any can be, and blocks for them, made when they are asked for."""

    def __init__(self, potential: Potential) -> None:
        self._potential, bodies = potential, potential.bodies
        self._alone = bodies.is_free.copy()
        self._alone[potential.pairs] = 0
        self.exist, self._nobody = bool(self._alone.any()), np.zeros_like(self._alone)
        self._blocks: Blocks | None = None

    def among(self, active: Indices) -> Indices:
        """1 for the active bodies (n,) that are alone in this step."""
        if not self.exist:
            return self._nobody
        found: Indices = active * self._alone
        if self._potential.soft_transforms.count:
            found[self._potential.soft_transforms.bodies] = 0
        return found

    @property
    def blocks(self) -> Blocks:
        """A block for each body, and none between them."""
        if self._blocks is None:
            self._blocks = Blocks(self._potential.bodies.is_fixed, np.zeros((0, 2), np.int64))
        return self._blocks
