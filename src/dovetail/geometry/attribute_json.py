"""Attributes as JSON values, bit by bit: numbers by their shortest exact text, NaN and ±Inf as text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import CollectionError, GeometryError
from dovetail.geometry.attribute import Buffer
from dovetail.geometry.attribute_type import TYPES, AttributeType

__all__ = ["buffer_from_json", "buffer_to_json"]


def buffer_to_json(buffer: Buffer) -> dict[str, Any]:
    """`{"default_value": …, "values": […]}` in libuipc's shape: vectors are columns [[x], [y], [z]]."""
    kind = buffer.type
    if kind.name == "VectorXu64":
        return {"default_value": buffer.default.tolist(), "values": [uids.tolist() for uids in buffer.array]}
    return {
        "default_value": _nested(kind.libuipc_shape(np.asarray(buffer.default, kind.dtype))),
        "values": _nested(kind.libuipc_shape(buffer.array)),
    }


def buffer_from_json(who: str, type_name: str, attribute: dict[str, Any], count: int) -> Buffer:
    """The buffer that `buffer_to_json` wrote; `who` names the attribute in errors."""
    kind = TYPES.get(type_name)
    if kind is None:
        raise GeometryError(f"{who}: unknown type {type_name!r}; known are {', '.join(TYPES)}.")
    try:
        values, default = attribute["values"], attribute["default_value"]
        if len(values) != count:
            raise ValueError(f"{len(values)} values for {count} elements")
        return Buffer.holding(kind, _array(kind, values, count), kind.element(_array(kind, [default], 1)[0]))
    except (KeyError, TypeError, ValueError, OverflowError, CollectionError) as error:
        raise GeometryError(f"{who}: cannot be read as {type_name} ({type(error).__name__}: {error!s:.200}).") from None


def _array(kind: AttributeType, values: list[Any], count: int) -> NDArray[Any]:
    if kind.dtype == object:
        if kind.name == "string" and not all(isinstance(text, str) for text in values):
            raise TypeError("not all values are text")
        array = np.empty(count, object)
        for i, value in enumerate(values):
            array[i] = kind.element(value)
        return array
    natural = np.array(values, np.float64) if kind.dtype.kind == "f" else kind.natural_value(values)
    return natural.reshape(count, *kind.shape)


def _nested(array: NDArray[Any]) -> Any:
    nested = array.tolist()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return _spelled(nested)
    return nested


def _spelled(nested: Any) -> Any:
    if isinstance(nested, list):
        return [_spelled(item) for item in nested]
    if math.isfinite(nested):
        return nested
    return "NaN" if math.isnan(nested) else "Infinity" if nested > 0 else "-Infinity"
