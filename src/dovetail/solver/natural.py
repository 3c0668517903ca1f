"""Indices that are known not to be negative.

Python counts negative indices from the end, and so do kernels: each access asks for the sign, unless the compiler can
prove it. It can in `for k in range(n)`, but neither in `for k in range(start, stop)` nor for an index that comes from
an array. `natural(k)` is k, and promises that k ≥ 0; it takes no time, and saves a third in loops over contacts.
"""

from __future__ import annotations

from typing import Any

from dovetail.kernel.kernel import jit_enabled

__all__ = ["natural"]


def natural(k: int) -> int:
    """k, which is not negative."""
    return k


if jit_enabled:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    from dovetail.kernel.bounds import require

    @intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
    def natural(typing_context: Any, k: Any) -> Any:
        """k, which is not negative."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            (value,) = arguments
            if context.enable_boundscheck:
                require(context, builder, builder.icmp_signed(">=", value, value.type(0)), "natural(k) of k < 0")
                return value
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(1)])
            assume = builder.module.declare_intrinsic("llvm.assume", (), kind)
            builder.call(assume, [builder.icmp_signed(">=", value, value.type(0))])
            return value

        return types.int64(types.int64), generate
