"""What an examination measures on a triangle mesh: edges, components, and how thick its walls are."""

from __future__ import annotations

import numpy as np

from dovetail.typing import Array, Indices

__all__ = ["DirectedEdges", "Wall", "components", "merged", "signed_volume", "thinnest"]

_SAMPLES = 1500


class DirectedEdges:
    """The sides of all triangles, grouped by their two vertices.

    open (k, 2)       belong to one triangle
    clashing (k, 2)   two triangles run through them in the same sense
    crowded (k, 2)    belong to more than two triangles
    """

    def __init__(self, triangles: Indices) -> None:
        directed = triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
        edges, place = np.unique(np.sort(directed, axis=1), axis=0, return_inverse=True)
        place = place.reshape(-1)
        counts = np.bincount(place, minlength=len(edges))
        balance = np.bincount(place, np.where(directed[:, 0] < directed[:, 1], 1.0, -1.0), len(edges))
        self.open = edges[counts == 1]
        self.clashing = edges[(counts == 2) & (balance != 0)]
        self.crowded = edges[counts > 2]


def merged(points: Array, triangles: Indices, within: float) -> tuple[Array, Indices]:
    """The mesh with vertices that are no farther than `within` [m] made one; triangles that collapse are dropped."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    pairs = cKDTree(points).query_pairs(within, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(points), len(points)))
    count, place = connected_components(graph, directed=False)
    joined = np.zeros((count, 3))
    joined[place] = points
    moved = place[triangles]
    distinct = (moved[:, 0] != moved[:, 1]) & (moved[:, 1] != moved[:, 2]) & (moved[:, 2] != moved[:, 0])
    return joined, moved[distinct]


def components(count: int, triangles: Indices) -> int:
    """How many parts of the surface hang together by their vertices."""
    label = np.arange(count)
    while True:
        least = label[triangles].min(axis=1)
        before = label.copy()
        for corner in range(3):
            np.minimum.at(label, triangles[:, corner], least)
        label = label[label]  # halves the way to the root
        if (label == before).all():
            return len(np.unique(label[np.unique(triangles)]))


def signed_volume(points: Array, triangles: Indices) -> float:
    """Positive where triangles run counter-clockwise seen from outside [m³]."""
    a, b, c = (points[triangles[:, k]] - points.mean(axis=0) for k in range(3))
    return float(np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0)


class Wall:
    """The nearest pair of facing surfaces: how far apart [m], and where."""

    def __init__(self, distance: float, place: Array) -> None:
        self.distance, self.place = distance, place


def thinnest(points: Array, triangles: Indices, outward: bool) -> Wall | None:
    """The thinnest wall, or with `outward` the narrowest slot, seen along normals from the middles of triangles.

    A ray counts where it meets a triangle that faces it, so that neighbours around an edge do not; of many triangles
    some are taken, evenly.
    """
    mesh = _Targets(points, triangles)
    chosen = mesh.sound[:: max(1, len(mesh.sound) // _SAMPLES)]
    best = Wall(np.inf, np.zeros(3))
    for start, normal in zip(mesh.middle[chosen], mesh.unit[chosen], strict=True):
        distance = mesh.hit(start, normal if outward else -normal, best.distance)
        if distance < best.distance:
            best = Wall(distance, start)
    return best if np.isfinite(best.distance) else None


class _Targets:
    """Triangles that rays are sent at."""

    def __init__(self, points: Array, triangles: Indices) -> None:
        self._a, self._b, self._c = (points[triangles[:, k]] for k in range(3))
        normals = np.cross(self._b - self._a, self._c - self._a)
        area = np.linalg.norm(normals, axis=1)
        self.sound = np.flatnonzero(area > 1e-12 * area.max(initial=0.0))
        self.unit = normals / np.where(area > 0, area, 1.0)[:, None]
        self.middle = (self._a + self._b + self._c) / 3
        corners = np.stack([self._a, self._b, self._c]) - self.middle
        self._reach = np.linalg.norm(corners, axis=2).max(axis=0)
        self._least = 1e-9 * float(np.linalg.norm(np.ptp(points, axis=0)))

    def hit(self, start: Array, way: Array, nearest: float) -> float:
        """How far a ray goes until it meets a triangle that looks back at it; inf where that is beyond `nearest`."""
        ahead = self.middle - start
        along = ahead @ way
        aside = np.einsum("ti,ti->t", ahead, ahead) - along**2
        near = (aside <= self._reach**2 * (1 + 1e-9)) & (along > -self._reach) & (along - self._reach < nearest)
        # 60°: walls that look at each other at a sharper angle meet in an edge, where there is no thickness
        near &= np.abs(self.unit @ way) > 0.5
        chosen = np.flatnonzero(near)
        a = self._a[chosen]
        e1, e2 = self._b[chosen] - a, self._c[chosen] - a
        p = np.cross(way, e2)
        det = np.einsum("ti,ti->t", e1, p)
        s = start - a
        q = np.cross(s, e1)
        u, v, t = np.einsum("ti,ti->t", s, p) / det, q @ way / det, np.einsum("ti,ti->t", e2, q) / det
        met = (u >= 0) & (v >= 0) & (u + v <= 1) & (t > self._least)
        return float(t[met].min(initial=np.inf))
