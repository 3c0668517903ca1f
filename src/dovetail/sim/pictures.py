"""Pictures of a `Sim` as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dovetail.checked import shown
from dovetail.errors import SceneError
from dovetail.io.describe import describe
from dovetail.picture import Camera
from dovetail.picture.studio import Studio

if TYPE_CHECKING:
    from dovetail.sim.sim import Sim

__all__ = ["Pictures"]

_KINDS = ("color", "depth", "bodies")


class Pictures:
    """Takes pictures of a simulation, with the shapes that its world has."""

    def __init__(self, sim: Sim) -> None:
        self._sim, self.live = sim, sim.world.live
        cast = describe(sim.world).cast()
        self._studio = Studio(cast)
        self._colours = np.array([body.color for body in cast.bodies], float).reshape(-1, 3)
        # which of sim.bodies a body of the world is; the last entry is for none
        self._which = np.full(len(cast.bodies) + 1, -1, np.int32)
        for k, body in enumerate(sim.bodies):
            self._which[body.number] = k

    def take(self, width: int, height: int, camera: Camera | None, kind: str) -> NDArray[Any]:
        """See `Sim.picture`."""
        if kind not in _KINDS:
            names = ", ".join(f"'{name}'" for name in _KINDS)
            raise SceneError(f"Sim.picture: kind = {shown(kind)}; give one of {names}.")
        T = self.live.transforms()
        if camera is None:
            camera = self._studio.camera(T, width, height)
        if kind == "depth":
            return self._studio.depth(T, camera, width, height)
        if kind == "bodies":
            return self._which[self._studio.bodies(T, camera, width, height)]
        for body in self._sim.bodies:
            if body.color is not None:
                self._colours[body.number] = body.color
        self._studio.paint(self._colours)
        return self._studio.picture(T, camera, width, height)
