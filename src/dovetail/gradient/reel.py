"""States and steps of a rollout: all of them, or checkpoints from which the steps between are computed again.

With checkpoints every k steps the memory is that of k steps and of T/k states; what is computed again is the same, bit
for bit, as long as controls do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dovetail.errors import DovetailError, GradientError
from dovetail.gradient.frame import Frame, Parameters, Past
from dovetail.gradient.jumps import Jump, jumps_in
from dovetail.gradient.refusal import refuse_step
from dovetail.solver.contact.contact import Contact
from dovetail.solver.integrator import INTEGRATORS
from dovetail.solver.solution import Tolerances
from dovetail.solver.state import rates_after
from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["Ends", "Reel", "Timeline"]

VELOCITY_TOL, TRANSRATE_TOL = 1e-8, 1e-7
"""Tolerances [m/s, 1/s] of a rollout that is recorded, unless its scene asks for less. In contact Newton's method,
which keeps a part of the Hessian, leaves some tenths of that, and gradients err by ten to a hundred times what is left;
at the tolerances of the config those of a violently driven chain are wrong by a third."""


class Timeline(Protocol):
    """A world as a tape sees it: it takes steps, and goes back to where it was, attributes included."""

    def advance(self) -> None: ...

    def mark(self) -> Any: ...

    def go_to(self, mark: Any) -> None: ...


@dataclass(slots=True)
class Ends:
    """States (n, 4, 3) of a step: before its start, at it, and at its end.

    V_before for methods that look back, V_end where rotors ask for it; zero or the last one known elsewhere.
    """

    Q_before: Array
    V_before: Array
    Q: Array
    V: Array
    Q_end: Array
    V_end: Array


def _tightened(tolerances: Tolerances) -> Tolerances:
    return replace(
        tolerances,
        velocity_tol=min(tolerances.velocity_tol, VELOCITY_TOL),
        transrate_tol=min(tolerances.transrate_tol, TRANSRATE_TOL),
        patience=tolerances.max_iter,  # steps in parts cannot be differentiated
    )


def _rubs(contact: Contact | None) -> bool:
    """Whether friction remembers, resists rolling, acts on surfaces with a thickness, or may be that of a blow."""
    if contact is None:
        return False
    scene = contact.scene
    return contact.stick is not None or scene.resists_rolling or bool(scene.thickness.any()) or _bounces(contact)


def _bounces(contact: Contact | None) -> bool:
    """Whether bodies may bounce."""
    return contact is not None and bool(contact.scene.restitution.any())


class Reel:
    """Steps of a simulation on a timeline, recorded with controls(k) before step k.

    every      steps from one checkpoint to the next, 0 for none
    smooth     steps are taken as bdf1 with friction that remembers nothing, whatever the scene has
    frames     of all steps; those that must be computed again have no more than gradients are told by
    jumps      of all steps
    """

    def __init__(self, simulation: Simulation, timeline: Timeline, every: int = 0, smooth: bool = False) -> None:
        self._simulation, self._timeline, self._every, self._smooth = simulation, timeline, every, smooth
        self._before = timeline.mark()
        self.parameters = Parameters(simulation)
        state = simulation.state
        if smooth and state.lagging.any():  # of steps in touch, whose velocity is another to users
            state.V[...] = state.velocity(simulation.model.bodies.mass)
            state.lagging[:] = False
        self._start = state.Q_before.copy(), state.V_before.copy()
        self.has_past = state.dt_before > 0.0
        self._Q: list[Array | None] = [state.Q.copy()]
        self._V: list[Array | None] = [state.V.copy()]  # without checkpoints, none that follows from positions alone
        self._branches, self.frames = [self.parameters.coordinates.value.copy()], list[Frame]()
        self.jumps: list[Jump] = []
        self._controls: Callable[[int], Any] | None = None
        self._marks: list[Any] = []
        self._loaded = range(0)

    # ---- recording -------------------------------------------------------------------------------------------

    def record(self, steps: int, controls: Callable[[int], Any] | None) -> None:
        """Take steps and keep them; where anything is raised the world is left as it was before the first."""
        self._controls = controls
        try:
            with self._recording():
                for k in range(steps):
                    if self._every and k % self._every == 0:
                        self._marks.append(self._timeline.mark())
                        self._drop()
                        self._loaded = range(k, k)
                    self._take(k)
                    self._loaded = range(self._loaded.start, k + 1)
        except BaseException:
            with suppress(DovetailError):  # a scene that was opened or changed cannot go back
                self._timeline.go_to(self._before)
            raise

    @contextmanager
    def _recording(self) -> Iterator[None]:
        """Steps are taken as gradients ask for."""
        simulation, scheme, contact = self._simulation, self._simulation.scheme, self._simulation.contact
        directions, tolerances = simulation.model.directions, simulation.tolerances
        sweep, integrator, stick = directions.sweep, scheme.integrator, None if contact is None else contact.stick
        if self._smooth:
            scheme.integrator = INTEGRATORS["bdf1"]
            if contact is not None:
                contact.stick = None
                contact.turning.turn.fill(0.0)  # of rolling in the last step of ctr
        quiet = simulation.model.quiet
        possible = quiet.is_possible
        if scheme.integrator.is_consistent:
            # a sweep leaves small terms out of a start, which its derivatives would miss; quiet steps are made of it
            directions.sweep, quiet.is_possible = None, possible and sweep is None
        simulation.tolerances = _tightened(tolerances)
        try:
            yield
        finally:
            simulation.tolerances, directions.sweep, scheme.integrator = tolerances, sweep, integrator
            quiet.is_possible = possible
            if self._smooth and contact is not None and stick is not None:
                contact.stick = stick
                stick.forget(np.arange(simulation.model.bodies.count))
            if sweep is not None:
                sweep.renew()
                simulation.model.potential.renew()  # so that it is told the weights of the next step

    def _take(self, k: int) -> None:
        """Step k, with what controls do before it; again if it was taken before."""
        simulation, again = self._simulation, k < len(self.frames)
        if self._controls is not None:
            _control(self._controls, k)
        state = simulation.state
        if not (np.array_equal(state.Q, self.Q(k)) and np.array_equal(state.V, self.V(k))):
            raise GradientError(
                f"Tape: before step {k} the state was written to, which tapes cannot see; begin a new rollout."
            )
        before = state.dt_before
        contact, is_consistent = simulation.contact, simulation.scheme.integrator.is_consistent
        past = Past.of(simulation) if contact is not None or is_consistent else None
        self._timeline.advance()
        report, last = simulation.last[1], self.frames[k - 1] if k else None
        assert report is not None
        like = last if not again or k > self._loaded.start else None
        given = self.parameters.take(None if like is None else like.given, simulation.scheme.last)
        easing = None if contact is None or contact.ease is None else contact.ease.last
        if not (is_consistent and simulation.model.guards) and easing is None and not _rubs(contact):
            past = None  # of which nothing counts
        frame = Frame(
            report.dt, report.dt / (before or report.dt), simulation.scheme.last, given,
            (self._branches[k], self._branch(self._branches[k])),
            self.parameters.switches(None if like is None else like.switches), report.contacts,
            simulation.state.knocked if is_consistent else None, past,
            easing, None if contact is None or contact.struck is None else contact.struck.blow,
        )  # fmt: skip
        Q, V = simulation.state.Q.copy(), simulation.state.V.copy()
        if again:
            known = self._Q[k + 1]
            if known is not None and not np.array_equal(known, Q):
                raise GradientError(
                    f"Tape: step {k}, computed again from a checkpoint, has led elsewhere: controls have done "
                    "something else than the first time. Let them depend on the number of the step alone, or record "
                    "without `every`."
                )
            self.frames[k], self._Q[k + 1], self._V[k + 1] = frame, Q, V
            return
        refuse_step(simulation, k, frame, last)
        self.jumps += jumps_in(simulation, k, frame, last, Q)
        self.frames.append(frame)
        self._branches.append(frame.branches[1])
        self._Q.append(Q)
        keeps = self._every or frame.methods.is_consistent or _bounces(contact)
        self._V.append(V if keeps else None)

    def _branch(self, last: Array) -> Array:
        """Values (c,) that coordinates are near now, by less than half a turn: those that they were near, if so."""
        c = self.parameters.coordinates
        is_far = np.abs(c.value - last) * (c.period > 0.0) > 0.4 * c.period
        return c.value.copy() if is_far.any() else last

    # ---- going back ------------------------------------------------------------------------------------------

    def _drop(self) -> None:
        """Forget what is loaded, but for its first and its last two states and what gradients are told by."""
        place = len(self._simulation.joints.lowered.loads) + 1  # after loads and parameters of laws
        for k in self._loaded:
            if k > 0:  # of the first step the past of laws is asked for, too
                frame = self.frames[k]
                given: list[Any] = [None] * len(frame.given)
                given[:place] = frame.given[:place]
                self.frames[k] = replace(frame, given=given, past=None, easing=None, blow=None)
            if self._loaded.start < k < self._loaded.stop - 1:
                self._Q[k] = self._V[k] = None

    @property
    def segments(self) -> list[range]:
        """Steps that are loaded together, the last ones first."""
        T = len(self.frames)
        size = self._every or max(T, 1)
        return [range(k, min(k + size, T)) for k in range(0, T, size)][::-1]

    def load(self, steps: range) -> None:
        """Have the states and frames of a segment."""
        if not self._every or steps == self._loaded:
            return
        self._drop()
        with self._recording():
            self._timeline.go_to(self._marks[steps.start // self._every])
            self._loaded = range(steps.start, steps.start)
            for k in steps:
                self._take(k)
                self._loaded = range(steps.start, k + 1)

    @contextmanager
    def rewound(self) -> Iterator[None]:
        """The world is left as it is now, whatever is loaded."""
        if not self._every:
            yield
            return
        now = self._timeline.mark()
        try:
            yield
        finally:
            self._timeline.go_to(now)

    def Q(self, k: int) -> Array:
        """The state before step k, which must be loaded."""
        found = self._Q[k]
        assert found is not None
        return found

    def V(self, k: int) -> Array:
        found = self._V[k]
        if found is None:
            frame, is_free = self.frames[k - 1], self._simulation.model.bodies.is_free
            before = self.Q(k - 2) if k > 1 else self._start[0]
            return rates_after(frame.methods, frame.h, is_free, before, self.Q(k - 1), self.Q(k))
        return found

    def ends(self, k: int) -> Ends:
        """States of step k."""
        Q_before, V_before = self._start
        if k:
            Q_before = self.Q(k - 1)
            if self.frames[k].methods.method.looks_back:
                V_before = self.V(k - 1)
        V, laws = self.V(k), self._simulation.model.potential.laws
        V_end = self.V(k + 1) if laws is not None and len(laws.rotors) else V
        return Ends(Q_before, V_before, self.Q(k), V, self.Q(k + 1), V_end)

    def values(self) -> Array:
        """Coordinates of joints (T + 1, c) at the start and after every step."""
        c = self.parameters.coordinates
        kept, found = c.reference.copy(), np.empty((len(self.frames) + 1, c.count))
        for k, Q in enumerate(self.states()[0]):
            c.reference[:] = self._branches[k]
            found[k] = c.derivatives(Q, Q)[0]
        c.reference[:] = kept
        return found

    def states(self) -> tuple[Array, Array]:
        """All states Q, V (T + 1, n, 4, 3)."""
        Q = np.empty((len(self.frames) + 1, *self.Q(0).shape))
        V = np.empty_like(Q)
        with self.rewound():
            Q[0], V[0] = self.Q(0), self.V(0)
            for steps in self.segments:
                self.load(steps)
                for k in steps:
                    Q[k + 1], V[k + 1] = self.Q(k + 1), self.V(k + 1)
        return Q, V


def _control(controls: Callable[[int], Any], k: int) -> None:
    try:
        controls(k)
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
            raise  # from within
        raise GradientError(
            f"rollout: controls cannot be called with the number of a step ({error}); give a function of it."
        ) from None
