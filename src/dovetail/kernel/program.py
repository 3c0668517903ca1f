"""Programs: kernels with their arguments, as compiled code calls them.

A call from Python takes one or two microseconds before the kernel begins: each argument is looked at, whatever was
found the last time. Where the same kernels follow each other with the same arrays, step after step, that is most of the
time of a small scene. A program has looked once:

    program = Program()
    sweeps = program.add(sweep, balls, hinges, …)        # a place
    words = program.words()

and a kernel that is given these words says `call(words, sweeps)`, whatever the types are: they are not compiled into it
again, and the bits are those that Python would have got. A call is

    thunk, function, 4 words for its result, arguments

A thunk takes the arguments from the words that follow and calls the function as Numba does. Arrays of a program are
those that it was made with; records may change what they hold. The first word tells of calls that have failed: whoever
runs a program asks `has_failed`, and takes the way by Python where one has, which raises what there is to be raised.
Where bounds are checked (bounds.py), `call` itself leaves with what the kernel has raised: nothing is to hide that.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import typeof, types
from numba.extending import intrinsic

from dovetail.kernel.bounds import check_index
from dovetail.kernel.kernel import kernel
from dovetail.kernel.numba_private import cgutils, excinfo_ptr_t, global_compiler_lock
from dovetail.kernel.record import Record, bits
from dovetail.typing import Indices

__all__ = [
    "ADDRESS", "RESULT", "Program", "attempt", "call", "described", "entry", "has_failed", "kind_of", "run", "types_of",
]  # fmt: skip

ADDRESS = 4
"""Words from the place of an array among arguments to its address."""

RESULT = 2
"""Words from the place of a call to what it returns."""
_ARGUMENTS = 6
_WORD = ir.IntType(64)
_LEVEL = 1  # of optimisation: programs are called again and again, with few microseconds of work each


@cache
def _engine(level: int) -> Any:
    """What has compiled thunks, at a level of optimisation; it lives as long as the process."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(opt=level)
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


_THUNK = """target triple = "{triple}"
define i32 @{name}(i64* %words, i64* %excuse) {{
  %result = getelementptr i64, i64* %words, i64 {result}
  %place = getelementptr i64, i64* %words, i64 1
  %address = load i64, i64* %place
{loads}  %function = inttoptr i64 %address to i32 (i64*, i64*{types})*
  %status = call i32 %function(i64* %result, i64* %excuse{values})
  ret i32 %status
}}
"""
_LOAD = "  %at{k} = getelementptr i64, i64* %words, i64 {place}\n  %i{k} = load i64, i64* %at{k}\n"
_CAST = "  %f{k} = bitcast i64 %i{k} to double\n"
_TYPE = {"i": "i64", "f": "double"}


@cache
def _thunk(kinds: str, level: int) -> int:
    """Address of a function (i64* words, i64* excuse) → i32 that calls one with integers ("i") and floats ("f").

    Pointers and truth values are passed as integers: machines that Numba has code for take both alike. The excuse is
    where the call puts why it has failed.
    """
    name = f"call_{kinds}"
    loads = "".join(
        _LOAD.format(k=k, place=_ARGUMENTS + k) + (_CAST.format(k=k) if kind == "f" else "")
        for k, kind in enumerate(kinds)
    )
    types = "".join(f", {_TYPE[kind]}" for kind in kinds)
    values = "".join(f", {_TYPE[kind]} %{kind}{k}" for k, kind in enumerate(kinds))
    given = {"triple": binding.get_default_triple(), "name": name, "result": RESULT, "loads": loads}
    _engine(level).add_module(binding.parse_assembly(_THUNK.format(types=types, values=values, **given)))
    _engine(level).finalize_object()
    address: int = _engine(level).get_function_address(name)
    return address


def _function(kernel: Any, signature: tuple[Any, ...]) -> int:
    """Address of a kernel for arguments of these types, compiled if need be."""
    if signature not in kernel.overloads:
        kernel.compile(signature)
    made = kernel.overloads[signature]
    address: int = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
    return address


def described(value: Any) -> tuple[list[int], str]:
    """An argument as words, and of which kind each is."""
    if value is None:
        return [0], "i"
    if isinstance(value, Record):
        return [value._pointer], "i"
    if isinstance(value, np.ndarray):
        address = value.__array_interface__["data"][0]
        return [0, 0, value.size, value.itemsize, address, *value.shape, *value.strides], "i" * (5 + 2 * value.ndim)
    if isinstance(value, tuple):
        parts = [described(member) for member in value]
        return [word for words, _ in parts for word in words], "".join(kinds for _, kinds in parts)
    if isinstance(value, float):
        return [bits(value)], "f"
    return [int(value)], "i"


