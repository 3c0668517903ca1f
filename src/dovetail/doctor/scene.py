"""The examination of a scene: does it start, and what about it will surprise."""

from __future__ import annotations

import logging

import numpy as np

from dovetail.checked import checked
from dovetail.constitution import Joint
from dovetail.constitution.base import class_of, uid_of
from dovetail.core import Engine, Scene, World
from dovetail.doctor.finding import Finding, problem, remark, warning
from dovetail.doctor.mesh import walls
from dovetail.errors import DovetailError, SceneError
from dovetail.geometry import AttributeCollection, SimplicialComplexSlot, extract_surface
from dovetail.io.describe import body_slots, joint_slots
from dovetail.messages import counted

__all__ = ["examine_scene"]

_HEAVY = 1e4  # ratio of masses across a joint
_TOLD = 5


@checked(SceneError)
def examine_scene(scene: Scene) -> list[Finding]:
    """What is wrong with a scene, problems first. The scene is given to a world and cannot be changed afterwards."""
    world = World(Engine("cpu"))
    log = logging.getLogger("dovetail")
    before, log.disabled = log.disabled, True  # what it would say is told below
    try:
        world.init(scene)
    except DovetailError as error:
        return [problem(str(error), "")]
    finally:
        log.disabled = before
    if not world.is_valid():
        messages = world.sanity_checker().errors().values()
        return [_split(line) for message in messages for line in message.message().splitlines()]
    return sorted(
        [*_start(world), *_joints(world), *_sizes(scene), remark(_count(scene))],
        key=lambda finding: ("problem", "warning", "remark").index(finding.kind),
    )


def _split(line: str) -> Finding:
    text, _, advice = line.partition("; ")
    return problem(text, advice)


def _count(scene: Scene) -> str:
    bodies = sum(slot.geometry.instances.size() for slot in body_slots(scene))
    joints = sum(_elements(slot).size() for slot in joint_slots(scene))
    config = scene.config
    contact = f"d_hat {1e3 * config['contact/d_hat']:g} mm" if config["contact/enable"] else "no contact"
    return f"{counted(bodies, 'body', 'bodies')}, {counted(joints, 'joint')}, dt {config['dt']:g} s, {contact}"


def _start(world: World) -> list[Finding]:
    """Contacts of the first frame: bodies nearer than d_hat push each other before anything moves."""
    contacts = world.contacts()
    if not len(contacts):
        return []
    d_hat = float(world.scene.config["contact/d_hat"])
    near = {contacts.names(k): float(contacts.gap[k]) for k in np.argsort(-contacts.gap).tolist()}
    close = sorted((gap, names) for names, gap in near.items() if gap < 0.5 * d_hat)
    if not close:
        pairs = counted(len(near), "pair of bodies begins", "pairs of bodies begin")
        return [remark(f"{pairs} within d_hat of each other, as bodies at rest do")]
    gap, (one, other) = close[0]
    return [
        warning(
            f"{counted(len(close), 'pair of bodies begins', 'pairs of bodies begin')} nearer than d_hat/2; "
            f"{1e3 * gap:.3g} mm apart are {one} and {other}",
            "they are pushed apart at once; begin with gaps of about 0.8 d_hat where bodies rest on each other.",
        )
    ]


def _joints(world: World) -> list[Finding]:
    found: list[Finding] = []
    scene = world.scene
    mass = {slot.id(): float(slot.geometry.meta.slot("mass").values[0]) for slot in body_slots(scene)}
    fixed = {slot.id(): slot.geometry.instances.slot("is_fixed").values for slot in body_slots(scene)}
    world.retrieve()
    for slot in joint_slots(scene):
        elements = _elements(slot)
        gap = float(elements.slot("gap").values.max(initial=0.0))
        if gap > 1e-6:
            text = f"joint '{slot.object_name}' begins with its anchors {1e3 * gap:.3g} mm apart"
            found.append(warning(text, "it closes with a jerk in the first steps; give anchors that coincide."))
        sides = [(elements.slot(f"{s}_geo_id").values, elements.slot(f"{s}_inst_id").values) for s in "lr"]
        for k in range(elements.size()):
            (gl, il), (gr, ir) = ((int(g[k]), int(i[k])) for g, i in sides)
            ratio = max(mass[gl], mass[gr]) / min(mass[gl], mass[gr])
            if ratio > _HEAVY and not (fixed[gl][il] or fixed[gr][ir]):
                found.append(
                    warning(
                        f"joint '{slot.object_name}' connects {mass[gl]:.3g} kg with {mass[gr]:.3g} kg",
                        "it is as stiff as the heavier body needs; a lower strength_ratio is easier on the solver.",
                    )
                )
        violation = elements.find("limit/violation")
        if violation is not None and violation.values.max(initial=0.0) > 0:
            text = f"joint '{slot.object_name}' begins {violation.values.max():.3g} outside its limits"
            found.append(warning(text, "it is thrown back in the first step; widen the limits or move a body."))
    return found[:_TOLD] + ([remark(f"… and {len(found) - _TOLD} more about joints")] if len(found) > _TOLD else [])


def _sizes(scene: Scene) -> list[Finding]:
    if not scene.config["contact/enable"]:
        return []
    found: list[Finding] = []
    d_hat = float(scene.config["contact/d_hat"])
    seen = set()
    for slot in body_slots(scene):
        geometry = slot.geometry
        if geometry.dim() < 2 or id(geometry.positions.buffer) in seen:
            continue
        seen.add(id(geometry.positions.buffer))
        surface = extract_surface(geometry)
        points = np.asarray(surface.positions.values, float)
        triangles = np.asarray(surface.triangles.topo.values, np.int64)
        if "is_codim" in geometry.meta or not len(triangles):
            continue
        for finding in walls(points, triangles, d_hat):
            if finding.kind == "warning":
                found.append(warning(f"'{slot.object_name}': {finding.text}", finding.advice))
    return found[:_TOLD] + ([remark(f"… and {len(found) - _TOLD} more about walls")] if len(found) > _TOLD else [])


def _elements(slot: SimplicialComplexSlot) -> AttributeCollection:
    kind = class_of(uid_of(slot.geometry))
    assert issubclass(kind, Joint)
    return kind.elements(slot.geometry)
