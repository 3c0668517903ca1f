"""JSON values as BSON, the binary form that libuipc uses for large scenes.

Objects, arrays, text, numbers (float64, int32, int64), true, false and null. Reading runs no code.
"""

from __future__ import annotations

import struct
from typing import Any

__all__ = ["from_bson", "to_bson"]

_INT32, _INT64 = range(-(2**31), 2**31), range(-(2**63), 2**63)
_DEEPEST = 200


def to_bson(document: dict[str, Any]) -> bytes:
    """The document; a number beyond 64 bits or a value that JSON does not have is a ValueError."""
    return _object(document.items())


def _object(items: Any) -> bytes:
    body = b"".join(_element(name, value) for name, value in items)
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def _element(name: str, value: Any) -> bytes:
    key = name.encode() + b"\0"
    if b"\0" in key[:-1]:
        raise ValueError(f"the name {name!r} has a zero byte")
    if value is None:
        return b"\x0a" + key
    if isinstance(value, bool):
        return b"\x08" + key + bytes([value])
    if isinstance(value, int):
        if value in _INT32:
            return b"\x10" + key + struct.pack("<i", value)
        if value in _INT64:
            return b"\x12" + key + struct.pack("<q", value)
        raise ValueError(f"{value} does not fit in 64 bits")
    if isinstance(value, float):
        return b"\x01" + key + struct.pack("<d", value)
    if isinstance(value, str):
        text = value.encode() + b"\0"
        return b"\x02" + key + struct.pack("<i", len(text)) + text
    if isinstance(value, dict):
        return b"\x03" + key + _object(value.items())
    if isinstance(value, (list, tuple)):
        return b"\x04" + key + _object((str(i), item) for i, item in enumerate(value))
    raise ValueError(f"a {type(value).__name__} is no JSON value")


def from_bson(content: bytes) -> dict[str, Any]:
    """The document; anything that is not complete BSON is a ValueError."""
    try:
        items, end = _items(content, 0, 0)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"the file ends early or is damaged: {error}") from None
    if end != len(content):
        raise ValueError(f"{len(content) - end} bytes follow the document")
    return dict(items)


def _items(content: bytes, at: int, depth: int) -> tuple[list[tuple[str, Any]], int]:
    if depth > _DEEPEST:
        raise ValueError("it is nested too deeply")
    (size,) = struct.unpack_from("<i", content, at)
    end = at + size
    if size < 5 or end > len(content) or content[end - 1] != 0:
        raise ValueError("the length of an object is wrong")
    at += 4
    items: list[tuple[str, Any]] = []
    while at < end - 1:
        kind = content[at]
        stop = content.index(b"\0", at + 1, end)
        name = content[at + 1 : stop].decode()
        value, at = _value(kind, content, stop + 1, depth)
        items.append((name, value))
    return items, end


def _value(kind: int, content: bytes, at: int, depth: int) -> tuple[Any, int]:
    if kind == 0x01:
        return struct.unpack_from("<d", content, at)[0], at + 8
    if kind == 0x02:
        (length,) = struct.unpack_from("<i", content, at)
        if length < 1 or at + 4 + length > len(content):
            raise ValueError("the length of a text is wrong")
        return content[at + 4 : at + 3 + length].decode(), at + 4 + length
    if kind in (0x03, 0x04):
        items, end = _items(content, at, depth + 1)
        return (dict(items) if kind == 0x03 else [value for _, value in items]), end
    if kind == 0x08:
        return bool(content[at]), at + 1
    if kind == 0x0A:
        return None, at
    if kind == 0x10:
        return struct.unpack_from("<i", content, at)[0], at + 4
    if kind == 0x12:
        return struct.unpack_from("<q", content, at)[0], at + 8
    raise ValueError(f"elements of type {kind:#x} are not used in scenes")
