"""Affine bodies in coordinates: 4×4 transform ↔ q (12), and dyadic mass ↔ mass, centre and inertia.

A point x̄ of the body is at x = A x̄ + t. The coordinates are q = [t, A row 0, A row 1, A row 2], so that
x = J(x̄) q with J = [1, diag(x̄ᵀ, x̄ᵀ, x̄ᵀ)], and the mass matrix is M = ∫ρ JᵀJ dV. It is made of

    m = ∫ρ dV [kg],   m x̄ = ∫ρ x̄ dV [kg·m],   S = ∫ρ x̄ x̄ᵀ dV [kg·m²].
"""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from dovetail.checked import LARGEST, checked, numbers, shown
from dovetail.errors import GeometryError
from dovetail.geometry.mass import moments
from dovetail.geometry.simplicial_complex import SimplicialComplex
from dovetail.geometry.transform import Transform
from dovetail.typing import Array

__all__ = [
    "build_abd_mass_matrix",
    "compute_body_force",
    "compute_dyadic_mass",
    "from_rigid_body",
    "q_to_transform",
    "q_v_to_transform_v",
    "to_rigid_body",
    "transform_to_q",
    "transform_v_to_q_v",
]


@checked(GeometryError)
def transform_to_q(transform: ArrayLike | Transform) -> Array:
    """(4, 4) → (12, 1), (n, 4, 4) → (n, 12, 1)"""
    return _to_q("transform_to_q", transform)


@checked(GeometryError)
def transform_v_to_q_v(transform_v: ArrayLike | Transform) -> Array:
    """The rate of change of q from that of the transform (last row not read); shapes as `transform_to_q`."""
    return _to_q("transform_v_to_q_v", transform_v)


@checked(GeometryError)
def q_to_transform(q: ArrayLike) -> Array:
    """(12,) or (12, 1) → (4, 4); (n, 12) or (n, 12, 1) → (n, 4, 4)"""
    transform = _from_q("q_to_transform", q)
    transform[..., 3, 3] = 1.0
    return transform


@checked(GeometryError)
def q_v_to_transform_v(q_v: ArrayLike) -> Array:
    """The rate of change of the transform, with last row 0; shapes as `q_to_transform`."""
    return _from_q("q_v_to_transform_v", q_v)


@checked(GeometryError)
def compute_dyadic_mass(sc: SimplicialComplex, rho: float) -> tuple[float, Array, Array]:
    """(m, m x̄ (3, 1), S (3, 3)) of a tetmesh or closed trimesh of constant density rho [kg/m³]."""
    m_hat, _ = moments(sc, rho)
    return float(m_hat[0, 0]), m_hat[1:, :1].copy(), m_hat[1:, 1:].copy()


@checked(GeometryError)
def compute_body_force(sc: SimplicialComplex, body_force_density: ArrayLike) -> Array:
    """∫ Jᵀ f dV (12, 1), the force on q of a constant force per volume f (3) [N/m³]."""
    m_hat, _ = moments(sc, 1.0)
    density = _shaped("compute_body_force", "body_force_density", body_force_density, (3,))
    return np.concatenate([density * m_hat[0, 0], np.outer(density, m_hat[1:, 0]).ravel()]).reshape(12, 1)


@checked(GeometryError)
def build_abd_mass_matrix(m: float, m_x_bar: ArrayLike, m_x_bar_x_bar: ArrayLike) -> Array:
    """The 12×12 mass matrix ∫ρ JᵀJ dV."""
    mass = float(_shaped("build_abd_mass_matrix", "m", m, ()))
    first = _shaped("build_abd_mass_matrix", "m_x_bar", m_x_bar, (3,))
    second = _shaped("build_abd_mass_matrix", "m_x_bar_x_bar", m_x_bar_x_bar, (3, 3))
    return _mass_matrix(mass, first, second)


def _mass_matrix(m: float, first: Array, second: Array) -> Array:
    matrix = np.zeros((12, 12))
    for i in range(3):
        rows = slice(3 + 3 * i, 6 + 3 * i)
        matrix[i, i] = m
        matrix[i, rows] = matrix[rows, i] = first
        matrix[rows, rows] = second
    return matrix


