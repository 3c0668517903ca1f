"""Contact in the adjoint of a step whose friction rolls or remembers; see lagged.py.

Such a step tells the next one, besides its end, what slides and what contacts remember of their forces.
"""

from __future__ import annotations

import numpy as np

from dovetail.gradient.bodies import PastBars
from dovetail.gradient.closest import Closest
from dovetail.gradient.contact import ContactAdjoint
from dovetail.gradient.formulas import Graph, Node
from dovetail.gradient.frame import Past
from dovetail.gradient.lagged import Lagged, Memory, Turns, rows_by_key
from dovetail.gradient.sums import Sums
from dovetail.gradient.touching import Touching
from dovetail.solver.blocks import Blocks
from dovetail.typing import Array, Flags, Indices

__all__ = ["RubbingContact"]


class RubbingContact(ContactAdjoint):
    """Contacts of one step; `freeze` is called when it is known how bodies roll in it."""

    @property
    def start(self) -> Touching:
        """Contacts at its start, as friction has them."""
        return self._start

    def freeze(self, past: Past, turn: Array, axis: Array, rolls: Flags) -> None:
        """Friction ← that of a step in which some bodies (n,) roll by hω (n, 3) about axes, after the past."""
        if not self.lags:
            return
        self.graph, contact = Graph(), self._contact
        self.Q, self.Q_end, self.force = (self.graph.of(each) for each in (self._Q, self._Q_end, past.force))
        self.turns = Turns(self.graph.of(turn), self.graph.of(axis), rolls)
        self.closest = Closest(self.graph, self._start, contact.scene, self.Q)
        memory = None if contact.stick is None else Memory(past.keys, self.force)
        self._friction = Lagged(
            self.graph, self.closest, contact.scene, self.Q, self.turns, memory, self._h, self._epsilon
        )
        self._slip = self._friction.slip(self.Q, self.Q_end)
        self._forces = self._friction.forces(self._slip)

    def change(
        self, dQ: Array, turn: Array, axis: Array, reach: Array | None = None, dQ_end: Array | None = None
    ) -> Array:
        """By how much (n, 12) the gradient of friction changes with the start of the step, how bodies roll, and d̂.

        And with the end of it, if that is given.
        """
        if not self.lags:
            return np.zeros((len(dQ), 12))
        gradient = self._friction.gradient(self._slip)
        more = [] if reach is None else [(self.closest.reach, reach)]
        more += [] if dQ_end is None else [(self.Q_end, dQ_end)]
        self.graph.push((self.Q, dQ), (self.turns.turn, turn), (self.turns.axis, axis), *more)
        return gradient.change.reshape(-1, 12)

    def rubs(self, keys: Indices) -> tuple[Array, Array]:
        """Forces h² (m, 3) on bodies a of contacts with these names, and what they change by, as last asked for."""
        if not self.lags or not self._friction.rows.size:
            return np.zeros((len(keys), 3)), np.zeros((len(keys), 3))
        at = rows_by_key(self._friction.keys, keys)
        there = (at >= 0)[:, None]
        return np.where(there, self._forces.value[at], 0.0), np.where(there, self._forces.change[at], 0.0)

    def explicit(self, bars: PastBars | None, rubs: tuple[Indices, Array] | None = None) -> Array:
        """The part (n, 4, 3) that Qₙ₊₁ has in what the next step takes from this one, with these adjoints.

        rubs are names of contacts (m, 4), and adjoints (m, 3) of their `rubs`.
        """
        if not self.lags:
            return np.zeros_like(self._Q)
        seeds: list[tuple[Node, Array]] = []
        if bars is not None:
            slides, _ = self._friction.rubbing(self.Q, self.Q_end, self._forces)
            seeds.append((slides, bars.rubbing[:, :15]))
        if bars is not None and self._contact.stick is not None and len(bars.keys):
            remembered = self._friction.remembered(self.Q_end, self._forces)
            at = rows_by_key(bars.keys, self._friction.keys)
            seeds.append((remembered, np.where((at >= 0)[:, None], bars.force[at], 0.0)))
        if rubs is not None:
            at, by = rows_by_key(self._friction.keys, rubs[0]), np.zeros_like(self._forces.value)
            np.add.at(by, at[at >= 0], rubs[1][at >= 0])
            seeds.append((self._forces, by))
        self.graph.pull(*seeds)
        return self.Q_end.slope

    def _assemble_friction(self, blocks: Blocks) -> None:
        friction = self._friction
        friction.bends(self._slip).add(0.0, blocks)
        blocks.g += friction.gradient(self._slip).value.reshape(-1, 12)

    def _pull_friction(self, x: Array, Q_bar: Array, sums: Sums) -> None:
        friction = self._friction
        self.graph.pull((friction.gradient(self._slip), -x))
        self.graph.free()
        Q_bar += self.Q.slope
        self.closest.tell_shapes(self._contact.scene, sums)
        self.tell_friction(self._start, self.closest.log_kappa.slope[:, 0], friction, sums)
