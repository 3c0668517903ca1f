"""Colours of bodies, the same in the viewer, in replays and in exported files."""

from __future__ import annotations

import colorsys
from typing import TypeAlias

__all__ = ["Color", "default_color"]

Color: TypeAlias = tuple[float, float, float]
"""Red, green and blue, each from 0 to 1."""

_FIXED: Color = (0.55, 0.57, 0.60)
_GOLDEN_RATIO = 0.618033988749895


def default_color(index: int, is_fixed: bool) -> Color:
    """The colour of body `index` where the user gave none: grey if it is fixed, otherwise one of its own.

    Hues advance by the golden ratio of the circle, so that any few neighbours differ well.
    """
    if is_fixed:
        return _FIXED
    return colorsys.hls_to_rgb((0.58 + index * _GOLDEN_RATIO) % 1.0, 0.56, 0.55)
