"""Where the energy of a system is at a state: kinetic, in the field of gravity, in shapes, joints and barriers.

The incremental potential weighs energies by h², and joints by a mass instead of a stiffness; here all is in joule.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.bodies import ORTHO
from dovetail.solver.joint.laws import Laws, law_energies
from dovetail.solver.joint.rotors import rotor_energy
from dovetail.solver.joint.rows import row_energies
from dovetail.solver.law.servo import MAX_EFFORT, STIFFNESS, TARGET
from dovetail.solver.model import Model
from dovetail.solver.state import State

__all__ = ["energies"]


def energies(model: Model, state: State, h: float) -> dict[str, float]:
    """Energies [J] by name.

    kinetic          ½ V·M V of the bodies that have inertia; fixed and quasi-static ones have none; ½ a ẋ² of rotors
    gravity          −m g·c, from the origin; of free bodies
    shape            κV‖A Aᵀ − 1‖² or κV‖A − R‖²
    joint            penalties, drives, limits and articulations, K x²/(2h²): a joint of strength K is a spring of K/h²;
                     of drives with gains what k stores, k/2 (x − x̃)², which goes on as a straight line where k would
                     exceed the largest effort; dampers and friction do work and store nothing
    soft_transform   the same of soft transforms
    barrier          of contacts
    """
    bodies = model.bodies
    free = (bodies.is_fixed == 0) & (bodies.external_kinetic == 0)
    moving = free & (bodies.is_dynamic != 0)
    M, Q = bodies.mass, state.Q
    every = state.velocity(M)
    V = every[moving]
    found = {
        "kinetic": 0.5 * float(np.einsum("nix,nij,njx->", V, M[moving], V)),
        "gravity": -float(np.einsum("nx,ni,nix->", bodies.gravity[free], M[free, 0], Q[free])),
        "shape": _shape(model, state),
        "joint": 0.0,
        "soft_transform": 0.0,
        "barrier": 0.0,
    }
    potential, nobody, E = model.potential, np.zeros(len(Q), np.int64), np.zeros(1)
    row_energies(potential.points, Q, nobody, E)
    row_energies(potential.slides, Q, nobody, E)
    if potential.laws is not None:
        law_energies(potential.laws, Q, nobody, E, True)
        found["kinetic"] += rotor_energy(potential.laws, Q, every)
        found["joint"] += _servos(potential.laws)
    found["joint"] += float(E[0]) / (h * h)
    for other in potential.others:
        name = "soft_transform" if other is potential.soft_transforms else "joint"
        found[name] += other.energy(Q) / (h * h)
    if model.contact is not None:
        found["barrier"] = model.contact.survey(Q, state.Q_before, h).energy / (h * h)
    return found


def _servos(laws: Laws) -> float:
    """What springs of drives with gains store, at the committed coordinates."""
    total = 0.0
    for batch in laws.batches:
        if batch.law.name == "servo":
            k, cap = batch.p[:, STIFFNESS], batch.p[:, MAX_EFFORT]
            way = np.abs(laws.coordinates.value[batch.of] - batch.p[:, TARGET])
            within = np.minimum(way, np.divide(cap, k, out=np.full(len(k), np.inf), where=k > 0.0))
            total += float(np.sum(k * within * (way - 0.5 * within)))
    return total


def _shape(model: Model, state: State) -> float:
    """By the singular values σ of A: κV Σ(σ² − 1)² and κV Σ(σ − 1)²."""
    bodies = model.bodies
    sigma = np.linalg.svd(state.Q[:, 1:], compute_uv=False)
    strain = np.where((bodies.model == ORTHO)[:, None], sigma**2 - 1.0, sigma - 1.0)
    return float(np.sum(np.where(bodies.is_fixed == 0, bodies.stiffness, 0.0) * np.sum(strain**2, axis=1)))
