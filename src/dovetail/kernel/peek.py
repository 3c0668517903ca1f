"""Numbers read and written where they lie in memory: one kernel gathers those of many small arrays, one scatters."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dovetail.kernel.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["KINDS", "gather_numbers", "number_at", "put_at", "put_word_at", "scatter_numbers", "word_at"]

KINDS = {"float64": 0, "int32": 1, "int64": 2, "uint64": 2, "float32": 3}
"""Types of arrays that can be gathered."""


def _number(context: Any, address: Any, index: Any, kind: Any) -> Any:
    """The number `index` of an array of some kind that begins at an address, as a double."""

    def generate(target: Any, builder: Any, signature: Any, a: Any) -> Any:
        double, found = ir.DoubleType(), []
        end = builder.append_basic_block("end")
        blocks = [builder.append_basic_block(f"kind{k}") for k in range(4)]
        switch = builder.switch(a[2], blocks[0])
        for k in range(1, 4):
            switch.add_case(ir.Constant(ir.IntType(64), k), blocks[k])
        for k, llvm in enumerate((double, ir.IntType(32), ir.IntType(64), ir.FloatType())):
            builder.position_at_end(blocks[k])
            value = builder.load(builder.gep(builder.inttoptr(a[0], llvm.as_pointer()), [a[1]]))
            if k in (1, 2):
                value = builder.sitofp(value, double)
            elif k == 3:
                value = builder.fpext(value, double)
            found.append(value)
            builder.branch(end)
        builder.position_at_end(end)
        result = builder.phi(double)
        for value, block in zip(found, blocks, strict=True):
            result.add_incoming(value, block)
        return result

    return types.float64(types.int64, types.int64, types.int64), generate


def _put(context: Any, address: Any, index: Any, value: Any) -> Any:
    """Write the double `index` of an array that begins at an address."""

    def generate(target: Any, builder: Any, signature: Any, a: Any) -> Any:
        pointer = builder.gep(builder.inttoptr(a[0], ir.DoubleType().as_pointer()), [a[1]])
        builder.store(a[2], pointer)
        return target.get_dummy_value()

    return types.none(types.int64, types.int64, types.float64), generate


def _word(context: Any, address: Any, index: Any) -> Any:
    """The whole number `index` of an array that begins at an address."""

    def generate(target: Any, builder: Any, signature: Any, a: Any) -> Any:
        return builder.load(builder.gep(builder.inttoptr(a[0], ir.IntType(64).as_pointer()), [a[1]]))

    return types.int64(types.int64, types.int64), generate


def _put_word(context: Any, address: Any, index: Any, value: Any) -> Any:
    """Write the whole number `index` of an array that begins at an address."""

    def generate(target: Any, builder: Any, signature: Any, a: Any) -> Any:
        builder.store(a[2], builder.gep(builder.inttoptr(a[0], ir.IntType(64).as_pointer()), [a[1]]))
        return target.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64), generate


number_at: Any = intrinsic(_number)
put_at: Any = intrinsic(_put)
word_at: Any = intrinsic(_word)
put_word_at: Any = intrinsic(_put_word)


@kernel
def gather_numbers(address: Indices, kind: Indices, start: Indices, out: Array) -> bool:
    """out ← numbers of arrays of some kinds that begin at addresses (k,), out[start[k]] on; whether any has changed.

    The arrays must be there as long as this runs.
    """
    changed = False
    for k in range(len(address)):
        for i in range(start[k], start[k + 1]):
            value = number_at(address[k], i - start[k], kind[k])
            # a NaN is a change every time, and is refused then
            if value != out[i]:
                changed = True
                out[i] = value
    return changed


@kernel
def scatter_numbers(address: Indices, start: Indices, values: Array) -> None:
    """Arrays of doubles that begin at addresses (k,) ← values[start[k]] on; they must be there as long as this runs."""
    for k in range(len(address)):
        for i in range(start[k], start[k + 1]):
            put_at(address[k], i - start[k], values[i])
