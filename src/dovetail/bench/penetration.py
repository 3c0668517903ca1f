"""How deep bodies are in each other and in the ground, from poses alone, by separating axes of their convex pieces.

Two convex polyhedra overlap if their shadows overlap on the normals of their faces and on the cross products of their
edges; the depth is the least overlap. Exact for all shapes of the comparison, and shared by all engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.bench.scene import BenchScene, Shape
from dovetail.typing import Array, Indices

__all__ = ["deepest"]

_ROWS = 200_000  # axis tests at a time


@dataclass(frozen=True)
class _Piece:
    """A convex piece: corners (v, 3), directions of normals (a, 3) and edges (e, 3) without repetition, its ball."""

    corners: Array
    normals: Array
    edges: Array
    centre: Array
    radius: float


def _directions(vectors: Array) -> Array:
    """Unit vectors without repetition; opposite ones are the same."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    kept: list[Array] = []
    for vector in unit:
        if not any(abs(float(vector @ other)) > 1.0 - 1e-9 for other in kept):
            kept.append(vector)
    return np.array(kept)


def _piece(corners: Array) -> _Piece:
    from scipy.spatial import ConvexHull

    hull = ConvexHull(corners)
    faces: dict[tuple[float, ...], set[int]] = {}
    for equation, simplex in zip(hull.equations, hull.simplices, strict=True):
        faces.setdefault(tuple(np.round(equation, 9) + 0.0), set()).update(int(k) for k in simplex)
    found = list(faces.items())
    edges = []
    for i, (_, mine) in enumerate(found):
        for _, other in found[:i]:
            shared = sorted(mine & other)
            if len(shared) >= 2:
                edges.append(corners[shared[0]] - corners[shared[-1]])
    centre = corners.mean(axis=0)
    radius = float(np.linalg.norm(corners - centre, axis=1).max())
    return _Piece(
        corners, _directions(np.array([key[:3] for key in faces])), _directions(np.array(edges)), centre, radius
    )


def _pieces(shape: Shape) -> list[_Piece]:
    return [_piece(shape.vertices[piece]) for piece in shape.pieces]


def _overlaps(axes: Array, parts: list[tuple[_Piece, Array]]) -> Array:
    """Least overlap (k,) of the shadows of two pieces on axes (k, n, 3) under their poses; infinite without an axis."""
    length = np.linalg.norm(axes, axis=2, keepdims=True)
    parallel = length[..., 0] < 1e-6
    axes = axes / np.where(length < 1e-6, 1.0, length)
    shadows = []
    for piece, T in parts:
        corners = piece.corners @ T[..., :3].transpose(0, 2, 1) + T[:, None, :, 3]
        shadow = axes @ corners.transpose(0, 2, 1)
        shadows.append((shadow.min(axis=2), shadow.max(axis=2)))
    (low_a, high_a), (low_b, high_b) = shadows
    overlap = np.minimum(high_a - low_b, high_b - low_a)
    overlap[parallel] = np.inf
    return np.asarray(overlap.min(axis=1))


def _depths(a: _Piece, b: _Piece, A: Array, B: Array) -> Array:
    """Overlap (k,) of pieces a and b under poses A and B (k, 3, 4); 0 where they are apart."""
    # normals follow the inverse transpose: bodies of dovetail are sheared a little
    normals = [piece.normals @ np.linalg.inv(T[..., :3]) for piece, T in ((a, A), (b, B))]
    depth = _overlaps(np.concatenate(normals, axis=1), [(a, A), (b, B)])
    left = np.flatnonzero(depth > 0.0)
    if len(left):
        # few are not parted by a face: only they are looked at along their edges
        A, B = A[left], B[left]
        edges = [piece.edges @ T[..., :3].transpose(0, 2, 1) for piece, T in ((a, A), (b, B))]
        crossed = np.cross(edges[0][:, :, None], edges[1][:, None]).reshape(len(left), -1, 3)
        depth[left] = np.minimum(depth[left], _overlaps(crossed, [(a, A), (b, B)]))
    return np.maximum(depth, 0.0)


def _near(scene: BenchScene, pose: Array) -> Indices:
    """Pairs of bodies (k, 2) whose balls overlap; both fixed left out."""
    from scipy.spatial import cKDTree

    radii = np.array([shape.radius for shape in scene.shapes])[scene.shape_of]
    centres = pose[:, :, 3]
    # large bodies are few: they are compared with everyone
    large = radii > 2.0 * np.median(radii)
    small = np.flatnonzero(~large)
    pairs = small[cKDTree(centres[small]).query_pairs(2.0 * float(radii[small].max()), output_type="ndarray")]
    found = [pairs.reshape(-1, 2)]
    for body in np.flatnonzero(large):
        others = np.flatnonzero(np.arange(scene.count) != body)
        found.append(np.stack([np.full(len(others), body), others], axis=1))
    every = np.concatenate(found)
    distance = np.linalg.norm(centres[every[:, 0]] - centres[every[:, 1]], axis=1)
    reach = radii[every[:, 0]] + radii[every[:, 1]]
    moving = (scene.fixed[every] == 0).any(axis=1)
    return np.asarray(every[(distance < reach) & moving])


def _between(scene: BenchScene, pieces: list[list[_Piece]], pose: Array) -> float:
    """Deepest overlap of two bodies in one frame."""
    pairs = _near(scene, pose)
    if scene.joints is not None:
        joined = {frozenset(p) for p in zip(scene.joints.left.tolist(), scene.joints.right.tolist(), strict=True)}
        pairs = pairs[[frozenset(p) not in joined for p in pairs.tolist()]]
    kinds = scene.shape_of[pairs]
    deepest = 0.0
    for s, t in np.unique(kinds, axis=0).tolist():
        chosen = pairs[(kinds == (s, t)).all(axis=1)]
        for a in pieces[s]:
            for b in pieces[t]:
                A, B = pose[chosen[:, 0]], pose[chosen[:, 1]]
                far = np.linalg.norm(_place(A, a.centre) - _place(B, b.centre), axis=1) > a.radius + b.radius
                A, B = A[~far], B[~far]
                rows = max(1, _ROWS // ((len(a.edges) + 1) * (len(b.edges) + 1)))
                for k in range(0, len(A), rows):
                    deepest = max(deepest, float(_depths(a, b, A[k : k + rows], B[k : k + rows]).max()))
    return deepest


def _place(T: Array, point: Array) -> Array:
    return np.asarray(T[..., :3] @ point + T[..., 3])


def _in_ground(scene: BenchScene, pose: Array) -> float:
    """How far the lowest vertex of any moving body is below z = 0."""
    lowest = 0.0
    for s, shape in enumerate(scene.shapes):
        bodies = np.flatnonzero((scene.shape_of == s) & (scene.fixed == 0))
        if len(bodies):
            z = np.einsum("nj,vj->nv", pose[bodies, 2, :3], shape.vertices) + pose[bodies, 2, 3:]
            lowest = min(lowest, float(z.min()))
    return -lowest


def deepest(scene: BenchScene, poses: Array) -> dict[str, Any]:
    """Deepest overlap [m] of two bodies and of a body with the ground, over frames of poses (f, n, 3, 4).

    Frames with numbers that are not finite are left out. A scene without contact has none.
    """
    if not scene.contact:
        return {"bodies": None, "ground": None}
    pieces = [_pieces(shape) for shape in scene.shapes]
    whole = [pose for pose in poses if np.isfinite(pose).all()]
    return {
        "bodies": max((_between(scene, pieces, pose) for pose in whole), default=0.0),
        "ground": max((_in_ground(scene, pose) for pose in whole), default=0.0),
    }
