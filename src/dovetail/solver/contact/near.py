"""What is near what: bodies by a tree over their boxes, then elements by the trees of their shapes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.contact.surface import morton_order
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.solver.contact.room import Room

__all__ = ["boxes_apart", "near_bodies", "near_elements"]

_ORDER_LIFE = 16  # looks after which bodies are put in order along their curve again
_FEW = 16  # elements of a body, such as a box, that are looked at without a tree


@kernel
def _body_boxes(
    shape_of: Indices, tree_start: Indices, low: Array, high: Array, margin: Array, Q: Array, box: Array
) -> None:
    """box (n, 2, 3) ← world box of every body, grown by its margin; empty where it has no surface."""
    for b in range(len(shape_of)):
        s = shape_of[b]
        for x in range(3):
            if s < 0:
                box[b, 0, x] = math.inf
                box[b, 1, x] = -math.inf
                continue
            root = tree_start[s]
            middle = Q[b, 0, x]
            half = margin[b]
            for i in range(3):
                middle += 0.5 * (low[root, i] + high[root, i]) * Q[b, 1 + i, x]
                half += 0.5 * (high[root, i] - low[root, i]) * abs(Q[b, 1 + i, x])
            box[b, 0, x] = middle - half
            box[b, 1, x] = middle + half


@kernel
def _near_bodies(order: Indices, box: Array, is_fixed: Indices, tree: Array, pairs: Indices) -> int:
    """Pairs (a, b), a < b, of bodies whose boxes overlap, at least one free; returns how many there are.

    `order` lists the bodies along a space-filling curve; tree (2m − 1, 2, 3) receives the boxes of a complete
    binary tree over it.
    """
    leaves = (len(tree) + 1) // 2
    first = leaves - 1
    for k in range(leaves):
        for x in range(3):
            tree[first + k, 0, x] = box[order[k], 0, x] if k < len(order) else math.inf
            tree[first + k, 1, x] = box[order[k], 1, x] if k < len(order) else -math.inf
    for node in range(first - 1, -1, -1):
        for x in range(3):
            tree[node, 0, x] = min(tree[2 * node + 1, 0, x], tree[2 * node + 2, 0, x])
            tree[node, 1, x] = max(tree[2 * node + 1, 1, x], tree[2 * node + 2, 1, x])
    stack = np.empty(128, np.int64)
    count = 0
    for k in range(len(order)):
        a = order[k]
        stack[0] = 0
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            apart = False
            for x in range(3):
                if tree[node, 0, x] > box[a, 1, x] or tree[node, 1, x] < box[a, 0, x]:
                    apart = True
            if apart:
                continue
            if node < first:
                stack[depth] = 2 * node + 1
                stack[depth + 1] = 2 * node + 2
                depth += 2
                continue
            j = node - first
            if j <= k or j >= len(order):
                continue
            b = order[j]
            if is_fixed[a] and is_fixed[b]:
                continue
            if count < len(pairs):
                pairs[count, 0] = min(a, b)
                pairs[count, 1] = max(a, b)
            count += 1
    return count


@kernel
def _refit(
    bodies: Indices, shape_of: Indices, leaves: Indices, element_start: Indices, element_points: Indices,
    x_base: Indices, X: Array, box_start: Indices, box: Array,
) -> None:  # fmt: skip
    """box (m, 2, 3) ← world boxes of the trees of some bodies; leaves beyond the last element are empty."""
    for k in range(len(bodies)):
        b = bodies[k]
        s = shape_of[b]
        root = box_start[b]
        first = root + leaves[s] - 1
        elements = element_start[s + 1] - element_start[s]
        for leaf in range(leaves[s]):
            for x in range(3):
                low, high = math.inf, -math.inf
                if leaf < elements:
                    for corner in range(3):
                        value = X[element_points[element_start[s] + leaf, corner] + x_base[b], x]
                        low, high = min(low, value), max(high, value)
                box[first + leaf, 0, x] = low
                box[first + leaf, 1, x] = high
        for node in range(leaves[s] - 2, -1, -1):
            one, two = root + 2 * node + 1, root + 2 * node + 2
            for x in range(3):
                box[root + node, 0, x] = min(box[one, 0, x], box[two, 0, x])
                box[root + node, 1, x] = max(box[one, 1, x], box[two, 1, x])


@kernel
def boxes_apart(box: Array, i: int, j: int, reach: float) -> bool:
    """Whether two boxes are farther apart than `reach` along an axis."""
    return (
        max(box[i, 0, 0] - box[j, 1, 0], box[j, 0, 0] - box[i, 1, 0]) > reach
        or max(box[i, 0, 1] - box[j, 1, 1], box[j, 0, 1] - box[i, 1, 1]) > reach
        or max(box[i, 0, 2] - box[j, 1, 2], box[j, 0, 2] - box[i, 1, 2]) > reach
    )


@kernel
def _size(box: Array, i: int) -> float:
    return box[i, 1, 0] - box[i, 0, 0] + box[i, 1, 1] - box[i, 0, 1] + box[i, 1, 2] - box[i, 0, 2]


@kernel
def _along(axis: Array, pair: int, element_points: Indices, e: int, base: int, X: Array, sign: float) -> float:
    """How far an element reaches along ± the axis of a pair."""
    farthest = -math.inf
    for corner in range(3):
        x = element_points[e, corner] + base
        value = axis[pair, 0] * X[x, 0] + axis[pair, 1] * X[x, 1] + axis[pair, 2] * X[x, 2]
        farthest = max(farthest, sign * value)
    return farthest


@kernel
def _keep(pair: int, ea: int, eb: int, count: int, found: Indices) -> int:
    """Write a row if there is room for it; the number of rows after that."""
    if count < len(found):
        found[count, 0] = pair
        found[count, 1] = ea
        found[count, 2] = eb
    return count + 1


@kernel
def _near_elements(
    scene: ContactScene, pairs: Indices, reach: Array, axis: Array, X: Array, box: Array, found: Indices
) -> int:
    """Rows (pair, element of a, element of b) nearer than the reach of the pair by boxes and its axis; how many."""
    shape_of, leaves, element_start = scene.shape_of, scene.leaves, scene.element_start
    element_points, x_base, box_start = scene.element_points, scene.x_base, scene.box_start
    stack = np.empty((4096, 2), np.int64)
    start = np.empty(_FEW)
    count = 0
    for pair in range(len(pairs)):
        a, b = pairs[pair, 0], pairs[pair, 1]
        sa, sb = shape_of[a], shape_of[b]
        first_a, first_b = leaves[sa] - 1, leaves[sb] - 1
        root_a, root_b = box_start[a], box_start[b]
        if first_a < _FEW and first_b < _FEW:
            # few elements: all with all is quicker than two trees
            size_a, size_b = element_start[sa + 1] - element_start[sa], element_start[sb + 1] - element_start[sb]
            for j in range(size_b):
                start[j] = -_along(axis, pair, element_points, element_start[sb] + j, x_base[b], X, -1.0)
            for i in range(size_a):
                end = _along(axis, pair, element_points, element_start[sa] + i, x_base[a], X, 1.0)
                for j in range(size_b):
                    if start[j] - end > reach[pair]:
                        continue
                    if boxes_apart(box, root_a + first_a + i, root_b + first_b + j, reach[pair]):
                        continue
                    count = _keep(pair, element_start[sa] + i, element_start[sb] + j, count, found)
            continue
        stack[0, 0] = 0
        stack[0, 1] = 0
        depth = 1
        while depth > 0:
            depth -= 1
            na, nb = stack[depth, 0], stack[depth, 1]
            if boxes_apart(box, root_a + na, root_b + nb, reach[pair]):
                continue
            inner_a, inner_b = na < first_a, nb < first_b
            if not inner_a and not inner_b:
                ea, eb = element_start[sa] + na - first_a, element_start[sb] + nb - first_b
                end = _along(axis, pair, element_points, ea, x_base[a], X, 1.0)
                if -_along(axis, pair, element_points, eb, x_base[b], X, -1.0) - end > reach[pair]:
                    continue
                count = _keep(pair, ea, eb, count, found)
                continue
            split_a = inner_a and (not inner_b or _size(box, root_a + na) >= _size(box, root_b + nb))
            for child in (1, 2):
                stack[depth, 0] = 2 * na + child if split_a else na
                stack[depth, 1] = nb if split_a else 2 * nb + child
                depth += 1
    return count


def near_bodies(scene: ContactScene, room: Room, is_fixed: Indices, budget: Array, Q: Array) -> Indices:
    """Body pairs (k, 2), sorted, that may touch and whose boxes overlap when grown by budgets and ranges.

    A body that collides with itself is paired with itself. Two fixed bodies are no pair.
    """
    margin = 0.5 * scene.d_hat + scene.thickness + budget
    box = np.empty((len(Q), 2, 3))
    _body_boxes(scene.shape_of, scene.tree_start, scene.low, scene.high, margin, Q, box)
    solid = np.flatnonzero(scene.shape_of >= 0)
    itself = solid[(scene.self_collides[solid] != 0) & (is_fixed[solid] == 0)]
    if room.order_age == 0:
        room.order = solid[morton_order(box[solid].mean(axis=1))] if len(solid) else solid
    room.order_age = (room.order_age + 1) % _ORDER_LIFE
    order = room.order  # an old one makes for a worse tree, not for other pairs
    leaves = 1
    while leaves < len(solid):
        leaves *= 2
    tree = np.empty((2 * leaves - 1, 2, 3))
    pairs = np.empty((8 * len(solid) + 64, 2), np.int64)
    count = _near_bodies(order, box, is_fixed, tree, pairs)
    if count > len(pairs):
        pairs = np.empty((count, 2), np.int64)
        _near_bodies(order, box, is_fixed, tree, pairs)
    key = pairs[:count, 0] * len(Q) + pairs[:count, 1]
    if len(scene.masked):
        key = key[~np.isin(key, scene.masked)]
    if len(scene.subscenes) > 1:
        key = key[scene.subscenes[scene.subscene[key // len(Q)], scene.subscene[key % len(Q)]] != 0]
    key = np.sort(np.concatenate([key, itself * (len(Q) + 1)]))
    return np.stack([key // len(Q), key % len(Q)], axis=1)


def near_elements(
    scene: ContactScene, room: Room, pairs: Indices, reach: Array, axis: Array, X: Array
) -> tuple[Indices, Array]:
    """Rows (pair, element of a, element of b) of elements nearer than the reach (k,) of their pair, and world boxes.

    axis (k, 3) points from a to b, or is zero; elements that are apart along it are left out. Only the boxes of bodies
    in `pairs` are filled, those of a body from box_start on. Both arrays are overwritten by the next call.
    """
    bodies = np.flatnonzero(np.bincount(pairs.reshape(-1), minlength=len(scene.shape_of)))
    box = room.box
    _refit(
        bodies, scene.shape_of, scene.leaves, scene.element_start, scene.element_points, scene.x_base, X,
        scene.box_start, box,
    )  # fmt: skip
    while True:
        found = room.found
        count = _near_elements(scene, pairs, reach, axis, X, box, found)
        if count <= len(found):
            return found[:count], box
        room.found = np.empty((2 * count, 3), np.int64)
