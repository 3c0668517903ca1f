"""How far bodies move in a step, alone and relative to each other: what the list of candidates may be trusted for.

A body has a budget of motion, seen from a frame that may move along with the bodies: it decides which bodies are
near each other at all. A pair of near bodies has a slack of relative motion: it decides which of their features are
candidates. Bodies that fall or swing together use up neither. A pair that is apart along an axis has no candidates, and
uses up its slack by what it approaches along the axis alone: what slides past is never looked at.

A body that *commits* itself takes a step whole. Any other may take any share of it, so that it may lag behind the
frame and behind committed ones; bodies of one island take the same share.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.record import Record, f8, i8
from dovetail.kernel.threads import Span, chunks, map_chunks, map_phases
from dovetail.solver.islands import Islands
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = [
    "BODIES_SPENT",
    "BUDGET",
    "COST_OF_PAIR",
    "COVERED",
    "EVERYTHING",
    "PAIRS_SPENT",
    "STILL",
    "USED",
    "Books",
    "carry_over",
    "guard_uncovered",
    "look_at_chunk",
    "look_at_step",
    "need_of",
    "pair_motion",
    "record_chunk",
    "record_motion",
    "tighten",
    "vertex_step",
]


@kernel
def vertex_step(V: Array, v: int, y: Array, body: int, axis: int) -> float:
    """How far vertex V[v] of a body moves along an axis in the step −y (n, 12)."""
    return -(y[body, axis] + V[v, 0] * y[body, 3 + axis] + V[v, 1] * y[body, 6 + axis] + V[v, 2] * y[body, 9 + axis])


@kernel
def _bend(centre: Array, half: Array, Q: Array, y: Array, b: int) -> float:
    """The most that a vertex of body b departs from a straight step where that is curved (`move` in iterate.py).

    Also where it is turned about a point of its own, and that of any share of the step (swing.py).
    """
    trace = 0.0
    for i in range(1, 4):
        for x in range(3):
            trace += y[b, 3 * i + x] ** 2
    if trace == 0.0:
        return 0.0
    total = 0.0
    for i in range(3):
        change = 0.0
        for j in range(3):
            G = before = after = 0.0
            for x in range(3):
                G += y[b, 3 + 3 * i + x] * y[b, 3 + 3 * j + x]
                before += Q[b, 1 + j, x] ** 2
                after += (Q[b, 1 + j, x] - y[b, 3 + 3 * j + x]) ** 2
            change += abs(G) * math.sqrt(max(before, after))
        total += (abs(centre[b, i]) + 2.0 * half[b, i]) * change
    return total / (2.0 + trace)


class Books(Record):
    """How far bodies and near pairs move, may move and have moved.

    centre, half (n, 3)      boxes of the bodies in their own frames [m]
    near (k, 2)              body pairs near each other
    budget, used (n,)        motion that `near` allows a body, and has seen of it
    slack, spent (k,)        relative motion that the candidates allow a pair, and have seen of it
    path (k,)                see known.py
    axis (k, 3)              from one body of a pair to the other, along which they are apart; 0 where there is none
    shift (n, 3), turn (n,)  how far a box centre moves in the step looked at, and the most a vertex departs from that
    bend (n,)                which turn contains: the most that a curved step departs from the straight one
    motion (n,), need (k,)   farthest that a vertex moves, and that the bodies of a pair move relative to each other
    commits (n,)             1 for bodies that take the step whole
    planes (3,)              budget, use and motion of what stands still
    short (n,), pair_short (k,)   1 where budget or slack is less than asked for: more would be too much to look at
    """

    centre: Array = f8(2)
    half: Array = f8(2)
    near: Indices = i8(2)
    budget: Array = f8(1)
    used: Array = f8(1)
    slack: Array = f8(1)
    spent: Array = f8(1)
    path: Array = f8(1)
    axis: Array = f8(2)
    shift: Array = f8(2)
    turn: Array = f8(1)
    bend: Array = f8(1)
    motion: Array = f8(1)
    need: Array = f8(1)
    commits: Indices = i8(1)
    planes: Array = f8(1)
    short: Indices = i8(1)
    pair_short: Indices = i8(1)


BUDGET, USED, STILL = range(3)
"""Entries of `planes`."""

COVERED, PAIRS_SPENT, BODIES_SPENT = range(3)
"""What a look at a step finds: nothing to do, candidates of pairs to be renewed, near bodies to be found anew."""


_BODIES, _PAIRS = 1, 2
"""Phases of a look at a step."""

EVERYTHING = (0, 0, 1 << 62, _BODIES | _PAIRS)
"""All phases of a look, of all bodies and pairs."""

_COST_OF_BODY, COST_OF_PAIR = 60.0, 12.0
"""Of a body and of a near pair [ns], to see how far they move."""


def look_at_step(w: Books, Q: Array, y: Array, in_frame: bool, of: Indices, share: Array) -> int:
    """Measure the step −y from Q; whether at least a share (n,) of it is covered, or half of a budget that is short.

    `in_frame` sees it from a frame that moves with the mean of all bodies, which are in the islands `of` (n,).
    """
    bodies, pairs = chunks(len(y), _COST_OF_BODY), chunks(len(w.near), COST_OF_PAIR)
    if len(bodies) == len(pairs) == 1:
        return int(look_at_chunk(w, Q, y, in_frame, of, share, EVERYTHING))
    return max(map_phases(look_at_chunk, ((bodies, _BODIES), (pairs, _PAIRS)), w, Q, y, in_frame, of, share))


@kernel
def _mean_step(y: Array, of: Indices, frame: Array) -> None:
    """frame ← mean of the steps of free bodies."""
    free = 0
    for b in range(len(y)):
        if of[b] >= 0:
            free += 1
            for x in range(3):
                frame[x] += y[b, x]
    for x in range(3):
        frame[x] /= max(free, 1)


@kernel
def commit_steps(w: Books, whole: int) -> None:
    """Bodies take all of the step that is looked at next, or any share of it."""
    for b in range(len(w.commits)):
        w.commits[b] = whole


@mapped
def look_at_chunk(
    w: Books, Q: Array, y: Array, in_frame: bool, of: Indices, share: Array, span: tuple[int, int, int, int]
) -> int:
    """Phases of `look_at_step`: of some bodies, then of some pairs."""
    _, start, stop, phase = span
    found = COVERED
    if phase & _BODIES:
        frame = np.zeros(3)
        if in_frame:
            _mean_step(y, of, frame)
        if start == 0:
            w.planes[STILL] = math.sqrt(frame[0] * frame[0] + frame[1] * frame[1] + frame[2] * frame[2])
            if w.planes[USED] + w.planes[STILL] > w.planes[BUDGET]:
                found = BODIES_SPENT
        _body_motion(w, Q, y, frame, start, min(stop, len(y)))
        used, motion, budget, short = w.used, w.motion, w.budget, w.short
        for b in range(start, min(stop, len(y))):
            b = natural(b)
            if used[b] + share[b] * motion[b] > budget[b] and not (short[b] and used[b] <= 0.5 * budget[b]):
                found = BODIES_SPENT
    if phase & _PAIRS:
        near, spent, need, slack, pair_short = w.near, w.spent, w.need, w.slack, w.pair_short
        fill_need(w, of, (0, start, min(stop, len(near))))
        for k in range(start, min(stop, len(near))):
            k = natural(k)
            wanted = max(share[near[k, 0]], share[near[k, 1]]) * need[k]
            if spent[k] + wanted > slack[k] and not (pair_short[k] and spent[k] <= 0.5 * slack[k]):
                found = max(found, PAIRS_SPENT)
    return found


def carry_over(place: Indices, old: tuple[Array, Array, Array, Indices, Array], w: Books) -> None:
    """Book what was known of pairs, spent, path, slack, short and axis, where each of them is now, place (k,) ≥ 0."""
    map_chunks(_carry_over, chunks(len(place), COST_OF_PAIR), place, *old, w)


@mapped
def _carry_over(
    place: Indices, spent: Array, path: Array, slack: Array, pair_short: Indices, axis: Array, w: Books, span: Span
) -> None:
    """`carry_over` of some pairs."""
    now_spent, now_path, now_slack, now_short, now_axis = w.spent, w.path, w.slack, w.pair_short, w.axis
    for k in range(span[1], span[2]):
        if place[k] >= 0:
            to = natural(place[k])
            now_spent[to], now_path[to], now_slack[to], now_short[to] = spent[k], path[k], slack[k], pair_short[k]
            for x in range(3):
                now_axis[to, x] = axis[k, x]


@kernel
def guard_uncovered(w: Books, guarded: Indices) -> None:
    """guarded (n,) ← 1 for bodies whose step is not covered to its end."""
    for b in range(len(guarded)):
        if w.used[b] + w.motion[b] > w.budget[b]:
            guarded[b] = 1
    for k in range(len(w.near)):
        if w.spent[k] + w.need[k] > w.slack[k]:
            guarded[w.near[k, 0]] = guarded[w.near[k, 1]] = 1


@kernel
def _body_motion(w: Books, Q: Array, y: Array, frame: Array, start: int, stop: int) -> None:
    """shift, turn, bend ← those of some bodies in the step −y; motion ← as seen from a frame that moves by −frame."""
    centre, half, shift, turn, bend, motion, commits = w.centre, w.half, w.shift, w.turn, w.bend, w.motion, w.commits
    still = math.sqrt(frame[0] * frame[0] + frame[1] * frame[1] + frame[2] * frame[2])
    for b in range(start, stop):
        b = natural(b)
        rests = True
        for i in range(12):
            rests = rests and y[b, i] == 0.0
        turn[b] = bend[b] = 0.0
        motion[b] = still
        for x in range(3):
            shift[b, x] = 0.0
        if rests:
            continue
        apart = 0.0
        for x in range(3):
            shift[b, x] = -y[b, x]
            for i in range(3):
                shift[b, x] -= centre[b, i] * y[b, 3 + 3 * i + x]
            apart += (shift[b, x] + frame[x]) ** 2
        # corners lie opposite each other, so four of the eight are enough
        largest = 0.0
        for corner in range(4):
            total = 0.0
            for x in range(3):
                value = half[b, 0] * y[b, 3 + x]
                value += half[b, 1] * y[b, 6 + x] if corner & 1 else -half[b, 1] * y[b, 6 + x]
                value += half[b, 2] * y[b, 9 + x] if corner & 2 else -half[b, 2] * y[b, 9 + x]
                total += value * value
            largest = max(largest, total)
        bend[b] = _bend(centre, half, Q, y, b)
        turn[b] = math.sqrt(largest) + bend[b]
        motion[b] = math.sqrt(apart) + turn[b]
        if not commits[b]:
            motion[b] += still


@kernel
def _along(axis: Array, k: int, shift: Array, b: int) -> float:
    return axis[k, 0] * shift[b, 0] + axis[k, 1] * shift[b, 1] + axis[k, 2] * shift[b, 2]


@kernel
def _relative(axis: Array, k: int, shift: Array, a: int, share_a: float, b: int, share_b: float) -> float:
    """How far the centres of pair k move relative to each other; where it has an axis, how far they approach along it.

    Each takes its share of the step.
    """
    if axis[k, 0] != 0.0 or axis[k, 1] != 0.0 or axis[k, 2] != 0.0:
        return max(share_a * _along(axis, k, shift, a) - share_b * _along(axis, k, shift, b), 0.0)
    squared = 0.0
    for x in range(3):
        squared += (share_a * shift[a, x] - share_b * shift[b, x]) ** 2
    return math.sqrt(squared)


@kernel
def need_of(near: Indices, shift: Array, turn: Array, commits: Indices, axis: Array, island: Indices, k: int) -> float:
    """Most that the bodies of pair k move relative to each other, whatever share of the step each takes."""
    a, b = natural(near[k, 0]), natural(near[k, 1])
    apart = _relative(axis, k, shift, a, 1.0, b, 1.0)
    together = island[a] == island[b] or (commits[a] and commits[b]) or island[a] < 0 or island[b] < 0
    if not together:
        apart = max(apart, _relative(axis, k, shift, a, 1.0, b, 0.0))
        apart = max(apart, _relative(axis, k, shift, a, 0.0, b, 1.0))
    return apart + turn[a] + turn[b]


@mapped
def fill_need(w: Books, island: Indices, span: Span) -> None:
    """need ← that of some pairs."""
    near, shift, turn, commits, need, axis = w.near, w.shift, w.turn, w.commits, w.need, w.axis
    for k in range(span[1], span[2]):
        k = natural(k)
        need[k] = need_of(near, shift, turn, commits, axis, island, k)


def pair_motion(w: Books, island: Indices) -> None:
    """need ← that of each pair."""
    map_chunks(fill_need, chunks(len(w.near), COST_OF_PAIR), w, island)


@mapped
def tighten(w: Books, islands: Islands, shares: Array, span: Span) -> None:
    """shares[part] ← alpha of islands, at most what slacks of some pairs allow, and in part 0 budgets of all bodies."""
    part, start, stop = span
    island, running, alpha = islands.of, islands.running, shares[part]
    motion, budget, used, near, slack, spent, need = w.motion, w.budget, w.used, w.near, w.slack, w.spent, w.need
    fill_need(w, island, span)
    for m in range(islands.count):
        alpha[m] = islands.alpha[m]
    for b in range(len(island) if part == 0 else 0):
        m = island[b]
        if m >= 0 and running[m] and alpha[m] * motion[b] > budget[b] - used[b]:
            alpha[m] = max(budget[b] - used[b], 0.0) / motion[b]
    for k in range(start, stop):
        k = natural(k)
        left = slack[k] - spent[k]
        for side in range(2):
            m = island[near[k, side]]
            if m >= 0 and running[m] and alpha[m] * need[k] > left:
                alpha[m] = max(left, 0.0) / need[k]


def record_motion(w: Books, islands: Islands) -> None:
    """Book the motion of every body and pair after islands have taken α of the step.

    In the frame of the step, what moves less than it is asked to lags behind by the rest.
    """
    map_chunks(record_chunk, chunks(len(w.near), COST_OF_PAIR), w, islands)


@mapped
def record_chunk(w: Books, islands: Islands, span: Span) -> None:
    """Book that of some pairs, and of all bodies in the first part."""
    part, start, stop = span
    island, alpha, near, shift, turn, axis = islands.of, islands.alpha, w.near, w.shift, w.turn, w.axis
    still, used, motion, spent = w.planes[STILL], w.used, w.motion, w.spent
    if part == 0:
        w.planes[USED] += still
    for b in range(len(island) if part == 0 else 0):
        share = alpha[island[b]] if island[b] >= 0 else 1.0
        used[b] += share * motion[b] + (1.0 - share) * still
    for k in range(start, min(stop, len(near))):
        k = natural(k)
        a, b = natural(near[k, 0]), natural(near[k, 1])
        share_a = alpha[island[a]] if island[a] >= 0 else 0.0
        share_b = alpha[island[b]] if island[b] >= 0 else 0.0
        apart = _relative(axis, k, shift, a, share_a, b, share_b)
        spent[k] += apart + share_a * turn[a] + share_b * turn[b]
