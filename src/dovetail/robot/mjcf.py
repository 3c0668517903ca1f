"""MJCF files, as MuJoCo's own compiler understands them: bodies, joints, inertias and shapes.

Defaults, includes, frames, angles and inertias from shapes are the compiler's business; what it makes of the file is
read from the compiled model, and what of that is not honoured is told by name. mjcf_more.py has motors, equalities,
keyframes and what may touch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.checked import LARGEST
from dovetail.doctor.finding import remark, warning
from dovetail.errors import MissingExtra, SceneError
from dovetail.geometry import Quaternion
from dovetail.messages import listed
from dovetail.robot.description import Inertia, Joint, Link, RobotDescription, Shape, Triangles
from dovetail.robot.limited import prepare
from dovetail.robot.mjcf_compiler import Compiled
from dovetail.robot.mjcf_files import check_files
from dovetail.robot.paths import Folders
from dovetail.typing import Array

__all__ = ["Model", "read_mjcf"]

_WORLD = "world"
_MOST_NAMES = 4
_LAST_SHOWN = 2  # groups of geoms that MuJoCo's viewer shows; by custom those beyond are there to touch
_LIGHTEST = 1e-12  # kg; less is no mass
_MOST_EXTENT = 1e9  # m
_PLANE, _HFIELD, _SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX, _MESH = range(8)
_FREE, _BALL, _SLIDE, _HINGE = range(4)
_MUSCLE, _WRAP_JOINT, _ON_TENDON, _TIE_TENDON = 2, 1, 3, 3  # by mjtGain, mjtWrap, mjtTrn, mjtEq
_NUMBERS = (
    *("body_pos", "body_quat", "body_mass", "body_ipos", "body_iquat", "body_inertia", "jnt_pos", "jnt_axis"),
    *("dof_damping", "dof_frictionloss", "dof_armature", "jnt_stiffness", "jnt_range", "qpos0", "qpos_spring"),
    *("key_qpos", "geom_pos", "geom_quat", "geom_size", "mesh_vert", "eq_data", "site_pos", "site_quat", "wrap_prm"),
    *("actuator_gainprm", "actuator_biasprm", "actuator_gear", "actuator_forcerange", "actuator_ctrlrange"),
    *("jnt_actfrcrange", "tendon_stiffness"),
)
"""What is read of a model."""
_KINDS = {_BALL: "ball", _SLIDE: "prismatic", _HINGE: "revolute"}


def read_mjcf(file: Path, folders: Sequence[str | PathLike[str]] = ()) -> RobotDescription:
    """The robot in an MJCF file. Of its worldbody, a single body with a free joint is the root, or else the world."""
    from dovetail.robot.mjcf_more import (
        add_equalities,
        add_keyframes,
        add_motors,
        add_sites,
        part_bodies,
        tell_of_rest,
    )

    has_compiler = find_spec("mujoco") is not None
    if has_compiler:
        prepare("mjcf")
    check_files(file, Folders(file, folders, above=1))
    if not has_compiler:
        raise MissingExtra(f"reading '{file}': MJCF needs mujoco; pip install 'dovetail[robots]'.")
    model = Model(file)
    _refuse(model)
    _add_bodies(model)
    add_sites(model)
    model.robot.check_tree()
    add_motors(model)
    add_equalities(model)
    add_keyframes(model)
    part_bodies(model)
    _tell_of_options(model)
    tell_of_rest(model)
    return model.robot


class Model:
    """A compiled model, the names of its parts, and the robot that is made of it.

    Parts without a name are called by their number, `body 3`; a joint that has the name of another part keeps it.
    """

    def __init__(self, file: Path) -> None:
        self.m = Compiled(file)
        self.robot = RobotDescription(self.m.name, file)
        for each in dict.fromkeys(self.m.said):
            self.robot.findings.append(remark(f"MuJoCo says: {each}"))
        self._check_numbers()
        self.body_names = self._names("body")
        self.joint_names = self._names("joint")
        self.actuators = range(self.m.n["actuator"])
        self.link_of: dict[int, str] = {}
        self.joint_of: dict[int, Joint] = {}
        """Hinges, sliders and balls by their number."""

    def _check_numbers(self) -> None:
        """The compiler lets numbers pass that nothing can be computed with."""
        for name in _NUMBERS:
            values = np.asarray(getattr(self.m, name), float)
            if values.size and not (np.abs(values) <= LARGEST).all():
                worst = values.reshape(-1)[np.abs(np.nan_to_num(values, nan=math.inf)).argmax()]
                raise self.refuse(f"{name.replace('_', ' ')} has the number {worst:g}; give numbers up to {LARGEST:g}.")
        farthest = float(np.abs(self.m.mesh_vert).max(initial=0.0))
        if farthest > _MOST_EXTENT:
            raise self.refuse(
                f"a mesh reaches {farthest:.3g} m; scale it such that this is {_MOST_EXTENT:g} m at most."
            )

    def _names(self, kind: str) -> list[str]:
        found: dict[str, None] = {}
        for k, given in enumerate(self.m.names[kind]):
            name = given or f"{kind} {k}"
            found[name if name not in found else f"{name} {k}"] = None
        return list(found)

    def name(self, kind: str, k: int) -> str:
        """How messages call a part."""
        return f"{kind} '{self.m.names[kind][k] or k}'"

    def where(self, kind: str, k: int) -> str:
        """Its line in the file, where the compiler has kept that, else its name."""
        lines = self.m.lines.get(kind, [])
        info = lines[k] if k < len(lines) else ""
        return info if info and not info.endswith("line 0") else self.name(kind, k)

    def pose(self, kind: str, k: int) -> Array:
        """(4, 4) of a body, inertia or geom in its frame."""
        return placed(getattr(self.m, f"{kind}_pos")[k], getattr(self.m, f"{kind}_quat")[k])

    def warn(self, text: str, advice: str = "") -> None:
        self.robot.findings.append(warning(text, advice))

    def refuse(self, text: str) -> SceneError:
        return SceneError(f"reading '{self.robot.file}': {text}")


def placed(position: Array, quaternion: Array) -> Array:
    """The pose (4, 4) of a place and a quaternion (w, x, y, z)."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = Quaternion(np.asarray(quaternion, float)).matrix(), position
    return T


