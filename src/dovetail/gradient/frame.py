"""What is kept of a step, so that it can be differentiated: how it was taken, and the parameters it was given.

States are kept by the tape. Arrays that have not changed since the step before are shared with it.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.solver.blow import Blow
from dovetail.solver.contact.ease import Easing
from dovetail.solver.integrator import Methods
from dovetail.solver.model import Model
from dovetail.typing import Array, Flags, Indices

if TYPE_CHECKING:
    from dovetail.world.lower.lowered import JointGeometry
    from dovetail.world.simulation import Simulation

__all__ = ["Frame", "Parameters", "Past"]


@dataclass(slots=True)
class Past:
    """What a step of ctr takes from those before it besides Q and V, see solver/held.py and `State`.

    A (n, 4, 3), pushed (n, 19), rubbing (n, 16), lagging, changed (n,)     as of the state
    turn, axis (n, 3)                                              how bodies rolled in the last step
    keys (p, 4), force (p, 4)                                      what contacts remember
    scale (m,), dt                                                 of laws in the last step, and its length, or 0
    """

    A: Array
    pushed: Array
    rubbing: Array
    lagging: Flags
    changed: Flags
    turn: Array
    axis: Array
    keys: Indices
    force: Array
    scale: Array
    dt: float

    @classmethod
    def of(cls, simulation: Simulation) -> Past:
        """That of the next step."""
        state, contact, laws = simulation.state, simulation.contact, simulation.model.potential.laws
        stick = None if contact is None else contact.stick
        turning = np.zeros((2, len(state.Q), 3))
        if contact is not None:
            turning = np.stack([contact.turning.turn, contact.turning.axis])
        return cls(
            state.A.copy(), state.pushed.copy(), state.rubbing.copy(), state.lagging.copy(), state.changed.copy(),
            turning[0], turning[1],
            np.zeros((0, 4), np.int64) if stick is None else stick.keys.copy(),
            np.zeros((0, 4)) if stick is None else stick.force.copy(),
            np.zeros(0) if laws is None else laws.scale.copy(), state.dt_before,
        )  # fmt: skip


@dataclass(slots=True)
class Frame:
    """One step.

    h, ratio     its length [s], and over that of the step before
    methods      integrators of the bodies
    given        parameters, in the order of `Parameters`; None for multipliers that are found anew
    branches     values of coordinates of joints (c,) near those at its start and at its end: angles are on that branch
    switches     of uses of laws and loads: which joints (k,) have them switched on, and are held where they were
    contacts     how many it began with
    touched      who (n,) touches something at its end, None where that does not matter
    past         what it takes from the steps before, None where it does not
    easing       contacts that are eased in, None where there are none
    blow         at its end, None if there was none
    """

    h: float
    ratio: float
    methods: Methods
    given: list[Any]
    branches: tuple[Array, Array]
    switches: list[Flags]
    contacts: int
    touched: Flags | None = None
    past: Past | None = None
    easing: Easing | None = None
    blow: Blow | None = None


class Parameters:
    """The parameters of a model that may change from step to step: read after a step, and put back for its adjoint.

    Those with fixed places (laws, loads, rows on coordinates, energies of users) are copied in place. Forces on bodies
    and soft transforms are made anew where they change, and kept as they are. What a law takes for xₙ is not kept: it
    is found again from Qₙ.
    """

    def __init__(self, simulation: Simulation) -> None:
        model: Model = simulation.model
        potential = model.potential
        lowered = simulation.joints.lowered
        self._lowered, self.coordinates = lowered, lowered.coordinates
        arrays: list[Array] = [load.values for load in lowered.loads]
        # by place: where else the same numbers may be kept in the step before, and places of xₙ among them
        self._same: dict[int, list[int]] = {}
        self._starts: dict[int, Indices] = {}
        self._laws, p = potential.laws, len(arrays)
        if (laws := potential.laws) is not None:
            arrays += [laws.p, laws.scale, *laws.past]
            self._rates = np.flatnonzero(laws.start >= 0)
            self._same = {p + 2: [p], p + 3: [p + 2]}
            memory = laws.exerted[laws.capped]
            found_again = np.concatenate([laws.start[self._rates], memory, memory + 3])
            self._starts = dict.fromkeys((p, p + 2, p + 3), found_again)
        arrays += [terms.p for terms in lowered.terms]
        if potential.exact is not None:
            exact = potential.exact
            self._held = len(arrays)
            arrays += [rows.multiplier for rows in (exact.points, exact.slides, exact.combined)]
            arrays += [exact.combined.weight, exact.combined.target]
        couplings = lowered.couplings
        if couplings is not None and couplings.soft is not None:
            arrays += [couplings.soft.entries.M, couplings.soft.target, couplings.soft.previous]
        self.arrays, self._exact = arrays, potential.exact
        self._put: list[Any] = []
        self._owners: list[tuple[Any, Sequence[str]]] = [
            (simulation.forces, ("body", "F")),
            (simulation.pushes, ("body", "F")),
            (potential.soft_transforms, ("bodies", "weights", "_stiff", "aim", "_target")),
        ]

    def switches(self, last: list[Flags] | None) -> list[Flags]:
        """For every use of a law or load (k,): whether its parameters count; those of the last step if they are."""
        found: list[Flags] = []
        for use in self._lowered.law_uses:
            held = np.isnan(use.held[use.rows])
            found.append(held if use.word.switch is None else held & _is_on(use.entry, use.word.switch))
        found += [_is_on(use.entry, use.word.is_constrained) for use in self._lowered.load_uses]
        return last if last is not None and all(map(np.array_equal, last, found)) else found

    def finds_multipliers(self, methods: Methods) -> bool:
        """Whether multipliers are not kept: with V there is no room, and where C is linear H has nothing of them."""
        return methods.is_consistent and self._exact is not None and self._exact.is_linear

    def now(self) -> tuple[list[Any], list[Array]]:
        """Copies of all, and of coordinates, for `restore`."""
        given: list[Any] = [array.copy() for array in self.arrays]
        given += [[getattr(owner, name) for name in names] for owner, names in self._owners]
        c = self.coordinates
        return given, [each.copy() for each in (c.value, c.rate, c.reference)]

    def restore(self, now: tuple[list[Any], list[Array]]) -> None:
        """Have everything as it was then."""
        given, values = now
        self.put(given)
        c = self.coordinates
        c.value[:], c.rate[:], c.reference[:] = values

    def find_starts(self, branch: Array, Q: Array, V: Array) -> None:
        """Have laws begin with xₙ at Q, as before a step from there, which `put` has none of."""
        c, laws = self.coordinates, self._laws
        if laws is not None and len(self._rates):
            c.reference[:] = branch
            c.commit(Q, V)
            laws.p[laws.start[self._rates]] = c.value[laws.of[self._rates]]

    def take(self, last: list[Any] | None, methods: Methods) -> list[Any]:
        """What a step was given, as the last one has it where that is the same; None for what is not kept."""
        found: list[Any] = []
        left = self._held if self.finds_multipliers(methods) else -1
        for k, array in enumerate(self.arrays):
            if k == left:
                found.append(None)
                continue
            known = [] if last is None else [last[place] for place in (k, *self._same.get(k, ()))]
            found.append(_shared(known, array, self._starts.get(k)))
        for owner, names in self._owners:
            now = [getattr(owner, name) for name in names]
            before = None if last is None else last[len(found)]
            found.append(before if before is not None and all(map(operator.is_, before, now)) else now)
        return found

    def put(self, given: list[Any], is_known: bool = False) -> None:
        """Have the parameters of a step again; `is_known`: nobody has changed them since this was called last.

        Multipliers that were not kept are zero.
        """
        last, count = self._put if is_known else [None] * len(given), len(self.arrays)
        for array, value, known in zip(self.arrays, given, last, strict=False):
            if value is None:
                array.fill(0.0)
            elif value is not known:
                array[...] = value
        self._put = given
        for (owner, names), values, known in zip(self._owners, given[count:], last[count:], strict=True):
            if values is not known:
                for name, value in zip(names, values, strict=True):
                    if getattr(owner, name) is not value:  # reading takes a tenth of the time
                        setattr(owner, name, value)


def _shared(known: Sequence[Array | None], now: Array, left_out: Indices | None = None) -> Array:
    """A copy of what is now, zero at the places that are left out, or one that is known to be the same."""
    if left_out is not None and len(left_out):
        now = now.copy()
        now[left_out] = 0.0
    for each in known:
        if each is not None and np.array_equal(each, now, equal_nan=True):
            return each
    return now.copy()


def _is_on(entry: JointGeometry, name: str) -> Flags:
    """Whether the joints (k,) of a geometry have a switch on."""
    return np.asarray(entry.elements.slot(name).values != 0)
