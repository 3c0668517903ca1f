"""Arithmetic in registers: Python expressions that become straight-line LLVM code, for scalars and for eight lanes.

An expression on `Number`s emits instructions instead of computing. The same function thus serves one body (scalars)
and eight of them (vectors); loops and conditions in it run while the code is emitted, sums leave out zeros. Pointers
into arrays are `Memory`: `at(k)` is a number k doubles further on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dovetail.kernel.bounds import Reach
from dovetail.kernel.numba_private import cgutils

__all__ = ["LANES", "Emitter", "Matrix", "Memory", "Number", "Vector3", "emitted"]

LANES = 8
_FLAGS = ("contract", "nsz", "arcp", "reassoc")
_DOUBLE = ir.DoubleType()
_INDEX = ir.IntType(64)
_LANE = ir.IntType(32)
_PAIR = ir.VectorType(_DOUBLE, 2)
_QUAD = ir.VectorType(_DOUBLE, 4)
_WIDE = ir.VectorType(_DOUBLE, LANES)


class Number:
    """A double, or eight of them, that the emitted code will hold."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _other(self, other: Number | float) -> Any:
        if isinstance(other, Number):
            return other.value
        kind = self.value.type
        if isinstance(kind, ir.VectorType):
            return ir.Constant(kind, [float(other)] * LANES)
        return ir.Constant(kind, float(other))

    def _binary(self, name: str, left: Any, right: Any) -> Number:
        return Number(self.builder, getattr(self.builder, name)(left, right, flags=_FLAGS))

    def __add__(self, other: Number | float) -> Number:
        if not isinstance(other, Number) and other == 0.0:
            return self
        return self._binary("fadd", self.value, self._other(other))

    __radd__ = __add__

    def __sub__(self, other: Number | float) -> Number:
        if not isinstance(other, Number) and other == 0.0:
            return self
        return self._binary("fsub", self.value, self._other(other))

    def __rsub__(self, other: float) -> Number:
        return -self if other == 0.0 else self._binary("fsub", self._other(other), self.value)

    def __mul__(self, other: Number | float) -> Number:
        return self._binary("fmul", self.value, self._other(other))

    __rmul__ = __mul__

    def __rtruediv__(self, other: float) -> Number:
        return self._binary("fdiv", self._other(other), self.value)

    def __neg__(self) -> Number:
        return Number(self.builder, self.builder.fneg(self.value, flags=_FLAGS))

    def _call(self, name: str, *others: Any) -> Number:
        kind = self.value.type
        suffix = f"v{LANES}f64" if isinstance(kind, ir.VectorType) else "f64"
        function = cgutils.get_or_insert_function(
            self.builder.module, ir.FunctionType(kind, [kind] * (1 + len(others))), f"llvm.{name}.{suffix}"
        )
        return Number(self.builder, self.builder.call(function, [self.value, *others]))

    def size(self) -> Number:
        """|x|"""
        return self._call("fabs")

    def least(self, other: Number | float) -> Number:
        return self._call("minnum", self._other(other))

    def most(self, other: Number | float) -> Number:
        return self._call("maxnum", self._other(other))

    def where_positive(self, yes: Number | float, no: Number | float) -> Number:
        """yes where this is above zero, else no; lane by lane."""
        test = self.builder.fcmp_ordered(">", self.value, self._other(0.0))
        return Number(self.builder, self.builder.select(test, self._other(yes), self._other(no)))


Matrix: TypeAlias = list[list[Any]]
Vector3: TypeAlias = Sequence[Any]


class Memory:
    """A place in an array, from which numbers are read at fixed distances; `stride` doubles between entries."""

    def __init__(self, builder: Any, pointer: Any, reach: Reach, kind: Any, stride: int = 1) -> None:
        self._builder, self._pointer, self._reach, self._kind, self._stride = builder, pointer, reach, kind, stride

    def one_by_one(self) -> Memory:
        """The same place, with single numbers."""
        return Memory(self._builder, self._pointer, self._reach, _DOUBLE)

    def _address(self, k: int) -> Any:
        self._reach.cover(k * self._stride, getattr(self._kind, "count", 1))
        place = self._builder.gep(self._pointer, [ir.Constant(_INDEX, k * self._stride)])
        return self._builder.bitcast(place, self._kind.as_pointer()) if self._kind is not _DOUBLE else place

    def at(self, k: int) -> Number:
        value = self._builder.load(self._address(k))
        value.align = 8
        return Number(self._builder, value)

    def put(self, k: int, number: Number) -> None:
        self._builder.store(number.value, self._address(k)).align = 8

    def list(self, first: int, count: int) -> list[Number]:
        return [self.at(first + k) for k in range(count)]

    def stream(self, k: int, number: Number) -> None:
        """`put` past the caches, for what is not read again soon; rows of eight that begin with a cache line."""
        store = self._builder.store(number.value, self._address(k))
        store.align = 64
        store.set_metadata("nontemporal", self._builder.module.add_metadata([ir.Constant(_LANE, 1)]))


