"""A consistent start: the velocity V̂ and acceleration Â that a step of ctr begins with.

Stiff shapes and joints are constraints in all but name. Under the trapezoidal rule the part of V and A across them
would change its sign in every step and grow; so that part is taken out first, by a filter that leaves motion along
the constraints alone:

    P = M + h²K            K: positive semi-definite (Gauss–Newton) Hessian of shapes, joints, drives, limits at Qₙ
    P V̂ = M Vₙ + h²K · (velocity of targets that move)
    P Â = M (g + a_ext) − ∇V(Qₙ) − h² curvature + h²K · (their acceleration)

curvature is the rate of K along V̂, times V̂: a point on a line that turns has an acceleration across it. A sweep takes
that of shapes along the spin of Vₙ, so that both right-hand sides are known at once, unless bodies turn fast.

A mode of frequency ω sees the filter 1/(1 + ω²h²). Where a term is soft that would damp it, to first order in h, so
such terms enter K with the share x/(1 + x), x = ω²h²: what is left is 1 − x² for x ≪ 1 and 1/x for x ≫ 1.
Nothing but Q, V and the last two targets is needed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dovetail.errors import SolverError
from dovetail.solver.articulated.trees import Trees
from dovetail.solver.assembly.start import (
    aim_at_start,
    assemble_shapes,
    close_start,
    scatter,
    set_momentum,
    turn_to_acceleration,
)
from dovetail.solver.contribution import Start
from dovetail.solver.state import State
from dovetail.solver.system import System
from dovetail.typing import Array, Flags, Indices

__all__ = ["consistent_start"]

_FAST = 0.2  # [rad] turn in a step, up to which the spin of Vₙ may stand for that of V̂, a hundredth away
_WILD = 1.0  # [rad] turn in a step, above which the strain by a spin, which sweeps leave out, counts
_FAR = 1e6  # by how much what is asked of a sweep is enlarged, so that gaps in the joints, below 1e-6 m, do not count


def consistent_start(system: System, state: State, h: float, a: Array, smooth: Flags) -> tuple[Array, Array, Array]:
    """Velocity, sum of the accelerations at both ends of the step, and internal acceleration, all (n, 4, 3).

    a is the acceleration by gravity and loads at Qₙ. For a smooth body (n,) these are V̂, Â + a(Qₙ + hV̂) and Â − a; for
    the others Vₙ, a and the internal acceleration of the last step. Accelerations of fixed bodies are arbitrary. They
    are buffers, which the next start uses again.
    """
    room, loaded = system.start_buffers, a is not system.loads.free_fall
    V = room.spare()
    inner = room.spare(V)
    total = room.spare(V, inner)
    np.copyto(V, state.V)
    if not smooth.all():
        np.copyto(inner, state.A)
    if loaded or not smooth.all():
        np.copyto(total, a)
        a = total  # loads at the end of the step are computed in the same array
    blocks, trees = system.blocks, system.trees
    start = Start(state.Q, V, h, h / (state.dt_before or h), system.mass_inverse)
    if smooth.any():
        if trees is None or not trees.all_lawless:
            system.need_blocks()
        system.islands.select(smooth)
        try:
            swept = None if trees is None else _sweep(system, trees, start, a, total, inner)
            if swept is not None:
                blocks.active -= swept
            else:
                np.copyto(V, state.V)  # which a first of two sweeps may have filtered
                if not blocks.laid_out:
                    system.need_blocks()
                    system.islands.select(smooth)
            if swept is None or blocks.active.any():
                _solve(system, start, a, total, inner)
        finally:
            blocks.active.fill(1)
    for contribution in system.contributions:
        contribution.accept_start(start, smooth)
    return V, total, inner


def _sweep(system: System, trees: Trees, start: Start, a: Array, total: Array, inner: Array) -> Indices | None:
    """The start of bodies in trees, by a dual sweep; 1 for their rows (free,), or None if there is no such start.

    A sweep gives P⁻¹ M (Q − Q̃), so velocities are asked for by an aim Q̃; accelerations are its second right-hand side.
    Trees with laws are left out, so nothing but points that coincide acts: no targets, no curvature but that of shapes.
    """
    position, chosen = system.position, system.blocks.active
    active = chosen if trees.all_lawless else chosen * trees.lawless
    if not active.any():
        return None
    Q, V, room = start.Q, start.V, system.start_buffers
    aims = room.spare(V, inner, total)
    push = room.spare(V, inner, total, aims)
    turn = start.h * _aim(system, start, active, a, aims, push)
    if turn > _WILD:
        return None
    found = trees.filter(Q, aims, push, active)
    if found is None:
        return None
    scatter(position, active, found[0], 1.0 / _FAR, V)
    if turn > _FAST:
        _aim(system, start, active, a, aims, push)
        found = trees.filter(Q, aims, push, active)
        if found is None:
            return None
    close_start(position, active, start.h, found[1], 1.0, _at_end(system, start), total, inner)
    return active


def _aim(system: System, start: Start, active: Indices, a: Array, aims: Array, push: Array) -> float:
    """Both right-hand sides of a sweep but for the joints, which it knows; the largest rate [1/s].

    The second one has the curvature along start.V.
    """
    g = system.blocks.g
    g.fill(0.0)
    fastest: float = aim_at_start(
        system.position, active, system.bodies.mass, system.mass_inverse, system.largest_moment, system.w, start.h,
        _FAR, a, start.Q, start.V, g, aims, push,
    )  # fmt: skip
    return fastest


def _solve(system: System, start: Start, a: Array, total: Array, inner: Array) -> None:
    """start.V, total and inner of the bodies whose rows are active."""
    bodies, blocks, position = system.bodies, system.blocks, system.position
    active, mass = blocks.active, bodies.mass
    Q, V, h = start.Q, start.V, start.h
    filtered, start = np.empty(bodies.count), replace(start, drift=np.zeros_like(blocks.g))
    assemble_shapes(
        position, active, bodies.model, mass, system.largest_moment, system.w, blocks.base_D, Q, filtered, blocks.g,
        blocks.D,
    )  # fmt: skip
    if len(blocks.U):
        np.copyto(blocks.U, blocks.base_U)
    for contribution in system.contributions:
        contribution.add_start(start, blocks)
    gradient = blocks.g.copy()
    bad = blocks.factor()
    if bad >= 0:
        raise SolverError(
            f"the linear system is singular at {bodies.name(bad)} at the start of the step; "
            "its mass, stiffness or a joint on it is zero, infinite or not finite: check those values"
        )
    set_momentum(position, active, mass, V, h, start.drift, blocks.g)
    scatter(position, active, system.solve(blocks.g), 1.0, V)
    np.copyto(blocks.g, gradient)
    turn_to_acceleration(position, active, mass, filtered, h, a, Q, V, blocks.g)
    for contribution in system.contributions:
        contribution.add_curvature(start, blocks)
    close_start(position, active, h, system.solve(blocks.g), -1.0, _at_end(system, start), total, inner)


def _at_end(system: System, start: Start) -> Array:
    """The acceleration by gravity and loads at Qₙ + hV̂."""
    loads = system.loads
    return loads.accelerations(start.Q + start.h * start.V) if loads.act else loads.free_fall
