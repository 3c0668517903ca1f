"""Records as the compiler sees them: a pointer to a struct with the values of all attributes.

An array is described as Numba has it in its own structs (owner, parent, size, bytes of an item, address, shape,
strides); without an owner it is borrowed, and the record keeps it alive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, models, register_model, typeof_impl, unbox

from dovetail.kernel.record import Record

if TYPE_CHECKING:
    from dovetail.kernel.record import _Field

__all__ = ["record_type"]

_SCALARS = {"f": types.float64, "i": types.int64, "b": types.boolean}


class RecordType(types.Type):  # type: ignore[misc]
    """The type of a record class; members are (name, type)."""

    def __init__(self, name: str, members: tuple[tuple[str, Any], ...]) -> None:
        self.members = members
        super().__init__(name=f"{name}({', '.join(f'{member}: {kind}' for member, kind in members)})")

    def member(self, name: str) -> int:
        """Number of a member."""
        return [member for member, _ in self.members].index(name)


def _type_of(field: _Field) -> Any:
    if field.kind is not None:
        return field.kind._numba_type_
    scalar = _SCALARS[field.dtype.kind]
    return types.Array(scalar, field.dimensions, "C") if field.dimensions else scalar


def record_type(cls: type[Record]) -> RecordType:
    """The compiler's type of a record class."""
    made = RecordType(cls.__qualname__, tuple((name, _type_of(field)) for name, field in cls.fields.items()))
    typeof_impl.register(cls)(lambda value, context: made)
    return made


register_model(RecordType)(models.OpaqueModel)


@infer_getattr
class _Members(AttributeTemplate):  # type: ignore[misc]
    key = RecordType

    def generic_resolve(self, record: RecordType, name: str) -> Any:
        return dict(record.members).get(name)


@lower_getattr_generic(RecordType)  # type: ignore[untyped-decorator]
def _load(context: Any, builder: Any, record: RecordType, pointer: Any, name: str) -> Any:
    struct = ir.LiteralStructType([context.get_value_type(kind) for _, kind in record.members])
    place, zero = record.member(name), ir.Constant(ir.IntType(32), 0)
    typed = builder.bitcast(pointer, struct.as_pointer())
    value = builder.load(builder.gep(typed, [zero, ir.Constant(ir.IntType(32), place)]))
    return impl_ret_borrowed(context, builder, record.members[place][1], value)


@unbox(RecordType)  # type: ignore[untyped-decorator]
def _unbox(record: RecordType, value: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(value, "_pointer")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer)
