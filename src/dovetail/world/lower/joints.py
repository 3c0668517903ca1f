"""Joints of a scene: declarations and attributes turned into stencils, terms, coordinates, laws and loads.

Nothing here knows a joint by name. A joint class declares rows, weights, function names and attributes
(constitution/terms.py); equal declarations of all joint geometries are collected into one batch for the solver.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dovetail import builtin
from dovetail.constitution.base import class_of, uid_of
from dovetail.constitution.joint.base import Joint
from dovetail.constitution.joint.extra import JointExtra
from dovetail.constitution.joint.frame import anchors
from dovetail.constitution.laws import Hold, Stop
from dovetail.constitution.terms import AxialForce, AxialTorque, Coincide, Compose, Parameter, Slide, Stenciled, Term
from dovetail.constitution.terms import Coordinate as CoordinateWord
from dovetail.constitution.terms import Law as LawWord
from dovetail.errors import ConstitutionError
from dovetail.geometry import AttributeCollection, SimplicialComplex, SimplicialComplexSlot
from dovetail.geometry.rows import rows_to_transforms
from dovetail.scene import Scene
from dovetail.solver import coordinate as _coordinates  # noqa: F401  registers the built-in coordinates
from dovetail.solver import law as _laws  # noqa: F401  registers the built-in laws
from dovetail.solver.energy.coincide import Coincide as CoincideRows
from dovetail.solver.energy.slide import slide
from dovetail.solver.joint.combined import Combined
from dovetail.solver.joint.exact import ExactJoints
from dovetail.solver.joint.function import ENERGIES
from dovetail.solver.joint.rate_laws import RateLaws
from dovetail.solver.joint.readback import (
    ALIGN_AXIS,
    ALIGN_FRAME,
    ALIGN_NOTHING,
    PART_ALONG,
    PART_ANYWHERE,
    PART_NOWHERE,
    JointFrames,
)
from dovetail.solver.joint.stencil import Stencils
from dovetail.solver.joint.stops import Stops
from dovetail.solver.joint.terms import Coordinates, Laws, Terms
from dovetail.solver.load import JointForces, JointTorques
from dovetail.solver.system import Bodies
from dovetail.typing import Array, Flags, Indices
from dovetail.world.lower.bodies import BodyTable
from dovetail.world.lower.coupling import Couplings
from dovetail.world.lower.declarations import coordinate_of, energy_of, law_of
from dovetail.world.lower.exact import check_loops, lower_exact, lower_held, which_are_exact

__all__ = ["JointGeometry", "LawOnJoints", "LoadOnJoints", "LoweredJoints", "TermOnJoints", "lower_joints"]

assert slide.name in ENERGIES


@dataclass(frozen=True)
class JointGeometry:
    """A geometry whose edges or vertices are joints `offset` … `offset + count − 1`."""

    slot: SimplicialComplexSlot
    kind: type[Joint]
    offset: int
    left: Indices
    right: Indices
    rows: dict[str, Array]  # name → (2, count, 4), left and right body
    mass: Array  # m_i + m_j
    exact: Flags  # whether the joint is held by multipliers; (count,)

    @property
    def count(self) -> int:
        return len(self.left)

    @property
    def joints(self) -> slice:
        return slice(self.offset, self.offset + self.count)

    @property
    def geometry(self) -> SimplicialComplex:
        return self.slot.geometry

    @property
    def elements(self) -> AttributeCollection:
        return self.kind.elements(self.geometry)

    def stencils(self, declared: Stenciled) -> Array:
        """W (count, m, 8) of a declaration."""
        W = np.zeros((self.count, len(declared.stencil), 8))
        for m, (row, left, right, *divisor) in enumerate(declared.stencil):
            W[:, m, :4] = left * self.rows[row][0]
            W[:, m, 4:] = right * self.rows[row][1]
            for attribute in divisor:
                W[:, m] /= self.elements.slot(attribute).values[:, None]
        return W


@dataclass
class TermOnJoints:
    """A term of one joint geometry with parameters that are read every frame, and the rows of the batch they fill."""

    entry: JointGeometry
    word: Term
    terms: Terms
    rows: slice


@dataclass
class LawOnJoints:
    """A law of one joint geometry: where its parameters come from and which rows of the batch they fill."""

    entry: JointGeometry
    word: LawWord
    coordinate: CoordinateWord
    laws: Laws
    rows: slice
    base_word: CoordinateWord  # the law's own coordinate if the joint reports it, else the main one that it reports
    base: Coordinates
    base_rows: slice
    held: Array  # value at which each is held; NaN where it is not
    held_rows: slice = field(default_factory=lambda: slice(0))  # rows of exact joints that hold the coordinate


@dataclass
class LoadOnJoints:
    """A load of one joint geometry: force or torque, its switch, and the array it fills."""

    entry: JointGeometry
    word: AxialForce | AxialTorque
    values: Array
    rows: slice


@dataclass
class LoweredJoints:
    """All joints of a scene as the solver takes them, and what refresh and read-back need."""

    geometries: list[JointGeometry] = field(default_factory=list)
    frames: JointFrames | None = None
    energies: list[CoincideRows | Terms] = field(default_factory=list)
    exact: ExactJoints | None = None
    held: Combined | None = None  # coordinates that exact joints hold
    couplings: Couplings | None = None
    term_uses: list[TermOnJoints] = field(default_factory=list)
    coordinates: dict[CoordinateWord, Coordinates] = field(default_factory=dict)
    coordinate_rows: dict[tuple[CoordinateWord, int], slice] = field(default_factory=dict)
    laws: list[Laws] = field(default_factory=list)
    own_laws: list[Laws] = field(default_factory=list)  # those that joints list themselves: part of their reaction
    law_uses: list[LawOnJoints] = field(default_factory=list)
    loads: list[JointForces | JointTorques] = field(default_factory=list)
    load_uses: list[LoadOnJoints] = field(default_factory=list)

    @property
    def pairs(self) -> Indices:
        """Left and right bodies (k, 2) of all joints."""
        found = [np.stack([entry.left, entry.right], axis=1) for entry in self.geometries]
        return np.concatenate([np.zeros((0, 2), np.int64), *found])

    @property
    def holding(self) -> list[CoincideRows | Terms | Laws]:
        """What the joints themselves consist of, without what was added to them."""
        return [*self.energies, *self.own_laws]


def lower_joints(scene: Scene, table: BodyTable, bodies: Bodies, Q: Array) -> LoweredJoints:
    """Collect the joints of a scene; Q are the states of the bodies at init."""
    lowered = LoweredJoints()
    everywhere = bool(scene.config["joint/exact"])
    offset = 0
    for slot, _ in scene.geometries:
        if isinstance(slot, SimplicialComplexSlot) and uid_of(slot.geometry) > 0:
            kind = class_of(uid_of(slot.geometry))
            if issubclass(kind, Joint):
                entry = _geometry(slot, kind, offset, table, bodies, Q, everywhere)
                lowered.geometries.append(entry)
                offset += entry.count
    if lowered.geometries:
        lowered.frames = _frames(lowered.geometries)
        _energies(lowered)
        _coordinate_batches(lowered)
        _law_batches(lowered, bodies, Q)
        _load_batches(lowered)
        lowered.held = lower_held(lowered.law_uses, bodies, Q)
        lowered.couplings = Couplings(scene, lowered, bodies, Q, everywhere)
        combined = [rows for rows in (lowered.held, lowered.couplings.exact) if rows is not None]
        lowered.exact = lower_exact(lowered.geometries, bodies, combined)
        if lowered.exact is not None:
            check_loops(lowered.exact, bodies, Q)
    return lowered


def _geometry(
    slot: SimplicialComplexSlot, kind: type[Joint], offset: int, table: BodyTable, bodies: Bodies, Q: Array,
    everywhere: bool,
) -> JointGeometry:  # fmt: skip
    elements = kind.elements(slot.geometry)
    who = f"{kind.__name__} '{slot.object_name}'"
    left, right = (
        table.body_of(elements.slot(f"{side}_geo_id").values, elements.slot(f"{side}_inst_id").values, who)
        for side in "lr"
    )
    same = np.flatnonzero(left == right)
    if same.size:
        raise ConstitutionError(f"{who}: joint {same[0]} connects {table.name(int(left[same[0]]))} with itself.")
    exact = which_are_exact(kind, elements.slot("strength_ratio").values, everywhere, who)
    rows = anchors(slot.geometry, rows_to_transforms(Q[left]), rows_to_transforms(Q[right]), slot.object_name)
    mass = bodies.mass[:, 0, 0]
    return JointGeometry(slot, kind, offset, left, right, rows, mass[left] + mass[right], exact)


def _frames(entries: list[JointGeometry]) -> JointFrames:
    sides = []
    for side in (0, 1):
        parts = []
        for entry in entries:
            second = "x1" if Coincide("x1") in entry.kind.terms else "c"
            parts.append(np.stack([entry.rows[row][side] for row in ("c", second, "t", "n", "b")], axis=1))
        sides.append(np.ascontiguousarray(np.concatenate(parts)))
    parts, aligns = [], []
    for entry in entries:
        slides = any(isinstance(term, Slide) for term in entry.kind.terms)
        meets = any(isinstance(term, Coincide) and term.row in ("c", "x0", "x1") for term in entry.kind.terms)
        parts.append(np.full(entry.count, PART_ALONG if slides else PART_NOWHERE if meets else PART_ANYWHERE))
        held = {term.row for term in entry.kind.terms if isinstance(term, Coincide)}
        axis = {"x0", "x1"} <= held or "t" in held
        align = ALIGN_FRAME if {"n", "b"} <= held else ALIGN_AXIS if axis else ALIGN_NOTHING
        aligns.append(np.full(entry.count, align))
    left, right = (np.concatenate([getattr(entry, side) for entry in entries]) for side in ("left", "right"))
    return JointFrames(left, right, sides[0], sides[1], np.concatenate(parts), np.concatenate(aligns))


class _Batch:
    """Stencils of several joint geometries under one declaration."""

    def __init__(self) -> None:
        self._entries: list[tuple[JointGeometry, Indices, Array]] = []
        self.count = 0

    def add(self, entry: JointGeometry, declared: Stenciled, chosen: Indices | None = None) -> slice:
        """Append the joints of a geometry, or those chosen; the rows they get."""
        joints = np.arange(entry.count) if chosen is None else chosen
        self._entries.append((entry, joints, entry.stencils(declared)[joints]))
        rows = slice(self.count, self.count + len(joints))
        self.count += len(joints)
        return rows

    def stencils(self) -> Stencils:
        return Stencils(
            np.concatenate([entry.left[joints] for entry, joints, _ in self._entries]),
            np.concatenate([entry.right[joints] for entry, joints, _ in self._entries]),
            np.concatenate([W for _, _, W in self._entries]),
            np.concatenate([entry.offset + joints for entry, joints, _ in self._entries]),
        )


def _parameter(entry: JointGeometry, parameter: Parameter) -> Array:
    """Values of one parameter of every joint of a geometry; 0 for now where it depends on the step."""
    if parameter.value is not None:
        return np.full(entry.count, parameter.value)
    if not parameter.attribute:
        return np.zeros(entry.count)
    values: Array = entry.elements.slot(parameter.attribute).values.astype(float)
    return values * entry.mass if parameter.times_mass else values


def _energies(lowered: LoweredJoints) -> None:
    linear, K = _Batch(), []
    batches: dict[str, tuple[_Batch, list[Array]]] = {}
    live: dict[str, list[tuple[JointGeometry, Term, slice]]] = {}
    for entry in lowered.geometries:
        for term in entry.kind.terms:
            # what holds exactly is no energy
            chosen = np.flatnonzero(~entry.exact) if isinstance(term, (Coincide, Slide)) else np.arange(entry.count)
            if not chosen.size:
                continue
            if isinstance(term, Coincide):
                linear.add(entry, term, chosen)
                K.append(_parameter(entry, term.parameters[0])[chosen])
            elif isinstance(term, Term):
                name = energy_of(entry, term).name
                batch, parameters = batches.setdefault(name, (_Batch(), []))
                rows = batch.add(entry, term, chosen)
                parameters.append(np.stack([_parameter(entry, p)[chosen] for p in term.parameters], axis=1))
                if any(p.attribute != "strength_ratio" for p in term.parameters):
                    live.setdefault(name, []).append((entry, term, rows))
    if K:
        lowered.energies.append(CoincideRows(linear.stencils(), np.concatenate(K)))
    for name, (batch, parameters) in batches.items():
        terms = Terms(ENERGIES[name], batch.stencils(), np.concatenate(parameters))
        lowered.energies.append(terms)
        lowered.term_uses += [TermOnJoints(entry, term, terms, rows) for entry, term, rows in live.get(name, ())]


def _extras(entry: JointGeometry) -> list[Any]:
    """Classes of the drives, limits and loads on a joint geometry."""
    uids: list[int] = []
    for name in (builtin.constraint_uids, builtin.extra_constitution_uids):
        slot = entry.geometry.meta.find(name)
        uids += [int(uid) for uid in slot.values[0]] if slot is not None else []
    return [class_of(uid) for uid in uids]


def _composed(entry: JointGeometry) -> list[tuple[Compose, bool]]:
    """Laws on a joint geometry, and whether the joint lists them itself."""
    extras = [extra for extra in _extras(entry) if issubclass(extra, JointExtra)]
    added = dict.fromkeys(term for extra in extras for term in extra.laws_on(entry.kind, entry.elements))
    found = [(term, True) for term in entry.kind.terms] + [(term, False) for term in added]
    return [(term, own) for term, own in found if isinstance(term, Compose)]


def _coordinate_batches(lowered: LoweredJoints) -> None:
    batches: dict[CoordinateWord, _Batch] = {}
    functions = {}
    for k, entry in enumerate(lowered.geometries):
        words = [*entry.kind.coordinates(), *(term.coordinate for term, _ in _composed(entry))]
        for word in dict.fromkeys(words):
            functions[word] = coordinate_of(entry, word)
            lowered.coordinate_rows[word, k] = batches.setdefault(word, _Batch()).add(entry, word)
    for word, batch in batches.items():
        lowered.coordinates[word] = Coordinates(functions[word], batch.stencils())


def _law_batches(lowered: LoweredJoints, bodies: Bodies, Q: Array) -> None:
    uses: dict[tuple[LawWord, CoordinateWord, bool], list[int]] = {}
    for k, entry in enumerate(lowered.geometries):
        for term, own in _composed(entry):
            uses.setdefault((term.law, term.coordinate, own), []).append(k)
    for (law, coordinate, own), entries in uses.items():
        rows = [lowered.coordinate_rows[coordinate, k] for k in entries]
        of = np.concatenate([np.arange(r.start, r.stop) for r in rows])
        functions = [law_of(lowered.geometries[k], law) for k in entries]
        p = [np.stack([_parameter(lowered.geometries[k], part) for part in law.parameters], axis=1) for k in entries]
        batch, parameters = lowered.coordinates[coordinate], np.concatenate(p)
        for column, part in enumerate(law.parameters):
            if part.inertia:
                parameters[:, column] = batch.inertia(Q, bodies.mass, bodies.is_fixed)[of]
        if isinstance(law, Hold):
            # what holds exactly is no energy
            parameters[np.concatenate([lowered.geometries[k].exact for k in entries]), 0] = 0.0
        starts = [column for column, part in enumerate(law.parameters) if part.start]
        steps = [column for column, part in enumerate(law.parameters) if part.step]
        laws = (
            RateLaws(functions[0], batch, of, parameters, starts=starts, steps=steps)
            if starts
            else (Stops if isinstance(law, Stop) else Laws)(functions[0], batch, of, parameters)
        )
        lowered.laws.append(laws)
        lowered.own_laws += [laws] if own else []
        start = 0
        for k in entries:
            entry = lowered.geometries[k]
            word = entry.kind.coordinate or coordinate
            if coordinate in entry.kind.further:
                word = coordinate
            stop = start + entry.count
            lowered.law_uses.append(
                LawOnJoints(
                    entry,
                    law,
                    coordinate,
                    laws,
                    slice(start, stop),
                    word,
                    lowered.coordinates[word],
                    lowered.coordinate_rows[word, k],
                    np.full(entry.count, np.nan),
                )
            )
            start = stop


def _load_batches(lowered: LoweredJoints) -> None:
    for entry in lowered.geometries:
        for extra in _extras(entry):
            for word in getattr(extra, "loads", ()):
                joints = entry.offset + np.arange(entry.count)
                if isinstance(word, AxialForce):
                    W = np.zeros((entry.count, 1, 8))
                    W[:, 0, :4], W[:, 0, 4:] = 0.5 * entry.rows[word.axis]
                    force = JointForces(Stencils(entry.left, entry.right, W, joints))
                    lowered.loads.append(force)
                    lowered.load_uses.append(LoadOnJoints(entry, word, force.f, slice(None)))
                else:
                    W = np.zeros((entry.count, 2, 8))
                    axis = entry.rows[word.end] - entry.rows[word.start]
                    W[:, 0, :4], W[:, 1, 4:] = axis
                    torque = JointTorques(Stencils(entry.left, entry.right, W, joints))
                    lowered.loads.append(torque)
                    lowered.load_uses.append(LoadOnJoints(entry, word, torque.tau, slice(None)))
