"""Coordinates, laws and loads of joints: those that joints list themselves, and those that were added to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.constitution.joint.extra import JointExtra
from dovetail.constitution.laws import Hold, Stop
from dovetail.constitution.terms import AxialForce, AxialTorque, Compose
from dovetail.constitution.terms import Coordinate as CoordinateWord
from dovetail.constitution.terms import Law as LawWord
from dovetail.errors import ConstitutionError
from dovetail.solver import coordinate as _coordinates  # noqa: F401  registers the built-in coordinates
from dovetail.solver import law as _laws  # noqa: F401  registers the built-in laws
from dovetail.solver.bodies import Bodies
from dovetail.solver.joint.coordinates import Coordinates
from dovetail.solver.joint.laws import LawBatch, Laws
from dovetail.solver.joint.stencil import Stencils
from dovetail.solver.load import JointForces, JointTorques
from dovetail.typing import Array
from dovetail.world.lower.batch import Batch, parameter_values
from dovetail.world.lower.declarations import coordinate_of, law_of
from dovetail.world.lower.lowered import JointGeometry, LawOnJoints, LoadOnJoints, LoweredJoints

__all__ = ["lower_coordinates", "lower_laws", "lower_loads"]


def _composed(entry: JointGeometry) -> list[tuple[Compose, bool]]:
    """Laws on a joint geometry, and whether the joint lists them itself."""
    extras = [extra for extra in entry.extras if issubclass(extra, JointExtra)]
    added = dict.fromkeys(term for extra in extras for term in extra.laws_on(entry.kind, entry.elements))
    found = [(term, True) for term in entry.kind.terms] + [(term, False) for term in added]
    return [(term, own) for term, own in found if isinstance(term, Compose)]


def lower_coordinates(lowered: LoweredJoints) -> None:
    """Every coordinate that a joint reports or a law acts on, those of one word after the other."""
    batches: dict[CoordinateWord, Batch] = {}
    functions = {}
    for k, entry in enumerate(lowered.geometries):
        words = [*entry.kind.coordinates(), *(term.coordinate for term, _ in _composed(entry))]
        for word in dict.fromkeys(words):
            functions[word] = coordinate_of(entry, word)
            lowered.coordinate_rows[word, k] = batches.setdefault(word, Batch()).add(entry, word)
    lowered.coordinates = Coordinates([(functions[word], batch.stencils()) for word, batch in batches.items()])
    first = 0
    for word, batch in batches.items():
        for k in range(len(lowered.geometries)):
            if (word, k) in lowered.coordinate_rows:
                rows = lowered.coordinate_rows[word, k]
                lowered.coordinate_rows[word, k] = slice(first + rows.start, first + rows.stop)
        first += batch.count


def lower_laws(lowered: LoweredJoints, bodies: Bodies, Q: Array) -> None:
    """One batch for every law on a coordinate, and what refreshes it; Q are the states at init."""
    uses: dict[tuple[LawWord, CoordinateWord, bool], list[int]] = {}
    for k, entry in enumerate(lowered.geometries):
        for term, own in _composed(entry):
            uses.setdefault((term.law, term.coordinate, own), []).append(k)
    batches, inertia = [], lowered.coordinates.inertia(Q, bodies.mass, bodies.is_fixed)
    for (law, coordinate, own), entries in uses.items():
        rows = [lowered.coordinate_rows[coordinate, k] for k in entries]
        of = np.concatenate([np.arange(r.start, r.stop) for r in rows])
        functions = [law_of(lowered.geometries[k], law) for k in entries]
        p = [
            np.stack([parameter_values(lowered.geometries[k], part) for part in law.parameters], axis=1)
            for k in entries
        ]
        parameters = np.concatenate(p)
        for column, part in enumerate(law.parameters):
            if part.inertia:
                parameters[:, column] = inertia[of]
        if isinstance(law, Hold):
            # what holds exactly is no energy
            parameters[np.concatenate([lowered.geometries[k].exact for k in entries]), 0] = 0.0
        laws = LawBatch(
            functions[0], of, parameters, _column(lowered.geometries[entries[0]], law, "start"),
            _column(lowered.geometries[entries[0]], law, "step"), isinstance(law, Stop),
            _column(lowered.geometries[entries[0]], law, "predicted"),
            _column(lowered.geometries[entries[0]], law, "exerted"),
        )  # fmt: skip
        batches.append(laws)
        lowered.own_laws += [laws] if own else []
        start, held = 0, np.full(laws.count, np.nan)
        for k in entries:
            entry = lowered.geometries[k]
            word = coordinate if coordinate.prefix else entry.kind.coordinate or coordinate
            stop = start + entry.count
            lowered.law_uses.append(
                LawOnJoints(
                    entry,
                    law,
                    coordinate,
                    laws,
                    slice(start, stop),
                    word,
                    lowered.coordinate_rows[word, k],
                    held,
                )
            )
            start = stop
    lowered.laws = Laws(lowered.coordinates, batches) if batches else None


def _column(entry: JointGeometry, law: LawWord, name: str) -> int:
    """The parameter of a law that is xₙ (`start`), h (`step`), x̃ (`predicted`) or S (`exerted`), −1 if it has none."""
    found = [column for column, part in enumerate(law.parameters) if getattr(part, name)]
    if len(found) > 1:
        raise ConstitutionError(
            f"{entry.kind.__name__} '{entry.slot.object_name}': {type(law).__name__} takes {len(found)} parameters "
            f"with {name}=True; one is enough, use it twice in the function."
        )
    return found[0] if found else -1


def lower_loads(lowered: LoweredJoints) -> None:
    """Forces and torques along the axes of joints: one load for all forces, and one for all torques."""
    forces, torques = _listed(lowered, AxialForce), _listed(lowered, AxialTorque)
    for found, make, rows in ((forces, JointForces, _force_rows), (torques, JointTorques, _torque_rows)):
        if not found:
            continue
        stencils = Stencils(
            np.concatenate([entry.left for entry, _ in found]),
            np.concatenate([entry.right for entry, _ in found]),
            np.concatenate([rows(entry, word) for entry, word in found]),
            np.concatenate([entry.offset + np.arange(entry.count) for entry, _ in found]),
        )
        load = make(stencils)
        lowered.loads.append(load)
        first = 0
        for entry, word in found:
            lowered.load_uses.append(LoadOnJoints(entry, word, load.values, slice(first, first + entry.count)))
            first += entry.count


def _listed(lowered: LoweredJoints, kind: type) -> list[tuple[JointGeometry, Any]]:
    """Joint geometries with a load of some kind."""
    return [
        (entry, word)
        for entry in lowered.geometries
        for extra in entry.extras
        for word in getattr(extra, "loads", ())
        if isinstance(word, kind)
    ]


def _force_rows(entry: JointGeometry, word: AxialForce) -> Array:
    W = np.zeros((entry.count, 1, 8))
    W[:, 0, :4], W[:, 0, 4:] = 0.5 * entry.rows[word.axis]
    return W


def _torque_rows(entry: JointGeometry, word: AxialTorque) -> Array:
    W = np.zeros((entry.count, 2, 8))
    W[:, 0, :4], W[:, 1, 4:] = entry.rows[word.end] - entry.rows[word.start]
    return W
