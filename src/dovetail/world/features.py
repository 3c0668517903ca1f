"""Features: further things a world can do, found by class or name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

import numpy as np

from dovetail.checked import checked
from dovetail.errors import WorldError
from dovetail.geometry import SimplicialComplex
from dovetail.geometry.rows import rows_to_transforms, transforms_to_rows
from dovetail.world_lock import lock_public

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["AffineBodyStateAccessorFeature", "Feature", "FeatureCollection"]

_OFFSET = "backend_abd_body_offset"


class Feature:
    """Something a running world offers."""

    FeatureName: ClassVar[str]

    def name(self) -> str:
        return self.FeatureName


_Feature = TypeVar("_Feature", bound=Feature)


class FeatureCollection:
    """The features of a world."""

    def __init__(self, features: list[Feature]) -> None:
        self._features = {feature.name(): feature for feature in features}

    def __call__(self) -> FeatureCollection:
        return self

    @overload
    def find(self, key: str) -> Feature | None: ...
    @overload
    def find(self, key: type[_Feature]) -> _Feature | None: ...
    @checked(WorldError)
    def find(self, key: str | type[Feature]) -> Feature | None:
        """By name or class; None where this world does not have it."""
        return self._features.get(key if isinstance(key, str) else getattr(key, "FeatureName", ""))

    def to_json(self) -> list[str]:
        return sorted(self._features)


@lock_public
class AffineBodyStateAccessorFeature(Feature):
    """Reads and writes transforms and velocities of bodies directly.

        accessor = world.features().find(AffineBodyStateAccessorFeature)
        state = accessor.create_geometry()
        state.instances.create("transform", np.eye(4))      # select what to copy: transform, velocity or both
        accessor.copy_to(state)                             # world → state
        accessor.copy_from(state)                           # state → world; joint states follow at once

    `velocity` is the rate of the transform: linear velocity [m/s] in the last column, rate of A [1/s] in the rest.
    """

    FeatureName = "core/affine_body_state_accessor"

    def __init__(self, simulation: Simulation) -> None:
        self._simulation, self._lock = simulation, simulation.scene._lock

    def body_count(self) -> int:
        return self._simulation.table.count

    @checked(WorldError)
    def create_geometry(self, body_offset: int = 0, body_count: int | None = None) -> SimplicialComplex:
        """A geometry without mesh whose instances stand for bodies `body_offset` … ."""
        total = self.body_count()
        count = total - body_offset if body_count is None else body_count
        if not (body_offset >= 0 and count >= 0 and body_offset + count <= total):
            raise WorldError(
                f"AffineBodyStateAccessorFeature: bodies {body_offset} to {body_offset + count - 1} were asked for, "
                f"there are 0 to {total - 1}."
            )
        geometry = SimplicialComplex()
        geometry.meta.create(_OFFSET, body_offset)
        geometry.instances.resize(count)
        return geometry

    @checked(WorldError)
    def copy_to(self, geometry: SimplicialComplex) -> None:
        """Fill the attributes `transform` and `velocity` of the geometry, those it has."""
        bodies = self._bodies(geometry)
        state = self._simulation.state
        for name, rows, corner in (("transform", state.Q, 1.0), ("velocity", self._simulation.velocity, 0.0)):
            if name in geometry.instances:
                geometry.instances[name] = rows_to_transforms(rows[bodies], corner)

    @checked(WorldError)
    def copy_transform_to(self, buffer_view: Any, body_offset: int = 0, body_count: int | None = None) -> None:
        """Write transforms into memory of the caller: an array (n, 4, 4), or what NumPy can see as one."""
        self._copy_rows(self._simulation.state.Q, 1.0, buffer_view, body_offset, body_count)

    @checked(WorldError)
    def copy_velocity_to(self, buffer_view: Any, body_offset: int = 0, body_count: int | None = None) -> None:
        """Write rates of transforms into memory of the caller."""
        self._copy_rows(self._simulation.velocity, 0.0, buffer_view, body_offset, body_count)

    def _copy_rows(self, rows: Any, corner: float, buffer: Any, offset: int, count: int | None) -> None:
        bodies = self._bodies(self.create_geometry(offset, count))
        try:
            target = np.asarray(buffer)
        except (TypeError, ValueError):  # rows of different length
            target = np.zeros(0)
        wanted = (len(bodies), 4, 4)
        if target.shape != wanted or target.dtype != np.float64 or not target.flags.writeable:
            raise WorldError(
                f"AffineBodyStateAccessorFeature: the buffer is {target.dtype} of shape {target.shape}; give writable "
                f"float64 memory of shape {wanted}."
            )
        target[...] = rows_to_transforms(rows[bodies], corner)

    @checked(WorldError)
    def copy_from(self, geometry: SimplicialComplex) -> None:
        """Replace transforms and velocities of the bodies by those attributes of the geometry that it has."""
        bodies = self._bodies(geometry)
        found: dict[str, Any] = {}
        for name in ("transform", "velocity"):
            slot = geometry.instances.find(name)
            if slot is not None:
                found[name] = transforms_to_rows(slot.values)
                bad = np.flatnonzero(~np.isfinite(found[name]).all(axis=(1, 2)))
                if bad.size:
                    raise WorldError(
                        f"AffineBodyStateAccessorFeature: the {name} for {self._name(bodies, bad[0])} "
                        "has entries that are not finite; nothing was changed."
                    )
        if "transform" in found:
            det = np.linalg.det(found["transform"][:, 1:])
            bad = np.flatnonzero(~(det > 0))
            if bad.size:
                raise WorldError(
                    f"AffineBodyStateAccessorFeature: the transform for {self._name(bodies, bad[0])} has determinant "
                    f"{det[bad[0]]:.3g}, it mirrors or flattens the body; nothing was changed."
                )
        who = "AffineBodyStateAccessorFeature"
        self._simulation.write_state(who, bodies, found.get("transform"), found.get("velocity"))

    def _name(self, bodies: Any, index: int) -> str:
        return self._simulation.table.name(int(bodies[index]))

    def _bodies(self, geometry: SimplicialComplex) -> Any:
        slot = geometry.meta.find(_OFFSET)
        if slot is None:
            raise WorldError(
                f"AffineBodyStateAccessorFeature: the geometry has no meta '{_OFFSET}'; make it with create_geometry()."
            )
        bodies = int(slot.values[0]) + np.arange(geometry.instances.size())
        if len(bodies) and bodies[-1] >= self.body_count():
            raise WorldError(
                f"AffineBodyStateAccessorFeature: the geometry has {len(bodies)} instances from body {bodies[0]} on, "
                f"there are bodies 0 to {self.body_count() - 1}."
            )
        return bodies
