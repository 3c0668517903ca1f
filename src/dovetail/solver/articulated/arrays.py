"""What the sweep works on, as records for its kernels."""

from __future__ import annotations

from dovetail.kernel.record import Record, f8, i8, integer
from dovetail.typing import Array, Indices

__all__ = ["SweepArrays", "SweepWeights"]


class SweepWeights(Record):
    """Weights by body: c of the kinetic term, w and stress of the shape term, for strains and for the stress.

    tables (k, ·, 8) have the constants of eight bodies with these weights, see layout.py.
    """

    c: Array = f8(1)
    w: Array = f8(1)
    stress: Array = f8(1)
    tables: Array = f8(3)


class SweepArrays(Record):
    """Order, rows and scratch of a forest.

    upwards … lane_body      chunks, see chunks.py; lane_child, lane_own: where the forces of their triples begin
    lane_law (24 · chunks)   of driven chunks: covectors of their laws, those of the laws below, and residuals
    body, children (m, ·)    bodies by place, and their children, see tree.py
    upward, ground (m + 1)   triples to the parent and to fixed bodies by place; other (t) the far body
    row_at (t + 1)           rows before a triple, which has up to three
    phi_start, y_start       where the blocks of each place lie; widest: most rows on a body
    weights (t, 2, 4)        of the points on the near and the far body, or
    covectors (s, 2, 3, 4, 3)  any rows, where special (t) ≥ 0; residual (s, 3) is their c
    compliance (t + 8, 3)    K⁻¹; those at the end are zero, as in rigid chunks
    C, lines, starts         scratch of eight bodies
    frame, kept              of chunks, from one way to the other: see layout.py
    R, L, u                  the same of plain places
    Phi, Y                   what a subtree tells its parent, and the way back
    multiplier, second (t + 8, 3)  λ, and ρ, y or λ of a second right-hand side
    far                      1 if frames and Y are to be written past the caches
    """

    upwards: Indices = i8(1)
    case: Indices = i8(1)
    first: Indices = i8(1)
    size: Indices = i8(1)
    known: Indices = i8(1)
    store: Indices = i8(1)
    points_at: Indices = i8(1)
    lanes_at: Indices = i8(1)
    rigid: Indices = i8(1)
    lane_body: Indices = i8(1)
    lane_child: Indices = i8(1)
    lane_own: Indices = i8(1)
    lane_law: Indices = i8(1)
    points: Array = f8(1)
    body: Indices = i8(1)
    children: Indices = i8(1)
    upward: Indices = i8(1)
    ground: Indices = i8(1)
    other: Indices = i8(1)
    row_at: Indices = i8(1)
    phi_start: Indices = i8(1)
    y_start: Indices = i8(1)
    widest: int = integer()
    weights: Array = f8(3)
    special: Indices = i8(1)
    covectors: Array = f8(5)
    residual: Array = f8(2)
    compliance: Array = f8(2)
    C: Array = f8(2)
    lines: Array = f8(3)
    starts: Indices = i8(2)
    frame: Array = f8(1)
    kept: Array = f8(1)
    R: Array = f8(3)
    L: Array = f8(3)
    u: Array = f8(3)
    Phi: Array = f8(1)
    Y: Array = f8(1)
    multiplier: Array = f8(2)
    second: Array = f8(2)
    far: int = integer()
