"""Contact energies, gradients and Hessians by kind of primitive, over the vertices of the scene."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.checked import checked
from dovetail.errors import WorldError
from dovetail.geometry import Geometry
from dovetail.typing import Indices
from dovetail.world.features import Feature
from dovetail.world_lock import lock_public

if TYPE_CHECKING:
    from dovetail.solver.contact.primitives import Primitives
    from dovetail.world.simulation import Simulation

__all__ = ["ContactSystemFeature"]

_KINDS = ("PT", "EE", "PE", "PP", "PH")


@lock_public
class ContactSystemFeature(Feature):
    """Reads contacts primitive by primitive.

        contact = world.features().find(ContactSystemFeature)
        found = Geometry()
        for kind in contact.contact_primitive_types():     # "PT+N", "EE+N", … normal; "PT+F", … friction
            contact.contact_energy(kind, found)            # instances: topo, energy
            contact.contact_gradient(kind, found)          # instances: i, grad
            contact.contact_hessian(kind, found)           # instances: i, j, hess

    PT: a vertex and a triangle, EE: two edges, PE: a vertex and a single edge, PH: a vertex and a half-plane. PP, two
    vertices, is always empty: they are found as parts of edges and triangles.

    Vertices are numbered through the scene: `global_vertex_offset` of the geometry (a meta attribute) + instance ·
    vertices + vertex; the second entry of a PH is the half-plane. As in the incremental potential everything carries
    dt²: divide by it for J, N and N/m. The Hessian of the barrier is the part along the normal, which the solver uses.
    """

    FeatureName = "core/contact_system"

    def __init__(self, simulation: Simulation) -> None:
        self._simulation, self._lock = simulation, simulation.scene._lock

    def contact_primitive_types(self) -> list[str]:
        """All names that the other calls take."""
        return [f"{kind}+{part}" for part in "NF" for kind in _KINDS]

    @checked(WorldError)
    def contact_energy(self, primitive_type: str, geometry: Geometry) -> None:
        """One instance for each contact: its vertices `topo` and `energy`."""
        found = self._primitives(primitive_type)
        topo = self._numbers(found.x)
        if primitive_type.startswith("PH"):
            topo = np.stack([topo[:, 0], found.plane], axis=1)
        _write(geometry, {"topo": topo.astype(np.int32), "energy": found.energy})

    @checked(WorldError)
    def contact_gradient(self, primitive_type: str, geometry: Geometry) -> None:
        """One instance for each vertex of each contact: its number `i` and `grad`; a vertex may come more than once."""
        found = self._primitives(primitive_type)
        _write(geometry, {"i": self._numbers(found.x).reshape(-1), "grad": found.gradient.reshape(-1, 3)})

    @checked(WorldError)
    def contact_hessian(self, primitive_type: str, geometry: Geometry) -> None:
        """One instance for each two vertices of each contact: `i`, `j` and the block `hess`, to be summed up."""
        found = self._primitives(primitive_type)
        numbers = self._numbers(found.x)
        i, j = np.broadcast_arrays(numbers[:, :, None], numbers[:, None, :])
        _write(geometry, {"i": i.reshape(-1), "j": j.reshape(-1), "hess": found.hessian.reshape(-1, 3, 3)})

    def _primitives(self, primitive_type: str) -> Primitives:
        from dovetail.solver.contact.primitives import KINDS, Primitives, primitives

        if primitive_type not in self.contact_primitive_types():
            raise WorldError(
                f"ContactSystemFeature: there is no primitive type '{primitive_type}'; "
                f"there are {', '.join(self.contact_primitive_types())}."
            )
        kind, part = primitive_type.split("+")
        if kind == "PP":
            none = np.zeros((0, 2), np.int64)
            return Primitives(none, none[:, 0], np.zeros(0), np.zeros((0, 2, 3)), np.zeros((0, 2, 2, 3, 3)))
        return primitives(self._simulation.survey(), KINDS[kind], part == "F")

    def _numbers(self, x: Indices) -> Indices:
        """Vertices of the scene of indices into X."""
        assert self._simulation.readback is not None
        return self._simulation.readback.vertex_numbers[x]


def _write(geometry: Geometry, values: dict[str, Any]) -> None:
    """Make the instances of a geometry these rows; attributes of an earlier call are replaced."""
    instances = geometry.instances
    for name in ("topo", "energy", "i", "j", "grad", "hess"):
        if name in instances:
            instances.destroy(name)
    instances.resize(len(next(iter(values.values()))))
    for name, rows in values.items():
        sample = np.zeros(rows.shape[1:], rows.dtype)
        instances.create(name, sample if rows.ndim > 1 else sample.item())
        instances[name] = rows
