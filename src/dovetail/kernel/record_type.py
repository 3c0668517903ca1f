"""Records as the compiler sees them: a pointer to a struct with the values of all attributes.

An array is described as Numba has it in its own structs (owner, parent, size, bytes of an item, address, shape,
strides); without an owner it is borrowed, and the record keeps it alive.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.extending import NativeValue, models, register_model, typeof_impl, unbox

from dovetail.kernel.numba_private import AttributeTemplate, impl_ret_borrowed, infer_getattr, lower_getattr_generic
from dovetail.kernel.record import Record

if TYPE_CHECKING:
    from dovetail.kernel.record import _Field

__all__ = ["record_type"]

_SCALARS = {"f": types.float64, "i": types.int64, "b": types.boolean}


class RecordType(types.Type):  # type: ignore[misc]
    """The type of a record class: types of its members, and the words at which they begin.

    Its name is part of the names of functions, and of what is on disk: a digest stands for the members.
    """

    def __init__(self, name: str, members: dict[str, Any], words: dict[str, int]) -> None:
        self.members, self.words = members, words
        told = ", ".join(f"{member}: {kind}" for member, kind in members.items())
        super().__init__(name=f"{name}_{hashlib.sha256(told.encode()).hexdigest()[:8]}")


def _type_of(field: _Field) -> Any:
    if field.kind is not None:
        return field.kind._numba_type_
    scalar = _SCALARS[field.dtype.kind]
    return types.Array(scalar, field.dimensions, "C") if field.dimensions else scalar


def record_type(cls: type[Record]) -> RecordType:
    """The compiler's type of a record class."""
    made = RecordType(cls.__qualname__, {name: _type_of(field) for name, field in cls.fields.items()}, cls._at)
    typeof_impl.register(cls)(lambda value, context: made)
    return made


register_model(RecordType)(models.OpaqueModel)


@infer_getattr
class _Members(AttributeTemplate):  # type: ignore[misc]
    key = RecordType

    def generic_resolve(self, record: RecordType, name: str) -> Any:
        return record.members.get(name)


@lower_getattr_generic(RecordType)  # type: ignore[untyped-decorator]
def _load(context: Any, builder: Any, record: RecordType, pointer: Any, name: str) -> Any:
    kind, word = record.members[name], ir.IntType(64)
    place = builder.gep(builder.bitcast(pointer, word.as_pointer()), [ir.Constant(word, record.words[name])])
    value = builder.load(builder.bitcast(place, context.get_value_type(kind).as_pointer()))
    return impl_ret_borrowed(context, builder, kind, value)


@unbox(RecordType)  # type: ignore[untyped-decorator]
def _unbox(record: RecordType, value: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(value, "_pointer")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer)
