"""A rollout that can be differentiated: its states, what each step was given, and the way back.

tape = world.rollout(100, controls)
gradients = tape.backward(dL_dQ)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.errors import GradientError
from dovetail.gradient.adjoint import Adjoint, Ends
from dovetail.gradient.bodies import Costate
from dovetail.gradient.frame import Frame, Parameters
from dovetail.gradient.gradients import Gradients
from dovetail.gradient.laws import value_adjoints
from dovetail.gradient.refusal import refuse_scene, refuse_step
from dovetail.gradient.sums import Sums
from dovetail.gradient.tangent import push_forward
from dovetail.logger import Logger
from dovetail.typing import Array, ArrayLike

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["Tape"]

VELOCITY_TOL, TRANSRATE_TOL = 1e-8, 1e-7
"""Tolerances [m/s, 1/s] of a rollout that is recorded, unless its scene asks for less. In contact Newton's method,
which keeps a part of the Hessian, leaves some tenths of that, and gradients err by ten to a hundred times what is left;
at the tolerances of the config those of a violently driven chain are wrong by a third."""
RESIDUAL = 1e-6
"""What Newton's method may leave of a step [m/s, 1/s], |H⁻¹g|/h, before it is told that its gradient may be wrong."""


class Tape:
    """Steps of a world, recorded. Made by `World.rollout`, `Sim.rollout`.

    Q, V (T + 1, n, 4, 3)    states at the start and after every step
    """

    def __init__(self, simulation: Simulation) -> None:
        refuse_scene(simulation)
        self._simulation, self._parameters = simulation, Parameters(simulation)
        state = simulation.state
        self._start = state.Q_before.copy(), state.V_before.copy(), state.dt_before > 0.0
        self._values = self._parameters.coordinates.value.copy()
        self._Q, self._V, self._frames = [state.Q.copy()], [state.V.copy()], list[Frame]()

    @property
    def Q(self) -> Array:
        return np.array(self._Q)

    @property
    def V(self) -> Array:
        return np.array(self._V)

    @property
    def steps(self) -> int:
        """How many steps were recorded."""
        return len(self._frames)

    def body(self, body: Any) -> int:
        """The number of a body, by its handle or the name of its object; the first where there are several."""
        name = body if isinstance(body, str) else body.name
        for entry in self._simulation.table.geometries:
            if entry.slot.object_name == name:
                return int(entry.offset)
        known = ", ".join(f"'{entry.slot.object_name}'" for entry in self._simulation.table.geometries)
        raise GradientError(f"Tape.body: there is no body '{name}'; there are {known}.")

    def coordinate(self, joint: Any, attribute: str) -> Array:
        """A coordinate that joints report, such as "angle" or "distance", (T + 1, k) at the start and after every step.

        Angles go on over whole turns.
        """
        rows, shift = self._coordinate(joint, attribute)
        values = [self._values, *(frame.values[1] for frame in self._frames)]
        return np.array([each[rows] for each in values]) + shift

    def _coordinate(self, joint: Any, attribute: str) -> tuple[slice, Array]:
        """Which of the solver's coordinates a joint reports under a name, and its offsets (k,)."""
        name, lowered, known = joint if isinstance(joint, str) else joint.name, self._simulation.joints.lowered, []
        for number, entry in enumerate(lowered.geometries):
            for word in entry.kind.coordinates():
                known.append(f"('{entry.slot.object_name}', '{word.attribute}')")
                if (entry.slot.object_name, word.attribute) == (name, attribute):
                    offset = entry.elements.slot(word.offset).values if word.offset else np.zeros(entry.count)
                    return lowered.coordinate_rows[word, number], np.asarray(offset, float)
        listed = ", ".join(known) or "none"
        raise GradientError(f"Tape: there is no coordinate ('{name}', '{attribute}'); there are {listed}.")

    def record(self, steps: int, controls: Callable[[int], Any] | None, advance: Callable[[], Any]) -> None:
        """Take steps and keep them; controls(k) is called before step k of the tape."""
        simulation = self._simulation
        directions, kept = simulation.model.directions, simulation.tolerances
        sweep = directions.sweep
        if simulation.scheme.integrator.is_consistent:
            directions.sweep = None  # a sweep leaves small terms out of a start, which its derivatives would miss
        simulation.tolerances = replace(
            kept,
            velocity_tol=min(kept.velocity_tol, VELOCITY_TOL),
            transrate_tol=min(kept.transrate_tol, TRANSRATE_TOL),
        )
        try:
            for _ in range(steps):
                if controls is not None:
                    controls(self.steps)
                self._step(advance)
        finally:
            simulation.tolerances, directions.sweep = kept, sweep
            if sweep is not None:
                sweep.renew()
                simulation.model.potential.renew()  # so that it is told the weights of the next step

    def _step(self, advance: Callable[[], Any]) -> None:
        simulation, state = self._simulation, self._simulation.state
        if not (np.array_equal(state.Q, self._Q[-1]) and np.array_equal(state.V, self._V[-1])):
            raise GradientError(
                f"Tape: before step {self.steps} the state was written to, which tapes cannot see; begin a new rollout."
            )
        before, values = state.dt_before, self._parameters.coordinates.value.copy()
        advance()
        report = simulation.last[1]
        assert report is not None
        last = self._frames[-1] if self._frames else None
        frame = Frame(
            report.dt, report.dt / (before or report.dt), simulation.scheme.last,
            self._parameters.take(None if last is None else last.given),
            (values, self._parameters.coordinates.value.copy()), self._parameters.switches, report.contacts,
        )  # fmt: skip
        refuse_step(simulation, self.steps, frame, last)
        self._frames.append(frame)
        self._Q.append(state.Q.copy())
        self._V.append(state.V.copy())

    def backward(
        self,
        dL_dQ: ArrayLike | None = None,
        dL_dV: ArrayLike | None = None,
        dL_dx: Mapping[tuple[Any, str], ArrayLike] | None = None,
        strict: bool = False,
    ) -> Gradients:
        """Gradients of a loss with these derivatives by all states (T + 1, n, 4, 3), or by the last alone (n, 4, 3).

        dL_dx has derivatives by coordinates of joints, {(joint, attribute): (T + 1, k)}, see `coordinate`.
        Where Newton's method has left more than 1e-6 m/s of a step a warning says so, or with `strict` an error.
        """
        sums, at = Sums(self._simulation, self.steps), Costate.zero(len(self._Q[0]))
        Q_bar, V_bar, x_bar = self._given("dL_dQ", dL_dQ), self._given("dL_dV", dL_dV), self._by_coordinates(dL_dx or {})
        with Adjoint(self._simulation, self._parameters, sums) as adjoint:
            for k in range(self.steps, -1, -1):
                if k < self.steps:
                    at = adjoint.step(k, self._frames[k], self._ends(k), at)
                for bar, into in ((Q_bar, at.Q), (V_bar, at.V)):
                    if bar is not None and (len(bar) > 1 or k == self.steps):
                        into += bar[min(k, len(bar) - 1)]
                if x_bar is not None and x_bar[k].any():
                    self._add_coordinates(k, x_bar[k], at, sums)
        self._judge(sums.residual, strict)
        if not self._start[2]:  # without a past the state itself stands for it
            at.Q += at.Q_before
            at.V += at.V_before
            at.Q_before[:] = at.V_before[:] = 0.0
        return Gradients(self._simulation, self._frames, sums, (at.Q, at.V, at.Q_before, at.V_before))

    def step_vjp(self, k: int, dL_dQ: ArrayLike | None = None, dL_dV: ArrayLike | None = None) -> Gradients:
        """Gradients of a loss of the state after step k alone, (n, 4, 3) each: Q and V are by the state before it."""
        sums, at = Sums(self._simulation, self.steps), Costate.zero(len(self._Q[0]))
        for bar, into in ((self._given("dL_dQ", dL_dQ), at.Q), (self._given("dL_dV", dL_dV), at.V)):
            if bar is not None:
                into += bar[-1]
        with Adjoint(self._simulation, self._parameters, sums) as adjoint:
            found = adjoint.step(self._number(k), self._frames[k], self._ends(k), at)
        return Gradients(self._simulation, self._frames, sums, (found.Q, found.V, found.Q_before, found.V_before))

    def step_jacobians(self, k: int) -> tuple[Array, Array]:
        """A = ∂(Qₖ₊₁, Vₖ₊₁)/∂(Qₖ, Vₖ) (24f, 24f) and B = ∂(Qₖ₊₁, Vₖ₊₁)/∂F (24f, 12f) of the f bodies that can move.

        F are generalised forces on bodies in step k. A row is an adjoint step: 24f of them.
        """
        frame, ends = self._frames[self._number(k)], self._ends(k)
        free, sums = np.flatnonzero(self._simulation.model.bodies.is_free), Sums(self._simulation, self.steps)
        size, seed, forces = 12 * len(free), Costate.zero(len(self._Q[0])), sums.steps["forces"][k]
        A, B = np.zeros((2 * size, 2 * size)), np.zeros((2 * size, size))
        with Adjoint(self._simulation, self._parameters, sums) as adjoint:
            for row in range(2 * size):
                if row == 0 or adjoint.pulls_once:
                    adjoint.at(k, frame, ends)
                body, i, x = np.unravel_index(row % size, (len(free), 4, 3))
                into = seed.Q if row < size else seed.V
                into[free[body], i, x] = 1.0
                found = adjoint.pull(seed)
                A[row] = np.concatenate([found.Q[free].ravel(), found.V[free].ravel()])
                B[row] = forces[free].ravel()
                into[free[body], i, x] = forces[...] = 0.0
        return A, B

    def step_jvp(
        self, k: int, dQ: ArrayLike = 0.0, dV: ArrayLike = 0.0, dF: ArrayLike = 0.0
    ) -> tuple[Array, Array]:
        """How Q and V after step k change, (n, 4, 3) each, with the state before it and with forces F on bodies in it.

        Changes of fixed bodies do not count.
        """
        frame, ends, shape = self._frames[self._number(k)], self._ends(k), self._Q[0].shape
        free = (self._simulation.model.bodies.is_free != 0)[:, None, None]
        given = []
        for name, value in (("dQ", dQ), ("dV", dV), ("dF", dF)):
            array = np.asarray(value, float)
            if array.shape not in ((), shape):
                raise GradientError(f"Tape.step_jvp: {name} has the shape {array.shape}; give {shape}.")
            given.append(np.where(free, array, np.zeros(shape)))
        with Adjoint(self._simulation, self._parameters, Sums(self._simulation, self.steps)) as adjoint:
            adjoint.at(k, frame, ends)
            return push_forward(adjoint, *given)

    def _number(self, k: int) -> int:
        if not 0 <= k < self.steps:
            raise GradientError(f"Tape: there is no step {k}; there are 0 to {self.steps - 1}.")
        return k

    def _ends(self, k: int) -> Ends:
        Q, V = self._Q, self._V
        before = (Q[k - 1], V[k - 1]) if k else self._start[:2]
        return Ends(*before, Q[k], V[k], Q[k + 1])

    def _by_coordinates(self, given: Mapping[tuple[Any, str], ArrayLike]) -> Array | None:
        """Derivatives (T + 1, c) by all coordinates of joints, None without any."""
        if not given:
            return None
        bars = np.zeros((self.steps + 1, self._parameters.coordinates.count))
        for (joint, attribute), by in given.items():
            rows, shift = self._coordinate(joint, attribute)
            wanted = (self.steps + 1, len(shift))
            if np.shape(by) != wanted:
                raise GradientError(
                    f"Tape.backward: dL_dx of '{attribute}' has the shape {np.shape(by)}; give {wanted}."
                )
            bars[:, rows] += np.asarray(by, float)
        return bars

    def _add_coordinates(self, k: int, bar: Array, at: Costate, sums: Sums) -> None:
        """Adjoints of state k += what derivatives (c,) by coordinates of joints there are by it."""
        c, nothing = self._parameters.coordinates, np.zeros_like(at.Q)
        value_adjoints(
            c, self._Q[k], nothing, bar, np.zeros(c.count), at.Q, nothing, sums.constant["coordinates/W"]
        )

    def _given(self, name: str, given: ArrayLike | None) -> Array | None:
        """Derivatives by all states, (T + 1, n, 4, 3), or by the last (1, n, 4, 3)."""
        if given is None:
            return None
        shape, array = (self.steps + 1, *self._Q[0].shape), np.asarray(given, float)
        if array.shape not in (shape, shape[1:]):
            raise GradientError(f"Tape.backward: {name} has the shape {array.shape}; give {shape} or {shape[1:]}.")
        if not np.isfinite(array.sum()) and not np.isfinite(array).all():
            raise GradientError(
                f"Tape.backward: {name} has numbers that are not finite; give the derivatives of a loss."
            )
        return array.reshape(-1, *shape[1:])

    def _judge(self, residual: Array, strict: bool) -> None:
        if not self.steps or residual.max() <= RESIDUAL:
            return
        text = (
            f"Tape.backward: Newton's method has left {residual.max():.2g} [m/s or 1/s] of step {residual.argmax()}, "
            f"more than {RESIDUAL:g}: gradients may be wrong by a hundred times as much beside velocities; shorten dt "
            "or raise newton/max_iter."
        )
        if strict:
            raise GradientError(text)
        Logger.warn(text)
