"""Whether the arrays of a state can be trusted: what the kernels take for granted is looked at here, before they run.

A state may come from a file, and a file from anywhere. Names, shapes and types are those of the scene; numbers are
finite; lists of contact name bodies, vertices and half-planes that there are.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.contact.firmness import MOST
from dovetail.solver.contact.kinds import EDGE_EDGE, POINT_PLANE
from dovetail.solver.contact.scene import ContactScene
from dovetail.typing import Array, Flags, Indices

__all__ = ["contact_flaw", "layout_flaw", "number_flaw"]

# Lists that are as long as contact makes them, and what each is as long as.
_LISTS = {
    "contact/pairs": "contact/pairs",
    "contact/numbers": "contact/pairs",
    "contact/near": "contact/near",
    "contact/slack": "contact/near",
    "contact/axis": "contact/near",
    "contact/blocks": "contact/blocks",
    "contact/eased": "contact/eased",
    "contact/stick": "contact/stick",
    "contact/stick_force": "contact/stick",
    "contact/struck": "contact/struck",
}
# Targets that a soft transform, a drive or a limit does not have are NaN or infinite.
_ANY_NUMBER = ("soft_transforms/past", "joints/held/", "joints/parameters/", "joints/past")
_LARGEST = 1e30  # in SI units; squares and products of such numbers are still finite
_LARGEST_NAME = 2.0**53  # whole numbers up to here are exact
_SMALLEST_STEP = 1e-30  # [s]
_MANY_STEPS = 1e9  # a block structure lives for some twenty; contacts and headrooms are fewer too


def layout_flaw(arrays: dict[str, Array], expected: dict[str, Array]) -> str:
    """What is wrong with names, shapes and types; nothing if they are those of the arrays expected."""
    for name in sorted(arrays.keys() | expected.keys()):
        if name not in expected:
            return f"holds other arrays than this scene needs: '{name:.60}'"
        if name not in arrays:
            return f"holds other arrays than this scene needs: no '{name}'"
        found, wanted = arrays[name], expected[name]
        if not isinstance(found, np.ndarray) or found.dtype != wanted.dtype or found.ndim != wanted.ndim:
            return f"holds other arrays than this scene needs: '{name}' is not {wanted.dtype} of rank {wanted.ndim}"
        rows = np.shape(arrays[_LISTS[name]])[:1] if _LISTS.get(name) in arrays else wanted.shape[:1]
        if found.shape != rows + wanted.shape[1:]:
            return (
                f"holds other arrays than this scene needs: '{name}' has shape {found.shape} instead of "
                f"{rows + wanted.shape[1:]}"
            )
    return ""


def number_flaw(arrays: dict[str, Array]) -> str:
    """Which array has a number that none of a running world has."""
    for name, array in arrays.items():
        if not name.startswith(_ANY_NUMBER) and not (np.abs(array) <= _LARGEST).all():
            return f"has a number in '{name}' that is not finite, or beyond {_LARGEST:g}"
    if arrays["time"][0] < 0.0:
        return f"has the time {arrays['time'][0]:g} s"
    step = float(arrays["state/dt_before"])
    return "" if step == 0.0 or step >= _SMALLEST_STEP else f"has a last step of {step:g} s"


def contact_flaw(arrays: dict[str, Array], scene: ContactScene) -> str:
    """Which list of contact names something that is not there; layout and numbers have been looked at."""
    bodies = len(scene.shape_of)
    for number in arrays["contact/age"].tolist():
        if not 0.0 <= number < _MANY_STEPS:
            return f"has {number:g} in 'contact/age'"
    for name in ("contact/near", "contact/blocks"):
        if not _are_pairs(arrays[name], bodies):
            return f"names pairs in '{name}' that are not two of the {bodies} bodies, each pair once"
    if (arrays["contact/slack"] < 0.0).any() or (arrays["contact/used"] < 0.0).any():
        return "has motions below zero in 'contact/slack' or 'contact/used'"
    numbers = arrays["contact/numbers"]
    if not ((numbers[:, 1] >= 0.0) & (numbers[:, 2] > 0.0) & (numbers[:, 3:] >= 0.0).all(axis=1)).all():
        return "has friction, ranges or thicknesses in 'contact/numbers' that no contact has"
    if len(arrays["contact/struck"]) not in (0, bodies):
        return f"has forces in 'contact/struck' on {len(arrays['contact/struck'])} of the {bodies} bodies"
    if not ((arrays["contact/firmness"] >= 1.0) & (arrays["contact/firmness"] <= MOST)).all():
        return f"has factors in 'contact/firmness' that are not from 1 to {MOST:g}"
    sides, share, growth = np.split(arrays.get("contact/eased", np.zeros((0, 4))), [2, 3], axis=1)
    there = (sides == np.floor(sides)) & (sides >= -len(scene.plane_point)) & (sides < bodies)
    if not (there.all() and ((share > 0.0) & (share < 1.0)).all() and (growth > 0.0).all()):
        return "has pairs in 'contact/eased' that are not there, shares that are not between 0 and 1, or no growth"
    stick = arrays.get("contact/stick", np.zeros((0, 0)))
    if not ((stick == np.floor(stick)) & (np.abs(stick) < _LARGEST_NAME)).all():
        return "has numbers in 'contact/stick' that name no features"
    if not _are_candidates(arrays["contact/pairs"], arrays["contact/near"], scene):
        return "names bodies, vertices or half-planes in 'contact/pairs' that are not there"
    return ""


def _are_pairs(rows: Array, bodies: int) -> bool:
    """Whether rows (k, 2) are pairs of bodies a ≤ b in order, none of them twice."""
    first, second = rows.T
    whole = (rows == np.floor(rows)).all() and (first >= 0).all() and (first <= second).all()
    return bool(whole and (second < bodies).all() and (np.diff(first * bodies + second) > 0).all())


def _are_candidates(rows: Array, near: Array, scene: ContactScene) -> bool:
    """Whether rows (k, 8) are candidates, see candidates.py, of this scene and these near bodies."""
    bodies = len(scene.shape_of)
    if not ((rows == np.floor(rows)) & (np.abs(rows) < _LARGEST_NAME)).all():
        return False
    kind, a, b, *x, pair = rows.astype(np.int64).T
    plane = kind == POINT_PLANE
    if not ((kind >= 0) & (kind <= POINT_PLANE) & (a >= 0) & (a < bodies) & (b < bodies)).all():
        return False
    if not np.where(plane, (b == -1) & (pair == -1), (b >= 0) & (pair >= 0) & (pair < len(near))).all():
        return False
    if not (np.diff(pair) >= 0).all():  # half-planes first, then one pair of bodies after the other
        return False
    first, second = near.astype(np.int64)[pair[~plane]].T
    if not ((np.minimum(a, b)[~plane] == first) & (np.maximum(a, b)[~plane] == second)).all():
        return False
    on_planes = (x[1][plane] >= 0) & (x[1][plane] < len(scene.plane_point))
    owners = [a, np.where(kind == EDGE_EDGE, a, b), b, b]
    return bool(
        on_planes.all()
        and _are_of(x[0], owners[0], scene).all()
        and all(_are_of(x[k][~plane], owners[k][~plane], scene).all() for k in (1, 2, 3))
    )


def _are_of(x: Indices, body: Indices, scene: ContactScene) -> Flags:
    """Whether the positions x are those of vertices of these bodies."""
    shape = scene.shape_of[body]
    vertex = x - scene.x_base[body]
    inside: Flags = (shape >= 0) & (vertex >= scene.vertex_start[shape]) & (vertex < scene.vertex_start[shape + 1])
    return inside
