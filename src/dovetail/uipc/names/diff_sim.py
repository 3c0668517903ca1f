"""The module `uipc.diff_sim`: differentiable simulation, which dovetail does not have."""

from __future__ import annotations

from dovetail.uipc.deformable import absent

__all__ = ["ParameterCollection", "SparseCOO"]

_WHY = "differentiable simulation is not part of dovetail; take finite differences of two runs, or use libuipc"

ParameterCollection = absent("ParameterCollection", _WHY)
SparseCOO = absent("SparseCOO", _WHY)
