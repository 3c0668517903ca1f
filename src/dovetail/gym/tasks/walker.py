"""Walk on four legs, each a four-bar linkage with a crank, whose foot goes nearly straight for half a turn."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dovetail.geometry import AngleAxis
from dovetail.gym.task import Task
from dovetail.sim import Part
from dovetail.sim.joint import SimJoint
from dovetail.sim.mechanism import Mechanism
from dovetail.sim.sim import Sim
from dovetail.typing import Array, ArrayLike, Flags
from dovetail.worlds import Worlds

__all__ = ["FourBarWalker"]

_UNIT = 0.03  # [m], the length of a crank, in which the others are measured
_PIVOT, _COUPLER, _ROCKER, _FOOT = (2.70, 2.29), 3.21, 1.51, (1.68, -4.31)
"""Where the rocker turns, from the crank; lengths; the foot along and across the coupler. Found by a search for paths
that are flat and even while the foot is down: within 0.05 of a line of length 3 in half a turn, lifted by 0.5."""
_DOWN, _AHEAD = 3.65, 2.8  # of the foot, below and ahead of the crank
_THICK = 0.006
_SPEED = 6.0  # [rad/s] of a crank at most


class FourBarWalker(Task):
    """Actions are the speeds of four cranks; rewarded is the way forward, and an episode ends where it has fallen.

    Observations: sines and cosines of the cranks, their rates, and the pose and velocity of the trunk, which moves in
    the plane of its legs.
    """

    actions, observations = 4, 18
    dt, steps, horizon = 0.01, 4, 150
    options: ClassVar[dict[str, Any]] = {"friction": 0.8}
    camera: ClassVar[dict[str, Any] | None] = {"pos": (0.3, -1.0, 0.4), "look_at": (0.1, 0, 0.1)}

    def build(self, sim: Sim, rng: np.random.Generator) -> Mechanism:
        sim.ground()
        height = _DOWN * _UNIT + _THICK + 2e-3
        trunk = sim.box((0.5, 0.06, 0.1), pos=(0, 0, height + 0.03), mass=1.0, color="grey", name="trunk")
        sim.planar(None, trunk, pos=trunk.pos, normal=(0, 1, 0), x=(1, 0, 0), name="plane")
        cranks, parts = [], [trunk]
        for k, (x, side) in enumerate(((-0.16, -1), (-0.16, 1), (0.16, -1), (0.16, 1))):
            phase = np.pi if k in (1, 2) else 0.0
            crank, bodies = _leg(sim, trunk, np.array([x - _AHEAD * _UNIT, 0.06 * side, height]), phase, f"leg {k}")
            cranks.append(crank)
            parts += bodies
        sim.no_contact(parts, parts)
        return sim.mechanism(*cranks)

    def start(self, worlds: Worlds, which: list[int], rngs: list[np.random.Generator]) -> None:
        for number in which:
            worlds.mechanisms[number].target_velocity = np.zeros(4)

    def act(self, worlds: Worlds, actions: Array) -> None:
        self._before = self._place(worlds)[:, 0]
        worlds.target_velocity = _SPEED * actions

    def prepare(self, worlds: Worlds) -> None:
        self._before = np.zeros(len(worlds))

    def _place(self, worlds: Worlds) -> Array:
        """(n, 3): x, y and the pitch of the trunk."""
        return np.array([[c.value for c in sim["plane"].coordinates.values()] for sim in worlds])

    def observe(self, worlds: Worlds) -> Array:
        q, place = worlds.q, self._place(worlds)
        rates = np.array([[c.velocity for c in sim["plane"].coordinates.values()] for sim in worlds])
        return np.hstack([np.sin(q), np.cos(q), worlds.v, place[:, 1:], rates, place[:, :1] - self._before[:, None]])

    def judge(self, worlds: Worlds, actions: Array) -> tuple[Array, Flags]:
        place = self._place(worlds)
        way = place[:, 0] - self._before
        return 100.0 * way - 0.05 * np.square(actions).sum(axis=1), np.abs(place[:, 2]) > 0.6

    def succeeded(self, worlds: Worlds) -> Flags:
        return self._place(worlds)[:, 0] > 0.5


def _leg(sim: Sim, trunk: Any, origin: Array, phase: float, name: str) -> tuple[SimJoint, list[Any]]:
    """A crank at `origin`, a rocker ahead of it, and the coupler between them, which ends in the foot."""
    side = np.sign(origin[1])

    def point(place: ArrayLike, layer: float) -> Array:
        x, z = _UNIT * np.asarray(place, float)
        found: Array = origin + np.array([x, 0.014 * layer * side, z])
        return found

    pin, pivot = np.array([np.cos(phase), np.sin(phase)]), np.array(_PIVOT)
    chord = pivot - pin
    far = float(np.linalg.norm(chord))
    along = (_COUPLER**2 - _ROCKER**2 + far**2) / (2.0 * far)
    knee = pin + (along * chord + np.sqrt(_COUPLER**2 - along**2) * np.array([chord[1], -chord[0]])) / far
    e = (knee - pin) / _COUPLER
    foot = pin + _FOOT[0] * e + _FOOT[1] * np.array([-e[1], e[0]])
    coupler = sim.compound(
        [_rod(point(pin, 1), point(foot, 1)), _rod(point(pin, 1), point(knee, 1))],
        mass=0.1, color="orange", name=f"{name} coupler",
    )  # fmt: skip
    crank, rocker = (
        sim.compound(
            [_rod(point(a, layer), point(b, layer))], mass=0.05, contact=False, color="blue", name=f"{name} {part}"
        )
        for part, a, b, layer in (("crank", (0.0, 0.0), pin, 0), ("rocker", pivot, knee, 2))
    )
    y = (0, 1, 0)
    joint = sim.revolute(trunk, crank, pos=point((0, 0), 0), axis=y, drive=True, name=f"{name} motor")
    sim.revolute(crank, coupler, pos=point(pin, 0.5), axis=y, name=f"{name} pin")
    sim.revolute(coupler, rocker, pos=point(knee, 1.5), axis=y, name=f"{name} knee")
    sim.revolute(trunk, rocker, pos=point(pivot, 2), axis=y, name=f"{name} pivot")
    joint.drive.target_velocity = 0.0
    return joint, [crank, coupler, rocker]


def _rod(a: Array, b: Array) -> Part:
    """A round rod between two points of the plane of a leg."""
    along = b - a
    turn = AngleAxis(float(np.arctan2(along[0], along[2])), [0, 1, 0])
    return Part.capsule(_THICK, float(np.linalg.norm(along)), pos=0.5 * (a + b), rot=turn, detail=1)