# --- what is refused ----------------------------------------------------------------------------------------


def _refuse(model: Model) -> None:
    m = model.m
    if m.n["flex"]:
        raise model.refuse(f"{model.name('flex', 0)} is a flexible body; dovetail has stiff ones. Take it out.")
    for k in model.actuators:
        if int(m.actuator_gaintype[k]) == _MUSCLE:
            raise model.refuse(f"{model.name('actuator', k)} is a muscle, which is not known; make it a motor.")
    for k in range(m.n["tendon"]):
        spatial = int(m.wrap_type[m.tendon_adr[k]]) != _WRAP_JOINT
        driven = any(int(t) == _ON_TENDON and i == k for t, i in _targets(m))
        tied = any(
            int(m.eq_type[e]) == _TIE_TENDON and k in (m.eq_obj1id[e], m.eq_obj2id[e]) for e in range(m.n["equality"])
        )
        acts = m.tendon_limited[k] or m.tendon_stiffness[k] or m.tendon_damping[k] or m.tendon_frictionloss[k]
        if spatial and (driven or tied or acts):
            raise model.refuse(
                f"{model.name('tendon', k)} is a spatial tendon, which is not known; take it out, or say what it does "
                "by joints, springs or motors."
            )


def _targets(m: Any) -> list[tuple[int, int]]:
    return [(int(m.actuator_trntype[k]), int(m.actuator_trnid[k, 0])) for k in range(len(m.actuator_trntype))]


