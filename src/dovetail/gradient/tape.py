"""A rollout that can be differentiated: its states, what each step was given, and the way back.

tape = world.rollout(100, controls)
gradients = tape.backward(dL_dQ)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

import numpy as np

from dovetail.checked import LARGEST, checked, numbers, shown, whole
from dovetail.errors import GradientError
from dovetail.gradient.adjoint import Adjoint
from dovetail.gradient.bodies import Costate
from dovetail.gradient.called import called, pair
from dovetail.gradient.gradients import Gradients
from dovetail.gradient.jacobians import Coordinated, Jacobians, StateJacobians
from dovetail.gradient.jumps import Jump
from dovetail.gradient.laws import value_adjoints
from dovetail.gradient.reel import Reel, Timeline
from dovetail.gradient.refusal import refuse_scene
from dovetail.gradient.sums import Sums
from dovetail.gradient.tangent import push_forward
from dovetail.logger import Logger
from dovetail.solver.joint.coordinates import Coordinates
from dovetail.solver.model import Model
from dovetail.typing import Array, ArrayLike
from dovetail.world_lock import lock_public

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["Tape"]

RESIDUAL = 1e-6
"""What Newton's method may leave of a step [m/s, 1/s], |H⁻¹g|/h, before it is told that its gradient may be wrong."""


_told: WeakSet[Model] = WeakSet()  # whose jumps were told


class _Loss(NamedTuple):
    """Derivatives of a loss by states, all (T + 1, …) or the last alone (1, …); by coordinates and rates (T + 1, c)."""

    Q: Array | None
    V: Array | None
    x: Array | None
    rates: Array | None
    steps: int

    def add(self, k: int, reel: Reel, c: Coordinates, at: Costate, sums: Sums) -> None:
        """Adjoints of state k += its derivatives."""
        for bar, into in ((self.Q, at.Q), (self.V, at.V)):
            if bar is not None and (len(bar) > 1 or k == self.steps):
                into += bar[min(k, len(bar) - 1)]
        if self.x is None and self.rates is None:
            return
        x, rates = (np.zeros(c.count) if by is None else by[k] for by in (self.x, self.rates))
        if x.any() or rates.any():
            value_adjoints(c, reel.Q(k), reel.V(k), x, rates, at.Q, at.V, sums.constant["coordinates/W"])


def _numbers(who: str, given: ArrayLike, *shapes: tuple[int, ...]) -> Array:
    """An array of finite numbers of one of the shapes; one copy of them is not made where they are floats already."""
    found = numbers(given)
    wanted = " or ".join(str(shape) for shape in shapes if shape)
    if found is None:
        raise GradientError(f"{who} = {shown(given)}; give an array {wanted} of numbers.")
    if found.shape not in shapes:
        raise GradientError(f"{who} has the shape {found.shape}; give {wanted}.")
    if not abs(float(found.sum())) <= LARGEST and not (np.abs(found) <= LARGEST).all():
        raise GradientError(f"{who} has numbers that are not finite, or beyond {LARGEST:g}; give finite ones.")
    return found


