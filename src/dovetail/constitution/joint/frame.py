"""The frame of a joint: from anchors in the world or in the bodies to material rows of both bodies.

A material point x̄ is the row (1, x̄), a material direction v̄ the row (0, v̄), so that a body in the state
Q = [p; A e₁; A e₂; A e₃] carries it to row @ Q.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dovetail.constitution.base import class_of, uid_of
from dovetail.constitution.place import Place
from dovetail.errors import ConstitutionError
from dovetail.geometry import AttributeCollection, SimplicialComplex
from dovetail.typing import Array

__all__ = ["anchors", "anchors_of", "axis_ends", "joint_frame", "polar_rotation"]

_FRAMES = ("l_frame", "r_frame")  # directions of vertex joints in the bodies
_ATTRIBUTES = (
    *(f"{side}_position{k}" for side in "lr" for k in ("0", "1", "")),
    "frame/n",
    *_FRAMES,
)  # that say where a joint is, besides its mesh
_PARALLEL = 1e-6  # rad; the largest accepted angle between the axes two bodies give for one joint


def joint_frame(P0: Array, P1: Array) -> tuple[Array, Array, Array]:
    """Right-handed unit vectors (t, n, b), each (n, 3), with t along P1 − P0.

    n = t × e with e = X, or Y where t is within 26° of ±X (|t·X| > 0.9), and b = t × n.
    """
    t = _unit(P1 - P0)
    e = np.where(np.abs(t[:, :1]) > 0.9, [0.0, 1.0, 0.0], [1.0, 0.0, 0.0])
    n = _unit(np.cross(t, e))
    return t, n, np.cross(t, n)


class _Points(NamedTuple):
    """What joint geometries of one form say of their anchors, one row for each joint.

    place     how messages call them
    world     points in the world (n, k, 3), k = 2 ends of an edge or 1 vertex
    local     points in the bodies (n, 3), by the attributes of the local form
    wanted    directions `frame/n` (n, 3); None where there are none
    """

    place: Place | _Places
    world: Array
    local: dict[str, Array]
    wanted: Array | None


class _Places(NamedTuple):
    """Joints of several geometries, one after the other, with the names of their objects."""

    joints: Sequence[tuple[SimplicialComplex, str]]

    def error(self, problem: str, at: int) -> ConstitutionError:
        for geometry, name in self.joints:
            place = Place(class_of(uid_of(geometry)).__name__, "joint", _elements(geometry).size(), name)
            if at < place.count:
                return place.error(problem, at)
            at -= place.count
        raise IndexError(at)


def anchors(
    geometry: SimplicialComplex, transforms_left: Array, transforms_right: Array, name: str = ""
) -> dict[str, Array]:
    """Material rows of every joint of a joint geometry, by name, each (2, n, 4): [0] left body, [1] right.

    `transforms_left[k]`, `transforms_right[k]` (n, 4, 4) are the poses of the two bodies of joint k in
    which the joint is at rest. Joints on edges have the rows c = x0, x1, t, n, b, joints on vertices c, t,
    n, b with the world axes for t, n, b, or with the columns of `l_frame` and `r_frame` (3, 3), directions in
    the bodies. World form: a point X becomes T⁻¹X in each body. Local form: points as the attributes
    `l_position…`, `r_position…` give them; where one body has none they are where the other one's are. A direction v
    becomes R⁻¹v in both forms, R the rotation in T; the axis of the local form is the left body's, and the right body
    may give its two ends in the opposite order. `name` is the object's, for errors.
    """
    return anchors_of([(geometry, name)], np.stack([transforms_left, transforms_right]))[0]


def anchors_of(joints: Sequence[tuple[SimplicialComplex, str]], poses: Array) -> list[dict[str, Array]]:
    """The same of many joint geometries with the names of their objects; poses (2, n, 4, 4) of all their joints.

    Those of one form are taken together, so that a thousand geometries cost a few array operations.
    """
    forms: dict[tuple[Any, ...], list[int]] = {}
    sizes = [_elements(geometry).size() for geometry, _ in joints]
    start = np.cumsum([0, *sizes])
    for k, (geometry, _) in enumerate(joints):
        known = _elements(geometry)
        forms.setdefault((geometry.dim(), *(name in known for name in _ATTRIBUTES)), []).append(k)
    found: list[dict[str, Array]] = [{} for _ in joints]
    for chosen in forms.values():
        at = np.concatenate([np.arange(start[k], start[k + 1]) for k in chosen])
        same = [joints[k] for k in chosen]
        rows = _rows(_points_of([geometry for geometry, _ in same], _Places(same)), poses[:, at])
        first = 0
        for k in chosen:
            found[k] = {name: values[:, first : first + sizes[k]] for name, values in rows.items()}
            first += sizes[k]
    return found


def _elements(geometry: SimplicialComplex) -> AttributeCollection:
    return geometry.edges if geometry.dim() == 1 else geometry.vertices


def _points_of(geometries: Sequence[SimplicialComplex], place: Place | _Places) -> _Points:
    """What geometries of one form say."""
    present = [name for name in _ATTRIBUTES if name in _elements(geometries[0])]
    values = {name: np.concatenate([_elements(g).slot(name).values for g in geometries]) for name in present}
    wanted = values.pop("frame/n", None)
    if geometries[0].dim() == 1:
        world = np.concatenate([g.positions.values[g.edges.topo.values] for g in geometries])
    else:
        world = np.concatenate([g.positions.values for g in geometries])[:, None]
    return _Points(place, world, values, wanted)


def _rows(points: _Points, poses: Array) -> dict[str, Array]:
    """Material rows of all of them."""
    place = points.place
    points = _with_both(points, poses)
    R = np.stack([polar_rotation(place, side, T) for side, T in zip(("left", "right"), poses, strict=True)])
    if points.world.shape[1] == 2:
        start, end = _axis_ends(points, poses)
        c = x0 = _points(points.local, "position0", start, poses)
        rows = {"c": c, "x0": x0, "x1": _points(points.local, "position1", end, poses)}
        frame: tuple[Array, ...] = joint_frame(start, end)
        if points.wanted is not None:
            frame = _steered(frame, points.wanted, place)
    else:
        rows = {"c": _points(points.local, "position", points.world[:, 0], poses)}
        frame = tuple(np.broadcast_to(axis, (poses.shape[1], 3)) for axis in np.eye(3))
    for row, direction in zip("tnb", frame, strict=True):
        # vᵀR = (R⁻¹v)ᵀ
        material = np.einsum("nj,knji->kni", direction, R)
        rows[row] = np.concatenate([np.zeros((*material.shape[:2], 1)), material], axis=2)
    for s, name in enumerate(_FRAMES):
        if name in points.local:
            _check_frames(name, points.local[name], place)
            for k, row in enumerate("tnb"):
                rows[row][s, :, 1:] = points.local[name][:, :, k]
    return rows


def _check_frames(name: str, frames: Array, place: Place | _Places) -> None:
    """Refuse matrices that are no rotations."""
    off = np.abs(frames.swapaxes(1, 2) @ frames - np.eye(3)).max(axis=(1, 2))
    for at in np.flatnonzero(~((off < _PARALLEL) & (np.linalg.det(frames) > 0.0)))[:1].tolist():
        raise place.error(f"has {name} = {frames[at].tolist()}, which is no rotation; give orthonormal columns.", at)


def _steered(frame: tuple[Array, ...], wanted: Array, place: Place | _Places) -> tuple[Array, ...]:
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
    the axis of `r_position0`, `r_position1` in the right body must have the same direction, or the opposite one.
    """
    return _axis_ends(_with_both(_points_of([geometry], place), poses), poses)


