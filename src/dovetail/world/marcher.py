"""A world whose steps may be taken without Python, and what of it follows from steps that Python has not seen.

It joins once a step of its own was quiet, in one call (solver/quiet.py), and nothing else happens between steps: no
animations or couplings. It stays until something other than such steps changes it (solver/march.py).
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.errors import DovetailError
from dovetail.geometry.attribute import moved
from dovetail.kernel.fetch import fetch, lines_of
from dovetail.kernel.kernel import jit_enabled
from dovetail.kernel.peek import gather_numbers
from dovetail.kernel.program import ADDRESS, RESULT, Program
from dovetail.solver.course import Course, take
from dovetail.solver.joint.coordinates import commit_coordinates
from dovetail.solver.march import CHANGED, ITERATIONS, LAST_RATE, LAST_STEP, STRAINED, TOLD, TOUCHED, March, march
from dovetail.solver.repose import Repose, stand
from dovetail.solver.step import StepReport
from dovetail.typing import Array, Indices
from dovetail.world.attribute_reader import AttributeReader
from dovetail.world.strain import EVERY, LARGE, StrainWatch

if TYPE_CHECKING:
    from dovetail.world.refresh import BodyRefresh
    from dovetail.world.simulation import Simulation

__all__ = ["Marcher"]

_STATE = "Q", "V", "A", "Q_before", "V_before", "Q_new", "V_new", "A_new"
_BOOKS = "used", "spent", "planes"
_LENGTH = 5  # words from the place of an array among arguments to its length
_NEARLY = 0.999 * LARGE  # a strain that Python looks at, which decides


class Marcher:
    """A simulation whose steps may be taken without Python.

    march      what they work on; None where it does not take part
    program    the calls of `march`, and of `fetch` for its memory
    looked_up  arrays that attributes are looked up by
    """

    program: Program
    looked_up: list[Any]

    def __init__(self, simulation: Simulation, refresh: BodyRefresh, strain: StrainWatch) -> None:
        self.simulation, self._refresh, self._strain = simulation, refresh, strain
        self._is_coupled = simulation.couplings is not None and bool(simulation.couplings.ends)
        self._length = AttributeReader()
        self._length.ask(simulation.scene.config.attributes, "dt")
        self._told = np.zeros(TOLD)
        self.march: March | None = None
        self._made: March | None = None
        self._made_for: tuple[Course | Repose | None, int] = None, -1

    def join(self) -> bool:
        """Take part from now on, if the last step allows it; whether it does."""
        s, contact = self.simulation, self.simulation.contact
        self.march = None
        is_eased = contact is not None and contact.ease is not None and len(contact.ease.pairs) > 0
        if not jit_enabled or is_eased or self._is_steered:
            return False
        h, found = s.dt, self._further
        if found is None:
            return False
        if self._made is None or self._made_for[0] is not found[0] or self._made_for[1] != moved.count:
            self._made, self._made_for = None, (found[0], moved.count)  # an interrupt may come in between
            self._made = self._make(h, found)
        self._aim(self._made)
        self.march = self._made
        return True

    @property
    def _further(self) -> tuple[Any, ...] | None:
        """What further steps like the last one work on: quiet ones, or those of a machine that stands."""
        s, h = self.simulation, self.simulation.dt
        if s.model.quiet.was_whole:
            return s.model.quiet.further(s.state, h, s.scheme.at_start(s.model, s.state, h))
        return s.model.still.further(h)

    @property
    def generation(self) -> int:
        """Of the addresses of attributes that its program has: it is of use as long as none has moved since."""
        return self._made_for[1]

    @property
    def stands(self) -> bool:
        """Whether its steps are those of a machine that stands."""
        return isinstance(self._made_for[0], Repose)

    @property
    def _is_steered(self) -> bool:
        """Whether something happens between steps: animations, couplings."""
        return self._is_coupled or bool(self.simulation.scene.animator.animations)

    def _bind(self, within: Program, found: tuple[Any, ...], room: Array) -> int:
        """The place of a step in a program, with room for the state; `_arrays` ← where that is told."""
        if not isinstance(found[0], Repose):
            step = within.add(take, *found, self.simulation.model.islands, *room)
            self._arrays = [[within.argument(step, 4 + k)] for k in range(8)]
            return step
        step = within.add(stand, *found, *room[:4], tuple(room[5:]), *self._remembered)
        first = within.argument(step, 7)
        size = (within.argument(step, 8) - first) // 3
        self._arrays = [
            *([within.argument(step, 3 + k)] for k in range(4)),
            [],
            *([first + k * size] for k in range(3)),
        ]
        self._places = [within.argument(step, 8 + k) for k in range(4)]
        return step

    @property
    def _remembered(self) -> tuple[Any, ...]:
        """What a machine that stands has besides its state, written in place."""
        s = self.simulation
        assert s.contact is not None and s.contact.stick is not None
        return s.state.pushed, s.state.rubbing, s.contact.stick.keys, s.contact.stick.force

    def _make(self, h: float, found: tuple[Any, ...]) -> March:
        s, model, none, within = self.simulation, self.simulation.model, np.zeros(0, np.int64), Program()
        stands = isinstance(found[0], Repose)
        descent = model.still.descent if stands else found[2]
        laws, exact, coordinates, state = model.potential.laws, model.potential.exact, s.joints.coordinates, s.state
        reads, no_rows, room = [], np.zeros((0, 3)), np.zeros((8, *state.Q.shape))  # of the state: see _aim
        programs = model.still.program if stands else model.quiet.programs
        needed: list[Any] = [programs, *found, model.islands, coordinates]
        self.looked_up = []
        for reader in (self._length, *self._refresh.readers, s.joints.refreshing.reader):
            reader.read()
            places = reader.places
            self.looked_up += [places.address, places.kind, places.start, reader.values]
            reads.append(within.add(gather_numbers, *self.looked_up[-4:]))
        step, rates = self._bind(within, found, room), model.still.rates if stands else room[1]
        commit = within.add(commit_coordinates, coordinates, room[0], rates) if coordinates.count else -1
        if commit >= 0:
            for k in range(1 if stands else 2):
                self._arrays[k].append(within.argument(commit, 1 + k))
        p, past = (np.zeros(0), np.zeros((2, 0))) if laws is None else (laws.p, laws.past)
        rates = none if laws is None else np.flatnonzero(laws.start >= 0)
        forces = {}
        for name in ("points", "slides", "combined"):
            rows = None if exact is None else getattr(exact, name)
            forces[f"{name}_force"] = no_rows if rows is None else rows.force
            forces[f"{name}_multiplier"] = no_rows if rows is None else rows.multiplier
        books = dict.fromkeys((*_BOOKS, *(f"kept_{name}" for name in _BOOKS)), np.zeros(0))
        made = March(
            h=h, words=within.words(), take=step, commit=commit, reads=np.array(reads, np.int64), descent=descent,
            start=model.start, is_open=0.0, **dict(zip(_STATE, room, strict=True)), p=p, past=past, before=p.copy(),
            kept_past=past[1].copy(), now=none if laws is None else laws.start[rates],
            rates=none if laws is None else laws.of[rates],
            steps=none if laws is None else laws.step[laws.step >= 0], approaches=s.joints.refreshing.approaches,
            value=coordinates.value, **forces, **books, time=s.clock, counters=s.counters,
            ages=model.directions.ages, seen=np.zeros(2, np.int64), **self._standing(stands), pushes=s.pushes,
            every=EVERY, strain=_NEARLY, told=self._told,
        )  # fmt: skip
        self._aim(made)
        self._within, self.program = within, Program()
        self._lines = lines_of([made, *needed, *self.looked_up])
        self.program.add(march, made, 0)
        self.program.add(fetch, self._lines)
        return made

    def _standing(self, stands: bool) -> dict[str, Indices]:
        """What marches look at of the contacts of a machine that stands."""
        contact, none = self.simulation.contact, np.zeros(0, np.int64)
        if not stands or contact is None:
            return {"uses": none, "counts": none, "settled": none}
        counts = self.simulation.model.still.counts
        return {"uses": contact.uses, "counts": counts, "settled": np.full_like(counts, -1)}

    def _aim(self, m: March) -> None:
        """Have the march begin in the present state."""
        s, exact, contact = self.simulation, self.simulation.model.potential.exact, self.simulation.contact
        state, words = s.state, m.words
        arrays = state.Q, state.V, state.A, state.Q_before, state.V_before, *state.spare
        for name, array, places in zip(_STATE, arrays, self._arrays, strict=True):
            setattr(m, name, array)
            for place in places:
                words[place + ADDRESS] = array.__array_interface__["data"][0]
        if self.stands:
            self._kept = self._remembered  # which words alone would not keep alive
            for place, array in zip(self._places, self._kept, strict=True):
                words[place + ADDRESS] = array.__array_interface__["data"][0]
                words[place + _LENGTH] = len(array)
            s.model.still.aim(state, s.friction_dissipated)
            m.settled.fill(-1)
            m.seen[1] = m.uses[0]
        if contact is not None:
            for name in _BOOKS:
                now = getattr(contact.watch, name)
                setattr(m, name, now)
                if len(getattr(m, f"kept_{name}")) != len(now):
                    setattr(m, f"kept_{name}", now.copy())
        m.is_open = exact is not None and not exact.stay_closed
        m.before[:], m.seen[0] = m.p, s.version

    @property
    def report(self) -> StepReport:
        """What happened in the last step that was taken without Python."""
        told, s = self._told, self.simulation
        return StepReport(
            s.state.dt_before, int(told[ITERATIONS]), 0, 0, float(told[LAST_STEP]), float(told[LAST_RATE]), True,
            islands=s.model.islands.count, **({} if not self.stands else self._in_touch),
        )  # fmt: skip

    @property
    def _in_touch(self) -> dict[str, Any]:
        """What is reported of contacts."""
        contact, model = self.simulation.contact, self.simulation.model
        assert contact is not None
        found = {"contacts": contact.count_at_start, "candidates": contact.candidates.count}
        return {**found, "friction_loss": model.still.lost}

    def goes_on(self, reason: int) -> bool:
        """After a march that has ended early, or has more to tell: whether another one may follow."""
        if reason == TOUCHED:
            return True
        if reason == STRAINED:
            self._strain.look(self.simulation.last[0], self.simulation.state.Q)
            return True
        if reason == CHANGED and self._take_over():
            return True
        self.leave()
        return False

    def _take_over(self) -> bool:
        """Attributes have changed: take them over, if steps may go on as before."""
        s, m = self.simulation, self.march
        if m is None or s.dt != m.h:
            return False
        with contextlib.suppress(DovetailError):  # which the step from Python raises again
            if (m.words[m.reads[1:-1] + RESULT] != 0).any():
                self._refresh.forget()
                self._refresh.run()
            s.joints.refreshing.take_over()
            return s.model.potential.soft_transforms.count == 0 and not (self.stands and s.model.loads.act)
        return False

    def settle(self) -> None:
        """Take over what a march has left in the contacts of a machine that stands."""
        m = self.march
        assert m is not None
        self.simulation.model.still.settle(self.simulation.state)
        m.settled[:], m.seen[1] = m.counts, m.uses[0]

    def leave(self) -> None:
        """Leave further steps to Python, which reads all parameters anew."""
        s, m = self.simulation, self.march
        s.forget()
        if self.stands:
            s.model.still.give_up(True)
        if m is not None and s.version == m.seen[0]:
            m.p[:] = m.before
        self.march = None