@lock_public
class Tape:
    """Steps of a world, recorded. Made by `World.rollout`, `Sim.rollout`.

    Q, V (T + 1, n, 4, 3)    states at the start and after every step
    """

    def __init__(self, simulation: Simulation, timeline: Timeline, every: int = 0, smooth: bool = False) -> None:
        refuse_scene(simulation, smooth)
        self._lock = simulation.scene._lock
        self._simulation, self._reel = simulation, Reel(simulation, timeline, every, smooth)
        self._parameters, self._frames = self._reel.parameters, self._reel.frames
        self._jacobians: Jacobians | None = None
        self._adjoint: Adjoint | None = None  # of Jacobians, whose sums nobody asks for

    @property
    def Q(self) -> Array:
        return self._reel.states()[0]

    @property
    def V(self) -> Array:
        return self._reel.states()[1]

    @property
    def steps(self) -> int:
        """How many steps were recorded."""
        return len(self._frames)

    @property
    def jumps(self) -> list[Jump]:
        """Steps in which the motion jumps with a change of its start, (step, body, reason): a touch begins or ends, a
        hard limit is reached, friction begins or ends to slide under ctr. Gradients tell nothing of a jump.
        """
        return list(self._reel.jumps)

    def body(self, body: Any) -> int:
        """The number of a body, by its handle or the name of its object; the first where there are several."""
        name = called("Tape.body", body)
        for entry in self._simulation.table.geometries:
            if entry.slot.object_name == name:
                return int(entry.offset)
        known = ", ".join(f"'{entry.slot.object_name}'" for entry in self._simulation.table.geometries)
        raise GradientError(f"Tape.body: there is no body '{name}'; there are {known}.")

    def transform(self, body: Any) -> Array:
        """Transforms (T + 1, 4, 4) of a body at the start and after every step, by its number, handle or name."""
        Q = self._reel.states()[0][:, self._number("transform", body)]
        found = np.tile(np.eye(4), (len(Q), 1, 1))
        found[:, :3, 3], found[:, :3, :3] = Q[:, 0], Q[:, 1:].swapaxes(1, 2)
        return found

    @checked(GradientError)
    def coordinate(self, joint: Any, attribute: str) -> Array:
        """A coordinate that joints report, such as "angle" or "distance", (T + 1, k) at the start and after every step.

        Angles go on over whole turns.
        """
        rows, shift = self._coordinate(joint, attribute)
        values: Array = self._reel.values()[:, rows] + shift
        return values

    def _coordinate(self, joint: Any, attribute: str) -> tuple[slice, Array]:
        """Which of the solver's coordinates a joint reports under a name, and its offsets (k,)."""
        name, lowered, known = called("Tape", joint), self._simulation.joints.lowered, []
        for number, entry in enumerate(lowered.geometries):
            for word in entry.kind.coordinates():
                known.append(f"('{entry.slot.object_name}', '{word.attribute}')")
                if (entry.slot.object_name, word.attribute) == (name, attribute):
                    offset = entry.elements.slot(word.offset).values if word.offset else np.zeros(entry.count)
                    return lowered.coordinate_rows[word, number], np.asarray(offset, float)
        listed = ", ".join(known) or "none"
        raise GradientError(f"Tape: there is no coordinate ('{name}', '{attribute}'); there are {listed}.")

    @checked(GradientError)
    def record(self, steps: int, controls: Callable[[int], Any] | None) -> None:
        """Take steps and keep them; controls(k) is called before step k of the tape."""
        if steps < 0:
            raise GradientError(f"Tape.record: steps = {steps}; give 0 or more.")
        self._reel.record(steps, controls)

    @checked(GradientError)
    def backward(
        self,
        dL_dQ: ArrayLike | None = None,
        dL_dV: ArrayLike | None = None,
        dL_dx: Mapping[tuple[Any, str], ArrayLike] | None = None,
        dL_dT: Mapping[Any, ArrayLike] | None = None,
        dL_drate: Mapping[tuple[Any, str], ArrayLike] | None = None,
        surfaces: bool = False,
        strict: bool = False,
    ) -> Gradients:
        """Gradients of a loss with these derivatives by all states (T + 1, n, 4, 3), or by the last alone (n, 4, 3).

        dL_dx and dL_drate have derivatives by coordinates of joints and by their rates, see `coordinate`,
        {(joint, attribute): (T + 1, k)}, and dL_dT by transforms of bodies, {body: (T + 1, 4, 4)}, see `transform`.
        With `surfaces`, `Gradients.design` knows the way by vertices of surfaces that touch, not by their thickness.
        Where Newton's method has left more than 1e-6 m/s of a step a warning says so, or with `strict` an error.
        Where the motion jumps (`jumps`), a warning says that once for a world.
        """
        sums, at, reel = Sums(self._simulation, self.steps, surfaces), Costate.zero(self._shape[0]), self._reel
        loss = _Loss(
            self._with_transforms(self._given("dL_dQ", dL_dQ), dL_dT or {}),
            self._given("dL_dV", dL_dV),
            self._by_coordinates(dL_dx or {}),
            self._by_coordinates(dL_drate or {}),
            self.steps,
        )
        with reel.rewound():
            loss.add(self.steps, reel, self._parameters.coordinates, at, sums)
            for steps in reel.segments:
                reel.load(steps)
                with Adjoint(self._simulation, self._parameters, sums) as adjoint:
                    for k in reversed(steps):
                        at = adjoint.step(k, self._frames[k], reel.ends(k), at)
                        loss.add(k, reel, self._parameters.coordinates, at, sums)
        self._judge(sums.residual, strict)
        self._tell_jumps()
        if not reel.has_past:  # without a past the state itself stands for it
            at.Q += at.Q_before
            at.V += at.V_before
            at.Q_before[:] = at.V_before[:] = 0.0
        return Gradients(self._simulation, self._frames, sums, (at.Q, at.V, at.Q_before, at.V_before))

    @checked(GradientError)
    def step_vjp(self, k: int, dL_dQ: ArrayLike | None = None, dL_dV: ArrayLike | None = None) -> Gradients:
        """Gradients of a loss of the state after step k alone, (n, 4, 3) each: Q and V are by the state before it."""
        sums, at = Sums(self._simulation, self.steps), Costate.zero(self._shape[0])
        for bar, into in ((self._given("dL_dQ", dL_dQ), at.Q), (self._given("dL_dV", dL_dV), at.V)):
            if bar is not None:
                into += bar[-1]
        with self._at(k, sums) as adjoint:
            found = adjoint.pull(at)
        return Gradients(self._simulation, self._frames, sums, (found.Q, found.V, found.Q_before, found.V_before))

    @checked(GradientError)
    def step_jacobians(self, k: int | None = None, mechanism: Any = None) -> tuple[Array, Array]:
        """A = ∂(qₖ₊₁, vₖ₊₁)/∂(qₖ, vₖ) (2c, 2c) and B = ∂(qₖ₊₁, vₖ₊₁)/∂u (2c, c) of the c coordinates of a mechanism.

        u are efforts, torques and forces of the joints; those of joints that take none have zeros. The state before
        step k moves with q and v as setting `Mechanism.q` and `v` has it. Without k all steps are stacked, (T, 2c, ·).

        Without a mechanism they are those of all states: A = ∂(Qₖ₊₁, Vₖ₊₁)/∂(Qₖ, Vₖ) (24f, 24f) and B by generalised
        forces F in step k (24f, 12f), of the f bodies that can move. A row is an adjoint step.
        """
        reel = self._reel
        jacobians: StateJacobians | Jacobians = (
            StateJacobians(self._simulation) if mechanism is None else self._jacobians_of(mechanism)
        )
        if self._adjoint is None:
            self._adjoint = Adjoint(self._simulation, self._parameters, Sums(self._simulation, self.steps))
        wanted = range(self.steps) if k is None else range(self._known(k), k + 1)
        A, B = jacobians.room(len(wanted))
        with reel.rewound():
            for steps in reel.segments:
                some = range(max(steps.start, wanted.start), min(steps.stop, wanted.stop))
                if some:
                    reel.load(steps)
                    with self._adjoint as adjoint:
                        for n in reversed(some):
                            out = A[n - wanted.start], B[n - wanted.start]
                            jacobians.at(adjoint, n, self._frames[n], reel.ends(n), reel.V(n + 1), out)
        return (A, B) if k is None else (A[0], B[0])

    def _jacobians_of(self, mechanism: Any) -> Jacobians:
        """Those of the last call, if it asked for the same coordinates."""
        coordinated: Coordinated | None = getattr(mechanism, "_state", None)
        if coordinated is None or coordinated.simulation is not self._simulation:
            raise GradientError(
                f"Tape.step_jacobians: {shown(mechanism)} is no mechanism of what was recorded, as it was then; give "
                "one that sim.mechanism() makes, and record after all changes of the scene."
            )
        if self._jacobians is None or self._jacobians.coordinated is not coordinated:
            self._jacobians = Jacobians(self._simulation, coordinated)
        return self._jacobians

    @checked(GradientError)
    def step_jvp(self, k: int, dQ: ArrayLike = 0.0, dV: ArrayLike = 0.0, dF: ArrayLike = 0.0) -> tuple[Array, Array]:
        """How Q and V after step k change, (n, 4, 3) each, with the state before it and with forces F on bodies in it.

        Changes of fixed bodies do not count.
        """
        shape = self._shape
        free = (self._simulation.model.bodies.is_free != 0)[:, None, None]
        given = []
        for name, value in (("dQ", dQ), ("dV", dV), ("dF", dF)):
            array = _numbers(f"Tape.step_jvp: {name}", value, (), shape)
            given.append(np.where(free, array, np.zeros(shape)))
        with self._at(k, Sums(self._simulation, self.steps)) as adjoint:
            return push_forward(adjoint, *given)

    @property
    def _shape(self) -> tuple[int, ...]:
        return self._reel.Q(0).shape

    def _number(self, who: str, body: Any) -> int:
        """Of a body by its number, handle or name."""
        number, count = whole(body), self._shape[0]
        if number is None:
            return self.body(body)
        if not 0 <= number < count:
            raise GradientError(f"Tape.{who}: there is no body {number}; there are 0 to {count - 1}.")
        return number

    def _known(self, k: int) -> int:
        if not 0 <= k < self.steps:
            raise GradientError(f"Tape: there is no step {k}; there are 0 to {self.steps - 1}.")
        return k

    @contextmanager
    def _at(self, k: int, sums: Sums) -> Iterator[Adjoint]:
        """An adjoint at step k."""
        self._known(k)
        with self._reel.rewound():
            self._reel.load(next(steps for steps in self._reel.segments if k in steps))
            with Adjoint(self._simulation, self._parameters, sums) as adjoint:
                adjoint.at(k, self._frames[k], self._reel.ends(k))
                yield adjoint

    def _by_coordinates(self, given: Mapping[tuple[Any, str], ArrayLike]) -> Array | None:
        """Derivatives (T + 1, c) by all coordinates of joints, None without any."""
        if not given:
            return None
        bars = np.zeros((self.steps + 1, self._parameters.coordinates.count))
        for key, by in given.items():
            joint, attribute = pair("Tape.backward", key)
            rows, shift = self._coordinate(joint, attribute)
            what = f"Tape.backward: what is given for '{attribute}'"
            bars[:, rows] += _numbers(what, by, (self.steps + 1, len(shift)))
        return bars

    def _with_transforms(self, Q_bar: Array | None, given: Mapping[Any, ArrayLike]) -> Array | None:
        """Derivatives by states with those by transforms of bodies; the last row of a transform says nothing."""
        if not given:
            return Q_bar
        found = np.zeros((self.steps + 1, *self._shape))
        if Q_bar is not None:
            found[-len(Q_bar) :] += Q_bar
        for body, by in given.items():
            number = self._number("backward", body)
            D = _numbers("Tape.backward: dL_dT", by, (self.steps + 1, 4, 4))
            found[:, number, 0] += D[:, :3, 3]
            found[:, number, 1:] += D[:, :3, :3].swapaxes(1, 2)
        return found

    def _given(self, name: str, given: ArrayLike | None) -> Array | None:
        """Derivatives by all states, (T + 1, n, 4, 3), or by the last (1, n, 4, 3)."""
        if given is None:
            return None
        shape = (self.steps + 1, *self._shape)
        return _numbers(f"Tape.backward: {name}", given, shape, shape[1:]).reshape(-1, *shape[1:])

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

    def _tell_jumps(self) -> None:
        jumps, model = self._reel.jumps, self._simulation.model
        if not jumps or model in _told:
            return
        _told.add(model)
        first, more = jumps[0], f", and in {len(jumps) - 1} more" if len(jumps) > 1 else ""
        Logger.warn(
            f"Tape.backward: the motion jumps in step {first.step}, where {first.body} {first.reason}{more} "
            "(Tape.jumps lists them): gradients are those of the side on which the rollout is, and tell nothing of a "
            "change of its start that has this happen a step earlier or later. rollout(…, smooth=True) takes steps "
            "that jump at blows with restitution alone."
        )
