"""Whether the end of a step is one that its start and its loads can give; a step that is not is refused.

Newton's method never raises the incremental potential, and moves nothing through a surface. What is left to go wrong
are starts with forces that no longer hold, and steps that end early: those that were cut short, begun again, or
stopped at the limit of iterations. Ends of the latter are checked, those at which a body is strained by more than a
half, and those of bodies so far from the origin that round-off is no longer small beside their gaps:

    κV strain², ½ (Q − Qₙ)·M (Q − Qₙ)/h² ≤ 10 (½ V·M V + Ψ(Qₙ) + Σ |M a · (Q − Qₙ)|)
    no edge of a surface crosses another one, and no surface lies behind a half-plane

V and Ψ are velocities and all potentials before the step, a accelerations by loads.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.errors import StepRefused
from dovetail.kernel.kernel import kernel
from dovetail.solver.contact.contact import Contact
from dovetail.solver.contact.intersection import find_meetings, find_sinkings
from dovetail.solver.model import Model
from dovetail.solver.solution import Solution
from dovetail.solver.state import State
from dovetail.typing import Array, Flags, Indices

__all__ = ["FAR", "check_end", "largest_strain"]

_STRAIN = 0.5
_TIMES = 10.0  # the energy before the step, which integrators conserve to a few per cent
FAR = 1e7
"""Sizes of a body from the origin beyond which contact is not safe: a position there is rounded to 1e-9 of the size."""


@kernel
def largest_strain(Q: Array, is_free: Indices) -> tuple[float, int]:
    """The largest entry of |AᵀA − 1| of free bodies, infinite where one is not finite or inverted, and which body."""
    largest, body = 0.0, 0
    for b in range(len(Q)):
        if not is_free[b]:
            continue
        found = 0.0
        for i in range(1, 4):
            for j in range(i, 4):
                entry = Q[b, i, 0] * Q[b, j, 0] + Q[b, i, 1] * Q[b, j, 1] + Q[b, i, 2] * Q[b, j, 2]
                found = max(found, abs(entry - 1.0 if i == j else entry))
        volume = (
            Q[b, 1, 0] * (Q[b, 2, 1] * Q[b, 3, 2] - Q[b, 2, 2] * Q[b, 3, 1])
            + Q[b, 1, 1] * (Q[b, 2, 2] * Q[b, 3, 0] - Q[b, 2, 0] * Q[b, 3, 2])
            + Q[b, 1, 2] * (Q[b, 2, 0] * Q[b, 3, 1] - Q[b, 2, 1] * Q[b, 3, 0])
        )
        if not volume > 0.0:
            found = math.inf
        if not found <= largest:
            largest, body = found, b
    return largest, body


def _are_far(model: Model, contact: Contact, Q: Array) -> Flags:
    """Which free bodies (n,) are farther from the origin than contact is safe."""
    size = 2.0 * (model.bodies.half.max(axis=1) + contact.scene.thickness)
    found: Flags = (np.abs(Q[:, 0]).max(axis=1) > FAR * size) & (model.bodies.is_free != 0)
    return found


def check_end(model: Model, state: State, h: float, solution: Solution, open_joint: str, is_again: bool) -> None:
    """Raise StepRefused where a step of length h cannot end as it does.

    `state` is that before it; `is_again` says that it was begun more than once.
    An exact joint that is open is named, for it is the likely reason.
    """
    Q, contact, is_free = solution.Q, model.contact, model.bodies.is_free
    strain, body = largest_strain(Q, is_free)
    is_strained = not strain <= _STRAIN
    some_far = contact is not None and _are_far(model, contact, Q).any()
    if not (is_strained or is_again or some_far or not solution.converged or (contact and contact.watch.is_short)):
        return
    name, reason = model.bodies.name, f"; {open_joint}" if open_joint else ""
    if not strain < math.inf:
        raise StepRefused(f"{name(body)} would be turned inside out{reason}")
    if solution.E_before is not None and (is_strained or not solution.converged):
        most = _TIMES * (before := _energy(model, state, h, solution))
        stored, moving = model.bodies.stiffness[body] * strain**2, _mean_kinetic(model, Q - state.Q) / (h * h)
        known = f"; there are {before:.2g} J{reason}"
        if is_strained and not stored <= most:
            raise StepRefused(f"{name(body)} would be strained by {strain:.2g}, which takes {stored:.2g} J{known}")
        if not moving <= most and not open_joint:  # what closes has no energy
            raise StepRefused(f"bodies would move with {moving:.2g} J{known}")
    if contact is None:
        return
    for m in find_meetings(contact.scene, Q, np.flatnonzero(is_free)):
        if m.crossings or m.distance < m.thickness or m.distance == 0.0:
            raise StepRefused(f"{name(m.a)} and {name(m.b)} would intersect{reason}")
    for s in find_sinkings(contact.scene, Q):
        if s.height < s.thickness and is_free[s.body]:
            raise StepRefused(f"{name(s.body)} would be {s.thickness - s.height:.2g} m behind a half-plane{reason}")


def _mean_kinetic(model: Model, moved: Array) -> float:
    """½ ΔQ·M ΔQ of free bodies [kg m²]."""
    M, free = model.bodies.mass, model.bodies.is_free != 0
    return 0.5 * float(np.sum(np.einsum("nix,nij,njx->n", moved, M, moved)[free]))


def _energy(model: Model, state: State, h: float, solution: Solution) -> float:
    """What there was before a step, and what loads give in it [J]."""
    M, free = model.bodies.mass, model.bodies.is_free != 0
    V, to_go, moved = state.velocity(M), state.Q - model.potential.Q_tilde, solution.Q - state.Q
    accelerations = model.loads.accelerations(state.Q)
    kinetic, pulled, given = (
        np.einsum("nix,nij,njx->n", one, M, other) for one, other in ((V, V), (to_go, to_go), (accelerations, moved))
    )
    assert solution.E_before is not None
    stored = float(np.add.reduce(solution.E_before)) - 0.5 * float(np.sum((model.potential.weights.c * pulled)[free]))
    return float(0.5 * np.sum(kinetic[free]) + max(stored, 0.0) / (h * h) + np.sum(np.abs(given[free])))
