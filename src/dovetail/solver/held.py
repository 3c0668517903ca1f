"""Second order while touching: steps of ctr for what touches something.

A contact must not be part of a trapezoidal rule: it would bounce, and gain energy. So a mechanism that touches
something minimises the potential of bdf1 (c = 1), in which contact, friction, hard limits and laws act as they do
there; but all else, free flight and joints, enters by V̂ and Â as in ctr (integrator.py has Q̃ and the new velocity):

    minimise ½‖Q − Q̃‖²_M + h²V(Q)

P, V̂ and Â know no contact, so the velocity that a step ends with lags behind by what contact adds in half a step. Where
that lasts, the lag lasts too and does no harm. Where it turns with the motion, it has to be followed:

    F = −∇barrier(Qₙ)     u = P⁻¹F as motions of rigid bodies     u′ that of the last step, turned along
    w, w′ likewise, by the forces of friction in the last step and the one before
    φ = max(0, 1 − (4r)⁴),  r = ‖Δ‖_M/‖u + w‖_M over all that contacts and joints connect: 0 at impacts
    Δ = u − u′ + ½(w − w′),  y = P_c⁻¹ MΔ,    P_c = P + h²(Hessian of barrier and friction at Qₙ)
    ℓ = −h²φ Σ S_ij (u + w)_i × v_j − ½hφ Σ d × F_w
    Vₙ ← Vₙ + M⁻¹(½ℓ × a_k on row k) − hφy

S are second moments about the centre of mass, u_i, v_j rows of u and V, d how far the levers of the forces F_w of
friction have gone in the last step. A barrier pushes with what it had to push with a step ago, along the normal of
the end: hence all of u − u′. Friction that slides acts along the mean slip of the step, that is in its middle, with
the load that stick.py foretells for it; but with the levers of the end, and h²w moves a body by twice of what it
should: hence half of w − w′ and of d. Where friction sticks it sets the velocity by itself, and w − w′ is left out;
for what rolls (roll.py), w is.

What depends on the velocity itself, curvatures, takes V̂ + h/2 φ(u + w). Laws of such mechanisms are left to the end of
the step: trapezoidal ones make stiff drives swing against a contact. So they are implicit Euler there, as contact is.

Since h²/4 Â is part of Q̃, joints have a quarter of their forces in what is minimised. The rest, which they carry in Â,
is added where forces are read (`State.carried`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.solver.assembly.start import spin_of
from dovetail.solver.consistent import Filter, assemble_filter, factor_filter, filter_of
from dovetail.solver.contact.normal import add_normal_gradient
from dovetail.solver.integrator import Methods
from dovetail.solver.islands import unite_pairs
from dovetail.solver.kernel import kernel
from dovetail.solver.model import Model
from dovetail.solver.state import State
from dovetail.typing import Array, Flags, Indices

__all__ = ["Touch", "push", "set_rolling", "touch"]

_FADES = 4.0  # a change of u by a quarter of itself is an impact; chosen by random drops that must not gain energy
_FELT = 1e-5  # [m/s] change of a velocity from which on P_c is worth being factored
_STILL = 1e-6  # [m, –] change of Q in a step, below which a body without joints stands still
_RESTS = 1e-2  # [m/s] speed below which the lag follows a changing load by itself: at rest, Q = Qₙ sets it


class Touch(NamedTuple):
    """What touching adds to a start: V (n, 4, 3) instead of Vₙ, half of hφu, and u as accelerations (n, 6).

    known is P, which the blocks have as a factor, where it was asked for.
    """

    V: Array
    half: Array
    pushed: Array
    known: Filter | None = None


@kernel
def _rigid(mass: Array, Q: Array, A: Array, out: Array) -> None:
    """out (n, 6) ← acceleration of the centre of mass, and of the spin, of bodies that move with A (n, 4, 3)."""
    S, w = np.empty((3, 3)), np.empty(3)
    for b in range(len(Q)):
        for x in range(3):
            out[b, x] = A[b, 0, x]
            for k in range(1, 4):
                out[b, x] += mass[b, 0, k] / mass[b, 0, 0] * A[b, k, x]
        spin_of(mass, Q, A, b, S, w)
        for x in range(3):
            out[b, 3 + x] = w[x]


@kernel
def _rows(mass: Array, Q: Array, w: Array, out: Array) -> None:
    """out (n, 4, 3) ← rows of bodies whose centres of mass and spins move with w (n, 6): the inverse of `_rigid`."""
    for b in range(len(Q)):
        for x in range(3):
            y, z = (x + 1) % 3, (x + 2) % 3
            out[b, 0, x] = w[b, x]
            for k in range(1, 4):
                out[b, k, x] = w[b, 3 + y] * Q[b, k, z] - w[b, 3 + z] * Q[b, k, y]
                out[b, 0, x] -= mass[b, 0, k] / mass[b, 0, 0] * out[b, k, x]


@kernel
def _measure(
    mass: Array, half: Array, is_free: Indices, u: Array, change: Array, Q_before: Array, Q: Array, sizes: Array
) -> None:
    """sizes (4, n) ← ‖u‖²_M, ‖change‖²_M; change, and motion in the last step, of a corner of its box at most."""
    for b in range(len(u)):
        for k in range(4):
            sizes[k, b] = 0.0
        if not is_free[b]:
            continue
        for i in range(4):
            length = moved = 0.0
            for x in range(3):
                length += change[b, i, x] * change[b, i, x]
                moved += (Q[b, i, x] - Q_before[b, i, x]) ** 2
                for j in range(4):
                    sizes[0, b] += mass[b, i, j] * u[b, i, x] * u[b, j, x]
                    sizes[1, b] += mass[b, i, j] * change[b, i, x] * change[b, j, x]
            arm = 1.0 if i == 0 else half[b, i - 1]
            sizes[2, b] += np.sqrt(length) * arm
            sizes[3, b] += np.sqrt(moved) * arm


@kernel
def _twist(
    mass: Array, inverse: Array, h: float, phi: Array, Q: Array, moved: Array, rubbing: Array, u: Array, V: Array
) -> None:
    """V += M⁻¹(½ℓ × a_k on row k), by body; φ (n,), moved (n, 4, 3): what has led to Q."""
    rows, c = np.zeros((4, 3)), np.zeros(3)
    for b in range(len(Q)):
        if phi[b] == 0.0:
            continue
        m, F = mass[b, 0, 0], rubbing[b]
        l0 = l1 = l2 = 0.0
        for i in range(1, 4):
            for j in range(1, 4):
                S = mass[b, i, j] - mass[b, 0, i] * mass[b, 0, j] / m
                l0 -= S * (u[b, i, 1] * V[b, j, 2] - u[b, i, 2] * V[b, j, 1])
                l1 -= S * (u[b, i, 2] * V[b, j, 0] - u[b, i, 0] * V[b, j, 2])
                l2 -= S * (u[b, i, 0] * V[b, j, 1] - u[b, i, 1] * V[b, j, 0])
        for x in range(3):
            c[x] = moved[b, 0, x]
            for k in range(1, 4):
                c[x] += mass[b, 0, k] / m * moved[b, k, x]
        l0 -= 0.5 / h * (F[12] - (c[1] * F[2] - c[2] * F[1]))
        l1 -= 0.5 / h * (F[13] - (c[2] * F[0] - c[0] * F[2]))
        l2 -= 0.5 / h * (F[14] - (c[0] * F[1] - c[1] * F[0]))
        scale = 0.5 * h * h * phi[b]
        for k in range(1, 4):
            rows[k, 0] = scale * (l1 * Q[b, k, 2] - l2 * Q[b, k, 1])
            rows[k, 1] = scale * (l2 * Q[b, k, 0] - l0 * Q[b, k, 2])
            rows[k, 2] = scale * (l0 * Q[b, k, 1] - l1 * Q[b, k, 0])
        for i in range(4):
            for j in range(1, 4):
                for x in range(3):
                    V[b, i, x] += inverse[b, i, j] * rows[j, x]


@kernel
def _lag(mass: Array, chosen: Flags, h: float, a: Array, u: Array, w: Array, V: Array) -> None:
    """V of chosen bodies −= h/2 (u + w), of which no more than the acceleration a (n, 4, 3) by loads can balance u.

    Nothing where a body leaves faster than loads can bring it back in a step.
    """
    for b in range(len(V)):
        if not chosen[b]:
            continue
        loads = pushes = leaves = 0.0
        for i in range(4):
            for j in range(4):
                for x in range(3):
                    leaves += mass[b, i, j] * u[b, i, x] * V[b, j, x]
                    loads += mass[b, i, j] * a[b, i, x] * a[b, j, x]
                    pushes += mass[b, i, j] * u[b, i, x] * u[b, j, x]
        if leaves > h * np.sqrt(loads * pushes):
            continue
        scale = 0.5 * h
        if pushes > loads:
            scale *= np.sqrt(loads / pushes)
        for i in range(4):
            for x in range(3):
                V[b, i, x] -= scale * (u[b, i, x] + w[b, i, x])


def touch(model: Model, state: State, h: float, a: Array, held: Flags) -> Touch:
    """What touching adds to the start of a step of length h of the bodies that are held (n,).

    a (n, 4, 3) is the acceleration by loads. A velocity that someone has given does not lag yet, behind barriers and
    friction.
    """
    contact, bodies, Q = model.contact, model.bodies, state.Q
    V, n = state.V.copy(), bodies.count
    half, pushed, rubbed = np.zeros_like(V), np.zeros((n, 6)), np.zeros((n, 6))
    active = bodies.is_free * held
    rest, moved, fresh = active - model.lone.among(active), state.moved, held & ~state.lagging
    if not (rest.any() or fresh.any()) and np.abs(moved[held]).max(initial=0.0) < _STILL:
        return Touch(V, half, state.pushed)  # a pile at rest: nothing turns
    s = None if contact is None else contact.press(Q, h)
    if contact is None or s is None or s.count == 0:
        return Touch(V, half, np.hstack([pushed, rubbed]))
    model.start.begin(Q, V, held, h, h / (state.dt_before or h))
    g, u, w, change = np.zeros((n, 12)), np.empty_like(V), np.zeros_like(V), np.empty_like(V)
    add_normal_gradient(s, contact.scene, g)
    known = filter_of(model, rest) if rest.any() else None
    rubbing = state.rubbing
    rolls = contact.turning.turn.any(axis=1)
    if rolls.any():
        # friction tells of rolling what a chord is shorter than an arc as well: followed, that would make a ball faster
        rubbing, moved[rolls] = rubbing.copy(), 0.0
        rubbing[rolls] = 0.0
    if fresh.any():
        rubbing = np.where(fresh[:, None], contact.drag(Q, V, h, s), rubbing)
        moved[fresh] = h * V[fresh]
    push(model, active, known, g / (-h * h), pushed, u)
    if rubbing.any():
        push(model, active, known, rubbing[:, :12], rubbed, w)
    _lag(bodies.mass, fresh, h, a, u, w, V)
    u += w
    rubbed[rubbing[:, 15] == 0.0] = 0.0
    pushed = np.hstack([pushed, rubbed])
    differs, slid = pushed - state.pushed, (rubbed != 0.0) & (state.pushed[:, 6:] != 0.0)
    _rows(bodies.mass, Q, differs[:, :6] + 0.5 * slid.any(axis=1, keepdims=True) * differs[:, 6:], change)
    phi, follows, waits = _persistence(model, state, h, s.bodies, s.count, u, change)
    chosen = active * follows
    if chosen.any():
        kept = None if known is None else known.keep(model)
        y = _yield(model, state, chosen, bodies.mass @ change)
        V -= (h * phi)[:, None, None] * y.reshape(n, 4, 3)
        known = kept if kept is not None and kept.restore(model) else None
    _twist(bodies.mass, bodies.mass_inverse, h, phi, Q, moved, rubbing, u, V)
    half[:] = (0.5 * h * phi)[:, None, None] * u
    pushed[waits] = state.pushed[waits]
    return Touch(V, half, pushed, known)


def set_rolling(model: Model, state: State, h: float, V: Array, methods: Methods) -> None:
    """Tell contact by how much bodies that are held turn in a step that begins with V."""
    contact, bodies = model.contact, model.bodies
    if contact is not None and (methods.some_held or contact.turning.turn.any()):
        rolling = bodies.is_free * methods.held * contact.scene.rolls
        axis, turning = contact.scene.rolling_axis, contact.turning
        _turns(bodies.mass, rolling, axis, h, state.Q, V, turning.turn, turning.centre)


@kernel
def _turns(mass: Array, active: Indices, axis: Array, h: float, Q: Array, V: Array, turn: Array, centre: Array) -> None:
    """turn ← hω of active bodies, about the axis that they roll about; centre ← their centres of mass."""
    S, w, along = np.empty((3, 3)), np.empty(3), np.empty(3)
    for b in range(len(Q)):
        for x in range(3):
            turn[b, x] = 0.0
        if not active[b]:
            continue
        spin_of(mass, Q, V, b, S, w)
        square = share = 0.0
        for x in range(3):
            along[x] = axis[b, 0] * Q[b, 1, x] + axis[b, 1] * Q[b, 2, x] + axis[b, 2] * Q[b, 3, x]
            square += along[x] * along[x]
            share += along[x] * w[x]
        for x in range(3):
            turn[b, x] = h * (w[x] if square == 0.0 else share / square * along[x])
            centre[b, x] = Q[b, 0, x]
            for k in range(1, 4):
                centre[b, x] += mass[b, 0, k] / mass[b, 0, 0] * Q[b, k, x]


def push(model: Model, active: Indices, known: Filter | None, F: Array, pushed: Array, u: Array) -> None:
    """pushed (n, 6), u (n, 4, 3) ← motions of rigid bodies by the forces F (n, 12) on active bodies."""
    found = _response(model, known, F * active[:, None])
    _rigid(model.bodies.mass, model.start.Q, found.reshape(u.shape), pushed)
    pushed[active == 0] = 0.0
    _rows(model.bodies.mass, model.start.Q, pushed, u)


def _response(model: Model, known: Filter | None, F: Array) -> Array:
    """P⁻¹F (n, 12) of bodies that P is known of; of lone ones M⁻¹F, which has the same motion of rigid bodies."""
    found: Array = (model.bodies.mass_inverse @ F.reshape(-1, 4, 3)).reshape(-1, 12)
    if known is not None:
        # stiffness alone closes exact joints to a hundredth and better, which is enough here; the start closes them
        tied, blocks = known.active != 0, model.directions.blocks
        np.copyto(blocks.g, F)
        found[tied] = blocks.solve(known.active, blocks.g)[tied]
    return found


def _persistence(
    model: Model, state: State, h: float, pairs: Indices, count: int, u: Array, change: Array
) -> tuple[Array, Flags, Flags]:
    """φ (n,); who is to follow the change, bodies of islands that move and would feel it; who is to feel it later."""
    islands, bodies = model.islands, model.bodies
    unite_pairs(islands.separate(), bodies.is_free, pairs, count)
    islands.number()
    sizes = np.empty((4, bodies.count))
    _measure(bodies.mass, bodies.half, bodies.is_free, u, change, state.Q_before, state.Q, sizes)
    all_of_it, changed = islands.sum(sizes[0]), islands.sum(sizes[1])
    ratio = np.minimum(_FADES * _FADES * changed / np.maximum(all_of_it, 1e-300), 1.0)
    phi = 1.0 - ratio * ratio
    felt, fast = h * sizes[2] >= _FELT, sizes[3] >= _RESTS * state.dt_before
    feels, moves = islands.sum(felt) > 0.0, islands.sum(fast) > 0.0
    follows, waits = feels & moves & (phi > 0.0), moves & ~feels
    of = islands.of
    return np.append(phi, 0.0)[of], np.append(follows, False)[of], np.append(waits, False)[of]


def _yield(model: Model, state: State, active: Indices, r: Array) -> Array:
    """P_c⁻¹ r (n, 12) of active bodies."""
    contact, directions, Q = model.contact, model.directions, state.Q
    assert contact is not None
    s = contact.press(Q, model.start.h)
    if not directions.blocks.laid_out or not contact.fits(s, directions.blocks):
        directions.lay_out(contact.touching(s))
    blocks = directions.blocks
    assemble_filter(model, model.start, active, blocks)
    contact.add_resistance(Q, state.Q_before, model.start.h, s, active, blocks)
    factor_filter(model, active, blocks)
    np.copyto(blocks.g, r.reshape(-1, 12))
    return blocks.solve(active, blocks.g)
