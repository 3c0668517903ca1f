"""Robots from URDF files as shapes that can be posed: a geometry per link, and forward kinematics.

    robot = UrdfIO().read(scene.objects.create("robot"), "arm.urdf")
    robot.rotate_to("elbow", 0.5)
    robot.apply_to("transform")            # or "aim_transform", to pull bodies along

As in libuipc links get no constitution and joints exert no force. URDF has z up and x forward; the scene gets y up and
−z forward.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from dovetail import builtin
from dovetail.checked import checked, shown
from dovetail.errors import GeometryError, SceneError
from dovetail.geometry import AngleAxis, ImplicitGeometry, SimplicialComplex, SimplicialComplexIO, label_surface
from dovetail.geometry.create import trimesh as make_trimesh
from dovetail.geometry.slot import GeometrySlot
from dovetail.robot.xml import read_xml
from dovetail.scene import Object
from dovetail.typing import Array, ArrayLike

__all__ = ["UrdfController", "UrdfIO"]

_TO_SCENE = np.array([[0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [-1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])


@dataclass
class _Joint:
    """A joint of the file: where it is on its parent, and how far it is turned."""

    name: str
    parent: str
    child: str
    turns: bool
    origin: Array
    axis: Array
    limits: tuple[float, float] | None = None
    mimics: tuple[str, float, float] | None = None
    angle: float = 0.0

    def placed(self, angle: float) -> Array:
        """The child's frame in that of the parent."""
        turn = np.eye(4)
        if self.turns:
            turn[:3, :3] = AngleAxis(angle, self.axis).matrix()
        placed: Array = self.origin @ turn
        return placed


@dataclass
class UrdfController:
    """The links of a robot and the angles of its joints; `apply_to` brings the links where the angles put them."""

    _joints: dict[str, _Joint]
    _root: str
    _slots: dict[str, GeometrySlot] = field(default_factory=dict)
    _visual: dict[str, GeometrySlot] = field(default_factory=dict)
    _joint_slot: GeometrySlot | None = None
    _base: Array = field(default_factory=lambda: np.eye(4))

    def rotate_to(self, joint_name: str, angle: float) -> None:
        """Set the angle [rad] of a joint that turns; one that mimics another keeps following it."""
        joint = self._joints.get(joint_name)
        if joint is None or not joint.turns:
            known = ", ".join(name for name, other in self._joints.items() if other.turns)
            raise GeometryError(f"UrdfController.rotate_to: no joint '{joint_name}' turns; there are {known}.")
        if joint.mimics is None:
            joint.angle = float(angle)

    def move_root(self, xyz: ArrayLike, rpy: ArrayLike) -> None:
        """Place the root link: translation [m] and angles [rad] about x, then y, then z, each in the turned frame."""
        base = np.eye(4)
        base[:3, 3] = np.asarray(xyz, np.float64).reshape(3)
        for angle, axis in zip(np.asarray(rpy, np.float64).reshape(3), np.eye(3), strict=True):
            base[:3, :3] = base[:3, :3] @ AngleAxis(angle, axis).matrix()
        self._base = base

    def apply_to(self, attr: str = builtin.transform) -> None:
        """Write the pose of every link to an instance attribute (Matrix4x4)."""
        for link, pose in self._poses(self._root, self._base):
            if link in self._slots:
                self._slots[link].geometry.instances[attr] = _TO_SCENE @ pose

    def sync_visual_mesh(self) -> None:
        """Bring the shapes to look at where the links are."""
        for link, slot in self._visual.items():
            slot.geometry.transforms.assign(self._slots[link].geometry.transforms.values)

    def links(self) -> list[GeometrySlot]:
        """Slots of the links, by name."""
        return [self._slots[name] for name in sorted(self._slots)]

    def revolute_joints(self) -> GeometrySlot | None:
        """Slot of a geometry with an instance for each joint that turns: `name`, `axis`, `limits` (lower, upper)."""
        return self._joint_slot

    def _poses(self, link: str, pose: Array) -> Iterator[tuple[str, Array]]:
        below: dict[str, list[_Joint]] = {}
        for joint in self._joints.values():
            below.setdefault(joint.parent, []).append(joint)
        todo = [(link, pose)]
        for name, placed in todo:
            yield name, placed
            todo += [(each.child, placed @ each.placed(self._angle(each))) for each in below.pop(name, [])]

    def _angle(self, joint: _Joint) -> float:
        if joint.mimics is None:
            return joint.angle
        leader, factor, offset = joint.mimics
        return factor * self._joints[leader].angle + offset


