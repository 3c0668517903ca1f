"""Bodies that touch where they are put, set a hair apart: a box at half its height on the ground, a stack of bricks.

A barrier needs a distance, however small, and rounding decides whether things that are meant to touch have one. Each
pair that touches, or overlaps by at most δ = 0.1 d̂, gets a direction n in which its bodies part, and moves t (least in
sum) are sought that leave δ between all of them:

    n · (t_b − t_a) ≥ δ − g        g the gap along n, negative where they overlap

Bodies that joints connect move together; those that are fixed, or hang on something fixed, stay. n is the normal of
either surface near the other along which they overlap least. What overlaps more, or cannot get out of the way, is left
as it is, for the sanity checks to refuse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.solver.contact.intersection import Meeting, find_meetings, find_sinkings, positions
from dovetail.solver.contact.scene import ContactScene
from dovetail.typing import Array, Flags, Indices

__all__ = ["moves_apart"]

_SHARE = 0.1
"""δ by d̂: a tenth of what a body at rest keeps at most, and far more than rounding in files of single precision."""
_ROUNDS = 8  # moves may bring others together
_MOST = 1 << 24  # products of a vertex and a normal; a pair of finer surfaces is not looked at


class _Touch(NamedTuple):
    """Body b (or a half-plane, −1) is the gap [m] away from body a along n, from a to b; δ [m] is wanted."""

    a: int
    b: int
    n: Array
    gap: float
    delta: float


def moves_apart(scene: ContactScene, Q: Array, may_move: Flags, joined: Indices) -> Array | None:
    """Moves (n, 3) [m] after which nothing touches what may move; None where nothing does, or there is no way.

    Q (n, 4, 3) are states, joined (k, 2) the pairs of bodies that share a joint.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(Q)
    links = coo_array((np.ones(len(joined)), (joined[:, 0], joined[:, 1])), (n, n))
    count, group = connected_components(links, directed=False)
    is_free = np.ones(count, bool)
    np.logical_and.at(is_free, group, may_move)
    moves = np.zeros((count, 3))
    known: list[tuple[int, int, Array, float]] = []
    for _ in range(_ROUNDS):
        Q_now = Q.copy()
        Q_now[:, 0] += moves[group]
        touching = _touching(scene, Q_now, is_free[group])
        if touching is None:
            return None
        if not touching:
            return moves[group] if known else None
        for touch in touching:
            a, b = group[touch.a], group[touch.b] if touch.b >= 0 else -1
            apart = touch.n @ ((moves[b] if b >= 0 else 0.0) - moves[a])
            known.append((a, b, touch.n, apart + touch.delta - touch.gap))
        found = _least_moves(known, is_free)
        if found is None:
            return None
        moves = found
    return None


def _touching(scene: ContactScene, Q: Array, is_free: Flags) -> list[_Touch] | None:
    """All that touches and can move; None where something is in the way that these moves are not for."""
    X, free = positions(scene, Q), np.flatnonzero(is_free)
    found = []
    for s in find_sinkings(scene, Q, free):
        normal, delta = -scene.plane_normal[s.plane], _SHARE * float(scene.d_hat[s.body])
        found.append(_Touch(s.body, -1, normal, s.height - s.thickness, delta))
    for m in find_meetings(scene, Q, free):
        touch = _parting(scene, m, X) if m.holder < 0 else None
        if touch is None:
            return None
        found.append(touch)
    return found if all(touch.gap >= -touch.delta for touch in found) else None


def _parting(scene: ContactScene, m: Meeting, X: Array) -> _Touch | None:
    """Along which of their normals two bodies overlap least."""
    one, other = (X[_span(scene, body)] for body in (m.a, m.b))
    delta = _SHARE * float(scene.barrier_of(np.array([m.a]), np.array([m.b]))[1][0])
    margin = delta + m.thickness
    mine, yours = _near(scene, m.a, one, other, margin), _near(scene, m.b, other, one, margin)
    normals = np.vstack([_normals(mine), -_normals(yours)])
    corners = mine.reshape(-1, 3), yours.reshape(-1, 3)
    if len(normals) == 0 or len(normals) * (len(corners[0]) + len(corners[1])) > _MOST:
        return None
    gaps = (corners[1] @ normals.T).min(axis=0) - (corners[0] @ normals.T).max(axis=0)
    best = int(np.argmax(gaps))
    return _Touch(m.a, m.b, normals[best], float(gaps[best]) - m.thickness, delta)


def _span(scene: ContactScene, body: int) -> slice:
    """Where the vertices of a body are in X."""
    shape = scene.shape_of[body]
    first = scene.x_base[body] + scene.vertex_start[shape]
    return slice(first, first + len(scene.shapes[shape].vertices))


def _near(scene: ContactScene, body: int, X: Array, other: Array, margin: float) -> Array:
    """Corners (k, 3, 3) of the elements of a body that reach into a box about the other one; X are its vertices."""
    shape = scene.shapes[scene.shape_of[body]]
    corners: Array = X[shape.element_points]
    low, high = other.min(axis=0) - margin, other.max(axis=0) + margin
    inside = (corners.max(axis=1) >= low).all(axis=1) & (corners.min(axis=1) <= high).all(axis=1)
    return corners[inside] if inside.any() else corners


def _normals(corners: Array) -> Array:
    """Unit normals of triangles, each once; edges and points, whose last corner is another one again, have none."""
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(cross, axis=1)
    normals: Array = cross[length > 0.0] / length[length > 0.0, None]
    return np.unique(normals, axis=0)


def _least_moves(known: list[tuple[int, int, Array, float]], is_free: Flags) -> Array | None:
    """Moves of groups, least in sum, with n · (t_b − t_a) ≥ wanted for each (a, b, n, wanted); None without any."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, hstack

    sides = [(k, group, sign * n) for k, (a, b, n, _) in enumerate(known) for group, sign in ((a, -1.0), (b, 1.0))]
    free = [(k, group, n) for k, group, n in sides if group >= 0 and is_free[group]]
    row = np.repeat([k for k, _, _ in free], 3)
    column = (3 * np.array([group for _, group, _ in free])[:, None] + np.arange(3)).ravel()
    values = np.concatenate([n for _, _, n in free])
    A = coo_array((values, (row, column)), (len(known), 3 * len(is_free))).tocsr()
    scale = max(wanted for *_, wanted in known)  # the solver's tolerances are absolute
    wanted = np.array([wanted for *_, wanted in known]) / scale
    found = linprog(np.ones(2 * A.shape[1]), A_ub=hstack([-A, A]).tocsr(), b_ub=-wanted, method="highs")
    if not found.success:
        return None
    plus, minus = found.x.reshape(2, -1, 3)
    moves: Array = scale * (plus - minus)
    return moves
