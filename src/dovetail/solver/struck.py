"""Islands that are struck: their angular momentum and their energy before and after a blow.

What contacts have moved bodies apart by in the step, δ along n, gives an island an angular momentum m δ × v that
nothing has given it. In one that nothing fixed holds, a turn of all of it as a rigid body takes that back.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.bodies import ORTHO, Bodies
from dovetail.solver.joint.laws import law_energies
from dovetail.solver.joint.rows import row_energies
from dovetail.solver.model import Model
from dovetail.solver.rigid import rigid
from dovetail.solver.state import State
from dovetail.typing import Array, Flags, Indices

__all__ = ["Island", "share_of", "slow_down", "strains_of", "turn_back"]

_ROUND_OFF = 1e-12


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

    def work(self, one: Array, other: Array) -> Array:
        """⟨one, other⟩_M (c,) of rows (n, 4, 3)."""
        inside = self.inside
        return self.total(np.einsum("bij,bix,bjx->b", self.model.bodies.mass[inside], one[inside], other[inside]))

    def works(self) -> Flags:
        """Islands (c,) on which laws act, or loads."""
        laws, found = self.model.potential.laws, np.zeros(self.count + 1, np.bool_)
        found[:] = self.model.loads.act or self.model.potential.soft_transforms.count > 0
        if laws is not None:
            for side in (laws.coordinates.left, laws.coordinates.right):
                found[self.of[side[laws.acting]]] = True
        return found[:-1]

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


def turn_back(island: Island, V_before: Array, V: Array) -> Flags:
    """Turn islands (c,) that nothing holds so that V (n, 4, 3) has the angular momentum of V_before at the start."""
    model, state, of = island.model, island.state, island.of[island.inside]
    free = ~island.hangs()
    if not free.any():
        return free
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
    return free


def share_of(island: Island, V_before: Array, start: Array, V: Array, kept: Flags) -> tuple[Array, Array]:
    """The largest share (c,) of V − start, at most 1, with which no island has more energy than it began with.

    Kinetic and stored, with what loads have given; kept (k,) are contacts that hold what they do. Where drives have
    given more, a blow may not add to that. The second is the energy that is allowed (c,), infinite where laws work.
    """
    model, state = island.model, island.state
    change = V - start
    gained = _stored(island, state.Q, kept) - _stored(island, state.Q_before, None)
    given = island.work(model.loads.accelerations(state.Q_before), state.moved)
    most = 0.5 * island.work(V_before, V_before) + given - gained
    quadratic, linear = 0.5 * island.work(change, change), island.work(start, change)
    left = np.maximum(most - 0.5 * island.work(start, start), 0.0)
    fits = quadratic + linear <= left + _ROUND_OFF * np.abs(most)
    root = np.sqrt(np.maximum(linear * linear + 4.0 * quadratic * left, 0.0))
    share = (root - linear) / np.maximum(2.0 * quadratic, 1e-300)
    return np.where(fits, 1.0, np.clip(share, 0.0, 1.0)), np.where(island.works(), np.inf, most)


def slow_down(island: Island, most: Array, V: Array) -> Array:
    """Slow islands that have more kinetic energy than is allowed (c,), about their centres of mass; to shares (c,).

    The step itself may have given it: what turns by a radian in a step is not followed to the last per cent.
    """
    above = 0.5 * island.work(V, V) - most
    if not (above > _ROUND_OFF * np.abs(most)).any():
        return np.ones(island.count)
    inside, of, mass = island.inside, island.of[island.inside], island.model.bodies.mass[island.inside]
    m = mass[:, 0, 0]
    momentum = np.einsum("bi,bix->bx", mass[:, 0], V[inside])
    centre = np.zeros_like(V)
    centre[inside, 0] = (island.total(momentum) / island.total(m)[:, None])[of]
    about = V - centre
    kinetic = 0.5 * island.work(about, about)
    share = np.sqrt(np.clip(1.0 - np.maximum(above, 0.0) / np.maximum(kinetic, 1e-300), 0.0, 1.0))
    V[inside] = (centre + share[np.maximum(island.of, 0)][:, None, None] * about)[inside]
    return share


def strains_of(bodies: Bodies, Q: Array) -> Array:
    """Energies of shapes (n,) of a stiffness of 1."""
    sigma = np.linalg.svd(Q[:, 1:], compute_uv=False)
    strain = np.where((bodies.model == ORTHO)[:, None], sigma * sigma - 1.0, sigma - 1.0)
    found: Array = np.sum(strain * strain, axis=1)
    return found


def _stored(island: Island, Q: Array, kept: Flags | None) -> Array:
    """Energy (c,) that shapes, joints and contacts of islands store at Q [J].

    At the end of the step those contacts (k,) count that are kept, at its start all, as the last step left them.
    """
    model, inside, h, contact = island.model, island.inside, island.h, island.model.contact
    bodies, potential = model.bodies, model.potential
    assert contact is not None
    shapes = island.total((bodies.stiffness * strains_of(bodies, Q))[inside])
    owner, E = np.where(bodies.is_free != 0, island.of, -1), np.zeros(max(island.count, 1))
    row_energies(potential.points, Q, owner, E)
    row_energies(potential.slides, Q, owner, E)
    if potential.laws is not None:
        law_energies(potential.laws, Q, owner, E, True)
    if kept is None:
        holds = island.total(contact.E_before[inside])
    else:
        active = contact.found
        sides = active.bodies[: active.count]
        of = np.where(sides >= 0, owner[sides], -1).max(axis=1)
        holds = np.zeros(island.count)
        np.add.at(holds, of[of >= 0], (active.energy[: active.count] * kept)[of >= 0])
    found: Array = shapes + (E[: island.count] + holds) / (h * h)
    return found
