"""Joint coordinates: scalar functions x(F) that laws act on."""

from dovetail.solver.coordinate.angle import angle
from dovetail.solver.coordinate.projection import projection

__all__ = ["angle", "projection"]
