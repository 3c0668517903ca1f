"""What MJCF files say beside bodies and joints: motors, equalities, keyframes, who touches whom, sites and the rest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail.doctor.finding import remark
from dovetail.messages import listed
from dovetail.robot.description import Closure, Joint, Keyframe, Link, Mimic
from dovetail.robot.mjcf import Model, placed
from dovetail.typing import Array

__all__ = ["add_equalities", "add_keyframes", "add_motors", "add_sites", "part_bodies", "tell_of_rest"]

_CONNECT, _WELD, _JOINT, _TENDON = range(4)
_BODY, _SITE = 1, 6  # what an equality ties, by mjtObj
_ON_JOINT = (0, 1)  # transmissions to joints, in the child's or the parent's frame
_ON_TENDON = 3
_FIXED_GAIN, _AFFINE_BIAS = 0, 1


# --- motors -------------------------------------------------------------------------------------------------


def add_motors(model: Model) -> None:
    """Gains and strengths of joints from actuators: effort = r (g u + b₀ + b₁ r x + b₂ r ẋ), r the gear, u its control.

    That is a drive with k = −r² b₁ and c = −r² b₂; without b₁ and b₂ it is a motor of the strength r g max|u|. Those of
    several actuators on a joint add up.
    """
    m = model.m
    for k in model.actuators:
        joint, gear = _driven(model, k)
        who = model.name("actuator", k)
        if joint is None:
            model.warn(f"{who} drives no single hinge or slider; it is left out")
            continue
        if int(m.actuator_gaintype[k]) != _FIXED_GAIN or int(m.actuator_biastype[k]) > _AFFINE_BIAS:
            model.warn(f"{who} of joint '{joint.name}' has a gain that is not constant; it is left out")
            continue
        if int(m.actuator_dyntype[k]):
            model.warn(f"the dynamics of {who} of joint '{joint.name}' are not honoured: it acts at once")
        gain, bias = float(m.actuator_gainprm[k, 0]), m.actuator_biasprm[k, :3] * int(m.actuator_biastype[k])
        if bias[1] > 0.0 or bias[2] > 0.0:
            model.warn(f"{who} of joint '{joint.name}' pushes the more the farther or faster it is; it is left out")
            continue
        if bias[1] or bias[2]:
            had = joint.gains or (0.0, 0.0)
            joint.gains = had[0] - gear**2 * float(bias[1]), had[1] - gear**2 * float(bias[2])
            if bias[0] or gear != 1.0 or not math.isclose(gain, -(bias[1] or bias[2])):
                model.robot.findings.append(
                    remark(f"{who}: targets of joint '{joint.name}' are in its own unit, not in that of the control")
                )
        strength = abs(gear) * _strength(m, k, gain, bool(bias[1] or bias[2]))
        joint.effort = strength if math.isinf(joint.effort) else joint.effort + strength
        joint.armature += gear**2 * float(getattr(m, "actuator_armature", np.zeros(len(model.actuators)))[k])
        joint.damping += gear**2 * float(getattr(m, "actuator_damping", np.zeros(len(model.actuators)))[k])
    for j, joint in model.joint_of.items():
        if m.jnt_actfrclimited[j]:
            joint.effort = min(joint.effort, float(np.abs(m.jnt_actfrcrange[j]).max()))


def _driven(model: Model, k: int) -> tuple[Joint | None, float]:
    """The joint of an actuator, and its gear; none where it drives several, or anything else."""
    m = model.m
    target, gear = int(m.actuator_trnid[k, 0]), float(m.actuator_gear[k, 0])
    kind = int(m.actuator_trntype[k])
    if kind == _ON_TENDON:
        parts = _fixed_tendon(model, target)
        if len(parts) != 1:
            return None, 0.0
        target, gear = parts[0][0], gear * parts[0][1]
    elif kind not in _ON_JOINT:
        return None, 0.0
    joint = model.joint_of.get(target)
    return (joint, gear) if joint is not None and joint.is_scalar and gear else (None, 0.0)


def _strength(m: Any, k: int, gain: float, has_bias: bool) -> float:
    found = math.inf
    if m.actuator_forcelimited[k]:
        found = float(np.abs(m.actuator_forcerange[k]).max())
    if m.actuator_ctrllimited[k] and not has_bias:
        found = min(found, abs(gain) * float(np.abs(m.actuator_ctrlrange[k]).max()))
    return found


def _fixed_tendon(model: Model, t: int) -> list[tuple[int, float]]:
    """Joints of a fixed tendon with their coefficients; none of a spatial one."""
    m = model.m
    wraps = range(int(m.tendon_adr[t]), int(m.tendon_adr[t]) + int(m.tendon_num[t]))
    if any(int(m.wrap_type[w]) != 1 for w in wraps):
        return []
    return [(int(m.wrap_objid[w]), float(m.wrap_prm[w])) for w in wraps]


# --- equalities ---------------------------------------------------------------------------------------------


def add_equalities(model: Model) -> None:
    """Loops, and joints that follow others."""
    m = model.m
    for e in range(m.n["equality"]):
        kind, who = int(m.eq_type[e]), model.name("equality", e)
        if not m.eq_active0[e]:
            model.robot.findings.append(remark(f"{who} is not active, and not made"))
        elif kind in (_CONNECT, _WELD):
            _close(model, e, kind, who)
        elif kind == _JOINT:
            first, second = (model.joint_of.get(int(x)) for x in (m.eq_obj1id[e], m.eq_obj2id[e]))
            _follow(model, who, first, second, m.eq_data[e, :5])
        elif kind == _TENDON:
            _tie(model, e, who)
        else:
            model.warn(f"{who} is of a kind that is not known; it is left out")
    _tell_of_tendons(model)


def _close(model: Model, e: int, kind: int, who: str) -> None:
    m = model.m
    ends = [int(m.eq_obj1id[e]), int(m.eq_obj2id[e])]
    data = np.array(m.eq_data[e], float)
    frames = [np.eye(4), np.eye(4)]
    points = [data[:3], data[3:6]] if kind == _CONNECT else [data[3:6], data[:3]]
    turn = placed(np.zeros(3), data[6:10])[:3, :3] if kind == _WELD and data[6:10].any() else np.eye(3)
    if int(m.eq_objtype[e]) == _SITE:
        frames = [model.pose("site", site) for site in ends]
        ends = [int(m.site_bodyid[site]) for site in ends]
        points, turn = [frame[:3, 3] for frame in frames], frames[0][:3, :3] @ frames[1][:3, :3].T
    elif kind == _WELD:  # the pose of the second in the frame of the first, and a point of the second
        points[0] = data[3:6] + turn @ data[:3]
    moved = [m.names["body"][b] for b in ends if m.body_mocapid[b] >= 0]
    if moved:
        model.warn(f"{who} ties a body to '{moved[0]}', which other programs move; it is not made")
        return
    if any(b not in model.link_of for b in ends):
        model.warn(f"{who} ties a free base to the world; it is not made", "give fixed_base=True.")
        return
    links = model.link_of[ends[0]], model.link_of[ends[1]]
    model.robot.closures.append(
        Closure(
            m.names["equality"][e] or who,
            "connect" if kind == _CONNECT else "weld",
            links,
            (points[0], points[1]),
            turn,
        )
    )


def _follow(model: Model, who: str, joint: Joint | None, leader: Joint | None, poly: Array) -> None:
    """y − y₀ = a₀ + a₁(x − x₀), without a leader y − y₀ = a₀."""
    if joint is None or not joint.is_scalar or (leader is not None and not leader.is_scalar):
        model.warn(f"{who} ties no two hinges or sliders; it is left out")
    elif leader is None:
        value = joint.reference + float(poly[0])
        joint.limit = (value, value)
        model.robot.findings.append(remark(f"{who} holds joint '{joint.name}' at {value:g}, by its limits"))
    elif np.any(poly[2:]):
        told = ", ".join(f"{x:g}" for x in poly)
        raise model.refuse(
            f"{who} makes joint '{joint.name}' a polynomial ({told}) of '{leader.name}'; only linear ones are known."
        )
    elif joint.mimic is not None or _leads_to(model, leader, joint):
        model.warn(f"{who} ties joint '{joint.name}', which follows another already, or itself; it is left out")
    else:
        ratio = float(poly[1])
        joint.mimic = Mimic(leader.name, ratio, joint.reference + float(poly[0]) - ratio * leader.reference)


def _leads_to(model: Model, joint: Joint, other: Joint) -> bool:
    while joint.mimic is not None:
        joint = model.robot.joints[joint.mimic.leader]
    return joint is other


def _tie(model: Model, e: int, who: str) -> None:
    """A tendon with a constant length: of two joints, c₁(y − y₀) + c₂(x − x₀) = a₀."""
    m = model.m
    parts = _fixed_tendon(model, int(m.eq_obj1id[e]))
    poly = np.array(m.eq_data[e, :5], float)
    if int(m.eq_obj2id[e]) >= 0 or len(parts) != 2 or not all(c for _, c in parts):
        model.warn(f"{who} ties a tendon of {len(parts)} joints, or two tendons; it is left out")
        return
    (first, c), (second, d) = parts
    line = np.array([poly[0] / c, -d / c, 0.0, 0.0, 0.0])
    _follow(model, who, model.joint_of.get(first), model.joint_of.get(second), line)


def _tell_of_tendons(model: Model) -> None:
    m = model.m
    acting = [
        model.name("tendon", t)
        for t in range(m.n["tendon"])
        if m.tendon_limited[t] or m.tendon_stiffness[t] or m.tendon_damping[t] or m.tendon_frictionloss[t]
    ]
    if acting:
        model.warn(f"limits, stiffness, damping and friction of {listed(acting, 3)} are not honoured")


# --- keyframes ----------------------------------------------------------------------------------------------


def add_keyframes(model: Model) -> None:
    """Postures by name, those without a name by their number."""
    m, robot = model.m, model.robot
    for k in range(m.n["key"]):
        qpos = m.key_qpos[k]
        q: dict[str, Any] = {}
        for j, joint in model.joint_of.items():
            at = int(m.jnt_qposadr[j])
            q[joint.name] = _rotation_vector(qpos[at : at + 4]) if joint.kind == "ball" else float(qpos[at])
        base = robot.base
        if robot.is_free:
            at = int(m.jnt_qposadr[m.body_jntadr[next(b for b, name in model.link_of.items() if name == robot.root)]])
            base = placed(qpos[at : at + 3], qpos[at + 3 : at + 7])
        robot.keyframes[m.names["key"][k] or f"key {k}"] = Keyframe(q, base)


def _rotation_vector(wxyz: Array) -> Array:
    w, v = float(wxyz[0]), np.array(wxyz[1:], float)
    s = float(np.linalg.norm(v))
    if s == 0.0:
        return np.zeros(3)
    angle = 2.0 * math.atan2(s, w)
    return v / s * math.remainder(angle, 2.0 * math.pi)


# --- who touches whom ---------------------------------------------------------------------------------------


def part_bodies(model: Model) -> None:
    """Pairs of links that the file keeps apart: parents and children, excluded ones, those whose masks do not meet."""
    m, apart, of = model.m, model.robot.apart, model.link_of
    weld = [int(b) for b in m.body_weldid]  # bodies without joints are one with what carries them
    for b in range(1, m.n["body"]):
        parent = weld[int(m.body_parentid[b])]
        if b in of and parent in of and parent != 0 and weld[b] == b:
            apart.add(frozenset((of[b], of[parent])))
    for signature in m.exclude_signature:
        first, second = int(signature) >> 16, int(signature) & 0xFFFF
        if first in of and second in of:
            apart.add(frozenset((of[first], of[second])))
    masks: dict[int, list[tuple[int, int]]] = {}
    for g in range(m.n["geom"]):
        masks.setdefault(weld[int(m.geom_bodyid[g])], []).append((int(m.geom_contype[g]), int(m.geom_conaffinity[g])))
    wanted = {
        frozenset(weld[int(m.geom_bodyid[g])] for g in pair) for pair in zip(m.pair_geom1, m.pair_geom2, strict=True)
    }
    bodies = sorted(b for b in masks if b in of)
    for k, a in enumerate(bodies):
        for b in bodies[k + 1 :]:
            meet = any(one[0] & two[1] or two[0] & one[1] for one in masks[a] for two in masks[b])
            if not meet and frozenset((a, b)) not in wanted:
                apart.add(frozenset((of[a], of[b])))


# --- sites, and what is left out ----------------------------------------------------------------------------


def add_sites(model: Model) -> None:
    """Sites that have a name are links without mass, so that robots have frames there."""
    m, robot = model.m, model.robot
    for k in range(m.n["site"]):
        who, parent = m.names["site"][k], model.link_of.get(int(m.site_bodyid[k]))
        if not who or parent is None:
            continue
        name = who if who not in robot.links else f"site {who}"
        where, fixed = model.name("site", k), f"{name} fixed"
        if name in robot.links or fixed in robot.joints:
            model.warn(f"{where} has the name of another part; it is no frame")
            continue
        robot.links[name] = Link(name, where)
        robot.joints[fixed] = Joint(fixed, "fixed", parent, name, where, model.pose("site", k), np.eye(3)[2])


_REST = {
    "sensor": "sensors are not made; read bodies, joints and contacts",
    "cam": "cameras are left out",
    "light": "lights are left out",
    "tex": "textures are not shown",
    "skin": "skins are not shown",
    "plugin": "plugins are not run",
    "numeric": "custom numbers are left out",
    "text": "custom texts are left out",
    "tuple": "custom tuples are left out",
}


def tell_of_rest(model: Model) -> None:
    """Name what is not made of all else that a file may have."""
    m, findings = model.m, model.robot.findings
    for kind, what in _REST.items():
        names = [f"'{name or k}'" for k, name in enumerate(m.names[kind])]
        if names:
            findings.append(remark(f"{what}: {listed(names, 3)}"))
    moved = [f"'{model.body_names[b]}'" for b in range(m.n["body"]) if m.body_mocapid[b] >= 0]
    if moved:
        findings.append(remark(f"bodies that other programs move (mocap) stay where they are: {listed(moved, 3)}"))