@checked(GeometryError)
def from_rigid_body(mass: float, center_of_mass: ArrayLike, inertia_cm: ArrayLike) -> Array:
    """The 12×12 mass matrix from mass [kg], centre c [m] and inertia I [kg·m²] about the centre.

    I = tr(S_c)·1 − S_c gives S_c = ½ tr(I)·1 − I; the parallel-axis theorem adds m c cᵀ.
    """
    m = float(_shaped("from_rigid_body", "mass", mass, ()))
    c = _shaped("from_rigid_body", "center_of_mass", center_of_mass, (3,))
    about_center = _shaped("from_rigid_body", "inertia_cm", inertia_cm, (3, 3))
    second = 0.5 * np.trace(about_center) * np.eye(3) - about_center + m * np.outer(c, c)
    return _mass_matrix(m, m * c, second)


@overload
def to_rigid_body(m: ArrayLike) -> tuple[float, Array, Array]: ...
@overload
def to_rigid_body(m: float, m_x_bar: ArrayLike, m_x_bar_x_bar: ArrayLike) -> tuple[float, Array, Array]: ...


@checked(GeometryError)
def to_rigid_body(
    m: ArrayLike, m_x_bar: ArrayLike | None = None, m_x_bar_x_bar: ArrayLike | None = None
) -> tuple[float, Array, Array]:
    """(mass, centre (3, 1), inertia about the centre (3, 3)) from a 12×12 mass matrix or from m, m x̄, S."""
    if m_x_bar is None or m_x_bar_x_bar is None:
        matrix = _shaped("to_rigid_body", "the mass matrix", m, (12, 12))
        mass, first, second = float(matrix[0, 0]), matrix[3:6, 0], matrix[3:6, 3:6]
    else:
        mass = float(_shaped("to_rigid_body", "m", m, ()))
        first = _shaped("to_rigid_body", "m_x_bar", m_x_bar, (3,))
        second = _shaped("to_rigid_body", "m_x_bar_x_bar", m_x_bar_x_bar, (3, 3))
    if not mass > 0.0:
        raise GeometryError(f"to_rigid_body: mass = {mass} [kg]; a body needs a positive mass.")
    c = first / mass
    about_center = second - mass * np.outer(c, c)
    return mass, c.reshape(3, 1), np.trace(about_center) * np.eye(3) - about_center


def _to_q(who: str, transform: ArrayLike | Transform) -> Array:
    array = transform.matrix() if isinstance(transform, Transform) else np.asarray(transform, np.float64)
    if array.ndim not in (2, 3) or array.shape[-2:] != (4, 4):
        raise GeometryError(f"{who}: shape {array.shape} was given; (4, 4) or (n, 4, 4) is needed.")
    q = np.empty((*array.shape[:-2], 12, 1))
    q[..., :3, 0] = array[..., :3, 3]
    q[..., 3:, 0] = array[..., :3, :3].reshape(*array.shape[:-2], 9)
    return q


def _from_q(who: str, q: ArrayLike) -> Array:
    array = np.asarray(q, np.float64)
    if array.shape[-2:] == (12, 1):
        array = array[..., 0]
    if array.ndim not in (1, 2) or array.shape[-1] != 12:
        raise GeometryError(f"{who}: shape {array.shape} was given; (12,) or (n, 12) is needed.")
    transform = np.zeros((*array.shape[:-1], 4, 4))
    transform[..., :3, 3] = array[..., :3]
    transform[..., :3, :3] = array[..., 3:].reshape(*array.shape[:-1], 3, 3)
    return transform


def _shaped(who: str, name: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    array = numbers(values)
    if array is None or array.shape not in (shape, (*shape, 1)) or not (np.abs(array) <= LARGEST).all():
        raise GeometryError(f"{who}: {name} = {shown(values)}; finite numbers of shape {shape} are needed.")
    return array.reshape(shape)
