"""The 12×12 block operations as straight-line vector code, emitted as LLVM IR through Numba intrinsics.

A row of a block is three vectors of four doubles. Everything an operation touches more than once stays in registers;
loops over the twelve rows are unrolled while the code is emitted. `block12_plain` defines what each operation
means; this module only says it faster (about six times on a core with 256-bit vectors). `llvm.fmuladd` lets the
target fuse where it can and still run where it cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = [
    "add_gram",
    "cholesky",
    "subtract_gram",
    "subtract_product",
    "subtract_times",
    "subtract_transposed_times",
    "upper_solve",
    "upper_transposed_solve",
    "upper_transposed_solve_block",
]

N = 12
LANES = 4
GROUPS = N // LANES
_DOUBLE = ir.DoubleType()
_INDEX = ir.IntType(64)
_LANE = ir.IntType(32)
_VECTOR = ir.VectorType(_DOUBLE, LANES)


class _Block:
    """Pointer to one 12×12 block or one 12-vector inside an array."""

    def __init__(self, emit: _Emitter, pointer: Any):
        self._emit, self._pointer = emit, pointer

    def _at(self, offset: int) -> Any:
        return self._emit.ir.gep(self._pointer, [ir.Constant(_INDEX, offset)])

    def scalar(self, row: int, column: int = 0) -> Any:
        return self._emit.ir.load(self._at(N * row + column))

    def set_scalar(self, row: int, column: int, value: Any) -> None:
        self._emit.ir.store(value, self._at(N * row + column))

    def lanes(self, row: int, group: int) -> Any:
        pointer = self._emit.ir.bitcast(self._at(N * row + LANES * group), _VECTOR.as_pointer())
        value = self._emit.ir.load(pointer)
        value.align = 8
        return value

    def set_lanes(self, row: int, group: int, value: Any) -> None:
        pointer = self._emit.ir.bitcast(self._at(N * row + LANES * group), _VECTOR.as_pointer())
        store = self._emit.ir.store(value, pointer)
        store.align = 8


class _Emitter:
    """The few vector instructions the operations need."""

    def __init__(self, context: Any, builder: Any):
        self._context, self.ir = context, builder

    def block(self, array_type: Any, array: Any, index_type: Any, index: Any) -> _Block:
        size = N ** (array_type.ndim - 1)
        data = self._context.make_array(array_type)(self._context, self.ir, array).data
        wide = self._context.cast(self.ir, index, index_type, types.int64)
        return _Block(self, self.ir.gep(data, [self.ir.mul(wide, ir.Constant(_INDEX, size))]))

    def _call(self, name: str, kind: Any, *arguments: Any) -> Any:
        function = cgutils.get_or_insert_function(self.ir.module, ir.FunctionType(kind, [kind] * len(arguments)), name)
        return self.ir.call(function, arguments)

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        """a·b + c, in lanes or scalar."""
        if isinstance(c.type, ir.VectorType):
            return self._call(f"llvm.fmuladd.v{LANES}f64", _VECTOR, a, b, c)
        return self._call("llvm.fmuladd.f64", _DOUBLE, a, b, c)

    def square_root(self, x: Any) -> Any:
        return self._call("llvm.sqrt.f64", _DOUBLE, x)

    def spread(self, x: Any) -> Any:
        """The scalar x in every lane."""
        empty = ir.Constant(_VECTOR, ir.Undefined)
        first = self.ir.insert_element(empty, x, ir.Constant(_LANE, 0))
        return self.ir.shuffle_vector(first, empty, ir.Constant(ir.VectorType(_LANE, LANES), [0] * LANES))

    def lane(self, vector: Any, k: int) -> Any:
        return self.ir.extract_element(vector, ir.Constant(_LANE, k))

    def entry(self, row: Any, column: int) -> Any:
        """Entry of a row held as a list or dict of lane groups."""
        return self.lane(row[column // LANES], column % LANES)

    def lane_sum(self, v: Any) -> Any:
        left = self.ir.fadd(self.lane(v, 0), self.lane(v, 1))
        return self.ir.fadd(left, self.ir.fadd(self.lane(v, 2), self.lane(v, 3)))


def _operation(emit: Callable[..., Any], count: int, returns: Any = types.void) -> Any:
    """Make an intrinsic f(array₀, index₀, array₁, index₁, …) of `emit(emitter, block₀, block₁, …)`."""

    def typing(*pairs: Any) -> tuple[Any, Callable[..., Any]]:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            emitter = _Emitter(context, builder)
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


def _product(sign: float, symmetric: bool) -> Callable[..., None]:
    """C ± AᵀB by panels of four rows; with `symmetric` only the groups on and right of the diagonal."""

    def emit(e: _Emitter, C: _Block, A: _Block, B: _Block) -> None:
        for panel in range(GROUPS):
            groups = range(panel if symmetric else 0, GROUPS)
            rows = range(LANES * panel, LANES * panel + LANES)
            total = {(i, g): C.lanes(i, g) for i in rows for g in groups}
            for p in range(N):
                right = {g: B.lanes(p, g) for g in groups}
                for i in rows:
                    a = A.scalar(p, i)
                    weight = e.spread(e.ir.fneg(a) if sign < 0 else a)
                    for g in groups:
                        total[i, g] = e.multiply_add(weight, right[g], total[i, g])
            for (i, g), value in total.items():
                C.set_lanes(i, g, value)

    return emit


def _gram(sign: float) -> Callable[..., None]:
    product = _product(sign, symmetric=True)
    return lambda e, C, A: product(e, C, A, A)


def _cholesky(e: _Emitter, D: _Block, R: _Block) -> Any:
    row = [{g: D.lanes(p, g) for g in range(p // LANES, GROUPS)} for p in range(N)]
    smallest = None
    for p in range(N):
        pivot = e.entry(row[p], p)
        if smallest is None:
            smallest = pivot
        else:
            smaller = e.ir.fcmp_unordered("<", pivot, smallest)
            smallest = e.ir.select(smaller, pivot, smallest)
        inverse = e.ir.fdiv(ir.Constant(_DOUBLE, 1.0), e.square_root(pivot))
        R.set_scalar(0, p, inverse)
        scale = e.spread(inverse)
        for g in row[p]:
            row[p][g] = e.ir.fmul(row[p][g], scale)
            D.set_lanes(p, g, row[p][g])
        for i in range(p + 1, N):
            weight = e.spread(e.ir.fneg(e.entry(row[p], i)))
            for g in row[i]:
                row[i][g] = e.multiply_add(weight, row[p][g], row[i][g])
    return smallest


def _upper_transposed_solve_block(e: _Emitter, U: _Block, R: _Block, X: _Block) -> None:
    row = [[X.lanes(p, g) for g in range(GROUPS)] for p in range(N)]
    for p in range(N):
        scale = e.spread(R.scalar(0, p))
        for g in range(GROUPS):
            row[p][g] = e.ir.fmul(row[p][g], scale)
            X.set_lanes(p, g, row[p][g])
        for i in range(p + 1, N):
            weight = e.spread(e.ir.fneg(U.scalar(p, i)))
            for g in range(GROUPS):
                row[i][g] = e.multiply_add(weight, row[p][g], row[i][g])


def _subtract_transposed_times(e: _Emitter, Y: _Block, A: _Block, X: _Block) -> None:
    total = [Y.lanes(0, g) for g in range(GROUPS)]
    for p in range(N):
        weight = e.spread(e.ir.fneg(X.scalar(0, p)))
        for g in range(GROUPS):
            total[g] = e.multiply_add(weight, A.lanes(p, g), total[g])
    for g in range(GROUPS):
        Y.set_lanes(0, g, total[g])


def _subtract_times(e: _Emitter, Y: _Block, A: _Block, X: _Block) -> None:
    x = [X.lanes(0, g) for g in range(GROUPS)]
    for i in range(N):
        total = e.ir.fmul(A.lanes(i, 0), x[0])
        for g in range(1, GROUPS):
            total = e.multiply_add(A.lanes(i, g), x[g], total)
        Y.set_scalar(0, i, e.ir.fsub(Y.scalar(0, i), e.lane_sum(total)))


def _upper_transposed_solve(e: _Emitter, U: _Block, R: _Block, Y: _Block) -> None:
    y = [Y.lanes(0, g) for g in range(GROUPS)]
    for p in range(N):
        value = e.ir.fmul(e.entry(y, p), R.scalar(0, p))
        Y.set_scalar(0, p, value)
        weight = e.spread(e.ir.fneg(value))
        for g in range((p + 1) // LANES, GROUPS):
            y[g] = e.multiply_add(weight, U.lanes(p, g), y[g])


def _upper_solve(e: _Emitter, U: _Block, R: _Block, Y: _Block) -> None:
    y = [Y.scalar(0, p) for p in range(N)]
    for p in range(N - 1, -1, -1):
        y[p] = e.ir.fmul(y[p], R.scalar(0, p))
        Y.set_scalar(0, p, y[p])
        weight = e.ir.fneg(y[p])
        for i in range(p):
            y[i] = e.multiply_add(weight, U.scalar(i, p), y[i])


add_gram = _operation(_gram(+1.0), 2)
cholesky = _operation(_cholesky, 2, types.float64)
subtract_gram = _operation(_gram(-1.0), 2)
subtract_product = _operation(_product(-1.0, symmetric=False), 3)
subtract_times = _operation(_subtract_times, 3)
subtract_transposed_times = _operation(_subtract_transposed_times, 3)
upper_solve = _operation(_upper_solve, 3)
upper_transposed_solve = _operation(_upper_transposed_solve, 3)
upper_transposed_solve_block = _operation(_upper_transposed_solve_block, 3)
