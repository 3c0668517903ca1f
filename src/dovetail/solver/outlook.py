"""What the sizes of Newton steps foretell: whether another one is needed. All by island, without contact.

Near the minimum each step is a small part of the one before, and ever smaller. Where steps of sizes s₁, s₂ would be
followed by one of at most s₂²/s₁, that is not taken if it is well within the tolerances.

A straight step that turns bodies stretches them (`move` in iterate.py), and the stress of that leads the next one
astray: after such a step nothing is foretold. So all steps but the last go round where bodies turn.

Sizes (m,) are in units of the tolerances; `before` (m,) are those of the last steps, infinite where these tell nothing.
"""

from __future__ import annotations

import math

from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Flags, Indices

__all__ = ["conclude", "foresee", "keep", "sift"]

_STRAIGHT = 1e-4  # turn [rad] of a body, below which the stretch by a straight step, 5e-9, does no harm
_SURE = 0.3  # tolerances, within which a step must be foretold to be left out
_NEAR = 10.0  # tolerances, above which nothing is foretold: steps may shrink more slowly in the end than at first
_CONTRACTION = 0.5  # each step of a trial at most so long as the one before


@kernel
def _foretold(size: float, before: float) -> bool:
    """Whether the step after one of this size, which followed one of the size `before`, would be far too small."""
    return before < math.inf and size <= _NEAR and size * size <= _SURE * before


@kernel
def foresee(
    size: Array, before: Array, turns: Flags, rate: float, settled: bool, running: Indices, done: Flags, last: Flags,
    turned: Flags,
) -> int:  # fmt: skip
    """last ← islands for which a whole step of this size is the last, turned ← those that are to go round.

    Islands that are done take a last step anyway; `turns` are those that need not go straight, and `rate` is the
    largest turn. Not `settled`, no step is the last. before ← size, for the next step. Returns how many go round.
    """
    turning = 0
    for m in range(len(size)):
        more = running[m] != 0 and not done[m]
        last[m] = settled and more and _foretold(size[m], before[m])
        turned[m] = more and not last[m] and turns[m] and rate > _STRAIGHT
        before[m] = size[m] if turned[m] or rate <= _STRAIGHT else math.inf
        turning += turned[m]
    return turning


@kernel
def conclude(alpha: Array, last: Flags, done: Flags) -> int:
    """done ← also islands that have taken their last step whole; returns how many."""
    count = 0
    for m in range(len(alpha)):
        if last[m] and alpha[m] == 1.0:
            done[m] = True
            count += 1
    return count


@kernel
def sift(
    size: Array, before: Array, shortest: Array, rate: float, more: bool, held: Flags, tried: Flags, last: Flags,
    turned: Flags,
) -> tuple[int, int]:  # fmt: skip
    """Islands whose steps from the guess no longer shrink are not tried any more; `last` and `turned` as above.

    `more` says that another trial may follow. Returns how many are tried on, and of how many the energy tells
    something after this step: where exact joints hold and bodies turn, these are open.
    """
    left = telling = 0
    for m in range(len(size)):
        tried[m] = tried[m] and size[m] < _CONTRACTION * shortest[m]
        shortest[m] = size[m]
        last[m] = size[m] <= 1.0 or _foretold(size[m], before[m])
        turned[m] = tried[m] and more and not last[m] and rate > _STRAIGHT
        before[m] = size[m] if turned[m] or rate <= _STRAIGHT else math.inf
        left += tried[m]
        telling += tried[m] and not (turned[m] and held[m])
    return left, telling


@kernel
def keep(
    E: Array, limit: Array, held: Flags, turned: Flags, last: Flags, tried: Flags, alpha: Array, ended: Flags
) -> int:
    """α ← 1 for tried islands whose energies E are within their limits, 0 for the others; ended ← those at their end.

    Returns how many are tried on: those not within limits, if this was not their last step.
    """
    left = 0
    for m in range(len(E)):
        if not tried[m]:
            continue
        stays = not (turned[m] and held[m]) and E[m] <= limit[m]
        alpha[m] = 1.0 if stays else 0.0
        ended[m] = ended[m] or (stays and last[m])
        tried[m] = not (stays or last[m])
        left += tried[m]
    return left