def _with_both(points: _Points, poses: Array) -> _Points:
    """The same with points of the local form in both bodies, in the same order.

    Where one body gives them alone, those of the other are where it carries them. Ends of an axis that the right body
    has in the opposite order are exchanged.
    """
    local = dict(points.local)
    names = ("position0", "position1") if points.world.shape[1] == 2 else ("position",)
    for s, (side, other) in enumerate((("l", "r"), ("r", "l"))):
        given = [name for name in names if f"{side}_{name}" in local]
        if given and len(given) < len(names):
            raise points.place.error(f"has {side}_{given[0]} and no other end of its axis; give {_ends(side)}.", 0)
        if given and f"{other}_{names[0]}" not in local and f"{other}_{names[-1]}" not in local:
            for name in names:
                local[f"{other}_{name}"] = _to_material(_to_world(local[f"{side}_{name}"], poses[s]), poses[1 - s])
    if "r_position0" in local and "l_position0" in local:
        left, right = (
            _to_world(local[f"{side}_position1"], poses[s]) - _to_world(local[f"{side}_position0"], poses[s])
            for s, side in enumerate("lr")
        )
        turned = (_angle(left, right) > np.pi - _PARALLEL)[:, None]
        start, end = local["r_position0"], local["r_position1"]
        local["r_position0"], local["r_position1"] = np.where(turned, end, start), np.where(turned, start, end)
    return points._replace(local=local)


