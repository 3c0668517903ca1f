"""The frame of a joint: from anchors in the world or in the bodies to material rows of both bodies.

A material point x̄ is the row (1, x̄), a material direction v̄ the row (0, v̄), so that a body in the state
Q = [p; A e₁; A e₂; A e₃] carries it to row @ Q.
"""

from __future__ import annotations

import numpy as np

from dovetail.constitution.base import class_of, uid_of
from dovetail.constitution.place import Place
from dovetail.geometry import AttributeCollection, SimplicialComplex
from dovetail.typing import Array

__all__ = ["anchors", "axis_ends", "joint_frame", "polar_rotation"]

_PARALLEL = 1e-6  # rad; the largest accepted angle between the axes two bodies give for one joint


def joint_frame(P0: Array, P1: Array) -> tuple[Array, Array, Array]:
    """Right-handed unit vectors (t, n, b), each (n, 3), with t along P1 − P0.

    n = t × e with e = X, or Y where t is within 26° of ±X (|t·X| > 0.9), and b = t × n.
    """
    t = _unit(P1 - P0)
    e = np.where(np.abs(t[:, :1]) > 0.9, [0.0, 1.0, 0.0], [1.0, 0.0, 0.0])
    n = _unit(np.cross(t, e))
    return t, n, np.cross(t, n)


def anchors(
    geometry: SimplicialComplex, transforms_left: Array, transforms_right: Array, name: str = ""
) -> dict[str, Array]:
    """Material rows of every joint of a joint geometry, by name, each (2, n, 4): [0] left body, [1] right.

    `transforms_left[k]`, `transforms_right[k]` (n, 4, 4) are the poses of the two bodies of joint k in
    which the joint is at rest. Joints on edges have the rows c = x0, x1, t, n, b, joints on vertices c, t,
    n, b with the world axes for t, n, b. World form: a point X becomes T⁻¹X in each body. Local form:
    points as the attributes `l_position…`, `r_position…` give them. A direction v becomes R⁻¹v in both
    forms, R the rotation in T; the axis of the local form is the left body's. `name` is the object's, for
    errors.
    """
    poses = np.stack([transforms_left, transforms_right])
    place = _place(geometry, poses.shape[1], name)
    R = np.stack([polar_rotation(place, side, T) for side, T in zip(("left", "right"), poses, strict=True)])
    if geometry.dim() == 1:
        start, end = axis_ends(geometry, poses, place)
        c = x0 = _points(geometry.edges, "position0", start, poses)
        rows = {"c": c, "x0": x0, "x1": _points(geometry.edges, "position1", end, poses)}
        frame: tuple[Array, ...] = joint_frame(start, end)
        if "frame/n" in geometry.edges:
            frame = _steered(frame, geometry.edges.slot("frame/n").values, place)
    else:
        rows = {"c": _points(geometry.vertices, "position", geometry.positions.values, poses)}
        frame = tuple(np.broadcast_to(axis, (poses.shape[1], 3)) for axis in np.eye(3))
    for row, direction in zip("tnb", frame, strict=True):
        # vᵀR = (R⁻¹v)ᵀ
        material = np.einsum("nj,knji->kni", direction, R)
        rows[row] = np.concatenate([np.zeros((*material.shape[:2], 1)), material], axis=2)
    return rows


def _steered(frame: tuple[Array, ...], wanted: Array, place: Place) -> tuple[Array, ...]:
    """The frame turned about t so that n points as near as it can to a direction (n, 3) of the world; 0 leaves it."""
    t, n, _ = frame
    across = wanted - np.einsum("ni,ni->n", wanted, t)[:, None] * t
    size, whole = np.linalg.norm(across, axis=1), np.linalg.norm(wanted, axis=1)
    bad = np.flatnonzero(~(size >= _PARALLEL * whole))
    if bad.size:
        at = int(bad[0])
        raise place.error(
            f"has frame/n = {_spell(wanted[at])} along its axis {_spell(t[at])}; give a direction across the axis.", at
        )
    given = whole > 0.0
    n = np.where(given[:, None], across / np.where(given, size, 1.0)[:, None], n)
    return t, n, np.cross(t, n)


