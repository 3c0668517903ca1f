"""Joints of a scene: declarations and attributes turned into stencils, terms, coordinates, laws and loads.

Nothing here knows a joint by name. A joint class declares rows, weights, function names and attributes
(constitution/terms.py); equal declarations of all joint geometries are collected into one batch for the solver.
"""

from __future__ import annotations

import numpy as np

from dovetail.constitution.base import class_of, uid_of
from dovetail.constitution.joint.base import Joint
from dovetail.constitution.joint.frame import anchors_of
from dovetail.constitution.terms import Coincide, Slide, Term
from dovetail.errors import ConstitutionError
from dovetail.geometry import SimplicialComplexSlot
from dovetail.geometry.rows import rows_to_transforms
from dovetail.scene import Scene
from dovetail.solver.bodies import Bodies
from dovetail.solver.joint.function import ENERGIES
from dovetail.solver.joint.readback import (
    ALIGN_AXIS,
    ALIGN_FRAME,
    ALIGN_NOTHING,
    PART_ALONG,
    PART_ANYWHERE,
    PART_NOWHERE,
    JointFrames,
)
from dovetail.solver.joint.rows import Rows
from dovetail.solver.joint.terms import Terms
from dovetail.typing import Array
from dovetail.world.lower.batch import Batch, parameter_values
from dovetail.world.lower.bodies import BodyTable
from dovetail.world.lower.coupling import Couplings
from dovetail.world.lower.declarations import energy_of
from dovetail.world.lower.exact import check_loops, exact_stencils, lower_exact, lower_held, which_are_exact
from dovetail.world.lower.laws import lower_coordinates, lower_laws, lower_loads
from dovetail.world.lower.lowered import JointGeometry, LoweredJoints, TermOnJoints, by_kind

__all__ = ["lower_joints"]


def lower_joints(
    scene: Scene, table: BodyTable, bodies: Bodies, Q: Array, known: LoweredJoints | None = None
) -> LoweredJoints:
    """Collect the joints of a scene; Q are the states of the bodies at init.

    Those of geometries that are `known` stay where they sit on their bodies, wherever these have gone.
    """
    lowered = LoweredJoints()
    everywhere = bool(scene.config["joint/exact"])
    offset = 0
    for slot, _ in scene.geometries:
        if isinstance(slot, SimplicialComplexSlot) and (uid := uid_of(slot.geometry)) > 0:
            kind = class_of(uid).on(slot.geometry)
            if issubclass(kind, Joint):
                entry = _geometry(slot, kind, offset, table, bodies, everywhere)
                lowered.geometries.append(entry)
                offset += entry.count
    _place(lowered.geometries, Q, {} if known is None else {e.slot.id(): e.rows for e in known.geometries})
    if lowered.geometries:
        lowered.frames = _frames(lowered.geometries)
        _energies(lowered)
        lower_coordinates(lowered)
        lower_laws(lowered, bodies, Q)
        lower_loads(lowered)
        lowered.held = lower_held(lowered.law_uses, lowered.coordinates, bodies, Q)
        lowered.couplings = Couplings(scene, lowered, bodies, Q, everywhere)
        lowered.exact = lower_exact(lowered, bodies)
        if lowered.exact is not None:
            check_loops(lowered.exact, bodies, Q)
    return lowered


def _geometry(
    slot: SimplicialComplexSlot, kind: type[Joint], offset: int, table: BodyTable, bodies: Bodies, everywhere: bool
) -> JointGeometry:
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
    mass = bodies.mass[:, 0, 0]
    return JointGeometry(slot, kind, offset, left, right, {}, mass[left] + mass[right], exact)


def _place(entries: list[JointGeometry], Q: Array, known: dict[int, dict[str, Array]]) -> None:
    """Find where joints sit on their bodies, which are at Q, but for those that are known."""
    new = []
    for entry in entries:
        rows = known.get(entry.slot.id(), {})
        if rows and rows["c"].shape[1] == entry.count:
            entry.rows.update(rows)
        else:
            new.append(entry)
    if new:
        pairs = np.stack([np.concatenate([getattr(entry, side) for entry in new]) for side in ("left", "right")])
        poses = np.stack([rows_to_transforms(Q[bodies]) for bodies in pairs])
        for entry, rows in zip(new, anchors_of([(e.geometry, e.slot.object_name) for e in new], poses), strict=True):
            entry.rows.update(rows)


def _frames(entries: list[JointGeometry]) -> JointFrames:
    left, right = (np.concatenate([getattr(entry, side) for entry in entries]) for side in ("left", "right"))
    rows = np.empty((2, len(left), 5, 4))
    parts, aligns = np.empty((2, len(left)), np.int64)
    for kind, alike in by_kind(entries).items():
        at = np.concatenate([np.arange(entry.offset, entry.offset + entry.count) for entry in alike])
        held = {term.row for term in kind.terms if isinstance(term, Coincide)}
        for k, row in enumerate(("c", "x1" if "x1" in held else "c", "t", "n", "b")):
            rows[:, at, k] = np.concatenate([entry.rows[row] for entry in alike], axis=1)
        slides, meets = any(isinstance(term, Slide) for term in kind.terms), held & {"c", "x0", "x1"}
        parts[at] = PART_ALONG if slides else PART_NOWHERE if meets else PART_ANYWHERE
        axis = {"x0", "x1"} <= held or "t" in held
        aligns[at] = ALIGN_FRAME if {"n", "b"} <= held else ALIGN_AXIS if axis else ALIGN_NOTHING
    return JointFrames(left=left, right=right, left_rows=rows[0], right_rows=rows[1], parts=parts, aligns=aligns)


def _energies(lowered: LoweredJoints) -> None:
    rows: dict[type[Term], tuple[Batch, list[Array]]] = {Coincide: (Batch(), []), Slide: (Batch(), [])}
    batches: dict[str, tuple[Batch, list[Array]]] = {}
    live: dict[str, list[tuple[JointGeometry, Term, slice]]] = {}
    for entry in lowered.geometries:
        for term in entry.kind.terms:
            # what holds exactly is no energy
            chosen = np.flatnonzero(~entry.exact) if isinstance(term, (Coincide, Slide)) else np.arange(entry.count)
            if not chosen.size:
                continue
            if isinstance(term, (Coincide, Slide)):
                batch, K = rows[type(term)]
                batch.add(entry, term, chosen)
                K.append(parameter_values(entry, term.parameters[0])[chosen])
            elif isinstance(term, Term):
                name = energy_of(entry, term).name
                batch, parameters = batches.setdefault(name, (Batch(), []))
                taken = batch.add(entry, term, chosen)
                parameters.append(np.stack([parameter_values(entry, p)[chosen] for p in term.parameters], axis=1))
                if any(p.attribute != "strength_ratio" for p in term.parameters):
                    live.setdefault(name, []).append((entry, term, taken))
    exact = exact_stencils(lowered.geometries)
    made = [
        Rows(batch.stencils(m), np.concatenate([np.zeros(0), *K]), exact[m])
        for m, (batch, K) in enumerate(rows.values(), 1)
    ]
    lowered.points, lowered.slides = made
    for name, (batch, parameters) in batches.items():
        terms = Terms(ENERGIES[name], batch.stencils(), np.concatenate(parameters))
        lowered.terms.append(terms)
        lowered.term_uses += [TermOnJoints(entry, term, terms, taken) for entry, term, taken in live.get(name, ())]
