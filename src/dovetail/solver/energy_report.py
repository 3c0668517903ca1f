"""Where the energy of a system is at a state: kinetic, in the field of gravity, in shapes, joints and barriers.

The incremental potential weighs energies by h², and joints by a mass instead of a stiffness; here all is in joule.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.assembly.bodies import ORTHO
from dovetail.solver.joint.rate_laws import RateLaws
from dovetail.solver.state import State
from dovetail.solver.system import System

__all__ = ["energies"]


def energies(system: System, state: State, h: float) -> dict[str, float]:
    """Energies [J] by name.

    kinetic          ½ V·M V of the bodies that have inertia; fixed and quasi-static ones have none
    gravity          −m g·c, from the origin; of free bodies
    shape            κV‖A Aᵀ − 1‖² or κV‖A − R‖²
    joint            penalties, drives, limits and articulations, K x²/(2h²): a joint of strength K is a spring of K/h²;
                     dampers, friction and drives with gains do work and store nothing
    soft_transform   the same of soft transforms
    barrier          of contacts
    """
    bodies = system.bodies
    free = (bodies.is_fixed == 0) & (bodies.external_kinetic == 0)
    moving = free & (bodies.is_dynamic != 0)
    M, Q = bodies.mass, state.Q
    V = state.V[moving]
    found = {
        "kinetic": 0.5 * float(np.einsum("nix,nij,njx->", V, M[moving], V)),
        "gravity": -float(np.einsum("nx,ni,nix->", bodies.gravity[free], M[free, 0], Q[free])),
        "shape": _shape(system, state),
        "joint": 0.0,
        "soft_transform": 0.0,
        "barrier": 0.0,
    }
    for contribution in system.contributions:
        if isinstance(contribution, RateLaws):
            continue
        if contribution is system.contact:
            found["barrier"] = system.contact.survey(Q, state.Q_before, h).energy / (h * h)
        else:
            name = "soft_transform" if contribution is system.soft_transforms else "joint"
            found[name] += contribution.energy(Q) / (h * h)
    return found


def _shape(system: System, state: State) -> float:
    """By the singular values σ of A: κV Σ(σ² − 1)² and κV Σ(σ − 1)²."""
    bodies = system.bodies
    sigma = np.linalg.svd(state.Q[:, 1:], compute_uv=False)
    strain = np.where((bodies.model == ORTHO)[:, None], sigma**2 - 1.0, sigma - 1.0)
    return float(np.sum(np.where(bodies.is_fixed == 0, bodies.stiffness, 0.0) * np.sum(strain**2, axis=1)))
