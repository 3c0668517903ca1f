from __future__ import annotations

import numpy as np
import pytest

from dovetail import values
from dovetail.errors import DovetailError
from dovetail.values import I32, U64, Float, IndexT, Matrix4x4, Matrix12x12, SizeT, Vector2, Vector3, Vector12

VECTORS = {2: values.Vector2, 3: values.Vector3, 4: values.Vector4, 6: values.Vector6, 9: values.Vector9}
MATRICES = {2: values.Matrix2x2, 3: values.Matrix3x3, 4: values.Matrix4x4, 6: values.Matrix6x6}


@pytest.mark.parametrize("size", VECTORS)
def test_vectors_are_writable_float64_columns(size):
    vector = VECTORS[size]
    for made in (vector.Zero(), vector.Ones(), vector.Identity(), vector.Random(), vector.UnitX()):
        assert made.shape == (size, 1) == vector.shape()
        assert made.dtype == np.float64
        made[0] = 7.0


@pytest.mark.parametrize("size", MATRICES)
def test_matrices_are_writable_and_square(size):
    matrix = MATRICES[size]
    assert matrix.shape() == (size, size)
    np.testing.assert_array_equal(matrix.Identity(), np.eye(size))
    matrix.Zero()[0, 0] = 1.0
    assert not matrix.Zero().any()


def test_a_change_of_one_vector_does_not_reach_the_next():
    first = Vector3.UnitY()
    first *= 2
    np.testing.assert_array_equal(Vector3.UnitY(), [[0], [1], [0]])


def test_units_exist_up_to_the_size_of_the_vector():
    np.testing.assert_array_equal(Vector12.UnitW()[:, 0], np.eye(12)[3])
    assert not hasattr(Vector2, "UnitZ")
    assert not hasattr(Vector3, "UnitW")
    with pytest.raises(DovetailError, match=r"component 3 does not exist; use 0\.\.2"):
        Vector3.Unit(3)


@pytest.mark.parametrize("given", [[1, 2, 3], (1.0, 2.0, 3.0), np.arange(1, 4), np.array([[1.0], [2.0], [3.0]])])
def test_values_accepts_flat_and_column_input(given):
    made = Vector3.Values(given)
    np.testing.assert_array_equal(made, [[1], [2], [3]])
    assert made.dtype == np.float64


@pytest.mark.parametrize("given", [[1, 2], [[1, 2, 3]], 1.0, "abc", [[1], [2, 3]]])
def test_values_of_another_shape_are_refused(given):
    with pytest.raises(DovetailError, match=r"Vector3\.Values"):
        Vector3.Values(given)


def test_random_numbers_differ_and_lie_between_minus_one_and_one():
    first, second = Matrix12x12.Random(), Matrix12x12.Random()
    assert (first != second).any()
    assert np.abs(first).max() <= 1.0


def test_linspaced_includes_both_ends():
    np.testing.assert_array_equal(Vector3.LinSpaced(0, 1), [[0], [0.5], [1]])
    np.testing.assert_array_equal(Vector3.LinSpaced(0, 1, 3), [[0], [0.5], [1]])
    np.testing.assert_array_equal(Vector3.LinSpaced(0, 1, 0.5), [[0], [0.5], [1]])
    with pytest.raises(DovetailError, match=r"3 numbers from 0 to 1 have the step 0\.5; 5 was given"):
        Vector3.LinSpaced(0, 1, 5)


def test_scalars_are_python_numbers():
    assert Float.One() == 1.0 and isinstance(Float.One(), float)
    assert I32.Value(7.0) == 7 and isinstance(I32.Value(7.0), int)
    assert (IndexT.size_bytes(), SizeT.size_bytes(), Float.size_bytes()) == (4, 8, 8)
    assert U64.Value(2**64 - 1) == 2**64 - 1
    with pytest.raises(DovetailError, match=r"I32\.Value: cannot hold"):
        I32.Value(2**31)


def test_idioms_of_libuipc_scripts():
    np.testing.assert_array_equal(Vector3.UnitY() * 2, [[0], [2], [0]])
    point = Vector3.Zero()
    point[1] += 1.5
    assert point[1, 0] == 1.5
    transform = Matrix4x4.Identity()
    transform[0:3, 3] = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(transform[:, 3], [1, 2, 3, 1])
    stack = np.zeros((5, 3, 1))
    stack += Vector3.UnitZ()
    np.testing.assert_array_equal(stack[:, :, 0], [[0, 0, 1]] * 5)
