"""Inertias of links as bodies need them: positive in every direction, which those of files sometimes are not.

An affine body needs S = ½ tr(I)·1 − I > 0: any two principal moments exceed the third. Those of rods and plates without
thickness do not, nor do typing errors.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from dovetail.doctor.finding import Finding, warning
from dovetail.geometry import SimplicialComplex, label_surface
from dovetail.robot.description import Inertia
from dovetail.sim import shapes
from dovetail.typing import Array

__all__ = ["box_of", "made_possible", "moments", "speck", "trace_of"]

_THINNEST = 1e-6
"""The least second moment of a body beside its largest: that of a rod a thousand times as long as thick."""

_DUST = 1e-6  # m, radius of gyration below which a body has no size
_TRACE = 1e-9
_SPECK = 0.01  # m, radius of a body that has no size


def speck(mass: float) -> Inertia:
    """A ball of 1 cm."""
    return Inertia(mass, np.zeros(3), 0.4 * mass * _SPECK**2 * np.eye(3))


def trace_of(inertia: Inertia) -> Inertia:
    """A billionth of an inertia, as a ball at the origin: of a body between the joints of another.

    Less would leave joints open by more than a billionth of a metre, more be seen in mass matrices.
    """
    arm = inertia.center
    whole = float(np.trace(inertia.tensor)) + 2.0 * inertia.mass * float(arm @ arm)
    return Inertia(_TRACE * inertia.mass, np.zeros(3), _TRACE * whole / 3.0 * np.eye(3))


def made_possible(link: str, where: str, given: Inertia, findings: list[Finding]) -> Inertia:
    """The inertia, or the nearest that a body can have, with a warning."""
    tensor = (given.tensor + given.tensor.T) / 2
    values, axes = np.linalg.eigh(0.5 * np.trace(tensor) * np.eye(3) - tensor)
    if values[2] <= given.mass * _DUST**2:
        findings.append(
            warning(
                f"link '{link}' ({where}) has a mass of {given.mass:g} kg and no inertia; it is that of a 1 cm ball", ""
            )
        )
        return Inertia(given.mass, given.center, speck(given.mass).tensor)
    least = _THINNEST * values[2]
    if values[0] >= least:
        return Inertia(given.mass, given.center, tensor)
    S = axes @ np.diag(np.maximum(values, least)) @ axes.T
    possible = np.trace(S) * np.eye(3) - S
    before, after = (", ".join(f"{x:.4g}" for x in np.linalg.eigvalsh(J)) for J in (tensor, possible))
    findings.append(
        warning(
            f"link '{link}' ({where}) has the principal moments of inertia ({before}) kg·m², which no body with "
            f"extent in all directions has: any two must exceed the third. They became ({after})",
            "",
        )
    )
    return Inertia(given.mass, given.center, possible)


def moments(inertia: Inertia) -> Array:
    """M̂ = ∫ρ (1, x̄)(1, x̄)ᵀ dV (4, 4)."""
    m, c = inertia.mass, inertia.center
    S = 0.5 * np.trace(inertia.tensor) * np.eye(3) - inertia.tensor + m * np.outer(c, c)
    return np.block([[np.array([[m]]), m * c[None]], [m * c[:, None], S]])


def box_of(inertia: Inertia) -> SimplicialComplex:
    """The box of constant density with this inertia, for bodies without a shape: S_k = m e_k²/12 along its axes."""
    values, axes = np.linalg.eigh(0.5 * np.trace(inertia.tensor) * np.eye(3) - inertia.tensor)
    axes = axes * np.sign(np.linalg.det(axes))
    edges = shapes.edges_of(
        "a box of inertia", np.sqrt(12.0 * np.maximum(values, _THINNEST * values[2]) / inertia.mass)
    )
    found = _unit_box().copy()
    found.positions.edit()[...] = (found.positions.values * edges) @ axes.T + inertia.center
    return found


@cache
def _unit_box() -> SimplicialComplex:
    found = shapes.box("a box of inertia", 1.0)
    label_surface(found)
    return found
