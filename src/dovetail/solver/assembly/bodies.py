"""Kinetic and shape terms of every body: their energy, and their share of the block system."""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.body_lanes import energy_of_eight
from dovetail.solver.emit import LANES
from dovetail.solver.energy.arap import add_arap, arap_energy
from dovetail.solver.energy.kinetic import add_kinetic_hessian, kinetic_energy, set_kinetic_gradient
from dovetail.solver.energy.ortho import add_ortho, ortho_energy
from dovetail.solver.kernel import jit_enabled, kernel
from dovetail.solver.polar import determinant
from dovetail.typing import Array, Indices

__all__ = ["ARAP", "ORTHO", "BodyTerms"]

_BY_EIGHT = jit_enabled
ORTHO = 1
ARAP = 2


@kernel
def _assemble_ortho(
    position: Indices, model: Indices, mass: Array, inertia: Array, c: Array, w: Array, exact: float, base: Array,
    Q: Array, Q_tilde: Array, active: Indices, g: Array, D: Array,
) -> None:  # fmt: skip
    u, v = np.zeros((3, 12)), np.zeros((3, 12))
    for b in range(len(Q)):
        k = position[b]
        if k >= 0 and active[k] and model[b] == ORTHO:
            set_kinetic_gradient(mass, c[b], Q, Q_tilde, b, g, k)
            add_ortho(w[b], c[b], exact, inertia, Q, b, u, v, base, g, D, k)
            add_kinetic_hessian(mass, c[b], b, D, k)


@kernel
def _assemble_arap(
    position: Indices, model: Indices, mass: Array, inertia: Array, c: Array, w: Array, exact: float, base: Array,
    Q: Array, Q_tilde: Array, active: Indices, g: Array, D: Array,
) -> None:  # fmt: skip
    R, K = np.empty((3, 3)), np.empty((3, 3))
    for b in range(len(Q)):
        k = position[b]
        if k >= 0 and active[k] and model[b] == ARAP:
            set_kinetic_gradient(mass, c[b], Q, Q_tilde, b, g, k)
            add_arap(w[b], c[b], exact, inertia, Q, b, R, K, base, g, D, k)
            add_kinetic_hessian(mass, c[b], b, D, k)


@kernel
def _ortho_energies(
    model: Indices, mass: Array, c: Array, w: Array, Q: Array, Q_tilde: Array, island: Indices, E: Array
) -> None:
    done = 0
    for b in range(len(Q)):
        if b < done:
            continue
        alike = 0
        while alike < min(LANES, len(Q) - b) and island[b + alike] == b + alike and model[b + alike] == ORTHO:
            alike += 1
        if _BY_EIGHT and alike == LANES:
            energy_of_eight(b, mass, c, w, Q, Q_tilde, E)
            done = b + LANES
            continue
        if island[b] >= 0 and model[b] == ORTHO:
            if determinant(Q, b) > 0.0:
                E[island[b]] += kinetic_energy(mass, c[b], Q, Q_tilde, b) + ortho_energy(w[b], Q, b)
            else:
                E[island[b]] = math.inf


@kernel
def _arap_energies(
    model: Indices, mass: Array, c: Array, w: Array, Q: Array, Q_tilde: Array, island: Indices, E: Array
) -> None:
    scratch = np.empty((3, 3))
    for b in range(len(Q)):
        if island[b] >= 0 and model[b] == ARAP:
            if determinant(Q, b) > 0.0:
                E[island[b]] += kinetic_energy(mass, c[b], Q, Q_tilde, b) + arap_energy(w[b], Q, b, scratch)
            else:
                E[island[b]] = math.inf


class BodyTerms:
    """Kinetic and shape terms of all bodies; only the models that occur are ever compiled.

    model (n,) says which shape energy, mass (n, 4, 4) are the moments, inertia (n, 3, 3) = tr(S)1 − S about the
    centres of mass. c (n,) weighs the kinetic, w (n,) the shape term of each body.
    """

    def __init__(self, model: Indices, mass: Array, inertia: Array) -> None:
        self._model, self._mass, self._inertia = model, mass, inertia
        present = {int(m) for m in np.unique(model)}
        self._assemblies = [f for m, f in ((ORTHO, _assemble_ortho), (ARAP, _assemble_arap)) if m in present]
        self._energies = [f for m, f in ((ORTHO, _ortho_energies), (ARAP, _arap_energies)) if m in present]

    def assemble(self, c: Array, w: Array, exact: bool, Q: Array, Q_tilde: Array, blocks: Blocks) -> None:
        """g, D ← derivatives on top of the constant blocks, in the rows that are active.

        Without `exact` the Hessian is positive definite.
        """
        for assemble in self._assemblies:
            assemble(
                blocks.position, self._model, self._mass, self._inertia, c, w, float(exact), blocks.base_D, Q,
                Q_tilde, blocks.active, blocks.g, blocks.D,
            )  # fmt: skip

    def add_energy(self, c: Array, w: Array, Q: Array, Q_tilde: Array, island: Indices, E: Array) -> None:
        """E[island] += energies; infinite where a body is turned inside out."""
        for energies in self._energies:
            energies(self._model, self._mass, c, w, Q, Q_tilde, island, E)
