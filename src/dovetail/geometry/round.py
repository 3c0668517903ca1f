"""Round bodies: what touches is all within a radius of a point (a ball) or of a segment (a capsule).

The mesh of a round body is its picture. Contact knows the core, a point or a segment, and the radius r: the body is as
round as the equations. Two surfaces, one of them round, touch where their cores are the sum of the radii apart.
Mass and inertia are those of the round shape too, with L the length of the segment, along the unit vector e:

    m = ρ (πr²L + 4/3 πr³)      S = Σ ∫ρ x̄x̄ᵀ dV of a cylinder and two half-balls, about its middle
    along e:    m₁ (L²/12) + m₂ (r²/5 + L²/4 + 3rL/8)        across:    m₁ r²/4 + m₂ r²/5

m₁ of the cylinder, m₂ of both half-balls together.
"""

from __future__ import annotations

import numpy as np

from dovetail.checked import LARGEST, checked, number, shown
from dovetail.errors import GeometryError
from dovetail.geometry.check import finite_vector3
from dovetail.geometry.simplicial_complex import SimplicialComplex
from dovetail.typing import Array, ArrayLike

__all__ = ["capsule_moments", "cylinder_moments", "make_round", "round_core"]

_NAMES = ("round_radius", "round_start", "round_end")


@checked(GeometryError)
def make_round(
    sc: SimplicialComplex, radius: float, start: ArrayLike = (0.0, 0.0, 0.0), end: ArrayLike | None = None
) -> None:
    """Let a body touch as all within `radius` [m] of the point `start`, or of the segment from `start` to `end` [m].

    Both are in the body's own frame. Call it before a constitution is applied, which then takes the mass of that shape.
    """
    length = number(radius)
    if length is None or not 0.0 < length <= LARGEST:
        raise GeometryError(f"make_round: radius = {shown(radius)} [m]; give a positive length.")
    first = finite_vector3("make_round", "start", start)
    last = first if end is None else finite_vector3("make_round", "end", end)
    for name, value in zip(_NAMES, (length, first, last), strict=True):
        slot = sc.meta.find(name)
        if slot is None:
            slot = sc.meta.create(name, np.zeros_like(value))
        slot.assign(value)


def round_core(sc: SimplicialComplex) -> tuple[Array, float] | None:
    """The core, one point or two (k, 3), and the radius of a round body; None for any other."""
    if sc.meta.find(_NAMES[0]) is None:
        return None
    radius, start, end = (np.asarray(sc.meta.slot(name).values[0], float) for name in _NAMES)
    ends = np.stack([start, end])
    return ends[: 1 if (start == end).all() else 2], float(radius)


def capsule_moments(density: float, core: Array, radius: float) -> tuple[Array, float]:
    """(M̂, volume) of a capsule about a segment (2, 3), or of a ball about a point (1, 3)."""
    axis = core[-1] - core[0]
    L = float(np.linalg.norm(axis))
    m1, m2 = density * np.pi * radius**2 * L, density * 4.0 / 3.0 * np.pi * radius**3
    along = m1 * L * L / 12.0 + m2 * (radius**2 / 5.0 + L * L / 4.0 + 3.0 * radius * L / 8.0)
    across = m1 * radius**2 / 4.0 + m2 * radius**2 / 5.0
    return _about(m1 + m2, core.mean(axis=0), axis, along, across), (m1 + m2) / density


def cylinder_moments(density: float, radius: float, length: float) -> tuple[Array, float]:
    """(M̂, volume) of a cylinder along z about the origin."""
    volume = np.pi * radius**2 * length
    m = density * volume
    return _about(m, np.zeros(3), np.array([0.0, 0.0, 1.0]), m * length**2 / 12.0, m * radius**2 / 4.0), volume


def _about(m: float, centre: Array, axis: Array, along: float, across: float) -> Array:
    """M̂ (4, 4) of mass m with these second moments about its centre, along an axis and across it."""
    L = np.linalg.norm(axis)
    e = axis / L if L > 0.0 else axis
    M = np.empty((4, 4))
    M[0, 0] = m
    M[0, 1:] = M[1:, 0] = m * centre
    M[1:, 1:] = across * np.eye(3) + (along - across) * np.outer(e, e) + m * np.outer(centre, centre)
    return M