def entry(kernel: Any, signature: tuple[Any, ...], kinds: str, level: int = _LEVEL) -> list[int]:
    """What a call of a kernel begins with, with arguments of these types that are words of these kinds.

    Level 0 takes a millisecond in place of six, once, and some 40 ns longer in each call.
    """
    with global_compiler_lock:  # worlds may be made ready by several threads
        return [_thunk(kinds, level), _function(kernel, signature), *[0] * (_ARGUMENTS - RESULT)]


def kind_of(value: Any) -> Any:
    """Equal for arguments of the same type, and found in a hundredth of the time that Numba takes for that."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num
    return tuple(map(kind_of, value)) if isinstance(value, tuple) else type(value)


def types_of(values: Sequence[Any]) -> tuple[Any, ...]:
    """Numba's types of arguments; it is asked once for each kind."""
    found = []
    for value in values:
        if (known := _types.get(kind := kind_of(value))) is None:
            known = _types[kind] = typeof(value)
        found.append(known)
    return tuple(found)


_types: dict[Any, Any] = {}
_entries: dict[Any, list[int]] = {}  # of kernels for arguments of some kinds


class Program:
    """Calls that follow each other in an array of words, each at its place."""

    def __init__(self) -> None:
        self._words = [0]
        self._places: list[int] = []
        self._kept: list[Any] = []  # arguments, which words alone would not keep alive

    def add(self, kernel: Any, *args: Any) -> int:
        """A call of a kernel with these arguments; its place."""
        place = len(self._words)
        words, kinds = described(args)
        if (first := _entries.get(key := (kernel, kind_of(args)))) is None:
            first = _entries[key] = entry(kernel, types_of(args), kinds)
        self._words += first + words
        self._kept.append((kernel, args))
        self._places.append(place)
        return place

    @property
    def calls(self) -> list[tuple[Any, tuple[Any, ...]]]:
        """Kernels with their arguments."""
        return self._kept

    def argument(self, place: int, number: int) -> int:
        """Where the words of an argument of the call at a place begin."""
        return place + _ARGUMENTS + len(described(self._kept[self._places.index(place)][1][:number])[0])

    def words(self) -> Indices:
        """All of it, as kernels take it; to be kept as long as this object."""
        return np.array(self._words, np.int64)


def _calling(leaves: bool) -> Any:
    def call(typing: Any, words: Any, place: Any) -> Any:
        """Run the call at a place of a program: 0 if all is well; what it returns is in words[place + RESULT]."""

        def emit(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
            array = context.make_array(signature.args[0])(context, builder, args[0])
            check_index(context, builder, args[1], array.nitems, name="a program")
            at = builder.gep(array.data, [args[1]])
            function = ir.FunctionType(ir.IntType(32), [_WORD.as_pointer(), _WORD.as_pointer()])
            excuse = cgutils.alloca_once(builder, excinfo_ptr_t)
            given = [at, builder.bitcast(excuse, _WORD.as_pointer())]
            found = builder.call(builder.inttoptr(builder.load(at), function.as_pointer()), given)
            status = builder.sext(found, _WORD)
            builder.store(builder.or_(builder.load(array.data), status), array.data)
            if leaves and context.enable_boundscheck:
                with cgutils.if_unlikely(builder, builder.icmp_signed("!=", found, found.type(0))):
                    context.call_conv.return_status_propagate(
                        builder, context.call_conv._get_return_status(builder, found, builder.load(excuse))
                    )
            return status

        return types.int64(words, types.int64), emit

    return intrinsic(call)


call = _calling(leaves=True)
attempt = _calling(leaves=False)
"""`call` that goes on where a kernel has failed, whatever is checked: the caller asks for what it returns."""


@kernel
def run(words: Indices, places: Indices) -> bool:
    """Run the calls at these places one after the other; whether all is well."""
    for place in places:
        call(words, place)
    return not has_failed(words)


@kernel
def has_failed(words: Indices) -> bool:
    """Whether a call of a program has failed since this was last asked."""
    failed = words[0] != 0
    words[0] = 0
    return failed
