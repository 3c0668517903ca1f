"""What a sanity check found."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from dovetail.geometry import Geometry

__all__ = ["SanityCheckMessage", "SanityCheckResult"]


class SanityCheckResult(IntEnum):
    """Outcome of a check; the largest of all is the outcome of a run."""

    Success = 0
    Warning = 1
    Error = 2


class SanityCheckMessage:
    """What one check found: its number and name, the outcome, a text, and the geometries concerned by name."""

    def __init__(
        self, id: int, name: str, result: SanityCheckResult, message: str, geometries: Mapping[str, Geometry]
    ) -> None:
        self._id, self._name, self._result = id, name, result
        self._message, self._geometries = message, dict(geometries)

    def id(self) -> int:
        return self._id

    def name(self) -> str:
        return self._name

    def result(self) -> SanityCheckResult:
        return self._result

    def message(self) -> str:
        """One line for each finding."""
        return self._message

    def geometries(self) -> dict[str, Geometry]:
        return self._geometries

    def is_empty(self) -> bool:
        return not self._message

    def __repr__(self) -> str:
        return f"<{self._name}: {self._result.name} {self._message}>"
