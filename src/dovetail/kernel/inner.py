"""Kernels inside kernels: compiled as far as their callers need, which inline them.

What is called from kernels alone needs no way in from Python, and no machine code: optimised bitcode is linked into the
caller, inlined there and translated once. Integers and truth values that callers write out (`row(A, 0)`) are passed as
values of their type; Numba alone would compile the callee once for each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types

from dovetail.kernel.lean import lean
from dovetail.kernel.numba_private import cpu_target, dispatcher, typing
from dovetail.kernel.stages import InnerPipeline

__all__ = ["Inner"]


class _Compiler(dispatcher._FunctionCompiler):  # type: ignore[misc, name-defined]
    def _customize_flags(self, flags: Any) -> Any:
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        return flags


class Inner:
    """A function as other kernels call it; has what Numba asks of a dispatcher for that."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], files: Any) -> None:
        self._compiler = _Compiler(function, cpu_target, options, {}, InnerPipeline)
        self._cache = files
        self._compiled: dict[tuple[Any, ...], Any] = {}

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What a call with these types is: a template with all signatures, and the arguments in order."""
        signature, args = self._compiler.fold_argument_types(args, kws)
        args = tuple(_value(kind) for kind in args)
        self.compile(args)
        name = self._compiler.py_func.__name__
        known = [made.signature for made in self._compiled.values()]
        return typing.make_concrete_template(f"CallTemplate({name})", key=name, signatures=known), signature, args, {}

    def get_overload(self, args: tuple[Any, ...]) -> Any:
        """Under which key the target context has the compiled function."""
        return self._compiled[tuple(args)].fndesc

    def compile(self, args: tuple[Any, ...]) -> None:
        """Make it for these types, or find it on disk."""
        with lean():
            if args in self._compiled:
                return
            target = cpu_target.target_context
            made = self._cache.load_overload(args, target)
            if made is None:
                made = self._compiler.compile(args, None)
                self._cache.save_overload(args, made)
            target.insert_user_function(made.fndesc, made.fndesc, [made.library])
            self._compiled[args] = made


def _value(kind: Any) -> Any:
    if isinstance(kind, types.BaseTuple):
        return types.Tuple([_value(member) for member in kind])
    return kind.literal_type if isinstance(kind, (types.IntegerLiteral, types.BooleanLiteral)) else kind
