"""Where the numbers of a body lie between the parts of the sweep."""

from __future__ import annotations

from typing import Any

from dovetail.kernel.emit_algebra import SYMMETRIC

__all__ = [
    "CHILDREN",
    "CONSTANTS",
    "FIRST_CHILD",
    "FRAME",
    "JOINT",
    "KEPT",
    "MOTION",
    "OWN",
    "PLACES",
    "entries",
    "entry",
    "right_side",
    "room_for_second",
    "second_side",
    "stride",
    "upper",
]

CONSTANTS = 12
"""Per body: c m; centre of mass (3); c(tr(S)1 − S) as xx, yy, zz, xy, xz, yz; 4w; k. The α of its triples follow."""

MOTION = 12
"""Per body: the motion (dq, ω, ε) that its own gradient causes."""

FRAME = 15 + MOTION
"""Per body, from one sweep to the other: R (9), J⁻¹ (6) and that motion."""


KEPT = MOTION + 6
"""Per body, of a second right-hand side: that motion, and y of the joints below where they lie in lanes."""

FIRST_CHILD, OWN, CHILDREN, JOINT, PLACES = 0, 2, 3, 4, 5
"""Rows of eight places each: Φ of the children and of the joint to the parent, triples of the children and that one."""


def entries(triples: int) -> int:
    """Numbers in the compliance matrix of a body with its right-hand side."""
    return 6 * triples + 9 * triples * (triples - 1) // 2 + 3 * triples


def entry(triples: int, a: int, b: int, i: int, j: int) -> int:
    """Place of entry (i, j) of block (a, b) among them: symmetric blocks, then the blocks a < b."""
    if a == b:
        return 6 * a + SYMMETRIC[i, j]
    if a > b:
        return entry(triples, b, a, j, i)
    block = a * triples - a * (a + 1) // 2 + b - a - 1
    return 6 * triples + 9 * block + 3 * i + j


def right_side(triples: int, a: int, i: int) -> int:
    """Place of entry i of block a of the right-hand side."""
    return entries(triples) - 3 * triples + 3 * a + i


def second_side(triples: int, a: int, i: int) -> int:
    """The same of the second right-hand side, which follows."""
    return entries(triples) + 3 * a + i


def upper(rows: int, r: int, s: int) -> int:
    """Place of entry (r, s), r ≤ s, of a symmetric matrix of so many rows."""
    return r * rows - r * (r - 1) // 2 + s - r


def stride(rows: Any) -> Any:
    """Doubles between the rows of Φ, ρ and of Y, y with that many columns beside ρ or y."""
    return 4 * (rows // 4 + 1)


def room_for_second(rows: Any) -> Any:
    """Whether such a row of Φ also holds a second ρ, behind the first."""
    return rows % 4 != 3
