"""Laws: scalar functions φ(x) of a joint coordinate."""

from dovetail.solver.law.armature import armature
from dovetail.solver.law.damping import damping
from dovetail.solver.law.dry_friction import dry_friction
from dovetail.solver.law.elastic import elastic
from dovetail.solver.law.hold import hold
from dovetail.solver.law.limit import limit
from dovetail.solver.law.servo import servo
from dovetail.solver.law.spring import spring
from dovetail.solver.law.stop import stop

__all__ = ["armature", "damping", "dry_friction", "elastic", "hold", "limit", "servo", "spring", "stop"]