def _tell_of_options(model: Model) -> None:
    m, options = model.m, model.m.options
    g = ", ".join(f"{x:g}" for x in options["gravity"])
    model.robot.findings.append(
        remark(
            f"the file's options are not taken over: timestep {options['timestep']:g} s, gravity ({g}) m/s², solver "
            "settings, friction and softness of contacts"
        )
    )
    density, viscosity = options["density"], options["viscosity"]
    if density or viscosity:
        model.warn(f"air or water of density {density:g} and viscosity {viscosity:g} is not honoured")
    lifted = [f"'{model.body_names[b]}'" for b in range(m.n["body"]) if m.body_gravcomp[b]]
    if lifted:
        model.warn(f"gravcomp of {listed(lifted, _MOST_NAMES)} is not honoured: gravity acts on them")


# --- bodies -------------------------------------------------------------------------------------------------


def _add_bodies(model: Model) -> None:
    m, robot = model.m, model.robot
    tops = [b for b in range(1, m.n["body"]) if m.body_parentid[b] == 0]
    first = tops[0] if len(tops) == 1 and _has_free_joint(m, tops[0]) else 0
    if first:
        robot.base, robot.is_free = model.pose("body", first), True
    _add_shapes(model, 0, Link(_WORLD, "worldbody"), made=not first)
    for b in range(1, m.n["body"]):
        _add_body(model, b, b == first)


def _has_free_joint(m: Any, b: int) -> bool:
    return bool(m.body_jntnum[b] == 1 and m.jnt_type[m.body_jntadr[b]] == _FREE)


def _add_body(model: Model, b: int, is_root: bool) -> None:
    m, robot, name = model.m, model.robot, model.body_names[b]
    link = Link(name, model.where("body", b))
    mass = float(m.body_mass[b])
    if mass >= _LIGHTEST:
        T = placed(m.body_ipos[b], m.body_iquat[b])
        R = T[:3, :3]
        link.inertia = Inertia(mass, T[:3, 3].copy(), R @ np.diag(m.body_inertia[b]) @ R.T)
    elif m.body_inertia[b].any():
        model.warn(f"body '{name}' has inertia and no mass; both are left out")
    parent = "" if is_root else model.link_of[int(m.body_parentid[b])]
    numbers = range(int(m.body_jntadr[b]), int(m.body_jntadr[b]) + int(m.body_jntnum[b]))
    pose = model.pose("body", b)
    for j in numbers if not is_root else ():
        last = j == numbers[-1]
        child = name if last else f"{name}:{model.joint_names[j]}"
        if not last:
            robot.links[child] = Link(child, link.where, carries=name)
        robot.joints[model.joint_names[j]] = _joint(model, j, parent, child, pose)
        parent, pose = child, np.eye(4)
    if not numbers and not is_root:
        robot.joints[f"{name} fixed"] = Joint(
            f"{name} fixed", "fixed", parent, name, link.where, pose, np.array([0.0, 0.0, 1.0])
        )
    _add_shapes(model, b, link, made=True)


def _joint(model: Model, j: int, parent: str, child: str, pose: Array) -> Joint:
    m, name, kind = model.m, model.joint_names[j], int(model.m.jnt_type[j])
    where = model.where("joint", j)
    if kind == _FREE:
        return Joint(name, "floating", parent, child, where, pose, np.array([0.0, 0.0, 1.0]))
    joint = Joint(
        name, _KINDS[kind], parent, child, where, pose, np.array(m.jnt_axis[j]), anchor=np.array(m.jnt_pos[j])
    )
    d, at = int(m.jnt_dofadr[j]), int(m.jnt_qposadr[j])
    model.joint_of[j] = joint
    joint.damping, joint.friction = float(m.dof_damping[d]), float(m.dof_frictionloss[d])
    joint.armature, joint.spring = float(m.dof_armature[d]), float(m.jnt_stiffness[j])
    if m.jnt_limited[j]:
        joint.limit = (float(m.jnt_range[j, 0]), float(m.jnt_range[j, 1]))
    _tell_of_polynomials(model, j, name, where)
    if kind == _BALL:
        if joint.friction:
            text = f"the friction of the ball joint '{name}' ({where}) acts on the rates of its rotation vector"
            model.robot.findings.append(remark(text))
        return joint
    joint.reference, joint.rest = float(m.qpos0[at]), float(m.qpos_spring[at])
    return joint


