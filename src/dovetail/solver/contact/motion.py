"""How far bodies move in a step, alone and relative to each other: what the list of candidates may be trusted for.

A body has a budget of motion, seen from a frame that may move along with the bodies: it decides which bodies are
near each other at all. A pair of near bodies has a slack of relative motion: it decides which of their features are
candidates. Bodies that fall or swing together use up neither.

A body that *commits* itself takes a step whole. Any other may take any share of it, so that it may lag behind the
frame and behind committed ones; bodies of one island take the same share.
"""

from __future__ import annotations

import math

from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["body_motion", "is_spent", "pair_motion", "take", "tightest"]


@kernel
def body_motion(
    centre: Array, half: Array, position: Indices, active: Indices, y: Array, frame: Array, commits: Indices,
    shift: Array, turn: Array, motion: Array,
) -> float:  # fmt: skip
    """shift (n, 3) ← how far the box centre of each body moves in the step −y; turn (n,) ← the most a vertex departs.

    motion (n,) ← farthest that a vertex moves, seen from a frame that moves by −frame. Returns the motion of what
    stands still.
    """
    still = math.sqrt(frame[0] * frame[0] + frame[1] * frame[1] + frame[2] * frame[2])
    for b in range(len(position)):
        k = position[b]
        turn[b] = 0.0
        motion[b] = still
        for x in range(3):
            shift[b, x] = 0.0
        if k < 0 or not active[k]:
            continue
        apart = 0.0
        for x in range(3):
            shift[b, x] = -y[k, x]
            for i in range(3):
                shift[b, x] -= centre[b, i] * y[k, 3 + 3 * i + x]
            apart += (shift[b, x] + frame[x]) ** 2
        # corners lie opposite each other, so four of the eight are enough
        largest = 0.0
        for corner in range(4):
            total = 0.0
            for x in range(3):
                value = half[b, 0] * y[k, 3 + x]
                value += half[b, 1] * y[k, 6 + x] if corner & 1 else -half[b, 1] * y[k, 6 + x]
                value += half[b, 2] * y[k, 9 + x] if corner & 2 else -half[b, 2] * y[k, 9 + x]
                total += value * value
            largest = max(largest, total)
        turn[b] = math.sqrt(largest)
        motion[b] = math.sqrt(apart) + turn[b]
        if not commits[b]:
            motion[b] += still
    return still


@kernel
def pair_motion(near: Indices, shift: Array, turn: Array, island: Indices, commits: Indices, need: Array) -> None:
    """need (k,) ← most that the bodies of each pair move relative to each other."""
    for k in range(len(near)):
        a, b = near[k, 0], near[k, 1]
        apart = alone_a = alone_b = 0.0
        for x in range(3):
            apart += (shift[a, x] - shift[b, x]) ** 2
            alone_a += shift[a, x] ** 2
            alone_b += shift[b, x] ** 2
        together = island[a] == island[b] or (commits[a] and commits[b]) or island[a] < 0 or island[b] < 0
        if not together:
            apart = max(apart, max(alone_a, alone_b))
        need[k] = math.sqrt(apart) + turn[a] + turn[b]


@kernel
def tightest(
    near: Indices, need: Array, slack: Array, pair_used: Array, island: Indices, running: Indices, budget: Array,
    used: Array, motion: Array, alpha: Array,
) -> None:  # fmt: skip
    """alpha[island] ← at most what the budgets of its bodies and the slacks of their pairs allow."""
    for b in range(len(island)):
        m = island[b]
        if m >= 0 and running[m] and alpha[m] * motion[b] > budget[b] - used[b]:
            alpha[m] = max(budget[b] - used[b], 0.0) / motion[b]
    for k in range(len(near)):
        left = slack[k] - pair_used[k]
        for side in range(2):
            m = island[near[k, side]]
            if m >= 0 and running[m] and alpha[m] * need[k] > left:
                alpha[m] = max(left, 0.0) / need[k]


@kernel
def take(
    near: Indices, shift: Array, turn: Array, motion: Array, still: float, island: Indices, alpha: Array, used: Array,
    pair_used: Array,
) -> None:  # fmt: skip
    """Book the motion of every body and pair after islands have taken α of the step.

    In the frame of the step, what moves less than it is asked to lags behind by the rest.
    """
    for b in range(len(island)):
        share = alpha[island[b]] if island[b] >= 0 else 1.0
        used[b] += share * motion[b] + (1.0 - share) * still
    for k in range(len(near)):
        a, b = near[k, 0], near[k, 1]
        share_a = alpha[island[a]] if island[a] >= 0 else 0.0
        share_b = alpha[island[b]] if island[b] >= 0 else 0.0
        apart = 0.0
        for x in range(3):
            apart += (share_a * shift[a, x] - share_b * shift[b, x]) ** 2
        pair_used[k] += math.sqrt(apart) + share_a * turn[a] + share_b * turn[b]


@kernel
def is_spent(used: Array, need: Array, share: float, allowed: Array) -> bool:
    """Whether a share of what is needed exceeds what is left, anywhere."""
    spent = False
    for k in range(len(used)):
        spent = spent or used[k] + share * need[k] > allowed[k]
    return spent
