"""Joint coordinates: scalar functions x(F) that laws act on."""

from dovetail.solver.coordinate.angle import angle
from dovetail.solver.coordinate.bearing import bearing
from dovetail.solver.coordinate.helix import helix
from dovetail.solver.coordinate.length import length
from dovetail.solver.coordinate.projection import projection

__all__ = ["angle", "bearing", "helix", "length", "projection"]
