"""Contacts as functions of the positions of their vertices, instead of the states of their bodies.

    normal     E = m κ b(D)        ∂E/∂x_i = 2 m κ b′ w_i r + κ b m′ ∂c/∂x_i        m κ (4b″ + 2b′/D) w_i w_j r rᵀ
    friction   E = μλ f₀(y)        ∂E/∂x_i = μλ f₁ w_i u                            μλ w_i w_j (f₁ P + (f₀″ − f₁) e eᵀ)

w_i is the weight of vertex i in x_a − x_b, negative on body b; m and c are the mollifier of nearly parallel edges and
its argument; u is the slip, y its length, e = u/y, P the projection on the tangent plane. Of the Hessian of the barrier
the part along r is given, as the solver uses it. Everything carries h².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.contact.friction import Frictions
from dovetail.solver.contact.kinds import (
    D_HAT,
    EDGE_EDGE,
    KIND,
    POINT_EDGE,
    POINT_PLANE,
    POINT_TRIANGLE,
    THICKNESS,
    X0,
)
from dovetail.solver.contact.readback import Survey, barrier_of
from dovetail.typing import Array, Indices

__all__ = ["KINDS", "Primitives", "primitives"]

KINDS = {"PT": POINT_TRIANGLE, "EE": EDGE_EDGE, "PE": POINT_EDGE, "PH": POINT_PLANE}
_CORNERS = {POINT_TRIANGLE: 4, EDGE_EDGE: 4, POINT_EDGE: 3, POINT_PLANE: 1}


@dataclass(frozen=True)
class Primitives:
    """Contacts of one kind: n vertices each, as indices x (k, n) into X.

    plane (k,)               number of the half-plane, −1 for other kinds
    energy (k,), gradient (k, n, 3), hessian (k, n, n, 3, 3)    [J·s², N·s², N·s²/m]
    """

    x: Indices
    plane: Indices
    energy: Array
    gradient: Array
    hessian: Array


def primitives(survey: Survey, kind: int, friction: bool) -> Primitives:
    """Normal or friction contacts of a kind, as KINDS names them."""
    source: Frictions | ActiveContacts = survey.friction if friction else survey.active
    candidates = source.candidates
    chosen = np.flatnonzero(candidates.pairs[source.candidate[: source.count], KIND] == kind)
    candidate = source.candidate[chosen]
    pairs = candidates.pairs[candidate]
    x = pairs[:, X0 : X0 + _CORNERS[kind]]
    w = _weights(survey, kind, x, source.xi[chosen], source.bodies[chosen])
    if friction:
        energy, gradient, hessian = _friction(survey, chosen)
    else:
        energy, gradient, hessian = _normal(survey.active, chosen, candidates.numbers[candidate])
    by_vertex = w[:, :, None] * gradient[:, None]
    if kind == EDGE_EDGE and not friction:
        by_vertex += _mollifier(survey.active, chosen, x, energy)
    blocks = np.einsum("ki,kj,kxy->kijxy", w, w, hessian)
    plane = pairs[:, X0 + 1] if kind == POINT_PLANE else np.full(len(pairs), -1)
    return Primitives(x, plane, energy, by_vertex, blocks)


def _weights(survey: Survey, kind: int, x: Indices, xi: Array, bodies: Indices) -> Array:
    """w (k, n): ξ_a = Σ w_i (1, x̄_i) over the vertices of body a, −ξ_b likewise over those of b."""
    split = 2 if kind == EDGE_EDGE else 1
    w = np.ones(x.shape)
    for side, columns in ((0, slice(0, split)), (1, slice(split, x.shape[1]))):
        v = x[:, columns] - survey.scene.x_base[bodies[:, side], None]
        if v.shape[1] < 2:
            continue  # a vertex is its own closest point
        corners = np.concatenate([np.ones((*v.shape, 1)), survey.scene.V[v]], axis=2)
        found = xi[:, None, 4 * side : 4 * side + 4] @ np.linalg.pinv(corners)
        w[:, columns] = found[:, 0] if side == 0 else -found[:, 0]
    return w


def _normal(s: ActiveContacts, chosen: Indices, numbers: Array) -> tuple[Array, Array, Array]:
    r, squared = s.r[chosen], s.squared[chosen]
    value, first, second = barrier_of(squared, numbers[:, THICKNESS], numbers[:, D_HAT])
    scale = s.weight[chosen] * s.kappa[chosen]
    curvature = scale * (4.0 * second + 2.0 * first / squared)
    return (
        scale * value,
        (2.0 * scale * first)[:, None] * r,
        curvature[:, None, None] * (r[:, :, None] * r[:, None, :]),
    )


def _mollifier(s: ActiveContacts, chosen: Indices, x: Indices, energy: Array) -> Array:
    """κ b m′ ∂|u × v|²/∂x_i (k, 4, 3) of edges with ends X[x], x (k, 4)."""
    P, weight, slope = s.X[x], s.weight[chosen], s.slope[chosen]
    u, v = P[:, 1] - P[:, 0], P[:, 3] - P[:, 2]
    uu, uv, vv = (np.einsum("kx,kx->k", s, t)[:, None] for s, t in ((u, u), (u, v), (v, v)))
    by_u, by_v = 2.0 * (vv * u - uv * v), 2.0 * (uu * v - uv * u)
    factor = (energy / weight * slope)[:, None, None]
    return factor * np.stack([-by_u, by_u, -by_v, by_v], axis=1)


def _friction(survey: Survey, chosen: Indices) -> tuple[Array, Array, Array]:
    moved, friction = survey.Q - survey.Q_start, survey.friction
    xi, bodies, tangents = friction.xi[chosen], friction.bodies[chosen], friction.tangent[chosen]
    slip = np.einsum("ki,kix->kx", xi[:, :4], moved[bodies[:, 0]])
    on_body = bodies[:, 1] >= 0
    slip[on_body] -= np.einsum("ki,kix->kx", xi[on_body, 4:], moved[bodies[on_body, 1]])
    P = np.einsum("ksx,ksy->kxy", tangents, tangents)
    begun = friction.carried[chosen] - friction.roll[chosen]
    u = np.einsum("kxy,ky->kx", P, slip) + np.einsum("ksx,ks->kx", tangents, begun)
    y, epsilon, load = np.linalg.norm(u, axis=1), friction.epsilon, friction.load[chosen]
    slow = y < epsilon
    s = y / epsilon
    f0 = np.where(slow, epsilon * (s * s * (1.0 - s / 3.0) + 1.0 / 3.0), y)
    f1 = np.where(slow, (2.0 - s) / epsilon, 1.0 / np.where(slow, 1.0, y))
    f2 = np.where(slow, (2.0 - 2.0 * s) / epsilon, 0.0)
    e = u / np.where(y > 0.0, y, 1.0)[:, None]
    along = (f2 - f1)[:, None, None] * (e[:, :, None] * e[:, None, :])
    return load * f0, (load * f1)[:, None] * u, load[:, None, None] * (f1[:, None, None] * P + along)
