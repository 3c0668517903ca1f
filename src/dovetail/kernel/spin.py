"""Words that several threads read and write, and time that passes while one waits for another.

Waking a sleeping thread takes the system 20 to 100 µs, a chunk of work as long. Whoever waits here looks at a word in
memory again and again, without Python's lock, and lets others have the processor between looks: after some of them
only, since that alone takes longer than most waits.
"""

from __future__ import annotations

import os
import platform
import time
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dovetail.kernel.bounds import check_index
from dovetail.kernel.kernel import jit_enabled
from dovetail.kernel.numba_private import cgutils

__all__ = ["add", "can_spin", "load", "now", "pass_time", "relax", "store"]

can_spin = jit_enabled and hasattr(os, "sched_yield") and hasattr(time, "CLOCK_MONOTONIC")
"""Whether kernels are compiled, and there is a way to let others have the processor."""

_WORD, _NUMBER = ir.IntType(64), ir.IntType(32)
_RELAX = {
    "x86_64": ("llvm.x86.sse2.pause", ()),
    "AMD64": ("llvm.x86.sse2.pause", ()),
    "aarch64": ("llvm.aarch64.hint", (1,)),
}
_ORDER = "seq_cst"  # what a thread has written before, others find written after


def _pointer(context: Any, builder: Any, kind: Any, words: Any, index: Any) -> Any:
    array = context.make_array(kind)(context, builder, words)
    check_index(context, builder, index, array.nitems, name="shared words")
    return builder.gep(array.data, [index])


@intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
def load(typing: Any, words: Any, index: Any) -> Any:
    """words[index] as other threads have left it."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_pointer(context, builder, signature.args[0], *arguments), _ORDER, 8)

    return types.int64(words, types.int64), emit


@intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
def store(typing: Any, words: Any, index: Any, value: Any) -> Any:
    """words[index] ← value, after all that this thread has written before."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words, index, value = arguments
        builder.store_atomic(value, _pointer(context, builder, signature.args[0], words, index), _ORDER, 8)
        return context.get_dummy_value()

    return types.void(words, types.int64, types.int64), emit


@intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
def add(typing: Any, words: Any, index: Any, value: Any) -> Any:
    """words[index] += value, by one thread at a time; what it was before."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words, index, value = arguments
        return builder.atomic_rmw("add", _pointer(context, builder, signature.args[0], words, index), value, _ORDER)

    return types.int64(words, types.int64, types.int64), emit


@intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
def relax(typing: Any) -> Any:
    """Wait for some nanoseconds, and have the processor know that one waits."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        name, values = _RELAX.get(platform.machine(), ("", ()))
        if name:
            kind = ir.FunctionType(ir.VoidType(), [_NUMBER] * len(values))
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            builder.call(function, [ir.Constant(_NUMBER, value) for value in values])
        return context.get_dummy_value()

    return types.void(), emit


def _time(builder: Any, first: Any) -> Any:
    """The time [ns], by way of two words of room."""
    at = first, builder.gep(first, [ir.Constant(_WORD, 1)])
    kind = ir.FunctionType(_NUMBER, [_NUMBER, _WORD.as_pointer()])
    clock = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
    builder.call(clock, [ir.Constant(_NUMBER, getattr(time, "CLOCK_MONOTONIC", 0)), at[0]])
    seconds = builder.mul(builder.load(at[0]), ir.Constant(_WORD, 10**9))
    return builder.add(seconds, builder.load(at[1]))


@intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
def now(typing: Any, room: Any, index: Any) -> Any:
    """The time [ns]. Two words of room from an index on are written to."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _time(builder, _pointer(context, builder, signature.args[0], *arguments))

    return types.int64(room, types.int64), emit


@intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
def pass_time(typing: Any, room: Any, index: Any) -> Any:
    """Let others have the processor; the time after that [ns], as `now`."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_NUMBER, [])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        return _time(builder, _pointer(context, builder, signature.args[0], *arguments))

    return types.int64(room, types.int64), emit
