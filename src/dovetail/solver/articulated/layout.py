"""Where the numbers of a body lie between the parts of the sweep."""

from __future__ import annotations

from typing import Any

from dovetail.solver.emit_algebra import SYMMETRIC

__all__ = ["CONSTANTS", "FRAME", "entries", "entry", "right_side", "stride"]

CONSTANTS = 12
"""Per body: c m; centre of mass (3); c(tr(S)1 − S) as xx, yy, zz, xy, xz, yz; 4w; k. The α of its triples follow."""

FRAME = 27
"""Per body, from one sweep to the other: R (9), J⁻¹ (6), motion caused by the body's own gradient (12)."""


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


def stride(rows: Any) -> Any:
    """Doubles between the rows of Φ, ρ and of Y, y with that many columns beside ρ or y."""
    return 4 * (rows // 4 + 1)
