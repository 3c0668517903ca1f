"""Looking for what is wrong with meshes and scenes before they are simulated, with advice. Public calls only."""

from __future__ import annotations

from dovetail.doctor.finding import Finding
from dovetail.doctor.mesh import examine_mesh
from dovetail.doctor.scene import examine_scene

__all__ = ["Finding", "examine_mesh", "examine_scene"]
