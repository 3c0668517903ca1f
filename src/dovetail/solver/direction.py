"""Newton's direction: by the dual sweep for islands that are trees, else by the block system.

The block system is assembled, factored and solved with the exact Hessian where that is positive definite. The sweep
leaves terms of the order of the strain out of its matrix; where it has had its chances it is not asked any more.
"""

from __future__ import annotations

from dovetail.errors import SolverError
from dovetail.solver.system import System
from dovetail.typing import Array

__all__ = ["closing_direction", "newton_direction"]


_SWEEPS = 8  # in one step, before an island that has not converged is left to the block system


def newton_direction(system: System, Q: Array, Q_tilde: Array, exact: bool, iteration: int = 0) -> Array:
    """y (free, 12) with Q − y the Newton iterate of the bodies that run.

    exact is False after a step that had to be taken although the energy did not fall. The matrix of the sweep is
    positive definite anyway.
    """
    trees = system.trees
    if trees is None:
        return _block_direction(system, Q, Q_tilde, exact)
    if iteration >= _SWEEPS:
        trees.tell()
        return _block_direction(system, Q, Q_tilde, exact)
    rest = trees.divide(system.islands.active)
    if rest is None:
        y = system.blocks.g
        return (
            _surveyed(system, Q, y) if trees.direction(Q, Q_tilde, y) else _block_direction(system, Q, Q_tilde, exact)
        )
    system.blocks.active = rest
    try:
        y = _block_direction(system, Q, Q_tilde, exact)
    finally:
        system.blocks.active = system.islands.active
    if not trees.active.any():
        return y
    # eight bodies at a time are swept, some of which may be among the rest
    kept, others = y.copy(), rest != 0
    if not trees.direction(Q, Q_tilde, y):
        return _block_direction(system, Q, Q_tilde, exact)
    y[others] = kept[others]
    return _surveyed(system, Q, y)


def _surveyed(system: System, Q: Array, y: Array) -> Array:
    """y, of which exact sliders in trees have been told: a sweep closes them to first order."""
    if system.exact_joints is not None and system.trees is not None and system.trees.are_curved:
        system.exact_joints.survey(Q, y, system.blocks)
    return y


def _block_direction(system: System, Q: Array, Q_tilde: Array, exact: bool) -> Array:
    """The same of the bodies that are active in the block system."""
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
