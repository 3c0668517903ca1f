"""Units as factors to SI: `10 * mm` is 0.01 m, `90 * deg` is π/2 rad, `0.1 * MPa` is 1e5 Pa."""

from __future__ import annotations

import math

__all__ = [
    "GPa",
    "J",
    "MPa",
    "N",
    "Pa",
    "W",
    "deg",
    "gram",
    "kPa",
    "kg",
    "km",
    "m",
    "mm",
    "rad",
    "s",
]

s = 1.0

m = 1.0
mm = 1e-3
km = 1e3

kg = 1.0
gram = 1e-3  # not `g`, which is everyone's name for gravity

rad = 1.0
deg = math.pi / 180.0

N = 1.0
Pa = 1.0
kPa = 1e3  # noqa: N816 - its spelling in physics
MPa = 1e6
GPa = 1e9

J = 1.0
W = 1.0
