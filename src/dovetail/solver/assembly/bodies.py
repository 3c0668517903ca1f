"""Kinetic and shape terms of every body: their energy, and their share of the block system."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail.kernel.emit import LANES
from dovetail.kernel.kernel import jit_enabled, kernel
from dovetail.kernel.record import Record, f8, nested
from dovetail.solver.bodies import ARAP, ORTHO, Bodies
from dovetail.solver.body_lanes import energy_of_eight
from dovetail.solver.energy.arap import add_arap, arap_energy
from dovetail.solver.energy.kinetic import add_kinetic_hessian, kinetic_energy, set_kinetic_gradient
from dovetail.solver.energy.ortho import add_ortho, ortho_energy
from dovetail.solver.natural import natural
from dovetail.solver.polar import determinant
from dovetail.typing import Array, Indices

__all__ = ["Weights", "add_body_energies", "add_some_energies", "assemble_bodies"]


class Weights(Record):
    """Bodies, and what weighs their terms in one step: c (n,) the kinetic, w (n,) = h²κV the shape term."""

    bodies: Bodies = nested(Bodies)
    c: Array = f8(1)
    w: Array = f8(1)


@kernel
def assemble_bodies(
    weights: Weights, arap: Any, exact: float, Q: Array, Q_tilde: Array, active: Indices, base: Array, g: Array,
    D: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """g, D ← derivatives on top of the constant blocks, of some bodies if active; without `exact` positive definite.

    arap is None where no body has that model: its code is then not compiled.
    """
    bodies, c, w = weights.bodies, weights.c, weights.w
    mass, inertia, model = bodies.mass, bodies.inertia, bodies.model
    u, v, R, K = np.zeros((3, 12)), np.zeros((3, 12)), np.empty((3, 3)), np.empty((3, 3))
    for b in range(start, stop):
        b = natural(b)
        if not active[b]:
            continue
        set_kinetic_gradient(mass, c[b], Q, Q_tilde, b, g)
        if model[b] == ORTHO:
            add_ortho(w[b], c[b], exact, inertia, Q, b, u, v, base, g, D)
        if arap is not None:  # noqa: SIM102
            if model[b] == ARAP:
                add_arap(w[b], c[b], exact, inertia, Q, b, R, K, base, g, D)
        add_kinetic_hessian(mass, c[b], b, D)


@kernel
def add_body_energies(weights: Weights, arap: Any, Q: Array, Q_tilde: Array, owner: Indices, E: Array) -> None:
    """E[owner] += energies of free bodies; infinite where one is turned inside out."""
    add_some_energies(weights, arap, Q, Q_tilde, owner, E, 0, len(Q))


@kernel
def add_some_energies(
    weights: Weights, arap: Any, Q: Array, Q_tilde: Array, owner: Indices, E: Array, start: int, stop: int
) -> None:
    """`add_body_energies` of bodies from `start`, a multiple of LANES, up to `stop`."""
    bodies, c, w = weights.bodies, weights.c, weights.w
    mass, model = bodies.mass, bodies.model
    scratch, found = np.empty((3, 3)), np.empty(LANES)
    for b in range(start, stop):
        b = natural(b)
        if jit_enabled and b % LANES == 0:
            energy_of_eight(b, len(Q) - 1, mass, c, w, Q, Q_tilde, found)
        if owner[b] < 0:
            continue
        if jit_enabled and model[b] == ORTHO:
            E[owner[b]] += found[b % LANES]
            continue
        if not determinant(Q, b) > 0.0:
            E[owner[b]] = math.inf
            continue
        value = kinetic_energy(mass, c[b], Q, Q_tilde, b)
        if model[b] == ORTHO:
            value += ortho_energy(w[b], Q, b)
        if arap is not None:  # noqa: SIM102
            if model[b] == ARAP:
                value += arap_energy(w[b], Q, b, scratch)
        E[owner[b]] += value
