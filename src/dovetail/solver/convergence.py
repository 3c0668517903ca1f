"""What the sizes of Newton steps predict: whether another one is needed. All by island, where no guard is concerned.

Near the minimum each step is a small part of the one before, and ever smaller. Where steps of sizes s₁, s₂ would be
followed by one of at most s₂²/s₁, that is not taken if it is well within the tolerances.

A straight step that turns bodies stretches them (`move` in iterate.py), and the stress of that leads the next one
astray: after such a step nothing is predicted. So all steps but the last are curved where bodies turn.

No step is the last in which a drive comes to its cap, or off it: Newton's method has not seen that (caps.py).

Sizes are in units of the tolerances; `before` are those of the last steps, infinite where these tell nothing. No step
is the last one that changes forces by more than a share of the loads (`changing`, see steady.py).
"""

from __future__ import annotations

import math

from dovetail.kernel.kernel import kernel
from dovetail.solver.islands import Islands

__all__ = ["accept_trials", "begin_trials", "close_finished", "continue_trials", "predict_last", "settle"]

_STRAIGHT = 1e-4  # turn [rad] of a body, below which the stretch by a straight step, 5e-9, does no harm
_SURE = 0.3  # tolerances, within which a step must be predicted to be left out (benchmarks/exact.py)
_NEAR = 10.0  # tolerances, above which nothing is predicted: steps may shrink more slowly in the end than at first
_CONTRACTION = 0.5  # each step of a trial at most so long as the one before


@kernel
def _is_last(size: float, before: float) -> bool:
    """Whether the step after one of this size, which followed one of the size `before`, would be far too small."""
    return before < math.inf and size <= _NEAR and size * size <= _SURE * before


@kernel
def settle(s: Islands, ccd_tol: float) -> int:
    """done ← islands whose full step is within the tolerances, changes no force much and is free to a share of ccd_tol.

    Returns how many run on.
    """
    left = 0
    for m in range(s.count):
        fits = s.size[m] <= 1.0 and not s.changing[m] and not s.bends[m]
        s.done[m] = 1 if s.running[m] and fits and s.alpha[m] >= ccd_tol else 0
        if s.running[m] and not s.done[m]:
            left += 1
    return left


@kernel
def predict_last(s: Islands, straight: bool, settled: bool) -> int:
    """last ← islands for which a whole step of this size is the last, curved ← those whose step is to be curved.

    Guarded islands have neither: they go straight, and need a step within the tolerances. Islands that are done take a
    last step anyway. If `straight` none is curved; not `settled`, no step is the last. before ← size, for the next
    step. Returns in how many of their bodies exact joints may be open by that, and were not before.
    """
    for m in range(s.count):
        rate = 0.0 if straight else s.rate[m]
        more = s.running[m] and not s.done[m] and not s.guarded[m]
        may_end = settled and more and not s.changing[m] and not s.bends[m]
        s.last[m] = 1 if may_end and _is_last(s.size[m], s.before[m]) else 0
        s.curved[m] = 1 if more and not s.last[m] and rate > _STRAIGHT else 0
        s.before[m] = s.size[m] if not s.guarded[m] and (s.curved[m] or rate <= _STRAIGHT) else math.inf
    count = 0
    for b in range(len(s.of)):
        m = s.of[b]
        if m >= 0 and s.curved[m] and not s.gaps[b]:
            s.gaps[b] = 1
            count += 1
    return count


@kernel
def close_finished(s: Islands) -> int:
    """done ← also islands that have taken their last step whole; returns how many."""
    count = 0
    for m in range(s.count):
        if s.last[m] and s.alpha[m] == 1.0:
            s.done[m] = 1
            count += 1
    return count


@kernel
def begin_trials(s: Islands, skip: bool) -> tuple[int, bool]:
    """tried ← islands that are not guarded and whose energies rise, or that have exact joints; α ← 0 for these, else 1.

    `skip` says that no energies are known: all are tried. Returns how many are, and whether all may stay as they are.
    """
    count, stay = 0, True
    for m in range(s.count):
        rises = skip or not s.total[m] <= s.limit[m]
        chosen = not s.guarded[m] and (rises or s.has_exact[m])
        stay = stay and not chosen
        s.tried[m] = 1 if chosen and (skip or abs(s.total[m]) < math.inf) else 0
        s.alpha[m] = 0.0 if chosen else 1.0
        s.shortest[m] = math.inf
        s.ended[m] = 0
        count += s.tried[m]
    return count, stay


@kernel
def continue_trials(s: Islands, more: bool) -> tuple[int, int]:
    """Islands whose steps from the guess no longer shrink are not tried any more; `last` and `curved` as above.

    Those that were not tried before wait. `more` says that another trial may follow. Returns the number of islands
    still on trial, and the number whose energy is meaningful after this step: where bodies on exact joints turn, these
    are open.
    """
    left = meaningful = 0
    for m in range(s.count):
        if not s.tried[m]:
            continue
        rate = s.rate[m]
        if not s.bends[m] and not s.size[m] < _CONTRACTION * s.shortest[m]:
            s.tried[m] = 0
        s.shortest[m] = math.inf if s.bends[m] else s.size[m]
        is_small = s.size[m] <= 1.0 or _is_last(s.size[m], s.before[m])
        s.last[m] = 1 if is_small and not s.changing[m] and not s.bends[m] else 0
        s.curved[m] = 1 if s.tried[m] and more and not s.last[m] and rate > _STRAIGHT else 0
        s.before[m] = s.size[m] if s.curved[m] or rate <= _STRAIGHT else math.inf
        left += s.tried[m]
        if s.tried[m] and not (s.curved[m] and s.has_exact[m]):
            meaningful += 1
    return left, meaningful


@kernel
def accept_trials(s: Islands) -> int:
    """α ← 1 for tried islands whose energies are within their limits, 0 for the others; ended ← those at their end.

    Returns the number of islands still on trial: those not within limits, if this was not their last step.
    """
    left = 0
    for m in range(s.count):
        if not s.tried[m]:
            continue
        stays = not (s.curved[m] and s.has_exact[m]) and s.total[m] <= s.limit[m]
        s.alpha[m] = 1.0 if stays else 0.0
        if stays and s.last[m]:
            s.ended[m] = 1
        s.tried[m] = 0 if stays or s.last[m] else 1
        left += s.tried[m]
    return left
