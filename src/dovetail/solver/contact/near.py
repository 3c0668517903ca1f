"""What is near what: bodies by a tree over their boxes, then elements by the trees of their shapes."""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.contact.surface import morton_order
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["near_bodies", "near_elements"]


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
def _node_box(Q: Array, b: int, low: Array, high: Array, node: int, out: Array) -> None:
    """out (2, 3) ← centre and half extent of a rest-space box in the world."""
    for x in range(3):
        middle = Q[b, 0, x]
        half = 0.0
        for i in range(3):
            middle += 0.5 * (low[node, i] + high[node, i]) * Q[b, 1 + i, x]
            half += 0.5 * (high[node, i] - low[node, i]) * abs(Q[b, 1 + i, x])
        out[0, x] = middle
        out[1, x] = half


@kernel
def _near_elements(
    pairs: Indices, reach: Array, shape_of: Indices, tree_start: Indices, leaves: Indices, element_start: Indices,
    low: Array, high: Array, Q: Array, found: Indices,
) -> int:  # fmt: skip
    """Rows (pair, element of a, element of b) whose world boxes are nearer than the reach of the pair; how many."""
    stack = np.empty((4096, 2), np.int64)
    box = np.empty((2, 2, 3))
    count = 0
    for pair in range(len(pairs)):
        sa, sb = shape_of[pairs[pair, 0]], shape_of[pairs[pair, 1]]
        first_a, first_b = leaves[sa] - 1, leaves[sb] - 1
        stack[0, 0] = 0
        stack[0, 1] = 0
        depth = 1
        while depth > 0:
            depth -= 1
            na, nb = stack[depth, 0], stack[depth, 1]
            empty = False
            for side in range(2):
                node = tree_start[sa] + na if side == 0 else tree_start[sb] + nb
                # the box of a leaf beyond the last element is inverted
                empty = empty or low[node, 0] > high[node, 0]
                _node_box(Q, pairs[pair, side], low, high, node, box[side])
            apart = empty
            for x in range(3):
                if abs(box[0, 0, x] - box[1, 0, x]) > box[0, 1, x] + box[1, 1, x] + reach[pair]:
                    apart = True
            if apart:
                continue
            inner_a, inner_b = na < first_a, nb < first_b
            if not inner_a and not inner_b:
                if count < len(found):
                    found[count, 0] = pair
                    found[count, 1] = element_start[sa] + na - first_a
                    found[count, 2] = element_start[sb] + nb - first_b
                count += 1
                continue
            size_a = box[0, 1, 0] + box[0, 1, 1] + box[0, 1, 2]
            size_b = box[1, 1, 0] + box[1, 1, 1] + box[1, 1, 2]
            split_a = inner_a and (not inner_b or size_a >= size_b)
            for child in (1, 2):
                stack[depth, 0] = 2 * na + child if split_a else na
                stack[depth, 1] = nb if split_a else 2 * nb + child
                depth += 1
    return count


def near_bodies(scene: ContactScene, is_fixed: Indices, budget: Array, Q: Array) -> Indices:
    margin = 0.5 * scene.d_hat + scene.thickness + budget
    box = np.empty((len(Q), 2, 3))
    _body_boxes(scene.shape_of, scene.tree_start, scene.low, scene.high, margin, Q, box)
    solid = np.flatnonzero(scene.shape_of >= 0)
    itself = solid[(scene.self_collides[solid] != 0) & (is_fixed[solid] == 0)]
    order = solid[morton_order(box[solid].mean(axis=1))] if len(solid) else solid
    leaves = 1
    while leaves < len(solid):
        leaves *= 2
    tree = np.empty((2 * leaves - 1, 2, 3))
    pairs = np.empty((8 * len(solid) + 64, 2), np.int64)
    count = _near_bodies(order, box, is_fixed, tree, pairs)
    if count > len(pairs):
        pairs = np.empty((count, 2), np.int64)
        _near_bodies(order, box, is_fixed, tree, pairs)
    near = pairs[:count]
    near = near[np.lexsort((near[:, 1], near[:, 0]))]
    allowed = scene.subscenes[scene.subscene[near[:, 0]], scene.subscene[near[:, 1]]] != 0
    if len(scene.masked):
        allowed &= ~np.isin(near[:, 0] * len(Q) + near[:, 1], scene.masked)
    return np.ascontiguousarray(np.concatenate([near[allowed], np.stack([itself, itself], axis=1)]))


def near_elements(scene: ContactScene, pairs: Indices, reach: Array, Q: Array) -> Indices:
    """Rows (pair, element of a, element of b) of elements whose boxes are nearer than the reach (k,) of their pair."""
    found = np.empty((scene.room[0], 3), np.int64)
    while True:
        count = _near_elements(
            pairs, reach, scene.shape_of, scene.tree_start, scene.leaves, scene.element_start, scene.low, scene.high, Q,
            found,
        )  # fmt: skip
        if count <= len(found):
            return found[:count]
        scene.room[0] = 2 * count
        found = np.empty((scene.room[0], 3), np.int64)
