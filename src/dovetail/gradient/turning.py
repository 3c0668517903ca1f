"""What a step in touch derives from its start besides Q̃: how bodies roll in it, and what of inner forces is left over.

hω of V̂ and the axes at Qₙ (solver/contact/roll.py)        rigid(¼(Â − a)) at Qₙ, of bodies that are held
"""

from __future__ import annotations

import numpy as np

from dovetail.gradient.bodies import PastBars
from dovetail.gradient.formulas import Graph, Node
from dovetail.gradient.frame import Frame
from dovetail.gradient.rigid import Moments, axes_of
from dovetail.gradient.rubbing import RubbingContact
from dovetail.gradient.start import Begun
from dovetail.gradient.sums import Sums
from dovetail.solver.integrator import CARRIED
from dovetail.solver.model import Model
from dovetail.typing import Array

__all__ = ["TurnAdjoint"]


class TurnAdjoint:
    """Of one step from Q with V̂; values are hω and axes (n, 3), zero for bodies that are not among those that roll."""

    def __init__(self, model: Model, frame: Frame, Q: Array, V: Array, begun: Begun | None) -> None:
        self._model, self._held = model, frame.methods.held
        self.values, self.rolls = np.zeros((2, len(Q), 3)), np.zeros(len(Q), np.bool_)
        self._graph: Graph | None = None
        self._turn: Node | None = None
        self._axis: Node | None = None
        if begun is None or frame.past is None or not frame.methods.some_held:
            return
        self._graph = graph = Graph()
        free = (model.bodies.is_free != 0)[:, None, None]
        self._Q, self._V, self._mass = graph.of(Q), graph.of(V), graph.of(np.where(free, model.bodies.mass, np.eye(4)))
        h = frame.h
        end = model.loads.accelerations(Q + h * begun.V) if model.loads.act else model.loads.free_fall
        self._inner = graph.of(np.where(free, -begun.x / (h * h) - end, 0.0))
        moments = Moments(self._mass, self._Q)
        held = (self._held & (model.bodies.is_free != 0))[:, None]
        self._left = held * moments.rigid((1.0 - CARRIED) * self._inner)
        if model.contact is not None:
            scene = model.contact.scene
            self.rolls = held[:, 0] & (scene.rolls != 0)
            rolls = self.rolls[:, None]
            self._turn = rolls * (h * moments.spin_of(self._V))
            self._axis = rolls * axes_of(self._Q, scene.rolling_axis)
            self.values = np.stack([self._turn.value, self._axis.value])

    def ahead(self, dQ: Array, dV: Array) -> Array:
        """Changes (2, n, 3) of hω and axes with Qₙ and V̂."""
        if self._graph is None or self._turn is None or self._axis is None:
            return np.zeros_like(self.values)
        self._graph.push((self._Q, dQ), (self._V, dV))
        return np.stack([self._turn.change, self._axis.change])

    def back(self, past: PastBars | None, rubs: RubbingContact | None, sums: Sums) -> tuple[Array, Array, Array] | None:
        """Adjoints (n, 4, 3) of Qₙ, V̂ and Â − a, from what this step's friction and the next step have.

        None where nothing is held.
        """
        if self._graph is None:
            return None
        seeds = []
        if past is not None:
            seeds.append((self._left, past.pushed[:, 13:]))
        for node, name in ((self._turn, "turn"), (self._axis, "axis")):
            if node is not None:
                bar = np.zeros_like(node.value) if past is None else getattr(past, name).copy()
                if rubs is not None and rubs.lags:
                    bar += getattr(rubs.turns, name).slope
                seeds.append((node, bar))
        self._graph.pull(*seeds)
        self._graph.free()
        free = (self._model.bodies.is_free != 0)[:, None, None]
        sums.constant["mass"] += np.where(free, self._mass.slope, 0.0)
        return self._Q.slope, self._V.slope, self._inner.slope
