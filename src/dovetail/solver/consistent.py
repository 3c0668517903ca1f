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

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dovetail.errors import SolverError
from dovetail.solver.articulated.trees import Sweep
from dovetail.solver.assembly.start import (
    FAR,
    FAST,
    WILD,
    aim_at_start,
    assemble_shapes,
    close_start,
    mark_turning,
    push_ahead,
    scatter,
    set_momentum,
    turn_to_acceleration,
)
from dovetail.solver.blocks import Blocks, copy_active
from dovetail.solver.contribution import Start
from dovetail.solver.integrator import CARRIED, Methods
from dovetail.solver.joint.constraints import ALONG, CLOSED, STILL, start_rows
from dovetail.solver.joint.law_start import accept_start, curve_laws, start_laws
from dovetail.solver.joint.row_algebra import curve_rows, start_forces
from dovetail.solver.model import Model
from dovetail.solver.state import State
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.solver.held import Touch

__all__ = ["Filter", "assemble_filter", "consistent_start", "factor_filter", "filter_of", "solve_filter"]

_NONE = np.zeros((0, 3))


def consistent_start(
    model: Model, state: State, h: float, a: Array, methods: Methods, held: Touch | None = None
) -> tuple[Array, Array, Array]:
    """Velocity, sum of the accelerations at both ends of the step, and internal acceleration, all (n, 4, 3).

    a is the acceleration by gravity and loads at Qₙ. For a body that has a start these are V̂, Â + a(Qₙ + hV̂) and Â − a;
    for the others Vₙ, a and the internal acceleration of the last step. Accelerations of fixed bodies are arbitrary.
    They are buffers, which the next start uses again.
    """
    room, loaded, bodies = model.start_buffers, a is not model.loads.free_fall, model.bodies
    start = model.start
    V_before, half = (state.V, None) if held is None else (held.V, held.half)
    start.begin(state.Q, V_before, methods.held, h, h / (state.dt_before or h))
    if held is not None and (found := model.stance.start(methods, half)) is not None:
        model.directions.filtered = bodies.is_free
        return start.V, *found
    V, inner = start.V, room.spare()
    total = room.spare(inner)
    all_start = methods.bdf1_count == 0
    if not all_start:
        np.copyto(inner, state.A)
    if loaded or not all_start:
        np.copyto(total, a)
        a = total  # loads at the end of the step are computed in the same array
    active = bodies.is_free if all_start else bodies.is_free * methods.starts
    swept = None if model.directions.sweep is None else _sweep(model, start, active, a, total, inner)
    if swept is None:
        np.copyto(V, V_before)  # which a first of two sweeps may have filtered
    rest = active if swept is None else active - swept
    lone = model.lone.among(rest)
    if model.lone.exist and np.count_nonzero(lone):
        _solve(model, start, filter_of(model, lone, model.lone.blocks), model.lone.blocks, half, a, total, inner)
        rest = rest - lone
    if np.count_nonzero(rest):
        _solve(model, start, filter_of(model, rest), model.directions.blocks, half, a, total, inner)
        model.directions.filtered = rest
    if model.potential.laws is not None:
        accept_start(model.potential.laws, h, V, total, inner, bodies.is_free, methods.smooth)
    return V, total, inner


def _sweep(model: Model, start: Start, active: Indices, a: Array, total: Array, inner: Array) -> Indices | None:
    """The start of bodies in trees, by dual sweeps; 1 for these (n,), or None if there is no such start.

    A sweep gives P⁻¹ M (Q − Q̃), so velocities are asked for by an aim Q̃. In trees of points alone no targets move, and
    there is no curvature but that of shapes: accelerations are the second right-hand side of the same sweep. Laws are
    rows of it, and those of rates ask for V̂ before Â, so it takes two then. Slides are left to the blocks.
    """
    sweep, weights = model.directions.sweep, model.potential.weights
    assert isinstance(sweep, Sweep)
    chosen = active * sweep.starts * (1 - start.held)  # of what is held, forces in joints are asked for
    Q, V, h, room, mechanism = start.Q, start.V, start.h, model.start_buffers, model.islands.mechanism
    turning = np.zeros_like(chosen)
    if mark_turning(mechanism, chosen, V, WILD / h, turning):
        chosen -= turning
    lawless = chosen * sweep.lawless
    lawful = chosen - lawless
    aims = room.spare(inner, total)
    push = room.spare(inner, total, aims)
    found = None
    if np.count_nonzero(lawless):
        fast = mark_turning(mechanism, lawless, V, FAST / h, turning)
        aim_at_start(weights, lawless, h, FAR, a, Q, V, aims, push)
        found = sweep.filter(Q, aims, push, lawless)
        if found is None:
            return None
        scatter(lawless, found[0], 1.0 / FAR, V)
        if fast:
            # the curvature along the filtered velocity
            slowly = found[1].copy()
            aim_at_start(weights, turning, h, FAR, a, Q, V, aims, push)
            found = sweep.filter(Q, aims, push, turning)
            if found is None:
                return None
            copy_active(lawless - turning, slowly, found[1])
    under_laws = None
    if np.count_nonzero(lawful):
        aim_at_start(weights, lawful, h, FAR, a, Q, V, aims, push)
        under_laws = sweep.filter_lawful(start, aims, lawful, False)
        if under_laws is None:
            return None
        scatter(lawful, under_laws, 1.0 / FAR, V)
        aim_at_start(weights, lawful, h, FAR, a, Q, V, aims, push)
        push_ahead(Q, push)
        under_laws = sweep.filter_lawful(start, push, lawful, True)
        if under_laws is None:
            return None
    a_end = model.loads.at_end(h, Q, V)
    if found is not None:
        close_start(lawless, h, found[1], 1.0, a_end, total, inner)
    if under_laws is not None:
        close_start(lawful, h, under_laws, -1.0, a_end, total, inner)
    return chosen


