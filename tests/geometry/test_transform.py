from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail.errors import GeometryError
from dovetail.geometry import AngleAxis, Quaternion, Transform
from dovetail.values import Vector3

ROUND_OFF = 1e-14  # a handful of products of numbers of order one


def quarter_turn_about_z():
    return AngleAxis(math.pi / 2, Vector3.UnitZ())


def test_local_operations_multiply_from_the_right():
    moved = Transform.Identity().translate([1, 0, 0]).rotate(quarter_turn_about_z()).scale(2.0)
    np.testing.assert_allclose(moved * Vector3.UnitX(), [[1], [2], [0]], atol=ROUND_OFF)


def test_pre_operations_multiply_from_the_left():
    moved = Transform.Identity().prescale(2.0).prerotate(quarter_turn_about_z()).pretranslate([1, 0, 0])
    np.testing.assert_allclose(moved * Vector3.UnitX(), [[1], [2], [0]], atol=ROUND_OFF)


def test_operations_return_the_transform_itself():
    t = Transform.Identity()
    assert t.translate([0, 0, 0]) is t.rotate(AngleAxis.Identity()) is t.scale(1.0)
    assert t.pretranslate(Vector3.Zero()) is t.prerotate(Quaternion.Identity()) is t.prescale([1, 1, 1]) is t


def test_matrix_and_translation_are_fresh_copies():
    t = Transform.Identity().translate([1, 2, 3])
    t.matrix()[0, 3] = 9.0
    t.translation()[0] = 9.0
    np.testing.assert_array_equal(t.translation(), [[1], [2], [3]])
    assert t.matrix().shape == (4, 4)


@pytest.mark.parametrize("factor", [2, 2.0, np.float64(2), np.array(2.0), [2, 2, 2], Vector3.Ones() * 2])
def test_scale_takes_a_number_or_one_per_axis(factor):
    np.testing.assert_array_equal(Transform.Identity().scale(factor).matrix(), np.diag([2.0, 2, 2, 1]))


def test_scale_zero_leaves_the_translation():
    rate = Transform.Identity().translate([0, 1, 0])
    rate.scale(0.0)
    np.testing.assert_array_equal(rate.matrix()[:3], [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])


def test_apply_to_changes_float64_arrays_in_place():
    t = Transform.Identity().translate([1, 2, 3])
    for shape in ((5, 3), (5, 3, 1)):
        points = np.zeros(shape)
        assert t.apply_to(points) is points
        np.testing.assert_array_equal(points.reshape(5, 3), [[1, 2, 3]] * 5)


def test_apply_to_leaves_float32_arrays_alone():
    points = np.zeros((2, 3), np.float32)
    moved = Transform.Identity().translate([1, 2, 3]).apply_to(points)
    assert not points.any()
    np.testing.assert_array_equal(moved, [[1, 2, 3]] * 2)


def test_inverse_undoes_the_transform():
    t = Transform.Identity().translate([1, 2, 3]).rotate(AngleAxis(0.7, [1, 1, 0])).scale([1, 2, 4])
    product = t * t.inverse()
    np.testing.assert_allclose(product.matrix(), np.eye(4), atol=ROUND_OFF)
    with pytest.raises(GeometryError, match="no inverse"):
        Transform.Identity().scale(0.0).inverse()


def test_a_product_applies_the_right_one_first():
    a = Transform.Identity().rotate(quarter_turn_about_z())
    b = Transform.Identity().translate([1, 0, 0])
    np.testing.assert_allclose((a * b) * np.zeros(3), [[0], [1], [0]], atol=ROUND_OFF)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Transform(np.eye(3)),
        lambda: Transform("text"),
        lambda: Transform.Identity().translate([1, 2]),
        lambda: Transform.Identity().scale([1, 2]),
        lambda: Transform.Identity().rotate(np.eye(3)),
        lambda: Transform.Identity() * np.zeros((4, 3)),
        lambda: Transform.Identity().apply_to(np.zeros(4)),
        lambda: AngleAxis(1.0),
        lambda: AngleAxis(1.0, [0, 0, 0]),
        lambda: AngleAxis(math.nan, [0, 0, 1]),
        lambda: AngleAxis(1.0, [0, math.inf, 1]),
        lambda: Quaternion([1, 0, 0]),
        lambda: Quaternion([0, 0, 0, 0]).inverse(),
    ],
)
def test_wrong_arguments_are_refused(call):
    with pytest.raises(GeometryError, match=r"^(Transform|AngleAxis|Quaternion)"):
        call()


def test_an_angle_axis_is_right_handed_and_normalises_its_axis():
    turn = AngleAxis(math.pi / 2, [0, 0, 5])
    np.testing.assert_array_equal(turn.axis(), [[0], [0], [1]])
    np.testing.assert_allclose(turn.matrix() @ [1, 0, 0], [0, 1, 0], atol=ROUND_OFF)


def test_products_of_rotations_agree_with_products_of_matrices():
    rng = np.random.default_rng(1)
    for _ in range(20):
        a = AngleAxis(rng.uniform(-3, 3), rng.normal(size=3))
        b = Quaternion(rng.normal(size=4)).normalized()
        for product in (a * b, Quaternion(a) * b):
            np.testing.assert_allclose(product.matrix(), a.matrix() @ b.matrix(), atol=ROUND_OFF)
        np.testing.assert_allclose((a * a).matrix(), a.matrix() @ a.matrix(), atol=ROUND_OFF)
        np.testing.assert_allclose((b * a).matrix(), b.matrix() @ a.matrix(), atol=ROUND_OFF)
        np.testing.assert_allclose(b.conjugate().matrix(), b.matrix().T, atol=ROUND_OFF)
        np.testing.assert_allclose(a.matrix() @ a.matrix().T, np.eye(3), atol=ROUND_OFF)


def test_quaternion_and_angle_axis_convert_into_each_other():
    rng = np.random.default_rng(2)
    for angle in (0.0, 1e-9, 1.0, 3.0, -2.0, 5.0):
        turn = AngleAxis(angle, rng.normal(size=3))
        back = AngleAxis(Quaternion(turn))
        assert 0.0 <= back.angle() <= math.pi
        np.testing.assert_allclose(back.matrix(), turn.matrix(), atol=ROUND_OFF)


def test_the_inverse_of_a_quaternion_multiplies_to_one():
    q = Quaternion([1.0, 2.0, 3.0, 4.0])
    assert q.norm() == pytest.approx(math.sqrt(30), rel=1e-15)
    np.testing.assert_allclose((q * q.inverse()).wxyz(), [1, 0, 0, 0], atol=ROUND_OFF)
