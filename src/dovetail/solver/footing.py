"""A consistent start by blocks, without Python in between: what `assemble_filter` and `_solve` in consistent.py do.

Of trees that have laws, where nothing but joints and laws acts. The same kernels in the same order, by a program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.program import RESULT, Program, call
from dovetail.kernel.record import Record, f8, i8, integer
from dovetail.solver.assembly.start import (
    assemble_shapes,
    close_start,
    scatter,
    set_momentum,
    turn_to_acceleration,
)
from dovetail.solver.blocks import clear_resting
from dovetail.solver.integrator import Methods
from dovetail.solver.joint.constraints import add_bends, restrict_direction
from dovetail.solver.joint.law_start import accept_start, curve_laws, start_laws
from dovetail.solver.joint.row_algebra import curve_rows
from dovetail.solver.joint.rows import assemble_rows, linearise_rows
from dovetail.solver.linear.cholesky import factor, solve
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.solver.model import Model

__all__ = ["Footing", "footing_of", "start_by_blocks"]


class Footing(Record):
    """What a start by blocks works on, beside a program.

    shapes, rows, laws, factor      places of calls: shapes, rows of joints, laws into the filter, and its factor
    to_velocity, to_acceleration    calls that follow each other: V̂; Â and what is told of it
    drift, g, gradient, U, base_U   of the blocks and of the start
    C (k, 3)                        gaps of exact rows, which a start does not close
    multiplier, kept (k, 3)         of exact joints, and room for them
    bend, weight                    of exact joints and laws
    """

    shapes: int = integer()
    rows: Indices = i8(1)
    laws: int = integer()
    factor: int = integer()
    to_velocity: Indices = i8(1)
    to_acceleration: Indices = i8(1)
    drift: Array = f8(2)
    g: Array = f8(2)
    gradient: Array = f8(2)
    U: Array = f8(3)
    base_U: Array = f8(3)
    C_points: Array = f8(2)
    C_slides: Array = f8(2)
    of_points: Array = f8(2)
    of_slides: Array = f8(2)
    kept_points: Array = f8(2)
    kept_slides: Array = f8(2)
    bend: Array = f8(2)
    weight: Array = f8(1)


@kernel
def _clear(out: Array) -> None:
    for k in range(len(out)):
        for i in range(out.shape[1]):
            out[k, i] = 0.0


@kernel
def _copy(source: Array, out: Array) -> None:
    for k in range(len(out)):
        for i in range(out.shape[1]):
            out[k, i] = source[k, i]


@kernel
def start_by_blocks(f: Footing, words: Indices) -> bool:
    """V̂ and accelerations of a consistent start; False where the filter is singular."""
    _clear(f.drift)
    call(words, f.shapes)
    for k in range(len(f.U)):
        _copy(f.base_U[k], f.U[k])
    _copy(f.of_points, f.kept_points)
    _copy(f.of_slides, f.kept_slides)
    _clear(f.of_points)
    _clear(f.of_slides)
    for k in range(0, len(f.rows), 2):
        call(words, f.rows[k])
        _clear(f.C_points if k == 0 else f.C_slides)
        call(words, f.rows[k + 1])
    _clear(f.bend)
    _copy(f.kept_points, f.of_points)
    _copy(f.kept_slides, f.of_slides)
    for k in range(len(f.weight)):
        f.weight[k] = 0.0
    if f.laws >= 0:
        call(words, f.laws)
    _copy(f.g, f.gradient)
    call(words, f.factor)
    if words[f.factor + RESULT] >= 0:
        return False
    for place in f.to_velocity:
        call(words, place)
    _copy(f.gradient, f.g)
    for place in f.to_acceleration:
        call(words, place)
    return True


def footing_of(
    model: Model, program: Program, h: float, methods: Methods, Q: Array, a: Array, total: Array, inner: Array
) -> Footing:
    """The footing of steps of length h from Q, where bodies fall with a; total and inner (n, 4, 3) are to be filled."""
    potential, start, blocks, free = model.potential, model.start, model.directions.blocks, model.bodies.is_free
    points, slides, laws, exact, mass = (
        potential.points,
        potential.slides,
        potential.laws,
        potential.exact,
        model.bodies.mass,
    )
    g, D, U, V, none = blocks.g, blocks.D, blocks.U, start.V, np.zeros((0, 3))
    rows = []
    for some in (points, slides) if slides.count else (points,):
        rows += [program.add(linearise_rows, some, free, Q), program.add(assemble_rows, some, False, g, D, U)]
    weight = np.zeros(0 if laws is None else len(laws.acting))
    shapes = program.add(assemble_shapes, potential.weights, free, blocks.base_D, Q, start.filtered, g, D)
    with_laws = -1 if laws is None else program.add(start_laws, laws, start, g, D, U, weight)
    structure, everything = (blocks.order, blocks.row_start, blocks.column), (0, 0, len(blocks.order))
    factored = program.add(factor, *structure, free, D, U, blocks.R, everything)
    solved = [program.add(solve, *structure, free, D, U, blocks.R, g, everything)]
    solved.append(program.add(clear_resting, free, g))
    curved = [program.add(turn_to_acceleration, mass, free, start.filtered, h, a, Q, V, g)]
    if slides.count:
        curved.append(program.add(curve_rows, slides, V, h, g))
    if laws is not None:
        curved.append(program.add(curve_laws, laws, start, weight, g))
    if exact is not None:
        known = exact.constraints
        curved.append(program.add(add_bends, known, h, Q, V, g))
        solved.append(program.add(restrict_direction, known, blocks, None, free, free, Q, g, exact.restraint))
    to_velocity = [program.add(set_momentum, mass, free, V, h, start.drift, g), *solved]
    to_velocity.append(program.add(scatter, free, g, 1.0, V))
    to_acceleration = [*curved, *solved, program.add(close_start, free, h, g, -1.0, a, total, inner)]
    if laws is not None:
        to_acceleration.append(program.add(accept_start, laws, h, Q, V, methods.smooth))
    of_points, of_slides = (none, none) if exact is None else (points.multiplier, slides.multiplier)
    return Footing(
        shapes=shapes, rows=np.array(rows), laws=with_laws, factor=factored, to_velocity=np.array(to_velocity),
        to_acceleration=np.array(to_acceleration), drift=start.drift, g=g, gradient=np.zeros_like(g), U=U,
        base_U=blocks.base_U, C_points=none if exact is None else points.C[points.exact :],
        C_slides=none if exact is None else slides.C[slides.exact :], of_points=of_points, of_slides=of_slides,
        kept_points=of_points.copy(), kept_slides=of_slides.copy(),
        bend=none if exact is None else exact.constraints.bend, weight=weight,
    )  # fmt: skip
