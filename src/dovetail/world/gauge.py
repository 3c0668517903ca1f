"""Where coordinates of a world, their rates and efforts lie in memory: one kernel reads those of many worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.kernel.program import Program
from dovetail.solver.joint.laws import LawBatch, law_efforts
from dovetail.typing import Array, Indices
from dovetail.world.counted import OPENED

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["Gauge"]


def _address(array: Array | Indices) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


class Gauge:
    """Addresses of numbers of a world, as long as it is not opened for changes.

    values, rates (k,)    of reported coordinates at some places
    rates_known           0 where the rates have to be asked for by `Live.rates`
    opened                1 once another simulation goes on in place of this one
    """

    def __init__(self, simulation: Simulation, places: Indices) -> None:
        joints = simulation.joints
        c, rows = joints.coordinates, joints.rows_of(places)
        self.simulation = simulation
        self._arrays = c.value, c.rate, simulation.counters, joints.rates_known  # are kept alive
        value, rate, counters, known = (_address(array) for array in self._arrays)
        self.values, self.rates, self.rates_known = value + 8 * rows, rate + 8 * rows, known
        self.opened = counters + 8 * OPENED

    def batches(self, joint: int, attribute: str) -> list[tuple[LawBatch, int]]:
        """Laws that tell their effort by an attribute of a joint geometry, in the order in which it is summed up."""
        uses = self.simulation.joints.lowered.law_uses
        order = list(dict.fromkeys(id(use.laws) for use in uses))
        found = [use for use in uses if use.entry.slot.id() == joint and use.word.effort == attribute]
        return [(use.laws, use.rows.start) for use in sorted(found, key=lambda use: order.index(id(use.laws)))]

    def bind(self, program: Program, batch: LawBatch, out: Array) -> int:
        """The place of what finds the efforts (m,) of a batch of laws with a cap; others need no length of a step."""
        c, columns = self.simulation.joints.coordinates, (batch.step, batch.exerted)
        assert batch.exerted >= 0
        return program.add(law_efforts, batch.law.address, batch.of, c.value, batch.p, batch.scale, *columns, 1.0, out)
