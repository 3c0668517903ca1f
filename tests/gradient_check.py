"""Gradients of a tape beside differences of the program itself: central, at two steps, extrapolated (Richardson)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import World
from dovetail.gradient import Gradients, Tape

__all__ = ["TIGHT_TAPE", "Problem", "relative"]

Control = Callable[[int], Any]
TIGHT_TAPE = {"newton/velocity_tol": 1e-10, "newton/transrate_tol": 1e-10}
"""Tolerances at which differences of a rollout are not spoilt by what Newton's method leaves of it."""


class Problem:
    """A rollout whose loss is linear in all states, with random coefficients.

    build(**parameters) gives a world; that without parameters is kept, and gone back to for every rollout.
    """

    def __init__(self, build: Callable[..., World], steps: int, seed: int = 0) -> None:
        self.build, self.steps, self.world = build, steps, build()
        self._start = self.world.state()
        n = len(self._state(self.world).Q)
        rng = np.random.default_rng(seed)
        self.by_Q = rng.normal(size=(steps + 1, n, 4, 3))
        self.by_V = 0.1 * rng.normal(size=(steps + 1, n, 4, 3))

    def _state(self, world: Any) -> Any:
        return world._simulation.state

    def tape(self, dQ: Any = 0.0, dV: Any = 0.0, control: Control | None = None, **parameters: Any) -> Tape:
        """One rollout: from another state, with another control, or of another world."""
        world: Any = self.world
        if parameters:
            world = self.build(**parameters)
        else:
            world.restore(self._start)
        if np.any(dQ) or np.any(dV):
            state = self._state(world)
            world._simulation.write_state("test", np.arange(len(state.Q)), state.Q + dQ, state.V + dV)
        return world.rollout(self.steps, control)

    def loss(self, **given: Any) -> float:
        tape = self.tape(**given)
        return float((self.by_Q * tape.Q).sum() + (self.by_V * tape.V).sum())

    def gradients(self, **given: Any) -> Gradients:
        return self.tape(**given).backward(self.by_Q, self.by_V, strict=True)

    def slope(self, step: float, **along: Any) -> float:
        """Derivative by s of the loss with parameters s · along, or along(s)."""

        def at(s: float) -> float:
            return self.loss(**{name: way(s) if callable(way) else s * way for name, way in along.items()})

        wide, narrow = ((at(h) - at(-h)) / (2.0 * h) for h in (step, step / 2.0))
        return (4.0 * narrow - wide) / 3.0


def relative(found: float, expected: float) -> float:
    return abs(found - expected) / max(abs(expected), 1e-300)
