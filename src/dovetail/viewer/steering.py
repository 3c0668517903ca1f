"""Targets and forces of joints that a hand on a slider sets while a world runs.

A value that was set by hand is held: it is written again after the scene's animations, which would overwrite it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.constitution import Joint, class_of
from dovetail.constitution.base import uid_of
from dovetail.core import Animation, World
from dovetail.geometry import AttributeCollection
from dovetail.io.cast import Cast
from dovetail.io.describe import joint_slots
from dovetail.picture.camera import Bounds
from dovetail.scene.animator import UpdateInfo
from dovetail.scene.object import Object

__all__ = ["Control", "Steering", "controls"]


class Control(NamedTuple):
    """Something that a slider can set: an attribute of a joint, with the attribute that switches it on, if any.

    lower, upper    ends of the slider
    """

    joint: int
    label: str
    unit: str
    attribute: str
    switch: str
    lower: float
    upper: float


_KINDS = (
    # attribute, its switch if it has one, label, unit: "x" is that of the coordinate
    ("aim_angle", "driving/is_constrained", "aim angle", "rad"),
    ("aim_distance", "driving/is_constrained", "aim distance", "m"),
    ("drive/target", "", "target", "x"),
    ("drive/target_velocity", "", "speed", "x/s"),
    ("external_torque", "external_torque/is_constrained", "torque", "N·m"),
    ("external_force", "external_force/is_constrained", "force", "N"),
)


def controls(cast: Cast, bounds: Bounds) -> list[Control]:
    """Everything about the joints that can be set by hand: targets of drives, forces and torques along joints.

    A target ranges over the joint's limit, or over a turn to both sides, or over the size of the scene; its velocity
    over that in a second; a force over ten times the weight of the right body.
    """
    found = []
    g = float(np.linalg.norm(cast.gravity)) or 9.8
    for number, joint in enumerate(cast.joints):
        weight = 10 * g * max(cast.bodies[joint.right].mass, 1e-6)
        reach = {"rad": 2 * np.pi, "turn": 1.0, "m": bounds.size, "N": weight, "N·m": weight * bounds.size / 4}
        for attribute, switch, label, unit in _KINDS:
            for column in joint.columns:
                prefix = column.removesuffix(attribute)
                if not _is(column, attribute) or (switch and switch not in joint.columns):
                    continue
                own = joint.unit if not prefix else "rad" if prefix.startswith("angle") else "m"
                end = _round_up(reach[unit.replace("x", own).removesuffix("/s")])
                limited = joint.limit if not prefix and unit in ("rad", "m", "x") else None
                name = f"{prefix.replace('/', ' ')}{label}"
                found.append(Control(number, name, unit.replace("x", own), column, switch, *(limited or (-end, end))))
    return found


def _is(column: str, attribute: str) -> bool:
    """Whether a column is this attribute, of the joint's first coordinate or, with a prefix, of a further one."""
    return column == attribute or column.endswith(f"/{attribute}")


def _round_up(x: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(next(k * power for k in (1, 2, 5, 10) if k * power >= x * (1 - 1e-9)))


class Steering:
    """Sets attributes of a world's joints and holds what was set by hand until it is let go."""

    def __init__(self, world: World, cast: Cast) -> None:
        self._scene, self._animator = world.scene, world.scene.animator
        self._slots = joint_slots(world.scene)
        self._places = cast.places
        self._held: dict[tuple[int, int, str], float] = {}
        self._wrapped: tuple[Object, Animation] | None = None
        self._at_start = [
            {name: elements.slot(name).values.copy() for name in elements if _can_be_set(name)}
            for elements in map(self._elements, range(len(self._slots)))
        ]

    def _elements(self, group: int) -> AttributeCollection:
        geometry = self._slots[group].geometry
        kind = class_of(uid_of(geometry))
        assert issubclass(kind, Joint)
        return kind.elements(geometry)

    def value(self, joint: int, attribute: str) -> float:
        """What the attribute of a joint is now."""
        group, k = self._places[joint]
        return float(self._elements(group).slot(attribute).values[k])

    def matters(self, control: Control) -> bool:
        """Whether it does something now: a drive holds a position, or runs at a speed, or leaves room for a force."""
        prefix = control.attribute.rpartition("drive/")[0]
        group, k = self._places[control.joint]
        elements = self._elements(group)
        gains = [elements.find(f"{prefix}drive/{name}") for name in ("stiffness", "damping")]
        stiffness, damping = (0.0 if gain is None else float(gain.values[k]) for gain in gains)
        if _is(control.attribute, "drive/target"):
            return stiffness > 0.0
        if _is(control.attribute, "drive/target_velocity"):
            return stiffness == 0.0 and damping > 0.0
        return stiffness == damping == 0.0

    def hold(self, joint: int, attribute: str, value: float) -> None:
        """Set an attribute of a joint now and in every frame to come."""
        group, k = self._places[joint]
        self._held[group, k, attribute] = value
        self._write(group, k, attribute, value)
        self._follow()

    def _write(self, group: int, k: int, attribute: str, value: float) -> None:
        self._elements(group).slot(attribute).edit()[k] = value

    def _follow(self) -> None:
        """Have held values written after the last of the scene's animations, if there are any."""
        if self._wrapped is not None or not self._animator.animation_count():
            return
        owner = self._scene.objects.find(self._animator.animation_ids()[-1])
        assert owner is not None
        animation = self._animator.find(owner.id())
        assert animation is not None
        self._wrapped = owner, animation

        def animate_and_hold(info: UpdateInfo) -> None:
            animation.callback(info)
            for (group, k, attribute), value in self._held.items():
                self._write(group, k, attribute, value)

        self._animator.erase(owner.id())
        self._animator.insert(owner, animate_and_hold)

    def reset(self) -> None:
        """Let everything go and give all targets, forces and switches the values they had when looking began."""
        self._held.clear()
        if self._wrapped is not None:
            owner, animation = self._wrapped
            self._animator.erase(owner.id())
            self._animator.insert(owner, animation.callback)
            self._wrapped = None
        for group, values in enumerate(self._at_start):
            for name, array in values.items():
                self._elements(group).slot(name).edit()[...] = array


def _can_be_set(name: str) -> bool:
    return any(_is(name, attribute) or name == switch for attribute, switch, *_ in _KINDS)
