"""What moves: positions, velocities and the little history that integrators and first guesses need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from dovetail.solver.integrator import Methods
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Flags, Indices

__all__ = ["State"]


@kernel
def _commit(
    table: Array, method: Indices, h: float, weight: Array, is_free: Indices, new: Array, Q_tilde: Array,
    V_start: Array, Q: Array, Q_before: Array, out: tuple[Array, Array, Array],
) -> None:  # fmt: skip
    """out ← the new positions, their rates, and the internal acceleration."""
    Q_out, V_out, A_out = out
    for b in range(len(Q)):
        d, d0, d1, carry = table[method[b]]
        if not is_free[b]:
            d, d0, d1, carry = 0.0, 0.0, 0.0, 0.0
        # loops without branches over entries, which compilers turn into vector code
        for i in range(4):
            for x in range(3):
                V_out[b, i, x] = (d * new[b, i, x] + d0 * Q[b, i, x]) / h
                A_out[b, i, x] = weight[b] * (new[b, i, x] - Q_tilde[b, i, x]) / (h * h)
        if d1 != 0.0 or carry != 0.0:
            for i in range(4):
                for x in range(3):
                    V_out[b, i, x] += d1 * Q_before[b, i, x] / h + carry * V_start[b, i, x]
        for i in range(4):
            for x in range(3):
                Q_out[b, i, x] = new[b, i, x]


@dataclass
class State:
    """Arrays (n, 4, 3) over the bodies.

    Q, V                 rows [p; A e₁; A e₂; A e₃] [m, –] and their rates [m/s, 1/s]
    Q_before, V_before   one step earlier; equal to Q and V at the start
    A                    internal acceleration −M⁻¹∇(potentials) over the last step; only shapes the first guess
    knocked (n,)         bodies that touched something or a hard limit in the last step; told to two-step methods
    dt_before            length of the last step [s]; 0 at the start

    A step that is accepted writes to other arrays than those that the state had at its start.
    """

    Q: Array
    V: Array
    Q_before: Array
    V_before: Array
    A: Array
    knocked: Flags
    dt_before: float = 0.0

    def __post_init__(self) -> None:
        self._spare = np.empty_like(self.Q), np.empty_like(self.Q), np.empty_like(self.Q)

    @classmethod
    def without_past(cls, Q: Array, V: Array) -> State:
        """Bodies at Q with velocity V whose history begins now."""
        return cls(Q.copy(), V.copy(), Q.copy(), V.copy(), np.zeros_like(Q), np.zeros(len(Q), np.bool_))

    def forget(self, bodies: Indices) -> None:
        """After an external write: the history of these bodies begins afresh."""
        self.Q_before[bodies] = self.Q[bodies]
        self.V_before[bodies] = self.V[bodies]
        self.A[bodies] = 0.0
        self.knocked[bodies] = False

    def past(self, h: float) -> tuple[Array, Array]:
        """Q and V one step of length h before the present ones, along the parabola through the last step.

        Two-step methods assume equal steps; a change of dt is thus a change of the past they are shown.
        """
        if not 0.0 < self.dt_before != h:
            return self.Q_before, self.V_before
        acceleration = (self.V - self.V_before) / self.dt_before
        return self.Q - h * self.V + 0.5 * h * h * acceleration, self.V - h * acceleration

    def commit(
        self,
        methods: Methods,
        h: float,
        is_free: Indices,
        Q: Array,
        Q_tilde: Array,
        Q_before: Array,
        V_start: Array,
        knocked: Flags,
    ) -> None:
        """Accept Q as the state at the end of a step of length h.

        Q_before is the past that the step was shown, V_start the velocity that it began with.
        """
        Q_new, V_new, A_new = self._spare
        _commit(
            methods.rates, methods.of, h, methods.weight, is_free, Q, Q_tilde, V_start, self.Q, Q_before, self._spare
        )
        self._spare = self.Q_before, self.V_before, self.A
        self.Q, self.V, self.Q_before, self.V_before, self.A = Q_new, V_new, self.Q, self.V, A_new
        self.knocked, self.dt_before = knocked, h

    def keep(self) -> Callable[[], None]:
        """A function that goes back to the present state, once, whatever a step has done to it."""
        kept = {**vars(self)}
        return lambda: vars(self).update(kept)

    def arrays(self) -> dict[str, Array]:
        """Everything a dump must save, by name."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`."""
        for name, value in arrays.items():
            setattr(self, name, float(value) if value.ndim == 0 else value.copy())
