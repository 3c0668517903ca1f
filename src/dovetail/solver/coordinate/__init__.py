"""Joint coordinates: scalar functions x(F) that laws act on."""

from dovetail.solver.coordinate.angle import angle
from dovetail.solver.coordinate.bearing import bearing
from dovetail.solver.coordinate.elevation import elevation
from dovetail.solver.coordinate.helix import helix
from dovetail.solver.coordinate.length import length
from dovetail.solver.coordinate.projection import projection
from dovetail.solver.coordinate.tilt import tilt
from dovetail.solver.coordinate.turn import turn

__all__ = ["angle", "bearing", "elevation", "helix", "length", "projection", "tilt", "turn"]