def _ends(side: str) -> str:
    return f"{side}_position0 and {side}_position1"


def _angle(one: Array, other: Array) -> Array:
    """Between vectors (n, 3)."""
    cross, dot = np.linalg.norm(np.cross(one, other), axis=1), np.einsum("ni,ni->n", one, other)
    angle: Array = np.arctan2(cross, dot)
    return angle


def _axis_ends(points: _Points, poses: Array) -> tuple[Array, Array]:
    place = points.place
    if "l_position0" not in points.local:
        start, end = points.world[:, 0], points.world[:, 1]
        _lengths(place, "axis", start, end)
        return start, end
    (start, end), (right_start, right_end) = (
        [_to_world(points.local[f"{side}_position{k}"], poses[s]) for k in (0, 1)] for s, side in enumerate("lr")
    )
    _lengths(place, "axis l_position0 → l_position1", start, end)
    _lengths(place, "axis r_position0 → r_position1", right_start, right_end)
    left, right = _unit(end - start), _unit(right_end - right_start)
    angle = _angle(left, right)
    if (angle > _PARALLEL).any():
        worst = int(angle.argmax())
        raise place.error(
            f"has axes that differ by {angle[worst]:.3g} [rad]: in the world the left body's points along "
            f"{_spell(left[worst])}, the right body's along {_spell(right[worst])}; give both "
            "bodies an axis with the same direction, or the opposite one, or move them so that the directions agree.",
            worst,
        )
    return start, end


def polar_rotation(place: Place | _Places, side: str, transforms: Array) -> Array:
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


def _points(local: dict[str, Array], attribute: str, world: Array, poses: Array) -> Array:
    """Rows (1, x̄) of both bodies: local attributes if there are any, otherwise world points."""
    rows = np.ones((2, poses.shape[1], 4))
    for s, side in enumerate("lr"):
        given = local.get(f"{side}_{attribute}")
        rows[s, :, 1:] = _to_material(world, poses[s]) if given is None else given
    return rows


def _to_world(points: Array, transforms: Array) -> Array:
    moved: Array = np.einsum("nij,nj->ni", transforms[:, :3, :3], points) + transforms[:, :3, 3]
    return moved


def _to_material(points: Array, transforms: Array) -> Array:
    offset = (points - transforms[:, :3, 3])[:, :, None]
    return np.asarray(np.linalg.solve(transforms[:, :3, :3], offset)[:, :, 0], np.float64)


def _lengths(place: Place | _Places, what: str, start: Array, end: Array) -> None:
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
