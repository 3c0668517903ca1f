"""Coordinates, laws and loads of joints: those that joints list themselves, and those that were added to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import builtin
from dovetail.constitution.base import class_of
from dovetail.constitution.joint.extra import JointExtra
from dovetail.constitution.laws import Hold, Stop
from dovetail.constitution.terms import AxialForce, Compose
from dovetail.constitution.terms import Coordinate as CoordinateWord
from dovetail.constitution.terms import Law as LawWord
from dovetail.solver import coordinate as _coordinates  # noqa: F401  registers the built-in coordinates
from dovetail.solver import law as _laws  # noqa: F401  registers the built-in laws
from dovetail.solver.joint.rate_laws import RateLaws
from dovetail.solver.joint.stencil import Stencils
from dovetail.solver.joint.stops import Stops
from dovetail.solver.joint.terms import Coordinates, Laws
from dovetail.solver.load import JointForces, JointTorques
from dovetail.solver.system import Bodies
from dovetail.typing import Array
from dovetail.world.lower.batch import Batch, parameter_values
from dovetail.world.lower.declarations import coordinate_of, law_of
from dovetail.world.lower.lowered import JointGeometry, LawOnJoints, LoadOnJoints, LoweredJoints

__all__ = ["lower_coordinates", "lower_laws", "lower_loads"]


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


def lower_coordinates(lowered: LoweredJoints) -> None:
    """One batch for every coordinate that a joint reports or a law acts on."""
    batches: dict[CoordinateWord, Batch] = {}
    functions = {}
    for k, entry in enumerate(lowered.geometries):
        words = [*entry.kind.coordinates(), *(term.coordinate for term, _ in _composed(entry))]
        for word in dict.fromkeys(words):
            functions[word] = coordinate_of(entry, word)
            lowered.coordinate_rows[word, k] = batches.setdefault(word, Batch()).add(entry, word)
    for word, batch in batches.items():
        lowered.coordinates[word] = Coordinates(functions[word], batch.stencils())


def lower_laws(lowered: LoweredJoints, bodies: Bodies, Q: Array) -> None:
    """One batch for every law on a coordinate, and what refreshes it; Q are the states at init."""
    uses: dict[tuple[LawWord, CoordinateWord, bool], list[int]] = {}
    for k, entry in enumerate(lowered.geometries):
        for term, own in _composed(entry):
            uses.setdefault((term.law, term.coordinate, own), []).append(k)
    for (law, coordinate, own), entries in uses.items():
        rows = [lowered.coordinate_rows[coordinate, k] for k in entries]
        of = np.concatenate([np.arange(r.start, r.stop) for r in rows])
        functions = [law_of(lowered.geometries[k], law) for k in entries]
        p = [
            np.stack([parameter_values(lowered.geometries[k], part) for part in law.parameters], axis=1)
            for k in entries
        ]
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


def lower_loads(lowered: LoweredJoints) -> None:
    """Forces and torques along the axes of joints."""
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
