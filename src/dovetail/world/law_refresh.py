"""Attributes of all joints that share a law, or a load: read, checked, and copied into its parameters."""

from __future__ import annotations

import numpy as np

from dovetail.constitution.laws import BEGUN, TARGET, Hold, Limit, Servo
from dovetail.constitution.place import Place
from dovetail.constitution.terms import Parameter
from dovetail.errors import ConstitutionError
from dovetail.solver.joint.stops import Stops
from dovetail.solver.law.stop import MARGIN
from dovetail.typing import Array, Flags, Indices
from dovetail.world.attribute_reader import AttributeReader
from dovetail.world.hard_limits import keep_inside
from dovetail.world.lower.lowered import JointGeometry, LawOnJoints, LoadOnJoints, LoweredJoints

__all__ = ["Entries", "LawRefresh", "LoadRefresh"]


class _Column:
    """A parameter of a law over all of its joints: where its numbers are read, and how they are weighed."""

    def __init__(self, number: int, parameter: Parameter, uses: list[LawOnJoints], reader: AttributeReader) -> None:
        self.number, self.parameter = number, parameter
        self.at = np.concatenate([reader.ask(use.entry.elements, parameter.attribute) for use in uses])
        self.mass = np.concatenate([use.entry.mass for use in uses]) if parameter.times_mass else None

    def values(self, read: Array, entries: Entries) -> Array:
        """What they are now."""
        parameter, values = self.parameter, read[self.at]
        bounded = np.where(values == np.inf, 0.0, values) if parameter.unbounded else values
        entries.check_finite(parameter.attribute, bounded)
        if parameter.sign != "any":
            bad = values < 0.0 if parameter.sign == "≥ 0" else values <= 0.0
            if bad.any():
                text = f"has {parameter.attribute} = {{:g}}; give a number {parameter.sign}."
                entries.refuse(int(np.argmax(bad)), text, values)
        weighed: Array = values if self.mass is None else values * self.mass
        return weighed


class Entries:
    """Which geometry, and which of its joints, each row of a batch is."""

    def __init__(self, entries: list[JointGeometry]) -> None:
        self._entries, self._first = entries, np.cumsum([0, *(entry.count for entry in entries)])

    def check_finite(self, name: str, values: Array) -> None:
        """Refuse numbers that are not finite."""
        if not np.isfinite(values).all():
            self.refuse(int(np.argmin(np.isfinite(values))), f"has {name} = {{:g}}; give a finite number.", values)

    def find(self, row: int) -> tuple[int, int]:
        """Which entry a row is of, and which of its joints it is."""
        at = int(np.searchsorted(self._first, row, "right")) - 1
        return at, row - int(self._first[at])

    def refuse(self, row: int, text: str, values: Array) -> None:
        at, joint = self.find(row)
        entry = self._entries[at]
        raise ConstitutionError(
            f"{entry.kind.__name__} '{entry.slot.object_name}': joint {joint} " + text.format(values[row])
        )


