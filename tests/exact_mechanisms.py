"""Mechanisms with exact joints, and how far these are open."""

from __future__ import annotations

import numpy as np
from joint_scenes import Bench

from dovetail.constitution import (
    AffineBodyFixedJoint,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodySphericalJoint,
)

__all__ = [
    "CLOSED",
    "HALF",
    "MECHANISMS",
    "G",
    "bricard",
    "chain",
    "chain_by_blocks",
    "four_bars",
    "largest",
    "mixed",
    "tree",
]

G = (0, 0, -9.81)
HALF = np.array([0.0, 0.02, 0.0])

CLOSED = 1e-9
"""[m, rad] The promise; residuals are brought below 1e-12, over hinges as short as 0.02 m that is 5e-11 rad."""


def chain(dt=0.01, links=100, gamma=np.inf, **config):
    """Links of 0.1 m, hinged end to end about y, that fall from the horizontal."""
    bench = Bench({"dt": dt, **config}, gravity=G)
    base = bench.box("base", (0.1, 0.02, 0.02), (-0.05, 0, 0), fixed=True)
    slot = bench.box("links", (0.1, 0.02, 0.02), [(0.1 * k + 0.05, 0, 0) for k in range(links)])
    pins = np.array([[0.1 * k, 0, 0] for k in range(links)])
    bodies = [base, *((slot, k) for k in range(links))]
    half = HALF / 2
    return bench, [
        bench.join(AffineBodyRevoluteJoint, bodies[:-1], bodies[1:], pins - half, pins + half, strength=gamma)
    ]


def chain_by_blocks(dt):
    """The same with the other shape energy, which keeps it from the sweep over trees."""
    bench = Bench({"dt": dt}, gravity=G)
    base = bench.box("base", (0.1, 0.02, 0.02), (-0.05, 0, 0), fixed=True)
    slot = bench.box("links", (0.1, 0.02, 0.02), [(0.1 * k + 0.05, 0, 0) for k in range(100)], potential="ARAP")
    pins = np.array([[0.1 * k, 0, 0] for k in range(100)])
    bodies = [base, *((slot, k) for k in range(100))]
    hinges = bench.join(AffineBodyRevoluteJoint, bodies[:-1], bodies[1:], pins - HALF, pins + HALF, strength=np.inf)
    return bench, [hinges]


def tree(dt):
    """A binary tree of spherical joints, five generations, that swings from its root."""
    bench = Bench({"dt": dt}, gravity=G)
    root = bench.box("root", (0.1, 0.1, 0.1), fixed=True)
    places = [(0.0, 0.0)]
    for generation in range(1, 5):
        places += [(2.0 * k - 2**generation + 1, float(generation)) for k in range(2**generation)]
    centres = np.array([(0.3 * g + 0.15, 0.1 * y, 0.0) for y, g in places])
    slot = bench.box("twigs", (0.2, 0.05, 0.05), centres)
    bodies = [(slot, k) for k in range(len(places))]
    parents = [root, *(bodies[(k - 1) // 2] for k in range(1, len(places)))]
    return bench, [bench.join(AffineBodySphericalJoint, parents, bodies, centres - (0.15, 0, 0), strength=np.inf)]


def four_bars(dt, count=2, gamma=np.inf, **config):
    """IFToMM A02: rods of 1 kg and 1 m in a row of four-bars, over-constrained, through the flat position."""
    bench = Bench({"dt": dt, **config}, gravity=(0, -9.81, 0))
    base = bench.rigid("base", fixed=True)
    upright = {"inertia": (1 / 12, 0.01, 1 / 12), "centre": (0, 0.5, 0), "spin": (0, 0, -1)}
    level = {"inertia": (0.01, 1 / 12, 1 / 12), "velocity": (1, 0, 0)}
    posts = [bench.rigid(f"post {k}", at=(k, 0, 0), **upright) for k in range(count + 1)]
    bars = [bench.rigid(f"bar {k}", at=(k + 0.5, 1, 0), **level) for k in range(count)]
    left, right = [base] * (count + 1), list(posts)
    pins = [(k, 0, 0) for k in range(count + 1)]
    for k in range(count):
        left += [posts[k], bars[k]]
        right += [bars[k], posts[k + 1]]
        pins += [(k, 1, 0), (k + 1, 1, 0)]
    up = np.array([0, 0, 0.5])
    return bench, [bench.join(AffineBodyRevoluteJoint, left, right, pins - up, pins + up, strength=gamma)], posts


def bricard(dt):
    """Bricard's linkage with three planes of symmetry: six bars along edges of a cube, six hinges, one motion.

    A count of motions says none: 6·5 − 6·5 = 0. It moves because two constraints depend on the others.
    """
    bench = Bench({"dt": dt}, gravity=G)
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1.0]])
    along = np.roll(corners, -1, axis=0) - corners
    bars = [
        bench.box(f"bar {k}", 0.9 * np.abs(along[k]) + 0.1, corners[k] + along[k] / 2, fixed=k == 0) for k in range(6)
    ]
    half = 0.1 * np.cross(np.roll(along, 1, axis=0), along)
    hinges = bench.join(
        AffineBodyRevoluteJoint, np.roll(np.array(bars, object), 1).tolist(), bars, corners - half, corners + half,
        strength=np.inf,
    )  # fmt: skip
    return bench, [hinges]


def mixed(dt):
    """A chain of all four kinds of joints, of which every other one yields."""
    bench = Bench({"dt": dt}, gravity=G)
    base = bench.box("base", (0.1, 0.1, 0.1), fixed=True)
    links = bench.box("links", (0.2, 0.05, 0.05), [(0.25 * k + 0.2, 0, 0) for k in range(8)])
    bodies = [base, *((links, k) for k in range(8))]
    joined = []
    for k, kind in enumerate(
        2 * (AffineBodyRevoluteJoint, AffineBodyPrismaticJoint, AffineBodySphericalJoint, AffineBodyFixedJoint)
    ):
        pin = np.array([0.25 * k + 0.075, 0, 0])
        points = {"edge": [pin, pin + np.array([0.05, 0.02, 0.01])], "vertex": [pin]}[kind.element]
        strength = np.inf if k % 4 < 2 else 1e3
        joined.append(bench.join(kind, [bodies[k]], [bodies[k + 1]], *points, strength=strength, name=f"joint {k}"))
    return bench, [j for j in joined if np.isinf(j["strength_ratio"]).all()]


MECHANISMS = {
    "chain": (chain, 0.8),
    "chain by blocks": (chain_by_blocks, 0.8),
    "tree": (tree, 0.8),
    "A02": (lambda dt: four_bars(dt)[:2], 1.2),
    "Bricard": (bricard, 0.8),
    "mixed": (mixed, 0.8),
}


def largest(joined):
    return max(max(j["gap"].max(), j["misalignment"].max()) for j in joined)
