"""Islands that are struck: their angular momentum and their energy before and after a blow.

What contacts have moved bodies apart by in the step, δ along n, gives an island an angular momentum m δ × v that
nothing has given it. In one that nothing fixed holds, a turn of all of it as a rigid body takes that back.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.bodies import ORTHO
from dovetail.solver.joint.laws import law_energies
from dovetail.solver.joint.rows import row_energies
from dovetail.solver.model import Model
from dovetail.solver.rigid import rigid
from dovetail.solver.state import State
from dovetail.typing import Array, Flags, Indices

__all__ = ["Island", "share_of", "turn_back"]


class Island:
    """Islands (c,) by body (n,), −1 for none, of a model after a step of length h to the present state."""

    def __init__(self, model: Model, state: State, h: float, of: Indices, count: int) -> None:
        self.model, self.state, self.h, self.of, self.count = model, state, h, of, count
        self.inside: Indices = np.flatnonzero((of >= 0) & (model.bodies.is_free != 0))

    def total(self, values: Array) -> Array:
        """Sums (c, …) of values by body of those inside (b, …)."""
        out = np.zeros((self.count, *values.shape[1:]))
        np.add.at(out, self.of[self.inside], values)
        return out

    def hangs(self) -> Flags:
        """Islands (c,) that something fixed, or a load, holds."""
        model, contact, found = self.model, self.model.contact, np.zeros(self.count + 1, np.bool_)
        assert contact is not None
        is_free, joined = model.bodies.is_free != 0, model.islands.joined
        for pairs in (joined, contact.found.bodies[: contact.found.count], contact.friction.pairs):
            fixed = (pairs < 0) | ~is_free[pairs]
            for side in range(2):
                alone = fixed[:, 1 - side] & ~fixed[:, side]
                found[self.of[pairs[alone, side]]] = True
        if model.loads.act or model.potential.soft_transforms.count:
            found[:] = True
        return found[:-1]


def _momenta(island: Island, Q: Array, V: Array) -> tuple[Array, Array, Array]:
    """Angular momentum (c, 3) of islands about their centres of mass; centres of bodies from these, and masses."""
    mass, of = island.model.bodies.mass[island.inside], island.of[island.inside]
    Q, V, w = np.ascontiguousarray(Q[island.inside]), np.ascontiguousarray(V[island.inside]), np.empty((len(of), 6))
    rigid(np.ascontiguousarray(mass), Q, V, w)
    m = mass[:, 0, 0]
    centre = np.einsum("bi,bix->bx", mass[:, 0] / m[:, None], Q)
    r = centre - (island.total(m[:, None] * centre) / island.total(m)[:, None])[of]
    return island.total(w[:, 3:] + m[:, None] * np.cross(r, w[:, :3])), r, m


def turn_back(island: Island, V_before: Array, V: Array) -> None:
    """Turn islands that nothing holds so that V (n, 4, 3) has the angular momentum that V_before had at the start."""
    model, state, of = island.model, island.state, island.of[island.inside]
    free = ~island.hangs()
    if not free.any():
        return
    wanted, _, _ = _momenta(island, state.Q_before, V_before)
    present, r, m = _momenta(island, state.Q, V)
    Q, mass = state.Q[island.inside], model.bodies.mass[island.inside]
    S = mass[:, 1:, 1:] - mass[:, 0, 1:, None] * mass[:, 0, None, 1:] / m[:, None, None]
    spread = np.einsum("bix,bij,bjy->bxy", Q[:, 1:], S, Q[:, 1:]) + m[:, None, None] * r[:, :, None] * r[:, None]
    inertia = island.total(np.trace(spread, axis1=1, axis2=2)[:, None, None] * np.eye(3) - spread)
    spin = np.zeros_like(wanted)
    spin[free] = np.linalg.solve(inertia[free], (wanted - present)[free, :, None])[:, :, 0]
    arms = Q.copy()
    arms[:, 0] += r - np.einsum("bi,bix->bx", mass[:, 0] / m[:, None], Q)
    V[island.inside] += np.cross(spin[of][:, None], arms)


def share_of(island: Island, V_before: Array, V: Array, kept: Flags) -> Array:
    """The largest share (c,) of V − state.V, at most 1, with which no island has more energy than at the start.

    Kinetic and stored, with what loads have given; kept (k,) are contacts that hold what they do. Where drives have
    given more, a blow may not add to that.
    """
    model, state, h = island.model, island.state, island.h
    mass, contact = model.bodies.mass, model.contact
    assert contact is not None
    start, change = state.V, V - state.V

    def work(one: Array, other: Array) -> Array:
        inside = island.inside
        return island.total(np.einsum("bij,bix,bjx->b", mass[inside], one[inside], other[inside]))

    active = contact.found
    value = active.energy[: active.count] * kept
    owner = island.of[np.maximum(active.bodies[: active.count], 0)]
    owner = np.where((active.bodies[: active.count] >= 0) & (owner >= 0), owner, -1).max(axis=1)
    holds = np.bincount(owner[owner >= 0], value[owner >= 0], island.count)
    held = island.total(contact.E_start[island.inside])
    gained = _stored(island, state.Q) - _stored(island, state.Q_before) + (holds - held) / (h * h)
    a = model.loads.accelerations(state.Q_before)
    most = 0.5 * work(V_before, V_before) + work(a, state.moved) - gained
    quadratic, linear = 0.5 * work(change, change), work(start, change)
    left = np.maximum(most - 0.5 * work(start, start), 0.0)
    fits = quadratic + linear <= left + 1e-12 * np.abs(most)
    root = np.sqrt(np.maximum(linear * linear + 4.0 * quadratic * left, 0.0))
    share = (root - linear) / np.maximum(2.0 * quadratic, 1e-300)
    found: Array = np.where(fits, 1.0, np.clip(share, 0.0, 1.0))
    return found


def _stored(island: Island, Q: Array) -> Array:
    """Energy (c,) that shapes and joints of islands store at Q [J]."""
    model, inside, h = island.model, island.inside, island.h
    bodies, potential = model.bodies, model.potential
    sigma = np.linalg.svd(Q[inside, 1:], compute_uv=False)
    strain = np.where((bodies.model[inside] == ORTHO)[:, None], sigma * sigma - 1.0, sigma - 1.0)
    shapes = island.total(bodies.stiffness[inside] * np.sum(strain * strain, axis=1))
    owner, E = np.where(bodies.is_free != 0, island.of, -1), np.zeros(max(island.count, 1))
    row_energies(potential.points, Q, owner, E)
    row_energies(potential.slides, Q, owner, E)
    if potential.laws is not None:
        law_energies(potential.laws, Q, owner, E, True)
    found: Array = shapes + E[: island.count] / (h * h)
    return found
