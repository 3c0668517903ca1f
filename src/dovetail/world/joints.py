"""Joints while a world runs: parameters in before a step, states, reactions and efforts out after it."""

from __future__ import annotations

import math

import numpy as np

from dovetail.constitution.laws import Hold, Limit
from dovetail.constitution.terms import Angle, AxialForce, Coordinate, Parameter
from dovetail.errors import ConstitutionError, WorldError
from dovetail.geometry import SimplicialComplexSlot
from dovetail.solver.energy.coincide import Coincide
from dovetail.solver.joint.stops import Stops
from dovetail.solver.state import State
from dovetail.typing import Array
from dovetail.world.hard_limits import keep_inside
from dovetail.world.lower.lowered import JointGeometry, LawOnJoints, LoweredJoints

__all__ = ["Joints"]


def _wrap(angle: Array) -> Array:
    """To (−π, π]."""
    wrapped: Array = math.pi - np.mod(math.pi - angle, 2.0 * math.pi)
    return wrapped


class Joints:
    """The joints of a running world. `multi_turn` reports `angle` itself without wrapping, as libuipc does."""

    def __init__(self, lowered: LoweredJoints, multi_turn: bool) -> None:
        self._lowered = lowered
        self._multi_turn = multi_turn
        self._rates_known = False
        self._G: Array | None = None  # generalised forces of all joints
        self._published: dict[tuple[int, Coordinate], Array] = {}
        self._reported = [
            (k, entry, word, lowered.coordinates[word], lowered.coordinate_rows[word, k])
            for k, entry in enumerate(lowered.geometries)
            for word in entry.kind.coordinates()
        ]

    def start(self, state: State) -> None:
        """Measure and publish the coordinates at init; an angle begins at 0 in whatever pose the joint is created."""
        self.commit(state)
        for use in self._lowered.law_uses:
            if isinstance(use.laws, Stops):
                self._refresh_law(use, 0.0)
        self.publish(state)

    def frames_of(self, joint: SimplicialComplexSlot) -> dict[str, Array]:
        """Copies of the material rows (2, n, 4) of a joint geometry, by name."""
        for entry in self._lowered.geometries:
            if entry.slot is joint:
                return {name: rows.copy() for name, rows in entry.rows.items()}
        raise WorldError(f"World.joint_frames: {joint!r} is not a joint of this world; give the slot of a joint.")

    # ---- before a step ---------------------------------------------------------------------------------------

    def refresh(self, h: float) -> None:
        """Read targets, strengths, bounds, forces and switches as they are now, for a step of length h."""
        for term in self._lowered.term_uses:
            for column, parameter in enumerate(term.word.parameters):
                if parameter.attribute != "strength_ratio":
                    term.terms.p[term.rows, column] = self._values(term.entry, parameter, h)
        for laws in self._lowered.laws:
            laws.past[1] = laws.past[0]
            laws.past[0] = laws.p
        for use in self._lowered.law_uses:
            self._refresh_law(use, h)
        for load in self._lowered.load_uses:
            word = load.word
            name = word.force if isinstance(word, AxialForce) else word.torque
            edges = load.entry.elements
            values = np.where(edges.slot(word.is_constrained).values != 0, edges.slot(name).values, 0.0)
            self._refuse_not_finite(load.entry, name, values)
            load.values[load.rows] = values

    def _values(self, entry: JointGeometry, parameter: Parameter, h: float) -> Array:
        """What a parameter is now for every joint of a geometry; not for one that depends on a coordinate."""
        if parameter.step or parameter.value is not None:
            return np.full(entry.count, h if parameter.value is None else parameter.value)
        values: Array = entry.elements.slot(parameter.attribute).values.astype(float)
        bounded = np.where(values == np.inf, 0.0, values) if parameter.unbounded else values
        self._refuse_not_finite(entry, parameter.attribute, bounded)
        if parameter.sign != "any":
            self._refuse_sign(entry, parameter, values)
        return values * entry.mass if parameter.times_mass else values

    def _refresh_law(self, use: LawOnJoints, h: float) -> None:
        edges = use.entry.elements
        word = use.word
        on = np.ones(use.entry.count, bool) if word.switch is None else edges.slot(word.switch).values != 0
        if word.hold is not None:
            wanted = on & (edges.slot(word.hold).values != 0)
            begins = wanted & np.isnan(use.held)
            use.held[begins] = use.base.value[use.base_rows][begins]
            use.held[~wanted] = np.nan
        for column, parameter in enumerate(word.parameters):
            if parameter.start:
                use.laws.p[use.rows, column] = use.laws.coordinates.value[use.laws.of[use.rows]]
                continue
            if parameter.attribute == "strength_ratio" or parameter.inertia:
                continue
            values = self._values(use.entry, parameter, h)
            if parameter.reported:
                offset = edges.slot(use.base_word.offset).values if use.base_word.offset else 0.0
                values = np.where(np.isnan(use.held), values - offset, use.held)
            if column == 0 and word.switch is not None:
                values = np.where(on, values, 0.0)
            use.laws.p[use.rows, column] = values
        if self._lowered.held is not None and isinstance(word, Hold):
            _, target, scale = use.laws.p[use.rows][use.entry.exact].T
            self._lowered.held.target[use.held_rows] = scale * target
        if isinstance(word, Limit):
            self._refuse_crossed(use)
        if isinstance(use.laws, Stops):
            keep_inside(use, use.base_word.attribute)
        elif isinstance(word, Limit):
            self._refuse_late(use)

    def _refuse_not_finite(self, entry: JointGeometry, name: str, values: Array) -> None:
        if not np.isfinite(values).all():
            bad = int(np.argmin(np.isfinite(values)))
            raise ConstitutionError(
                f"{entry.kind.__name__} '{entry.slot.object_name}': joint {bad} has {name} = {values[bad]}; "
                "give a finite number."
            )

    def _refuse_sign(self, entry: JointGeometry, parameter: Parameter, values: Array) -> None:
        bad = values < 0.0 if parameter.sign == "≥ 0" else values <= 0.0
        if bad.any():
            at = int(np.argmax(bad))
            raise ConstitutionError(
                f"{entry.kind.__name__} '{entry.slot.object_name}': joint {at} has {parameter.attribute} = "
                f"{values[at]:g}; give a number {parameter.sign}."
            )

    def _refuse_late(self, use: LawOnJoints) -> None:
        """A barrier that was not there at init cannot be had later."""
        hard = np.isinf(use.laws.p[use.rows, 2])
        if hard.any() and not any(isinstance(u.laws, Stops) and u.entry is use.entry for u in self._lowered.law_uses):
            raise ConstitutionError(
                f"{use.entry.kind.__name__} '{use.entry.slot.object_name}': joint {int(np.argmax(hard))} has "
                "limit/strength = inf, which none of them had at World.init; set one to inf before."
            )

    def _refuse_crossed(self, use: LawOnJoints) -> None:
        lower, upper = use.laws.p[use.rows, 0], use.laws.p[use.rows, 1]
        if (lower > upper).any():
            bad = int(np.argmax(lower > upper))
            raise ConstitutionError(
                f"{use.entry.kind.__name__} '{use.entry.slot.object_name}': joint {bad} has lower = "
                f"{lower[bad]:g} > upper = {upper[bad]:g} (less the offset); swap them."
            )

    # ---- after a step ----------------------------------------------------------------------------------------

    def commit(self, state: State) -> None:
        """Take over the coordinates of the state, continuing angles from their last value."""
        for laws in self._lowered.laws:
            if isinstance(laws, Stops):
                laws.commit(state.Q)
        for coordinates in self._lowered.coordinates.values():
            coordinates.commit(state.Q, state.V)
        self._rates_known = True

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
        for energy in lowered.holding:
            energy.add_forces(state.Q, G)
        h = state.dt_before or math.inf
        G /= h * h
        if lowered.exact is not None:
            lowered.exact.add_forces(state.Q, G)
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
                x = use.laws.coordinates.value[use.laws.of[use.rows]]
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
                edges.slot(use.word.effort).edit()[:] -= use.laws.slopes()[use.rows] / (h * h)
            name = f"{use.base_word.prefix}limit/violation"
            if isinstance(use.word, Limit) and name in edges:
                x = use.base.value[use.base_rows]
                lower, upper = use.laws.p[use.rows, 0], use.laws.p[use.rows, 1]
                edges.slot(name).edit()[:] = np.maximum(0.0, np.maximum(x - upper, lower - x))

    def publish(self, state: State) -> None:
        """Write the coordinates and their velocities into the attributes."""
        if not self._rates_known:
            for coordinates in self._lowered.coordinates.values():
                coordinates.rate[:] = coordinates.rates(state.Q, state.V)
            self._rates_known = True
        for k, entry, word, coordinates, rows in self._reported:
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
        for k, entry, word, coordinates, rows in self._reported:
            if not isinstance(word, Angle):
                continue
            elements = entry.elements
            told = elements.slot(word.attribute).values
            changed = told != self._published.get((k, word), told)
            value = coordinates.value[rows]
            value[changed] = (told - elements.slot(word.offset).values)[changed]
        self.commit(state)
        self.publish(state)

    # ---- dump ------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """Committed coordinates and held targets, on which the next step depends besides the state, and the parameters
        of the last step, from which efforts and reactions follow.
        """
        saved: dict[str, Array] = {}
        for k, coordinates in enumerate(self._lowered.coordinates.values()):
            saved[f"joints/value/{k}"] = coordinates.value
        for k, use in enumerate(self._lowered.law_uses):
            saved[f"joints/held/{k}"] = use.held
        for k, parameters in enumerate(self._refreshed()):
            saved[f"joints/parameters/{k}"] = parameters
        for k, laws in enumerate(self._lowered.laws):
            saved[f"joints/past/{k}"] = laws.past
            saved[f"joints/scale/{k}"] = laws.scale
        if self._lowered.exact is not None:
            saved |= self._lowered.exact.arrays()
        return saved

    def _refreshed(self) -> list[Array]:
        """Parameters that are read every frame."""
        terms = {id(use.terms): use.terms.p for use in self._lowered.term_uses}
        return [*(laws.p for laws in self._lowered.laws), *terms.values()]

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`."""
        for name, array in self.arrays().items():
            array[:] = arrays[name]
        self._rates_known = False

    def constants(self) -> dict[str, Array]:
        """What tells one set of joints from another."""
        found: dict[str, Array] = {}
        refreshed = [id(parameters) for parameters in self._refreshed()]
        for k, energy in enumerate(self._lowered.energies):
            found[f"joints/{k}/W"] = energy.stencils.W
            found[f"joints/{k}/pairs"] = energy.stencils.pairs.astype(float)
            parameters = energy.K if isinstance(energy, Coincide) else energy.p
            if id(parameters) not in refreshed:
                found[f"joints/{k}/p"] = parameters
        for rows in () if self._lowered.exact is None else self._lowered.exact.rows:
            found[f"joints/exact/{rows.stencils.W.shape[1]}/W"] = rows.stencils.W
            found[f"joints/exact/{rows.stencils.W.shape[1]}/pairs"] = rows.stencils.pairs.astype(float)
        for k, laws in enumerate(self._lowered.own_laws):
            stencils = laws.coordinates.stencils
            found[f"joints/own/{k}/W"] = stencils.W[laws.of]
            found[f"joints/own/{k}/pairs"] = stencils.pairs[laws.of].astype(float)
        return found
