"""Words for what joints with two and three rotations measure; those with one have `Angle` and `Bearing` (terms.py)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dovetail.constitution.terms import Coordinate, Cosine, Stencil

__all__ = ["Elevation", "Entry", "Tilt", "Turn"]


@dataclass(frozen=True, slots=True)
class Elevation(Coordinate):
    """x = atan2(u_i·v_j, ‖u_i × v_j‖) [rad] from −π/2 to π/2: how far u has risen towards v, from across it."""

    unit: str = "rad"
    left: str = "t"
    right: str = "b"
    function: ClassVar[str] = "elevation"

    @property
    def stencil(self) -> Stencil:
        return ((self.left, 1.0, 0.0), (self.right, 0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Turn(Coordinate):
    """x = w·t [rad], w the rotation vector of the right body's frame (t, n, b) in that of the left.

    By less than half a turn, ‖w‖ < π. Other components are those of the frames (n, b, t) and (b, t, n).
    """

    unit: str = "rad"
    t: str = "t"
    n: str = "n"
    b: str = "b"
    function: ClassVar[str] = "turn"

    @property
    def stencil(self) -> Stencil:
        frame = (self.t, self.n, self.b)
        return (*((row, 1.0, 0.0) for row in frame), *((row, 0.0, 1.0) for row in frame))


@dataclass(frozen=True, slots=True)
class Tilt(Turn):
    """x = θ [rad] from 0 to π: by how much the right body's frame (t, n, b) is turned in that of the left, ‖w‖."""

    function: ClassVar[str] = "tilt"


@dataclass(frozen=True, slots=True)
class Entry(Cosine):
    """x = left_i·right_j/√2, of R/√2: the rates of all nine have the sum of squares ω², the spin between two bodies."""

    @property
    def stencil(self) -> Stencil:
        return ((self.left, math.sqrt(0.5), 0.0), (self.right, 0.0, 1.0))
