"""Kinetic and shape terms of every body: their energy, and their share of the block system."""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.energy.arap import add_arap, arap_energy
from dovetail.solver.energy.kinetic import kinetic_energy, set_kinetic_gradient
from dovetail.solver.energy.ortho import add_ortho, ortho_energy
from dovetail.solver.kernel import kernel
from dovetail.solver.polar import determinant
from dovetail.typing import Array, Indices

__all__ = ["ARAP", "ORTHO", "assemble_bodies", "bodies_energy"]

ORTHO = 1
ARAP = 2


@kernel
def assemble_bodies(
    position: Indices,
    model: Indices,
    mass: Array,
    inertia: Array,
    c: Array,
    w: Array,
    base: Array,
    Q: Array,
    Q_tilde: Array,
    active: Indices,
    g: Array,
    D: Array,
) -> None:
    """g, D ← kinetic and shape derivatives on top of the constant blocks `base`; fixed bodies have position −1.

    Rows whose `active` is 0 are left alone.

    c (n,) weighs the kinetic, w (n,) the shape term of each body.
    """
    u, v = np.zeros((3, 12)), np.zeros((3, 12))
    R, K = np.empty((3, 3)), np.empty((3, 3))
    for b in range(len(Q)):
        k = position[b]
        if k < 0 or not active[k]:
            continue
        set_kinetic_gradient(mass, c[b], Q, Q_tilde, b, g, k)
        if model[b] == ORTHO:
            add_ortho(w[b], c[b], inertia, Q, b, u, v, base, g, D, k)
        else:
            add_arap(w[b], c[b], inertia, Q, b, R, K, base, g, D, k)


@kernel
def bodies_energy(
    model: Indices, mass: Array, c: Array, w: Array, Q: Array, Q_tilde: Array, island: Indices, E: Array
) -> None:
    """E[island] += kinetic and shape energies; infinite where a body is turned inside out."""
    scratch = np.empty((3, 3))
    for b in range(len(Q)):
        if island[b] < 0:
            continue
        total = kinetic_energy(mass, c[b], Q, Q_tilde, b)
        if not determinant(Q, b) > 0.0:
            total = math.inf
        elif model[b] == ORTHO:
            total += ortho_energy(w[b], Q, b)
        else:
            total += arap_energy(w[b], Q, b, scratch)
        E[island[b]] += total
