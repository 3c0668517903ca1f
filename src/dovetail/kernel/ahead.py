"""Lines of the cache that are asked for before they are written to.

A line that another thread has read is taken from its processor's cache first, which takes 150 ns, and stores wait for
each other: each such line would hold up ten contacts. Asked for some rows ahead it is there in time.
"""

from __future__ import annotations

from typing import Any

from dovetail.kernel.kernel import jit_enabled
from dovetail.typing import Array, Indices

__all__ = ["write_soon"]


def write_soon(values: Array | Indices, row: int) -> None:
    """Row of an array will be written to; it may lie beyond the last one."""


if jit_enabled:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
    def write_soon(typing_context: Any, values: Any, row: Any) -> Any:
        """Row of an array will be written to; it may lie beyond the last one."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            stride = builder.extract_value(array.strides, 0)
            at = builder.gep(builder.bitcast(array.data, byte), [builder.mul(arguments[1], stride)])
            kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            prefetch = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
            builder.call(prefetch, [at, number(1), number(3), number(1)])
            return context.get_dummy_value()

        return types.void(values, types.int64), generate
