"""Masses of bodies in a `Sim`: that of the shape, by its density, or mass, centre and inertia as they were given.

An affine body needs the second moments S_c = ∫ρ (x̄ − c)(x̄ − c)ᵀ dV about its centre of mass c, of which the inertia
of a rigid body is I = tr(S_c)·1 − S_c. So S_c = ½ tr(I)·1 − I, whose eigenvalues are half of what the sum of two
principal moments exceeds the third by: they are positive for every distribution of mass that is not flat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from dovetail.checked import numbers, shown
from dovetail.constitution import AffineBodyConstitution, AffineBodyShell
from dovetail.errors import SceneError
from dovetail.geometry import SimplicialComplex, affine_body
from dovetail.sim.given import positive, vector
from dovetail.typing import Array

__all__ = ["Moments", "apply_mass", "moments_of"]

Moments: TypeAlias = Callable[[float], tuple[Array, float]]
"""M̂ (4, 4) and the volume of a shape for a density, where its mesh does not tell them."""

_DENSITY = 1000.0  # kg/m³
_FLAT = 1e-9  # of the largest principal moment: inertias are typed with some digits


def apply_mass(
    who: str,
    body: SimplicialComplex,
    kappa: float,
    options: Mapping[str, Any],
    thickness: float | None = None,
    moments: Moments | None = None,
) -> None:
    """Make a mesh a body, with the mass of its shape or with the `mass`, `center_of_mass`, `inertia` of the options."""
    if "mass" in options and "density" in options:
        raise SceneError(f"{who}: both mass and density are given; give one of them.")
    density = positive(who, "density", options.get("density", _DENSITY), "kg/m³")
    if moments is not None:
        M_hat, volume = moments(density)
        _write(body, kappa, M_hat[0, 0], M_hat[1:, 0], M_hat[1:, 1:], volume)
    elif thickness is None:
        AffineBodyConstitution().apply_to(body, kappa, mass_density=density)
    else:
        radius = positive(who, "thickness", thickness, "m")
        AffineBodyShell().apply_to(body, kappa, mass_density=density, thickness=radius)
    if {"mass", "center_of_mass", "inertia"} & options.keys():
        own, volume = moments_of(body)
        m = positive(who, "mass", options["mass"], "kg") if "mass" in options else float(own[0, 0])
        c, S = own[1:, 0] / own[0, 0], own[1:, 1:] * (m / own[0, 0])
        S = S - m * np.outer(c, c)
        if "inertia" in options:
            S = _about_centre(who, options["inertia"])
        if "center_of_mass" in options:
            c = vector(who, "center_of_mass", options["center_of_mass"], "m")
        _write(body, kappa, m, m * c, S + m * np.outer(c, c), volume)


def moments_of(body: SimplicialComplex) -> tuple[Array, float]:
    """M̂ = ∫ρ (1, x̄)(1, x̄)ᵀ dV (4, 4) and the volume [m³] of a body."""
    m, mc, S, volume = (
        np.array(body.meta.slot(name).first)
        for name in ("abd_mass", "abd_mass_x_bar", "abd_mass_x_bar_x_bar", "volume")
    )
    first = mc.reshape(3, 1)
    return np.block([[m.reshape(1, 1), first.T], [first, S]]), float(volume)


def _write(body: SimplicialComplex, kappa: float, m: float, mc: Array, S: Array, volume: float) -> None:
    matrix = affine_body.build_abd_mass_matrix(float(m), mc, 0.5 * (S + S.T))
    AffineBodyConstitution().apply_to(body, kappa, mass=matrix, volume=volume)


def _about_centre(who: str, value: Any) -> Array:
    """S_c (3, 3) of an inertia that a user gave: a 3×3 matrix, or three principal moments along the body's axes."""
    given = numbers(value)
    if given is not None and given.shape == (3,):
        given = np.diag(given)
    if given is None or given.shape != (3, 3) or not np.isfinite(given).all():
        raise SceneError(
            f"{who}: inertia = {shown(value)} [kg·m²]; give a 3×3 matrix about the centre of mass, or three moments "
            "along the body's axes."
        )
    largest = float(np.abs(given).max())
    if np.abs(given - given.T).max() > _FLAT * largest:
        raise SceneError(f"{who}: inertia = {given.tolist()} [kg·m²] is not symmetric; use (I + Iᵀ)/2.")
    moments = np.linalg.eigvalsh(0.5 * (given + given.T))
    if not moments[0] + moments[1] - moments[2] > _FLAT * largest:
        spelled = ", ".join(f"{x:.6g}" for x in moments)
        raise SceneError(
            f"{who}: inertia has the principal moments ({spelled}) [kg·m²], which no body with extent in all three "
            "directions has: any two of them must be more than the third. Check the axes, and that it is about the "
            "centre of mass; of a thin plate or rod, count its thickness."
        )
    return np.asarray(0.5 * np.trace(given) * np.eye(3) - 0.5 * (given + given.T))
