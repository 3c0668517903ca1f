"""Values that no call expects: of wrong kinds, not finite, out of range, of odd shapes, huge, empty."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

__all__ = ["nonsense"]


class Thing:
    """An object that is nothing in particular."""

    def __repr__(self) -> str:
        return "<a thing>"


_PLAIN: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, -5, 2**31, 2**63, 2**64, -(2**70), 10**400, -(10**400), 10**5000,
    0.0, -0.0, 1.0, 2.5, -1.0, 1e-9, 1e6, 1e300, -1e300, 1e-300, 5e-324, math.nan, math.inf, -math.inf,
    1j, complex(math.nan, 1.0), Decimal("NaN"), Decimal("1e999"), Fraction(1, 3), Ellipsis, NotImplemented,
    "", "x", "1", "nan", "a\nb", "\x00", "ä→ψ 🜨", "\ud800", "x" * 10_000, "/", "..", "no/x.obj", "x.obj", "x.json",
    b"", b"abc", bytearray(b"abc"), Path("nowhere"), Path("x.stl"),
    (), [], {}, set(), frozenset({1}), {1, 2, 3}, {"a": 1}, {"dt": "x"}, {1: 2}, {"name": None},
    [None], [[]], [[], [1]], [[1, 2], [3]], [1, "x"], ["x", "y", "z"], [1, 2, 3], (1.0, 2.0), [math.nan] * 3,
    [math.inf, 0, 0], [1e300] * 3, [1e-300] * 3, [10**400] * 3, [0, 0, 0], [[1, 2, 3]], [[[1, 2, 3]]], [1j, 2j, 3j],
    [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], [[0, 1, 99]], [[0, 0, 0]], [[-1, 0, 1]], [0], [5], [-1], [2**40],
    range(3), range(0), slice(None), object, int, len, math.sin, Thing, Random,
)  # fmt: skip


def _arrays() -> tuple[Any, ...]:
    """Arrays, made anew at each call, since calls may write to them."""
    return (
        np.array(1.0), np.array([1, 2]), np.zeros(0), np.zeros((0, 3)), np.zeros((3, 0)), np.zeros(3), np.ones(12),
        np.ones((3, 1)), np.eye(3), np.eye(4), np.zeros((4, 4)), -np.eye(4), np.full((4, 4), np.nan), 1e300 * np.eye(4),
        1e-300 * np.eye(4), np.ones((4, 4)), np.eye(12), np.zeros((2, 4, 4)), np.zeros((1, 1, 1, 1, 1)),
        np.full(3, np.nan), np.full(3, np.inf), np.array(["a", "b", "c"]), np.array([None, 1, "x"], object),
        np.array([1j, 2j, 3j]), np.array([True, False, True]), np.arange(3, dtype=np.uint8), np.arange(6).reshape(2, 3),
        np.array([10**400], object), np.float32(1.5), np.float16("inf"), np.int64(-3), np.uint64(2**63), np.bool_(True),
        np.str_("x"), np.datetime64("2020-01-01"), np.zeros(3, "M8[s]"), np.zeros(2, [("a", float)]),
        np.ma.masked_array([1.0, 2.0, 3.0], [True, False, True]),
    )  # fmt: skip


def _extreme(random: Random) -> float:
    """A finite number of any size, small and large ones as likely as ordinary ones."""
    return random.choice((-1, 1, 1)) * 10.0 ** random.uniform(-320, 308)


def nonsense(random: Random) -> Any:
    """One of them, by the luck of the draw."""
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: random.choice(_PLAIN),
        lambda: random.choice(_PLAIN),
        lambda: random.choice(_arrays()),
        lambda: random.choice((Thing(), object(), lambda: None, lambda *_: 1 / 0, (i for i in range(3)), iter([1.0]))),
        lambda: [nonsense(random) for _ in range(random.randrange(4))],
        lambda: _extreme(random),
        lambda: [_extreme(random) for _ in range(random.choice((1, 2, 3, 3, 3, 4)))],
        lambda: random.choice((np.eye(3), np.eye(4), np.ones((4, 4)), np.ones((4, 3)))) * _extreme(random),
    )
    return random.choice(kinds)()