class LawRefresh:
    """All joints of one batch of laws."""

    def __init__(self, uses: list[LawOnJoints], lowered: LoweredJoints, stops: Stops | None, reader: AttributeReader):
        self._uses, self.laws, self._word = uses, uses[0].laws, uses[0].word
        self._lowered, self._stops = lowered, stops
        self._entries = Entries([use.entry for use in uses])
        word = self._word
        self._columns = [
            _Column(number, parameter, uses, reader)
            for number, parameter in enumerate(word.parameters)
            if parameter.attribute and parameter.attribute != "strength_ratio"
        ]
        self._acceleration = np.concatenate([self._ask_acceleration(reader, use) for use in uses])
        self.given: tuple[Array, Array] | None = None  # of servos: target and acceleration, to be filled
        self._wanted = np.zeros(0)  # target as it was written
        self._within = np.zeros((2, 0))  # limits of servos, infinite where a target may be beyond them
        self._switch = self._ask(reader, word.switch)
        self._hold = self._ask(reader, word.hold)
        self._base = np.concatenate([np.arange(use.base_rows.start, use.base_rows.stop) for use in uses])
        offsets = [(use.entry.elements, use.base_word.offset) for use in uses]
        self._offset: Indices | None = None
        if any(column.parameter.reported for column in self._columns) and all(name for _, name in offsets):
            self._offset = np.concatenate([reader.ask(elements, name) for elements, name in offsets])
        exactly = [use for use in uses if isinstance(word, Hold) and lowered.held is not None]
        none = np.zeros(0, np.int64)
        exact = [use.rows.start + np.flatnonzero(use.entry.exact) for use in exactly]
        self._exact = np.concatenate([none, *exact])
        common = [self._acceleration[self._acceleration >= 0], self._switch, self._hold, self._offset]
        self._common = np.concatenate([none, *(at for at in common if at is not None)])
        self.asked: Indices = np.concatenate([self._common, *(column.at for column in self._columns)])
        self._exact_rows = np.concatenate([none, *(np.arange(u.held_rows.start, u.held_rows.stop) for u in exactly)])

    def _ask(self, reader: AttributeReader, name: str | None) -> Indices | None:
        if name is None:
            return None
        return np.concatenate([reader.ask(use.entry.elements, name) for use in self._uses])

    @staticmethod
    def _ask_acceleration(reader: AttributeReader, use: LawOnJoints) -> Indices:
        """Where that of a servo is read; −1 where it has none."""
        if isinstance(use.word, Servo) and use.word.acceleration in use.entry.elements:
            return reader.ask(use.entry.elements, use.word.acceleration)
        return np.full(use.entry.count, -1)

    def run(self, read: Array, changed: Flags | None = None) -> bool:
        """Take over what was read; `changed` says which of what it has `asked` for has, if that is known.

        Whether that may bound the targets of servos elsewhere.
        """
        laws, columns = self.laws, self._columns
        if changed is not None:
            common, count = len(self._common), laws.count
            changed = None if np.count_nonzero(changed[:common]) else changed[common:]
        if changed is not None:
            columns = [column for k, column in enumerate(columns) if np.count_nonzero(changed[k * count :][:count])]
        on: Flags | None = None if self._switch is None else read[self._switch] != 0.0
        held = self._keep_held(read, on)
        for column in columns:
            values = column.values(read, self._entries)
            if column.parameter.reported:
                values = values - (0.0 if self._offset is None else read[self._offset])
                if held is not None:
                    values = np.where(np.isnan(held), values, held)
            if column.number == 0 and on is not None:
                values = np.where(on, values, 0.0)
            laws.p[:, column.number] = values
            if self.given is not None and column.number == TARGET:
                self._wanted = values
        if self._lowered.held is not None and self._exact.size:
            _, target, scale = laws.p[self._exact].T
            self._lowered.held.target[self._exact_rows] = scale * target
        if self.is_limit:
            self._check_limits()
        if self.given is not None and changed is None:
            self.given[1][:] = self._accelerations(read)
        return self.is_limit or (self.given is not None and changed is None)

    @property
    def may_approach(self) -> bool:
        """Whether these are servos that may have an acceleration."""
        return bool((self._acceleration >= 0).any())

    def begin(self, read: Array) -> None:
        """Before the first step, all of it rests: what users count from an offset, the solver counts without.

        Targets of servos that have an acceleration, and of what holds a coordinate, are where the joints are.
        """
        laws, word = self.laws, self._word
        for column in self._columns:
            if column.parameter.reported and self._offset is not None:
                laws.p[:, column.number] -= read[self._offset]
                laws.past[:, :, column.number] -= read[self._offset]
            if column.parameter.reported and self._hold is not None:
                held, here = read[self._hold] != 0.0, self._lowered.coordinates.value[self._base]
                laws.p[held, column.number] = laws.past[:, held, column.number] = here[held]
        if isinstance(word, Servo):
            there, values = np.isfinite(self._accelerations(read)), self._lowered.coordinates.value[laws.of]
            laws.p[there, TARGET] = laws.past[:, there, TARGET] = values[there]
            laws.p[:, BEGUN] = laws.past[:, :, BEGUN] = values

    def shift(self, read: Array, by: Array) -> None:
        """Coordinates were put elsewhere, by so much: the targets of past steps go along."""
        here, laws = np.isfinite(self._accelerations(read)), self.laws
        laws.p[here, TARGET] += by[laws.of[here]]
        laws.past[:, here, TARGET] += by[laws.of[here]]
        laws.p[:, BEGUN] += by[laws.of]
        laws.past[:, :, BEGUN] += by[laws.of]

    def _accelerations(self, read: Array) -> Array:
        found: Array = np.where(self._acceleration < 0, np.inf, read[self._acceleration])
        return found

    def know_bounds(self, lower: Array, upper: Array) -> None:
        """Targets of servos that have an acceleration end at the limits, by coordinate: firm ones would break them."""
        assert self.given is not None
        approaches = np.isfinite(self.given[1])
        low, high = lower[self.laws.of], upper[self.laws.of]
        self._within = np.array([np.where(approaches, low, -np.inf), np.where(approaches, high, np.inf)])

    def stay_within(self) -> None:
        """Take the targets over, as far as limits allow."""
        assert self.given is not None
        np.minimum(np.maximum(self._wanted, self._within[0]), self._within[1], out=self.given[0])

    @property
    def is_limit(self) -> bool:
        return isinstance(self._word, Limit)

    def add_bounds(self, lower: Array, upper: Array) -> None:
        """Limits, by coordinate; of hard ones where their barriers begin."""
        if self.is_limit:
            low, high, strength = self.laws.p[:, :3].T
            short = MARGIN * np.minimum(1.0, high - low) * np.isinf(strength)
            low, high = low + short, high - short
            np.maximum.at(lower, self.laws.of, np.where(strength > 0.0, low, -np.inf))
            np.minimum.at(upper, self.laws.of, np.where(strength > 0.0, high, np.inf))

    @property
    def on_the_way(self) -> list[str]:
        """Names of joints whose servos are on the way to their targets; round-off of a turn is none."""
        assert self.given is not None
        moved = np.abs(self.laws.p[:, TARGET] - self.given[0]) > 1e-12
        return [use.entry.slot.object_name for use in self._uses if moved[use.rows].any()]

    def _keep_held(self, read: Array, on: Flags | None) -> Array | None:
        """Values at which coordinates are held (m,), NaN where they are not; new ones are held where they are."""
        if self._hold is None:
            return None
        wanted = read[self._hold] != 0.0
        if on is not None:
            wanted &= on
        now = self._lowered.coordinates.value[self._base]
        held = self._uses[0].held
        held[:] = np.where(wanted, np.where(np.isnan(held), now, held), np.nan)
        return held

    def _check_limits(self) -> None:
        laws = self.laws
        lower, upper = laws.p[:, 0], laws.p[:, 1]
        if (lower > upper).any():
            bad = int(np.argmax(lower > upper))
            text = f"has lower = {{:g}} > upper = {upper[bad]:g} (less the offset); swap them."
            self._entries.refuse(bad, text, lower)
        if laws.is_stop and self._stops is not None:
            keep_inside(laws, self._stops.slack[laws], self._lowered.coordinates, self._refuse_outside)
        elif not laws.is_stop:
            self._refuse_late()

    def _refuse_outside(self, row: int, text: str, low: float, high: float, x: float) -> None:
        """Refuse a joint for its hard limits; numbers of the text are put into the frame that users see."""
        at, joint = self._entries.find(row)
        use = self._uses[at]
        offset = float(use.entry.elements.slot(use.base_word.offset).values[joint]) if use.base_word.offset else 0.0
        place = Place(use.entry.kind.__name__, "joint", use.entry.count, use.entry.slot.object_name)
        numbers = {"low": low + offset, "high": high + offset, "x": x + offset}
        raise place.error(text.format(**numbers, name=use.base_word.attribute, unit=use.coordinate.unit), joint)

    def _refuse_late(self) -> None:
        """A barrier that was not there at init cannot be had later."""
        for row in np.flatnonzero(np.isinf(self.laws.p[:, 2])).tolist():
            at, joint = self._entries.find(row)
            entry = self._uses[at].entry
            if not any(use.laws.is_stop and use.entry is entry for use in self._lowered.law_uses):
                raise ConstitutionError(
                    f"{entry.kind.__name__} '{entry.slot.object_name}': joint {joint} has "
                    "limit/strength = inf, which none of them had at World.init; set one to inf before."
                )


class LoadRefresh:
    """All forces, or all torques, along the axes of joints."""

    def __init__(self, uses: list[LoadOnJoints], reader: AttributeReader) -> None:
        self._values, self._name = uses[0].values, uses[0].name
        self._force = np.concatenate([reader.ask(use.entry.elements, use.name) for use in uses])
        self._switch = np.concatenate([reader.ask(use.entry.elements, use.word.is_constrained) for use in uses])
        self.asked: Indices = np.concatenate([self._force, self._switch])
        self._entries = Entries([use.entry for use in uses])

    def run(self, read: Array, changed: Flags | None = None) -> bool:
        """Take over what was read; no servo is bounded by it."""
        values = np.where(read[self._switch] != 0.0, read[self._force], 0.0)
        self._entries.check_finite(self._name, values)
        self._values[:] = values
        return False
