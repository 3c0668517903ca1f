"""The module `uipc.gui`."""

from __future__ import annotations

from dovetail.geometry import SimplicialComplex, SimplicialComplexSlot
from dovetail.gui import SceneGUI

__all__ = ["SceneGUI", "SimplicialComplex", "SimplicialComplexSlot"]
