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
from dovetail.world.attribute_reader import AttributeReader
from dovetail.world.lower.bodies import BodyTable

__all__ = ["BodyRefresh"]

_SOFT_TRANSFORM = 16
_BODY_FORCE = 666


def _carries(geometry: Geometry, uid: int) -> bool:
    slot = geometry.meta.find(builtin.constraint_uids)
    return slot is not None and uid in slot.values[0]


class BodyRefresh:
    """Soft transforms (16) and external forces (666) of all bodies that have them; what nobody wrote costs nothing."""

    def __init__(self, table: BodyTable, model: Model, forces: BodyForces) -> None:
        self._model, self._forces = model, forces
        self._soft = [entry for entry in table.geometries if _carries(entry.geometry, _SOFT_TRANSFORM)]
        self._forced = [entry for entry in table.geometries if _carries(entry.geometry, _BODY_FORCE)]
        self._soft_reader, self._force_reader = AttributeReader(), AttributeReader()
        for entry in self._soft:
            for name in ("is_constrained", "strength_ratio", "aim_transform"):
                self._soft_reader.ask(entry.geometry.instances, name)
        none, reader = np.zeros(0, np.int64), self._force_reader
        instances = [entry.geometry.instances for entry in self._forced]
        self._bodies = np.concatenate([none, *(np.arange(e.bodies.start, e.bodies.stop) for e in self._forced)])
        self._force = np.concatenate([none, *(reader.ask(i, "external_force") for i in instances)]).reshape(-1, 12)
        self._switch = np.concatenate([none, *(reader.ask(i, "external_force/is_constrained") for i in instances)])
        self._stale = True

    @property
    def readers(self) -> list[AttributeReader]:
        """What is looked at before every step."""
        return [*([self._soft_reader] if self._soft else []), *([self._force_reader] if self._forced else [])]

    def forget(self) -> None:
        """A step was broken off: take over all attributes anew before the next one."""
        self._stale = True

    def run(self) -> None:
        """Read `is_constrained`, targets, strengths and forces as they are now."""
        soft = bool(self._soft) and (self._soft_reader.read() or self._stale)
        forces = bool(self._forced) and (self._force_reader.read() or self._stale)
        self._stale = True  # until all is taken: what is refused once is refused again
        if soft:
            self._read_soft_transforms()
        if forces:
            self._read_forces()
        self._stale = False

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
        read = self._force_reader.values
        on = read[self._switch] != 0.0
        bodies, force = self._bodies[on], read[self._force[on]]
        bad = np.flatnonzero(~np.isfinite(force).all(axis=1))
        if bad.size:
            body = int(bodies[bad[0]])
            entry = next(entry for entry in self._forced if body in range(entry.bodies.start, entry.bodies.stop))
            raise ConstitutionError(
                f"AffineBodyExternalBodyForce: instance {body - entry.offset} of '{entry.slot.object_name}' has the "
                f"force {force[bad[0]].tolist()}; give finite numbers."
            )
        self._forces.set(bodies, q_to_rows(force))
