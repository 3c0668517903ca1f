"""An independent test whether surfaces intersect, exact for the float64 coordinates of a state.

    assert_apart(scene)    after `world.retrieve()`: no two bodies of the scene touch or cross, none is inside another,
                           all are above the half-planes and none is turned inside out

It shares nothing with the solver: surfaces are read from the geometries, and every edge of a mesh is tested
against every triangle of the others. Signs of determinants are those of exact arithmetic: a float64 value decides
where it exceeds its error bound, integers decide elsewhere. Surfaces that share a single point count as
intersecting.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from dovetail import Scene
from dovetail.geometry import SimplicialComplex

__all__ = ["Surface", "assert_apart", "crossings", "is_inside", "orientation", "surfaces", "touches"]

# Shewchuk's bound on the error of the 3×3 determinant of differences, relative to the same sum with absolute values
_BOUND = (7.0 + 56.0 * 2.0**-53) * 2.0**-53


@dataclass(frozen=True)
class Surface:
    """One body: its name, world positions (n, 3), triangles (t, 3), edges (e, 2); whether it encloses a volume."""

    name: str
    points: np.ndarray
    triangles: np.ndarray
    edges: np.ndarray
    is_solid: bool


def surfaces(scene: Scene) -> list[Surface]:
    """The surfaces of all bodies of a scene at their transforms."""
    found = []
    for slot, _ in scene.geometries:
        geometry = slot.geometry
        if not isinstance(geometry, SimplicialComplex) or geometry.meta.find("abd_mass") is None:
            continue
        triangles, edges = _mesh(geometry)
        solid = len(triangles) > 0 and geometry.meta.find("is_codim") is None
        for k, T in enumerate(geometry.transforms.values):
            assert np.linalg.det(T[:3, :3]) > 0, f"instance {k} of '{slot.object_name}' is turned inside out"
            points = geometry.positions.values @ T[:3, :3].T + T[:3, 3]
            found.append(Surface(f"{slot.object_name}[{k}]", points, triangles, edges, solid))
    return found


def _mesh(geometry: SimplicialComplex) -> tuple[np.ndarray, np.ndarray]:
    """Surface triangles and all edges of a mesh of tetrahedra, triangles or lines."""
    if geometry.dim() == 3:
        tets = geometry.tetrahedra.topo.values
        faces = tets[:, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]].reshape(-1, 3)
        _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
        triangles = faces[first[count == 1]]
    else:
        triangles = geometry.triangles.topo.values
    sides = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2) if geometry.dim() > 1 else geometry.edges.topo.values
    return triangles.astype(np.int64), np.unique(np.sort(sides, axis=1), axis=0).astype(np.int64)


# ---- signs -----------------------------------------------------------------------------------------------------


def orientation(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Exact signs (n,) of det[a − d, b − d, c − d] for points (n, 3): on which side of the plane abc the point d is."""
    u, v, w = a - d, b - d, c - d
    minors = [(v[:, i] * w[:, j], v[:, j] * w[:, i]) for i, j in ((1, 2), (2, 0), (0, 1))]
    det = sum(u[:, k] * (p - q) for k, (p, q) in enumerate(minors))
    size = sum(np.abs(u[:, k]) * (np.abs(p) + np.abs(q)) for k, (p, q) in enumerate(minors))
    sign = np.sign(det).astype(np.int64)
    for k in np.flatnonzero(np.abs(det) <= _BOUND * size):
        sign[k] = _exact_sign(*(_rational(p[k]) for p in (a, b, c, d)))
    return sign


def _rational(point: np.ndarray) -> list[Fraction]:
    return [Fraction(float(x)) for x in point]


def _exact_sign(a: list[Fraction], b: list[Fraction], c: list[Fraction], d: list[Fraction]) -> int:
    u, v, w = ([x - y for x, y in zip(p, d, strict=True)] for p in (a, b, c))
    det = u[0] * (v[1] * w[2] - v[2] * w[1]) + u[1] * (v[2] * w[0] - v[0] * w[2]) + u[2] * (v[0] * w[1] - v[1] * w[0])
    return (det > 0) - (det < 0)


# ---- an edge and a triangle ------------------------------------------------------------------------------------


