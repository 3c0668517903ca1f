"""AffineBodyExternalForce (UID 666): a generalised force on single bodies.

Rows of F (4×3): the force [N] on the body's local origin, then what pulls at its three axes [N·m].
"""

from __future__ import annotations

import numpy as np

from dovetail.typing import Array, Indices

__all__ = ["BodyForces"]


class BodyForces:
    """Bodies (k,) and forces (k, 4, 3) of this step."""

    def __init__(self) -> None:
        self.set(np.zeros(0, np.int64), np.zeros((0, 4, 3)))

    def set(self, body: Indices, F: Array) -> None:
        self._body, self._F = body, F

    @property
    def acts(self) -> bool:
        return len(self._body) > 0

    def add(self, Q: Array, F: Array) -> None:
        np.add.at(F, self._body, self._F)
