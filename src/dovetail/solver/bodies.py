"""What is constant about affine bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.kernel.record import Record, f8, i8
from dovetail.typing import Array, Indices

__all__ = ["ARAP", "ORTHO", "Bodies"]

ORTHO = 1
ARAP = 2


class Bodies(Record):
    """Constant properties of n affine bodies.

    mass (n, 4, 4)             M̂ = ∫ρ (1,x̄)(1,x̄)ᵀ dV
    stiffness (n,)             κV [J]
    model (n,)                 1 OrthoPotential, 2 ARAP
    is_fixed, is_dynamic, external_kinetic (n,)   flags 0 or 1
    gravity (n, 3)             [m/s²]
    centre, half (n, 3)        box around the body's vertices in its own frame [m]
    name                       body index → how messages call it

    and what follows from that:

    is_free, kinetic (n,)      1 for bodies that can move, and for those that have inertia
    mass_inverse (n, 4, 4)     M̂⁻¹, 0 for fixed bodies
    inertia (n, 3, 3)          tr(S)1 − S with S the second moments about the centre of mass
    largest_moment (n,)        largest eigenvalue of S
    """

    mass: Array = f8(3)
    stiffness: Array = f8(1)
    model: Indices = i8(1)
    is_fixed: Indices = i8(1)
    is_dynamic: Indices = i8(1)
    external_kinetic: Indices = i8(1)
    gravity: Array = f8(2)
    centre: Array = f8(2)
    half: Array = f8(2)
    is_free: Indices = i8(1)
    kinetic: Array = f8(1)
    mass_inverse: Array = f8(3)
    inertia: Array = f8(3)
    largest_moment: Array = f8(1)

    def __init__(self, *, mass: Array, name: Callable[[int], str] = lambda body: f"body {body}", **given: Any) -> None:
        integers = ("model", "is_fixed", "is_dynamic", "external_kinetic")
        for key, value in given.items():
            given[key] = np.ascontiguousarray(value, np.int64 if key in integers else float)
        mass = np.ascontiguousarray(mass, float)
        second = mass[:, 1:, 1:] - mass[:, 1:, :1] * mass[:, :1, 1:] / mass[:, :1, :1]
        trace = np.trace(second, axis1=1, axis2=2)
        inverse = np.linalg.inv(mass).astype(float)
        inverse[given["is_fixed"] != 0] = 0.0
        super().__init__(
            mass=mass, **given, is_free=(given["is_fixed"] == 0).astype(np.int64),
            kinetic=np.where(given["external_kinetic"] != 0, 0.0, 1.0), mass_inverse=inverse,
            inertia=np.ascontiguousarray(trace[:, None, None] * np.eye(3) - second),
            largest_moment=np.ascontiguousarray(np.linalg.eigvalsh(second)[:, -1], float) if len(mass) else np.zeros(0),
        )  # fmt: skip
        self.name = name

    @property
    def count(self) -> int:
        return len(self.mass)
