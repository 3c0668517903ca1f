"""Memory that will be needed soon, brought nearer meanwhile: many small arrays cost their latency one by one else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dovetail.kernel.kernel import kernel
from dovetail.kernel.program import Program
from dovetail.kernel.record import Record
from dovetail.typing import Indices

__all__ = ["fetch", "held_by", "lines_at", "lines_of"]

_LINE = 64  # bytes
_LONGEST = 2**15  # bytes of an array from which on the machine sees by itself what is read next


@intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
def _fetch(typing: Any, address: Any) -> Any:
    """Ask for the line at an address; it need not be there."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        builder.call(function, [builder.inttoptr(args[0], byte), flag(0), flag(2), flag(1)])
        return context.get_dummy_value()

    return types.none(types.int64), emit


@kernel
def fetch(lines: Indices) -> None:
    """Ask for runs of lines (k, 2): the address of the first one, and how many."""
    for k in range(len(lines)):
        for line in range(lines[k, 1]):
            _fetch(lines[k, 0] + 64 * line)


def held_by(things: Iterable[Any]) -> list[Record | np.ndarray[Any, Any]]:
    """Records and arrays that records, programs and tuples hold, and they themselves; for equal ones in equal order."""
    seen: set[int] = set()
    found: list[Record | np.ndarray[Any, Any]] = []
    left = list(things)
    while left:
        thing = left.pop()
        if isinstance(thing, tuple):
            left += thing
        elif isinstance(thing, (Record, np.ndarray, Program)) and id(thing) not in seen:
            seen.add(id(thing))
            if isinstance(thing, Program):
                left += [value for _, arguments in thing.calls for value in arguments]
                continue
            found.append(thing)
            if isinstance(thing, Record):
                left += [getattr(thing, name) for name in thing.fields]
    return found


def lines_of(things: Iterable[Any]) -> Indices:
    """Runs of lines (k, 2) in which records, arrays and programs lie, with all that they hold."""
    spans = []
    for thing in held_by(things):
        if isinstance(thing, Record):
            spans.append((thing._pointer, 8 * thing._size))
        else:
            spans.append((thing.__array_interface__["data"][0], thing.nbytes))
    return lines_at(spans)


def lines_at(spans: Iterable[tuple[int, int]]) -> Indices:
    """Runs of lines (k, 2) that so many bytes from addresses on lie in; not of those that are too long."""
    found: set[int] = set()
    for address, size in spans:
        if 0 < size <= _LONGEST:
            found |= set(range(address // _LINE, (address + size - 1) // _LINE + 1))
    lines = np.array(sorted(found), np.int64)
    first = np.flatnonzero(np.diff(lines, prepend=-2) > 1)
    return np.stack([lines[first] * _LINE, np.diff(first, append=len(lines))], axis=1)
