"""URDF files: links, joints, shapes and materials as they stand there; what is not honoured is told by name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from dovetail.doctor.finding import Finding, remark, warning
from dovetail.geometry import AngleAxis
from dovetail.robot.description import Inertia, Joint, Link, Mimic, RobotDescription, Shape
from dovetail.robot.paths import Folders
from dovetail.robot.transmissions import read_transmissions
from dovetail.robot.xml import Element, read_xml
from dovetail.typing import Array

__all__ = ["read_urdf"]

_KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical")
_NAMED = {"continuous": "revolute", "spherical": "ball"}  # here; the latter is Bullet's own word, not one of URDF
_FOREIGN = {
    "gazebo": "settings of another simulator",
    "ros2_control": "interfaces of controllers",
    "sensor": "sensors",
}
_LIGHTEST = 1e-12  # kg; less is no mass
_WIDEST = 1e6  # rad or m; limits farther apart are none
_SCALES = 1e-9, 1e9  # of meshes, in nanometres at the least
_TOLD = 4  # lines of a kind that are listed


def read_urdf(file: Path, folders: Sequence[str | PathLike[str]] = ()) -> RobotDescription:
    """The robot in a URDF file; meshes are looked for as `Folders` says, and not read yet."""
    root = read_xml(file)
    if root.tag != "robot":
        root.refuse(f"the file begins with <{root.tag}>; a URDF begins with <robot>.")
    robot = RobotDescription(root.text("name", ""), file)
    root.text("version", "")
    reader = _Reader(robot, Folders(file, folders))
    _no_macros(root)
    for element in root.all("material"):
        reader.material(element)
    for element in root.all("link"):
        reader.link(element)
    for element in root.all("joint"):
        reader.joint(element)
    for tag, what in _FOREIGN.items():
        found = root.all(tag)
        if found:
            robot.findings.append(warning(f"<{tag}> is not read ({_lines(found)}): {what}", ""))
    read_transmissions(robot, root.all("transmission"), _lines)
    robot.findings += [remark(text) for text in root.said]
    for what, elements in _unread(root).items():
        robot.findings.append(warning(f"{what} is not read ({_lines(elements)})", ""))
    robot.check_tree()
    return robot


def _no_macros(element: Element) -> None:
    """Refuse what xacro has not expanded yet."""
    if element.tag.startswith("xacro:") and element.tag not in ("xacro:property", "xacro:arg"):
        element.refuse(f"<{element.tag}> is xacro; expand it first: `xacro robot.urdf.xacro > robot.urdf`.")
    for name, value in element.attributes.items():
        if "${" in value or "$(" in value:
            element.refuse(f'{name}="{value}" of <{element.tag}> is xacro; expand it first with the program xacro.')
    if element.tag not in (*_FOREIGN, "transmission"):
        for child in element.children:
            _no_macros(child)


def _unread(root: Element) -> dict[str, list[Element]]:
    """What nobody asked for, with the elements that have it. Namespaces are not told of."""
    found: dict[str, list[Element]] = {}
    for what, element in root.unread():
        if not what.startswith("xmlns"):
            found.setdefault(what, []).append(element)
    return found


def _lines(elements: list[Element]) -> str:
    told = ", ".join(str(element.line) for element in elements[:_TOLD])
    return f"line{'s' if len(elements) > 1 else ''} {told}{', …' if len(elements) > _TOLD else ''}"


class _Reader:
    """Fills a description."""

    def __init__(self, robot: RobotDescription, folders: Folders) -> None:
        self._robot, self._folders = robot, folders
        self._colors: dict[str, Array] = {}

    def _note(self, finding: Finding) -> None:
        self._robot.findings.append(finding)

    # --- links ----------------------------------------------------------------------------------------------

    def link(self, element: Element) -> None:
        name = self._fresh(element, self._robot.links, "link")
        link = Link(name, element.where)
        inertial = element.one("inertial")
        if inertial is not None:
            link.inertia = self._inertia(inertial, name)
        for shape in element.all("collision"):
            link.collisions.append(self._shape(shape, name))
        for shape in element.all("visual"):
            if not _is_point(shape):
                link.visuals.append(self._shape(shape, name))
            else:
                shape.one("origin"), self._color(shape.one("material"))
                self._note(remark(f"the visual of link '{name}' ({shape.where}) has no extent, and is not shown"))
        self._robot.links[name] = link

    def _inertia(self, element: Element, link: str) -> Inertia | None:
        pose = _pose(element.one("origin"))
        mass = element.needed("mass").at_least_zero("value")
        tensor = element.one("inertia")
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        xx, xy, xz, yy, yz, zz = (0.0,) * 6 if tensor is None else (tensor.number(name, "0") for name in names)
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if mass < _LIGHTEST:
            if J.any() or mass > 0.0:
                self._note(warning(f"link '{link}' has inertia and no mass ({element.where}); both are left out", ""))
            return None
        R = pose[:3, :3]
        return Inertia(mass, pose[:3, 3].copy(), R @ J @ R.T)

    def _shape(self, element: Element, link: str) -> Shape:
        element.text("name", "")
        geometry = element.needed("geometry")
        kinds = [child for child in geometry.children if child.tag in ("box", "sphere", "cylinder", "capsule", "mesh")]
        if len(kinds) != 1:
            there = ", ".join(f"<{child.tag}>" for child in geometry.children) or "nothing"
            geometry.refuse(
                f"the {element.tag} of link '{link}' is {there}; give one of box, sphere, cylinder, capsule, mesh."
            )
        (solid,) = geometry.all(kinds[0].tag)
        pose, file = _pose(element.one("origin")), None
        if solid.tag == "box":
            size = solid.numbers("size", 3)
            if not (size > 0.0).all():
                solid.refuse(f"the box of link '{link}' has the size {size.tolist()} m; give edges > 0.")
        elif solid.tag == "mesh":
            size = solid.numbers("scale", 3, "1 1 1")
            least, most = _SCALES
            if not ((np.abs(size) >= least) & (np.abs(size) <= most)).all():
                wanted = f"numbers from {least:g} to {most:g}, of any sign"
                solid.refuse(f"the mesh of link '{link}' has the scale {size.tolist()}; give {wanted}.")
            file = self._mesh(solid, element.tag, link)
        elif solid.tag == "sphere":
            size = np.array([solid.positive("radius")])
        else:
            size = np.array([solid.positive("radius"), solid.positive("length")])
        color = self._color(element.one("material")) if element.tag == "visual" else None
        return Shape(solid.tag, size, pose, solid.where, file, color)

    def _mesh(self, element: Element, tag: str, link: str) -> Path | None:
        """The file of a mesh. One that is only looked at may be missing."""
        name = element.text("filename")
        try:
            return self._folders.find(name)
        except (ValueError, OSError) as error:
            flaw = f"the {tag} mesh '{name}' of link '{link}' {error}"
            if tag == "visual":
                self._note(warning(f"{flaw} ({element.where})", "it is not shown."))
            else:
                self._note(Finding("problem", f"{flaw} ({element.where})", "it does not touch anything."))
            return None

    def material(self, element: Element) -> None:
        self._color(element)

    def _color(self, element: Element | None) -> Array | None:
        if element is None:
            return None
        name, color = element.text("name", ""), element.one("color")
        texture = element.one("texture")
        if texture is not None:
            texture.text("filename", "")
            self._note(remark(f"the texture of material '{name}' in {texture.where} is not shown"))
        if color is None:
            return self._colors.get(name)
        rgba = np.clip(color.numbers("rgba", 4), 0.0, 1.0)
        self._colors[name] = rgba[:3]
        return rgba[:3]

    # --- joints ---------------------------------------------------------------------------------------------

    def joint(self, element: Element) -> None:
        name = self._fresh(element, self._robot.joints, "joint")
        kind = element.text("type")
        if kind not in _KINDS:
            element.refuse(f"joint '{name}' is of type '{kind}'; there are {', '.join(_KINDS)}.")
        parent, child = element.needed("parent").text("link"), element.needed("child").text("link")
        axes = element.all("axis")
        if len(axes) > 1:  # as all readers do
            self._note(
                warning(f"joint '{name}' has {len(axes)} <axis>; the first counts ({axes[0].where})", "give one")
            )
        along = axes[0].numbers("xyz", 3) if axes else np.array([1.0, 0.0, 0.0])
        length = float(np.linalg.norm(along))
        if kind not in ("fixed", "floating", "spherical"):
            if length == 0.0:
                element.refuse(f"joint '{name}' has the axis {along.tolist()}, which has no direction.")
            along = along / length
        joint = Joint(
            name, _NAMED.get(kind, kind), parent, child, element.where, _pose(element.one("origin")), along
        )  # fmt: skip
        self._limits(element, joint, kind)
        self._dynamics(element, joint)
        self._aside(element, joint)
        self._robot.joints[name] = joint

    def _limits(self, element: Element, joint: Joint, kind: str) -> None:
        limit = element.one("limit")
        if limit is None:
            if kind in ("revolute", "prismatic"):
                element.refuse(f"joint '{joint.name}' is {kind} and has no <limit>; one without limits is continuous.")
            return
        lower, upper = limit.number("lower", "0"), limit.number("upper", "0")
        if kind in ("revolute", "prismatic"):
            if lower > upper:  # as Bullet reads it
                text = f"joint '{joint.name}' has the limits {lower:g} to {upper:g}, upside down"
                self._note(warning(f"{text}, taken for none ({limit.where})", "swap them if they are meant"))
            elif upper - lower < _WIDEST:
                joint.limit = (lower, upper)
            else:
                self._note(remark(f"joint '{joint.name}' has the limits {lower:g} to {upper:g}, taken for none"))
        elif kind == "spherical" and limit.attributes:
            self._note(warning(f"joint '{joint.name}' is spherical, and its limits in {limit.where} are not kept", ""))
        elif kind == "continuous" and "lower" in limit.attributes and lower < upper:
            self._note(warning(f"joint '{joint.name}' is continuous, and its limits in {limit.where} are not kept", ""))
        for what in ("effort", "velocity"):
            value = limit.at_least_zero(what, "0")
            if value > 0.0:
                setattr(joint, what, value)
            elif what in limit.attributes and kind not in ("fixed", "floating"):
                self._note(remark(f"joint '{joint.name}' has {what}=\"0\" ({limit.where}), taken for no limit"))

    def _dynamics(self, element: Element, joint: Joint) -> None:
        dynamics = element.one("dynamics")
        if dynamics is not None:
            joint.damping = dynamics.at_least_zero("damping", "0")
            joint.friction = dynamics.at_least_zero("friction", "0")
        mimic = element.one("mimic")
        if mimic is None:
            return
        leader, ratio, offset = mimic.text("joint"), mimic.number("multiplier", "1"), mimic.number("offset", "0")
        if joint.kind not in ("revolute", "prismatic"):
            self._note(
                warning(f"joint '{joint.name}' mimics '{leader}' and is {joint.kind} ({mimic.where}): it cannot", "")
            )
            return
        joint.mimic = Mimic(leader, ratio, offset)

    def _aside(self, element: Element, joint: Joint) -> None:
        """What concerns controllers and calibration."""
        safety, calibration = element.one("safety_controller"), element.one("calibration")
        if safety is not None:
            bounds = [safety.number(name, "0") for name in ("soft_lower_limit", "soft_upper_limit")]
            for name in ("k_position", "k_velocity"):
                safety.number(name, "0")
            span = f" from {bounds[0]:g} to {bounds[1]:g}" if any(bounds) else ""
            self._note(remark(f"the safety controller{span} of joint '{joint.name}' ({safety.where}) is not enforced"))
        if calibration is not None:
            for name in calibration.attributes:
                calibration.number(name)
            self._note(remark(f"the calibration of joint '{joint.name}' ({calibration.where}) is for its controller"))

    # --- both -----------------------------------------------------------------------------------------------

    def _fresh(self, element: Element, known: dict[str, Link] | dict[str, Joint], what: str) -> str:
        name = element.text("name")
        if not name:
            element.refuse(f"a {what} has an empty name.")
        if name in known:
            element.refuse(f"there is already a {what} '{name}', in {known[name].where}; names are unique.")
        return name


def _is_point(element: Element) -> bool:
    """Whether a shape is a ball without a radius, by which some files hide it."""
    balls = [ball for geometry in element.all("geometry") for ball in geometry.all("sphere")]
    return any(ball.number("radius", "1") == 0.0 for ball in balls)


def _pose(origin: Element | None) -> Array:
    """An <origin>: turned about the fixed axes x, y, z by roll, pitch, yaw [rad], then shifted."""
    pose = np.eye(4)
    if origin is not None:
        for angle, axis in zip(origin.numbers("rpy", 3, "0 0 0"), np.eye(3), strict=True):
            pose[:3, :3] = AngleAxis(math.remainder(angle, 2.0 * math.pi), axis).matrix() @ pose[:3, :3]
        pose[:3, 3] = origin.numbers("xyz", 3, "0 0 0")
    return pose
