"""Restitution: what meets faster than it would by resting parts again, along the normals of its contacts.

A step that lands is plastic. Where a pair has a restitution e, impulses p ≥ 0 along n then give back, at all contacts
of the bodies that bounce at once (rigid bodies and their joints, W = J P⁻¹Jᵀ by held.py):

    v⁺ = v + W p ≥ e v⁻,   p (v⁺ − e v⁻) = 0        v⁻² = (n·ẋ)² + 2 (n·a)(n·Δx)

v⁻ is the speed of approach when they met, from that at the start of the step, and from what loads have added on the
way Δx; e counts where it is more than 2h|n·a|, what a body gains by falling for two steps. All impulses are made
less by one factor where kinetic energy and barriers would have more than the step began with and loads have given.
There is no friction in a blow.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.consistent import filter_of
from dovetail.solver.contact.kinds import D_HAT, THICKNESS, X0
from dovetail.solver.contact.readback import Survey, barrier_of
from dovetail.solver.held import push
from dovetail.solver.model import Model
from dovetail.solver.state import State
from dovetail.typing import Array, Indices

__all__ = ["SLOW", "bounce", "impulses"]

_SWEEPS = 100  # of Gauss and Seidel: a box on four corners needs some thirty to 1e-6
SLOW = 2.0  # steps of free fall


def bounce(model: Model, state: State, h: float) -> None:
    """Give back velocity to bodies that have met in the last step, of length h."""
    contact = model.contact
    if contact is None or not np.count_nonzero(contact.scene.restitution):
        return
    a = model.loads.accelerations(state.Q_before)
    survey = contact.survey(state.Q, state.Q_before, h)
    normal = survey.active.r[: survey.active.count] / np.sqrt(survey.active.squared[: survey.active.count, None])

    def along(rows: Array) -> Array:
        """n·(x_a − x_b) of every contact, for rows (n, 4, 3) of positions or their rates."""
        xi, (i, j) = survey.active.xi[: len(normal)], survey.bodies.T
        x = np.einsum("ki,kix->kx", xi[:, :4], rows[i])
        x[j >= 0] -= np.einsum("ki,kix->kx", xi[j >= 0, 4:], rows[j[j >= 0]])
        return np.einsum("kx,kx->k", x, normal)

    begun, falls, way = along(state.V_before), along(a * model.bodies.is_free[:, None, None]), along(state.moved)
    met = np.sqrt(np.maximum(begun**2 + 2.0 * falls * way, 0.0))
    e = _restitution(survey) * ((begun < 0.0) & (met > SLOW * h * np.abs(falls)))
    if not e.any():
        return
    bouncing = np.zeros(model.bodies.count + 1, np.bool_)
    bouncing[survey.bodies[e > 0.0]] = True
    bouncing[-1] = False
    chosen = np.flatnonzero(bouncing[survey.bodies].any(axis=1))
    u = _responses(model, state, h, survey, normal, chosen)
    W, wanted = np.array([along(one)[chosen] for one in u]), (e * met - along(state.V))[chosen]
    change = np.einsum("k,knix->nix", impulses(W, wanted), u)
    change *= _share(model, state, a, survey, change)
    bounced = change.any(axis=(1, 2))
    state.V, state.lagging = state.V + change, state.lagging & ~bounced
    state.A = np.where(bounced[:, None, None], 0.0, state.A)  # a blow does not last


def impulses(W: Array, wanted: Array, past: list[tuple[int, Array]] | None = None) -> Array:
    """p (m,) ≥ 0 with W p ≥ wanted, and equal to it where p > 0; past ← which has changed, and all of them then."""
    p = np.zeros(len(wanted))
    for _ in range(_SWEEPS):
        for k in np.flatnonzero(np.diag(W) > 0.0):
            p[k] = max(p[k] + (wanted[k] - W[:, k] @ p) / W[k, k], 0.0)
            if past is not None:
                past.append((int(k), p.copy()))
    return p


def _restitution(survey: Survey) -> Array:
    """e (k,) of every contact."""
    scene, (i, j) = survey.scene, survey.bodies.T
    other = scene.material[j]
    on_plane = j < 0
    other[on_plane] = scene.plane_material[survey.candidates.pairs[survey.candidate[on_plane], X0 + 1]]
    found: Array = scene.restitution[scene.material[i], other]
    return found


def _responses(model: Model, state: State, h: float, survey: Survey, normal: Array, chosen: Indices) -> Array:
    """Motions (m, n, 4, 3) by a unit impulse along the normal of each chosen contact (m,)."""
    bodies = model.bodies
    model.start.begin(state.Q, state.V, model.nobody, h, 1.0)
    tied = bodies.is_free - model.lone.among(bodies.is_free)
    known = filter_of(model, tied) if tied.any() else None
    found, pushed = np.zeros((len(chosen), bodies.count, 4, 3)), np.empty((bodies.count, 6))
    for m, k in enumerate(chosen):
        F = np.zeros((bodies.count, 4, 3))
        for side, body in enumerate(survey.bodies[k]):
            if body >= 0:
                xi = survey.active.xi[k, 4 * side : 4 * side + 4]
                F[body] += (1 - 2 * side) * np.outer(xi, normal[k])
        push(model, bodies.is_free, known, F.reshape(-1, 12), pushed, found[m])
    return found


def _share(model: Model, state: State, a: Array, survey: Survey, change: Array) -> float:
    """The largest share of a change of V, at most 1, with which no energy is gained in the step."""
    mass, s, count = model.bodies.mass * model.bodies.is_free[:, None, None], survey.active, survey.active.count
    numbers = survey.candidates.numbers[survey.candidate]
    value, _, _ = barrier_of(s.squared[:count], numbers[:, THICKNESS], numbers[:, D_HAT])
    h = state.dt_before

    def work(one: Array, other: Array) -> float:
        return float(np.einsum("nij,nix,njx->", mass, one, other))

    stored = float((s.weight[:count] * s.kappa[:count] / (h * h) * value).sum())
    most = 0.5 * work(state.V_before, state.V_before) + work(a, state.moved) - stored
    quadratic, linear = 0.5 * work(change, change), work(state.V, change)
    left = most - 0.5 * work(state.V, state.V)
    if quadratic + linear <= left or quadratic == 0.0:
        return 1.0
    root = linear * linear + 4.0 * quadratic * left
    return min(max((np.sqrt(max(root, 0.0)) - linear) / (2.0 * quadratic), 0.0), 1.0) if root > 0.0 else 0.0
