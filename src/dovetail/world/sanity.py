"""Sanity checks before a simulation starts, and their report."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from dovetail.constitution import AffineBodyConstitution
from dovetail.constitution.base import uid_of
from dovetail.geometry import Geometry
from dovetail.logger import Logger
from dovetail.scene import Scene

__all__ = ["SanityCheckMessage", "SanityCheckResult", "SanityChecker"]


class SanityCheckResult(IntEnum):
    """Outcome of a check; the largest of all is the outcome of a run."""

    Success = 0
    Warning = 1
    Error = 2


class SanityCheckMessage:
    """What one check found: its number and name, the outcome, a text, and the geometries concerned."""

    def __init__(
        self, id: int, name: str, result: SanityCheckResult, message: str, geometries: dict[str, Geometry]
    ) -> None:
        self._id, self._name, self._result = id, name, result
        self._message, self._geometries = message, geometries

    def id(self) -> int:
        return self._id

    def name(self) -> str:
        return self._name

    def result(self) -> SanityCheckResult:
        return self._result

    def message(self) -> str:
        return self._message

    def geometries(self) -> dict[str, Geometry]:
        return self._geometries

    def is_empty(self) -> bool:
        return not self._message

    def __repr__(self) -> str:
        return f"<{self._name}: {self._result.name} {self._message}>"


def _volume(scene: Scene) -> SanityCheckMessage | None:
    """Every affine body has a positive volume."""
    for slot, _ in scene.geometries:
        if uid_of(slot.geometry) not in AffineBodyConstitution.uids:
            continue
        volume = float(slot.geometry.meta.slot("volume").values[0])
        if not volume > 0.0:
            return SanityCheckMessage(
                4,
                "volume",
                SanityCheckResult.Error,
                f"geometry {slot.id()} of '{slot.object_name}' has the volume {volume:.3g} m³; its triangles point "
                "inward or its tetrahedra are inverted: use flip_inward_triangles, or reverse the vertex order.",
                {slot.object_name: slot.geometry},
            )
    return None


_CHECKS: tuple[Callable[[Scene], SanityCheckMessage | None], ...] = (_volume,)


class SanityChecker:
    """Runs the checks on a scene and keeps what they found."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._messages: dict[int, SanityCheckMessage] = {}

    def check(self) -> SanityCheckResult:
        """Run all checks; the worst outcome."""
        self.clear()
        for run in _CHECKS:
            found = run(self._scene)
            if found is not None:
                self._messages[found.id()] = found
        return max((m.result() for m in self._messages.values()), default=SanityCheckResult.Success)

    def report(self) -> None:
        """Log what was found."""
        for message in self._messages.values():
            say = Logger.error if message.result() is SanityCheckResult.Error else Logger.warn
            say(f"sanity check '{message.name()}': {message.message()}")

    def _with(self, result: SanityCheckResult) -> dict[int, SanityCheckMessage]:
        return {id: message for id, message in self._messages.items() if message.result() is result}

    def errors(self) -> dict[int, SanityCheckMessage]:
        return self._with(SanityCheckResult.Error)

    def warns(self) -> dict[int, SanityCheckMessage]:
        return self._with(SanityCheckResult.Warning)

    def infos(self) -> dict[int, SanityCheckMessage]:
        return self._with(SanityCheckResult.Success)

    def clear(self) -> None:
        self._messages.clear()
