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

import numpy as np

from dovetail.errors import SolverError
from dovetail.solver.articulated.trees import Sweep
from dovetail.solver.assembly.start import (
    aim_at_start,
    assemble_shapes,
    close_start,
    scatter,
    set_momentum,
    turn_to_acceleration,
)
from dovetail.solver.contribution import Start
from dovetail.solver.joint.law_start import accept_start, curve_laws, start_laws
from dovetail.solver.joint.row_algebra import curve_rows
from dovetail.solver.joint.rows import assemble_rows, linearise_rows
from dovetail.solver.model import Model
from dovetail.solver.state import State
from dovetail.typing import Array, Flags, Indices

__all__ = ["consistent_start"]

_FAST = 0.2  # [rad] turn in a step, up to which the spin of Vₙ may stand for that of V̂, a hundredth away
_WILD = 1.0  # [rad] turn in a step, above which the strain by a spin, which sweeps leave out, counts
_FAR = 1e6  # by how much what is asked of a sweep is enlarged, so that gaps in the joints, below 1e-6 m, do not count


def consistent_start(model: Model, state: State, h: float, a: Array, smooth: Flags) -> tuple[Array, Array, Array]:
    """Velocity, sum of the accelerations at both ends of the step, and internal acceleration, all (n, 4, 3).

    a is the acceleration by gravity and loads at Qₙ. For a smooth body (n,) these are V̂, Â + a(Qₙ + hV̂) and Â − a; for
    the others Vₙ, a and the internal acceleration of the last step. Accelerations of fixed bodies are arbitrary. They
    are buffers, which the next start uses again.
    """
    room, loaded, bodies = model.start_buffers, a is not model.loads.free_fall, model.bodies
    start = model.start
    start.begin(state.Q, state.V, h, h / (state.dt_before or h))
    V, inner = start.V, room.spare()
    total = room.spare(inner)
    all_smooth = bool(smooth.all())
    if not all_smooth:
        np.copyto(inner, state.A)
    if loaded or not all_smooth:
        np.copyto(total, a)
        a = total  # loads at the end of the step are computed in the same array
    active = bodies.is_free if all_smooth else bodies.is_free * smooth
    if active.any():
        swept = None if model.directions.sweep is None else _sweep(model, start, active, a, total, inner)
        if swept is None:
            np.copyto(V, state.V)  # which a first of two sweeps may have filtered
        rest = active if swept is None else active - swept
        if rest.any():
            _solve(model, start, rest, a, total, inner)
    if model.potential.laws is not None:
        accept_start(model.potential.laws, h, state.Q, V, smooth)
    return V, total, inner


def _sweep(model: Model, start: Start, active: Indices, a: Array, total: Array, inner: Array) -> Indices | None:
    """The start of bodies in trees, by a dual sweep; 1 for these (n,), or None if there is no such start.

    A sweep gives P⁻¹ M (Q − Q̃), so velocities are asked for by an aim Q̃; accelerations are its second right-hand side.
    Trees with laws are left out, so nothing but points that coincide acts: no targets, no curvature but that of shapes.
    """
    sweep, weights = model.directions.sweep, model.potential.weights
    assert isinstance(sweep, Sweep)
    chosen = active * sweep.lawless
    if not chosen.any():
        return None
    Q, V, h, room = start.Q, start.V, start.h, model.start_buffers
    aims = room.spare(inner, total)
    push = room.spare(inner, total, aims)
    turn = h * float(aim_at_start(weights, chosen, h, _FAR, a, Q, V, aims, push))
    if turn > _WILD:
        return None
    found = sweep.filter(Q, aims, push, chosen)
    if found is None:
        return None
    scatter(chosen, found[0], 1.0 / _FAR, V)
    if turn > _FAST:
        # the curvature along the filtered velocity
        aim_at_start(weights, chosen, h, _FAR, a, Q, V, aims, push)
        found = sweep.filter(Q, aims, push, chosen)
        if found is None:
            return None
    close_start(chosen, h, found[1], 1.0, _at_end(model, start), total, inner)
    return chosen


def _solve(model: Model, start: Start, active: Indices, a: Array, total: Array, inner: Array) -> None:
    """start.V, total and inner of active bodies (n,), by the block system."""
    potential, directions = model.potential, model.directions
    mass, exact, laws = model.bodies.mass, potential.exact, potential.laws
    directions.need_blocks()
    blocks = directions.blocks
    Q, V, h, g, D, U = start.Q, start.V, start.h, blocks.g, blocks.D, blocks.U
    filtered = start.filtered
    start.drift.fill(0.0)
    assemble_shapes(potential.weights, active, blocks.base_D, Q, filtered, g, D)
    if len(U):
        np.copyto(U, blocks.base_U)
    kept = [] if exact is None else exact.release()  # a start obeys joints, whatever the multipliers are
    for rows in (potential.points, potential.slides):
        linearise_rows(rows, active, Q)
        if exact is not None:
            rows.C[rows.exact :] = 0.0
        assemble_rows(rows, False, g, D, U)
    if exact is not None:
        exact.begin_start()
        if exact.combined.count:
            exact.linearise(Q, active)
            exact.combined.C.fill(0.0)
            exact.combined.assemble(Q, False, g, D, U)
        exact.resume(kept)
    weight = np.zeros(0) if laws is None else np.zeros(len(laws.acting))
    if laws is not None:
        start_laws(laws, start, g, D, U, weight)
    for other in potential.others:
        other.add_start(start, blocks)
    gradient = g.copy()
    bad = blocks.factor(active)
    if bad >= 0:
        raise SolverError(
            f"the linear system is singular at {model.bodies.name(bad)} at the start of the step; "
            "its mass, stiffness or a joint on it is zero, infinite or not finite: check those values"
        )
    set_momentum(mass, active, V, h, start.drift, g)
    scatter(active, directions.solve(Q, g, active), 1.0, V)
    np.copyto(g, gradient)
    turn_to_acceleration(mass, active, filtered, h, a, Q, V, g)
    curve_rows(potential.slides, V, h, g)
    if laws is not None:
        curve_laws(laws, start, weight, g)
    if exact is not None:
        exact.add_curvature(h, Q, V, g)
    for other in potential.others:
        other.add_curvature(start, blocks)
    close_start(active, h, directions.solve(Q, g, active), -1.0, _at_end(model, start), total, inner)


def _at_end(model: Model, start: Start) -> Array:
    """The acceleration by gravity and loads at Qₙ + hV̂."""
    loads = model.loads
    return loads.accelerations(start.Q + start.h * start.V) if loads.act else loads.free_fall
