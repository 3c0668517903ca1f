"""Before a step: attributes that steer joints, as they are now, copied into the solver's parameters.

All joints that share a law are refreshed together, however many geometries they are in, and only if an attribute of
theirs has changed: what nobody wrote costs nothing.
"""

from __future__ import annotations

import numpy as np

from dovetail.constitution.laws import BEGUN, SIDE, STIFFNESS, TARGET
from dovetail.solver.joint.approach import Approaches, approach
from dovetail.solver.joint.laws import Laws
from dovetail.solver.joint.stops import Stops
from dovetail.typing import Array, Indices
from dovetail.world.attribute_reader import AttributeReader
from dovetail.world.law_refresh import Entries, LawRefresh, LoadRefresh
from dovetail.world.lower.lowered import LawOnJoints, LoadOnJoints, LoweredJoints

__all__ = ["JointRefresh"]


class JointRefresh:
    """Everything about joints that is read before a step."""

    def __init__(self, lowered: LoweredJoints, stops: Stops | None) -> None:
        self._lowered, self.reader = lowered, AttributeReader()
        reader, laws = self.reader, lowered.laws
        batches: dict[int, list[LawOnJoints]] = {}
        for use in lowered.law_uses:
            batches.setdefault(id(use.laws), []).append(use)
        self._laws = [LawRefresh(uses, lowered, stops, reader) for uses in batches.values()]
        self._servos = [law for law in self._laws if law.may_approach]
        self.approaches = self._approaching(laws)
        loads: dict[int, list[LoadOnJoints]] = {}
        for load in lowered.load_uses:
            loads.setdefault(id(load.values), []).append(load)
        self._loads = [LoadRefresh(uses, reader) for uses in loads.values()]
        parts: list[LawRefresh | LoadRefresh] = [*self._laws, *self._loads]
        ends = np.cumsum([0, *(len(part.asked) for part in parts)]).tolist()
        self._parts = [(part, slice(*ends[k : k + 2])) for k, part in enumerate(parts)]
        self._asked = np.concatenate([np.zeros(0, np.int64), *(part.asked for part in parts)])
        self._terms = [
            (
                use,
                column,
                reader.ask(use.entry.elements, parameter.attribute) if parameter.attribute else None,
                parameter,
            )
            for use in lowered.term_uses
            for column, parameter in enumerate(use.word.parameters)
            if parameter.attribute != "strength_ratio"
        ]
        self._rates = np.zeros(0, np.int64) if laws is None else np.flatnonzero(laws.start >= 0)
        self._steps = np.zeros(0, np.int64) if laws is None else laws.step[laws.step >= 0]
        self._stale, self._h = True, -1.0
        self._taken = np.zeros(0)

    def _approaching(self, laws: Laws | None) -> Approaches:
        """All servos that may have an acceleration; each of their batches fills its part."""
        none: Indices = np.zeros(0, np.int64)
        of, at = [none], [np.zeros((0, 4), np.int64)]
        for law in self._servos:
            assert laws is not None
            of.append(law.laws.of)
            at.append(laws.at[law.laws.rows][:, None] + np.array([TARGET, SIDE, BEGUN, STIFFNESS]))
        found, begin = Approaches(np.concatenate(of), np.concatenate(at)), 0
        for law in self._servos:
            end = begin + law.laws.count
            law.given, begin = (found.target[begin:end], found.acceleration[begin:end]), end
        return found

    def forget(self) -> None:
        """Coordinates or parameters were changed from outside: look at everything again."""
        self._stale, self._h = True, -1.0

    def begin(self) -> None:
        """Before the first step: joints beyond hard limits are refused at once, and drives begin where they are."""
        self.reader.read()
        for law in self._laws:
            law.begin(self.reader.values)
            if law.laws.is_stop:
                law.run(self.reader.values)

    def shift(self, by: Array) -> None:
        """Coordinates were put elsewhere from outside, by so much each: the way of drives goes on from there."""
        for servo in self._servos:
            servo.shift(self.reader.values, by)

    @property
    def on_the_way(self) -> list[str]:
        """Names of joints whose drives are on the way to a target that has jumped."""
        return [name for law in self._servos for name in law.on_the_way]

    def run(self, h: float) -> None:
        """Read targets, strengths, bounds, forces and switches as they are now, for a step of length h."""
        laws = self._lowered.laws
        if laws is not None:
            laws.past[1] = laws.past[0]
            laws.past[0] = laws.p
        if self.reader.read() or self._stale:
            self.take_over()
        if laws is not None and self._servos:
            approach(self.approaches, laws.coordinates.value, laws.past, h, laws.p)
        if laws is not None and len(self._rates):
            laws.p[laws.start[self._rates]] = laws.coordinates.value[laws.of[self._rates]]
        if laws is not None and len(self._steps):
            laws.p[self._steps] = h
        for use, column, _, parameter in self._terms if h != self._h else ():
            if parameter.step:
                use.terms.p[use.rows, column] = h
        self._h = h

    def take_over(self) -> None:
        """Take over what was read, of laws and loads of which something has changed."""
        read, changed = self.reader.values, None if self._stale else self.reader.values != self._taken
        self._stale = True  # until all is taken: what is refused once is refused again
        changed = None if changed is None else changed[self._asked]
        bounded = False
        for part, places in self._parts:
            of_part = None if changed is None else changed[places]
            if of_part is None or np.count_nonzero(of_part):
                bounded |= part.run(read, of_part)
        if self._servos and bounded:
            self._find_bounds()
        for servo in self._servos:
            servo.stay_within()
        for use, column, at, parameter in self._terms:
            if at is not None:
                values = read[at]
                Entries([use.entry]).check_finite(parameter.attribute, values)
                use.terms.p[use.rows, column] = values * use.entry.mass if parameter.times_mass else values
            elif parameter.value is not None:
                use.terms.p[use.rows, column] = parameter.value
        self._taken = read.copy()
        self._stale = False

    def _find_bounds(self) -> None:
        """Tell servos of the limits of their coordinates."""
        count = len(self._lowered.coordinates.value)
        lower, upper = np.full(count, -np.inf), np.full(count, np.inf)
        for law in self._laws:
            law.add_bounds(lower, upper)
        for servo in self._servos:
            servo.know_bounds(lower, upper)
