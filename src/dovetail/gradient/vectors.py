"""Products of many small vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["across", "cross", "dot"]

_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])


def cross(a: Any, b: Any) -> Any:
    """a × b over the last axis, complex numbers too; some times as fast as np.cross on arrays of some hundred."""
    return a[..., _NEXT] * b[..., _LAST] - a[..., _LAST] * b[..., _NEXT]


def dot(a: Any, b: Any) -> Any:
    """a·b over the last axis."""
    return (a * b).sum(axis=-1)


def across(v: Any, a: Any) -> Any:
    """a without its part along v."""
    return a - (dot(v, a) / dot(v, v))[..., None] * v
