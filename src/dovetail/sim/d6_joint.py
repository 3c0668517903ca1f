"""D6 joints of a `Sim`: six axes, each free, limited, driven or locked."""

from __future__ import annotations

from typing import Any

from dovetail.constitution.joint.d6 import AXES
from dovetail.errors import SceneError
from dovetail.sim.joint import SimJoint

__all__ = ["D6Joint"]


def _axis(name: str) -> property:
    def get(joint: D6Joint) -> float:
        return joint.coordinates[name].value if name in joint.coordinates else 0.0

    def put(joint: D6Joint, value: float) -> None:
        if name not in joint.coordinates:
            raise SceneError(f"{joint.who}: its {name} is locked; {joint.free} can be set.")
        joint.coordinates[name].value = value

    return property(get, put)


class D6Joint(SimJoint):
    """Six axes of a frame, each free or locked: translations x, y, z [m] and Cardan angles rx, ry, rz [rad].

    The right body is turned about x of the left one by rx, then about y by ry, then about its own z by rz. Locked axes
    are 0. `coordinates["rx"]` has limit, drive, damping and friction of a free one.
    """

    kind = "D6 joint"

    x, y, z, rx, ry, rz = (_axis(name) for name in AXES)

    @property
    def free(self) -> str:
        """The axes that are free, as text."""
        return ", ".join(self.coordinates) or "none"

    def equip(self, axes: dict[str, Any]) -> None:
        """Give free axes the limits and drives that were asked for."""
        for name, wish in axes.items():
            if isinstance(wish, str):
                if wish == "driven":
                    self.coordinates[name].drive.add()
            else:
                self.coordinates[name].limit = wish