class UrdfIO:
    """Reads URDF files. With `load_visual_mesh` the shapes to look at are loaded besides those that collide."""

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self._config = {**self.default_config(), **(config or {})}

    @staticmethod
    def default_config() -> dict[str, Any]:
        return {"load_visual_mesh": True}

    @checked(GeometryError)
    def read(self, object: Object, urdf_path: str | PathLike[str]) -> UrdfController:
        """Create a geometry in `object` for each link that has a shape; returns what poses them."""
        file = Path(urdf_path)
        try:
            read_xml(file)  # which refuses what is none, or too large
            return self._read(object, file, ElementTree.parse(file).getroot())
        except (SceneError, ElementTree.ParseError) as error:
            raise GeometryError(f"UrdfIO.read: '{file}' cannot be read as URDF ({error}).") from None
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise GeometryError(f"UrdfIO.read: '{file}' makes no sense ({shown(str(error))}).") from None

    def _read(self, object: Object, file: Path, robot: ElementTree.Element) -> UrdfController:
        links = {link.get("name", ""): link for link in robot.iter("link")}
        try:
            joints = {joint.name: joint for joint in map(_joint, robot.findall("joint"))}
        except (TypeError, ValueError, KeyError) as error:
            raise GeometryError(f"UrdfIO.read: '{file}' has a joint that makes no sense ({error}).") from None
        children = {joint.child for joint in joints.values()}
        roots = [name for name in links if name not in children]
        if len(roots) != 1:
            raise GeometryError(f"UrdfIO.read: '{file}' has {len(roots)} root links {roots}; a robot has one.")
        controller = UrdfController(joints, roots[0])
        visible = bool(self._config["load_visual_mesh"])
        for name, link in links.items():
            shape = link.find("collision")
            if shape is not None:
                controller._slots[name] = self._create(object, file, name, shape, not visible)
                visual = link.find("visual")
                if visible and visual is not None:
                    controller._visual[name] = self._create(object, file, name, visual, True)
        turning = [joint for joint in joints.values() if joint.turns]
        if turning:
            controller._joint_slot, _ = object.geometries.create(_joint_geometry(turning))
        controller.apply_to(builtin.transform)
        controller.sync_visual_mesh()
        return controller

    def _create(self, object: Object, file: Path, name: str, shape: ElementTree.Element, visible: bool) -> GeometrySlot:
        sc = _mesh(file, name, shape)
        label_surface(sc)
        for attribute, value in (("name", name), ("urdf/name", name), ("urdf/type", "link")):
            sc.meta.create(attribute, value)
        sc.meta.create("is_visible", int(visible))
        return object.geometries.create(sc)[0]


def _mesh(file: Path, link: str, shape: ElementTree.Element) -> SimplicialComplex:
    """The shape of a <collision> or <visual>, in the frame of its link."""
    import trimesh

    geometry = shape.find("geometry")
    kind = None if geometry is None else next(iter(geometry), None)
    origin = _pose(shape.find("origin"))
    if kind is None:
        raise GeometryError(f"UrdfIO.read: '{file}': link '{link}' has a shape without geometry.")
    if kind.tag == "mesh":
        scale = np.diag([*_numbers(kind.get("scale"), "1 1 1"), 1.0])
        name = kind.get("filename", "").split("://")[-1]
        return SimplicialComplexIO(origin @ scale).read(file.parent / name)
    if kind.tag == "box":
        solid = trimesh.creation.box(_numbers(kind.get("size"), "1 1 1"))
    elif kind.tag == "sphere":
        solid = trimesh.creation.icosphere(subdivisions=2, radius=float(kind.get("radius", "1")))
    elif kind.tag == "cylinder":
        solid = trimesh.creation.cylinder(float(kind.get("radius", "1")), float(kind.get("length", "1")))
    else:
        raise GeometryError(
            f"UrdfIO.read: '{file}': link '{link}' is a <{kind.tag}>; use a mesh, box, sphere, cylinder."
        )
    solid.apply_transform(origin)
    return make_trimesh(solid.vertices, solid.faces)


def _joint(element: ElementTree.Element) -> _Joint:
    def part(tag: str, attribute: str) -> str:
        found = element.find(tag)
        value = None if found is None else found.get(attribute)
        if value is None:
            raise KeyError(f"joint '{element.get('name')}' has no {tag} {attribute}")
        return value

    axis, limit, mimic = (element.find(tag) for tag in ("axis", "limit", "mimic"))
    turns = element.get("type") in ("revolute", "continuous")
    limited = limit is not None and element.get("type") == "revolute"
    return _Joint(
        element.get("name", ""),
        part("parent", "link"),
        part("child", "link"),
        turns,
        _pose(element.find("origin")),
        np.array(_numbers(None if axis is None else axis.get("xyz"), "1 0 0")),
        (float(limit.get("lower", "0")), float(limit.get("upper", "0"))) if limited and limit is not None else None,
        None
        if mimic is None
        else (mimic.get("joint", ""), float(mimic.get("multiplier", "1")), float(mimic.get("offset", "0"))),
    )


def _joint_geometry(joints: list[_Joint]) -> ImplicitGeometry:
    geometry = ImplicitGeometry()
    instances = geometry.instances
    instances.resize(len(joints))
    names = instances.create("name", "").edit()
    names[:] = [joint.name for joint in joints]
    instances.create("axis", np.zeros(3)).edit()[...] = [joint.axis for joint in joints]
    # lower > upper says that there is no limit
    instances.create("limits", np.array([1.0, -1.0])).edit()[...] = [joint.limits or (1.0, -1.0) for joint in joints]
    return geometry


def _pose(origin: ElementTree.Element | None) -> Array:
    """A <origin>: fixed angles roll, pitch, yaw about x, y, z, then the translation."""
    pose = np.eye(4)
    if origin is not None:
        roll, pitch, yaw = _numbers(origin.get("rpy"), "0 0 0")
        turns = (AngleAxis(yaw, [0, 0, 1]), AngleAxis(pitch, [0, 1, 0]), AngleAxis(roll, [1, 0, 0]))
        pose[:3, :3] = turns[0].matrix() @ turns[1].matrix() @ turns[2].matrix()
        pose[:3, 3] = _numbers(origin.get("xyz"), "0 0 0")
    return pose


def _numbers(text: str | None, default: str) -> list[float]:
    return [float(word) for word in (text or default).split()]
