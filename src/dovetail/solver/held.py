"""Second order while touching: steps of ctr for what touches something.

A contact must not be part of a trapezoidal rule: it would bounce, and gain energy. So a mechanism that touches
something minimises the potential of bdf1 (c = 1), in which contact, friction, hard limits and laws act as they do
there; but all else, free flight and joints, enters by V̂ and Â as in ctr (integrator.py has Q̃ and the new velocity):

    minimise ½‖Q − Q̃‖²_M + h²V(Q)

P, V̂ and Â know no contact, so the velocity that a step ends with lags behind by what contact adds in half a step. Where
that lasts, the lag lasts too and does no harm. Where it turns with the motion, it has to be followed:

    f = M⁻¹(force that the last step had beyond Q̃) − ¼ of the inner forces of Â,  f′ that of the step before
    w, w′ likewise, by friction that slides
    φ = max(0, 1 − (4r)⁴),  r = ‖Δ‖_M/‖f‖_M over all that contacts and joints connect: 0 at impacts
    Δ = f − f′ − ½(w − w′),  y = P_c⁻¹ MΔ,    P_c = P + h²(Hessian of barrier, friction and laws at Qₙ)
    ℓ = −h²φ Σ S_ij f_i × v_j − ½hφ Σ d × F_w
    Vₙ ← Vₙ + M⁻¹(½ℓ × a_k on row k) − hφy

S are second moments about the centre of mass, f_i, v_j rows of f and V, d how far the levers of the forces F_w of
friction have gone in the last step. f is the force and the torque that M(Q − Q̃)/h² has on each body as a rigid one, so
all that a step is held by is in it, contacts that stick, laws and stops among them, and it is that which has changed
the velocity: the forces that barriers, friction and stops tell at Q are off by what Newton's method leaves.

Why all of Δ: let A be the directions of the constraints, f = M⁻¹Aᵀλ and V = V_true − h/2 f. Constraints, rolling among
them (roll.py), hold for the way of the step, so that it has the λ of its start, along the A of its end:

    V′ = V_true − h/2 M⁻¹Aₙᵀλ + h M⁻¹Aₙ₊₁ᵀλ        wanted  V_true + h f_mid − h/2 fₙ₊₁ = V_true + h/2 M⁻¹Aₙᵀλ

They differ by hΔ, as momenta in the world: torques, not rates of spins, are what is compared. P_c takes out of it what
constraints set by themselves. Friction that slides acts along the mean slip of the step, that is in its middle, with
the load that stick.py foretells for it; but with the levers of the end: hence half of w − w′ and of d. A spring of
frequency ω, which P_c has in it, is followed as well: it keeps 1 − (ωh)⁴/2 of its amplitude in a step, and √2/(ωh)
where it is stiff.

What depends on the velocity itself, curvatures, takes V̂ + h/2 φf. Laws of such mechanisms are left to the end of the
step: trapezoidal ones make stiff drives swing against a contact.

Since h²/4 Â is part of Q̃, joints have a quarter of their forces in what is minimised. The rest, which they carry in Â,
is added where forces are read (`State.carried`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.solver.assembly.start import spin_of
from dovetail.solver.consistent import Filter, assemble_filter, factor_filter, filter_of
from dovetail.solver.contact.normal import add_normal_gradient
from dovetail.solver.contact.roll import Turning
from dovetail.solver.integrator import CARRIED, Methods
from dovetail.solver.islands import unite_pairs
from dovetail.solver.joint.laws import assemble_laws
from dovetail.solver.kernel import kernel
from dovetail.solver.model import Model
from dovetail.solver.rigid import rigid, rows_of
from dovetail.solver.state import State
from dovetail.typing import Array, Flags, Indices

__all__ = ["FADES", "FELT", "RESTS", "STILL", "Touch", "left_over", "push", "set_rolling", "touch"]

FADES = 4.0  # a change of f by a quarter of itself is an impact; chosen by random drops that must not gain energy
FELT = 1e-5  # [m/s] change of a velocity from which on P_c is worth being factored
STILL = 1e-6  # [m, –] change of Q in a step, below which a body without joints stands still
RESTS = 1e-2  # [m/s] speed below which the lag follows a changing load by itself: at rest, Q = Qₙ sets it


class Touch(NamedTuple):
    """What touching adds to a start: V (n, 4, 3) instead of Vₙ, ½hφf; what pushes (n, 13), see `State.pushed`."""

    V: Array
    half: Array
    pushed: Array


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
    V, n, mass = state.V.copy(), bodies.count, bodies.mass
    active, half, moved, fresh = bodies.is_free * held, np.zeros_like(V), state.moved, held & ~state.lagging
    tied = active - model.lone.among(active)
    if not (tied.any() or fresh.any()) and np.abs(moved[held]).max(initial=0.0) < STILL:
        return Touch(V, half, state.pushed[:, :13])  # a pile at rest: nothing turns
    model.start.begin(Q, V, held, h, h / (state.dt_before or h))
    u, change, (pushed, rubbed) = np.empty_like(V), np.empty_like(V), np.empty((2, n, 6))
    rubbing = state.rubbing.copy()
    if contact is not None:
        rolls = contact.turning.turn.any(axis=1)
        moved[rolls] = rubbing[rolls, 12:15] = 0.0
    rigid(mass, Q, state.A, pushed)
    pushed -= state.pushed[:, 13:]
    if fresh.any() and contact is not None:
        moved[fresh] = h * V[fresh]
        pushed[fresh] = _begun(model, state, h, a, fresh, rubbing, V)[fresh]
    pushed[active == 0] = 0.0
    rigid(mass, Q, bodies.mass_inverse @ rubbing[:, :12].reshape(n, 4, 3), rubbed)
    rows_of(mass, Q, pushed, u)
    pushed = np.hstack([pushed, rubbed, rubbing[:, 15:]])
    differs = pushed - state.pushed[:, :13]
    as_before = differs[:, 12:] == 0.0  # as many contacts slide
    rows_of(mass, Q, differs[:, :6] - 0.5 * as_before * differs[:, 6:12], change)
    phi, follows, waits = _persistence(model, state, h, u, change)
    chosen = active * follows
    if chosen.any():
        y = _yield(model, state, chosen, mass @ change)
        V -= (h * phi)[:, None, None] * y.reshape(n, 4, 3)
    _twist(mass, bodies.mass_inverse, h, phi, Q, moved, rubbing, u, V)
    half[:] = (0.5 * h * phi)[:, None, None] * u
    pushed[waits] = state.pushed[waits, :13]
    return Touch(V, half, pushed)


def left_over(model: Model, Q: Array, inner: Array, held: Flags) -> Array:
    """What potentials have to push bodies that are held with (n, 6) because of inner forces: a quarter of these."""
    found = np.empty((len(Q), 6))
    rigid(model.bodies.mass, Q, (1.0 - CARRIED) * inner, found)
    found[~held] = 0.0
    return found


def _begun(model: Model, state: State, h: float, a: Array, fresh: Flags, rubbing: Array, V: Array) -> Array:
    """What pushes bodies (n, 6) whose velocity was given; their V is made to lag, rubbing (n, 16) ← their friction."""
    contact, Q, n = model.contact, state.Q, model.bodies.count
    assert contact is not None
    s, active = contact.press(Q, h), model.bodies.is_free * fresh
    g, pushed, (u, w) = np.zeros((n, 12)), np.zeros((2, n, 6)), np.zeros((2, n, 4, 3))
    if s.count == 0:
        return pushed[0]
    add_normal_gradient(s, contact.scene, g)
    tied = active - model.lone.among(active)
    known = filter_of(model, tied) if tied.any() else None
    rubbing[fresh] = contact.drag(Q, V, h, s)[fresh]
    push(model, active, known, g / (-h * h), pushed[0], u)
    push(model, active, known, rubbing[:, :12], pushed[1], w)
    _lag(model.bodies.mass, fresh, h, a, u, w, V)
    return pushed[0] + pushed[1]


def set_rolling(model: Model, state: State, h: float, V: Array, methods: Methods) -> None:
    """Tell contact by how much bodies that are held turn in a step that begins with V."""
    contact, bodies = model.contact, model.bodies
    if contact is not None and (methods.some_held or contact.turning.turn.any()):
        rolling = bodies.is_free * methods.held * contact.scene.rolls
        _turns(bodies.mass, rolling, contact.scene.rolling_axis, h, state.Q, V, contact.turning)


@kernel
def _turns(mass: Array, active: Indices, axis: Array, h: float, Q: Array, V: Array, out: Turning) -> None:
    """out ← hω of active bodies, and the axes that they are round about."""
    S, w = np.empty((3, 3)), np.empty(3)
    for b in range(len(Q)):
        for x in range(3):
            out.turn[b, x] = 0.0
        if not active[b]:
            continue
        spin_of(mass, Q, V, b, S, w)
        square = 0.0
        for x in range(3):
            out.turn[b, x] = h * w[x]
            out.axis[b, x] = axis[b, 0] * Q[b, 1, x] + axis[b, 1] * Q[b, 2, x] + axis[b, 2] * Q[b, 3, x]
            square += out.axis[b, x] ** 2
        for x in range(3):
            out.axis[b, x] /= max(np.sqrt(square), 1e-300)


def push(model: Model, active: Indices, known: Filter | None, F: Array, pushed: Array, u: Array) -> None:
    """pushed (n, 6), u (n, 4, 3) ← motions of rigid bodies by the forces F (n, 12) on active bodies."""
    found = _response(model, known, F * active[:, None])
    rigid(model.bodies.mass, model.start.Q, found.reshape(u.shape), pushed)
    pushed[active == 0] = 0.0
    rows_of(model.bodies.mass, model.start.Q, pushed, u)


def _response(model: Model, known: Filter | None, F: Array) -> Array:
    """P⁻¹F (n, 12) of bodies that P is known of; of lone ones M⁻¹F, which has the same motion of rigid bodies."""
    found: Array = (model.bodies.mass_inverse @ F.reshape(-1, 4, 3)).reshape(-1, 12)
    if known is not None:
        # stiffness alone closes exact joints to a hundredth and better, which is enough here; the start closes them
        tied, blocks = known.active != 0, model.directions.blocks
        np.copyto(blocks.g, F)
        found[tied] = blocks.solve(known.active, blocks.g)[tied]
    return found


def _persistence(model: Model, state: State, h: float, u: Array, change: Array) -> tuple[Array, Flags, Flags]:
    """φ (n,); who is to follow the change, bodies of islands that move and would feel it; who is to feel it later."""
    islands, bodies, contact = model.islands, model.bodies, model.contact
    parent = islands.separate()
    if contact is not None:
        s = contact.press(state.Q, h)
        unite_pairs(parent, bodies.is_free, s.bodies, s.count)
    islands.number()
    sizes = np.empty((4, bodies.count))
    _measure(bodies.mass, bodies.half, bodies.is_free, u, change, state.Q_before, state.Q, sizes)
    all_of_it, changed = islands.sum(sizes[0]), islands.sum(sizes[1])
    ratio = np.minimum(FADES * FADES * changed / np.maximum(all_of_it, 1e-300), 1.0)
    phi = 1.0 - ratio * ratio
    felt, fast = h * sizes[2] >= FELT, sizes[3] >= RESTS * state.dt_before
    feels, moves = islands.sum(felt) > 0.0, islands.sum(fast) > 0.0
    follows, waits = feels & moves & (phi > 0.0), moves & ~feels
    of = islands.of
    return np.append(phi, 0.0)[of], np.append(follows, False)[of], np.append(waits, False)[of]


def _yield(model: Model, state: State, active: Indices, r: Array) -> Array:
    """P_c⁻¹ r (n, 12) of active bodies."""
    contact, directions, laws, Q, h = model.contact, model.directions, model.potential.laws, state.Q, model.start.h
    if contact is None:
        directions.need_blocks()
    elif not directions.blocks.laid_out or not contact.fits(contact.press(Q, h), directions.blocks):
        directions.lay_out(contact.touching(contact.press(Q, h)))
    blocks = directions.blocks
    assemble_filter(model, model.start, active, blocks)
    if laws is not None:
        assemble_laws(laws, False, Q, blocks.g, blocks.D, blocks.U)
    if contact is not None:
        contact.add_resistance(Q, state.Q_before, h, contact.press(Q, h), active, blocks)
    factor_filter(model, active, blocks)
    np.copyto(blocks.g, r.reshape(-1, 12))
    return blocks.solve(active, blocks.g)
