"""A consistent start by blocks, without Python in between: what `assemble_filter` and `_solve` in consistent.py do.

Of trees that have laws, where nothing but joints and laws acts. The same kernels in the same order, by a program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.kernel.copy import copy
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
from dovetail.solver.joint.constraints import ALONG, CLOSED, STILL, add_bends, restrict_direction, start_rows
from dovetail.solver.joint.law_start import accept_start, curve_laws, start_laws
from dovetail.solver.joint.row_algebra import curve_rows
from dovetail.solver.linear.cholesky import factor, solve
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.solver.model import Model

__all__ = ["Footing", "footing_of", "start_by_blocks"]


class Footing(Record):
    """What a start by blocks works on, beside a program.

    assemble, to_velocity, to_acceleration   calls that follow each other: the filter; V̂; Â and what is told of it
    factor                                   the call that factors the filter
    g, gradient (n, 12)                      of the blocks, and room for it
    """

    assemble: Indices = i8(1)
    factor: int = integer()
    to_velocity: Indices = i8(1)
    to_acceleration: Indices = i8(1)
    g: Array = f8(2)
    gradient: Array = f8(2)


@kernel
def start_by_blocks(f: Footing, words: Indices) -> bool:
    """V̂ and accelerations of a consistent start; False where the filter is singular."""
    for place in f.assemble:
        call(words, place)
    copy(f.g, f.gradient)
    call(words, f.factor)
    if words[f.factor + RESULT] >= 0:
        return False
    for place in f.to_velocity:
        call(words, place)
    copy(f.gradient, f.g)
    for place in f.to_acceleration:
        call(words, place)
    return True


def footing_of(
    model: Model, program: Program, h: float, methods: Methods, Q: Array, a: Array, a_end: Array, total: Array,
    inner: Array, held: bool = False,
) -> Footing:  # fmt: skip
    """The footing of steps of length h from Q.

    Gravity and loads accelerate bodies with a there, and a_end is room for that at the end; total and inner (n, 4, 3)
    are to be filled. Of what is held, forces in joints are asked for.
    """
    potential, start, blocks, free = model.potential, model.start, model.directions.blocks, model.bodies.is_free
    slides, laws, exact, mass = potential.slides, potential.laws, potential.exact, model.bodies.mass
    g, D, U, V = blocks.g, blocks.D, blocks.U, start.V
    weight = np.zeros(0 if laws is None else len(laws.acting))
    assembled = [program.add(assemble_shapes, potential.weights, free, blocks.base_D, start, g, D)]
    assembled.append(program.add(start_rows, potential.points, slides, potential.constraints, free, Q, blocks))
    structure, everything = (blocks.order, blocks.row_start, blocks.column), (0, 0, len(blocks.order))
    factored = program.add(factor, *structure, free, D, U, blocks.R, everything)
    solved = [program.add(solve, *structure, free, D, U, blocks.R, g, everything), program.add(clear_resting, free, g)]
    restricted: list[list[int]] = [[], []]
    curved = [program.add(turn_to_acceleration, mass, free, start.filtered, h, a, Q, V, g)]
    curved.append(program.add(curve_rows, slides, V, h, g))
    if laws is not None:
        assembled.append(program.add(start_laws, laws, start, free, g, D, U, weight))
        curved.append(program.add(curve_laws, laws, start, free, weight, g))
    if exact is not None:
        known = exact.constraints
        if not exact.is_linear:
            curved.append(program.add(add_bends, known, h, Q, V, g))
        restricted = [
            [program.add(restrict_direction, known, blocks, None, free, free, closed, least, True, g, exact.restraint)]
            for closed, least in ((ALONG, STILL / h), (CLOSED if held else ALONG, 0.0))
        ]
    to_velocity = [program.add(set_momentum, mass, free, V, h, start.drift, g), *solved, *restricted[0]]
    to_velocity.append(program.add(scatter, free, g, 1.0, V))
    to_acceleration = [*curved, *solved, *restricted[1], *model.loads.bind_end(program, h, Q, V, a_end)]
    to_acceleration.append(program.add(close_start, free, h, g, -1.0, a_end, total, inner))
    if laws is not None:
        to_acceleration.append(program.add(accept_start, laws, h, V, total, inner, free, methods.smooth))
    return Footing(
        assemble=np.array(assembled), factor=factored, to_velocity=np.array(to_velocity),
        to_acceleration=np.array(to_acceleration), g=g, gradient=np.zeros_like(g),
    )  # fmt: skip
