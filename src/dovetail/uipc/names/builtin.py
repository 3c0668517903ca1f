"""The module `uipc.builtin`: names of attributes, `adaptive`, and the registers of UIDs."""

from __future__ import annotations

from dovetail.builtin import *  # noqa: F403 - all of them are names that scripts look up
from dovetail.builtin import __all__ as _names

__all__ = ["FiniteElement", "Geometry", "InterPrimitive", "SimplicialComplex", "constraint_uid", "is_open", "mesh_part"]
__all__ += _names

FiniteElement = "FiniteElement"
Geometry = "Geometry"
InterPrimitive = "InterPrimitive"
SimplicialComplex = "SimplicialComplex"

constraint_uid = "constraint_uid"
is_open = "is_open"
mesh_part = "mesh_part"
