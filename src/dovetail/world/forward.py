"""Forward kinematics of trees: every joint moves what hangs on it by a screw motion of its own.

For rates of its coordinates a joint gives its child a twist relative to its parent, which is constant in the parent's
frame where the joint has one coordinate: the exponential of the twist is the whole way. Of joints with several
coordinates it is the beginning of it.
"""

from __future__ import annotations

import numpy as np

from dovetail.typing import Array, Flags, Indices

__all__ = ["Branch", "branches", "composed", "screw", "turned"]

Branch = tuple[int, int, int]
"""A joint, its parent and its child."""


def branches(joints: Indices, pairs: Indices, free: Flags) -> list[Branch] | None:
    """Joints (k,) between pairs of bodies from the root on; None where they form loops. Fixed bodies are the root."""
    ends = [tuple(int(b) if free[b] else -1 for b in pair) for pair in pairs]
    at: dict[int, list[int]] = {}
    for k, pair in enumerate(ends):
        for b in pair:
            at.setdefault(b, []).append(k)
    found: list[Branch] = []
    reached = {-1 if -1 in at else next(iter(at), -1)}
    todo, used = list(reached), set[int]()
    while todo:
        parent = todo.pop()
        for k in at.get(parent, ()):
            if k in used:
                continue
            used.add(k)
            side = ends[k].index(parent)
            child = ends[k][1 - side]
            if child in reached:
                return None
            reached.add(child)
            todo.append(child)
            found.append((int(joints[k]), int(pairs[k][side]), child))
    return found if len(found) == len(joints) else None


def turned(w: Array, vectors: Array) -> Array:
    """Vectors (…, 3) turned about w (…, 3) by its length (Rodrigues)."""
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    small = angle < 1e-4  # series, exact to 1e-17
    safe = np.where(small, 1.0, angle)
    s = np.where(small, 1.0 - angle**2 / 6.0, np.sin(safe) / safe)
    c = np.where(small, 0.5 - angle**2 / 24.0, (1.0 - np.cos(safe)) / safe**2)
    once = np.cross(w, vectors)
    return np.asarray(vectors + s * once + c * np.cross(w, once))


def screw(v: Array, w: Array, p: Array) -> tuple[Array, Array]:
    """The rotation R and shift t, x → R x + t, of the screw motion with spin w, and velocity v of what is at p."""
    R = turned(w[None], np.eye(3)).T
    angle = float(np.linalg.norm(w))
    if angle < 1e-12:
        return R, v
    axis = w / angle
    along = axis * (axis @ v)
    centre = p + np.cross(axis, v) / angle  # of a point on the axis: the velocity across it is w × (p − centre)
    return R, np.asarray(centre + along - R @ centre)


def composed(first: tuple[Array, Array], second: tuple[Array, Array]) -> tuple[Array, Array]:
    """The motion `second`, and then `first`."""
    return first[0] @ second[0], first[0] @ second[1] + first[1]
