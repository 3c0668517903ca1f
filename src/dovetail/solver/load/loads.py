"""All loads on bodies: the accelerations that they and gravity cause."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.program import Program
from dovetail.solver.bodies import Bodies
from dovetail.solver.load.load import Load
from dovetail.typing import Array, Indices

__all__ = ["Loads", "accelerate"]


@kernel
def accelerate(bodies: Bodies, F: Array, a: Array) -> None:
    """a ← g + M⁻¹F of every body that can move, 0 of the others; F (n, 4, 3) are generalised forces [N, N·m]."""
    is_free, gravity, mass_inverse = bodies.is_free, bodies.gravity, bodies.mass_inverse
    for b in range(len(F)):
        for i in range(4):
            for x in range(3):
                a[b, i, x] = gravity[b, x] if i == 0 and is_free[b] else 0.0
        loaded = False
        for i in range(4):
            for x in range(3):
                loaded = loaded or F[b, i, x] != 0.0
        if loaded and is_free[b]:
            for i in range(4):
                for x in range(3):
                    for j in range(4):
                        a[b, i, x] += mass_inverse[b, i, j] * F[b, j, x]


@kernel
def _clear(loaded: Indices, F: Array) -> None:
    """F ← 0, loaded ← 0 where it is not so already."""
    if loaded[0]:
        loaded[0] = 0
        for b in range(len(F)):
            for i in range(4):
                for x in range(3):
                    F[b, i, x] = 0.0


@kernel
def _fall(bodies: Bodies, F: Array, loaded: Indices, falls: Indices, a: Array) -> None:
    """a ← those of `accelerate`, as it is already where nothing is loaded and falls (1,) tells of free fall."""
    if loaded[0] or not falls[0]:
        accelerate(bodies, F, a)
        falls[0] = 1 - loaded[0]


@kernel
def _reach(loaded: Indices, h: float, Q: Array, V: Array, out: Array) -> None:
    """out ← Q + hV where anything is loaded: loads are the same at both ends of a step."""
    if not loaded[0]:
        return
    for b in range(len(Q)):
        for i in range(4):
            for x in range(3):
                out[b, i, x] = Q[b, i, x] + h * V[b, i, x]


class Loads:
    """Loads, and the bodies that they act on.

    free_fall (n, 4, 3) is the acceleration by gravity alone.
    """

    def __init__(self, loads: Sequence[Load], bodies: Bodies) -> None:
        self._loads, self._bodies, free = loads, bodies, bodies.is_free != 0
        self._forces, self._bound, self._accelerations, self._end, self.free_fall = np.zeros((5, bodies.count, 4, 3))
        self._everywhere, self._loaded = np.ones(1, np.int64), np.zeros(1, np.int64)
        self.free_fall[free, 0] = bodies.gravity[free]

    @property
    def act(self) -> bool:
        """False if there is no load in this step."""
        for load in self._loads:  # noqa: SIM110 - any() over a generator takes four times as long
            if load.acts:
                return True
        return False

    def accelerations(self, Q: Array) -> Array:
        """By gravity and all loads at Q (n, 4, 3): free_fall if there is no load, else an array that is used again."""
        if not self.act:
            return self.free_fall
        self._forces.fill(0.0)
        for load in self._loads:
            if load.acts:
                load.add(Q, self._forces)
        accelerate(self._bodies, self._forces, self._accelerations)
        return self._accelerations

    def at_end(self, h: float, Q: Array, V: Array) -> Array:
        """Those at Q + hV."""
        if not self.act:
            return self.free_fall
        _reach(self._everywhere, h, Q, V, self._end)
        return self.accelerations(self._end)

    def bind(self, program: Program, Q: Array, out: Array) -> list[int]:
        """The places of `accelerations` in a program, to out (n, 4, 3), which nothing else writes to."""
        np.copyto(out, self.free_fall)
        F, loaded, falls = self._bound, self._loaded, np.ones(1, np.int64)
        places = [program.add(_clear, loaded, F)]
        places += [program.add(*load.adding(Q, F, loaded)) for load in self._loads]
        return [*places, program.add(_fall, self._bodies, F, loaded, falls, out)]

    def bind_end(self, program: Program, h: float, Q: Array, V: Array, out: Array) -> list[int]:
        """The places of `at_end` in a program, to out (n, 4, 3)."""
        return [program.add(_reach, self._loaded, h, Q, V, self._end), *self.bind(program, self._end, out)]
