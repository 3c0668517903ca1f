"""Laws: scalar functions φ(x) of a joint coordinate."""

from dovetail.solver.law.limit import limit
from dovetail.solver.law.spring import spring

__all__ = ["limit", "spring"]
