"""The slot classes of numeric attributes, one for each type; libuipc's scripts name them in annotations."""

from __future__ import annotations

from dovetail.geometry.attribute import AttributeSlot

__all__ = [
    "AttributeSlotFloat",
    "AttributeSlotI32",
    "AttributeSlotI64",
    "AttributeSlotMatrix2x2",
    "AttributeSlotMatrix3x3",
    "AttributeSlotMatrix4x4",
    "AttributeSlotMatrix6x6",
    "AttributeSlotMatrix9x9",
    "AttributeSlotMatrix12x12",
    "AttributeSlotU32",
    "AttributeSlotU64",
    "AttributeSlotVector2",
    "AttributeSlotVector2i",
    "AttributeSlotVector3",
    "AttributeSlotVector3i",
    "AttributeSlotVector4",
    "AttributeSlotVector4i",
    "AttributeSlotVector6",
    "AttributeSlotVector9",
    "AttributeSlotVector12",
]


class AttributeSlotFloat(AttributeSlot, stores="F64"):
    """One float64 per element."""

    __slots__ = ()


class AttributeSlotI32(AttributeSlot, stores="I32"):
    """One int32 per element."""

    __slots__ = ()


class AttributeSlotI64(AttributeSlot, stores="I64"):
    """One int64 per element."""

    __slots__ = ()


class AttributeSlotU32(AttributeSlot, stores="U32"):
    """One uint32 per element."""

    __slots__ = ()


class AttributeSlotU64(AttributeSlot, stores="U64"):
    """One uint64 per element."""

    __slots__ = ()


class AttributeSlotVector2(AttributeSlot, stores="Vector2"):
    """Two float64 per element."""

    __slots__ = ()


class AttributeSlotVector3(AttributeSlot, stores="Vector3"):
    """Three float64 per element."""

    __slots__ = ()


class AttributeSlotVector4(AttributeSlot, stores="Vector4"):
    """Four float64 per element."""

    __slots__ = ()


class AttributeSlotVector6(AttributeSlot, stores="Vector6"):
    """Six float64 per element."""

    __slots__ = ()


class AttributeSlotVector9(AttributeSlot, stores="Vector9"):
    """Nine float64 per element."""

    __slots__ = ()


class AttributeSlotVector12(AttributeSlot, stores="Vector12"):
    """Twelve float64 per element."""

    __slots__ = ()


class AttributeSlotVector2i(AttributeSlot, stores="Vector2i"):
    """Two int32 per element."""

    __slots__ = ()


class AttributeSlotVector3i(AttributeSlot, stores="Vector3i"):
    """Three int32 per element."""

    __slots__ = ()


class AttributeSlotVector4i(AttributeSlot, stores="Vector4i"):
    """Four int32 per element."""

    __slots__ = ()


class AttributeSlotMatrix2x2(AttributeSlot, stores="Matrix2x2"):
    """A 2×2 matrix of float64 per element."""

    __slots__ = ()


class AttributeSlotMatrix3x3(AttributeSlot, stores="Matrix3x3"):
    """A 3×3 matrix of float64 per element."""

    __slots__ = ()


class AttributeSlotMatrix4x4(AttributeSlot, stores="Matrix4x4"):
    """A 4×4 matrix of float64 per element."""

    __slots__ = ()


class AttributeSlotMatrix6x6(AttributeSlot, stores="Matrix6x6"):
    """A 6×6 matrix of float64 per element."""

    __slots__ = ()


class AttributeSlotMatrix9x9(AttributeSlot, stores="Matrix9x9"):
    """A 9×9 matrix of float64 per element."""

    __slots__ = ()


class AttributeSlotMatrix12x12(AttributeSlot, stores="Matrix12x12"):
    """A 12×12 matrix of float64 per element."""

    __slots__ = ()
