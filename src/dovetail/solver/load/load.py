"""What a load is to a system."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.typing import Array, Indices

__all__ = ["Load"]


class Load:
    """A force without an energy, evaluated at the start of the step."""

    @property
    def acts(self) -> bool:
        """False if there is nothing to add in this step."""
        raise NotImplementedError

    def adding(self, Q: Array, F: Array, loaded: Indices) -> tuple[Any, ...]:
        """What adds generalised forces (n, 4, 3) at Q: a kernel with its arguments, the same in every step.

        loaded (1,) ← 1 where there is anything to add.
        """
        raise NotImplementedError

    def add(self, Q: Array, F: Array) -> None:
        """Add generalised forces (n, 4, 3) at Q."""
        kernel, *args = self.adding(Q, F, np.zeros(1, np.int64))
        kernel(*args)
