"""Every joint and every addition to a joint: attributes, types, defaults, what applying again does."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import constitution as c
from dovetail.constitution import EdgeJoint, Joint, constitution_classes
from dovetail.constitution.joint.extra import Drive, JointLimit, JointLoad
from dovetail.errors import ConstitutionError
from dovetail.geometry.create import linemesh, pointcloud

SPECIFIED = [cls for uid, cls in constitution_classes().items() if uid < 2**32]
JOINTS = [cls for cls in SPECIFIED if issubclass(cls, Joint)]
EXTRAS = [cls for cls in SPECIFIED if issubclass(cls, (Drive, JointLimit, JointLoad))]

LINKS = dict.fromkeys(("l_geo_id", "r_geo_id", "l_inst_id", "r_inst_id"), ("I32", -1))
COMMON = {
    **LINKS,
    "strength_ratio": ("F64", 100.0),
    "reaction/force": ("Vector3", 0),
    "reaction/torque": ("Vector3", 0),
    "gap": ("F64", 0.0),
    "misalignment": ("F64", 0.0),
}
ANGLE = {"angle": 0.0, "init_angle": 0.0, "angle/multi_turn": 0.0}
DISTANCE = {"distance": 0.0, "init_distance": 0.0}
BEND = {"bend": 0.0, "init_bend": 0.0, "bend/multi_turn": 0.0}
IN_PLANE = {f"{offset}distance_{axis}": 0.0 for offset in ("", "init_") for axis in "nb"}
OWN = {
    18: {**ANGLE, "velocity": 0.0},
    20: {**DISTANCE, "velocity": 0.0},
    25: {},
    26: {},
    28: {"frame/n": 0},
    10001: {**DISTANCE, "velocity": 0.0, **ANGLE, "angle/velocity": 0.0},
    10002: {**IN_PLANE, "velocity": 0.0, "distance_b/velocity": 0.0, **ANGLE, "angle/velocity": 0.0, "frame/n": 0},
    10003: {
        **ANGLE,
        "velocity": 0.0,
        **BEND,
        "bend/velocity": 0.0,
        "frame/n": 0,
    },
    10004: {**DISTANCE, "velocity": 0.0, "length": 0.0},
    10005: {**DISTANCE, "velocity": 0.0},
    10006: {**ANGLE, "velocity": 0.0, **DISTANCE, "distance/velocity": 0.0, "pitch": 0.01},
}
"""What a joint has besides: a whole 0 stands for a vector."""
EXTRA = {
    19: {
        "driving/is_constrained": 0,
        "is_passive": 0,
        "driving/strength_ratio": 100.0,
        "aim_angle": 0.0,
        "driving/effort": 0.0,
    },
    21: {
        "driving/is_constrained": 0,
        "is_passive": 0,
        "driving/strength_ratio": 100.0,
        "aim_distance": 0.0,
        "driving/effort": 0.0,
    },
    667: {"external_force": 0.0, "external_force/is_constrained": 0},
    668: {"external_torque": 0.0, "external_torque/is_constrained": 0},
    669: {"limit/lower": 0.0, "limit/upper": 0.0, "limit/strength": 1.0, "limit/violation": 0.0, "limit/effort": 0.0},
    670: {"limit/lower": 0.0, "limit/upper": 0.0, "limit/strength": 1.0, "limit/violation": 0.0, "limit/effort": 0.0},
}


def arguments(cls):
    return (-0.5, 0.5) if issubclass(cls, JointLimit) else ()


def default(collection, name):
    """The value that elements added later get."""
    collection.resize(collection.size() + 1)
    return collection.slot(name).values[-1]


def test_the_tables_list_every_joint_and_every_addition():
    assert {cls.uids[0] for cls in JOINTS} == OWN.keys()
    assert {cls.uids[0] for cls in EXTRAS} == EXTRA.keys()


@pytest.mark.parametrize("cls", JOINTS)
def test_a_joint_has_the_documented_attributes(cls, world_joint):
    sc = world_joint(cls, 3)
    elements = cls.elements(sc)
    assert elements.size() == 3
    assert sc.dim() == (1 if issubclass(cls, EdgeJoint) else 0)
    assert sc.meta.slot("constitution_uid").type_name() == "U64"
    assert sc.meta["constitution_uid"][0] == cls.uids[0]
    expected = {**COMMON, **{n: ("F64" if isinstance(v, float) else "Vector3", v) for n, v in OWN[cls.uids[0]].items()}}
    built_in = {"topo", "is_facet", "position"}
    assert set(elements) - built_in == expected.keys()
    for name, (type_name, value) in expected.items():
        assert elements.slot(name).type_name() == type_name
        assert np.all(default(elements, name) == value)


@pytest.mark.parametrize("cls", JOINTS)
def test_a_joint_says_which_bodies_it_connects(cls, body, pose):
    arm = body("arm", [pose((k, 0, 0)) for k in range(3)])
    leg = body("leg", [pose((0, k, 0)) for k in range(2)])
    points = [np.zeros((2, 3)), np.ones((2, 3))][: len(cls.world_points)]
    ids = np.array([2, 0], np.int32)
    sc = cls().create_geometry(*points, [arm, leg], ids, [leg, arm], np.array([1, 1]), np.array([5.0, np.inf]))
    elements = cls.elements(sc)
    assert elements["l_geo_id"].tolist() == [arm.id(), leg.id()]
    assert elements["r_geo_id"].tolist() == [leg.id(), arm.id()]
    assert elements["l_inst_id"].tolist() == [2, 0]
    assert elements["r_inst_id"].tolist() == [1, 1]
    assert elements["strength_ratio"].tolist() == [5.0, np.inf]


@pytest.mark.parametrize("cls", JOINTS)
def test_apply_to_takes_a_mesh_and_instance_zero(cls, pair):
    left, right = pair
    mesh = linemesh(np.eye(3)[:2], [[0, 1]]) if issubclass(cls, EdgeJoint) else pointcloud(np.zeros((1, 3)))
    cls().apply_to(mesh, [left], [right])
    assert cls.elements(mesh)["strength_ratio"].tolist() == [100.0]
    cls().apply_to(mesh, [left], [right], 7)
    assert cls.elements(mesh)["strength_ratio"].tolist() == [7.0]
    cls().apply_to(mesh, l_geo_slots=[right], r_geo_slots=[left], l_instance_ids=[0], r_instance_ids=[0])
    assert cls.elements(mesh)["l_geo_id"].tolist() == [right.id()]


@pytest.mark.parametrize("cls", JOINTS)
def test_applying_again_resets_the_state(cls, world_joint, pair):
    sc = world_joint(cls)
    elements = cls.elements(sc)
    state = [name for name in elements if elements.slot(name).type_name() in ("F64", "Vector3")]
    for name in set(state) - {"position"}:
        elements[name] = 3.0
    cls().apply_to(sc, [pair[0]], [pair[1]], 50.0)
    assert elements["strength_ratio"][0] == 50.0
    fresh = world_joint(cls)
    for name in set(state) - {"position", "strength_ratio"}:
        assert np.array_equal(elements[name], cls.elements(fresh)[name])
        assert (elements[name] == 0).all() or name in cls.attributes


@pytest.mark.parametrize("cls", JOINTS)
def test_the_local_form_stores_anchors_and_leaves_the_mesh_at_the_origin(cls, local_joint):
    sc = local_joint(cls, 2)
    elements = cls.elements(sc)
    names = {attribute for attribute in elements if "_position" in attribute}
    suffixes = ("position0", "position1") if issubclass(cls, EdgeJoint) else ("position",)
    assert names == {f"{side}_{suffix}" for side in "lr" for suffix in suffixes}
    for name in names:
        assert elements.slot(name).type_name() == "Vector3"
        assert elements[name][1].tolist() == [1 if name[0] == "l" else -1, 0, 1 if name[-1] == "1" else 0]
    assert (sc.positions.values == 0).all()


@pytest.mark.parametrize("cls", JOINTS)
def test_points_may_be_columns_and_come_by_name(cls, pair):
    left, right = pair
    points = {name: np.full((1, 3, 1), k) for k, name in enumerate(cls.world_points)}
    named = dict(reversed(points.items()))
    sc = cls().create_geometry(
        **named,
        l_geo_slots=[left],
        l_instance_ids=0,
        r_geo_slots=[right],
        r_instance_ids=0,
        strength_ratios=1,
    )
    expected = np.zeros((1, 3)) if not issubclass(cls, EdgeJoint) else [[0] * 3, [1] * 3]
    assert np.array_equal(sc.positions.values, expected)


def test_a_fixed_joint_is_halfway_between_the_translations(body, pose):
    a, b = body("a", pose((1, 2, 3))), body("b", [pose(), pose((3, 0, 5), np.diag([-1, -1, 1]))])
    sc = c.AffineBodyFixedJoint().create_geometry([a], [0], [b], [1], [100.0])
    assert sc.positions.values.tolist() == [[2, 1, 4]]


# ---- additions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", EXTRAS)
def test_an_addition_has_the_documented_attributes(cls, world_joint):
    sc = world_joint(cls.base, 2)
    before = set(sc.edges)
    cls().apply_to(sc, *arguments(cls))
    expected = EXTRA[cls.uids[0]]
    assert set(sc.edges) - before == expected.keys()
    for name, value in expected.items():
        assert sc.edges.slot(name).type_name() == ("I32" if isinstance(value, int) else "F64")
        assert default(sc.edges, name) == value
    where = "extra_constitution_uids" if issubclass(cls, JointLimit) else "constraint_uids"
    assert sc.meta.slot(where).values[0].tolist() == [cls.uids[0]]
    assert sc.meta["constitution_uid"][0] == cls.base.uids[0]


@pytest.mark.parametrize("cls", EXTRAS)
def test_an_addition_takes_a_number_for_all_edges_or_one_for_each(cls, world_joint):
    sc = world_joint(cls.base, 2)
    values = [np.array([k + 1.0, k + 2.0]) for k in range(3)]
    main = {Drive: "driving/strength_ratio", JointLimit: "limit/lower", JointLoad: getattr(cls, "load", "")}
    (name,) = [name for kind, name in main.items() if issubclass(cls, kind)]
    cls().apply_to(sc, *values[: 3 if issubclass(cls, JointLimit) else 1])
    assert sc.edges[name].tolist() == [1.0, 2.0]
    cls().apply_to(sc, *([4.0] * (3 if issubclass(cls, JointLimit) else 1)))
    assert sc.edges[name].tolist() == [4.0, 4.0]


@pytest.mark.parametrize("cls", [cls for cls in EXTRAS if not issubclass(cls, JointLimit)])
def test_applying_a_drive_or_load_again_switches_it_off(cls, world_joint):
    sc = world_joint(cls.base)
    cls().apply_to(sc)
    for name in EXTRA[cls.uids[0]]:
        sc.edges[name] = 1
    offset = cls.base.coordinate.offset
    sc.edges[offset] = 0.25
    cls().apply_to(sc)
    for name, value in EXTRA[cls.uids[0]].items():
        assert sc.edges[name][0] == value
    assert sc.edges[offset][0] == 0.25


def test_additions_coexist(world_joint):
    sc = world_joint(c.AffineBodyRevoluteJoint)
    c.AffineBodyRevoluteJointExternalForce().apply_to(sc, 2.0)
    c.AffineBodyDrivingRevoluteJoint().apply_to(sc)
    c.AffineBodyRevoluteJointLimit().apply_to(sc, 0.0, 0.0)
    assert sc.meta.slot("constraint_uids").values[0].tolist() == [19, 668]
    assert sc.meta.slot("extra_constitution_uids").values[0].tolist() == [670]


def test_a_users_hinge_gets_attributes_of_its_own_and_is_still_a_hinge(world_joint):
    class DampedHinge(c.AffineBodyRevoluteJoint, uid=2**32 + 21):
        attributes = {"damping": 0.5}  # noqa: RUF012

    sc = world_joint(DampedHinge, 2)
    assert sc.edges["damping"].tolist() == [0.5, 0.5]
    assert "angle" in sc.edges
    c.AffineBodyRevoluteJointLimit().apply_to(sc, 0.0, 1.0)
    with pytest.raises(ConstitutionError, match=r"carries DampedHinge \(4294967317\)"):
        c.AffineBodyPrismaticJointLimit().apply_to(sc, 0.0, 1.0)


@pytest.mark.parametrize("cls", [cls for cls in EXTRAS if issubclass(cls, JointLimit)] + [c.AffineBodyJointLimit])
def test_a_limit_without_numbers_has_those_of_the_specification(cls, world_joint):
    sc = world_joint(getattr(cls, "base", c.AffineBodyPrismaticJoint))
    cls().apply_to(sc)
    assert [sc.edges[f"limit/{name}"].tolist() for name in ("lower", "upper", "strength")] == [[0.0], [0.0], [1.0]]
