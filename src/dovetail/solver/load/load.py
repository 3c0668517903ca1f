"""What a load is to a system."""

from __future__ import annotations

from typing import Protocol

from dovetail.typing import Array

__all__ = ["Load"]


class Load(Protocol):
    """A force without an energy, evaluated at the start of the step."""

    @property
    def acts(self) -> bool:
        """False if there is nothing to add in this step."""

    def add(self, Q: Array, F: Array) -> None:
        """Add generalised forces (n, 4, 3) at Q."""