def axis_ends(geometry: SimplicialComplex, poses: Array, place: Place) -> tuple[Array, Array]:
    """World points (n, 3), (n, 3) that span the axis of each edge joint, checked.

    World form: the ends of the edges. Local form: where the left body carries `l_position0`, `l_position1`;
    the axis of `r_position0`, `r_position1` in the right body must have the same direction.
    """
    edges = geometry.edges
    if "l_position0" not in edges:
        ends = geometry.positions.values[edges.topo.values]
        start, end = ends[:, 0], ends[:, 1]
        _lengths(place, "axis", start, end)
        return start, end
    (start, end), (right_start, right_end) = (
        [_to_world(edges.slot(f"{side}_position{k}").values, poses[s]) for k in (0, 1)] for s, side in enumerate("lr")
    )
    _lengths(place, "axis l_position0 → l_position1", start, end)
    _lengths(place, "axis r_position0 → r_position1", right_start, right_end)
    left, right = _unit(end - start), _unit(right_end - right_start)
    angle = np.arctan2(np.linalg.norm(np.cross(left, right), axis=1), np.einsum("ni,ni->n", left, right))
    if (angle > _PARALLEL).any():
        worst = int(angle.argmax())
        raise place.error(
            f"has axes that differ by {angle[worst]:.3g} [rad]: in the world the left body's points along "
            f"{_spell(left[worst])}, the right body's along {_spell(right[worst])}; give both "
            "bodies an axis with the same direction, or move them so that the directions agree.",
            worst,
        )
    return start, end


def polar_rotation(place: Place, side: str, transforms: Array) -> Array:
    """The rotation nearest to the linear part of each transform, (n, 3, 3); mirrored or flat ones are errors.

    Newton's iteration R ← ½(R + R⁻ᵀ), which converges to it quadratically whenever det A > 0.
    """
    finite = np.asarray(np.isfinite(transforms).all(axis=(1, 2)))
    R = np.where(finite[:, None, None], transforms[:, :3, :3], 0.0)
    det = np.linalg.det(R)
    bad = np.flatnonzero(~(det > 0))
    if bad.size:
        at = int(bad[0])
        flaw = f"the determinant {det[at]:.3g}" if finite[at] else "entries that are not finite"
        raise place.error(
            f"connects a {side} body whose transform has {flaw}; give it a proper pose.",
            at,
        )
    for _ in range(100):
        following = (R + np.linalg.inv(R).swapaxes(1, 2)) / 2
        step = np.abs(following - R).max(initial=0.0)
        R = following
        if step < 1e-8:  # the error of the next iterate is of the order of step², below round-off
            break
    return R


def _place(geometry: SimplicialComplex, count: int, name: str) -> Place:
    return Place(class_of(uid_of(geometry)).__name__, "joint", count, name)


def _points(collection: AttributeCollection, attribute: str, world: Array, poses: Array) -> Array:
    """Rows (1, x̄) of both bodies: local attributes if there are any, otherwise world points."""
    rows = np.ones((2, poses.shape[1], 4))
    for s, side in enumerate("lr"):
        local = collection.find(f"{side}_{attribute}")
        rows[s, :, 1:] = _to_material(world, poses[s]) if local is None else local.values
    return rows


def _to_world(points: Array, transforms: Array) -> Array:
    moved: Array = np.einsum("nij,nj->ni", transforms[:, :3, :3], points) + transforms[:, :3, 3]
    return moved


def _to_material(points: Array, transforms: Array) -> Array:
    offset = (points - transforms[:, :3, 3])[:, :, None]
    return np.asarray(np.linalg.solve(transforms[:, :3, :3], offset)[:, :, 0], np.float64)


def _lengths(place: Place, what: str, start: Array, end: Array) -> None:
    length = np.linalg.norm(end - start, axis=1)
    bad = ~(length > 1e-12 * np.maximum(np.linalg.norm(start, axis=1), np.linalg.norm(end, axis=1)))
    if bad.any():
        at = int(np.argmax(bad))
        raise place.error(
            f"has an {what} of length {length[at]:.3g} [m], from {_spell(start[at])} to {_spell(end[at])}; "
            "give two points that are apart.",
            at,
        )


def _unit(vectors: Array) -> Array:
    unit: Array = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _spell(vector: Array) -> str:
    return "(" + ", ".join(f"{v:.6g}" for v in vector) + ")"
