"""Affine bodies of a scene: which instance is which body, and their constant properties."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dovetail import builtin
from dovetail.checked import LARGEST
from dovetail.constitution import AffineBodyConstitution
from dovetail.constitution.base import fill, uid_of
from dovetail.errors import ConstitutionError
from dovetail.geometry import SimplicialComplex, SimplicialComplexSlot
from dovetail.geometry.rows import transforms_to_rows
from dovetail.scene import Scene
from dovetail.solver.bodies import Bodies
from dovetail.typing import Array, Indices

__all__ = ["BodyGeometry", "BodyTable", "lower_bodies"]


@dataclass(frozen=True)
class BodyGeometry:
    """A geometry whose instances are bodies `offset` … `offset + count − 1`."""

    slot: SimplicialComplexSlot
    offset: int
    count: int

    @property
    def geometry(self) -> SimplicialComplex:
        return self.slot.geometry

    @property
    def bodies(self) -> slice:
        return slice(self.offset, self.offset + self.count)


@dataclass(frozen=True)
class BodyTable:
    """All affine-body geometries in body order: OrthoPotential first, then ARAP, each in order of slot ids."""

    geometries: tuple[BodyGeometry, ...]

    @property
    def count(self) -> int:
        return sum(entry.count for entry in self.geometries)

    @cached_property
    def _by_slot(self) -> dict[int, BodyGeometry]:
        return {entry.slot.id(): entry for entry in self.geometries}

    def name(self, body: int) -> str:
        """How messages call a body."""
        for entry in self.geometries:
            if entry.offset <= body < entry.offset + entry.count:
                return f"instance {body - entry.offset} of '{entry.slot.object_name}' (geometry {entry.slot.id()})"
        return f"body {body}"

    def body_of(self, geometry_ids: Indices, instance_ids: Indices, who: str) -> Indices:
        """Body index of each (slot id, instance); both must exist."""
        entries = self._by_slot
        bodies = np.empty(len(geometry_ids), np.int64)
        for k, (geometry, instance) in enumerate(zip(geometry_ids.tolist(), instance_ids.tolist(), strict=True)):
            entry = entries.get(geometry)
            if entry is None:
                raise ConstitutionError(
                    f"{who}: joint {k} names geometry {geometry}, which is not an affine body; "
                    f"affine bodies are {sorted(entries)}."
                )
            if not 0 <= instance < entry.count:
                raise ConstitutionError(
                    f"{who}: joint {k} connects instance {instance} of '{entry.slot.object_name}', "
                    f"which has {entry.count} instances (0..{entry.count - 1})."
                )
            bodies[k] = entry.offset + instance
        return bodies


def lower_bodies(scene: Scene) -> tuple[BodyTable, Bodies, Array, Array]:
    """Body table, constant properties, and the initial Q and V (n, 4, 3)."""
    listed = [(uid_of(slot.geometry), slot) for slot, _ in scene.geometries if isinstance(slot, SimplicialComplexSlot)]
    found = [slot for wanted in sorted(AffineBodyConstitution.uids) for uid, slot in listed if uid == wanted]
    entries = []
    offset = 0
    for slot in found:
        count = slot.geometry.instances.size()
        entries.append(BodyGeometry(slot, offset, count))
        offset += count
    table = BodyTable(tuple(entries))
    mass = np.zeros((offset, 4, 4))
    scalars = {name: np.zeros(offset) for name in ("stiffness", "model", "is_fixed", "is_dynamic", "external_kinetic")}
    gravity = np.tile(np.asarray(scene.config["gravity"], float).reshape(3), (offset, 1))
    centre, half = np.zeros((offset, 3)), np.zeros((offset, 3))
    Q, V = np.zeros((offset, 4, 3)), np.zeros((offset, 4, 3))
    for entry in entries:
        meta, instances, here = entry.geometry.meta, entry.geometry.instances, entry.bodies
        mass[here, 0, 0] = meta.slot("abd_mass").values[0]
        mass[here, 0, 1:] = mass[here, 1:, 0] = meta.slot("abd_mass_x_bar").values[0]
        mass[here, 1:, 1:] = meta.slot("abd_mass_x_bar_x_bar").values[0]
        scalars["stiffness"][here] = instances.slot("kappa").values * meta.slot("volume").values[0]
        scalars["model"][here] = uid_of(entry.geometry)
        for flag in (builtin.is_fixed, builtin.is_dynamic, builtin.external_kinetic):
            scalars[flag][here] = instances.slot(flag).values
        own = instances.find(builtin.gravity)
        if own is not None:
            gravity[here] = own.values
        points = entry.geometry.positions.values
        if not len(points):  # a body of mass alone moves as its centre does
            points = meta.slot("mass_center").values
        low, high = points.min(axis=0), points.max(axis=0)
        centre[here], half[here] = (low + high) / 2, (high - low) / 2
        Q[here] = transforms_to_rows(entry.geometry.transforms.values)
        V[here] = transforms_to_rows(instances.slot(builtin.velocity).values)
    for what, values in (("transform", Q), ("velocity", V), ("gravity", gravity), ("mass", mass)):
        _refuse_not_finite(table, what, values)
    _refuse_inverted(table, Q)
    _refuse_without_inertia(table, mass)
    V[scalars["is_fixed"] != 0] = 0.0
    _describe(table)
    integers = {name: scalars[name].astype(np.int64) for name in scalars if name != "stiffness"}
    bodies = Bodies(
        mass=mass, stiffness=scalars["stiffness"], gravity=gravity, centre=centre, half=half, name=table.name,
        **integers
    )  # fmt: skip
    return table, bodies, Q, V


def _refuse_not_finite(table: BodyTable, what: str, values: Array) -> None:
    most = np.finfo(float).max if what == "velocity" else LARGEST  # a step with too much speed ends in an error
    bad = np.flatnonzero(~(np.abs(values) <= most).all(axis=tuple(range(1, values.ndim))))
    if bad.size:
        raise ConstitutionError(
            f"World.init: the {what} of {table.name(int(bad[0]))} has entries that are not finite, or larger than "
            f"{LARGEST:g}; give ordinary numbers."
        )


def _refuse_inverted(table: BodyTable, Q: Array) -> None:
    det = np.linalg.det(Q[:, 1:])
    bad = np.flatnonzero(~(det > 0))
    if bad.size:
        raise ConstitutionError(
            f"World.init: the transform of {table.name(int(bad[0]))} has determinant {det[bad[0]]:.3g}, "
            "it mirrors or flattens the body; mirror the mesh instead and give a rotation."
        )


def _refuse_without_inertia(table: BodyTable, mass: Array) -> None:
    sign, _ = np.linalg.slogdet(mass)
    bad = np.flatnonzero(~(sign > 0))
    if bad.size:
        raise ConstitutionError(
            f"World.init: the mass moments of {table.name(int(bad[0]))} are singular or negative, so that a motion of "
            "it would have no inertia; apply the constitution again."
        )


def _describe(table: BodyTable) -> None:
    """Write what libuipc's backend writes into meta: where the bodies and vertices of a geometry are."""
    vertex = 0
    for entry in table.geometries:
        values = {
            "backend_abd_body_offset": entry.offset,
            "global_vertex_offset": vertex,
            "dof_offset": 12 * entry.offset,
            "dof_count": 12 * entry.count,
        }
        vertex += entry.count * entry.geometry.vertices.size()
        for name, value in values.items():
            fill(entry.geometry.meta, name, value)
