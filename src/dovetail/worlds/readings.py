"""Coordinates of many worlds, their rates, and efforts on them, read in one go where they lie in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.kernel.peek import KINDS, gather_numbers
from dovetail.kernel.program import Program, run
from dovetail.sim.mechanism import Mechanism
from dovetail.typing import Array, Indices
from dovetail.world.attribute_reader import AttributeReader
from dovetail.world.gauge import Gauge

__all__ = ["Readings"]


def _joined(parts: Sequence[Indices]) -> Indices:
    return np.concatenate([np.zeros(0, np.int64), *parts])


class _Numbers:
    """Numbers at addresses (m,), read by one kernel."""

    def __init__(self, addresses: Sequence[int] | Indices, kind: str = "float64") -> None:
        self._address = np.array(addresses, np.int64)
        self._kind, self._start = np.full(len(self._address), KINDS[kind]), np.arange(len(self._address) + 1)
        self._found = np.zeros(len(self._address))

    def read(self) -> Array:
        """(m,)"""
        gather_numbers(self._address, self._kind, self._start, self._found)
        return self._found


class Readings:
    """What mechanisms of equal size tell, as arrays (n, k)."""

    def __init__(self, mechanisms: Sequence[Mechanism]) -> None:
        self._mechanisms, self._shape = mechanisms, (len(mechanisms), len(mechanisms[0]))
        self._efforts: _Efforts | None = None
        self._locate()

    def _locate(self) -> None:
        self._gauges = gauges = [mechanism.gauge for mechanism in self._mechanisms]
        self._values = _Numbers(np.concatenate([gauge.values for gauge in gauges]))
        self._rates = _Numbers(np.concatenate([gauge.rates for gauge in gauges]))
        self._known = _Numbers([gauge.rates_known for gauge in gauges])
        self._opened = _Numbers([gauge.opened for gauge in gauges], "int64")
        self._offsets = AttributeReader()
        every = [c for mechanism in self._mechanisms for c in mechanism.coordinates]
        self._at = _joined([self._offsets.ask(c.joint.attributes, c.word.offset)[:1] for c in every])
        self._efforts = None

    def _look(self) -> None:
        """Find worlds again that were made anew."""
        if self._opened.read().any():
            self._locate()

    @property
    def q(self) -> Array:
        self._look()
        self._offsets.read()
        return (self._values.read() + self._offsets.values[self._at]).reshape(self._shape)

    @property
    def v(self) -> Array:
        self._look()
        for k in np.flatnonzero(self._known.read() == 0.0).tolist():
            self._gauges[k].simulation.live.rates()
        return self._rates.read().copy().reshape(self._shape)

    @property
    def effort(self) -> Array:
        self._look()
        if self._efforts is None:
            self._efforts = _Efforts(self._mechanisms, self._gauges)
        return self._efforts.read().reshape(self._shape)


class _Efforts:
    """What drives exert, and loads on coordinates, in the last step, summed over laws (joint_results.py)."""

    def __init__(self, mechanisms: Sequence[Mechanism], gauges: Sequence[Gauge]) -> None:
        program, self._gauges, self._size = Program(), gauges, len(mechanisms[0])
        self._loads = AttributeReader()
        places, efforts, of, rounds = [], list[int](), list[int](), list[int]()
        self._loaded: list[int] = []
        at: list[Indices] = []
        known: dict[int, Array] = {}
        every = [(c, gauge) for m, gauge in zip(mechanisms, gauges, strict=True) for c in m.coordinates]
        for number, (c, gauge) in enumerate(every):
            for order, (batch, row) in enumerate(gauge.batches(c.joint.slot.id(), c.named("drive/effort"))):
                if id(batch) not in known:
                    known[id(batch)] = np.zeros(batch.count)
                    places.append(gauge.bind(program, batch, known[id(batch)]))
                efforts.append(known[id(batch)].__array_interface__["data"][0] + 8 * row)
                of.append(number)
                rounds.append(order)
            if c.load is not None:
                self._loaded.append(number)
                at.append(self._loads.ask(c.joint.attributes, c.load_name)[:1])
        self._program, self._words, self._places = program, program.words(), np.array(places, np.int64)
        self._known, self._efforts = known, _Numbers(efforts)
        self._of, self._rounds = np.array(of, np.int64), np.array(rounds, np.int64)
        self._at = _joined(at)

    def read(self) -> Array:
        """(n · k,)"""
        if not run(self._words, self._places):
            raise RuntimeError("Worlds.effort: a law has failed")
        moved = np.repeat([gauge.simulation.state.dt_before > 0.0 for gauge in self._gauges], self._size)
        found, pushes = np.zeros(len(moved)), np.where(moved[self._of], self._efforts.read(), 0.0)
        for order in range(self._rounds.max(initial=-1) + 1):
            chosen = self._rounds == order
            found[self._of[chosen]] += pushes[chosen]
        self._loads.read()
        found[self._loaded] += self._loads.values[self._at]
        return found
