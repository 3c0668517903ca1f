"""Contact in the adjoint of a step whose friction rolls or remembers; see lagged.py.

Such a step tells the next one, besides its end, what slides and what contacts remember of their forces.
"""

from __future__ import annotations

import numpy as np

from dovetail.gradient.bodies import PastBars
from dovetail.gradient.closest import Closest
from dovetail.gradient.contact import ContactAdjoint, add_forms
from dovetail.gradient.frame import Past
from dovetail.gradient.lagged import Lagged, Memory, Turns, rows_by_key
from dovetail.gradient.reverse import Graph, Node
from dovetail.gradient.sums import Sums
from dovetail.gradient.touching import Touching
from dovetail.solver.blocks import Blocks
from dovetail.typing import Array

__all__ = ["RubbingContact"]


class RubbingContact(ContactAdjoint):
    """Contacts of one step; `freeze` is called when it is known how bodies roll in it."""

    def freeze(self, past: Past, turn: Array, axis: Array) -> None:
        """Friction ← that of a step in which bodies turn by hω (n, 3) about axes, after the past."""
        self._past, self._turning = past, (turn, axis)
        if self.lags:
            self.graph = graph = Graph()
            self.Q_end = graph.of(self._Q_end)
            self._friction = self._at(graph, self._start, self._Q, turn, axis)

    def _at(self, graph: Graph, t: Touching, Q_start: Array, turn: Array, axis: Array) -> Lagged:
        """Friction from another start."""
        contact = self._contact
        self.Q, self.force = graph.of(Q_start), graph.of(self._past.force)
        self.turns = Turns(graph.of(turn), graph.of(axis))
        self._closest = Closest(graph, t, contact.scene, self.Q)
        memory = None if contact.stick is None else Memory(self._past.keys, self.force)
        found = Lagged(
            graph, self._closest, contact.scene, self.Q, self.turns, memory, self._h, self._epsilon
        )
        self._slip = found.slip(self.Q, self.Q_end)
        return found

    def lag_from(self, t: Touching, Q: Array, turn: Array, axis: Array) -> Array:
        """Gradient (n, 12) at the end of the step of friction that lags from Q instead, where contacts are t."""
        graph = Graph()
        kept = self.Q, self.force, self.turns, self._closest, self._slip, self.Q_end
        self.Q_end = graph.of(self._Q_end)
        found = self._at(graph, t, Q, turn, axis)
        g = found.gradient(self._slip).value.reshape(-1, 12)
        self.Q, self.force, self.turns, self._closest, self._slip, self.Q_end = kept
        return g

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
        add_forms(friction.bodies, friction.c.value, friction.bends(self._slip), blocks)
        blocks.g += friction.gradient(self._slip).value.reshape(-1, 12)

    def _pull_friction(self, x: Array, Q_bar: Array, sums: Sums) -> None:
        friction = self._friction
        self.graph.pull((friction.gradient(self._slip), -x))
        Q_bar += self.Q.slope
        log_kappa, log_mu = self._closest.log_kappa.slope[:, 0], friction.log_mu_all.slope[:, 0]
        self.tell_friction(self._start, log_kappa, log_mu, sums)
