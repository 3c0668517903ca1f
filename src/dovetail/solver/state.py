"""What moves: positions, velocities and the little history that integrators and first guesses need."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from dovetail.solver.integrator import Methods
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["State", "write_columns"]


@kernel
def _commit(
    table: Array, method: Indices, h: float, weight: Array, position: Indices, new: Array, Q_tilde: Array,
    V_start: Array, Q: Array, Q_before: Array, V_before: Array, A: Array,
) -> None:  # fmt: skip
    """Q_before ← the new positions, V_before ← their rates, A: in place of what is no longer needed."""
    for b in range(len(Q)):
        d, d0, d1, carry = table[method[b]]
        if position[b] < 0:
            d, d0, d1, carry = 0.0, 0.0, 0.0, 0.0
        # loops without branches over entries, which compilers turn into vector code
        for i in range(4):
            for x in range(3):
                V_before[b, i, x] = (d * new[b, i, x] + d0 * Q[b, i, x]) / h
                A[b, i, x] = weight[b] * (new[b, i, x] - Q_tilde[b, i, x]) / (h * h)
        if d1 != 0.0 or carry != 0.0:
            for i in range(4):
                for x in range(3):
                    V_before[b, i, x] += d1 * Q_before[b, i, x] / h + carry * V_start[b, i, x]
        for i in range(4):
            for x in range(3):
                Q_before[b, i, x] = new[b, i, x]


@kernel
def write_columns(first: int, Q: Array, columns: Array) -> None:
    """columns (m, 4, 4) ← those of the transforms of bodies first … first + m − 1; the last of four is left alone."""
    for k in range(len(columns)):
        b = first + k
        for x in range(3):
            columns[k, 0, x] = Q[b, 1, x]
            columns[k, 1, x] = Q[b, 2, x]
            columns[k, 2, x] = Q[b, 3, x]
            columns[k, 3, x] = Q[b, 0, x]


@dataclass
class State:
    """Arrays (n, 4, 3) over the bodies.

    Q, V                 rows [p; A e₁; A e₂; A e₃] [m, –] and their rates [m/s, 1/s]
    Q_before, V_before   one step earlier; equal to Q and V at the start
    A                    internal acceleration −M⁻¹∇(potentials) over the last step; only shapes the first guess
    dt_before            length of the last step [s]; 0 at the start
    """

    Q: Array
    V: Array
    Q_before: Array
    V_before: Array
    A: Array
    dt_before: float = 0.0

    @classmethod
    def without_past(cls, Q: Array, V: Array) -> State:
        """Bodies at Q with velocity V whose history begins now."""
        return cls(Q.copy(), V.copy(), Q.copy(), V.copy(), np.zeros_like(Q))

    def forget(self, bodies: Indices) -> None:
        """After an external write: the history of these bodies begins afresh."""
        self.Q_before[bodies] = self.Q[bodies]
        self.V_before[bodies] = self.V[bodies]
        self.A[bodies] = 0.0

    def past(self, h: float) -> tuple[Array, Array]:
        """Q and V one step of length h before the present ones, along the parabola through the last step.

        Two-step methods assume equal steps; a change of dt is thus a change of the past they are shown.
        """
        if not 0.0 < self.dt_before != h:
            return self.Q_before, self.V_before
        acceleration = (self.V - self.V_before) / self.dt_before
        return self.Q - h * self.V + 0.5 * h * h * acceleration, self.V - h * acceleration

    def commit(
        self, methods: Methods, h: float, position: Indices, Q: Array, Q_tilde: Array, Q_before: Array, V_start: Array
    ) -> None:
        """Accept Q as the state at the end of a step of length h.

        Q_before is the past that the step was shown, and is handed over: the state takes the array for itself. V_start
        is the velocity that the step began with.
        """
        _commit(
            methods.rates, methods.of, h, methods.weight, position, Q, Q_tilde, V_start, self.Q, Q_before,
            self.V_before, self.A,
        )  # fmt: skip
        self.Q, self.Q_before = Q_before, self.Q
        self.V, self.V_before = self.V_before, self.V
        self.dt_before = h

    def arrays(self) -> dict[str, Array]:
        """Everything a dump must save, by name."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`."""
        for name, value in arrays.items():
            setattr(self, name, float(value) if value.ndim == 0 else value.copy())
