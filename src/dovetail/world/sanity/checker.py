"""The sanity checks of a scene.

| id | name | what is wrong |
|---|---|---|
| 1 | surface intersection | an edge of a surface crosses a triangle of another |
| 2 | half-plane distance | a surface vertex is on a half-plane or behind it, its thickness included |
| 3 | surface distance | two surfaces are no farther apart than their thickness; solids have none, so they touch |
| 4 | volume | an affine body has no positive volume |
| 5 | enclosure | a body lies wholly inside another one and will not get out: a warning, for that one may be hollow |
| 6 | distance from the origin | a body is so far from the origin, beside its size, that contact drowns in round-off |

Pairs that may pass through each other by the contact tabular, by their subscenes or as joint neighbours are left out
of 1 to 3, and with contact/enable = 0 all are.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.constitution import AffineBodyConstitution
from dovetail.constitution.base import uid_of
from dovetail.geometry import SimplicialComplex
from dovetail.geometry.mesh_io import SimplicialComplexIO
from dovetail.logger import Logger
from dovetail.scene import Scene
from dovetail.world.sanity.message import SanityCheckMessage, SanityCheckResult

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["SanityChecker"]


def _volume(scene: Scene) -> list[SanityCheckMessage]:
    """Every affine body has a positive volume."""
    lines, geometries = [], {}
    for slot, _ in scene.geometries:
        if uid_of(slot.geometry) not in AffineBodyConstitution.uids:
            continue
        volume = float(slot.geometry.meta.slot("volume").values[0])
        if not volume > 0.0:
            geometries[slot.object_name] = slot.geometry
            lines.append(
                f"geometry {slot.id()} of '{slot.object_name}' has the volume {volume:.3g} m³; its triangles point "
                "inward or its tetrahedra are inverted: use flip_inward_triangles, or reverse the vertex order."
            )
    if not lines:
        return []
    return [SanityCheckMessage(4, "volume", SanityCheckResult.Error, "\n".join(lines), geometries)]


class SanityChecker:
    """Runs the checks on a scene and keeps what they found."""

    def __init__(self, scene: Scene, workspace: str | Path) -> None:
        self._scene = scene
        self._folder = Path(workspace) / "sanity_check"
        self._messages: dict[int, SanityCheckMessage] = {}
        self._simulation: Simulation | None = None

    def check(self) -> SanityCheckResult:
        """Run all checks on the transforms that the scene has now; the worst outcome.

        With sanity_check/mode = "normal" the surfaces concerned are written to <workspace>/sanity_check/<id>/*.obj.
        """
        from dovetail.world.simulation import Simulation  # the compiler is only needed from here on

        return self._run(self._simulation or Simulation(self._scene))

    def admits(self, simulation: Simulation) -> bool:
        """Whether a new simulation of the scene passes; if so it serves the checks to come."""
        passed = self._run(simulation) is not SanityCheckResult.Error
        self._simulation = simulation if passed else None
        return passed

    def _run(self, simulation: Simulation) -> SanityCheckResult:
        self.clear()
        found = _volume(self._scene)
        if simulation.surfaces is not None:
            found += simulation.surfaces.messages()
        self._messages = {message.id(): message for message in sorted(found, key=SanityCheckMessage.id)}
        if found and self._scene.config["sanity_check/mode"] == "normal":
            self._write()
        return max((message.result() for message in found), default=SanityCheckResult.Success)

    def _write(self) -> None:
        for id, message in self._messages.items():
            folder = self._folder / str(id)
            try:
                folder.mkdir(parents=True, exist_ok=True)
                for k, surface in enumerate(message.geometries().values()):
                    if isinstance(surface, SimplicialComplex):
                        SimplicialComplexIO().write(str(folder / f"{k}.obj"), surface)
            except OSError as error:
                Logger.warn(f"SanityChecker: the surfaces concerned could not be written to '{folder}': {error}.")

    def report(self) -> None:
        """Log what was found."""
        for message in self._messages.values():
            say = Logger.error if message.result() is SanityCheckResult.Error else Logger.warn
            for line in message.message().splitlines():
                say(f"sanity check {message.id()} ({message.name()}): {line}")

    def _with(self, result: SanityCheckResult) -> dict[int, SanityCheckMessage]:
        return {id: message for id, message in self._messages.items() if message.result() is result}

    def errors(self) -> dict[int, SanityCheckMessage]:
        return self._with(SanityCheckResult.Error)

    def warns(self) -> dict[int, SanityCheckMessage]:
        return self._with(SanityCheckResult.Warning)

    def infos(self) -> dict[int, SanityCheckMessage]:
        return self._with(SanityCheckResult.Success)

    def clear(self) -> None:
        """Forget what was found."""
        self._messages.clear()
