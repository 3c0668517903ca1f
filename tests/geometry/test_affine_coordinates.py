from __future__ import annotations

import numpy as np
import pytest

from dovetail.errors import GeometryError
from dovetail.geometry import Transform, affine_body

ROUND_OFF = 1e-13


def jacobian(x):
    """x = J q for q = [t, rows of A]"""
    return np.hstack([np.eye(3), np.kron(np.eye(3), x)])


def test_q_holds_translation_then_rows():
    matrix = np.arange(16.0).reshape(4, 4)
    q = affine_body.transform_to_q(matrix)
    assert q.shape == (12, 1)
    np.testing.assert_array_equal(q[:, 0], [3, 7, 11, 0, 1, 2, 4, 5, 6, 8, 9, 10])


def test_q_moves_points_as_the_transform_does():
    rng = np.random.default_rng(0)
    t = Transform(np.vstack([rng.normal(size=(3, 4)), [0, 0, 0, 1]]))
    x = rng.normal(size=3)
    np.testing.assert_allclose(jacobian(x) @ affine_body.transform_to_q(t), t * x, atol=ROUND_OFF)


@pytest.mark.parametrize("shape", [(12,), (12, 1), (5, 12), (5, 12, 1)])
def test_q_and_transform_are_inverse_to_each_other(shape):
    q = np.random.default_rng(0).normal(size=shape)
    transform = affine_body.q_to_transform(q)
    assert transform.shape == (*shape[:-2], 4, 4) if shape[-1] == 1 else (*shape[:-1], 4, 4)
    np.testing.assert_array_equal(transform[..., 3, :], np.broadcast_to([0, 0, 0, 1], transform.shape[:-1]))
    np.testing.assert_array_equal(affine_body.transform_to_q(transform).ravel(), q.ravel())


def test_rates_have_a_last_row_of_zeros():
    q_v = np.arange(24.0).reshape(2, 12)
    rate = affine_body.q_v_to_transform_v(q_v)
    assert not rate[:, 3].any()
    np.testing.assert_array_equal(affine_body.transform_v_to_q_v(rate)[..., 0], q_v)


@pytest.mark.parametrize(
    "call",
    [
        lambda: affine_body.transform_to_q(np.eye(3)),
        lambda: affine_body.q_to_transform(np.zeros(11)),
        lambda: affine_body.q_v_to_transform_v(np.zeros((2, 3, 12))),
        lambda: affine_body.build_abd_mass_matrix(1.0, np.zeros(2), np.eye(3)),
        lambda: affine_body.to_rigid_body(np.eye(11)),
        lambda: affine_body.to_rigid_body(0.0, np.zeros(3), np.eye(3)),
    ],
)
def test_wrong_shapes_are_refused(call):
    with pytest.raises(GeometryError, match=r"shape|positive mass"):
        call()


def test_the_mass_matrix_is_the_integral_of_j_transposed_j(solid_box):
    """Gauss points of a box: two per axis integrate quadratics exactly."""
    size, center = np.array([1.0, 2.0, 3.0]), np.array([0.3, -0.1, 2.0])
    m, first, second = affine_body.compute_dyadic_mass(solid_box(size, center), 500.0)
    assert first.shape == (3, 1) and second.shape == (3, 3)
    gauss = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) / np.sqrt(12) * size
    expected = sum(jacobian(x).T @ jacobian(x) for x in gauss + center) * 500.0 * size.prod() / 8
    built = affine_body.build_abd_mass_matrix(m, first, second)
    np.testing.assert_allclose(built, expected, rtol=1e-12, atol=1e-12 * expected.max())


def test_a_body_force_does_the_work_of_its_density(solid_box):
    """∫ f·x dV = q·F for every q."""
    mesh, force = solid_box((1, 2, 3), (0.5, 0, 1)), np.array([1.0, -2.0, 3.0])
    generalised = affine_body.compute_body_force(mesh, force)
    assert generalised.shape == (12, 1)
    q = np.random.default_rng(3).normal(size=12)
    center_moves_to = jacobian(np.array([0.5, 0, 1])) @ q
    assert float(q @ generalised[:, 0]) == pytest.approx(6.0 * force @ center_moves_to, rel=1e-12)


def test_rigid_and_affine_mass_convert_into_each_other():
    rng = np.random.default_rng(4)
    points = rng.normal(size=(7, 3)) + 2.0
    masses = rng.uniform(1, 2, 7)
    m, first, second = masses.sum(), masses @ points, points.T @ (masses[:, None] * points)
    mass, center, inertia = affine_body.to_rigid_body(m, first, second)
    arms = points - center[:, 0]
    expected = sum(w * (a @ a * np.eye(3) - np.outer(a, a)) for w, a in zip(masses, arms, strict=True))
    np.testing.assert_allclose(inertia, expected, rtol=1e-12, atol=1e-12)
    back = affine_body.from_rigid_body(mass, center, inertia)
    np.testing.assert_allclose(back, affine_body.build_abd_mass_matrix(m, first, second), rtol=1e-12)
    from_matrix = affine_body.to_rigid_body(back)
    np.testing.assert_allclose(from_matrix[2], inertia, rtol=1e-12)
