"""What is kept of a step, so that it can be differentiated: how it was taken, and the parameters it was given.

States are kept by the tape. Arrays that have not changed since the step before are shared with it.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

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

    A (n, 4, 3), pushed (n, 19), rubbing (n, 16), lagging (n,)     as of the state
    turn, axis (n, 3)                                              how bodies rolled in the last step
    keys (p, 4), force (p, 4)                                      what contacts remember
    scale (m,), dt                                                 of laws in the last step, and its length, or 0
    """

    A: Array
    pushed: Array
    rubbing: Array
    lagging: Flags
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
            state.A.copy(), state.pushed.copy(), state.rubbing.copy(), state.lagging.copy(), turning[0], turning[1],
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
    values       coordinates of joints (c,) at its start and at its end, on the branch that they are on
    switches     of uses of laws and loads: which joints (k,) have them switched on, and are held where they were
    contacts     how many it began with
    touched      who (n,) touches something at its end, None where that does not matter
    past         what it takes from the steps before, None where it does not
    easing       contacts that are eased in, None where there are none
    """

    h: float
    ratio: float
    methods: Methods
    given: list[Any]
    values: tuple[Array, Array]
    switches: list[Flags]
    contacts: int
    touched: Flags | None = None
    past: Past | None = None
    easing: Easing | None = None


class Parameters:
    """The parameters of a model that may change from step to step: read after a step, and put back for its adjoint.

    Those with fixed places (laws, loads, rows on coordinates, energies of users) are copied in place. Forces on bodies
    and soft transforms are made anew where they change, and kept as they are.
    """

    def __init__(self, simulation: Simulation) -> None:
        model: Model = simulation.model
        potential = model.potential
        lowered = simulation.joints.lowered
        self._lowered, self.coordinates = lowered, lowered.coordinates
        arrays: list[Array] = [load.values for load in lowered.loads]
        if (laws := potential.laws) is not None:
            arrays += [laws.p, laws.scale, laws.past]
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

    def take(self, last: list[Any] | None, methods: Methods | None = None) -> list[Any]:
        """Copies of all, or what the last step has where that is the same; None for multipliers that are not kept."""
        found: list[Any] = []
        left = self._held if methods is not None and self.finds_multipliers(methods) else -1
        for k, array in enumerate(self.arrays):
            found.append(None if k == left else _shared(None if last is None else last[k], array))
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
                    setattr(owner, name, value)


def _shared(last: Array | None, now: Array) -> Array:
    """A copy of what is now, or the last one if that is the same."""
    return last if last is not None and np.array_equal(last, now, equal_nan=True) else now.copy()


def _is_on(entry: JointGeometry, name: str) -> Flags:
    """Whether the joints (k,) of a geometry have a switch on."""
    return np.asarray(entry.elements.slot(name).values != 0)
