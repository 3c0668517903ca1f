"""Colours of bodies, the same in the viewer, in replays and in exported files."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from dovetail.typing import Array, ArrayLike

__all__ = ["Color", "default_color", "linear", "srgb"]

Color: TypeAlias = tuple[float, float, float]
"""Red, green and blue, each from 0 to 1."""

_FIXED: Color = (0.60, 0.62, 0.65)
_CALM = ("5f87b5", "d19a6b", "7fa387", "b286a8", "c9b46c", "6ca6aa", "b5776c", "8f92bd")


def default_color(index: int, is_fixed: bool) -> Color:
    """The colour of body `index` where the user gave none: grey if it is fixed, otherwise one of eight muted ones."""
    if is_fixed:
        return _FIXED
    red, green, blue = bytes.fromhex(_CALM[index % len(_CALM)])
    return red / 255, green / 255, blue / 255


def linear(colors: ArrayLike) -> Array:
    """Amounts of light, which add up, of colours as screens and people take them (sRGB); both 0 to 1."""
    c = np.clip(np.asarray(colors, float), 0.0, 1.0)
    light: Array = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return light


def srgb(light: ArrayLike) -> Array:
    """The inverse of `linear`."""
    c = np.clip(np.asarray(light, float), 0.0, 1.0)
    colors: Array = np.where(c <= 0.0031308, 12.92 * c, 1.055 * c ** (1 / 2.4) - 0.055)
    return colors