def assemble_filter(model: Model, start: Start, active: Indices, blocks: Blocks) -> Array:
    """g ← gradient at the start, D, U ← P of active bodies (n,); the weights of laws in it."""
    potential = model.potential
    laws, g, D, U = potential.laws, blocks.g, blocks.D, blocks.U
    assemble_shapes(potential.weights, active, blocks.base_D, start, g, D)
    weight = np.zeros(0) if laws is None else np.zeros(len(laws.acting))
    if blocks is not model.directions.blocks:
        return weight  # lone bodies
    start_rows(potential.points, potential.slides, potential.constraints, active, start.Q, blocks)
    if laws is not None:
        start_laws(laws, start, active, g, D, U, weight)
    for other in potential.others:
        other.add_start(start, blocks)
    return weight


def factor_filter(model: Model, active: Indices, blocks: Blocks) -> None:
    """Factor P of active bodies (n,)."""
    bad = blocks.factor(active)
    if bad >= 0:
        raise SolverError(
            f"the linear system is singular at {model.bodies.name(bad)} at the start of the step; "
            "its mass, stiffness or a joint on it is zero, infinite or not finite: check those values"
        )


def solve_filter(
    model: Model, active: Indices, blocks: Blocks, b: Array, closed: float = ALONG, least: float = 0.0
) -> Array:
    """b (n, 12) ← P⁻¹ b of active bodies (n,), exact joints obeyed up to `closed` times that, or to `least`."""
    if blocks is model.directions.blocks:
        return model.directions.solve(b, active, closed, True, least)
    return blocks.solve(active, b)


@dataclass
class Filter:
    """P of active bodies (n,) as the factor in the blocks, with the gradient (n, 12) and the weights of laws in it."""

    active: Indices
    gradient: Array
    weight: Array


def filter_of(model: Model, active: Indices, blocks: Blocks | None = None) -> Filter:
    """P of active bodies (n,), assembled and factored in the blocks of Newton's directions, or in others."""
    if blocks is None:
        model.directions.need_blocks()
        blocks = model.directions.blocks
    weight = assemble_filter(model, model.start, active, blocks)
    found = Filter(active, blocks.g.copy(), weight)
    factor_filter(model, active, blocks)
    return found


def _solve(
    model: Model, start: Start, known: Filter, blocks: Blocks, half: Array | None, a: Array, total: Array, inner: Array
) -> None:
    """start.V, total and inner of the bodies of a filter, by blocks: those of Newton's directions, or of lone bodies.

    half (n, 4, 3) is by how much the velocity of the start is more than V̂ where bodies touch something.
    """
    active, weight = known.active, known.weight
    potential, mass = model.potential, model.bodies.mass
    exact, laws, Q, V, h, g = potential.exact, potential.laws, start.Q, start.V, start.h, blocks.g
    set_momentum(mass, active, V, h, start.drift, g)
    scatter(active, solve_filter(model, active, blocks, g, least=STILL / h), 1.0, V)
    np.copyto(g, known.gradient)
    if half is not None:
        V += half
    turn_to_acceleration(mass, active, start.filtered, h, a, Q, V, g)
    if blocks is model.directions.blocks:
        curve_rows(potential.slides, V, h, g)
        if laws is not None:
            curve_laws(laws, start, active, weight, g)
        if exact is not None:
            exact.add_curvature(h, Q, V, g)
        for other in potential.others:
            other.add_curvature(start, blocks)
    held = np.count_nonzero(start.held)
    x = solve_filter(model, active, blocks, g, CLOSED if held else ALONG)
    if blocks is model.directions.blocks and held:
        _carry(model, start, x)
    close_start(active, h, x, -1.0, model.loads.at_end(h, Q, V), total, inner)
    if half is not None:
        V -= half


def _carry(model: Model, start: Start, x: Array) -> None:
    """start.carried ← the share of joint forces in the acceleration −x/h² that a step that is held takes over."""
    potential, exact = model.potential, model.potential.exact
    points, slides, V, h = potential.points, potential.slides, start.V, start.h
    mu = _NONE if exact is None else exact.restraint
    first, second = points.count, points.count + slides.count
    start_forces(points, start.held, h, V, x, mu, 0, start.carried[:first])
    start_forces(slides, start.held, h, V, x, mu, points.count - points.exact, start.carried[first:second])
    if exact is not None and exact.combined.count:
        held: Indices = start.held[exact.combined.pairs].max(axis=1)
        start.carried[second:] = held[:, None] * mu[len(mu) - len(held) :] / (h * h)
    np.multiply(start.carried, CARRIED, out=start.carried)
