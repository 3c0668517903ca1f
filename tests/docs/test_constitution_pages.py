"""Every constitution has a page with the same sections, and the page names every attribute that it creates."""

from __future__ import annotations

import re

import numpy as np
import pytest
from docs.pages import DOCS

from dovetail import Scene, builtin, geometry
from dovetail import constitution as c
from dovetail.builtin import ConstitutionUIDCollection

FOLDER = DOCS / "constitutions"
SECTIONS = ["Equation", "Attributes", "Example", "What does not hold"]
SHARED = {"index.md", "bodies.md", "joints.md"}
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name not in SHARED)
BUILT_IN = {"position", "topo", "transform", "is_facet"}
"""Attributes that a mesh has before anything is applied to it."""


def cube():
    corners = np.indices((2, 2, 2)).reshape(3, 8).T - 0.5
    faces = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    return geometry.trimesh(corners, faces)


def body(kind=c.AffineBodyConstitution, mesh=cube, config=None):
    sc = mesh()
    kind(config).apply_to(sc, 1e8)
    return sc


def pair():
    """Slots of two bodies."""
    scene = Scene()
    sc = body()
    sc.instances.resize(2)
    sc.transforms.edit()[1, 0, 3] = 2.0
    return scene, scene.objects.create("bodies").geometries.create(sc)[0]


def joint(kind, local=False):
    _, slot = pair()
    ends = [slot], [0], [slot], [1], [100.0]
    if issubclass(kind, c.EdgeJoint):
        along = [[1.0, 0.0, 0.0]], [[1.0, 0.0, 1.0]]
        mine, other = ([[1.0, 0.0, 0.0]], [[1.0, 0.0, 1.0]]), ([[-1.0, 0.0, 0.0]], [[-1.0, 0.0, 1.0]])
        return kind().create_geometry(*mine, *other, *ends) if local else kind().create_geometry(*along, *ends)
    anchors = ([[1.0, 0.0, 0.0]], [[-1.0, 0.0, 0.0]]) if local else ()
    if kind is c.AffineBodySphericalJoint and not local:
        anchors = ([[1.0, 0.0, 0.0]],)
    return kind().create_geometry(*anchors, *ends)


def extra(kind, *arguments):
    sc = joint(kind.base)
    kind().apply_to(sc, *arguments)
    return sc


def driven_ball():
    sc = joint(c.AffineBodySphericalJoint)
    c.AffineBodyDrivingSphericalJoint().apply_to(sc)
    return sc


def slow_ball():
    sc = joint(c.AffineBodySphericalJoint)
    c.AffineBodySphericalJointResistance().apply_to(sc, 1.0, 1.0, 1.0)
    return sc


def on_hinge(kind, *arguments):
    sc = joint(c.AffineBodyRevoluteJoint)
    kind().apply_to(sc, *arguments)
    return sc


def on_body(kind, *arguments):
    sc = body()
    kind().apply_to(sc, *arguments)
    return sc


def plate():
    return geometry.trimesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])


def wire():
    return geometry.linemesh([[0.0, 0, 0], [1, 0, 0]], [[0, 1]])


def coupling():
    scene, slot = pair()
    sc = c.AffineBodyRevoluteJoint().create_geometry([[1.0, 0, 0]], [[1.0, 0, 1]], [slot], [0], [slot], [1], [100.0])
    hinge, _ = scene.objects.create("hinge").geometries.create(sc)
    return c.AffineBodyJointCoupling().create_geometry([hinge], [hinge], 2.0)


def articulation():
    scene, slot = pair()
    sc = c.AffineBodyRevoluteJoint().create_geometry([[1.0, 0, 0]], [[1.0, 0, 1]], [slot], [0], [slot], [1], [100.0])
    hinge, _ = scene.objects.create("hinge").geometries.create(sc)
    return c.ExternalArticulationConstraint().create_geometry([hinge])


