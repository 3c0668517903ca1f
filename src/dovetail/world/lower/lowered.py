"""What the lowering of joints leaves: the joint geometries, and which rows of the solver's batches are theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dovetail import builtin
from dovetail.constitution.base import IConstitution, class_of
from dovetail.constitution.joint.base import Joint
from dovetail.constitution.terms import AxialForce, AxialTorque, Stenciled, Term
from dovetail.constitution.terms import Coordinate as CoordinateWord
from dovetail.constitution.terms import Law as LawWord
from dovetail.geometry import AttributeCollection, SimplicialComplex, SimplicialComplexSlot
from dovetail.solver.joint.combined import Combined
from dovetail.solver.joint.coordinates import Coordinates
from dovetail.solver.joint.exact import ExactJoints
from dovetail.solver.joint.laws import LawBatch, Laws
from dovetail.solver.joint.readback import ALIGN_FRAME, PART_NOWHERE, JointFrames
from dovetail.solver.joint.rows import Rows
from dovetail.solver.joint.stencil import Stencils
from dovetail.solver.joint.terms import Terms
from dovetail.solver.load import JointForces, JointTorques
from dovetail.typing import Array, Flags, Indices
from dovetail.world.lower.coupling import Couplings

__all__ = [
    "JointGeometry",
    "LawOnJoints",
    "LoadOnJoints",
    "LoweredJoints",
    "TermOnJoints",
    "by_kind",
    "no_rows",
    "stencils_of",
]


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

    @cached_property
    def geometry(self) -> SimplicialComplex:
        return self.slot.geometry

    @cached_property
    def elements(self) -> AttributeCollection:
        return self.kind.elements(self.geometry)

    @cached_property
    def extras(self) -> list[type[IConstitution]]:
        """Classes of the drives, limits and loads on it."""
        uids: list[int] = []
        for name in (builtin.constraint_uids, builtin.extra_constitution_uids):
            slot = self.geometry.meta.find(name)
            uids += [] if slot is None else slot.first.tolist()
        return [class_of(uid) for uid in uids]


def stencils_of(entries: Sequence[JointGeometry], declared: Stenciled) -> Array:
    """W (n, m, 8) of a declaration that all joints of some geometries have."""
    W = np.zeros((sum(entry.count for entry in entries), len(declared.stencil), 8))
    for m, (row, left, right, *divisor) in enumerate(declared.stencil):
        rows = np.concatenate([entry.rows[row] for entry in entries], axis=1)
        W[:, m, :4], W[:, m, 4:] = left * rows[0], right * rows[1]
        for attribute in divisor:
            W[:, m] /= np.concatenate([entry.elements.slot(attribute).values for entry in entries])[:, None]
    return W


def by_kind(entries: Sequence[JointGeometry]) -> dict[type[Joint], list[JointGeometry]]:
    """Joint geometries of one kind together: what these have in common is done for all of them at once."""
    found: dict[type[Joint], list[JointGeometry]] = {}
    for entry in entries:
        found.setdefault(entry.kind, []).append(entry)
    return found


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
    laws: LawBatch
    rows: slice
    base_word: CoordinateWord  # the law's own coordinate if the joint reports it, else the main one that it reports
    base_rows: slice  # of all coordinates
    held: Array  # of the whole batch: value at which each is held; NaN where it is not
    held_rows: slice = field(default_factory=lambda: slice(0, 0))  # rows of exact joints that hold the coordinate


@dataclass
class LoadOnJoints:
    """A load of one joint geometry: force or torque, its switch, and the array it fills."""

    entry: JointGeometry
    word: AxialForce | AxialTorque
    values: Array
    rows: slice

    @property
    def name(self) -> str:
        """The attribute with the force or torque."""
        return self.word.force if isinstance(self.word, AxialForce) else self.word.torque


@dataclass
class LoweredJoints:
    """All joints of a scene as the solver takes them, and what refresh and read-back need."""

    geometries: list[JointGeometry] = field(default_factory=list)
    frames: JointFrames | None = None
    points: Rows = field(default_factory=lambda: no_rows(1))
    slides: Rows = field(default_factory=lambda: no_rows(2))
    terms: list[Terms] = field(default_factory=list)
    exact: ExactJoints | None = None
    held: Combined | None = None  # coordinates that exact joints hold
    couplings: Couplings | None = None
    term_uses: list[TermOnJoints] = field(default_factory=list)
    coordinates: Coordinates = field(default_factory=lambda: Coordinates([]))
    coordinate_rows: dict[tuple[CoordinateWord, int], slice] = field(default_factory=dict)  # by word and geometry
    laws: Laws | None = None
    own_laws: list[LawBatch] = field(default_factory=list)  # those that joints list themselves: part of their reaction
    law_uses: list[LawOnJoints] = field(default_factory=list)
    loads: list[JointForces | JointTorques] = field(default_factory=list)
    load_uses: list[LoadOnJoints] = field(default_factory=list)

    @property
    def pairs(self) -> Indices:
        """Left and right bodies (k, 2) of all joints."""
        found = [np.stack([entry.left, entry.right], axis=1) for entry in self.geometries]
        return np.concatenate([np.zeros((0, 2), np.int64), *found])

    @property
    def welded(self) -> Indices:
        """Left and right bodies (k, 2) of joints that leave them no motion."""
        if self.frames is None:
            return np.zeros((0, 2), np.int64)
        holds = (self.frames.parts == PART_NOWHERE) & (self.frames.aligns == ALIGN_FRAME)
        found: Indices = np.stack([self.frames.left, self.frames.right], axis=1)[holds]
        return found

    @property
    def law_batches(self) -> list[LawBatch]:
        return [] if self.laws is None else self.laws.batches


def no_rows(m: int) -> Rows:
    """No points (m = 1) or slides (m = 2)."""
    return Rows(Stencils.none(m), np.zeros(0), Stencils.none(m))
