"""The consistent start of mechanisms that touch something, in one call: what `consistent_start` does where all is held.

A footing (footing.py), with what held.py adds to it: V̂ is more by half where curvatures are asked for, and forces in
joints are told. The same kernels in the same order as in consistent.py, and thus the same bits. Programs are made for
methods that last: who comes to touch something, or leaves it, has others in the next step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.kernel.kernel import jit_enabled, kernel
from dovetail.kernel.program import Program
from dovetail.solver.footing import Footing, footing_of, start_by_blocks
from dovetail.solver.integrator import CARRIED, Methods
from dovetail.solver.joint.row_algebra import start_forces
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.solver.model import Model

__all__ = ["Stance"]

_NONE = np.zeros((0, 3))


@kernel
def _add(values: Array, factor: float, out: Array) -> None:
    """out (n, 4, 3) += factor · values."""
    for b in range(len(out)):
        for i in range(4):
            for x in range(3):
                out[b, i, x] += factor * values[b, i, x]


@kernel
def _scale(factor: float, out: Array) -> None:
    """out (k, 3) times a factor."""
    for k in range(len(out)):
        for x in range(3):
            out[k, x] *= factor


class Stance:
    """Starts in one call; is_possible is False where there are none, by what the model has."""

    def __init__(self, model: Model) -> None:
        self._model, exact = model, model.potential.exact
        self.is_possible = jit_enabled and not model.lone.exist and len(model.potential.others) == 1
        self.is_possible &= exact is None or exact.combined.count == 0
        self._half, self._total, self._inner = np.zeros((3, model.bodies.count, 4, 3))
        self._a_end = model.loads.free_fall.copy()
        self._asked_for: tuple[object, ...] = ()
        self._made_for: tuple[object, ...] = ()
        self._made: tuple[Footing, Indices, Program] | None = None

    def _fits(self, methods: Methods) -> bool:
        """Whether all that moves is held, and nothing but joints and laws acts."""
        model = self._model
        if not self.is_possible or model.potential.soft_transforms.count or not methods.all_held or model.loads.act:
            return False
        model.directions.need_blocks()
        return model.directions.blocks.is_plain

    def start(self, methods: Methods, half: Array | None) -> tuple[Array, Array] | None:
        """`total` and `inner` of consistent.py, V̂ being in the start, which has begun; None where it is not for it."""
        if not self._fits(methods):
            return None
        asked_for = self._model.start.h, methods, self._model.directions.blocks.U
        if not _same(asked_for, self._made_for):
            lasts, self._asked_for = _same(asked_for, self._asked_for), asked_for
            if not lasts:
                return None
            self._made_for = ()  # an interrupt may come before both are set
            self._made = self._made_of(methods)
            self._made_for = asked_for
        if half is None:
            self._half.fill(0.0)
        else:
            np.copyto(self._half, half)
        assert self._made is not None
        return (self._total, self._inner) if start_by_blocks(*self._made[:2]) else None

    def made_for(self, h: float, methods: Methods) -> tuple[Footing, Indices, Program] | None:
        """What starts of steps of length h with these methods work on, if there is that."""
        asked_for = h, methods, self._model.directions.blocks.U
        return self._made if _same(asked_for, self._made_for) else None

    @property
    def room(self) -> tuple[Array, Array, Array]:
        """½hφf of held.py, and `total` and `inner` of consistent.py (n, 4, 3)."""
        return self._half, self._total, self._inner

    def _made_of(self, methods: Methods) -> tuple[Footing, Indices, Program]:
        """A footing with what being held adds, and the program of its calls."""
        model, start, program = self._model, self._model.start, Program()
        points, slides, exact = model.potential.points, model.potential.slides, model.potential.exact
        a, h, V, held = model.loads.free_fall, start.h, start.V, start.held
        footing = footing_of(model, program, h, methods, start.Q, a, self._a_end, self._total, self._inner, True)
        x, mu, count = model.directions.blocks.g, _NONE if exact is None else exact.restraint, points.count
        parts = (points, 0, start.carried[:count]), (slides, count - points.exact, start.carried[count:])
        carry = [program.add(start_forces, rows, held, h, V, x, mu, first, out) for rows, first, out in parts]
        carry.append(program.add(_scale, CARRIED, start.carried))
        ahead, back = (program.add(_add, self._half, sign, V) for sign in (1.0, -1.0))
        # it ends by closing the start, which laws then accept
        end = len(footing.to_acceleration) - (1 if model.potential.laws is None else 2)
        solved, (closed, *accepted) = footing.to_acceleration[:end].tolist(), footing.to_acceleration[end:].tolist()
        footing.to_velocity = np.append(footing.to_velocity, ahead)
        footing.to_acceleration = np.array([*solved, *carry, closed, back, *accepted])
        return footing, program.words(), program


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether the length of the step is the same, and all else the very same."""
    return (
        len(one) == len(other) and one[0] == other[0] and all(a is b for a, b in zip(one[1:], other[1:], strict=True))
    )