# page → what makes geometries that carry the constitution, and the shared page that may name attributes
MADE_BY = {
    "ortho_potential.md": ([body], "bodies.md"),
    "arap.md": ([lambda: body(config={"name": "ARAP"})], "bodies.md"),
    "shell.md": ([lambda: body(c.AffineBodyShell, plate)], "bodies.md"),
    "rod.md": ([lambda: body(c.AffineBodyRod, wire)], "bodies.md"),
    "soft_transform.md": ([lambda: on_body(c.SoftTransformConstraint)], "bodies.md"),
    "motors.md": ([lambda: on_body(c.RotatingMotor), lambda: on_body(c.LinearMotor)], "bodies.md"),
    "external_body_force.md": ([lambda: on_body(c.AffineBodyExternalBodyForce, [0, 0, 1])], "bodies.md"),
    "driving_revolute_joint.md": ([lambda: extra(c.AffineBodyDrivingRevoluteJoint)], "revolute_joint.md"),
    "driving_prismatic_joint.md": ([lambda: extra(c.AffineBodyDrivingPrismaticJoint)], "prismatic_joint.md"),
    "driving_spherical_joint.md": ([driven_ball], "spherical_joint.md"),
    "spherical_joint_resistance.md": ([slow_ball], "spherical_joint.md"),
    "revolute_joint_limit.md": ([lambda: extra(c.AffineBodyRevoluteJointLimit, 0, 1)], "revolute_joint.md"),
    "prismatic_joint_limit.md": ([lambda: extra(c.AffineBodyPrismaticJointLimit, 0, 1)], "prismatic_joint.md"),
    "revolute_joint_torque.md": ([lambda: extra(c.AffineBodyRevoluteJointExternalForce)], "revolute_joint.md"),
    "prismatic_joint_force.md": ([lambda: extra(c.AffineBodyPrismaticJointExternalForce)], "prismatic_joint.md"),
    "joint_drive.md": ([lambda: on_hinge(c.AffineBodyJointDrive)], "revolute_joint.md"),
    "joint_damper.md": ([lambda: on_hinge(c.AffineBodyJointDamper, 1.0)], "revolute_joint.md"),
    "joint_armature.md": ([lambda: on_hinge(c.AffineBodyJointArmature, 1.0)], "revolute_joint.md"),
    "joint_spring.md": ([lambda: on_hinge(c.AffineBodyJointSpring, 1.0)], "revolute_joint.md"),
    "joint_coupling.md": ([coupling], None),
    "joint_limit.md": ([lambda: on_hinge(c.AffineBodyJointLimit, 0, 1)], "revolute_joint.md"),
    "joint_friction.md": ([lambda: on_hinge(c.AffineBodyJointFriction, 1.0)], "revolute_joint.md"),
    "external_articulation.md": ([articulation], None),
    **{
        f"{name}_joint.md": ([lambda k=kind: joint(k), lambda k=kind: joint(k, local=True)], None)
        for name, kind in {
            "revolute": c.AffineBodyRevoluteJoint,
            "prismatic": c.AffineBodyPrismaticJoint,
            "spherical": c.AffineBodySphericalJoint,
            "fixed": c.AffineBodyFixedJoint,
            "cylindrical": c.AffineBodyCylindricalJoint,
            "planar": c.AffineBodyPlanarJoint,
            "universal": c.AffineBodyUniversalJoint,
            "distance": c.AffineBodyDistanceJoint,
            "point_on_line": c.AffineBodyPointOnLineJoint,
            "screw": c.AffineBodyScrewJoint,
            "d6": c.AffineBodyD6Joint.with_free("x", "y", "z", "rx", "ry", "rz"),
        }.items()
    },
}
pages = pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])


def named(*files):
    """Everything in backticks on some pages."""
    return {word for file in files for word in re.findall(r"`([^`\n]+)`", file.read_text(encoding="utf-8"))}


@pages
def test_a_page_has_its_sections_in_order_and_a_picture(page):
    text = page.read_text(encoding="utf-8")
    headings = [heading for heading in re.findall(r"^## (.*)$", text, re.MULTILINE) if heading != "Signs"]
    assert headings == SECTIONS
    assert "](../images/" in text and "```python" in text


@pages
def test_a_page_names_every_attribute_that_its_constitution_creates(page):
    makers, shared = MADE_BY[page.name]
    words = named(page, FOLDER / "joints.md", *([FOLDER / shared] if shared else []))
    for make in makers:
        for _, collection in make().collections():
            missing = set(collection) - words - BUILT_IN
            assert not missing, f"{page.name} does not name {sorted(missing)}"


@pages
def test_attributes_that_only_this_constitution_creates_are_on_its_own_page(page):
    makers, shared = MADE_BY[page.name]
    elsewhere = named(FOLDER / "joints.md", FOLDER / "bodies.md", *([FOLDER / shared] if shared else []))
    created = {name for make in makers for _, collection in make().collections() for name in collection}
    assert created - elsewhere - BUILT_IN <= named(page)


def test_every_constitution_of_the_specification_has_a_row_in_the_index():
    rows = re.findall(
        r"^\| ([\d, ]+) \|.*\((\w+\.md)\)", (FOLDER / "index.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    listed = {int(uid) for uids, _ in rows for uid in uids.split(", ")}
    specified = {entry.uid for entry in ConstitutionUIDCollection.instance() if entry.uid < builtin.first_user_uid}
    assert listed == specified
    assert {page for _, page in rows} == {page.name for page in PAGES} == set(MADE_BY)
