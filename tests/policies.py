"""Policies written by hand for the tasks: what a learner should find, and the proof that it can be done."""

from __future__ import annotations

import numpy as np

from dovetail.gym.tasks.cartpole import Cartpole
from dovetail.gym.tasks.drawer import Drawer
from dovetail.gym.tasks.lift import GripperLift
from dovetail.gym.tasks.nut import NutOnBolt
from dovetail.gym.tasks.peg import PegInHole
from dovetail.gym.tasks.walker import FourBarWalker

__all__ = ["POLICIES"]


def balance(seen, k):
    """Linear feedback of place, angle and rates."""
    return np.clip(seen @ [[0.1], [2.5], [0.2], [0.5]], -1, 1)


def feel(seen, k):
    """Press lightly and go round in a spiral about where the hole is believed to be; press on once it gives way."""
    q, ahead, guess = seen[:, :4], seen[:, 8:12], seen[:, 12:]
    radius, angle = min(1.4e-3, 1.2e-5 * k), 0.5 * k
    aim = guess + radius * np.array([np.cos(angle), np.sin(angle)])
    inside = q[:, 2] < -8e-3
    action = np.zeros((len(seen), 4))
    action[:, :2] = np.where(inside[:, None], 0.0, (aim - q[:, :2] - ahead[:, :2]) / 1e-3)
    action[:, 2] = np.where(inside, -1.0, (-1e-3 - ahead[:, 2]) / 2e-3)
    action[:, 3] = -(q[:, 3] + ahead[:, 3]) / 0.02
    return np.clip(action, -1, 1)


def lift(seen, k):
    """Above the cube, down, close, up."""
    ahead, cube = seen[:, 6:9], seen[:, 9:]
    over = np.abs(cube[:, 0]) < 2e-3
    down = over & (cube[:, 2] > -0.067)
    closed = down & (ahead[:, 2] > 8e-3)
    action = np.zeros((len(seen), 3))
    action[:, 0] = np.where(closed, 0.0, cube[:, 0] - ahead[:, 0]) / 5e-3
    action[:, 1] = np.where(closed, 1.0, np.where(over & ~down, -1.0, 0.0))
    action[:, 2] = np.where(down, 1.0, 0.0)
    return np.clip(action, -1, 1)


def pull(seen, k):
    """Go above the gap behind the handle, down into it, and pull."""
    ahead, to = seen[:, 6:9], seen[:, 9:12]
    over = np.hypot(to[:, 0], to[:, 1]) < 8e-3
    hooked = to[:, 2] > -5e-3
    action = np.zeros((len(seen), 3))
    action[:, :2] = (to[:, :2] - ahead[:, :2]) / 8e-3
    action[:, 2] = np.where(over, to[:, 2] - ahead[:, 2], 0.0) / 8e-3
    action[hooked, 0] = 1.0
    return np.clip(action, -1, 1)


def walk(seen, k):
    """All cranks at one speed."""
    return np.full((len(seen), 4), 0.8)


def screw(seen, k):
    """Centre, then press lightly and turn to the right."""
    q, ahead = seen[:, :2], seen[:, 9:]
    action = np.zeros((len(seen), 4))
    action[:, :2] = -(q + ahead[:, :2]) / 1e-3
    centred = np.hypot(*q.T) < 5e-4
    action[:, 2] = np.where(centred, -6e-3 - ahead[:, 2], 2e-3 - ahead[:, 2]) / 2e-3
    action[:, 3] = -1.0
    return np.clip(action, -1, 1)


POLICIES = {
    "Cartpole": (Cartpole, balance),
    "Drawer": (Drawer, pull),
    "FourBarWalker": (FourBarWalker, walk),
    "GripperLift": (GripperLift, lift),
    "NutOnBolt": (NutOnBolt, screw),
    "PegInHole": (PegInHole, feel),
}
