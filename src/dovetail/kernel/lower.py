"""Kernels written as LLVM's instructions, with few of them for what kernels do most.

For `A[i, j]` Numba writes some fifty instructions: it stores the array's description, loads it again, packs shapes and
unpacks them. LLVM finds out that five of them matter. For a loop over `range` it is the same. Here those few are
written at once, for elements and rows of arrays, lengths, loops with step one and arithmetic; everything else is
Numba's. What LLVM makes of it is the same.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator
from typing import Any

from llvmlite import ir as llvm
from numba import types

from dovetail.kernel.bounds import CHECKED, check_index, writing
from dovetail.kernel.calls import signature_of, write
from dovetail.kernel.numba_private import cgutils, ir, lowering

__all__ = ["Lower"]

_INDEX = llvm.IntType(64)
_MEMORY, _PARENT, _SIZE, _ITEM, _DATA, _SHAPE, _STRIDES = range(7)
"""Of the description of an array."""
_FLOATS = {operator.add: "fadd", operator.sub: "fsub", operator.mul: "fmul", operator.truediv: "fdiv"}
_INTEGERS = {operator.add: "add", operator.sub: "sub", operator.mul: "mul"}
_COMPARED = {
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
}
_ITERATED = ("getiter", "iternext", "pair_first", "pair_second")


class Lower(lowering.Lower):  # type: ignore[misc]  # Numba has no types
    """Writes one function.

    What indices, ranges and iterators consist of is never written where nothing else is done with them than to index
    and to iterate: `_parts` has it by the name of the variable. A variable that is set in one place, before all that
    use it, is its value; only others have a place in memory.
    """

    def init(self) -> None:
        super().init()
        if not self.context.enable_nrt:
            self._singly_assigned_vars |= _values(self.blocks)
        self._parts: dict[str, Any] = {}
        self._steps: dict[Any, Any] = {}
        self._apart, self._iterated = _apart(self.func_ir)

    def lower_block(self, block: Any) -> None:
        self._cur_ir_block = block
        for number, following, count, left in self._steps.pop(self.builder.basic_block, ()):
            self.builder.store(self.builder.sub(count, _INDEX(1), flags=["nsw"]), left)
            self.builder.store(self.builder.add(number, _INDEX(1)), following)
        for instruction in block.body:
            self.loc = instruction.loc
            self.lower_inst(instruction)

    def lower_inst(self, inst: Any) -> None:
        if CHECKED:
            writing(f"{self.fndesc.modname}.{self.func_ir.func_id.func_qualname}", self.loc)
        kind = type(inst)
        if kind is ir.Assign:
            name = inst.target.name
            if name in self._apart and self._take_apart(name, inst.value):
                return
            self.storevar(self.lower_assign(self.typeof(name), inst), name)
        elif kind is ir.SetItem or kind is ir.StaticSetItem:
            self._set(inst)
        elif kind is not ir.Del or inst.value not in self._parts:
            super().lower_inst(inst)

    def loadvar(self, name: str) -> Any:
        if name not in self._parts:
            return super().loadvar(name)
        known, kind = self._parts[name], self.typeof(name)
        assert isinstance(known, list), f"{name} was not written"
        values = [self.context.cast(self.builder, index, of, to) for (index, of), to in zip(known, kind, strict=True)]
        return self.context.make_tuple(self.builder, kind, values)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        if self.context.enable_nrt:
            super().storevar(value, name, argidx)
        elif name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        return cgutils.alloca_once(self.builder, lltype, name=name)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        op, found = expr.op, None
        if op == "getitem":
            found = self._get(resty, expr.value, self._indices(expr.index))
        elif op == "static_getitem":
            found = self._get(resty, expr.value, _constants(expr.index))
        elif op in ("binop", "inplace_binop"):
            found = self._arithmetic(resty, expr, expr.fn if op == "binop" else expr.immutable_fn)
        elif op == "getattr" and expr.attr == "shape" and isinstance(self.typeof(expr.value.name), types.Array):
            found = self.builder.extract_value(self.loadvar(expr.value.name), _SHAPE)
        elif op == "pair_first" and expr.value.name in self._parts:
            found = self._parts[expr.value.name][0]
        elif op == "pair_second" and expr.value.name in self._parts:
            found = self._parts[expr.value.name][1]
        elif op == "call" and self._calls(expr, len) and isinstance(self.typeof(expr.args[0].name), types.Array):
            found = self.builder.extract_value(self.loadvar(expr.args[0].name), [_SHAPE, 0])
        elif op == "call":
            found = self._builtin(expr)
        return super().lower_expr(resty, expr) if found is None else found

    def _calls(self, expr: Any, function: Any) -> bool:
        kind = self.typeof(expr.func.name)
        return isinstance(kind, types.Function) and kind.typing_key is function and not expr.kws and not expr.vararg

    def _builtin(self, expr: Any) -> Any:
        """What a call returns that is typed in calls.py."""
        function, call = self.typeof(expr.func.name), self.fndesc.calltypes[expr]
        if expr.kws or expr.vararg or call is None or signature_of(function, call.args) != call:
            return None
        values = [self._cast_var(argument, kind) for argument, kind in zip(expr.args, call.args, strict=True)]
        return write(self, function, call, values)

    # what is not written

    def _take_apart(self, name: str, value: Any) -> bool:
        """Remember what a variable consists of, if that can be known."""
        if isinstance(value, ir.Var):
            known = self._parts.get(value.name)
        elif not isinstance(value, ir.Expr):
            return False
        elif value.op == "build_tuple":
            if name in self._iterated:
                return False
            known = [(self.loadvar(item.name), self.typeof(item.name)) for item in value.items]
            if not all(isinstance(kind, types.Integer) for _, kind in known):
                return False
        elif value.op == "call":
            known = self._range(value)
        elif value.op == "getiter" and value.value.name in self._parts:
            known = self._begin(*self._parts[value.value.name])
        elif value.op == "iternext" and value.value.name in self._parts:
            known = self._next(*self._parts[value.value.name])
        else:
            return False
        if known is None:
            return False
        self._parts[name] = known
        return True

    def _range(self, call: Any) -> tuple[Any, Any] | None:
        """Start and stop of `range` with step one."""
        if not self._calls(call, range) or len(call.args) > 2:
            return None
        if self.fndesc.calltypes[call].return_type != types.range_state64_type:
            return None
        ends = [self._cast_var(end, types.int64) for end in call.args]
        return (ends[0], ends[1]) if len(ends) == 2 else (_INDEX(0), ends[0])

    def _begin(self, start: Any, stop: Any) -> tuple[Any, Any]:
        """Where the next number is kept, and how many are left."""
        following, left = (cgutils.alloca_once(self.builder, _INDEX) for _ in range(2))
        count = self.builder.sub(stop, start)
        some = self.builder.icmp_signed(">", count, _INDEX(0))
        self.builder.store(start, following)
        self.builder.store(self.builder.select(some, count, _INDEX(0)), left)
        return following, left

    def _next(self, following: Any, left: Any) -> tuple[Any, Any]:
        """The next number, and whether there is one; then the loop's first block steps on."""
        count, number = self.builder.load(left), self.builder.load(following)
        first = self.blkmap[self._cur_ir_block.terminator.truebr]
        self._steps[first] = [(number, following, count, left)]
        return number, self.builder.icmp_signed(">", count, _INDEX(0))

    # arrays

    def _indices(self, index: Any) -> list[tuple[Any, Any]] | None:
        """Values and types of indices, if all are integers."""
        if index.name in self._parts:
            known: list[tuple[Any, Any]] = self._parts[index.name]
            return known
        kind = self.typeof(index.name)
        if isinstance(kind, types.Integer):
            return [(self.loadvar(index.name), kind)]
        return None

    def _place(self, kind: Any, array: Any, indices: list[tuple[Any, Any]], name: str) -> Any:
        """Pointer to an element, or to the first of a row."""
        builder, context = self.builder, self.context
        at = []
        for axis, (index, of) in enumerate(indices):
            index = context.cast(builder, index, of, types.intp if of.signed else types.uintp)
            if context.enable_boundscheck:
                size = builder.extract_value(array, [_SHAPE, axis])
                if isinstance(index, llvm.Constant) and index.constant < 0:
                    index = builder.add(index, size)
                check_index(context, builder, index, size, axis, "an array" if name[0] == "$" else f"'{name}'")
            elif of.signed and not (isinstance(index, llvm.Constant) and index.constant >= 0):
                last = builder.add(index, builder.extract_value(array, [_SHAPE, axis]))
                index = builder.select(builder.icmp_signed("<", index, _INDEX(0)), last, index)
            at.append(index)
        data = builder.extract_value(array, _DATA)
        if kind.layout != "C":
            terms = [builder.mul(builder.extract_value(array, [_STRIDES, axis]), k) for axis, k in enumerate(at)]
            return cgutils.pointer_add(builder, data, self._sum(terms))
        step, terms = None, []
        for axis in reversed(range(kind.ndim)):
            if axis < len(at):
                terms.append(at[axis] if step is None else builder.mul(at[axis], step))
            if axis > 0:
                size = builder.extract_value(array, [_SHAPE, axis])
                step = size if step is None else builder.mul(step, size)
        return builder.gep(data, [self._sum(terms[::-1])])

    def _sum(self, terms: list[Any]) -> Any:
        total = terms[0]
        for term in terms[1:]:
            total = self.builder.add(total, term)
        return total

    def _get(self, result: Any, variable: Any, indices: list[tuple[Any, Any]] | None) -> Any:
        """An element or a row; None where it is neither."""
        kind = self.typeof(variable.name)
        if indices is None or not _is_plain(kind) or len(indices) > kind.ndim:
            return None
        array = self.loadvar(variable.name)
        if len(indices) < kind.ndim:
            row = types.Array(kind.dtype, kind.ndim - len(indices), kind.layout, readonly=not kind.mutable)
            if row != result:
                return None
            return self._row(row, array, self._place(kind, array, indices, variable.name), len(indices))
        value = self.context.unpack_value(self.builder, kind.dtype, self._place(kind, array, indices, variable.name))
        return self.context.cast(self.builder, value, kind.dtype, result)

    def _row(self, kind: Any, array: Any, place: Any, axes: int) -> Any:
        builder = self.builder
        row, size = self.context.get_value_type(kind)(llvm.Undefined), _INDEX(1)
        for axis in range(kind.ndim):
            length = builder.extract_value(array, [_SHAPE, axes + axis])
            row = builder.insert_value(row, length, [_SHAPE, axis])
            row = builder.insert_value(row, builder.extract_value(array, [_STRIDES, axes + axis]), [_STRIDES, axis])
            size = builder.mul(size, length, flags=["nsw"])
        for part in (_MEMORY, _PARENT, _ITEM):
            row = builder.insert_value(row, builder.extract_value(array, part), part)
        row = builder.insert_value(builder.insert_value(row, place, _DATA), size, _SIZE)
        self.incref(kind, row)
        return row

    def _set(self, inst: Any) -> None:
        """A[i, j] = x"""
        kind = self.typeof(inst.target.name)
        constant = isinstance(inst, ir.StaticSetItem)
        indices = _constants(inst.index) if constant else self._indices(inst.index)
        source = self.typeof(inst.value.name)
        if indices is None or not _is_plain(kind) or len(indices) != kind.ndim or not isinstance(source, _SCALARS):
            super().lower_inst(inst)
            return
        array, value = self.loadvar(inst.target.name), self.loadvar(inst.value.name)
        value = self.context.cast(self.builder, value, source, kind.dtype)
        place = self._place(kind, array, indices, inst.target.name)
        self.context.pack_value(self.builder, kind.dtype, value, place)

    # numbers

    def _arithmetic(self, result: Any, expr: Any, function: Any) -> Any:
        left, right = self.fndesc.calltypes[expr].args
        if left != right or left not in (types.float64, types.int64):
            return None
        real, compared = left == types.float64, _COMPARED.get(function)
        name = (_FLOATS if real else _INTEGERS).get(function)
        made = types.boolean if compared else left
        if (name is None and compared is None) or made != result:
            return None
        operands = [self._cast_var(side, left) for side in (expr.lhs, expr.rhs)]
        if compared is None:
            assert name is not None
            return getattr(self.builder, name)(*operands, **({} if real else {"flags": ["nsw"]}))
        if not real:
            return self.builder.icmp_signed(compared, *operands)
        return (self.builder.fcmp_unordered if compared == "!=" else self.builder.fcmp_ordered)(compared, *operands)


