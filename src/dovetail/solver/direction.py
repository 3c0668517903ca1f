"""Newton's direction: assemble, factor, solve; with the exact Hessian where that is positive definite."""

from __future__ import annotations

from dovetail.errors import SolverError
from dovetail.solver.system import System
from dovetail.typing import Array

__all__ = ["closing_direction", "newton_direction"]


def newton_direction(system: System, Q: Array, Q_tilde: Array, exact: bool) -> Array:
    """y (free, 12) with Q − y the Newton iterate of the bodies that run."""
    for form in (exact and system.blocks.direct, False):
        system.assemble(Q, Q_tilde, form)
        bad = system.blocks.factor()
        if bad < 0:
            return system.direction(Q)
    raise _singular(system, bad)


def closing_direction(system: System, Q: Array, Q_tilde: Array) -> Array:
    """y (free, 12) with exact joints closed at Q − y, the shortest such step in the metric of the Hessian.

    Contacts are left out; multipliers are as before.
    """
    joints = system.exact_joints
    assert joints is not None
    kept = joints.release()
    system.assemble(Q, Q_tilde, exact=False, with_contact=False)
    system.blocks.g.fill(0.0)
    joints.add_gradient(system.blocks)
    bad = system.blocks.factor()
    if bad >= 0:
        raise _singular(system, bad)
    y = system.direction(Q)
    joints.resume(kept)
    return y


def _singular(system: System, body: int) -> SolverError:
    return SolverError(
        f"the linear system is singular at {system.bodies.name(body)}; "
        "its mass, stiffness or a joint on it is zero, infinite or not finite: check those values"
    )
