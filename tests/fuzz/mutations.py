"""Ways to spoil arrays and documents, drawn from a seeded generator."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["NUMBERS", "VALUES", "spoil_array", "spoil_bytes", "spoil_document", "spoil_number"]

NUMBERS = [
    0.0, -1.0, 0.5, 1.0, 2.0, 7.0, 1e6, -1e6, 2.0**31, 2.0**53, 2.0**63, 1e300, -1e300, 5e-324, np.nan, np.inf, -np.inf,
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2, 7, 10**6, 2**31, 2**63, -(2**63), 10**400, 0.5, -0.0, 1e300, float("nan"),
    float("inf"), "", "x", "é" * 50, "x" * 3000, "<b>", "\x00", [], [1], [[1, 2], [3]], [None], ["x"], {}, {"x": 1},
]  # fmt: skip


def spoil_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The array with some entries, rows, its shape or its type changed."""
    way = int(rng.integers(12))
    out = array.copy()
    if way <= 4 and out.size:
        for _ in range(int(rng.integers(1, 4))):
            out.reshape(-1)[rng.integers(out.size)] = NUMBERS[rng.integers(len(NUMBERS))]
    elif way == 5 and out.size:
        bits = np.frombuffer(bytearray(out.tobytes()), np.uint8)
        bits[rng.integers(len(bits))] ^= 1 << int(rng.integers(8))
        out = bits.view(out.dtype).reshape(out.shape)
    elif way == 6 and out.size:
        out.reshape(-1)[rng.integers(out.size)] += rng.integers(-3, 4)
    elif way == 7 and out.ndim and len(out):
        out = np.delete(out, rng.integers(len(out)), axis=0)
    elif way == 8 and out.ndim and len(out):
        out = np.concatenate([out, out[rng.integers(len(out), size=int(rng.integers(1, 4)))]])
    elif way == 9 and out.ndim and len(out):
        out = out[rng.permutation(len(out))]
    elif way == 10:
        with np.errstate(all="ignore"):
            out = out.astype(["<f4", "<i8", ">f8", "<c16", "|b1", "<U3"][rng.integers(6)])
    else:
        shapes = [(-1,), (1, *out.shape), (*out.shape, 1), out.shape[::-1], ()]
        shape = shapes[rng.integers(len(shapes))]
        out = out.reshape(shape) if shape != () or out.size == 1 else np.zeros(())
    return out


def spoil_document(document: Any, rng: np.random.Generator) -> Any:
    """A JSON document with one value, somewhere in it, replaced, removed, repeated or renamed."""
    at, key, holder = document, None, None
    while isinstance(at, dict | list) and at and (key is None or rng.random() < 0.85):
        key = list(at)[rng.integers(len(at))] if isinstance(at, dict) else int(rng.integers(len(at)))
        holder, at = at, at[key]
    if holder is None:
        return VALUES[rng.integers(len(VALUES))]
    way = int(rng.integers(5))
    if way <= 2:
        holder[key] = VALUES[rng.integers(len(VALUES))]
    elif way == 3:
        del holder[key]
    elif isinstance(holder, list):
        holder += holder[: int(rng.integers(1, 4))]
    else:
        holder[f"{key}x"] = holder.pop(key)
    return document


def spoil_number(values: list[Any], rng: np.random.Generator) -> None:
    """One entry of nested lists becomes another one of the same kind: what types and lengths do not give away."""
    at = values
    while isinstance(at[0], list) and at[0]:
        at = at[rng.integers(len(at))]
    place = int(rng.integers(len(at)))
    if isinstance(at[place], bool | str):
        at[place] = VALUES[rng.integers(len(VALUES))]
    elif isinstance(at[place], int):
        at[place] = int(rng.choice([-1, 0, 1, 2, 3, 7, 100, 2**31 - 1, -(2**31)]))
    else:
        at[place] = float(NUMBERS[rng.integers(len(NUMBERS))])


_WORDS = [
    bytes([0] * 8),
    bytes([255] * 8),
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\x00\x00\x00\x80",
    b"99999999999",
    b"-1",
    b"nan",
]


def spoil_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """A file with bits flipped, bytes written over, cut out, repeated or put elsewhere, or its end cut off."""
    out = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        if not out:
            break
        way, at = int(rng.integers(8)), int(rng.integers(len(out)))
        size = int(rng.integers(1, 1 + min(64, len(out) - at)))
        if way <= 2:
            out[at] ^= 1 << int(rng.integers(8))
        elif way == 3:
            word = _WORDS[rng.integers(len(_WORDS))]
            out[at : at + len(word)] = word
        elif way == 4:
            del out[at : at + size]
        elif way == 5:
            out[at:at] = out[at : at + size] * int(rng.integers(1, 9))
        elif way == 6:
            to = int(rng.integers(len(out)))
            out[to : to + size] = out[at : at + size]
        else:
            del out[at:]
    return bytes(out)
