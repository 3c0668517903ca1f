"""Bodies of a robot whose surfaces overlap as they are put: neighbours of neighbours, fingers, covers."""

from __future__ import annotations

from dovetail.core import Scene
from dovetail.geometry import SimplicialComplex

__all__ = ["overlapping"]


def overlapping(shapes: list[SimplicialComplex], d_hat: float) -> list[tuple[int, int]]:
    """Pairs of bodies, by their place in the list, that cross or touch, or of which one holds the other inside."""
    from dovetail.world.simulation import Simulation  # the compiler is only needed from here on

    scene = Scene({"contact/enable": 1, "contact/d_hat": d_hat})
    everything = scene.contact_tabular.default_element()
    for k, shape in enumerate(shapes):
        mesh = shape.copy()
        everything.apply_to(mesh)
        mesh.instances["is_fixed"] = 0
        scene.objects.create(str(k)).geometries.create(mesh)
    surfaces = Simulation(scene).surfaces
    return [] if surfaces is None else surfaces.meeting()
