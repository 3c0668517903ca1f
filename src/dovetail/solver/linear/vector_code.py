"""Vector instructions on blocks of doubles, emitted as LLVM IR, and intrinsics made of them.

A row of a 12×12 block is three vectors of four doubles. `llvm.fmuladd` lets the target fuse where it can and still run
where it cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dovetail.kernel.bounds import Reach
from dovetail.kernel.kernel import jit_enabled
from dovetail.kernel.numba_private import cgutils

__all__ = ["DOUBLE", "GROUPS", "LANES", "Block", "Emitter", "N", "operation"]

N = 12
LANES = 4
GROUPS = N // LANES
DOUBLE = ir.DoubleType()
_INDEX = ir.IntType(64)
_LANE = ir.IntType(32)
_VECTOR = ir.VectorType(DOUBLE, LANES)


class Block:
    """Pointer to one 12×12 block or one 12-vector inside an array."""

    def __init__(self, emit: Emitter, pointer: Any, reach: Reach):
        self._emit, self._pointer, self._reach = emit, pointer, reach

    def _at(self, offset: int, count: int = 1) -> Any:
        self._reach.cover(offset, count)
        return self._emit.ir.gep(self._pointer, [ir.Constant(_INDEX, offset)])

    def scalar(self, row: int, column: int = 0) -> Any:
        return self._emit.ir.load(self._at(N * row + column))

    def set_scalar(self, row: int, column: int, value: Any) -> None:
        self._emit.ir.store(value, self._at(N * row + column))

    def lanes(self, row: int, group: int) -> Any:
        pointer = self._emit.ir.bitcast(self._at(N * row + LANES * group, LANES), _VECTOR.as_pointer())
        value = self._emit.ir.load(pointer)
        value.align = 8
        return value

    def set_lanes(self, row: int, group: int, value: Any) -> None:
        pointer = self._emit.ir.bitcast(self._at(N * row + LANES * group, LANES), _VECTOR.as_pointer())
        store = self._emit.ir.store(value, pointer)
        store.align = 8


class Emitter:
    """The few vector instructions the operations need."""

    def __init__(self, context: Any, builder: Any):
        self._context, self.ir = context, builder

    def block(self, array_type: Any, array: Any, index_type: Any, index: Any) -> Block:
        size = N ** (array_type.ndim - 1)
        view = self._context.make_array(array_type)(self._context, self.ir, array)
        wide = self._context.cast(self.ir, index, index_type, types.int64)
        offset = self.ir.mul(wide, ir.Constant(_INDEX, size))
        return Block(self, self.ir.gep(view.data, [offset]), Reach(self._context, self.ir, view, offset))

    def _call(self, name: str, kind: Any, *arguments: Any) -> Any:
        function = cgutils.get_or_insert_function(self.ir.module, ir.FunctionType(kind, [kind] * len(arguments)), name)
        return self.ir.call(function, arguments)

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        """a·b + c, in lanes or scalar."""
        if isinstance(c.type, ir.VectorType):
            return self._call(f"llvm.fmuladd.v{LANES}f64", _VECTOR, a, b, c)
        return self._call("llvm.fmuladd.f64", DOUBLE, a, b, c)

    def square_root(self, x: Any) -> Any:
        return self._call("llvm.sqrt.f64", DOUBLE, x)

    def size(self, x: Any) -> Any:
        return self._call("llvm.fabs.f64", DOUBLE, x)

    def sign(self, x: Any) -> Any:
        """1 or −1."""
        return self._call("llvm.copysign.f64", DOUBLE, ir.Constant(DOUBLE, 1.0), x)

    def spread(self, x: Any) -> Any:
        """The scalar x in every lane."""
        empty = ir.Constant(_VECTOR, ir.Undefined)
        first = self.ir.insert_element(empty, x, ir.Constant(_LANE, 0))
        return self.ir.shuffle_vector(first, empty, ir.Constant(ir.VectorType(_LANE, LANES), [0] * LANES))

    def together(self, scalars: list[Any]) -> Any:
        """Four scalars in the lanes of a vector."""
        vector: Any = ir.Constant(_VECTOR, ir.Undefined)
        for k, x in enumerate(scalars):
            vector = self.ir.insert_element(vector, x, ir.Constant(_LANE, k))
        return vector

    def lane(self, vector: Any, k: int) -> Any:
        return self.ir.extract_element(vector, ir.Constant(_LANE, k))

    def entry(self, row: Any, column: int) -> Any:
        """Entry of a row held as a list or dict of lane groups."""
        return self.lane(row[column // LANES], column % LANES)

    def lane_sums(self, rows: list[Any]) -> Any:
        """The sum over the lanes of each of four vectors, (v₀ + v₁) + (v₂ + v₃), as one vector."""
        pairs = [self._added(rows[k], rows[k + 1], (0, 4, 2, 6), (1, 5, 3, 7)) for k in (0, 2)]
        return self._added(pairs[0], pairs[1], (0, 1, 4, 5), (2, 3, 6, 7))

    def _added(self, a: Any, b: Any, some: tuple[int, ...], others: tuple[int, ...]) -> Any:
        """Sum of two choices of the lanes of a and b."""
        kind = ir.VectorType(_LANE, LANES)
        chosen = [self.ir.shuffle_vector(a, b, ir.Constant(kind, list(lanes))) for lanes in (some, others)]
        return self.ir.fadd(*chosen)


def operation(
    plain: Callable[..., Any], count: int, returns: Any = types.void
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make `emit(emitter, block₀, block₁, …)` an intrinsic f(array₀, index₀, array₁, index₁, …).

    Without a compiler it is the plain loop that says the same.
    """

    def decorate(emit: Callable[..., Any]) -> Any:
        def typing(*pairs: Any) -> tuple[Any, Callable[..., Any]]:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                emitter = Emitter(context, builder)
                blocks = [
                    emitter.block(signature.args[k], arguments[k], signature.args[k + 1], arguments[k + 1])
                    for k in range(0, 2 * count, 2)
                ]
                result = emit(emitter, *blocks)
                return context.get_dummy_value() if result is None else result

            return returns(*pairs), generate

        if count == 2:
            return intrinsic(lambda context, A, a, B, b: typing(A, a, B, b))
        return intrinsic(lambda context, A, a, B, b, C, c: typing(A, a, B, b, C, c))

    return decorate if jit_enabled else lambda emit: plain
