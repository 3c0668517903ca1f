"""Active contacts: closest points of all candidates, those within the barrier's range, and their energy.

A contact, whatever its kind, is a pair of material points: rows ξ_a = (1, x̄_a), ξ_b = (1, x̄_b) on two bodies, and
r = x_a − x_b. Nothing else enters the energy, the gradient or friction, except the mollifier of nearly parallel edges.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.contact.barrier import barrier, mollifier
from dovetail.solver.contact.candidates import Candidates, update_positions
from dovetail.solver.contact.distance import edge_edge, point_edge, point_triangle
from dovetail.solver.contact.kinds import (
    D_HAT,
    EDGE_EDGE,
    KAPPA,
    KIND,
    POINT_EDGE,
    POINT_TRIANGLE,
    SHAPE,
    THICKNESS,
    X0,
    A,
    B,
)
from dovetail.solver.contact.known import Watched, at_least, follow, remember
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.kernel import kernel
from dovetail.solver.record import Record, f8, i8
from dovetail.typing import Array, Indices

__all__ = ["FADED", "ActiveContacts", "find_active"]

FADED = 1e-12  # weight below which a mollified pair of edges is left out: far below the accuracy of the energy


class ActiveContacts(Record):
    """The contacts of one state, of which the first `count` rows are valid; it grows as needed.

    xi (k, 8)                   ξ_a, ξ_b
    r (k, 3), squared (k,)      x_a − x_b [m], D = |r|² [m²]
    weight, slope (k,)          mollifier m and m′; 1 and 0 but for edges
    kappa (k,)                  h²κ
    bodies (k, 2)               a, b; −1 for a half-plane
    candidate (k,)              row of the candidates
    X                           positions of the candidates' vertices at that state
    """

    xi: Array = f8(2)
    r: Array = f8(2)
    squared: Array = f8(1)
    weight: Array = f8(1)
    slope: Array = f8(1)
    kappa: Array = f8(1)
    bodies: Indices = i8(2)
    candidate: Indices = i8(1)
    X: Array = f8(2)

    def __init__(self, X: Array) -> None:
        self.count = 0
        self.candidates = Candidates.none()
        super().__init__(
            xi=np.empty((0, 8)), r=np.empty((0, 3)), squared=np.empty(0), weight=np.empty(0), slope=np.empty(0),
            kappa=np.empty(0), bodies=np.empty((0, 2), np.int64), candidate=np.empty(0, np.int64), X=X,
        )  # fmt: skip

    def make_room(self, size: int) -> None:
        """Room for so many contacts; what was there is lost."""
        if size > len(self.xi):
            size = 2 * size
            self.xi, self.r = np.empty((size, 8)), np.empty((size, 3))
            self.squared, self.weight, self.slope, self.kappa = (np.empty(size) for _ in range(4))
            self.bodies, self.candidate = np.empty((size, 2), np.int64), np.empty(size, np.int64)


@kernel
def _write_points(
    xi: Array, n: int, V: Array, base_a: int, base_b: int, x: tuple[int, int, int, int], kind: int, u: float, v: float
) -> None:
    """ξ_a, ξ_b of contact n ← closest points of vertices x (4) with weights u, v; V[x − base] are in the bodies."""
    xi[n, 0] = xi[n, 4] = 1.0
    for i in range(3):
        xi[n, 1 + i] = V[x[0] - base_a, i]
        xi[n, 5 + i] = 0.0
        if kind == EDGE_EDGE:
            xi[n, 1 + i] = (1.0 - u) * V[x[0] - base_a, i] + u * V[x[1] - base_a, i]
            xi[n, 5 + i] = (1.0 - v) * V[x[2] - base_b, i] + v * V[x[3] - base_b, i]
        elif kind == POINT_TRIANGLE:
            xi[n, 5 + i] = (1.0 - u - v) * V[x[1] - base_b, i] + u * V[x[2] - base_b, i] + v * V[x[3] - base_b, i]
        elif kind == POINT_EDGE:
            xi[n, 5 + i] = (1.0 - u) * V[x[1] - base_b, i] + u * V[x[2] - base_b, i]


@kernel
def find_active(
    watch: Watched, candidates: Candidates, scene: ContactScene, stiffness: Array, h2: float, Q: Array, runs: Indices,
    owner: Indices, active: ActiveContacts, E: Array,
) -> int:  # fmt: skip
    """Go to Q; fill the active contacts from all candidates with a body that runs; E[owner] += energies.

    stiffness (n,) gives κ d̂² of an adaptive contact, which −κ multiplies. Candidates of one point and one patch follow
    each other; only the nearest of them is a contact. Distances of those that may be in reach are measured and
    remembered, see known.py. Returns the number of contacts, or −1 where a gap is closed.
    """
    # fields of records are taken out of loops: kernels would load them again after each write
    pairs, numbers, known, X, path = candidates.pairs, candidates.numbers, candidates.known, active.X, watch.path
    squared, weights, slopes, kappas, r = active.squared, active.weight, active.slope, active.kappa, active.r
    xi, bodies, candidate, V, x_base = active.xi, active.bodies, active.candidate, scene.V, scene.x_base
    plane_normal, plane_point = scene.plane_normal, scene.plane_point
    follow(watch, Q)
    update_positions(watch.vertices, scene.V, Q, X)
    count = 0
    group_point = group_body = group_entry = -1
    group_patch = -1.0
    for k in range(len(pairs)):
        kind, a, b = pairs[k, KIND], pairs[k, A], pairs[k, B]
        if not (runs[a] or (b >= 0 and runs[b])):
            continue
        d_hat, thickness = numbers[k, D_HAT], numbers[k, THICKNESS]
        if b >= 0 and at_least(pairs, known, k, path) >= d_hat + thickness:
            continue
        m = owner[a] if b < 0 else max(owner[a], owner[b])
        reach = (d_hat + thickness) * (d_hat + thickness)
        x0, x1, x2, x3 = pairs[k, X0], pairs[k, X0 + 1], pairs[k, X0 + 2], pairs[k, X0 + 3]
        u = v = cross = 0.0
        if kind == POINT_TRIANGLE:
            u, v, r0, r1, r2 = point_triangle(X, x0, x1, x2, x3)
        elif kind == EDGE_EDGE:
            u, v, r0, r1, r2, cross = edge_edge(X, x0, x1, x2, x3)
        elif kind == POINT_EDGE:
            u, r0, r1, r2 = point_edge(X, x0, x1, x2)
        else:
            height, p = 0.0, x1
            for i in range(3):
                height += (X[x0, i] - plane_point[p, i]) * plane_normal[p, i]
            if not height > thickness:
                return -1
            r0, r1, r2 = height * plane_normal[p, 0], height * plane_normal[p, 1], height * plane_normal[p, 2]
        D = r0 * r0 + r1 * r1 + r2 * r2
        remember(pairs, known, k, path, math.sqrt(D))
        if D >= reach:
            continue
        if not thickness * thickness < D:
            return -1
        kappa = numbers[k, KAPPA]
        if kappa < 0.0:
            kappa *= -(stiffness[a] if b < 0 else max(stiffness[a], stiffness[b])) / (d_hat * d_hat)
        kappa *= h2
        entry, weight, slope = count, 1.0, 0.0
        if kind == POINT_TRIANGLE and group_point == x0 and group_body == b and group_patch == numbers[k, SHAPE]:
            # same point and patch: the nearer triangle takes the place of the other
            if D >= squared[group_entry]:
                continue
            old, _, _ = barrier(squared[group_entry], thickness, d_hat)
            E[m] -= kappa * old
            entry = group_entry
        elif kind == EDGE_EDGE:
            weight, slope = mollifier(cross, numbers[k, SHAPE])
            if weight < FADED:
                continue
            count += 1
        else:
            if kind == POINT_TRIANGLE:
                group_point, group_body, group_patch, group_entry = x0, b, numbers[k, SHAPE], entry
            count += 1
        value, _, _ = barrier(D, thickness, d_hat)
        E[m] += weight * kappa * value
        bodies[entry, 0], bodies[entry, 1], candidate[entry] = a, b, k
        _write_points(xi, entry, V, x_base[a], x_base[b] if b >= 0 else 0, (x0, x1, x2, x3), kind, u, v)
        r[entry, 0], r[entry, 1], r[entry, 2] = r0, r1, r2
        squared[entry], weights[entry], slopes[entry], kappas[entry] = D, weight, slope, kappa
    return count