def touches(p: np.ndarray, q: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Whether the segments pq and the triangles abc, all (n, 3), have a point in common."""
    over, under = orientation(a, b, c, p), orientation(a, b, c, q)
    result = np.zeros(len(p), bool)
    through = np.flatnonzero((over * under <= 0) & ((over != 0) | (under != 0)))
    p_, q_, a_, b_, c_ = (x[through] for x in (p, q, a, b, c))
    turns = np.stack([orientation(p_, q_, x, y) for x, y in ((a_, b_), (b_, c_), (c_, a_))])
    result[through] = (turns >= 0).all(axis=0) | (turns <= 0).all(axis=0)
    for k in np.flatnonzero((over == 0) & (under == 0)):
        result[k] = _touches_in_plane(*(_rational(x[k]) for x in (p, q, a, b, c)))
    return result


def _touches_in_plane(p: Any, q: Any, a: Any, b: Any, c: Any) -> bool:
    """The same where all five points lie in one plane: seen along an axis in which the triangle has an area."""
    for i, j in ((1, 2), (2, 0), (0, 1)):
        P, Q, A, B, C = ((x[i], x[j]) for x in (p, q, a, b, c))
        if _turn(A, B, C) != 0:
            sides = ((A, B), (B, C), (C, A))
            inside = any(len({_turn(*side, x) for side in sides} - {0}) <= 1 for x in (P, Q))
            return inside or any(_segments_meet(P, Q, *side) for side in sides)
    raise ValueError(f"a triangle without an area: {[[float(x) for x in corner] for corner in (a, b, c)]}")


def _turn(a: Any, b: Any, c: Any) -> int:
    area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    return (area > 0) - (area < 0)


def _segments_meet(p: Any, q: Any, a: Any, b: Any) -> bool:
    """Whether two segments of a plane have a point in common."""
    if _turn(p, q, a) * _turn(p, q, b) > 0 or _turn(a, b, p) * _turn(a, b, q) > 0:
        return False
    return all(
        max(min(p[k], q[k]), min(a[k], b[k])) <= min(max(p[k], q[k]), max(a[k], b[k])) for k in range(2)
    )  # decides where all four are on one line, and is necessary elsewhere


# ---- bodies ----------------------------------------------------------------------------------------------------


def _boxes(points: np.ndarray, simplices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    corners = points[simplices]
    return corners.min(axis=1), corners.max(axis=1)


def _near(a: Surface, b: Surface) -> np.ndarray:
    """Corners (5, n, 3) of the edges of a and triangles of b whose boxes overlap."""
    low, high = np.maximum(a.points.min(0), b.points.min(0)), np.minimum(a.points.max(0), b.points.max(0))
    if (low > high).any() or not len(b.triangles):
        return np.zeros((5, 0, 3))
    edge_low, edge_high = _boxes(a.points, a.edges)
    side_low, side_high = _boxes(b.points, b.triangles)
    e = np.flatnonzero(((edge_low <= high) & (edge_high >= low)).all(axis=1))
    t = np.flatnonzero(((side_low <= high) & (side_high >= low)).all(axis=1))
    overlap = np.ones((len(e), len(t)), bool)
    for x in range(3):
        overlap &= edge_low[e, None, x] <= side_high[None, t, x]
        overlap &= edge_high[e, None, x] >= side_low[None, t, x]
    i, j = np.nonzero(overlap)
    return np.concatenate([a.points[a.edges[e[i]].T], b.points[b.triangles[t[j]].T]])


def crossings(bodies: list[Surface], ignored: Collection[frozenset[str]] = ()) -> list[tuple[str, str]]:
    """Names of all pairs of bodies whose surfaces have a point in common."""
    pairs, corners = [], []
    for one, other in combinations(bodies, 2):
        if frozenset((one.name, other.name)) in ignored:
            continue
        for a, b in ((one, other), (other, one)):
            found = _near(a, b)
            corners.append(found)
            pairs += [(one.name, other.name)] * found.shape[1]
    if not pairs:
        return []
    hit = touches(*np.concatenate(corners, axis=1))
    return sorted({pairs[k] for k in np.flatnonzero(hit)})


def is_inside(point: np.ndarray, body: Surface) -> bool:
    """Whether a point off the surface is enclosed by it: the triangles' solid angles add up to 4π, or to 0."""
    r = body.points[body.triangles] - point
    length = np.linalg.norm(r, axis=2)
    a, b, c = r[:, 0], r[:, 1], r[:, 2]
    volume = np.einsum("ni,ni->n", a, np.cross(b, c))
    dots = [np.einsum("ni,ni->n", x, y) for x, y in ((a, b), (b, c), (c, a))]
    along = length.prod(axis=1) + dots[0] * length[:, 2] + dots[1] * length[:, 0] + dots[2] * length[:, 1]
    return bool(abs(2.0 * np.arctan2(volume, along).sum()) > 2.0 * np.pi)


def _enclosed(bodies: list[Surface], ignored: Collection[frozenset[str]]) -> list[tuple[str, str]]:
    """Pairs (inner, outer); one vertex tells where surfaces do not cross."""
    found = []
    for outer in bodies:
        if not outer.is_solid:
            continue
        low, high = outer.points.min(axis=0), outer.points.max(axis=0)
        for inner in bodies:
            if inner is outer or not len(inner.edges) or frozenset((inner.name, outer.name)) in ignored:
                continue
            point = inner.points[inner.edges[0, 0]]
            if (point >= low).all() and (point <= high).all() and is_inside(point, outer):
                found.append((inner.name, outer.name))
    return found


def assert_apart(scene: Scene, ignored: Collection[frozenset[str]] = (), planes: bool = True) -> None:
    """No two surfaces meet, no body is inside another, every vertex is above every half-plane.

    `ignored` are pairs of names like "box[0]" that need not be apart.
    """
    bodies = surfaces(scene)
    assert bodies, "there is nothing to check"
    crossing = crossings(bodies, ignored)
    assert not crossing, f"surfaces intersect: {crossing}"
    enclosed = _enclosed(bodies, ignored)
    assert not enclosed, f"bodies are inside others: {enclosed}"
    if not planes:
        return
    for slot, _ in scene.geometries:
        if slot.geometry.type() != "ImplicitGeometry":
            continue
        instances = slot.geometry.instances
        for P, N in zip(instances.slot("P").values, instances.slot("N").values, strict=True):
            for body in bodies:
                if not len(body.edges):
                    continue  # the frame that joints to the world are on
                height = ((body.points[np.unique(body.edges)] - P) @ N).min()
                assert height > 0.0, f"{body.name} is {-height:.3g} m below '{slot.object_name}'"
