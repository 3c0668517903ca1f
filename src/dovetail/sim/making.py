"""What making bodies and making joints share: the scene, names, and what is added between two steps."""

from __future__ import annotations

from typing import Any

from dovetail.checked import shown
from dovetail.core import Scene
from dovetail.errors import SceneError
from dovetail.geometry import SimplicialComplex, SimplicialComplexSlot
from dovetail.sim.body import Body
from dovetail.sim.handle import Handle
from dovetail.sim.joint import SimJoint

__all__ = ["Making", "taken"]


class Making(Handle):
    """A scene under construction: its bodies and joints by name."""

    _scene: Scene
    _kappa: float

    def __init__(self) -> None:
        self._bodies: dict[str, Body] = {}
        self._joints: dict[str, SimJoint] = {}
        self._counts: dict[str, int] = {}

    def reopen(self) -> None:
        """Let bodies and joints be added and removed; a world that runs is made anew when it is needed next."""
        raise NotImplementedError

    def _add(self, name: str, geometry: SimplicialComplex) -> SimplicialComplexSlot:
        slot = self._scene.objects.create(name).geometries.adopt(geometry)
        assert isinstance(slot, SimplicialComplexSlot)
        return slot

    def _name(self, who: str, kind: str, given: str) -> str:
        """A name that nothing else has."""
        if not isinstance(given, str):
            raise SceneError(f"{who}: name = {shown(given)}; give text.")
        if given:
            if self._scene.objects.find(given):
                raise SceneError(f"{who}: there is already something called '{given}'; choose another name.")
            return given
        while True:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            name = f"{kind} {self._counts[kind]}"
            if not self._scene.objects.find(name):
                return name


def taken(options: Any) -> str:
    """What to say of an option that is none."""
    return "it takes " + ", ".join(options.__annotations__)
