"""Worked examples of docs/fitting.md beside central differences: one gradient, and the way to the same optimum.

    python benchmarks/gradient_examples.py           # the four-bar to its goal, the puck for the first gradients
    python benchmarks/gradient_examples.py --all     # the puck to its goal, too: eight minutes

Differences take the place of the adjoint in the same search, with the same loss. As long as both find the same losses
they go the same way, and what differences need to its end is known without going there. Processor time.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from dovetail import optimise
from dovetail.differentiable import RolloutFunction
from dovetail.fit import Optimum

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "gradients"))

import design_a_four_bar as bar
import strike_a_puck as puck


class ByDifferences:
    """A rollout as `optimise` takes it, whose derivatives are central differences with one step for all inputs."""

    def __init__(self, function: RolloutFunction, step: float) -> None:
        self._function, self._step, self.inputs, self.rollouts = function, step, function.inputs, 0

    def __call__(self, *values: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        self.rollouts += 1
        Q, V, _ = self._function(*values)
        return Q, V, [value.copy() for value in values]

    def pull(self, values: list[np.ndarray], dQ: np.ndarray, dV: np.ndarray | None) -> list[np.ndarray]:
        """Derivatives of dQ·Q + dV·V by all numbers of the values."""
        slopes = [np.zeros_like(value) for value in values]
        for value, slope in zip(values, slopes, strict=True):
            for at in np.ndindex(value.shape):
                kept, ends = value[at], []
                for step in (self._step, -self._step):
                    value[at] = kept + step
                    Q, V, _ = self(*values)
                    ends.append((dQ * Q).sum() + (0.0 if dV is None else (dV * V).sum()))
                value[at], slope[at] = kept, (ends[0] - ends[1]) / (2.0 * self._step)
        return slopes


def compare_gradients(name: str, function: Any, differences: ByDifferences, start: list[np.ndarray], loss: Any) -> None:
    """One gradient both ways."""
    found, seconds = [], []
    function(*start)  # compiles
    for each in (function, differences):
        clock = time.process_time()
        Q, V, record = each(*start)
        _, dQ, dV, *_ = loss(Q, V, *start)
        found.append(np.concatenate([np.ravel(slope) for slope in each.pull(record, dQ, dV)]))
        seconds.append(time.process_time() - clock)
    apart = np.abs(found[0] - found[1]).max() / np.abs(found[0]).max()
    print(
        f"{name}: {found[0].size} numbers; a gradient takes {seconds[0]:.2f} s, by differences {seconds[1]:.1f} s and "
        f"{differences.rollouts} rollouts; they are {apart:.0e} apart",
        flush=True,
    )
    differences.rollouts = 0


def search(function: Any, start: list[np.ndarray], loss: Any, **goal: Any) -> Optimum:
    """The way to the optimum."""
    clock = time.process_time()
    best = optimise(function, start, loss, **goal)
    way, rollouts = "adjoint", best.rollouts
    if isinstance(function, ByDifferences):
        way, rollouts = "differences", function.rollouts
    print(f"  {way}: loss {best.loss:.1e} after {rollouts} rollouts, {time.process_time() - clock:.1f} s", flush=True)
    return best


def foresee(differences: ByDifferences, start: list[np.ndarray], loss: Any, best: Optimum, gradients: int) -> None:
    """Some gradients of the search by differences beside those of the adjoint, and what all of them would take."""
    found = search(differences, start, loss, rollouts=gradients)
    apart = max(abs(a / b - 1.0) for a, b in zip(found.history, best.history, strict=False))
    each = differences.rollouts // gradients
    print(f"  the first {gradients} losses are {apart:.0e} apart; {best.rollouts} take {best.rollouts * each} rollouts")


if __name__ == "__main__":
    function, loss, _ = bar.problem()
    differences, start = ByDifferences(function, 1e-5), [bar.GUESS.copy()]
    compare_gradients("four-bar", function, differences, start, loss)
    for each in (function, differences):
        search(each, start, loss, bounds=[bar.BOUNDS], rollouts=bar.ROLLOUTS, goal=bar.GOAL)
    function, start, loss, _ = puck.problem()
    differences = ByDifferences(function, 1e-4)
    compare_gradients("puck", function, differences, start, loss)
    best = search(function, start, loss, rollouts=puck.ROLLOUTS, goal=puck.GOAL)
    if "--all" in sys.argv:
        search(differences, start, loss, rollouts=puck.ROLLOUTS, goal=puck.GOAL)
    else:
        foresee(differences, start, loss, best, 4)
