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
from dovetail.typing import Array, Flags

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

    def change(self, dQ: Array, turn: Array, axis: Array, reach: Array | None = None) -> Array:
        """By how much (n, 12) the gradient of friction changes with the start of the step, how bodies roll, and d̂."""
        if not self.lags:
            return np.zeros((len(dQ), 12))
        gradient = self._friction.gradient(self._slip)
        ranges = [] if reach is None else [(self.closest.reach, reach)]
        self.graph.push((self.Q, dQ), (self.turns.turn, turn), (self.turns.axis, axis), *ranges)
        return gradient.change.reshape(-1, 12)

    def explicit(self, bars: PastBars) -> Array:
        """The part (n, 4, 3) that Qₙ₊₁ has in what the next step takes from this one, with these adjoints."""
        if not self.lags:
            return np.zeros_like(self._Q)
        seeds: list[tuple[Node, Array]] = []
        force = self._friction.forces(self._slip)
        slides, _ = self._friction.rubbing(self.Q, self.Q_end, force)
        seeds.append((slides, bars.rubbing[:, :15]))
        if self._contact.stick is not None and len(bars.keys):
            remembered = self._friction.remembered(self.Q_end, force)
            at = rows_by_key(bars.keys, self._friction.keys)
            seeds.append((remembered, np.where((at >= 0)[:, None], bars.force[at], 0.0)))
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
