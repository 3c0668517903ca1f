"""Joints while a world runs: parameters in before a step, states, reactions and efforts out after it."""

from __future__ import annotations

import math

import numpy as np

from dovetail.checked import shown
from dovetail.constitution.base import uid_of
from dovetail.constitution.laws import Hold, Limit
from dovetail.constitution.terms import Angle, Coordinate
from dovetail.errors import WorldError
from dovetail.geometry import SimplicialComplexSlot
from dovetail.solver.joint.row_algebra import add_row_forces
from dovetail.solver.joint.stops import Stops
from dovetail.solver.state import State
from dovetail.typing import Array
from dovetail.world.joint_refresh import JointRefresh
from dovetail.world.lower.lowered import LoweredJoints

__all__ = ["Joints"]


def _wrap(angle: Array) -> Array:
    """To (−π, π]."""
    wrapped: Array = math.pi - np.mod(math.pi - angle, 2.0 * math.pi)
    return wrapped


class Joints:
    """The joints of a running world. `multi_turn` reports `angle` itself without wrapping, as libuipc does."""

    def __init__(self, lowered: LoweredJoints, stops: Stops | None, mass: Array, multi_turn: bool) -> None:
        self._lowered, self._stops, self._mass = lowered, stops, mass
        self._refresh = JointRefresh(lowered, stops)
        self._multi_turn = multi_turn
        self._rates_known = np.zeros(1)  # 1 if the rates are those of the state
        self._G: Array | None = None  # generalised forces of all joints
        self._published: dict[tuple[int, Coordinate], Array] = {}
        self._reported = [
            (k, entry, word, lowered.coordinate_rows[word, k])
            for k, entry in enumerate(lowered.geometries)
            for word in entry.kind.coordinates()
        ]

    def start(self, state: State) -> None:
        """Measure and publish the coordinates at init; an angle begins at 0 in whatever pose the joint is created."""
        self.commit(state)
        self._refresh.limits()
        self.publish(state)

    def frames_of(self, joint: SimplicialComplexSlot) -> dict[str, Array]:
        """Copies of the material rows (2, n, 4) of a joint geometry, by name."""
        for entry in self._lowered.geometries:
            if entry.slot is joint:
                return {name: rows.copy() for name, rows in entry.rows.items()}
        raise WorldError(f"World.joint_frames: {shown(joint)} is not a joint of this world; give the slot of a joint.")

    # ---- before a step ---------------------------------------------------------------------------------------

    def refresh(self, h: float) -> None:
        """Read targets, strengths, bounds, forces and switches as they are now, for a step of length h."""
        self._refresh.run(h)

    # ---- after a step ----------------------------------------------------------------------------------------

    def commit(self, state: State) -> None:
        """Take over the coordinates of the state, continuing angles from their last value."""
        if self._stops is not None:
            self._stops.commit(state.Q)
        if self._lowered.coordinates.count:
            self._lowered.coordinates.commit(state.Q, state.velocity(self._mass))
        self._rates_known[0] = 1.0

    def retrieve(self, state: State) -> None:
        """Write coordinates, velocities, reactions, gaps, efforts and violations into the attributes."""
        lowered = self._lowered
        if lowered.frames is None:
            return
        self.publish(state)
        gap, misalignment = lowered.frames.measure(state.Q)
        self._add_held(gap, misalignment)
        if self._G is None:
            self._G = np.zeros((lowered.frames.count, 4, 3))
        G = self._G
        G.fill(0.0)
        h = state.dt_before or math.inf
        for term in lowered.terms:
            term.add_forces(state.Q, G)
        G /= h * h
        ends = np.cumsum([lowered.points.count, lowered.slides.count])
        on_points, on_slides, on_combined = np.split(state.carried, ends)
        add_row_forces(lowered.points, h, state.Q, on_points, G)
        add_row_forces(lowered.slides, h, state.Q, on_slides, G)
        if lowered.laws is not None:
            lowered.laws.add_forces(lowered.own_laws, h, state.Q, G)
        if lowered.exact is not None:
            lowered.exact.combined.add_forces(state.Q, on_combined, G)
        force, torque = lowered.frames.reactions(state.Q, G)
        for entry in lowered.geometries:
            elements = entry.elements
            elements.slot("gap").edit()[:] = gap[entry.joints]
            elements.slot("misalignment").edit()[:] = misalignment[entry.joints]
            elements.slot("reaction/force").edit()[:] = force[entry.joints]
            elements.slot("reaction/torque").edit()[:] = torque[entry.joints]
        self._retrieve_laws(h)

    def _add_held(self, gap: Array, misalignment: Array) -> None:
        """Of coordinates that a joint holds, how far they are from where they should be: metres or a small angle."""
        for use in self._lowered.law_uses:
            if isinstance(use.word, Hold):
                x = self._lowered.coordinates.value[use.laws.of[use.rows]]
                _, target, scale = use.laws.p[use.rows].T
                into = gap if use.word.scale or use.coordinate.unit == "m" else misalignment
                joints = use.entry.joints
                into[joints] = np.maximum(into[joints], np.abs(scale * (x - target)))

    def _retrieve_laws(self, h: float) -> None:
        for use in self._lowered.law_uses:
            if use.word.effort is not None:
                use.entry.elements.slot(use.word.effort).edit()[:] = 0.0
        for use in self._lowered.law_uses:
            edges = use.entry.elements
            if use.word.effort is not None:
                edges.slot(use.word.effort).edit()[:] -= use.laws.slopes(self._lowered.coordinates)[use.rows] / (h * h)
            name = f"{use.base_word.prefix}limit/violation"
            if isinstance(use.word, Limit) and name in edges:
                x = self._lowered.coordinates.value[use.base_rows]
                lower, upper = use.laws.p[use.rows, 0], use.laws.p[use.rows, 1]
                edges.slot(name).edit()[:] = np.maximum(0.0, np.maximum(x - upper, lower - x))

    def publish(self, state: State) -> None:
        """Write the coordinates and their velocities into the attributes."""
        coordinates = self._lowered.coordinates
        if not self._rates_known[0]:
            coordinates.rate[:] = coordinates.rates(state.Q, state.velocity(self._mass))
            self._rates_known[0] = 1.0
        for k, entry, word, rows in self._reported:
            elements = entry.elements
            value = coordinates.value[rows] + elements.slot(word.offset).values
            if isinstance(word, Angle):
                elements.slot(word.multi_turn).edit()[:] = value
                if not self._multi_turn:
                    value = _wrap(value)
            elements.slot(word.attribute).edit()[:] = value
            elements.slot(word.velocity).edit()[:] = coordinates.rate[rows]
            self._published[k, word] = value

    def resync(self, state: State) -> None:
        """After an external state write: adopt angles the user wrote (their winding), recompute, republish."""
        coordinates = self._lowered.coordinates
        for k, entry, word, rows in self._reported:
            if not isinstance(word, Angle):
                continue
            elements = entry.elements
            told = elements.slot(word.attribute).values
            changed = told != self._published.get((k, word), told)
            value = coordinates.value[rows]
            value[changed] = (told - elements.slot(word.offset).values)[changed]
        coordinates.reference[:] = coordinates.value
        self._refresh.forget()
        self.commit(state)
        self.publish(state)

    def changing(self) -> list[Array]:
        """All arrays that a step changes in place, with what is read for it and may be asked for after it."""
        coordinates, held = self._lowered.coordinates, self._lowered.held
        found = [*self.arrays().values(), coordinates.rate, coordinates.reference, self._rates_known]
        found += [] if self._stops is None else self._stops.slack.values()
        return found if held is None else [*found, held.target]

    def forget(self) -> None:
        """A step was broken off: read all attributes anew before the next one."""
        self._refresh.forget()

    # ---- dump ------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """Committed coordinates and held targets, on which the next step depends besides the state, and the parameters
        of the last step, from which efforts and reactions follow.
        """
        saved: dict[str, Array] = {"joints/value": self._lowered.coordinates.value}
        for k, use in enumerate(self._lowered.law_uses):
            saved[f"joints/held/{k}"] = use.held
        for k, parameters in enumerate(self._refreshed()):
            saved[f"joints/parameters/{k}"] = parameters
        if (laws := self._lowered.laws) is not None:
            saved["joints/past"], saved["joints/scale"] = laws.past, laws.scale
        if self._lowered.exact is not None:
            saved |= self._lowered.exact.arrays()
        return saved

    def _refreshed(self) -> list[Array]:
        """Parameters that are read every frame."""
        terms = {id(use.terms): use.terms.p for use in self._lowered.term_uses}
        return [*([] if self._lowered.laws is None else [self._lowered.laws.p]), *terms.values()]

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`."""
        for name, array in self.arrays().items():
            array[:] = arrays[name]
        self._lowered.coordinates.reference[:] = self._lowered.coordinates.value
        self._refresh.forget()
        self._rates_known[0] = 0.0

    def constants(self) -> dict[str, Array]:
        """What tells one set of joints from another."""
        found: dict[str, Array] = {}
        refreshed = [id(parameters) for parameters in self._refreshed()]
        for k, energy in enumerate(self._lowered.terms):
            found[f"joints/{k}/W"] = energy.stencils.W
            found[f"joints/{k}/pairs"] = energy.stencils.pairs.astype(float)
            if id(energy.p) not in refreshed:
                found[f"joints/{k}/p"] = energy.p
        for name, rows in (("points", self._lowered.points), ("slides", self._lowered.slides)):
            found[f"joints/{name}/K"] = rows.K[: rows.exact]
        for k, entry in enumerate(self._lowered.geometries):
            found[f"joints/geometry/{k}/kind"] = np.array([uid_of(entry.geometry), entry.count], float)
            found[f"joints/geometry/{k}/bodies"] = np.stack([entry.left, entry.right], axis=1).astype(float)
            found[f"joints/geometry/{k}/exact"] = entry.exact.astype(float)
            for name, material in entry.rows.items():
                found[f"joints/geometry/{k}/{name}"] = material
        coordinates = self._lowered.coordinates
        found["joints/coordinates"] = np.concatenate([coordinates.W.ravel(), coordinates.period])
        for k, laws in enumerate(self._lowered.law_batches):
            found[f"joints/law/{k}/{laws.law.name}"] = coordinates.pairs[laws.of].astype(float)
        return found
