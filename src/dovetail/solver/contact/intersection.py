"""Whether surfaces intersect or touch at a given state, and whether they lie behind half-planes.

Two surfaces that intersect have an edge of one that crosses a triangle of the other. The sign of

    side(a, b, c, p) = det(b − a, c − a, p − a)

says on which side of the triangle abc the point p lies. An edge pq crosses abc if p and q are on different sides, and
the line pq passes ab, bc and ca on the same side. Signs that round-off leaves open are found in exact arithmetic.
Surfaces that only touch, as faces that coincide, have no edge that crosses, but the distance 0; a body wholly inside
another one has neither (inside.py).

All edges and triangles count here, of fixed bodies too; the candidates of a step are not relied on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.contact.distance import edge_edge, point_edge, point_triangle
from dovetail.solver.contact.inside import holds
from dovetail.solver.contact.kinds import EDGE_EDGE, POINT_EDGE, POINT_TRIANGLE
from dovetail.solver.contact.near import near_bodies, near_elements
from dovetail.solver.contact.room import Room
from dovetail.solver.contact.scene import ContactScene
from dovetail.typing import Array, Flags, Indices

__all__ = ["Meeting", "Sinking", "find_meetings", "find_sinkings", "positions"]

_ROUND = 32 * 2.0**-52  # round-off of `side` by the sum of its terms' magnitudes; several times the proven bound
_TOUCH = 16 * 2.0**-52  # round-off of a distance by the largest coordinate
_MARGIN = 1e-6  # boxes grow by this share of d̂, to be wide of round-off


@dataclass(frozen=True)
class Meeting:
    """Two bodies (or one, with itself) whose surfaces intersect or are too near.

    a, b                the bodies
    holder              the one of them that has the other inside, −1 where their surfaces meet
    crossings           how many edges of triangles cross triangles; 0 where the surfaces only touch
    edge_of             the body of the first such edge, a or b
    edge, triangle      its ends, and the corners of the triangle of the other body: indices into X
    point               where the two cross [m]
    distance            of the surfaces [m]; 0 where they cross
    thickness           what the distance must exceed [m]
    kind, first_of, features    the nearest features, as in a candidate whose first body is first_of
    """

    a: int
    b: int
    holder: int
    crossings: int
    edge_of: int
    edge: tuple[int, ...]
    triangle: tuple[int, ...]
    point: tuple[float, ...]
    distance: float
    thickness: float
    kind: int
    first_of: int
    features: tuple[int, ...]


@dataclass(frozen=True)
class Sinking:
    """A body that touches a half-plane or lies partly behind it.

    Its deepest vertex x (an index into X) has the signed `height` above the plane, which must exceed the thickness [m].
    """

    body: int
    plane: int
    x: int
    height: float
    thickness: float


@kernel
def _side(X: Array, a: int, b: int, c: int, p: int) -> float:
    """det(b − a, c − a, p − a), or 0 where round-off leaves its sign open."""
    u0, u1, u2 = X[b, 0] - X[a, 0], X[b, 1] - X[a, 1], X[b, 2] - X[a, 2]
    v0, v1, v2 = X[c, 0] - X[a, 0], X[c, 1] - X[a, 1], X[c, 2] - X[a, 2]
    w0, w1, w2 = X[p, 0] - X[a, 0], X[p, 1] - X[a, 1], X[p, 2] - X[a, 2]
    value = w0 * (u1 * v2 - u2 * v1) + w1 * (u2 * v0 - u0 * v2) + w2 * (u0 * v1 - u1 * v0)
    size = (
        abs(w0) * (abs(u1 * v2) + abs(u2 * v1))
        + abs(w1) * (abs(u2 * v0) + abs(u0 * v2))
        + abs(w2) * (abs(u0 * v1) + abs(u1 * v0))
    )
    return value if abs(value) > _ROUND * size else 0.0


@kernel
def _crosses(X: Array, p: int, q: int, a: int, b: int, c: int) -> tuple[int, float]:
    """(1: the edge pq crosses the triangle abc, 0: it does not, −1: round-off leaves it open; where on the edge)."""
    for x in range(3):
        if max(X[a, x], X[b, x], X[c, x]) < min(X[p, x], X[q, x]):
            return 0, 0.0
        if min(X[a, x], X[b, x], X[c, x]) > max(X[p, x], X[q, x]):
            return 0, 0.0
    from_p, from_q = _side(X, a, b, c, p), _side(X, a, b, c, q)
    if (from_p > 0.0 and from_q > 0.0) or (from_p < 0.0 and from_q < 0.0):
        return 0, 0.0
    ab, bc, ca = _side(X, p, q, a, b), _side(X, p, q, b, c), _side(X, p, q, c, a)
    if (ab > 0.0 or bc > 0.0 or ca > 0.0) and (ab < 0.0 or bc < 0.0 or ca < 0.0):
        return 0, 0.0
    if from_p == 0.0 or from_q == 0.0 or ab == 0.0 or bc == 0.0 or ca == 0.0:
        return -1, 0.0
    return 1, from_p / (from_p - from_q)


@kernel
def _corners(scene: ContactScene, element: int, base: int, out: Indices, row: int) -> int:
    """out[row] ← corners of an element, indices into X; how many: 3 of a triangle, 2 of a single edge, 1 of a point."""
    for i in range(3):
        out[row, i] = scene.element_points[element, i] + base
    if scene.element_triangle[element] >= 0:
        return 3
    return 2 if scene.element_edges[element, 0] >= 0 else 1


@kernel
def _cross_elements(
    X: Array, x: Indices, mine: int, edges: int, pair: int, itself: bool, known: bool, crossed: Indices, where: Array,
    unsure: Indices, count: int,
) -> int:  # fmt: skip
    """The edges of element x[mine] against the triangle of the other; returns the new number of unsure rows.

    Where the two bodies are `known` to touch, what is unsure does not matter.
    """
    y = 1 - mine
    a, b, c = x[y, 0], x[y, 1], x[y, 2]
    for i in range(edges):
        p, q = x[mine, i], x[mine, (i + 1) % 3]
        if itself and (p in (a, b, c) or q in (a, b, c)):
            continue
        sign, t = _crosses(X, p, q, a, b, c)
        row = (pair, mine, p, q, a, b, c)
        if sign > 0:
            if crossed[pair, 0] == 0:
                for j in range(1, 7):
                    crossed[pair, j] = row[j]
                for j in range(3):
                    where[pair, j] = X[p, j] + t * (X[q, j] - X[p, j])
            crossed[pair, 0] += 1
        elif sign < 0 and not known:
            if count < len(unsure):
                for j in range(7):
                    unsure[count, j] = row[j]
            count += 1
    return count


@kernel
def _keep_nearest(squared: float, row: tuple[int, ...], pair: int, nearest: Indices, least: Array) -> None:
    if squared < least[pair]:
        least[pair] = squared
        for j in range(6):
            nearest[pair, j] = row[j]


@kernel
def _measure_elements(
    X: Array, x: Indices, m: int, n: int, edges_a: int, edges_b: int, pair: int, nearest: Indices, least: Array
) -> None:
    """Distances of the corners and edges of two elements with m and n corners."""
    for side in range(2):
        y = 1 - side
        for i in range(m if side == 0 else n):
            if (n if side == 0 else m) == 3:
                _, _, r0, r1, r2 = point_triangle(X, x[side, i], x[y, 0], x[y, 1], x[y, 2])
                kind, last = POINT_TRIANGLE, x[y, 2]
            else:
                _, r0, r1, r2 = point_edge(X, x[side, i], x[y, 0], x[y, 1])
                kind, last = POINT_EDGE, -1
            squared = r0 * r0 + r1 * r1 + r2 * r2
            _keep_nearest(squared, (kind, side, x[side, i], x[y, 0], x[y, 1], last), pair, nearest, least)
    for i in range(edges_a):
        for j in range(edges_b):
            x0, x1, x2, x3 = x[0, i], x[0, (i + 1) % 3], x[1, j], x[1, (j + 1) % 3]
            _, _, r0, r1, r2, _ = edge_edge(X, x0, x1, x2, x3)
            _keep_nearest(r0 * r0 + r1 * r1 + r2 * r2, (EDGE_EDGE, 0, x0, x1, x2, x3), pair, nearest, least)


@kernel
def _examine(
    scene: ContactScene, found: Indices, pairs: Indices, x_material: Indices, limit: Array, X: Array,
    crossed: Indices, where: Array, nearest: Indices, least: Array, unsure: Indices,
) -> int:  # fmt: skip
    """Crossing edges and least squared distances of near elements, by body pair; returns the number of unsure rows.

    limit (pairs,) is the distance at which two bodies count as touching. Rows of crossed: how many, side of the edge
    (0: a, 1: b), p, q, a, b, c;  of nearest: kind, side, x0 … x3;  of unsure: pair, side, p, q, a, b, c.
    """
    x_base, enabled = scene.x_base, scene.enabled
    x = np.empty((2, 3), np.int64)
    count = 0
    for k in range(len(found)):
        pair = found[k, 0]
        a, b = pairs[pair, 0], pairs[pair, 1]
        if a == b and found[k, 1] >= found[k, 2]:
            continue
        m = _corners(scene, found[k, 1], x_base[a], x, 0)
        n = _corners(scene, found[k, 2], x_base[b], x, 1)
        may_touch = True
        for i in range(m):
            for j in range(n):
                may_touch = may_touch and enabled[x_material[x[0, i]], x_material[x[1, j]]] != 0
        if not may_touch:
            continue
        edges_a, edges_b = 3 if m == 3 else m - 1, 3 if n == 3 else n - 1
        if a != b and least[pair] > 0.0:
            _measure_elements(X, x, m, n, edges_a, edges_b, pair, nearest, least)
        known = least[pair] <= limit[pair] * limit[pair]
        if n == 3:
            count = _cross_elements(X, x, 0, edges_a, pair, a == b, known, crossed, where, unsure, count)
        if m == 3:
            count = _cross_elements(X, x, 1, edges_b, pair, a == b, known, crossed, where, unsure, count)
    return count


def _exact_side(a: list[Fraction], b: list[Fraction], c: list[Fraction], p: list[Fraction]) -> int:
    """Sign of det(b − a, c − a, p − a)."""
    u, v, w = ([s - t for s, t in zip(point, a, strict=True)] for point in (b, c, p))
    normal = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
    value = sum(s * t for s, t in zip(w, normal, strict=True))
    return (value > 0) - (value < 0)


def _crosses_exactly(points: Array) -> bool:
    """Whether the edge points[:2] crosses the triangle points[2:], both at inner points."""
    p, q, a, b, c = ([Fraction(float(x)) for x in point] for point in points)
    if _exact_side(a, b, c, p) * _exact_side(a, b, c, q) >= 0:
        return False
    return {_exact_side(p, q, a, b), _exact_side(p, q, b, c), _exact_side(p, q, c, a)} in ({1}, {-1})


def positions(scene: ContactScene, Q: Array) -> Array:
    """X (x_count, 3): world positions of all surface vertices [m]."""
    body, v = _owners(scene)
    X: Array = Q[body, 0] + np.einsum("ni,nix->nx", scene.V[v], Q[body, 1:])
    return X


def _owners(scene: ContactScene) -> tuple[Indices, Indices]:
    """Body b and vertex v of every position in X."""
    counts = np.diff(scene.vertex_start)[scene.shape_of] * (scene.shape_of >= 0)
    body = np.repeat(np.arange(len(counts)), counts)
    return body, np.arange(scene.x_count) - scene.x_base[body]


def _materials(scene: ContactScene) -> Indices:
    """Contact element of every position in X."""
    body, v = _owners(scene)
    own = scene.vertex_material[v]
    return np.where(own >= 0, own, scene.material[body])


def find_meetings(scene: ContactScene, Q: Array, moved: Indices | None = None) -> list[Meeting]:
    """All body pairs whose surfaces intersect or are no farther apart than their thickness, or that hold each other.

    Q (n, 4, 3) are states as the solver keeps them. With `moved`, only pairs that one of these bodies belongs to.
    """
    if scene.x_count == 0:
        return []
    settled = np.zeros(len(Q), np.int64)  # two settled bodies need no look
    if moved is not None:
        settled[:] = 1
        settled[moved] = 0
    pairs = near_bodies(scene, Room(scene), settled, (_MARGIN - 0.5) * scene.d_hat, Q)
    found = _meetings(scene, pairs[pairs[:, 0] != pairs[:, 1]], Q)
    if moved is not None:
        return found
    # no affine map makes a body intersect itself that does not at rest: one body of each shape will do
    able = np.flatnonzero((scene.self_collides != 0) & (scene.shape_of >= 0))
    _, first = np.unique(scene.shape_of[able], return_index=True)
    at_rest = np.tile(np.vstack([np.zeros(3), np.eye(3)]), (len(Q), 1, 1))
    return found + _meetings(scene, np.stack([able[first], able[first]], axis=1), at_rest)


def _meetings(scene: ContactScene, pairs: Indices, Q: Array) -> list[Meeting]:
    if len(pairs) == 0:
        return []
    X = positions(scene, Q)
    a, b = pairs[:, 0], pairs[:, 1]
    thickness, d_hat = scene.barrier_of(a, b)
    reach, no_axis = thickness + 2.0 * _MARGIN * d_hat, np.zeros((len(pairs), 3))
    no_limit = np.full(len(pairs), math.inf)
    found, _ = near_elements(scene, Room(scene), pairs, reach, reach, no_limit, no_axis, X)
    limit = thickness + _TOUCH * np.abs(X).max()
    unsure = np.empty((1024, 7), np.int64)
    while True:
        crossed, where = np.zeros((len(pairs), 7), np.int64), np.zeros((len(pairs), 3))
        nearest, least = np.full((len(pairs), 6), -1), np.full(len(pairs), math.inf)
        count = _examine(
            scene, found, pairs, _materials(scene), limit, X, crossed, where, nearest, least, unsure
        )  # fmt: skip
        if count <= len(unsure):
            break
        unsure = np.empty((count, 7), np.int64)
    distance = np.sqrt(least)
    near = distance <= limit
    holder = _holders(scene, pairs, near | (crossed[:, 0] > 0), X)
    unsure = unsure[:count]
    for pair, *row in unsure[~near[unsure[:, 0]]].tolist():
        if crossed[pair, 0] == 0 and _crosses_exactly(X[row[1:]]):
            crossed[pair] = 1, *row
            where[pair] = X[row[1:]].mean(axis=0)
    return [
        Meeting(
            a=int(a[k]),
            b=int(b[k]),
            holder=int(holder[k]),
            crossings=int(crossed[k, 0]),
            edge_of=int(pairs[k, crossed[k, 1]]),
            edge=tuple(crossed[k, 2:4].tolist()),
            triangle=tuple(crossed[k, 4:].tolist()),
            point=tuple(where[k].tolist()),
            distance=0.0 if crossed[k, 0] else float(distance[k]),
            thickness=float(thickness[k]),
            kind=int(nearest[k, 0]),
            first_of=int(pairs[k, max(nearest[k, 1], 0)]),
            features=tuple(nearest[k, 2:].tolist()),
        )
        for k in np.flatnonzero(near | (crossed[:, 0] > 0) | (holder >= 0)).tolist()
    ]


def _holders(scene: ContactScene, pairs: Indices, meets: Flags, X: Array) -> Indices:
    """The body of each pair whose surfaces do not meet that has the other one inside, −1 if neither."""
    found = np.full(len(pairs), -1)
    body, material = _owners(scene)[0], _materials(scene)
    first = np.searchsorted(body, np.arange(len(scene.shape_of)))
    low, high = np.full((2, len(first), 3), math.nan)
    some = np.unique(body)
    low[some], high[some] = np.minimum.reduceat(X, first[some]), np.maximum.reduceat(X, first[some])
    for outer, inner in (pairs.T, pairs.T[::-1]):
        within = (low[outer] < low[inner]).all(axis=1) & (high[inner] < high[outer]).all(axis=1)
        for k in np.flatnonzero(within & ~meets).tolist():
            x, y = first[outer[k]], first[inner[k]]
            shape = scene.shapes[scene.shape_of[outer[k]]]
            if scene.enabled[material[x], material[y]] and holds(X[x:], shape.triangles, X[y]):
                found[k] = outer[k]
    return found


def find_sinkings(scene: ContactScene, Q: Array, moved: Indices | None = None) -> list[Sinking]:
    """All bodies (of `moved`, where given) with a vertex no higher above a half-plane than their thickness."""
    if len(scene.plane_point) == 0 or scene.x_count == 0:
        return []
    X = positions(scene, Q)
    body, material = _owners(scene)[0], _materials(scene)
    looked_at = np.ones(len(Q), bool)
    if moved is not None:
        looked_at[:] = False
        looked_at[moved] = True
    found = []
    for plane, (point, normal) in enumerate(zip(scene.plane_point, scene.plane_normal, strict=True)):
        height = (X - point) @ normal
        bad = (height <= scene.plane_thickness[body]) & (scene.enabled[material, scene.plane_material[plane]] != 0)
        meets = scene.subscenes[scene.subscene, scene.plane_subscene[plane]] != 0
        low = np.flatnonzero(bad & (looked_at & meets)[body])
        low = low[np.lexsort((height[low], body[low]))]
        _, first = np.unique(body[low], return_index=True)
        for x in low[first].tolist():
            b = int(body[x])
            found.append(Sinking(b, plane, x, float(height[x]), float(scene.plane_thickness[b])))
    return found
