"""A hand on a gantry: sliders along the axes of the world, driven softly; tasks whose actions move their targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from dovetail.gym.task import Task
from dovetail.sim.body import Body
from dovetail.sim.joint import SimJoint
from dovetail.sim.sim import Sim
from dovetail.typing import Array
from dovetail.worlds import Worlds

__all__ = ["HandTask", "gantry", "places", "soften"]

_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
_MASS = 0.1  # [kg] of a carriage


def gantry(sim: Sim, hand: Body, axes: str, stiffness: float, damping: float) -> list[SimJoint]:
    """Sliders along axes, one on the other, the last one carrying the hand; the carriages touch nothing."""
    joints, last = [], None
    for k, axis in enumerate(axes):
        is_last = k == len(axes) - 1
        above = (0.0, 0.0, 0.3 + 0.05 * (len(axes) - k))
        body = hand if is_last else sim.box(
            0.03, pos=np.add(hand.pos, above), mass=_MASS, contact=False, color="grey", name=f"carriage {axis}"
        )  # fmt: skip
        joint = sim.prismatic(last, body, axis=_AXES[axis], pos=hand.pos, drive=0.0, name=f"slide {axis}")
        joints.append(soften(joint, stiffness, damping))
        last = body
    return joints


def soften(joint: SimJoint, stiffness: float, damping: float) -> SimJoint:
    """Make a plain spring and damper of a joint's drive [N/m, N·s/m, or per rad]."""
    joint.drive.stiffness, joint.drive.damping = stiffness, damping
    return joint


def places(worlds: Worlds, name: str) -> Array:
    """(n, 3) where the body of that name is in each world."""
    return np.array([sim[name].pos for sim in worlds])


class HandTask(Task):
    """An action moves the targets of all drives by at most `reach`; they stay within `lead` of where the hand is."""

    reach: ClassVar[Sequence[float]]
    lead: ClassVar[Sequence[float]]
    dt, steps, horizon = 0.01, 4, 150
    options: ClassVar[dict[str, Any]] = {"d_hat": 2e-4}

    def act(self, worlds: Worlds, actions: Array) -> None:
        q, lead = worlds.q, np.array(self.lead)
        worlds.target = np.clip(worlds.target + actions * np.array(self.reach), q - lead, q + lead)
