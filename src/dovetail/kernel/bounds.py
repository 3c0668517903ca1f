"""Kernels that check every index: with DOVETAIL_BOUNDS=1 one that lies outside of its array is an IndexError.

    IndexError: kernel dovetail.solver.contact.rows_plain.between, line 52: index out of bounds of 'U' along axis 0

Kernels are compiled apart from the others, and run several times slower. Checked are elements and rows of arrays, code
in registers (`emit.py`), programs and words that threads share; an index below zero that is not written out in the
source is refused too, where Python would count from the end. Nothing is known of bare addresses: those of functions
that joints are made of, and of attributes (`peek.py`).
"""

from __future__ import annotations

import os
from typing import Any

from llvmlite import ir as llvm

from dovetail.kernel.numba_private import cgutils

__all__ = ["CHECKED", "Reach", "check_index", "require", "writing"]

CHECKED = os.environ.get("DOVETAIL_BOUNDS", "").strip() not in ("", "0")
"""Whether kernels of this process do."""

_INDEX = llvm.IntType(64)
_NOWHERE = 2**40  # of a reach nothing lies in
_here: list[tuple[str, Any]] = [("?", None)]  # the kernel that is written now, and the place in its source


def writing(kernel: str, place: Any) -> None:
    """What is written from now on belongs to a place in a kernel."""
    _here[0] = kernel, place


def require(context: Any, builder: Any, inside: Any, what: str) -> None:
    """Have the function that is written leave with an IndexError where `inside` is false."""
    name, place = _here[0]
    line = f", line {place.line}" if place is not None else ""
    message = f"kernel {name}{line}: {what}"
    with cgutils.if_unlikely(builder, builder.not_(inside)):
        context.call_conv.return_user_exc(builder, IndexError, (message,), loc=place, func_name=name)


def check_index(context: Any, builder: Any, index: Any, size: Any, axis: Any = None, name: str = "an array") -> None:
    """Require 0 ≤ index < size; stands in for what Numba has (`cgutils.do_boundscheck`), which names nothing."""
    if not context.enable_boundscheck:
        return
    along = f" along axis {axis}" if isinstance(axis, int) else ""
    # as if both had no sign: what is negative is large
    require(context, builder, builder.icmp_unsigned("<", index, size), f"index out of bounds of {name}{along}")


class Reach:
    """What code in registers reads and writes from a place in an array on, checked once, where the place is taken.

    The constants of that check grow with all that is written after it.
    """

    def __init__(self, context: Any, builder: Any, array: Any, offset: Any) -> None:
        self._low, self._high = llvm.Constant(_INDEX, _NOWHERE), llvm.Constant(_INDEX, -_NOWHERE)
        if context.enable_boundscheck:
            first, end = builder.add(offset, self._low), builder.add(offset, self._high)
            inside = builder.and_(
                builder.icmp_signed(">=", first, _INDEX(0)), builder.icmp_signed("<=", end, array.nitems)
            )
            require(context, builder, inside, "code in registers leaves an array")

    def cover(self, first: int, count: int) -> None:
        """So many numbers are read or written, from one on."""
        self._low.constant = min(self._low.constant, first)
        self._high.constant = max(self._high.constant, first + count)