def _tell_of_polynomials(model: Model, j: int, name: str, where: str) -> None:
    for poly, at in (("dof_dampingpoly", int(model.m.jnt_dofadr[j])), ("jnt_stiffnesspoly", j)):
        if np.any(getattr(model.m, poly, np.zeros((at + 1, 1)))[at]):
            model.warn(f"the nonlinear part of {poly[4:-4]} of joint '{name}' ({where}) is not honoured")


# --- shapes -------------------------------------------------------------------------------------------------


def _add_shapes(model: Model, b: int, link: Link, made: bool) -> None:
    """The geoms of a body: those that collide with anything touch, those that MuJoCo shows are looked at.

    Where there are meshes for that, in a group of their own, what touches is not shown.
    """
    m, told = model.m, {_PLANE: "a plane", _HFIELD: "a height field"}
    if made:
        model.robot.links[link.name] = link
        model.link_of[b] = link.name
    first = int(m.body_geomadr[b])
    geoms = range(first, first + int(m.body_geomnum[b])) if m.body_geomnum[b] else ()
    paired = {*m.pair_geom1, *m.pair_geom2}
    touching = {g for g in geoms if m.geom_contype[g] or m.geom_conaffinity[g] or g in paired}
    dressed = {int(m.geom_group[g]) for g in geoms if g not in touching and int(m.geom_type[g]) == _MESH}
    for g in geoms:
        kind = int(m.geom_type[g])
        if kind > _MESH or kind in told:
            what = told.get(kind, "a shape of distances")
            advice = "sim.ground() makes a floor." if kind == _PLANE else ""
            model.warn(f"{model.name('geom', g)} is {what}, which is not made", advice)
            continue
        if not made:
            model.warn(
                f"{model.name('geom', g)} of the world is not made: the robot's base is free", "make it in the Sim."
            )
            continue
        shape = _shape(model, g, kind)
        if g in touching:
            link.collisions.append(shape)
        covered = g in touching and dressed and int(m.geom_group[g]) not in dressed
        if m.geom_group[g] <= _LAST_SHOWN and _rgba(m, g)[3] > 0.0 and not covered:
            link.visuals.append(shape)


def _rgba(m: Any, g: int) -> Array:
    """Of a geom, or where it has none of its own of its material."""
    plain = (m.geom_rgba[g] == np.array([0.5, 0.5, 0.5, 1.0], np.float32)).all()
    return np.array(m.mat_rgba[m.geom_matid[g]] if plain and m.geom_matid[g] >= 0 else m.geom_rgba[g], float)


def _shape(model: Model, g: int, kind: int) -> Shape:
    m = model.m
    size, pose, color = np.array(m.geom_size[g]), model.pose("geom", g), np.clip(_rgba(m, g)[:3], 0.0, 1.0)
    where = model.where("geom", g)
    if kind == _MESH:
        k = int(m.geom_dataid[g])
        at, face = int(m.mesh_vertadr[k]), int(m.mesh_faceadr[k])
        triangles = Triangles(
            np.array(m.mesh_vert[at : at + m.mesh_vertnum[k]], float),
            np.array(m.mesh_face[face : face + m.mesh_facenum[k]], np.int64),
        )
        return Shape("mesh", np.ones(3), pose, where, Path(m.names["mesh"][k] or f"mesh {k}"), color, triangles)
    name, numbers = {
        _SPHERE: ("sphere", size[:1]),
        _CAPSULE: ("capsule", np.array([size[0], 2.0 * size[1]])),
        _ELLIPSOID: ("ellipsoid", size),
        _CYLINDER: ("cylinder", np.array([size[0], 2.0 * size[1]])),
        _BOX: ("box", 2.0 * size),
    }[kind]
    return Shape(name, numbers, pose, where, None, color)
