"""Boxes, a ball and a ring: surfaces that are unions of convex pieces, so that every engine can have the same ones."""

from __future__ import annotations

import numpy as np

from dovetail.bench.scene import Shape
from dovetail.typing import Array, Indices

__all__ = ["ball", "box", "ring"]

_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_SIDES = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])


def _cut(quads: Indices) -> Indices:
    """Two triangles of every quadrilateral."""
    return np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])


def box(x: float, y: float, z: float) -> Shape:
    """Edge lengths [m]."""
    size = np.array([x, y, z])
    return Shape("box", _CORNERS * size, _cut(_SIDES), (np.arange(8),), size)


def ball(radius: float) -> Shape:
    """An icosahedron with every triangle cut into four, corners on the sphere."""
    golden = (1 + 5**0.5) / 2
    corners = [(0, s, t * golden) for s in (-1, 1) for t in (-1, 1)]
    points = np.array([np.roll(corner, k) for k in range(3) for corner in corners], float)
    # the faces of an icosahedron of edge 2 are the triples of corners that are 2 apart from each other
    near = np.abs(np.linalg.norm(points[:, None] - points[None], axis=2) - 2.0) < 1e-9
    triples = [
        (i, j, k) for i in range(12) for j in range(i) for k in range(j) if near[i, j] and near[j, k] and near[i, k]
    ]
    faces = np.array([_outward(points, np.array(triple)) for triple in triples])
    sides = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    edges, of_side = np.unique(sides, axis=0, return_inverse=True)
    a, b, c = faces.T
    ab, bc, ca = (12 + of_side).reshape(-1, 3).T
    cut = np.concatenate([np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
    points = np.concatenate([points, points[edges].mean(axis=1)])
    points *= radius / np.linalg.norm(points, axis=1, keepdims=True)
    return Shape("ball", points, cut, (np.arange(len(points)),))


def _outward(points: Array, triple: Indices) -> Indices:
    a, b, c = points[triple]
    return triple if np.dot(np.cross(b - a, c - a), a + b + c) > 0 else triple[[0, 2, 1]]


def ring(middle: float, thickness: float, sides: int = 8) -> Shape:
    """A polygon of straight bars with a square section, about y; `middle` is the distance of a bar's axis [m].

    The middle of one bar is on +x. Every bar is a convex piece.
    """
    angle = 2 * np.pi * (np.arange(sides) + 0.5) / sides
    stretch = 1.0 / np.cos(np.pi / sides)
    inner, outer = (middle - thickness / 2) * stretch, (middle + thickness / 2) * stretch
    h = thickness / 2
    section = [(inner, -h), (outer, -h), (outer, h), (inner, h)]
    points = np.array([[r * np.cos(t), y, r * np.sin(t)] for t in angle for r, y in section])
    here, there = np.arange(sides), (np.arange(sides) + 1) % sides
    quads = np.concatenate(
        [
            np.stack([4 * here + k, 4 * there + k, 4 * there + (k + 1) % 4, 4 * here + (k + 1) % 4], axis=1)
            for k in range(4)
        ]
    )
    pieces = tuple(
        np.concatenate([4 * i + np.arange(4), 4 * j + np.arange(4)]) for i, j in zip(here, there, strict=True)
    )
    shape = Shape("ring", points, _cut(quads), pieces)
    return shape if shape.volume > 0 else Shape("ring", points, _cut(quads)[:, ::-1].copy(), pieces)
