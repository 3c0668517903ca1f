"""Possible contacts: all pairs of features that are nearer than the range of the barrier plus what the bodies may move.

    bodies near each other (a tree over boxes of bodies)  →  elements near each other (two trees of rest-space boxes)
    →  pairs of features they own, kept if their distance is below  ξ + d̂ + budget_a + budget_b

Every body has a budget of motion. The list stays complete as long as no vertex of a body has moved farther than that, over Newton
iterations and steps.

A candidate is a row of integers (kind, a, b, x0, x1, x2, x3) with positions x in X, and of numbers (κ, μ, d̂, ξ, ε or patch):

    POINT_TRIANGLE   x0 of body a, triangle x1 x2 x3 of body b        EDGE_EDGE   x0 x1 of a, x2 x3 of b
    POINT_EDGE       x0 of a, single edge x1 x2 of b                  POINT_PLANE x0 of a, half-plane x1; b = −1
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.contact.barrier import MOLLIFIER
from dovetail.solver.contact.distance import edge_edge, point_edge, point_triangle
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.contact.surface import morton_order
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["EDGE_EDGE", "POINT_EDGE", "POINT_PLANE", "POINT_TRIANGLE", "Candidates", "detect", "update_positions"]

POINT_TRIANGLE = 0
EDGE_EDGE = 1
POINT_EDGE = 2
POINT_PLANE = 3


class Candidates:
    """The list: integers (k, 7), numbers (k, 5), and the vertices it speaks of, rows (x, body, v)."""

    def __init__(self) -> None:
        self.pairs = np.zeros((0, 7), np.int64)
        self.numbers = np.zeros((0, 5))
        self.vertices = np.zeros((0, 3), np.int64)

    @property
    def count(self) -> int:
        return len(self.pairs)


@kernel
def update_positions(vertices: Indices, V: Array, Q: Array, X: Array) -> None:
    """X ← world positions of the listed vertices."""
    for k in range(len(vertices)):
        x, b, v = vertices[k, 0], vertices[k, 1], vertices[k, 2]
        for a in range(3):
            X[x, a] = Q[b, 0, a] + V[v, 0] * Q[b, 1, a] + V[v, 1] * Q[b, 2, a] + V[v, 2] * Q[b, 3, a]


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

    `order` lists the bodies along a space-filling curve; tree (2m − 1, 2, 3) receives the boxes of a complete binary tree over it.
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
def _is_masked(masked: Indices, key: int) -> bool:
    low, high = 0, len(masked)
    while low < high:
        middle = (low + high) // 2
        if masked[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low < len(masked) and masked[low] == key


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
    a: int, b: int, sa: int, sb: int, tree_start: Indices, leaves: Indices, element_start: Indices, low: Array, high: Array,
    reach: float, Q: Array, stack: Indices, box_a: Array, box_b: Array, found: Indices,
) -> int:  # fmt: skip
    """Pairs of elements (global numbers) of two bodies whose world boxes are nearer than `reach`; returns how many."""
    ta, tb = tree_start[sa], tree_start[sb]
    first_a, first_b = leaves[sa] - 1, leaves[sb] - 1
    stack[0, 0] = 0
    stack[0, 1] = 0
    depth = 1
    count = 0
    while depth > 0:
        depth -= 1
        na, nb = stack[depth, 0], stack[depth, 1]
        # an empty box (a leaf beyond the last element) is inverted
        if low[ta + na, 0] > high[ta + na, 0] or low[tb + nb, 0] > high[tb + nb, 0]:
            continue
        _node_box(Q, a, low, high, ta + na, box_a)
        _node_box(Q, b, low, high, tb + nb, box_b)
        apart = False
        for x in range(3):
            if abs(box_a[0, x] - box_b[0, x]) > box_a[1, x] + box_b[1, x] + reach:
                apart = True
        if apart:
            continue
        inner_a, inner_b = na < first_a, nb < first_b
        if not inner_a and not inner_b:
            if count < len(found):
                found[count, 0] = element_start[sa] + na - first_a
                found[count, 1] = element_start[sb] + nb - first_b
            count += 1
            continue
        size_a = box_a[1, 0] + box_a[1, 1] + box_a[1, 2]
        size_b = box_b[1, 0] + box_b[1, 1] + box_b[1, 2]
        split_a = inner_a and (not inner_b or size_a >= size_b)
        for child in (1, 2):
            stack[depth, 0] = 2 * na + child if split_a else na
            stack[depth, 1] = nb if split_a else 2 * nb + child
            depth += 1
    return count


@kernel
def _material(v: int, b: int, material: Indices, vertex_material: Indices) -> int:
    return vertex_material[v] if vertex_material[v] >= 0 else material[b]


@kernel
def _mean_model(
    x0: int, x1: int, x2: int, x3: int, split: int, count: int, a: int, b: int, x_base: Indices, material: Indices,
    vertex_material: Indices, mu: Array, kappa: Array, enabled: Array, out: Array,
) -> bool:  # fmt: skip
    """out ← κ, μ averaged over the vertex pairs of two features; False where one of the pairs may not touch.

    The first `split` of the `count` positions belong to body a, the others to body b. An adaptive κ of any pair makes all adaptive.
    """
    x = (x0, x1, x2, x3)
    stiffness = 0.0
    friction = 0.0
    adaptive = False
    pairs = 0
    for i in range(split):
        for j in range(split, count):
            m = _material(x[i] - x_base[a], a, material, vertex_material)
            n = _material(x[j] - x_base[b], b, material, vertex_material)
            if not enabled[m, n]:
                return False
            adaptive = adaptive or kappa[m, n] < 0.0
            stiffness += kappa[m, n]
            friction += mu[m, n]
            pairs += 1
    out[0] = -1.0 if adaptive else stiffness / pairs
    out[1] = friction / pairs
    return True


@kernel
def _squared_length(V: Array, edge: Indices, e: int) -> float:
    total = 0.0
    for x in range(3):
        total += (V[edge[e, 1], x] - V[edge[e, 0], x]) ** 2
    return total


@kernel
def _collect(
    pairs: Indices, shape_of: Indices, V: Array, triangles: Indices, patch: Indices, edges: Indices, is_codim: Indices,
    element_triangle: Indices, element_vertices: Indices, element_edges: Indices, element_start: Indices, low: Array,
    high: Array, tree_start: Indices, leaves: Indices, x_base: Indices, material: Indices, vertex_material: Indices,
    subscene: Indices, subscenes: Array, mu: Array, kappa: Array, enabled: Array, masked: Indices, d_hat: Array,
    thickness: Array, budget: Array, Q: Array, X: Array, found: Indices, out: Indices, numbers: Array, key: Indices,
) -> int:  # fmt: skip
    """Candidates of all near body pairs; returns how many there are (more than fit: call again with more room)."""
    stack = np.empty((4096, 2), np.int64)
    box_a, box_b = np.empty((2, 3)), np.empty((2, 3))
    model = np.empty(2)
    count = 0
    patches = 1
    for t in range(len(patch)):
        patches = max(patches, patch[t] + 1)
    for pair in range(len(pairs)):
        a, b = pairs[pair, 0], pairs[pair, 1]
        if not subscenes[subscene[a], subscene[b]] or _is_masked(masked, a * len(shape_of) + b):
            continue
        range_ = 0.5 * (d_hat[a] + d_hat[b])
        thick = thickness[a] + thickness[b]
        reach = range_ + thick + budget[a] + budget[b]
        near = _near_elements(
            a, b, shape_of[a], shape_of[b], tree_start, leaves, element_start, low, high, reach, Q, stack, box_a, box_b,
            found,
        )  # fmt: skip
        if near > len(found):
            return -near
        for k in range(near):
            if a == b and found[k, 0] >= found[k, 1]:
                continue
            # points of one body against triangles and single edges of the other, both ways
            for swap in range(2):
                first, second = (a, b) if swap == 0 else (b, a)
                mine, other = found[k, swap], found[k, 1 - swap]
                t = element_triangle[other]
                for slot in range(3):
                    v = element_vertices[mine, slot]
                    if v < 0:
                        continue
                    x0 = v + x_base[first]
                    if t >= 0:
                        x1, x2, x3 = triangles[t, 0], triangles[t, 1], triangles[t, 2]
                        x1, x2, x3 = x1 + x_base[second], x2 + x_base[second], x3 + x_base[second]
                        _, _, r0, r1, r2 = point_triangle(X, x0, x1, x2, x3)
                        kind, corners = POINT_TRIANGLE, 4
                        group = patch[t]
                    else:
                        e = element_edges[other, 0]
                        x1, x2, x3 = edges[e, 0] + x_base[second], edges[e, 1] + x_base[second], -1
                        _, r0, r1, r2 = point_edge(X, x0, x1, x2)
                        kind, corners = POINT_EDGE, 3
                        group = 0
                    if r0 * r0 + r1 * r1 + r2 * r2 > reach * reach:
                        continue
                    if a == b:
                        # a body does not touch itself where its rest shape is that near already
                        base = x_base[a]
                        if kind == POINT_TRIANGLE:
                            _, _, r0, r1, r2 = point_triangle(V, v, x1 - base, x2 - base, x3 - base)
                        else:
                            _, r0, r1, r2 = point_edge(V, v, x1 - base, x2 - base)
                        if r0 * r0 + r1 * r1 + r2 * r2 <= (range_ + thick) ** 2:
                            continue
                    if not _mean_model(
                        x0, x1, x2, x3, 1, corners, first, second, x_base, material, vertex_material, mu, kappa,
                        enabled, model,
                    ):  # fmt: skip
                        continue
                    if count < len(out):
                        out[count, 0] = kind
                        out[count, 1] = first
                        out[count, 2] = second
                        out[count, 3] = x0
                        out[count, 4] = x1
                        out[count, 5] = x2
                        out[count, 6] = x3
                        numbers[count, 0] = model[0]
                        numbers[count, 1] = model[1]
                        numbers[count, 2] = range_
                        numbers[count, 3] = thick
                        numbers[count, 4] = group
                        key[count] = ((pair * 4 + kind) * len(X) + x0) * patches + group
                    count += 1
            for i in range(3):
                e = element_edges[found[k, 0], i]
                if e < 0:
                    continue
                for j in range(3):
                    f = element_edges[found[k, 1], j]
                    if f < 0:
                        continue
                    x0, x1 = edges[e, 0] + x_base[a], edges[e, 1] + x_base[a]
                    x2, x3 = edges[f, 0] + x_base[b], edges[f, 1] + x_base[b]
                    _, _, r0, r1, r2, _ = edge_edge(X, x0, x1, x2, x3)
                    if r0 * r0 + r1 * r1 + r2 * r2 > reach * reach:
                        continue
                    if a == b:
                        _, _, r0, r1, r2, _ = edge_edge(V, edges[e, 0], edges[e, 1], edges[f, 0], edges[f, 1])
                        if r0 * r0 + r1 * r1 + r2 * r2 <= (range_ + thick) ** 2:
                            continue
                    if not _mean_model(
                        x0, x1, x2, x3, 2, 4, a, b, x_base, material, vertex_material, mu, kappa, enabled, model
                    ):
                        continue
                    if count < len(out):
                        out[count, 0] = EDGE_EDGE
                        out[count, 1] = a
                        out[count, 2] = b
                        out[count, 3] = x0
                        out[count, 4] = x1
                        out[count, 5] = x2
                        out[count, 6] = x3
                        numbers[count, 0] = model[0]
                        numbers[count, 1] = model[1]
                        numbers[count, 2] = range_
                        numbers[count, 3] = thick
                        numbers[count, 4] = MOLLIFIER * _squared_length(V, edges, e) * _squared_length(V, edges, f)
                        key[count] = ((pair * 4 + EDGE_EDGE) * len(X) + x0) * patches
                    count += 1
    return count


@kernel
def _all_positions(shape_of: Indices, vertex_start: Indices, x_base: Indices, V: Array, Q: Array, X: Array) -> None:
    for b in range(len(shape_of)):
        s = shape_of[b]
        if s < 0:
            continue
        for v in range(vertex_start[s], vertex_start[s + 1]):
            for a in range(3):
                x = Q[b, 0, a] + V[v, 0] * Q[b, 1, a] + V[v, 1] * Q[b, 2, a] + V[v, 2] * Q[b, 3, a]
                X[v + x_base[b], a] = x


def detect(scene: ContactScene, is_fixed: Indices, budget: Array, Q: Array, X: Array) -> Candidates:
    """Find all possible contacts at Q; X receives the positions of all vertices."""
    vertex_start = np.cumsum([0, *(len(s.vertices) for s in scene.shapes)])
    _all_positions(scene.shape_of, vertex_start, scene.x_base, scene.V, Q, X)
    pairs = _body_pairs(scene, is_fixed, budget, Q)
    rows, numbers, key = _pairs_of_features(scene, pairs, budget, Q, X)
    plane_rows, plane_numbers = _plane_candidates(scene, is_fixed, budget, X, vertex_start)
    order = np.argsort(key, kind="stable")
    result = Candidates()
    result.pairs = np.ascontiguousarray(np.concatenate([plane_rows, rows[order]]))
    result.numbers = np.ascontiguousarray(np.concatenate([plane_numbers, numbers[order]]))
    result.vertices = _vertices(scene, result.pairs)
    return result


def _body_pairs(scene: ContactScene, is_fixed: Indices, budget: Array, Q: Array) -> Indices:
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
    return np.ascontiguousarray(np.concatenate([near, np.stack([itself, itself], axis=1)]))


def _pairs_of_features(
    scene: ContactScene, pairs: Indices, budget: Array, Q: Array, X: Array
) -> tuple[Indices, Array, Indices]:
    room, found = 64 * len(pairs) + 256, 4096
    assert scene.vertex_material is not None
    while True:
        rows = np.empty((room, 7), np.int64)
        numbers = np.empty((room, 5))
        key = np.empty(room, np.int64)
        count = _collect(
            pairs, scene.shape_of, scene.V, scene.triangles, scene.patch, scene.edges, scene.is_codim,
            scene.element_triangle, scene.element_vertices, scene.element_edges, scene.element_start, scene.low,
            scene.high, scene.tree_start, scene.leaves, scene.x_base, scene.material, scene.vertex_material,
            scene.subscene, scene.subscenes, scene.mu, scene.kappa, scene.enabled, scene.masked, scene.d_hat,
            scene.thickness, budget, Q, X, np.empty((found, 2), np.int64), rows, numbers, key,
        )  # fmt: skip
        if count < 0:
            found = -2 * count
        elif count > room:
            room = count
        else:
            return rows[:count], numbers[:count], key[:count]


def _plane_candidates(
    scene: ContactScene, is_fixed: Indices, budget: Array, X: Array, vertex_start: Indices
) -> tuple[Indices, Array]:
    """Vertices near half-planes; only those that can touch first."""
    rows, numbers = [np.zeros((0, 7), np.int64)], [np.zeros((0, 5))]
    if len(scene.plane_point):
        body, vertex = _touching_vertices(scene, is_fixed)
        x = vertex + scene.x_base[body]
        assert scene.vertex_material is not None
        own = scene.vertex_material[vertex]
        material = np.where(own >= 0, own, scene.material[body])
        for plane, (point, normal) in enumerate(zip(scene.plane_point, scene.plane_normal, strict=True)):
            model = (material, np.full(len(material), scene.plane_material[plane]))
            height = (X[x] - point) @ normal
            near = height <= scene.thickness[body] + scene.d_hat[body] + budget[body]
            near &= scene.enabled[model] != 0
            k = np.flatnonzero(near)
            row = np.full((len(k), 7), -1)
            row[:, 0], row[:, 1], row[:, 3], row[:, 4] = POINT_PLANE, body[k], x[k], plane
            rows.append(row)
            columns = (scene.kappa[model], scene.mu[model], scene.d_hat[body], scene.thickness[body], 0.0 * height)
            numbers.append(np.stack([column[k] for column in columns], axis=1))
    return np.concatenate(rows), np.concatenate(numbers)


def _touching_vertices(scene: ContactScene, is_fixed: Indices) -> tuple[Indices, Indices]:
    """(body, v) of every vertex of a free body that can touch first; the same at every call."""
    cached: tuple[Indices, Indices] | None = getattr(scene, "_touching", None)
    if cached is None:
        by_shape = []
        for s in range(len(scene.shapes)):
            owned = scene.element_vertices[scene.element_start[s] : scene.element_start[s + 1]].reshape(-1)
            by_shape.append(np.sort(owned[owned >= 0]))
        free = [b for b in range(len(scene.shape_of)) if scene.shape_of[b] >= 0 and not is_fixed[b]]
        vertices = [by_shape[scene.shape_of[b]] for b in free]
        body = np.repeat(free, [len(v) for v in vertices]).astype(np.int64)
        cached = body, np.concatenate([np.zeros(0, np.int64), *vertices])
        scene._touching = cached  # type: ignore[attr-defined]
    return cached


def _vertices(scene: ContactScene, pairs: Indices) -> Indices:
    """Rows (x, body, v) of the vertices that candidates speak of."""
    kind = pairs[:, 0]
    seen = np.zeros(scene.x_count, bool)
    owner = np.zeros(scene.x_count, np.int64)
    for column in range(3, 7):
        here = np.ones(len(pairs), bool)
        if column > 3:
            here &= kind != POINT_PLANE
        if column == 6:
            here &= kind != POINT_EDGE
        first = (column == 3) | ((kind == EDGE_EDGE) & (column == 4))
        body = np.where(first, pairs[:, 1], pairs[:, 2])[here]
        x = pairs[here, column]
        seen[x] = True
        owner[x] = body
    x = np.flatnonzero(seen)
    return np.ascontiguousarray(np.stack([x, owner[x], x - scene.x_base[owner[x]]], axis=1))
