"""Steps of many worlds in one call: who may take part, and what of a world follows from steps that Python has not seen.

A world joins once a step of its own was quiet, in one call (solver/quiet.py), and nothing else happens between steps:
no animations, couplings or pushes. It stays until something other than such steps changes it (solver/march.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dovetail.errors import DovetailError
from dovetail.geometry.attribute import moved
from dovetail.kernel.kernel import jit_enabled
from dovetail.kernel.peek import gather_numbers
from dovetail.kernel.program import RESULT, Program
from dovetail.kernel.threads import map_chunks, using
from dovetail.solver.descent import Descent
from dovetail.solver.joint.coordinates import commit_coordinates
from dovetail.solver.march import (
    CHANGED,
    COUNT,
    ITERATIONS,
    LAST_RATE,
    LAST_STEP,
    TOLD,
    WORDS,
    March,
    march,
    march_all,
)
from dovetail.solver.step import StepReport
from dovetail.timer import Timer
from dovetail.typing import Array, Indices
from dovetail.world.strain import EVERY, StrainWatch

if TYPE_CHECKING:
    from dovetail.scene.animator import Animator
    from dovetail.world.refresh import BodyRefresh
    from dovetail.world.simulation import Simulation

__all__ = ["Marcher", "march_together"]

_MARCH, _STEPS = 6, 7  # words of a call that differ by world
_PARTS = 8  # chunks for each thread: the last ones end together


class Marcher:
    """A simulation whose steps may be taken without Python."""

    def __init__(
        self, simulation: Simulation, animator: Animator, refresh: BodyRefresh, strain: StrainWatch, time: Array
    ) -> None:
        self.simulation, self._animator, self._time = simulation, animator, time
        self._refresh, self._strain = refresh, strain
        self._is_coupled = simulation.couplings is not None and bool(simulation.couplings.ends)
        self.march: March | None = None
        self._version = self._generation = -1
        self._origin = 0, 0, 0

    def join(self) -> bool:
        """Take part from now on, if the last step allows it; whether it does."""
        s, model, contact = self.simulation, self.simulation.model, self.simulation.contact
        self.march = None
        if not jit_enabled or not model.quiet.was_whole or self._is_steered:
            return False
        if contact is not None and contact.ease is not None and len(contact.ease.pairs):
            return False
        h, program = s.dt, Program()
        found = model.quiet.bind(program, s.state, h, s.scheme.at_start(model, s.state, h))
        if found is None:
            return False
        self.march = self._made(program, h, *found)
        self._version, self._generation, self._origin = s.version, moved.count, (s.last[0], s.version, model.directions.age)
        return True

    def _made(self, program: Program, h: float, take: int, descent: Descent) -> March:
        s, model, state, none = self.simulation, self.simulation.model, self.simulation.state, np.zeros(0, np.int64)
        laws, exact, sweep, contact = model.potential.laws, model.potential.exact, model.directions.sweep, s.contact
        coordinates, reads = s.joints.coordinates, []
        for reader in (*self._refresh.readers, s.joints.refreshing.reader):
            reader.read()
            places = reader.places
            reads.append(program.add(gather_numbers, places.address, places.kind, places.start, reader.values))
        commit = program.add(commit_coordinates, coordinates, state.Q, state.V) if coordinates.count else -1
        exports = [] if sweep is None else sweep.bind_export(program, descent.swept)
        p, past = (np.zeros(0), np.zeros((2, 0))) if laws is None else (laws.p, laws.past)
        rates = none if laws is None else np.flatnonzero(laws.start >= 0)
        forces = {}
        for name in ("points", "slides", "combined"):
            rows = None if exact is None else getattr(exact, name)
            forces[f"{name}_force"] = np.zeros((0, 3)) if rows is None else rows.force
            forces[f"{name}_multiplier"] = np.zeros((0, 3)) if rows is None else rows.multiplier
        used, spent, planes, stride = (np.zeros(0) for _ in range(4))
        if contact is not None:
            used, spent, planes, stride = contact.watch.used, contact.watch.spent, contact.watch.planes, contact.stride
        self._program = program
        return March(
            h=h, words=program.words(), take=take, commit=commit, reads=np.array(reads, np.int64),
            exports=np.array(exports, np.int64), descent=descent, start=model.start, Q=state.Q, V=state.V, A=state.A,
            Q_before=state.Q_before, V_before=state.V_before, Q_new=state.spare[0], V_new=state.spare[1],
            A_new=state.spare[2], p=p, past=past, before=p.copy(), kept_past=past[1].copy(),
            now=none if laws is None else laws.start[rates], rates=none if laws is None else laws.of[rates],
            steps=none if laws is None else laws.step[laws.step >= 0], approaches=s.joints.refreshing.approaches,
            value=coordinates.value, **forces, used=used, spent=spent, planes=planes, kept_used=used.copy(),
            kept_spent=spent.copy(), kept_planes=planes.copy(), stride=stride, time=self._time, told=np.zeros(TOLD),
        )  # fmt: skip

    @property
    def _is_steered(self) -> bool:
        """Whether something happens between steps: animations, couplings, pushes."""
        return self._is_coupled or self.simulation.pushes.acts or self._animator.animation_count() > 0

    @property
    def is_ready(self) -> bool:
        """Whether it takes part, and nothing has happened to it since its last step."""
        s, m = self.simulation, self.march
        return (
            m is not None
            and s.version == self._version
            and self._generation == moved.count
            and s.dt == m.h
            and not self._is_steered
        )

    @property
    def room(self) -> int:
        """How many steps may be taken until Python has to look."""
        return EVERY - self.simulation.last[0] % EVERY

    def settle(self, taken: int, asked: int) -> None:
        """So many steps were taken of those that were asked for. May be broken off, and called again."""
        s, m = self.simulation, self.march
        assert m is not None
        told = m.told
        if taken:
            report = StepReport(
                m.h, int(told[ITERATIONS]), 0, 0, float(told[LAST_STEP]), float(told[LAST_RATE]), True,
                islands=s.model.islands.count,
            )  # fmt: skip
            frame, self._version, age = (count + int(told[COUNT]) for count in self._origin)
            s.last, s.version, s.model.directions.age = (frame, report), self._version, age
            if s.contact is not None:
                s.contact.commit_clear(m.h)
            self._strain.look(frame, s.state.Q)
        if taken < asked:
            s.forget()
            if not told[CHANGED]:
                self.march = None

    def take_over(self) -> bool:
        """Attributes have changed: take them over, if steps may go on as before; whether that is so."""
        s, m = self.simulation, self.march
        assert m is not None
        with contextlib.suppress(DovetailError):  # which the step from Python raises again
            self._refresh.run()
            s.joints.refreshing.take_over()
            if s.model.quiet.is_unloaded:
                return True
        m.p[:] = m.before
        s.forget()
        self.march = None
        return False


def march_together(marchers: Sequence[Marcher], steps: Indices, threads: int) -> Indices:
    """Have simulations that are ready take so many steps (n,) each; how many each has taken.

    Those that have taken fewer have to be advanced by themselves, and join again.
    """
    n, taken = len(marchers), np.zeros(len(marchers), np.int64)
    words = np.zeros((n, WORDS), np.int64)
    one = Program()
    one.add(march, marchers[0].march, 0)
    words[:] = one.words()
    words[:, _MARCH] = [m.march._pointer for m in marchers if m.march is not None]
    flat, room = words.reshape(-1), np.array([m.room for m in marchers])
    going: Indices = np.arange(n)
    while len(going):
        asked = np.minimum(steps[going] - taken[going], room[going])
        words[going, _STEPS] = asked
        parts = min(len(going), _PARTS * threads) if threads > 1 else 1
        bounds = [k * len(going) // parts for k in range(parts + 1)]
        spans = [(k, bounds[k], bounds[k + 1]) for k in range(parts)]
        with Timer("Pipeline"), using(threads):
            map_chunks(march_all, spans, flat, going)
        done = words[going, RESULT]
        _settle([marchers[k] for k in going], done.tolist(), asked.tolist())
        taken[going] += done
        further = [
            k for k, of, some in zip(going.tolist(), asked.tolist(), done.tolist(), strict=True)
            if taken[k] < steps[k] and (some == of or (marchers[k].march is not None and marchers[k].take_over()))
        ]  # fmt: skip
        room[further] = [marchers[k].room for k in further]
        going = np.array(further, np.int64)
    return taken


def _settle(marchers: Sequence[Marcher], done: Sequence[int], asked: Sequence[int]) -> None:
    """Settle all of them, whatever is pressed meanwhile: their steps were taken."""
    pressed = None
    left = list(zip(marchers, done, asked, strict=True))
    while left:
        try:
            while left:
                marcher, some, of = left[-1]
                marcher.settle(some, of)
                left.pop()
        except KeyboardInterrupt as error:
            pressed = error
    if pressed is not None:
        raise pressed
