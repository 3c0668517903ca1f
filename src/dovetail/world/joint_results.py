"""What joints tell after a step: gaps, misalignments, reactions, efforts and violations, into their attributes."""

from __future__ import annotations

import math

import numpy as np

from dovetail.constitution.laws import Hold, Limit
from dovetail.solver.joint.laws import LawBatch
from dovetail.solver.joint.row_algebra import add_row_forces
from dovetail.solver.state import State
from dovetail.typing import Array, Indices
from dovetail.world.attribute_writer import AttributeWriter
from dovetail.world.lower.lowered import LawOnJoints, LoweredJoints

__all__ = ["JointResults"]


class _LawResults:
    """What the laws of one batch tell: effort and violation of each, and how far what is held is off."""

    def __init__(self, uses: list[LawOnJoints], writer: AttributeWriter) -> None:
        self.laws: LawBatch = uses[0].laws
        word = uses[0].word
        self.holds = isinstance(word, Hold)
        self.moves = isinstance(word, Hold) and (bool(word.scale) or uses[0].coordinate.unit == "m")
        self.joints = np.concatenate([np.arange(use.entry.joints.start, use.entry.joints.stop) for use in uses])
        self.effort: Indices | None = None
        if word.effort is not None:
            self.effort = writer.ask([use.entry.elements for use in uses], word.effort)
        told = [use for use in uses if isinstance(word, Limit) and self._violation(use) in use.entry.elements]
        none = np.zeros(0, np.int64)
        self.rows = np.concatenate([none, *(np.arange(use.rows.start, use.rows.stop) for use in told)])
        self.base = np.concatenate([none, *(np.arange(use.base_rows.start, use.base_rows.stop) for use in told)])
        self.violation = np.concatenate(
            [none, *(writer.ask([use.entry.elements], self._violation(use)) for use in told)]
        )

    @staticmethod
    def _violation(use: LawOnJoints) -> str:
        return f"{use.base_word.prefix}limit/violation"


class JointResults:
    """Results of all joints, in a few array operations."""

    def __init__(self, lowered: LoweredJoints) -> None:
        self._lowered, self._writer = lowered, AttributeWriter()
        collections = [entry.elements for entry in lowered.geometries]
        self._at = {
            name: self._writer.ask(collections, name)
            for name in ("gap", "misalignment", "reaction/force", "reaction/torque")
        }
        batches: dict[int, list[LawOnJoints]] = {}
        for use in lowered.law_uses:
            batches.setdefault(id(use.laws), []).append(use)
        self._laws = [_LawResults(uses, self._writer) for uses in batches.values()]
        self._G = np.zeros((0 if lowered.frames is None else lowered.frames.count, 4, 3))  # generalised forces

    def retrieve(self, state: State) -> None:
        """Write those of the last step."""
        lowered, writer = self._lowered, self._writer
        if lowered.frames is None:
            return
        h = state.dt_before or math.inf
        gap, misalignment = lowered.frames.measure(state.Q)
        self._add_held(gap, misalignment)
        force, torque = lowered.frames.reactions(state.Q, self._forces(state, h))
        results = {"gap": gap, "misalignment": misalignment, "reaction/force": force, "reaction/torque": torque}
        for name, values in results.items():
            writer.put(self._at[name], values)
        for batch in self._laws:
            if batch.effort is not None:
                writer.values[batch.effort] = 0.0
        for batch in self._laws:
            if batch.effort is not None:
                writer.values[batch.effort] += batch.laws.efforts(lowered.coordinates, h)
            if batch.violation.size:
                x, (lower, upper) = lowered.coordinates.value[batch.base], batch.laws.p[batch.rows, :2].T
                writer.put(batch.violation, np.maximum(0.0, np.maximum(x - upper, lower - x)))
        writer.write()

    def _forces(self, state: State, h: float) -> Array:
        """Generalised forces (k, 4, 3) of all joints on their right bodies."""
        Q = state.Q
        lowered, G = self._lowered, self._G
        G.fill(0.0)
        for term in lowered.terms:
            term.add_forces(Q, G)
        G /= h * h
        points, rows = lowered.points.count, lowered.points.count + lowered.slides.count
        add_row_forces(lowered.points, h, Q, state.carried[:points], G)
        add_row_forces(lowered.slides, h, Q, state.carried[points:rows], G)
        if lowered.laws is not None:
            lowered.laws.add_forces(lowered.own_laws, h, Q, G)
        if lowered.exact is not None:
            lowered.exact.combined.add_forces(Q, state.carried[rows:], G)
        return G

    def exerted(self, state: State) -> tuple[Array, Array]:
        """What drives, limits, dampers and friction exert on the right bodies of joints (k, 3): force, and torque about
        the anchor.
        """
        lowered, G = self._lowered, self._G
        assert lowered.frames is not None
        G.fill(0.0)
        if lowered.laws is not None:
            own = {id(batch) for batch in lowered.own_laws}
            added = [batch for batch in lowered.law_batches if id(batch) not in own]
            lowered.laws.add_forces(added, state.dt_before or math.inf, state.Q, G)
        return lowered.frames.reactions(state.Q, G)

    def _add_held(self, gap: Array, misalignment: Array) -> None:
        """Of coordinates that a joint holds, how far they are from where they should be: metres or a small angle."""
        for batch in self._laws:
            if batch.holds:
                x = self._lowered.coordinates.value[batch.laws.of]
                _, target, scale = batch.laws.p.T
                into = gap if batch.moves else misalignment
                into[batch.joints] = np.maximum(into[batch.joints], np.abs(scale * (x - target)))
