"""Inputs of a rollout for which a loss is least, by scipy's L-BFGS-B with gradients by the adjoint.

A rollout and its way back give the gradient by all inputs at once: 36 torques or 1,000, one call each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dovetail.checked import LARGEST, checked, number, numbers, shown
from dovetail.differentiable import RolloutFunction
from dovetail.errors import DovetailError, GradientError
from dovetail.typing import Array, ArrayLike

__all__ = ["Optimum", "optimise"]


@dataclass
class Optimum:
    """What `optimise` has found.

    | | |
    |---|---|
    | `values` | the inputs, in their order and shapes |
    | `loss` | there |
    | `rollouts` | how many were computed, each with its gradient |
    | `history` | the least loss after each of them |
    | `message` | why it has ended |
    """

    values: list[Array]
    loss: float
    rollouts: int = 0
    history: list[float] = field(default_factory=list)
    message: str = ""


_SHARE = 0.1
"""Of the range or size of an input: how far the first step of the search goes at most."""
_FAR = 1e3
"""The loss, beside the first one, where a rollout cannot be computed."""


def _scale(value: Array, limit: tuple[float, float] | None) -> Array:
    """Units in which the numbers of an input are searched."""
    width = np.inf if limit is None else limit[1] - limit[0]
    size = float(np.sqrt(np.mean(value**2))) if value.size else 0.0
    return np.full(value.size, _SHARE * (width if np.isfinite(width) and width > 0 else size or 1.0))


class _Enough(Exception):  # noqa: N818 - no error
    """All rollouts that were allowed are used up, or the loss is small enough."""


def _told(answer: Any) -> tuple[float, Any, Any, list[Any]]:
    """What a loss returns."""
    if not isinstance(answer, (tuple, list)) or len(answer) < 3 or (L := number(answer[0])) is None:
        raise GradientError(
            f"optimise: loss has returned {shown(answer)}; return L, ∂L/∂Q, ∂L/∂V, and those by inputs."
        )
    return L, answer[1], answer[2], list(answer[3:])


@checked(GradientError)
def optimise(
    function: RolloutFunction,
    start: Sequence[ArrayLike],
    loss: Callable[..., Sequence[Any]],
    *,
    bounds: Sequence[tuple[float, float] | None] | None = None,
    rollouts: int = 200,
    goal: float = -np.inf,
) -> Optimum:
    """Inputs of `function` for which `loss` is least, from `start` on.

    | argument | what it is |
    |---|---|
    | `start` | first values of the inputs |
    | `loss(Q, V, *values)` | returns L, ∂L/∂Q, ∂L/∂V (like Q and V, or None), and ∂L/∂value of inputs it depends on |
    | `bounds` | of each input a pair (least, largest) for all of its numbers, or None |
    | `rollouts` | how many at most |
    | `goal` | a loss that is small enough |

    The best inputs that were seen are returned. Where a rollout cannot be computed the loss counts as large, and the
    search turns back; at the start that is an error.
    """
    from scipy.optimize import minimize

    first = [np.array(numbers(value)) for value in start]
    if not all((np.abs(value) <= LARGEST).all() for value in first):
        raise GradientError(f"optimise: start = {shown(start)}; give finite numbers.")
    if rollouts < 1 or np.isnan(number(goal) or 0.0):
        raise GradientError(f"optimise: rollouts = {rollouts} and goal = {goal}; give 1 rollout or more, and a number.")
    if len(first) != len(function.inputs):
        raise GradientError(f"optimise: {len(first)} start values for {len(function.inputs)} inputs; give one each.")
    limits = [None] * len(first) if bounds is None else list(bounds)
    if len(limits) != len(first):
        raise GradientError(f"optimise: {len(limits)} bounds for {len(first)} inputs; give one each, or None.")
    for limit in limits:
        if limit is not None and (len(limit) != 2 or not limit[0] <= limit[1]):
            raise GradientError(f"optimise: bounds has {shown(limit)}; give pairs (least, largest), or None.")
    sizes = np.cumsum([0, *(value.size for value in first)])
    best = Optimum([value.copy() for value in first], np.inf)

    scale = np.concatenate([_scale(value, limit) for value, limit in zip(first, limits, strict=True)])

    def at(x: Array) -> tuple[float, Array]:
        if best.rollouts >= rollouts or best.loss <= goal:
            raise _Enough
        best.rollouts += 1
        full = x * scale
        values = [full[a:b].reshape(value.shape) for a, b, value in zip(sizes, sizes[1:], first, strict=False)]
        try:
            Q, V, tape = function(*values)
        except DovetailError:
            if not best.history:
                raise
            best.history.append(best.loss)
            return _FAR * (1.0 + abs(best.history[0])), np.zeros_like(x)
        L, dQ, dV, direct = _told(loss(Q, V, *values))
        if best.loss > L:
            best.loss, best.values = float(L), [value.copy() for value in values]
        best.history.append(best.loss)
        slopes = function.pull(tape, dQ, dV)
        for slope, more in zip(slopes, direct, strict=False):
            if more is not None:
                found = numbers(more)
                if found is None or found.size != slope.size:
                    raise GradientError(f"optimise: loss has returned {shown(more)} as a derivative by an input.")
                slope += found.reshape(slope.shape)
        return float(L), scale * np.concatenate([np.ravel(slope) for slope in slopes])

    pairs = [limit or (None, None) for limit, value in zip(limits, first, strict=True) for _ in range(value.size)]
    ends = [tuple(end if end is None else end / s for end in pair) for pair, s in zip(pairs, scale, strict=True)]
    begin = np.concatenate([np.ravel(value) for value in first]) / scale
    try:
        found = minimize(at, begin, jac=True, method="L-BFGS-B", bounds=ends)
        best.message = str(found.message)
    except _Enough:
        best.message = "the goal is reached" if best.loss <= goal else f"{rollouts} rollouts were allowed"
    return best