class Emitter:
    """Access to the arguments of an emitted function."""

    def __init__(self, context: Any, builder: Any, kinds: Any, values: Any) -> None:
        self._context, self._builder, self._kinds, self._values = context, builder, kinds, values

    def _memory(self, k: int, offset: Any, kind: Any = _DOUBLE, stride: int = 1) -> Memory:
        """Array argument k from `offset` numbers on."""
        array = self._context.make_array(self._kinds[k])(self._context, self._builder, self._values[k])
        pointer, reach = self._builder.gep(array.data, [offset]), Reach(self._context, self._builder, array, offset)
        return Memory(self._builder, pointer, reach, kind, stride)

    def index(self, k: int) -> Any:
        """Integer argument k."""
        return self._context.cast(self._builder, self._values[k], self._kinds[k], types.int64)

    def when(self, k: int, numbers: Callable[[], Sequence[Number]]) -> list[Number]:
        """What is emitted for these numbers runs where integer argument k is not zero; elsewhere they are zero."""
        builder, before = self._builder, self._builder.block
        wanted = builder.icmp_signed("!=", self.index(k), ir.Constant(_INDEX, 0))
        with builder.if_then(wanted, likely=False):
            found = [number.value for number in numbers()]
            within = builder.block
        merged = []
        for value in found:
            phi = builder.phi(value.type)
            phi.add_incoming(value, within)
            phi.add_incoming(ir.Constant(value.type, None), before)
            merged.append(Number(builder, phi))
        return merged

    def sums(
        self, first: Any, last: Any, start: Sequence[Number], terms: Callable[[Any], Sequence[Number]]
    ) -> list[Number]:
        """Numbers, and added to each what is emitted for every index from `first` up to `last`."""
        builder = self._builder
        places = [cgutils.alloca_once(builder, number.value.type) for number in start]
        for place, number in zip(places, start, strict=True):
            builder.store(number.value, place)
        with cgutils.for_range_slice(builder, first, last, ir.Constant(_INDEX, 1), _INDEX) as (index, _):
            for place, number in zip(places, terms(index), strict=True):
                builder.store((Number(builder, builder.load(place)) + number).value, place)
        return [Number(builder, builder.load(place)) for place in places]

    def put_all(self, far: int, rows: Memory, numbers: dict[int, Number]) -> None:
        """Write rows of eight, past the caches where integer argument `far` is not zero."""
        wanted = self._builder.icmp_signed("!=", self.index(far), ir.Constant(_INDEX, 0))
        with self._builder.if_else(wanted, likely=False) as (past, within):
            with past:
                for k, number in numbers.items():
                    rows.stream(k, number)
            with within:
                for k, number in numbers.items():
                    rows.put(k, number)

    def scalars(self, k: int, offset: Any, stride: int = 1) -> Memory:
        """Array argument k from `offset` doubles on, one number at a time."""
        return self._memory(k, offset, _DOUBLE, stride)

    def lanes(self, k: int, offset: Any) -> Memory:
        """Array argument k from `offset` doubles on, eight neighbours at a time."""
        return self._memory(k, offset, _WIDE, LANES)

    def wide(self, number: Number) -> Number:
        """A scalar in all lanes."""
        empty = ir.Constant(_WIDE, ir.Undefined)
        first = self._builder.insert_element(empty, number.value, ir.Constant(_LANE, 0))
        return Number(self._builder, self._shuffle(first, empty, [0] * LANES))

    def lane(self, lane: int, number: Number) -> Number:
        """One lane as a scalar."""
        return Number(self._builder, self._builder.extract_element(number.value, ir.Constant(_LANE, lane)))

    def only(self, lane: int, number: Number) -> Number:
        """A scalar in one lane, zero in the others."""
        zero = ir.Constant(_WIDE, [0.0] * LANES)
        return Number(self._builder, self._builder.insert_element(zero, number.value, ir.Constant(_LANE, lane)))

    def last(self, pair: Number) -> Number:
        """Two neighbours in the last two lanes, zero in the others."""
        zero = ir.Constant(pair.value.type, None)
        return Number(self._builder, self._shuffle(pair.value, zero, [2] * (LANES - 2) + [0, 1]))

    def pairs(self, k: int, offset: Any, stride: int) -> Memory:
        """Array argument k from `offset` doubles on, two neighbours as one number, `stride` apart."""
        return self._memory(k, offset, _PAIR, stride)

    def fours(self, k: int, offset: Any, stride: int) -> Memory:
        """Array argument k from `offset` doubles on, four neighbours as one number, `stride` apart."""
        return self._memory(k, offset, _QUAD, stride)

    def rows(self, k: int, offset: Any, stride: int) -> Memory:
        """Array argument k from `offset` doubles on, eight neighbours as one number, `stride` apart."""
        return self._memory(k, offset, _WIDE, stride)

    def times(self, index: Any, factor: int) -> Any:
        return self._builder.mul(index, ir.Constant(_INDEX, factor))

    def integer(self, value: int) -> Any:
        return ir.Constant(_INDEX, value)

    def plus(self, index: Any, other: Any) -> Any:
        return self._builder.add(index, other)

    def side(self, k: int, index: Any, b: int, far: int) -> tuple[Any, Number]:
        """0 and 1 where entry `index` of the integer array k is integer argument b, else `far` and −1."""
        found = self._memory(k, index, _INDEX).at(0).value
        same = self._builder.icmp_signed("==", found, self.index(b))
        at = self._builder.select(same, ir.Constant(_INDEX, 0), ir.Constant(_INDEX, far))
        sign = self._builder.select(same, ir.Constant(_DOUBLE, 1.0), ir.Constant(_DOUBLE, -1.0))
        return at, Number(self._builder, sign)

    def constant(self, value: float) -> Number:
        """The same number in all lanes."""
        return Number(self._builder, ir.Constant(_WIDE, [value] * LANES))

    def _rows(self, k: int, rows: int, place: Any, width: int) -> list[Memory]:
        """The rows of `width` doubles of array k that index array `rows` names from `place` on."""
        first = self._memory(rows, place, _INDEX)
        return [self._memory(k, self.times(first.at(lane).value, width), _QUAD) for lane in range(LANES)]

    def _shuffle(self, a: Any, b: Any, order: list[int]) -> Any:
        return self._builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_LANE, len(order)), order))

    def shuffled(self, a: Number, b: Number, order: list[int]) -> Number:
        """Lanes of two numbers, those of the second counted on from the first's."""
        return Number(self._builder, self._shuffle(a.value, b.value, order))

    def _transposed(self, rows: list[Any]) -> list[Any]:
        """Four vectors of four ↔ their columns."""
        a, b, c, d = rows
        even, odd = [0, 4, 2, 6], [1, 5, 3, 7]
        t = [self._shuffle(a, b, even), self._shuffle(a, b, odd), self._shuffle(c, d, even), self._shuffle(c, d, odd)]
        low, high = [0, 1, 4, 5], [2, 3, 6, 7]
        return [
            self._shuffle(t[0], t[2], low),
            self._shuffle(t[1], t[3], low),
            self._shuffle(t[0], t[2], high),
            self._shuffle(t[1], t[3], high),
        ]

    def neighbours(self, first: Any, last: Any) -> list[Any]:
        """Indices of eight rows from `first` on; where there are fewer, the last one again."""
        found = []
        for lane in range(LANES):
            index = self._builder.add(first, ir.Constant(_INDEX, lane))
            found.append(self._builder.select(self._builder.icmp_signed("<", index, last), index, last))
        return found

    def _at(self, k: int, rows: Sequence[Any], width: int) -> list[Memory]:
        """Rows of array k."""
        return [self._memory(k, self.times(row, width), _QUAD) for row in rows]

    def _columns(self, rows: list[Memory], width: int) -> list[Number]:
        """Numbers 0 … width − 1 of eight rows, in lanes."""
        found = []
        for group in range(0, width, 4):
            quads = [row.at(group).value for row in rows]
            low, high = self._transposed(quads[:4]), self._transposed(quads[4:])
            found += [
                Number(self._builder, self._shuffle(a, b, list(range(LANES)))) for a, b in zip(low, high, strict=True)
            ]
        return found

    def _put_columns(self, rows: list[Memory], numbers: Sequence[Number]) -> None:
        for group in range(0, len(numbers), 4):
            wide = [number.value for number in numbers[group : group + 4]]
            quads = []
            for half in ([0, 1, 2, 3], [4, 5, 6, 7]):
                quads += self._transposed([self._shuffle(v, v, half) for v in wide])
            for row, quad in zip(rows, quads, strict=True):
                row.put(group, Number(self._builder, quad))

    def gathered(self, k: int, rows: int, place: Any, width: int = 12) -> list[Number]:
        """Numbers 0 … width − 1 of eight rows of array k, in lanes; index array `rows` names them from `place` on."""
        return self._columns(self._rows(k, rows, place, width), width)

    def scatter(self, k: int, rows: int, place: Any, numbers: Sequence[Number]) -> None:
        """Inverse of `gathered`."""
        self._put_columns(self._rows(k, rows, place, len(numbers)), numbers)

    def of(self, k: int, rows: Sequence[Any], width: int) -> list[Number]:
        """The same of rows with these indices."""
        return self._columns(self._at(k, rows, width), width)

    def put_of(self, k: int, rows: Sequence[Any], numbers: Sequence[Number]) -> None:
        """Inverse of `of`; rows that occur again get the same again."""
        self._put_columns(self._at(k, rows, len(numbers)), numbers)

    def one_of(self, k: int, rows: Sequence[Any]) -> Number:
        """Entries of array k with these indices, in lanes."""
        value = ir.Constant(_WIDE, ir.Undefined)
        for lane, row in enumerate(self._at(k, rows, 1)):
            value = self._builder.insert_element(value, row.one_by_one().at(0).value, ir.Constant(_LANE, lane))
        return Number(self._builder, value)

    def _listed(self, k: int, starts: int, first: int) -> list[Memory]:
        """The eight places of array k that index array `starts` holds from `first` on."""
        row = self._memory(starts, ir.Constant(_INDEX, first), _INDEX)
        places = [row.at(lane).value for lane in range(LANES)]
        return [self._memory(k, place, _QUAD) for place in places]

    def listed(self, k: int, starts: int, first: int, count: int) -> list[Number]:
        """The first `count` numbers of array k from such places on, in lanes; up to three beyond them are read."""
        return self._columns(self._listed(k, starts, first), count)[:count]

    def put_listed(self, k: int, starts: int, first: int, numbers: Sequence[Number]) -> None:
        """Inverse of `listed`; nothing else is written."""
        rows, whole = self._listed(k, starts, first), len(numbers) // 4 * 4
        self._put_columns(rows, numbers[:whole])
        for n, number in enumerate(numbers[whole:]):
            for lane, row in enumerate(rows):
                row.one_by_one().put(whole + n, self.lane(lane, number))

    def picked(self, k: int, starts: int, place: Any, count: int) -> list[Number]:
        """The first `count` numbers of array k from eight places on, in lanes; `starts` holds those from `place` on."""
        first = self._memory(starts, place, _INDEX)
        rows = [self._memory(k, first.at(lane).value) for lane in range(LANES)]
        found = []
        for c in range(count):
            value = ir.Constant(_WIDE, ir.Undefined)
            for lane, row in enumerate(rows):
                value = self._builder.insert_element(value, row.at(c).value, ir.Constant(_LANE, lane))
            found.append(Number(self._builder, value))
        return found

    def turned(self, numbers: Sequence[Number]) -> list[Number]:
        """Eight numbers in lanes become eight rows: the k-th has lane k of all of them."""
        rows = [number.value for number in numbers]
        for far in (4, 2, 1):
            # the 2×2 blocks of halves, of quarters, of single numbers: exchange those off the diagonal
            upper = [k if k // far % 2 == 0 else k - far + LANES for k in range(LANES)]
            lower = [k + far if k // far % 2 == 0 else k + LANES for k in range(LANES)]
            out = list(rows)
            for a in (k for k in range(LANES) if k // far % 2 == 0):
                out[a] = self._shuffle(rows[a], rows[a + far], upper)
                out[a + far] = self._shuffle(rows[a], rows[a + far], lower)
            rows = out
        return [Number(self._builder, row) for row in rows]


def emitted(arguments: str) -> Callable[[Callable[[Emitter], None]], Any]:
    """Make what emits code a function for kernels: it takes these arguments, arrays and integers, returns nothing."""
    names = ["context", *arguments.replace(",", " ").split()]
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]

    def decorate(emit: Callable[[Emitter], None]) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            emit(Emitter(context, builder, signature.args, values))
            return context.get_dummy_value()

        def typed(context: Any, *kinds: Any) -> Any:
            return types.void(*kinds), generate

        typed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return intrinsic(typed)

    return decorate
