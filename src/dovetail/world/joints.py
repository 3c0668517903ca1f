"""Joints while a world runs: parameters in before a step, states, reactions and efforts out after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from dovetail.checked import shown
from dovetail.constitution.base import uid_of
from dovetail.errors import WorldError
from dovetail.geometry import SimplicialComplexSlot
from dovetail.solver.bodies import Bodies
from dovetail.solver.joint.coordinates import Coordinates
from dovetail.solver.joint.stops import Stops
from dovetail.solver.state import State
from dovetail.typing import Array, Indices
from dovetail.world.joint_coordinates import JointCoordinates
from dovetail.world.joint_refresh import JointRefresh
from dovetail.world.joint_results import JointResults
from dovetail.world.kinematics import Kinematics
from dovetail.world.lower.lowered import LoweredJoints

__all__ = ["Joints"]


class Joints:
    """The joints of a running world. `multi_turn` reports `angle` itself without wrapping, as libuipc does."""

    def __init__(self, lowered: LoweredJoints, stops: Stops | None, mass: Array, multi_turn: bool) -> None:
        self._lowered, self._stops, self._mass = lowered, stops, mass
        self._refresh = JointRefresh(lowered, stops)
        self._reported = JointCoordinates(lowered, multi_turn)
        self._results = JointResults(lowered)
        self._numbers = {entry.slot.id(): entry.offset for entry in lowered.geometries}
        self.rates_known = np.zeros(1)  # 1 if the rates are those of the state

    def start(self, state: State) -> None:
        """Measure and publish the coordinates at init; an angle begins at 0 in whatever pose the joint is created."""
        self.commit(state)
        self._refresh.begin()
        self.publish(state)

    @property
    def lowered(self) -> LoweredJoints:
        """What they were lowered to."""
        return self._lowered

    @property
    def stops(self) -> Stops | None:
        """The hard limits."""
        return self._stops

    @property
    def coordinates(self) -> Coordinates:
        """The solver's coordinates, reported or not."""
        return self._lowered.coordinates

    def rows_of(self, places: Indices) -> Indices:
        """Rows among the solver's coordinates of reported ones at some places."""
        return self._reported.of[places]

    def kinematics(self, bodies: Bodies, Q: Array, places: Indices) -> Kinematics:
        """Where bodies are, and how they move, for reported coordinates at some places; joints are closed at Q."""
        return Kinematics(self._lowered, bodies, Q, self.rows_of(places))

    def frames_of(self, joint: SimplicialComplexSlot) -> dict[str, Array]:
        """Copies of the material rows (2, n, 4) of a joint geometry, by name."""
        for entry in self._lowered.geometries:
            if entry.slot is joint:
                return {name: rows.copy() for name, rows in entry.rows.items()}
        raise WorldError(f"World.joint_frames: {shown(joint)} is not a joint of this world; give the slot of a joint.")

    # ---- before a step ---------------------------------------------------------------------------------------

    @property
    def on_the_way(self) -> list[str]:
        """Names of joints whose drives are on the way to a target that has jumped, see approach.py."""
        return self._refresh.on_the_way

    @property
    def refreshing(self) -> JointRefresh:
        """What reads them."""
        return self._refresh

    def refresh(self, h: float) -> None:
        """Read targets, strengths, bounds, forces and switches as they are now, for a step of length h."""
        self._refresh.run(h)

    @contextmanager
    def refreshed(self, h: float) -> Iterator[None]:
        """Within this all is as a step of length h would begin now, and as before after it."""
        kept = [(array, array.copy()) for array in self.changing()]
        try:
            self._refresh.run(h)
            yield
        finally:
            for array, values in kept:
                array[...] = values
            self._refresh.forget()

    # ---- after a step ----------------------------------------------------------------------------------------

    def commit(self, state: State) -> None:
        """Take over the coordinates of the state, continuing angles from their last value."""
        if self._stops is not None:
            self._stops.commit(state.Q)
        if self._lowered.coordinates.count:
            self._lowered.coordinates.commit(state.Q, state.velocity(self._mass))
        self.rates_known[0] = 1.0

    def retrieve(self, state: State) -> None:
        """Write coordinates, velocities, reactions, gaps, efforts and violations into the attributes."""
        self.publish(state)
        self._results.retrieve(state)

    def exerted(self, state: State) -> tuple[Array, Array]:
        """Force [N] and torque [N·m] (k, 3) of all that was added to joints, on their right bodies."""
        return self._results.exerted(state)

    def number(self, joint: SimplicialComplexSlot) -> int:
        """The number of the first joint of a geometry among all."""
        return self._numbers[joint.id()]

    def publish(self, state: State) -> None:
        """Write the coordinates and their velocities into the attributes."""
        self.reported(state).publish()

    def reported(self, state: State) -> JointCoordinates:
        """The coordinates that joints report, with their rates, up to date."""
        if not self.rates_known[0]:
            coordinates = self._lowered.coordinates
            coordinates.rate[:] = coordinates.rates(state.Q, state.velocity(self._mass))
            self.rates_known[0] = 1.0
        return self._reported

    def resync(self, state: State, values: Array | None = None) -> None:
        """After an external state write: adopt angles the user wrote (their winding), recompute, republish.

        `values` are the coordinates there, where they are known.
        """
        coordinates = self._lowered.coordinates
        before = coordinates.value.copy()
        if values is None:
            self._reported.adopt()
        else:
            coordinates.value[:] = values
        coordinates.reference[:] = coordinates.value
        self._refresh.forget()
        if self._lowered.laws is not None:
            self._lowered.laws.forget_rates()
        self.commit(state)
        self._refresh.shift(coordinates.value - before)
        self.publish(state)

    def changing(self) -> list[Array]:
        """All arrays that a step changes in place, with what is read for it and may be asked for after it."""
        coordinates, held = self._lowered.coordinates, self._lowered.held
        found = [*self.arrays().values(), coordinates.rate, coordinates.reference, self.rates_known]
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
        for k, held in enumerate({id(use.held): use.held for use in self._lowered.law_uses}.values()):
            saved[f"joints/held/{k}"] = held
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
        self.rates_known[0] = 0.0

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
