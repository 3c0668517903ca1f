"""What is near what: bodies by a tree over their boxes, then elements by the trees of their shapes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.threads import Span, chunks, map_chunks
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.contact.surface import morton_order
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.solver.contact.room import Room

__all__ = ["boxes_apart", "find_pairs", "near_bodies", "near_elements"]

_ORDER_LIFE = 16  # looks after which bodies are put in order along their curve again
_FEW = 16  # elements of a body, such as a box, that are looked at without a tree
_COST, _COST_OF_BOX = 1500.0, 5.0  # [ns] to find those near a body, to fit a box


@kernel
def _body_boxes(scene: ContactScene, margin: Array, Q: Array, box: Array) -> None:
    """box (n, 2, 3) ← world box of every body, grown by its margin; empty where it has no surface."""
    shape_of, tree_start, low, high = scene.shape_of, scene.tree_start, scene.low, scene.high
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
def _grow_tree(order: Indices, box: Array, tree: Array) -> None:
    """tree (2m − 1, 2, 3) ← boxes of a complete binary tree over bodies in this order."""
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


@mapped
def _near_bodies(
    order: Indices, box: Array, is_fixed: Indices, tree: Array, most: float, pairs: Indices, span: Span
) -> int:
    """pairs[part] ← (a, b), a < b, of bodies whose boxes overlap, at least one free, a among some in the order.

    Returns how many, whether or not there is room for them, counted to just beyond `most`. `order` lists the bodies
    along a space-filling curve.
    """
    part, start, stop = span
    first = (len(tree) + 1) // 2 - 1
    stack, found = np.empty(128, np.int64), pairs[part]
    count = 0
    for k in range(start, stop):
        a = natural(order[k])
        stack[0] = 0
        depth = 1
        while depth > 0:
            depth -= 1
            node = natural(stack[depth])
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
            if count < len(found):
                found[count, 0] = min(a, b)
                found[count, 1] = max(a, b)
            count += 1
            if count > most:
                return count
    return count


@kernel
def _sort_by(rows: Indices, column: int, start: Indices, out: Indices) -> None:
    """out ← rows (k, 2) by one of their columns, equal ones as they are; start (n + 1,) is zero at first."""
    for k in range(len(rows)):
        start[natural(rows[k, column]) + 1] += 1
    for b in range(len(start) - 1):
        start[b + 1] += start[b]
    for k in range(len(rows)):
        b = natural(rows[k, column])
        at = natural(start[b])
        out[at, 0], out[at, 1] = rows[k, 0], rows[k, 1]
        start[b] += 1


@kernel
def find_pairs(some: Indices, among: Indices, place: Indices) -> None:
    """place (k,) ← where each of some pairs (k, 2) is among others, −1 where it is not; both are sorted."""
    at = 0
    for k in range(len(some)):
        a, b = some[k, 0], some[k, 1]
        while at < len(among) and (among[at, 0] < a or (among[at, 0] == a and among[at, 1] < b)):
            at += 1
        place[k] = at if at < len(among) and among[at, 0] == a and among[at, 1] == b else -1


@mapped
def _refit(scene: ContactScene, bodies: Indices, X: Array, box: Array, span: Span) -> None:
    """box (m, 2, 3) ← world boxes of the trees of some bodies; leaves beyond the last element are empty."""
    shape_of, leaves, element_start, box_start = scene.shape_of, scene.leaves, scene.element_start, scene.box_start
    element_points, x_base = scene.element_points, scene.x_base
    for k in range(span[1], span[2]):
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
def _elements_of_pair(
    scene: ContactScene, pairs: Indices, pair: int, reach: float, axis: Array, X: Array, box: Array, stack: Indices,
    start: Array, most: float, count: int, found: Indices,
) -> int:  # fmt: skip
    """Add the rows of one pair, see `near_elements`; how many there are then, counted to just beyond `most`."""
    element_points = scene.element_points
    a, b = pairs[pair, 0], pairs[pair, 1]
    sa, sb = scene.shape_of[a], scene.shape_of[b]
    first_a, first_b = scene.leaves[sa] - 1, scene.leaves[sb] - 1
    root_a, root_b = scene.box_start[a], scene.box_start[b]
    base_a, base_b = scene.x_base[a], scene.x_base[b]
    start_a, start_b = scene.element_start[sa], scene.element_start[sb]
    if first_a < _FEW and first_b < _FEW:
        # few elements: all with all is quicker than two trees
        size_a, size_b = scene.element_start[sa + 1] - start_a, scene.element_start[sb + 1] - start_b
        for j in range(size_b):
            start[j] = -_along(axis, pair, element_points, start_b + j, base_b, X, -1.0)
        for i in range(size_a):
            end = _along(axis, pair, element_points, start_a + i, base_a, X, 1.0)
            for j in range(size_b):
                if start[j] - end > reach or boxes_apart(box, root_a + first_a + i, root_b + first_b + j, reach):
                    continue
                count = _keep(pair, start_a + i, start_b + j, count, found)
        return count
    stack[0, 0] = 0
    stack[0, 1] = 0
    depth = 1
    while depth > 0 and count <= most:
        depth -= 1
        na, nb = stack[depth, 0], stack[depth, 1]
        if boxes_apart(box, root_a + na, root_b + nb, reach):
            continue
        inner_a, inner_b = na < first_a, nb < first_b
        if not inner_a and not inner_b:
            ea, eb = start_a + na - first_a, start_b + nb - first_b
            end = _along(axis, pair, element_points, ea, base_a, X, 1.0)
            if -_along(axis, pair, element_points, eb, base_b, X, -1.0) - end <= reach:
                count = _keep(pair, ea, eb, count, found)
            continue
        split_a = inner_a and (not inner_b or _size(box, root_a + na) >= _size(box, root_b + nb))
        for child in (1, 2):
            stack[depth, 0] = 2 * na + child if split_a else na
            stack[depth, 1] = nb if split_a else 2 * nb + child
            depth += 1
    return count


@kernel
def _near_elements(
    scene: ContactScene, pairs: Indices, reach: Array, least: Array, most: Array, axis: Array, X: Array, box: Array,
    found: Indices,
) -> int:  # fmt: skip
    """Rows of all pairs, see `near_elements`; how many there are, whether or not there is room for them."""
    stack, start = np.empty((4096, 2), np.int64), np.empty(_FEW)
    count = 0
    for pair in range(len(pairs)):
        first = count
        while True:
            end = first + most[pair] if reach[pair] > least[pair] else math.inf
            count = _elements_of_pair(scene, pairs, pair, reach[pair], axis, X, box, stack, start, end, first, found)
            if count <= end:
                break
            reach[pair] = max(0.5 * reach[pair], least[pair])
    return count


def near_bodies(
    scene: ContactScene, room: Room, is_fixed: Indices, budget: Array, Q: Array, most: float = math.inf
) -> Indices:
    """Body pairs (k, 2), sorted, that may touch and whose boxes overlap when grown by budgets and ranges.

    A body that collides with itself is paired with itself. Two fixed bodies are no pair. Where there would be more than
    `most`, the largest budgets are halved, and again, but none below d̂/2.
    """
    box, solid = np.empty((len(Q), 2, 3)), np.flatnonzero(scene.shape_of >= 0)
    itself = solid[(scene.self_collides[solid] != 0) & (is_fixed[solid] == 0)]
    leaves = 1
    while leaves < len(solid):
        leaves *= 2
    tree, spans, least = np.empty((2 * leaves - 1, 2, 3)), chunks(len(solid), _COST), 0.5 * scene.d_hat
    pairs = np.empty((len(spans), 16 * len(solid) // len(spans) + 64, 2), np.int64)
    while True:
        margin = least + scene.thickness + budget
        _body_boxes(scene, margin, Q, box)
        if room.order_age == 0:
            room.order = solid[morton_order(box[solid].mean(axis=1))] if len(solid) else solid
        room.order_age = (room.order_age + 1) % _ORDER_LIFE
        # an old order makes for a worse tree, not for other pairs
        end = most if (budget > least).any() else math.inf
        _grow_tree(room.order, box, tree)
        counts = map_chunks(_near_bodies, spans, room.order, box, is_fixed, tree, end, pairs)
        if sum(counts) > end:
            np.clip(budget, None, np.maximum(0.5 * budget.max(), least), out=budget)
        elif max(counts) > pairs.shape[1]:
            pairs = np.empty((len(spans), max(counts), 2), np.int64)
        else:
            break
    found = np.concatenate([*(some[:k] for some, k in zip(pairs, counts, strict=True)), np.stack([itself, itself], 1)])
    spare = np.empty_like(found)
    _sort_by(found, 1, np.zeros(len(Q) + 1, np.int64), spare)
    _sort_by(spare, 0, np.zeros(len(Q) + 1, np.int64), found)
    keep = np.ones(len(found), np.bool_)
    if len(scene.masked):
        keep &= ~np.isin(found[:, 0] * len(Q) + found[:, 1], scene.masked)
    if len(scene.subscenes) > 1:
        keep &= scene.subscenes[scene.subscene[found[:, 0]], scene.subscene[found[:, 1]]] != 0
    return found if keep.all() else found[keep | (found[:, 0] == found[:, 1])]


def near_elements(
    scene: ContactScene, room: Room, pairs: Indices, reach: Array, least: Array, most: Array, axis: Array, X: Array
) -> tuple[Indices, Array]:
    """Rows (pair, element of a, element of b) of elements nearer than the reach (k,) of their pair, and world boxes.

    Where a pair would have more than `most` (k,) rows its reach is halved, and again, but not below `least` (k,).
    axis (k, 3) points from a to b, or is zero; elements that are apart along it are left out. Only the boxes of bodies
    in `pairs` are filled, those of a body from box_start on. Both arrays are overwritten by the next call.
    """
    bodies = np.flatnonzero(np.bincount(pairs.reshape(-1), minlength=len(scene.shape_of)))
    box = room.box
    map_chunks(_refit, chunks(len(bodies), _COST_OF_BOX * len(box) / len(scene.shape_of)), scene, bodies, X, box)
    while True:
        found = room.found
        count = _near_elements(scene, pairs, reach, least, most, axis, X, box, found)
        if count <= len(found):
            return found[:count], box
        room.grow_found(count)
