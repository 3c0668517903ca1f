"""What moves: positions, velocities and the little history that integrators and first guesses need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from dovetail.kernel.kernel import jit_enabled, kernel
from dovetail.solver.body_rows import commit_of_one
from dovetail.solver.integrator import Methods
from dovetail.typing import Array, Flags, Indices

__all__ = ["State", "commit_state", "mean_rates", "rates_after"]


@kernel
def commit_state(
    table: Array, method: Indices, h: float, weight: Array, is_free: Indices, new: Array, Q_tilde: Array,
    start: tuple[Array, Array], Q: Array, Q_before: Array, out: tuple[Array, Array, Array],
) -> None:  # fmt: skip
    """out ← the new positions, their rates, and the internal acceleration."""
    Q_out, V_out, A_out = out
    V_start, a = start
    per_step, factors = 1.0 / h, np.empty(5)
    for b in range(len(Q)):
        d, d0, d1, carry, push = table[method[b]]
        if not is_free[b]:
            d, d0, d1, carry, push = 0.0, 0.0, 0.0, 0.0, 0.0
        stiff = weight[b] * (per_step * per_step)
        if jit_enabled:
            factors[0], factors[1], factors[2], factors[3], factors[4] = d, d0, per_step, carry, stiff
            commit_of_one(b, factors, new, Q, Q_tilde, V_start, Q_out, V_out, A_out)
        for i in range(0 if jit_enabled else 4):
            for x in range(3):
                V_out[b, i, x] = (d * new[b, i, x] + d0 * Q[b, i, x]) * per_step + carry * V_start[b, i, x]
                A_out[b, i, x] = stiff * (new[b, i, x] - Q_tilde[b, i, x])
                Q_out[b, i, x] = new[b, i, x]
        if d1 != 0.0 or push != 0.0:
            for i in range(4):
                for x in range(3):
                    V_out[b, i, x] += d1 * Q_before[b, i, x] * per_step + h * push * a[b, i, x]


def rates_after(methods: Methods, h: float, is_free: Indices, Q_before: Array, Q: Array, Q_end: Array) -> Array:
    """V (n, 4, 3) after a step of length h from Q to Q_end, as `State.commit` finds it, of methods without a start."""
    V, unused = np.empty_like(Q), np.empty_like(Q)
    out = unused, V, unused
    commit_state(methods.rates, methods.of, h, methods.weight, is_free, Q_end, Q, (Q, Q), Q, Q_before, out)
    return V


@kernel
def mean_rates(mass: Array, chosen: Flags, h: float, Q_before: Array, Q: Array, out: Array) -> None:
    """out ← rates of chosen bodies that have turned about their centres of mass, and moved with these, evenly over h.

    A ≈ R holds for stiff bodies, so R ≈ A Aₙᵀ is the rotation of the step.
    """
    R, w, move = np.empty((3, 3)), np.empty(3), np.empty(3)
    for b in range(len(Q)):
        if not chosen[b]:
            continue
        for x in range(3):
            for y in range(3):
                R[x, y] = 0.0
                for k in range(1, 4):
                    R[x, y] += Q[b, k, x] * Q_before[b, k, y]
        w[0], w[1], w[2] = 0.5 * (R[2, 1] - R[1, 2]), 0.5 * (R[0, 2] - R[2, 0]), 0.5 * (R[1, 0] - R[0, 1])
        # w = sin θ e, and the trapezoidal rule turns by θ = 2 arctan(ωh/2)
        rate = 2.0 / (h * max(0.5 * (R[0, 0] + R[1, 1] + R[2, 2] + 1.0), 1e-3))
        for x in range(3):
            y, z = (x + 1) % 3, (x + 2) % 3
            move[x] = Q[b, 0, x] - Q_before[b, 0, x]
            for k in range(1, 4):
                move[x] += mass[b, 0, k] / mass[b, 0, 0] * (Q[b, k, x] - Q_before[b, k, x])
                out[b, k, x] = rate * (w[y] * Q[b, k, z] - w[z] * Q[b, k, y])
            out[b, 0, x] = move[x] / h
            for k in range(1, 4):
                out[b, 0, x] -= mass[b, 0, k] / mass[b, 0, 0] * out[b, k, x]


@dataclass
class State:
    """Arrays (n, 4, 3) over the bodies.

    Q, V                 rows [p; A e₁; A e₂; A e₃] [m, –] and their rates [m/s, 1/s]; where they lag, see `velocity`
    Q_before, V_before   one step earlier; equal to Q and V at the start
    A                    internal acceleration −M⁻¹∇(potentials) over the last step, for the first guess and for held.py
    knocked (n,)         bodies that touched something or a hard limit in the last step; told to two-step methods
    lagging (n,)         bodies whose V is that of a step in touch, see held.py
    changed (n,)         bodies that touched others, or other ones, at its start than at its end
    pushed (n, 19)       acceleration of the centre of mass and torque about it, at the start of it, by all that a body
                         is held by; by friction that slides, and in how many contacts; a quarter of those by joints
    rubbing (n, 16)      friction that slides in that step, see `Contact.commit`
    carried (r, 3)       forces of joint rows in that step besides their multipliers [N, or N·m for directions]
    dt_before            length of the last step [s]; 0 at the start

    A step that is accepted writes to other arrays than those that the state had at its start.
    """

    Q: Array
    V: Array
    Q_before: Array
    V_before: Array
    A: Array
    knocked: Flags
    lagging: Flags
    changed: Flags
    pushed: Array
    rubbing: Array
    carried: Array
    dt_before: float = 0.0

    def __post_init__(self) -> None:
        self._settle()

    def _settle(self) -> None:
        """Have the state and room for the new Q, V and A side by side: of a thousand worlds, pages are what is dear."""
        room = np.empty((8, *self.Q.shape))
        for array, own in zip(room, (self.Q, self.V, self.Q_before, self.V_before, self.A), strict=False):
            array[...] = own
        self.Q, self.V, self.Q_before, self.V_before, self.A, *spare = room
        self.spare = spare[0], spare[1], spare[2]

    @classmethod
    def without_past(cls, Q: Array, V: Array, rows: int = 0) -> State:
        """Bodies at Q with velocity V whose history begins now, with so many rows of joints."""
        nobody = np.zeros(len(Q), np.bool_)
        return cls(
            Q, V, Q, V, np.zeros_like(Q), nobody, nobody.copy(), nobody.copy(), np.zeros((len(Q), 19)),
            np.zeros((len(Q), 16)), np.zeros((rows, 3)),
        )  # fmt: skip

    def velocity(self, mass: Array) -> Array:
        """Rates of Q (n, 4, 3) of bodies with M̂ (n, 4, 4): V, or the mean over the last step where V lags behind."""
        if not np.count_nonzero(self.lagging):
            return self.V
        found = self.V.copy()
        mean_rates(mass, self.lagging, self.dt_before, self.Q_before, self.Q, found)
        return found

    @property
    def moved(self) -> Array:
        """Where the last step has led, Q − Qₙ₋₁ (n, 4, 3)."""
        return self.Q - self.Q_before

    def forget(self, bodies: Indices) -> None:
        """After an external write: the history of these bodies begins afresh."""
        self.Q_before[bodies] = self.Q[bodies]
        self.V_before[bodies] = self.V[bodies]
        self.A[bodies] = 0.0
        self.knocked[bodies] = self.lagging[bodies] = self.changed[bodies] = False
        self.pushed[bodies] = self.rubbing[bodies] = 0.0

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
        start: tuple[Array, Array],
        by_touch: tuple[Array, Array],
        rubbing: Array,
        touched: Flags,
        changed: Flags,
    ) -> None:
        """Accept Q as the state at the end of a step of length h.

        Q_before is the past that the step was shown, start the velocity and the acceleration that it began with,
        by_touch what bodies that touch something are pushed by, and joints carry besides, rubbing friction.
        touched (n,) do so at Q, changed (n,) those whose contacts are not with whom they were.
        """
        rates, lagging = methods.landing(touched)
        commit_state(methods.rates, rates, h, methods.weight, is_free, Q, Q_tilde, start, self.Q, Q_before, self.spare)
        self.accept(h, lagging, by_touch, rubbing, touched, changed)

    def accept(
        self, h: float, lagging: Flags, by_touch: tuple[Array, Array], rubbing: Array, touched: Flags, changed: Flags
    ) -> None:
        """What is in the spare arrays is the state now, after a step of length h."""
        Q_new, V_new, A_new = self.spare
        self.spare = self.Q_before, self.V_before, self.A
        self.Q, self.V, self.Q_before, self.V_before, self.A = Q_new, V_new, self.Q, self.V, A_new
        self.knocked, self.lagging, (self.pushed, self.carried), self.dt_before = touched, lagging, by_touch, h
        self.rubbing, self.changed = rubbing, changed

    def begin_afresh(self, mass: Array, bodies: Flags) -> None:
        """Forget by what these bodies (n,) were pushed in the last step; velocities are the mean over it."""
        mean_rates(mass, bodies, self.dt_before, self.Q_before, self.Q, self.V)
        self.A[bodies] = self.pushed[bodies] = self.rubbing[bodies] = 0.0
        self.lagging = self.lagging & ~bodies

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
        self._settle()
