"""Calls of builtins that are typed and written at once: min, max, int, np.empty, np.zeros.

Numba has them as functions in Python that go through all of its stages, for each kind of arguments, and in each process
again: half a second for a small scene. What comes of it are a few instructions, which are written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite.ir import IRBuilder
from numba import types

from dovetail.kernel.numba_private import (
    ConfigStack,
    ExternalFunctionDescriptor,
    JITCodeLibrary,
    arrayobj,
    cgutils,
    parse_dtype,
    parse_shape,
    signature,
)

__all__ = ["is_written_here", "signature_of", "write", "written_here"]

_stack: list[Any] = []
_made: dict[Any, Any] = {}
_NUMBERS = (types.float64, types.int64)


@contextmanager
def written_here(flags: Any) -> Iterator[None]:
    """A function with these flags goes through the stages of this package, not through those of Numba."""
    _stack.append(flags)
    try:
        yield
    finally:
        _stack.pop()


def is_written_here() -> bool:
    """Whether the function that is compiled now does."""
    return bool(_stack) and ConfigStack.top_or_none() is _stack[-1]


def signature_of(function: Any, args: Any) -> Any:
    """What a call takes and returns, or None if Numba has to find out."""
    key = function.typing_key if isinstance(function, types.Function) else None
    kinds = tuple(types.unliteral(kind) for kind in args)
    if key is min or key is max:
        alike = len(kinds) > 1 and kinds[0] in _NUMBERS and len(set(kinds)) == 1
        return signature(kinds[0], *kinds) if alike else None
    if key is int:
        return signature(types.int64, *kinds) if kinds == (types.float64,) else None
    if (key is np.empty or key is np.zeros) and 1 <= len(kinds) <= 2:
        dtype, axes = types.float64 if len(kinds) == 1 else parse_dtype(kinds[1]), parse_shape(kinds[0])
        return None if dtype is None or axes is None else signature(types.Array(dtype, axes, "C"), *kinds)
    return None


class _Builtin(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """Fully optimised, without machine code."""

    def _finalize_final_module(self) -> None:
        self._finalized = True


def write(lower: Any, function: Any, call: Any, values: list[Any]) -> Any:
    """What a call returns that has a signature from here.

    The instructions are a function of their own, optimised before it is inlined: LLVM first looks at what a kernel does
    by itself, and the last digits of results depend on that.
    """
    context = lower.context
    name = f"dovetail.{function.typing_key.__name__}{call.args}"
    described = ExternalFunctionDescriptor(name, call.return_type, call.args)
    key = name, str(context.fastmath)
    if key not in _made:
        library = _made[key] = _Builtin(context.codegen(), name)
        module = library.create_ir_module(name)
        made = context.declare_function(module, described)
        made.attributes.add("alwaysinline")
        builder = IRBuilder(made.append_basic_block())
        context.call_conv.init_call_helper(builder)
        arguments = context.get_arg_packer(call.args).from_arguments(builder, context.call_conv.get_arguments(made))
        context.call_conv.return_value(builder, _written(context, builder, function.typing_key, call, arguments))
        context.post_lowering(module, library)
        library.add_ir_module(module)
        library.finalize()
    lower.library.add_linking_library(_made[key])
    return context.call_internal(lower.builder, described, call, values)


def _written(context: Any, builder: Any, key: Any, call: Any, values: Sequence[Any]) -> Any:
    kind = call.return_type
    if key is int:
        return context.cast(builder, values[0], call.args[0], kind)
    if key is min or key is max:
        compare = builder.fcmp_ordered if kind == types.float64 else builder.icmp_signed
        found = values[0]
        for value in values[1:]:
            found = builder.select(compare(">" if key is max else "<", value, found), value, found)
        return found
    context = context.subtarget()
    context.compile_internal = lambda builder, allocator, signature, args: context.nrt.meminfo_alloc_aligned(
        builder, *args[1:]
    )
    shape = arrayobj._parse_shape(context, builder, call.args[0], values[0])
    array = arrayobj._empty_nd_impl(context, builder, kind, shape)
    if key is np.zeros:
        cgutils.memset(builder, array.data, builder.mul(array.itemsize, array.nitems), 0)
    return array._getvalue()
