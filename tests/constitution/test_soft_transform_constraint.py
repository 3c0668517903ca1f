"""The soft transform, the motors built on it, and the external body force."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyExternalBodyForce,
    LinearMotor,
    RotatingMotor,
    SoftTransformConstraint,
)
from dovetail.errors import ConstitutionError

PULLS = [
    (SoftTransformConstraint, (100.0, 100.0)),
    (RotatingMotor, (0.0, 100.0)),
    (LinearMotor, (100.0, 0.0)),
]


@pytest.mark.parametrize(("cls", "strength"), PULLS)
def test_the_pull_has_the_documented_attributes(cls, strength, box):
    sc = box()
    cls().apply_to(sc)
    instances = sc.instances
    assert sc.meta.slot("constraint_uids").values[0].tolist() == [16]
    assert instances.slot("strength_ratio").type_name() == "Vector2"
    assert instances.slot("strength_ratio").values[0] == pytest.approx(strength)
    assert instances.slot("is_constrained").values.tolist() == [0]
    assert (cls().uid(), cls().name(), cls().type()) == (16, "SoftTransformConstraint", "Constraint")


@pytest.mark.parametrize(("cls", "strength"), PULLS)
def test_the_aim_is_the_pose_until_someone_writes_it(cls, strength, box, pose):
    sc = box()
    sc.instances["transform"] = pose((1, 2, 3))
    cls().apply_to(sc)
    aim = sc.instances.slot("aim_transform")
    assert aim.is_shared()
    assert np.array_equal(aim.values[0], pose((1, 2, 3)))
    sc.instances["aim_transform"][0, 0, 3] = 7.0
    assert sc.transforms.values[0, 0, 3] == 1.0
    cls().apply_to(sc)
    assert sc.instances.slot("aim_transform").values[0, 0, 3] == 7.0


@pytest.mark.parametrize(("cls", "strength"), PULLS)
def test_a_second_strength_is_not_taken_and_says_so(cls, strength, box, caplog):
    sc = box()
    SoftTransformConstraint().apply_to(sc, (1.0, 2.0))
    sc.instances["is_constrained"] = 1
    SoftTransformConstraint().apply_to(sc, [[1.0], [2.0]])
    with caplog.at_level(logging.WARNING, "dovetail"):
        assert caplog.messages == []
        cls().apply_to(sc)
    assert f"{cls.__name__}: the geometry already has strength_ratio = [1.0, 2.0], which is kept" in caplog.text
    assert sc.instances["strength_ratio"][0].tolist() == [1.0, 2.0]
    assert sc.instances["is_constrained"].tolist() == [1]


def test_constraints_and_bodies_share_a_geometry(box):
    sc = box()
    AffineBodyExternalBodyForce().apply_to(sc, np.zeros(3))
    RotatingMotor().apply_to(sc)
    AffineBodyConstitution().apply_to(sc, 1e8)
    assert sc.meta.slot("constraint_uids").values[0].tolist() == [16, 666]
    assert sc.meta.slot("constitution_uid").values[0] == 1


@pytest.mark.parametrize(
    ("strength", "message"),
    [
        ((-1.0, 1.0), r"strength_ratio = \[-1.0, 1.0\]; give two numbers ≥ 0"),
        ((np.nan, 1.0), "strength_ratio"),
        ((np.inf, 1.0), "strength_ratio"),
        ((1.0, 1.0, 1.0), ".*give 1 or 2 finite numbers"),
    ],
)
def test_a_bad_strength_is_refused_and_nothing_written(strength, message, box):
    sc = box()
    with pytest.raises(ConstitutionError, match="SoftTransformConstraint: " + message):
        SoftTransformConstraint().apply_to(sc, strength)
    assert "constraint_uids" not in sc.meta
    assert "is_constrained" not in sc.instances


def test_attributes_edited_to_nonsense_are_found_by_the_check(box):
    sc = box()
    pull = SoftTransformConstraint()
    pull.apply_to(sc)
    sc.instances.resize(2)
    pull.check(sc, "arm")
    sc.instances["aim_transform"][1, 0, 0] = np.nan
    with pytest.raises(ConstitutionError, match="instance 1 of 'arm' has an aim_transform"):
        pull.check(sc, "arm")
    sc.instances["strength_ratio"][0] = (1, -1)
    with pytest.raises(ConstitutionError, match=r"instance 0 of 'arm' has strength_ratio = \[1.0, -1.0\]"):
        pull.check(sc, "arm")


# ---- motors ------------------------------------------------------------------------------------------------


def test_motors_have_an_axis_and_a_speed(box):
    sc = box()
    RotatingMotor().apply_to(sc)
    assert sc.instances["motor_rot_axis"].tolist() == [[1.0, 0.0, 0.0]]
    assert sc.instances["motor_rot_vel"].tolist() == [2 * np.pi]
    LinearMotor().apply_to(sc, 0.0)
    assert sc.instances["motor_axis"].tolist() == [[0.0, 0.0, -1.0]]
    assert sc.instances["motor_vel"].tolist() == [1.0]
    LinearMotor().apply_to(sc, 0.0, motor_axis=np.array([[0.0], [3.0], [4.0]]), motor_vel=-2)
    assert sc.instances["motor_axis"][0] == pytest.approx([0.0, 0.6, 0.8], rel=1e-15)
    assert sc.instances["motor_vel"].tolist() == [-2.0]


@pytest.mark.parametrize("cls", [RotatingMotor, LinearMotor])
@pytest.mark.parametrize("axis", [(0, 0, 0), (np.nan, 0, 0), (1, 0)])
def test_a_motor_needs_a_direction(cls, axis, box):
    with pytest.raises(ConstitutionError, match=f"{cls.__name__}: motor_axis"):
        cls().apply_to(box(), 100.0, axis)


@pytest.mark.parametrize("cls", [RotatingMotor, LinearMotor])
def test_a_motor_needs_a_finite_speed(cls, box):
    with pytest.raises(ConstitutionError, match=r"_vel = \[nan\] \[(rad/s|m/s)\]"):
        cls().apply_to(box(), 100.0, (1, 0, 0), np.nan)


def test_a_rotating_motor_aims_ahead_about_the_world_axis(box, pose):
    sc = box()
    RotatingMotor().apply_to(sc, motor_axis=(0, 0, 2), motor_rot_vel=np.pi)
    sc.instances.resize(2)
    sc.instances["transform"] = [pose((1, 0, 5)), pose((3, 0, 0))]
    sc.instances["is_constrained"] = [1, 0]
    before = sc.instances["aim_transform"][1].copy()
    RotatingMotor.animate(sc, 0.5)
    # a quarter turn about z also carries the position around the world's origin; 1e-15: cos(π/2) is not 0
    quarter = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    assert sc.instances["aim_transform"][0] == pytest.approx(pose((0, 1, 5), quarter), abs=1e-15)
    assert np.array_equal(sc.instances["aim_transform"][1], before)


def test_a_linear_motor_aims_ahead_along_its_axis(box, pose):
    sc = box()
    LinearMotor().apply_to(sc, motor_axis=(0, 5, 0), motor_vel=3.0)
    sc.instances["transform"] = pose((1, 1, 1), np.diag([1, -1, -1]))
    sc.instances["is_constrained"] = 1
    LinearMotor.animate(sc, 0.1)
    assert sc.instances["aim_transform"][0] == pytest.approx(pose((1, 1.3, 1), np.diag([1, -1, -1])), rel=1e-15)


# ---- external body force -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3,), (3, 1), (12,), (12, 1)])
def test_a_force_of_three_or_twelve_components_is_stored_as_twelve(shape, box):
    sc = box()
    force = np.arange(1.0, 1 + shape[0]).reshape(shape)
    AffineBodyExternalBodyForce().apply_to(sc, force)
    stored = sc.instances.slot("external_force")
    assert stored.type_name() == "Vector12"
    assert stored.values[0].tolist() == [*force.ravel(), *[0.0] * (12 - shape[0])]
    assert sc.instances.slot("external_force/is_constrained").values.tolist() == [1]
    assert "is_constrained" not in sc.instances


def test_a_force_can_be_created_switched_off_and_applied_again(box):
    sc = box()
    force = AffineBodyExternalBodyForce()
    force.apply_to(sc, [1, 2, 3], enable=False)
    assert sc.instances["external_force/is_constrained"].tolist() == [0]
    force.apply_to(sc, [4, 5, 6])
    sc.instances.resize(2)
    assert sc.instances["external_force/is_constrained"].tolist() == [1, 1]
    assert sc.instances["external_force"][1, :3].tolist() == [4, 5, 6]
    assert (force.name(), force.type()) == ("AffineBodyExternalForce", "Constraint")


@pytest.mark.parametrize("force", [np.zeros(4), [np.nan, 0, 0], [np.inf] * 12, "up"])
def test_a_bad_force_is_refused(force, box):
    sc = box()
    with pytest.raises(ConstitutionError, match=r"AffineBodyExternalBodyForce.*: force = "):
        AffineBodyExternalBodyForce().apply_to(sc, force)
    assert "external_force" not in sc.instances


def test_a_force_edited_to_nonsense_is_found_by_the_check(box):
    sc = box()
    force = AffineBodyExternalBodyForce()
    force.apply_to(sc, np.zeros(3))
    force.check(sc)
    sc.instances["external_force"][0, 4] = np.nan
    with pytest.raises(ConstitutionError, match="instance 0 of 'sail' has external_force"):
        force.check(sc, "sail")
