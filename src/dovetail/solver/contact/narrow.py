"""Active contacts: closest points of all candidates, those within the barrier's range, and their energy.

A contact, whatever its kind, is a pair of material points: rows ξ_a = (1, x̄_a), ξ_b = (1, x̄_b) on two bodies, and
r = x_a − x_b. Nothing else enters the energy, the gradient or friction, except the mollifier of nearly parallel edges.

Rows of `contacts` (k, 16):  ξ_a (4), ξ_b (4), r (3), D, m, m′, κ, –
Rows of `bodies` (k, 3):     a, b (−1: half-plane), candidate
"""

from __future__ import annotations

import math

from dovetail.solver.contact.barrier import barrier, mollifier
from dovetail.solver.contact.distance import edge_edge, point_edge, point_triangle
from dovetail.solver.contact.kinds import EDGE_EDGE, POINT_EDGE, POINT_TRIANGLE
from dovetail.solver.contact.known import at_least
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["FADED", "narrow"]

FADED = 1e-12  # weight below which a mollified pair of edges is left out: far below the accuracy of the energy


@kernel
def _write_point(V: Array, v: int, contacts: Array, k: int, offset: int) -> None:
    contacts[k, offset] = 1.0
    for i in range(3):
        contacts[k, offset + 1 + i] = V[v, i]


@kernel
def narrow(
    pairs: Indices, numbers: Array, stiffness: Array, h2: float, x_base: Indices, V: Array, plane_point: Array,
    plane_normal: Array, X: Array, owner: Indices, runs: Indices, path: Array, known: Array, E: Array,
    contacts: Array, bodies: Indices,
) -> int:  # fmt: skip
    """Fill `contacts` and `bodies` from all candidates with a body that runs; E[owner] += energies.

    Distances of those that may be in reach are measured and kept in `known`, see known.py.

    stiffness (n,) gives κ d̂² of an adaptive contact. Candidates of one point and one patch follow each other;
    only the nearest of them is a contact. Returns the number of contacts, or −1 where a gap is closed.
    """
    count = 0
    group_point = group_body = group_entry = -1
    group_patch = -1.0
    for k in range(len(pairs)):
        kind, a, b = pairs[k, 0], pairs[k, 1], pairs[k, 2]
        if not (runs[a] or (b >= 0 and runs[b])):
            continue
        d_hat, thickness = numbers[k, 2], numbers[k, 3]
        if b >= 0 and at_least(known, k, path, pairs[k, 7]) >= d_hat + thickness:
            continue
        m = owner[a] if b < 0 else max(owner[a], owner[b])
        reach = (d_hat + thickness) * (d_hat + thickness)
        x0, x1, x2, x3 = pairs[k, 3], pairs[k, 4], pairs[k, 5], pairs[k, 6]
        v = w = s = t = 0.0
        weight = 1.0
        slope = 0.0
        if kind == POINT_TRIANGLE:
            v, w, r0, r1, r2 = point_triangle(X, x0, x1, x2, x3)
        elif kind == EDGE_EDGE:
            s, t, r0, r1, r2, cross = edge_edge(X, x0, x1, x2, x3)
        elif kind == POINT_EDGE:
            t, r0, r1, r2 = point_edge(X, x0, x1, x2)
        else:
            height = 0.0
            for x in range(3):
                height += (X[x0, x] - plane_point[x1, x]) * plane_normal[x1, x]
            if not height > thickness:
                return -1
            r0, r1, r2 = height * plane_normal[x1, 0], height * plane_normal[x1, 1], height * plane_normal[x1, 2]
        D = r0 * r0 + r1 * r1 + r2 * r2
        known[k, 0] = math.sqrt(D)
        if b >= 0:
            known[k, 1] = path[pairs[k, 7]]
        if D >= reach:
            continue
        if not thickness * thickness < D:
            return -1
        kappa = numbers[k, 0]
        if kappa < 0.0:
            kappa = stiffness[a] if b < 0 else max(stiffness[a], stiffness[b])
            kappa /= d_hat * d_hat
        kappa *= h2
        entry = count
        if kind == POINT_TRIANGLE:
            patch = numbers[k, 4]
            if group_point == x0 and group_body == b and group_patch == patch:
                # same point and patch: the nearer triangle takes the place of the other
                if D >= contacts[group_entry, 11]:
                    continue
                old, _, _ = barrier(contacts[group_entry, 11], thickness, d_hat)
                E[m] -= kappa * old
                entry = group_entry
            else:
                group_point, group_body, group_patch, group_entry = x0, b, patch, entry
                count += 1
        elif kind == EDGE_EDGE:
            weight, slope = mollifier(cross, numbers[k, 4])
            if weight < FADED:
                continue
            count += 1
        else:
            count += 1
        value, _, _ = barrier(D, thickness, d_hat)
        E[m] += weight * kappa * value
        base_a = x_base[a]
        if kind == EDGE_EDGE:
            base_b = x_base[b]
            contacts[entry, 0] = 1.0
            contacts[entry, 4] = 1.0
            for i in range(3):
                contacts[entry, 1 + i] = (1.0 - s) * V[x0 - base_a, i] + s * V[x1 - base_a, i]
                contacts[entry, 5 + i] = (1.0 - t) * V[x2 - base_b, i] + t * V[x3 - base_b, i]
        else:
            _write_point(V, x0 - base_a, contacts, entry, 0)
            contacts[entry, 4] = 1.0
            for i in range(3):
                if kind == POINT_TRIANGLE:
                    base_b = x_base[b]
                    contacts[entry, 5 + i] = (
                        (1.0 - v - w) * V[x1 - base_b, i] + v * V[x2 - base_b, i] + w * V[x3 - base_b, i]
                    )
                elif kind == POINT_EDGE:
                    base_b = x_base[b]
                    contacts[entry, 5 + i] = (1.0 - t) * V[x1 - base_b, i] + t * V[x2 - base_b, i]
                else:
                    contacts[entry, 5 + i] = 0.0
        contacts[entry, 8] = r0
        contacts[entry, 9] = r1
        contacts[entry, 10] = r2
        contacts[entry, 11] = D
        contacts[entry, 12] = weight
        contacts[entry, 13] = slope
        contacts[entry, 14] = kappa
        bodies[entry, 0] = a
        bodies[entry, 1] = b
        bodies[entry, 2] = k
    return count
