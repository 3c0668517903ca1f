"""After the animator: attributes that steer bodies, copied into the solver's parameters for one step."""

from __future__ import annotations

import numpy as np

from dovetail import builtin
from dovetail.constitution import SoftTransformConstraint
from dovetail.errors import ConstitutionError
from dovetail.geometry import Geometry
from dovetail.geometry.rows import q_to_rows, transforms_to_rows
from dovetail.solver.load import BodyForces
from dovetail.solver.model import Model
from dovetail.typing import Array
from dovetail.world.lower.bodies import BodyGeometry, BodyTable

__all__ = ["BodyRefresh"]

_SOFT_TRANSFORM = 16
_BODY_FORCE = 666


def _carries(geometry: Geometry, uid: int) -> bool:
    slot = geometry.meta.find(builtin.constraint_uids)
    return slot is not None and uid in slot.values[0]


class BodyRefresh:
    """Soft transforms (16) and external forces (666) of all bodies that have them."""

    def __init__(self, table: BodyTable, model: Model, forces: BodyForces) -> None:
        self._table, self._model, self._forces = table, model, forces
        self._soft = [entry for entry in table.geometries if _carries(entry.geometry, _SOFT_TRANSFORM)]
        self._forced = [entry for entry in table.geometries if _carries(entry.geometry, _BODY_FORCE)]

    def run(self) -> None:
        """Read `is_constrained`, targets, strengths and forces as they are now."""
        if self._soft:
            self._read_soft_transforms()
        if self._forced:
            self._read_forces()

    def _read_soft_transforms(self) -> None:
        bodies, strengths, targets = [], [], []
        fixed = self._model.bodies.is_fixed
        for entry in self._soft:
            instances = entry.geometry.instances
            on = (instances.slot("is_constrained").values != 0) & (fixed[entry.bodies] == 0)
            if not on.any():
                continue
            SoftTransformConstraint().check(entry.geometry, entry.slot.object_name)
            bodies.append(entry.offset + np.flatnonzero(on))
            strengths.append(instances.slot("strength_ratio").values[on])
            targets.append(transforms_to_rows(instances.slot("aim_transform").values[on]))
        if bodies:
            self._model.potential.soft_transforms.set(*(np.concatenate(part) for part in (bodies, strengths, targets)))
        else:
            self._model.potential.soft_transforms.set(np.zeros(0, np.int64), np.zeros((0, 2)), np.zeros((0, 4, 3)))

    def _read_forces(self) -> None:
        bodies, forces = [], []
        for entry in self._forced:
            instances = entry.geometry.instances
            on = instances.slot("external_force/is_constrained").values != 0
            force = instances.slot("external_force").values[on]
            self._refuse_not_finite(entry, force, on)
            bodies.append(entry.offset + np.flatnonzero(on))
            forces.append(q_to_rows(force))
        self._forces.set(np.concatenate(bodies), np.concatenate(forces))

    def _refuse_not_finite(self, entry: BodyGeometry, force: Array, on: Array) -> None:
        bad = np.flatnonzero(~np.isfinite(force).all(axis=1))
        if bad.size:
            instance = int(np.flatnonzero(on)[bad[0]])
            raise ConstitutionError(
                f"AffineBodyExternalBodyForce: instance {instance} of '{entry.slot.object_name}' has the force "
                f"{force[bad[0]].tolist()}; give finite numbers."
            )
