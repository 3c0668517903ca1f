"""Body pairs that a plane separates: a quick look at the convex hulls before any feature is looked at.

Gilbert's algorithm on the difference B − A of two vertex clouds: v is a point of its hull, w the point that is extreme
against v; v·w/|v| bounds the distance of the hulls from below, and the point of the segment from v to w that is nearest
to the origin is the next v. A handful of rounds tells most pairs apart. For the others the axis v/|v| still rules out
the features on the far sides.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import kernel, mapped, plain_kernel
from dovetail.kernel.threads import Span, chunks, map_chunks
from dovetail.solver.contact.motion import Books, need_of
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = ["LEAST", "SLOW_HEADROOM", "separate", "spent_soon"]

SLOW_HEADROOM = 8.0  # slack by motion, of bodies that move less than d̂/2 or so
LEAST = 0.5  # of the range: room at least
_LEAST_APART = 0.05  # the same along an axis, where a look finds no features and costs little
_OWN_HEADROOM = 3.0  # slack by motion along an axis, of bodies of a mechanism: it may have no candidates then
_CLEAR = 3.0  # hulls that are so many times farther apart than asked for need not be known to be farther
_ROUNDS = 8
_LARGE = 256  # vertices beyond which a look at all of them does not pay
_COST = 120.0  # [ns] of a pair


@plain_kernel
def spent_soon(w: Books, share: Array, out: Indices) -> int:
    """out ← pairs whose slack is spent, or soon will be, if bodies take a share (n,) of their step; how many."""
    near, need, slack, spent, short, count = w.near, w.need, w.slack, w.spent, w.pair_short, 0
    for k in range(len(near)):
        wanted = max(share[near[k, 0]], share[near[k, 1]]) * need[k]
        if short[k] and spent[k] < 0.25 * slack[k]:
            wanted = 0.0  # it would be given no more
        if spent[k] + wanted >= 0.5 * slack[k]:
            out[count] = k
            count += 1
    return count


@kernel
def _centre(x: int, start: int, end: int, X: Array) -> float:
    low, high = math.inf, -math.inf
    for k in range(start, end):
        low, high = min(low, X[k, x]), max(high, X[k, x])
    return 0.5 * (low + high)


@kernel
def _hulls(
    a: int, b: int, far: float, shape_of: Indices, vertex_start: Indices, x_base: Indices, X: Array, k: int,
    axis: Array,
) -> float:  # fmt: skip
    """A distance that the hulls of two bodies have at least; axis[k] ← unit vector from a to b along it.

    Ends where it exceeds `far`. Unknown, −∞ and a zero axis, for a body with itself and for large bodies.
    """
    gap = -math.inf
    axis[k, 0] = axis[k, 1] = axis[k, 2] = 0.0
    sa, sb = shape_of[a], shape_of[b]
    start_a, end_a = vertex_start[sa] + x_base[a], vertex_start[sa + 1] + x_base[a]
    start_b, end_b = vertex_start[sb] + x_base[b], vertex_start[sb + 1] + x_base[b]
    if a == b or end_a - start_a > _LARGE or end_b - start_b > _LARGE:
        return gap
    v0 = _centre(0, start_b, end_b, X) - _centre(0, start_a, end_a, X)
    v1 = _centre(1, start_b, end_b, X) - _centre(1, start_a, end_a, X)
    v2 = _centre(2, start_b, end_b, X) - _centre(2, start_a, end_a, X)
    for _ in range(_ROUNDS):
        length = math.sqrt(v0 * v0 + v1 * v1 + v2 * v2)
        if not length > 1e-12:
            break
        most_a, most_b = -math.inf, math.inf
        best_a, best_b = start_a, start_b
        for i in range(start_a, end_a):
            value = v0 * X[i, 0] + v1 * X[i, 1] + v2 * X[i, 2]
            if value > most_a:
                most_a, best_a = value, i
        for i in range(start_b, end_b):
            value = v0 * X[i, 0] + v1 * X[i, 1] + v2 * X[i, 2]
            if value < most_b:
                most_b, best_b = value, i
        bound = (most_b - most_a) / length
        if bound > gap:
            gap = bound
            axis[k, 0], axis[k, 1], axis[k, 2] = v0 / length, v1 / length, v2 / length
        if bound > far or length - bound < 0.01 * length:
            break
        w0, w1, w2 = X[best_b, 0] - X[best_a, 0], X[best_b, 1] - X[best_a, 1], X[best_b, 2] - X[best_a, 2]
        d0, d1, d2 = w0 - v0, w1 - v1, w2 - v2
        t = min(1.0, -(v0 * d0 + v1 * d1 + v2 * d2) / (d0 * d0 + d1 * d1 + d2 * d2))
        v0, v1, v2 = v0 + t * d0, v1 + t * d1, v2 + t * d2
    return gap


@kernel
def _room(motion: float, d_hat: float, headroom: float, least: float) -> float:
    """See `_room` in watch.py."""
    return max(least * d_hat, headroom * motion, min(SLOW_HEADROOM * motion, 4.0 * d_hat))


@mapped
def _separate(
    w: Books, island: Indices, chosen: Indices, scene: ContactScene, barrier: Array, headroom: float, X: Array,
    asked: Array, axis: Array, span: Span,
) -> None:  # fmt: skip
    """`separate` for some of the chosen pairs."""
    near, shift, turn, commits, need, own = w.near, w.shift, w.turn, w.commits, w.need, w.axis
    slack, spent, short, budgets, d_hats = w.slack, w.spent, w.pair_short, w.budget, scene.d_hat
    shape_of, vertex_start, x_base = scene.shape_of, scene.vertex_start, scene.x_base
    for i in range(span[1], span[2]):
        i = natural(i)
        k = natural(chosen[i])
        a, b = natural(near[k, 0]), natural(near[k, 1])
        budget, d_hat, rest = budgets[a] + budgets[b], d_hats[a] + d_hats[b], barrier[0, i] + barrier[1, i]
        # where the last look was cut short, this one will be: begin where it ended
        past = 2.0 * slack[k] if short[k] else math.inf
        # what swings goes faster again: a slack shrinks slowly
        was_apart = own[k, 0] != 0.0 or own[k, 1] != 0.0 or own[k, 2] != 0.0
        before = 0.0 if was_apart else 0.5 * slack[k]
        own[k, 0] = own[k, 1] = own[k, 2] = 0.0
        need[k] = need_of(near, shift, turn, commits, own, island, k)
        room = _room(need[k], d_hat, headroom, LEAST)
        allowed = min(max(room, before), budget)
        slack[k], spent[k] = min(allowed, past), 0.0
        gap = _hulls(a, b, _CLEAR * (rest + slack[k]), shape_of, vertex_start, x_base, X, i, axis)
        for x in range(3):
            own[k, x] = axis[i, x]
        along = need_of(near, shift, turn, commits, own, island, k)
        apart = min(headroom, _OWN_HEADROOM) if island[a] == island[b] else headroom
        room_along = _room(along, d_hat, apart, _LEAST_APART)
        if gap - rest > min(room_along, budget, past):
            slack[k], need[k], room, allowed = gap - rest, along, room_along, min(room_along, budget)
        else:
            own[k, 0] = own[k, 1] = own[k, 2] = 0.0
        asked[0, i], asked[1, i] = room, allowed


def separate(
    w: Books, island: Indices, chosen: Indices, scene: ContactScene, headroom: float, X: Array
) -> tuple[Array, Array]:
    """axis, slack, spent, need ← those of chosen pairs, some of which an axis keeps apart; the others have none.

    Returns the room that each would have and what of it budgets allow (2, k), and axes (k, 3) of all.
    """
    asked, axis = np.empty((2, len(chosen))), np.empty((len(chosen), 3))
    barrier = np.stack(scene.barrier_of(*w.near[chosen].T))
    w.axis = w.axis.copy()
    map_chunks(
        _separate, chunks(len(chosen), _COST), w, island, chosen, scene, barrier, headroom, X, asked, axis
    )  # fmt: skip
    return asked, axis