_SCALARS = (types.Number, types.Boolean)


def _is_plain(kind: Any) -> bool:
    """An array of numbers, aligned, by rows or with strides."""
    return type(kind) is types.Array and kind.aligned and kind.layout in "CA" and isinstance(kind.dtype, _SCALARS)


def _constants(index: Any) -> list[tuple[Any, Any]] | None:
    """The same as `_indices`, of numbers that are written in the source."""
    each = index if isinstance(index, tuple) else (index,)
    return [(_INDEX(k), types.intp) for k in each] if all(type(k) is int for k in each) else None


def _values(blocks: Any) -> set[str]:
    """Variables that are set in one place, which is written before all that use them.

    It comes before them in the program as well: where it might not, Numba sets a variable on all ways that lead there.
    """
    made: Counter[str] = Counter()
    early: set[str] = set()
    for _, block in sorted(blocks.items()):
        for inst in block.body:
            target = inst.target.name if isinstance(inst, ir.Assign) else None
            early.update(v.name for v in inst.list_vars() if v.name not in made and v.name != target)
            if target is not None:
                made[target] += 1
    return {name for name, times in made.items() if times == 1 and name not in early}


def _apart(function: Any) -> tuple[set[str], set[str]]:
    """Variables that are set once, and used only to index and to iterate; those of them over which a loop goes."""
    made: Counter[str] = Counter()
    used: set[str] = set()
    iterated: set[str] = set()
    copied: list[tuple[str, str]] = []
    for block in function.blocks.values():
        for inst in block.body:
            if isinstance(inst, ir.Assign):
                made[inst.target.name] += 1
                if isinstance(inst.value, ir.Var):
                    copied.append((inst.target.name, inst.value.name))
                    continue
                if isinstance(inst.value, ir.Expr) and inst.value.op == "getiter":
                    iterated.add(inst.value.value.name)
            if not isinstance(inst, ir.Del):
                used.update(_used(inst))
    apart = {name for name, times in made.items() if times == 1 and name not in used}
    before = None
    while before != (len(apart), len(iterated)):
        before = len(apart), len(iterated)
        for target, source in copied:
            if target not in apart:
                apart.discard(source)
            if target in iterated:
                iterated.add(source)
    return apart, iterated


def _used(inst: Any) -> Iterator[str]:
    """Names of what an instruction uses otherwise."""
    what = inst.value if isinstance(inst, ir.Assign) else inst
    if isinstance(what, (ir.SetItem, ir.StaticSetItem)):
        yield from (what.target.name, what.value.name)
    elif isinstance(what, ir.Expr) and what.op in ("getitem", "static_getitem"):
        yield what.value.name
    elif isinstance(what, ir.Inst) and not (isinstance(what, ir.Expr) and what.op in _ITERATED):
        yield from (variable.name for variable in what.list_vars())
