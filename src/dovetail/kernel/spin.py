"""Waiting for another thread without falling asleep: waking one up takes the system 20 to 100 µs, a chunk as long.

Whoever waits here does not hold Python's lock. It looks at a word in memory again and again, and lets others have the
processor between looks. After a while, or where others do take the processor, it gives up and is to sleep: the system
prefers those that it wakes up.
"""

from __future__ import annotations

import os
import time
from typing import Any

from dovetail.kernel.kernel import jit_enabled, mapped
from dovetail.typing import Indices

__all__ = ["WORDS", "wait_while"]


WORDS = 4
"""How many there are: two to wait for, two for the time."""

_TAKEN = 20_000  # [ns] between two looks: others have the processor


def wait_while(words: Indices, clear: int, at: int, value: int, longest: int, then: int) -> bool:
    """words[clear] ← 0, if clear ≥ 0; wait until words[at] is not `value`, and so many nanoseconds then.

    False after the longest time [ns]: at once where there are no kernels, or no way to let others have the processor.
    """
    if clear >= 0:
        words[clear] = 0
    return bool(words[at] != value)


if jit_enabled and hasattr(os, "sched_yield") and hasattr(time, "CLOCK_MONOTONIC"):
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    def _pointer(context: Any, builder: Any, kind: Any, words: Any, index: Any) -> Any:
        return builder.gep(context.make_array(kind)(context, builder, words).data, [index])

    @intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
    def _load(typing_context: Any, words: Any, index: Any) -> Any:
        """words[index] as other threads have left it."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load_atomic(_pointer(context, builder, signature.args[0], *arguments), "acquire", 8)

        return types.int64(words, types.int64), generate

    @intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
    def _clear(typing_context: Any, words: Any, index: Any) -> Any:
        """words[index] ← 0, after all that this thread has written before."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            at = _pointer(context, builder, signature.args[0], *arguments)
            builder.store_atomic(ir.Constant(ir.IntType(64), 0), at, "release", 8)
            return context.get_dummy_value()

        return types.void(words, types.int64), generate

    @intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
    def _yield(typing_context: Any, words: Any) -> Any:
        """Let others have the processor; the time after that, by way of the last two words [ns]."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word, number = ir.IntType(64), ir.IntType(32)
            at = [_pointer(context, builder, words, arguments[0], ir.Constant(word, k)) for k in (WORDS - 2, WORDS - 1)]
            kind = ir.FunctionType(number, [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
            kind = ir.FunctionType(number, [number, word.as_pointer()])
            clock = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
            builder.call(clock, [ir.Constant(number, time.CLOCK_MONOTONIC), at[0]])
            seconds = builder.mul(builder.load(at[0]), ir.Constant(word, 10**9))
            return builder.add(seconds, builder.load(at[1]))

        return types.int64(words), generate

    @mapped
    def wait_while(words: Indices, clear: int, at: int, value: int, longest: int, then: int) -> bool:
        """words[clear] ← 0, if clear ≥ 0; wait until words[at] is not `value`, and so many nanoseconds then."""
        if clear >= 0:
            _clear(words, clear)
        begin = now = _yield(words)
        while _load(words, at) == value:
            before, now = now, _yield(words)
            if now - before > _TAKEN or now - begin > longest:
                return _load(words, at) != value
        begin = now
        while now - begin < then:
            now = _yield(words)
        return True
