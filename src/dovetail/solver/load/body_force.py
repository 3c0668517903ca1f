"""AffineBodyExternalForce (UID 666): a generalised force on single bodies.

Rows of F (4×3): the force [N] on the body's local origin, then what pulls at its three axes [N·m].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8
from dovetail.solver.load.load import Load
from dovetail.typing import Array, Indices

__all__ = ["BodyForces"]


class BodyForces(Record, Load):
    """Bodies (k,) and forces (k, 4, 3) of this step."""

    body: Indices = i8(1)
    F: Array = f8(3)

    def __init__(self) -> None:
        super().__init__(body=np.zeros(0, np.int64), F=np.zeros((0, 4, 3)))

    def set(self, body: Indices, F: Array) -> None:
        self.body, self.F = body, np.ascontiguousarray(F)

    @property
    def acts(self) -> bool:
        return len(self.body) > 0

    def adding(self, Q: Array, F: Array, loaded: Indices) -> tuple[Any, ...]:
        return _add, self, F, loaded


@kernel
def _add(forces: BodyForces, F: Array, loaded: Indices) -> None:
    if len(forces.body):
        loaded[0] = 1
    for k in range(len(forces.body)):
        for i in range(4):
            for x in range(3):
                F[forces.body[k], i, x] += forces.F[k, i, x]
