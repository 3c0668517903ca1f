"""The module `uipc.geometry`: attributes, geometries, slots, mesh files, factories and utilities."""

from __future__ import annotations

from dovetail.geometry import *  # noqa: F403 - the names are those of dovetail.geometry
from dovetail.geometry import AttributeSlot, Geometry, SimplicialComplex
from dovetail.geometry import __all__ as _names
from dovetail.io.urdf import UrdfController, UrdfIO
from dovetail.logger import Logger

__all__ = ["IAttributeSlot", "IGeometry", "UrdfController", "UrdfIO", "mesh_partition"]
__all__ += _names

IAttributeSlot = AttributeSlot
IGeometry = Geometry


def mesh_partition(sc: SimplicialComplex, part_max_size: int = 16) -> None:
    """Parts for libuipc's finite-element preconditioner, which is not needed here: nothing is written."""
    Logger.info("mesh_partition: it concerns deformable bodies; nothing to do.")
