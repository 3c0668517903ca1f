"""Joints and additions that make no sense are refused where they are created, before anything is written."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dovetail import constitution as c
from dovetail.constitution import EdgeJoint, Joint, constitution_classes
from dovetail.constitution.joint.extra import Drive, JointLimit, JointLoad
from dovetail.errors import ConstitutionError
from dovetail.geometry import ImplicitGeometrySlot, SimplicialComplexSlot
from dovetail.geometry.create import ground, linemesh, pointcloud, trimesh

SPECIFIED = [cls for uid, cls in constitution_classes().items() if uid < 2**32]
JOINTS = [cls for cls in SPECIFIED if issubclass(cls, Joint)]
EDGE_JOINTS = [cls for cls in JOINTS if issubclass(cls, EdgeJoint)]
EXTRAS = [cls for cls in SPECIFIED if issubclass(cls, (Drive, JointLimit, JointLoad))]
LIMITS = [cls for cls in EXTRAS if issubclass(cls, JointLimit)]


def create(cls, left, right, l_ids=(0,), r_ids=(0,), strengths=(100.0,)):
    points = [np.zeros((1, 3)), np.ones((1, 3))][: len(cls.world_points)]
    return cls().create_geometry(*points, left, l_ids, right, r_ids, strengths)


def refused(cls, message):
    return pytest.raises(ConstitutionError, match=f"^{cls.__name__}: {message}")


@pytest.mark.parametrize("cls", JOINTS)
def test_a_joint_to_itself(cls, body, pose):
    arm = body("arm", [pose(), pose((1, 0, 0))])
    with refused(cls, r"joint 0 connects instance 1 of 'arm' to itself; give two different bodies\."):
        create(cls, [arm], [arm], [1], [1])
    create(cls, [arm], [arm], [0], [1])


@pytest.mark.parametrize("cls", JOINTS)
def test_two_fixed_bodies_are_told_of_and_taken(cls, body, pose, caplog):
    wall = body("wall", [pose(), pose()], fixed=[0, 1])
    floor = body("floor", [pose(), pose()], fixed=[0])
    create(cls, [wall], [floor], [1], [1])
    assert not caplog.records
    create(cls, [wall], [floor], [1], [0])
    (record,) = caplog.records
    told = f"{cls.__name__}: joint 0 connects instance 1 of 'wall' and instance 0 of 'floor', which are both fixed"
    assert record.levelname == "WARNING" and record.getMessage().startswith(told)


@pytest.mark.parametrize("cls", JOINTS)
@pytest.mark.parametrize(("instance", "has"), [(2, 2), (-1, 2), (7, 1)])
def test_an_instance_out_of_range(cls, instance, has, body, pose):
    arm, leg = body("arm", [pose()] * has), body("leg")
    counted = "2 instances (0..1)" if has == 2 else "1 instance (0)"
    message = re.escape(f"joint 0 connects instance {instance} of 'arm', which has {counted}.")
    with refused(cls, message):
        create(cls, [arm], [leg], [instance], [0])
    with refused(cls, message):
        create(cls, [leg], [arm], [0], [instance])


@pytest.mark.parametrize("cls", JOINTS)
def test_slots_that_are_no_list_of_slots(cls, pair):
    left, right = pair
    with refused(cls, r"l_geo_slots is a tuple; give a list of geometry slots"):
        create(cls, (left,), [right])
    with refused(cls, r"l_geo_slots is a SimplicialComplexSlot; give a list"):
        create(cls, left, right)
    with refused(cls, r"r_geo_slots\[0\] is a tuple; give the slot that object\.geometries\(\)\.create"):
        create(cls, [left], [(right, right)])
    with refused(cls, r"r_geo_slots\[0\] is a ImplicitGeometrySlot"):
        create(cls, [left], [ImplicitGeometrySlot(9, ground(), "ground")])


@pytest.mark.parametrize("cls", JOINTS)
def test_a_geometry_that_is_no_body(cls, pair, box):
    statue = SimplicialComplexSlot(9, box(), "statue")
    with refused(cls, r"joint 0 connects 'statue', which is not an affine body; apply AffineBodyConstitution"):
        create(cls, [pair[0]], [statue])


@pytest.mark.parametrize("cls", JOINTS)
def test_a_body_that_is_nowhere(cls, pair):
    pair[1].geometry.instances["transform"][0, 1, 3] = np.nan
    with refused(cls, r"joint 0 connects instance 0 of 'right', whose transform is not finite"):
        create(cls, [pair[0]], [pair[1]])


@pytest.mark.parametrize("cls", JOINTS)
def test_lists_of_different_sizes(cls, pair):
    left, right = pair
    with refused(cls, r"r_geo_slots has 2 slots for 1 joint; give one per joint"):
        create(cls, [left], [right, right])
    with refused(cls, r"l_instance_ids has 2 values for 1 joint; give one, or one per joint"):
        create(cls, [left], [right], [0, 0])
    with refused(cls, r"strength_ratio has 3 values for 1 joint"):
        create(cls, [left], [right], strengths=[1, 2, 3])
    with refused(cls, r"l_geo_slots has 0 slots for 0 joints"):
        create(cls, [], [], [], [], [])


@pytest.mark.parametrize("cls", JOINTS)
def test_points_of_the_wrong_shape(cls, pair):
    left, right = pair
    good = [np.zeros((1, 3)), np.ones((1, 3)), np.zeros((1, 3)), np.ones((1, 3))][: len(cls.local_points)]
    rest = ([left], [0], [right], [0], [100.0])
    names = list(cls.local_points)
    for k, name in enumerate(names):
        for bad in (np.zeros(3), np.zeros((2, 3)), np.zeros((1, 2))):
            with refused(cls, rf"{name} has shape .* for 1 joint; give \(1, 3\)"):
                cls().create_geometry(*good[:k], bad, *good[k + 1 :], *rest)
        with refused(cls, rf"joint 0 has {name} = \[nan, nan, nan\] \[m\]"):
            cls().create_geometry(*good[:k], np.full((1, 3), np.nan), *good[k + 1 :], *rest)


@pytest.mark.parametrize("cls", JOINTS)
@pytest.mark.parametrize("strength", [0.0, -1.0, np.nan, -np.inf])
def test_a_strength_that_holds_nothing(cls, strength, pair):
    with refused(cls, rf"joint 0 has strength_ratio = {strength:g}; give a number > 0, or inf for an exact joint"):
        create(cls, [pair[0]], [pair[1]], strengths=[strength])


@pytest.mark.parametrize("cls", JOINTS)
def test_instance_ids_that_are_no_numbers(cls, pair):
    with refused(cls, r"l_instance_ids are float64 \[0\.5\]; give whole numbers"):
        create(cls, [pair[0]], [pair[1]], [0.5])
    with refused(cls, r"strength_ratio = 'stiff' is not a number"):
        create(cls, [pair[0]], [pair[1]], strengths="stiff")


@pytest.mark.parametrize("cls", EDGE_JOINTS)
def test_an_axis_without_length(cls, pair):
    left, right = pair
    points, rest = np.ones((1, 3)), ([left], [0], [right], [0], [100.0])
    with refused(cls, r"joint 0 has an axis of length 0 \[m\], from \(1, 1, 1\) to \(1, 1, 1\)"):
        cls().create_geometry(points, points, *rest)
    with refused(cls, r"joint 0 has an axis l_position0 → l_position1 of length 0"):
        cls().create_geometry(points, points, points, points * 2, *rest)
    with refused(cls, r"joint 0 has an axis r_position0 → r_position1 of length 0"):
        cls().create_geometry(points, points * 2, points, points, *rest)


@pytest.mark.parametrize("cls", JOINTS)
def test_a_mesh_of_the_wrong_kind_is_left_alone(cls, pair):
    left, right = pair
    corners = np.eye(3)
    triangle, points, line = trimesh(corners, [[0, 1, 2]]), pointcloud(corners), linemesh(corners, [[0, 1]])
    wrong = points if issubclass(cls, EdgeJoint) else line
    factory = "linemesh with one edge" if issubclass(cls, EdgeJoint) else "pointcloud with one vertex"
    for sc in (wrong, triangle):
        before = repr(sc)
        count = max(1, cls.elements(sc).size())
        with refused(cls, rf"the geometry has 3 vertices, .*; give a {factory} per joint"):
            cls().apply_to(sc, [left] * count, [right] * count)
        assert repr(sc) == before


@pytest.mark.parametrize("cls", JOINTS)
def test_a_call_that_fits_no_form(cls, pair):
    with pytest.raises(TypeError, match=rf"{cls.__name__}\.create_geometry takes .*l_geo_slots.* or .*l_position"):
        cls().create_geometry([pair[0]], [pair[1]])
    with pytest.raises(TypeError, match=r"apply_to takes \(l_geo_slots, r_geo_slots, strength_ratio\) or"):
        cls().apply_to(pointcloud(np.zeros((1, 3))), [pair[0]])


@pytest.mark.parametrize("cls", JOINTS)
def test_a_strength_edited_to_nonsense_is_found_by_the_check(cls, world_joint):
    sc = world_joint(cls, 2)
    joint = cls()
    joint.check(sc, "elbow")
    cls.elements(sc)["strength_ratio"][1] = -3
    with refused(cls, r"joint 1 of 'elbow' has strength_ratio = -3"):
        joint.check(sc, "elbow")


@pytest.mark.parametrize("cls", [cls for cls in EDGE_JOINTS if cls.coordinate is not None])
def test_an_offset_edited_to_nonsense_is_found_by_the_check(cls, world_joint):
    sc = world_joint(cls)
    sc.edges[cls.coordinate.offset] = np.nan
    with refused(cls, rf"joint 0 of 'elbow' has {cls.coordinate.offset} = nan \[{cls.coordinate.unit}\]"):
        cls().check(sc, "elbow")


# ---- additions ---------------------------------------------------------------------------------------------


def apply(cls, sc):
    return cls().apply_to(sc, *((-1.0, 1.0) if issubclass(cls, JointLimit) else ()))


@pytest.mark.parametrize("cls", EXTRAS)
@pytest.mark.parametrize("base", JOINTS)
def test_an_addition_to_the_wrong_joint(cls, base, world_joint):
    sc = world_joint(base)
    if base is cls.base:
        apply(cls, sc)
        return
    before = repr(sc)
    carried, needed = f"{base.__name__} \\({base.uids[0]}\\)", f"{cls.base.__name__} \\({cls.base.uids[0]}\\)"
    with refused(cls, f"the geometry carries {carried}; apply {needed} to it first"):
        apply(cls, sc)
    assert repr(sc) == before


@pytest.mark.parametrize("cls", EXTRAS)
def test_an_addition_to_no_joint(cls, box):
    for sc in (linemesh(np.eye(3), [[0, 1]]), box()):
        with refused(cls, r"the geometry carries no joint; apply"):
            apply(cls, sc)


@pytest.mark.parametrize("cls", LIMITS)
def test_a_lower_bound_above_the_upper(cls, world_joint):
    sc = world_joint(cls.base, 2)
    unit = cls.base.coordinate.unit
    with refused(cls, rf"edge 1 has lower = 1\.2 > upper = 0\.4 \[{unit}\]; swap them\."):
        cls().apply_to(sc, [0.0, 1.2], [0.0, 0.4])
    assert "limit/lower" not in sc.edges
    cls().apply_to(sc, [0.0, 0.4], [0.0, 1.2], [1.0, 2.0])
    cls().check(sc, "knee")
    sc.edges["limit/upper"][1] = 0.1
    with refused(cls, rf"edge 1 of 'knee' has lower = 0\.4 > upper = 0\.1 \[{unit}\]"):
        cls().check(sc, "knee")


@pytest.mark.parametrize("cls", LIMITS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_bounds_that_are_not_finite(cls, bad, world_joint):
    sc = world_joint(cls.base)
    with refused(cls, rf"edge 0 has lower = {bad:g} \[.*\]; give a finite number"):
        cls().apply_to(sc, bad, 1.0)
    with refused(cls, rf"edge 0 has upper = {bad:g} \[.*\]; give a finite number"):
        cls().apply_to(sc, 0.0, bad)


@pytest.mark.parametrize("cls", LIMITS)
@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, -np.inf])
def test_a_limit_without_strength(cls, bad, world_joint):
    with refused(cls, rf"edge 0 has strength = {bad:g}; give a number > 0, or inf for bounds that are never crossed"):
        cls().apply_to(world_joint(cls.base), 0.0, 1.0, bad)


@pytest.mark.parametrize("cls", [cls for cls in EXTRAS if issubclass(cls, Drive)])
def test_a_drive_without_strength_or_aim(cls, world_joint):
    for bad in (0.0, -1.0, np.nan, np.inf):
        with refused(cls, rf"edge 0 has driving/strength_ratio = {bad:g}; give a finite number > 0"):
            cls().apply_to(world_joint(cls.base), bad)
    sc = world_joint(cls.base)
    cls().apply_to(sc)
    cls().check(sc)
    sc.edges[cls.aim] = np.nan
    with refused(cls, rf"edge 0 of 'servo' has {cls.aim} = nan"):
        cls().check(sc, "servo")


@pytest.mark.parametrize("cls", [cls for cls in EXTRAS if issubclass(cls, JointLoad)])
def test_a_load_that_is_not_finite(cls, world_joint):
    sc = world_joint(cls.base)
    with refused(cls, rf"edge 0 has {cls.load} = inf \[{cls.unit}\]"):
        cls().apply_to(sc, np.inf)
    cls().apply_to(sc, 1.0)
    sc.edges[cls.load] = np.nan
    with refused(cls, rf"edge 0 of 'servo' has {cls.load} = nan \[{cls.unit}\]"):
        cls().check(sc, "servo")


@pytest.mark.parametrize("cls", EXTRAS)
def test_an_addition_with_the_wrong_number_of_values(cls, world_joint):
    sc = world_joint(cls.base, 3)
    with refused(cls, r".* has 2 values for 3 edges; give one, or one per edge"):
        cls().apply_to(sc, *[[1.0, 2.0]] * (3 if issubclass(cls, JointLimit) else 1))


# ---- external articulation ---------------------------------------------------------------------------------


@pytest.fixture
def joint_slots(world_joint):
    return [
        SimplicialComplexSlot(10 + k, world_joint(cls, 2), name)
        for k, (cls, name) in enumerate([(c.AffineBodyRevoluteJoint, "hip"), (c.AffineBodyPrismaticJoint, "ram")])
    ]


def test_an_articulation_refers_to_edges_of_joints(joint_slots):
    hip, ram = joint_slots
    geometry = c.ExternalArticulationConstraint().create_geometry([hip, ram, hip], [1, 0, 0])
    assert geometry.meta["constitution_uid"][0] == 23
    assert geometry.meta.slot("constraint_uids").values[0].tolist() == [24]
    joint, pairs = geometry["joint"], geometry["joint_joint"]
    assert joint["geo_id"].tolist() == [10, 11, 10]
    assert joint["index"].tolist() == [1, 0, 0]
    assert joint["delta_theta_tilde"].tolist() == joint["delta_theta"].tolist() == [0.0, 0.0, 0.0]
    assert pairs["mass"].tolist() == [0.0] * 9
    types = [joint.slot(n).type_name() for n in ("geo_id", "index", "delta_theta_tilde", "delta_theta")]
    assert types == ["I32", "I32", "F64", "F64"]
    assert c.ExternalArticulationConstraint().create_geometry([hip])["joint"]["index"].tolist() == [0]


def test_an_articulation_of_what_is_no_joint(joint_slots, pair, world_joint):
    articulation = c.ExternalArticulationConstraint()
    ball = SimplicialComplexSlot(12, world_joint(c.AffineBodySphericalJoint), "ball")
    with refused(type(articulation), r"joint 1 is .*'left'.*holds no joint with a coordinate"):
        articulation.create_geometry([joint_slots[0], pair[0]])
    with refused(type(articulation), r"joint 0 is .*'ball'.*AffineBodyRevoluteJoint \(18\)"):
        articulation.create_geometry([ball])
    with refused(type(articulation), r"joint 0 is edge 2 of 'hip', which has 2 \(0\.\.1\)"):
        articulation.create_geometry(joint_slots, [2, 0])
    with refused(type(articulation), r"indices has 3 values for 2 joints"):
        articulation.create_geometry(joint_slots, [0, 0, 0])
    for nothing in ([], tuple(joint_slots)):
        with refused(type(articulation), r"joint_slots must be a list of at least one slot"):
            articulation.create_geometry(nothing)


def test_an_articulation_edited_to_nonsense_is_found_by_the_check(joint_slots):
    articulation = c.ExternalArticulationConstraint()
    geometry = articulation.create_geometry(joint_slots)
    articulation.check(geometry)
    geometry["joint_joint"]["mass"] = [1.0, 0.5, 0.5, 1.0]
    articulation.check(geometry)
    geometry["joint_joint"]["mass"][1] = 0.4
    with refused(type(articulation), r"of 'robot' the mass matrix in joint_joint is not finite and symmetric"):
        articulation.check(geometry, "robot")
    geometry["joint"]["delta_theta_tilde"][1] = np.nan
    with refused(type(articulation), r"joint 1 of 'robot' has delta_theta_tilde = nan"):
        articulation.check(geometry, "robot")
