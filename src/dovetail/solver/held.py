"""Second order while touching: steps of ctr for what touches something.

A contact must not be part of a trapezoidal rule: it would bounce, and gain energy. So a mechanism that touches
something minimises the potential of bdf1 (c = 1), in which contact, friction, hard limits and laws act as they do
there; but all else, free flight and joints, enters by V̂ and Â as in ctr (integrator.py has Q̃ and the new velocity):

    minimise ½‖Q − Q̃‖²_M + h²V(Q)

P, V̂ and Â know no contact, so the velocity that a step ends with lags behind by what contact adds in half a step. Where
that lasts, the lag lasts too and does no harm. Where it turns with the motion, it has to be followed:

    f = M⁻¹(force that the last step had beyond Q̃) − ¼ of the inner forces of Â,  f′ that of the step before
    w, w′ likewise, by friction that slides
    φ = max(0, 1 − (4r)⁴),  r = ‖Δ‖_M/‖f‖_M over all that contacts and joints connect: 0 at impacts, and where a
        contact has begun or ended, for then the force that is gone would be followed by one of its two bodies alone
    Δ = f − f′ − ½(w − w′),  y = P_c⁻¹ MΔ,    P_c = P + h²(Hessian of γ·barrier, friction and laws at Qₙ)
    γ = 1 + (x/0.05)⁴,  x = −h²⟨Δ, D⟩_M/‖D‖²_M over the same,  D = Qₙ − Qₙ₋₁
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

A barrier is no spring that anybody asked for: towers of boxes would sway on theirs for seconds. x is (ωh)² of a body
that swings on a force, small for all that rolls or swings by gravity. Where it is not, contacts are taken as rigid,
which leaves what sways on them alone to bdf1: it keeps 1 − (ωh)²/2. They are not always, since a round mesh rolls from
corner to corner, which rigid ones would resist.

What depends on the velocity itself, curvatures, takes V̂ + h/2 φf. Laws of such mechanisms are left to the end of the
step: trapezoidal ones make stiff drives swing against a contact.

Since h²/4 Â is part of Q̃, joints have a quarter of their forces in what is minimised. The rest, which they carry in Â,
is added where forces are read (`State.carried`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.assembly.start import spin_of
from dovetail.solver.consistent import Filter, assemble_filter, factor_filter, filter_of
from dovetail.solver.contact.normal import add_normal_gradient
from dovetail.solver.contact.roll import Turning
from dovetail.solver.following import FADES, compare, follow, judge, lag, remember, stands
from dovetail.solver.integrator import CARRIED, Methods
from dovetail.solver.islands import unite_pairs
from dovetail.solver.joint.laws import assemble_laws
from dovetail.solver.model import Model
from dovetail.solver.rigid import rigid, rows_of
from dovetail.solver.state import State
from dovetail.typing import Array, Flags, Indices

__all__ = ["Touch", "by_touch", "push", "set_rolling", "touch"]


class Touch(NamedTuple):
    """What touching adds to a start: V (n, 4, 3) instead of Vₙ, ½hφf or None for 0; what pushes (n, ≥ 13).

    For the last see `State.pushed`. sizes (2, n) are ‖f‖²_M and ‖Δ‖²_M of bodies, None where nothing moves, and island
    (n,) is what these count for together.
    """

    V: Array
    half: Array | None
    pushed: Array
    sizes: Array | None = None
    island: Indices | None = None

    def lasts(self) -> Flags:
        """Bodies (n,) of islands in which f is like that of the step before, so that V lags by ½hf.

        An impact has no lag: it has given V all of its impulse.
        """
        if self.sizes is None or self.island is None:
            return np.ones(len(self.V), np.bool_)
        f, change = (np.bincount(self.island + 1, each) for each in self.sizes)
        found: Flags = (FADES * FADES * change < f)[self.island + 1]
        return found


def touch(model: Model, state: State, h: float, a: Array, held: Flags) -> Touch:
    """What touching adds to the start of a step of length h of the bodies that are held (n,).

    a (n, 4, 3) is the acceleration by loads. A velocity that someone has given does not lag yet, behind barriers and
    friction.
    """
    contact, bodies, Q, Q_before, before = model.contact, model.bodies, state.Q, state.Q_before, state.pushed
    active = bodies.is_free * held
    if stands(active - model.lone.among(active), held, state.lagging, Q_before, Q):
        return Touch(state.V, None, before)  # a pile at rest: nothing turns
    V, half, moved, rubbing, n = state.V.copy(), np.empty_like(Q), state.moved, state.rubbing.copy(), bodies.count
    model.start.begin(Q, V, held, h, h / (state.dt_before or h))
    if contact is not None and contact.scene.some_roll:
        rolls = contact.turning.turn.any(axis=1)
        moved[rolls] = rubbing[rolls, 12:15] = 0.0
    pushed, fresh = np.empty((n, 13)), held & ~state.lagging
    if contact is None:
        fresh = model.nobody
    elif np.count_nonzero(fresh):
        moved[fresh] = h * V[fresh]
        pushed[:, :6] = _begun(model, state, h, a, fresh, rubbing, V)
    (u, change), sizes, phi, rigour = np.empty((2, n, 4, 3)), np.empty((6, n)), np.empty(n), np.ones(n + 1)
    compare(bodies, active, fresh, Q, state.A, Q_before, before, rubbing, pushed, u, change, sizes)
    compared = sizes[:2].copy()
    islands, parent = model.islands, model.islands.separate()
    if contact is not None:
        s = contact.press(Q, h)
        unite_pairs(parent, bodies.is_free, s.runs.pairs, len(s.pairs))
        sizes[1, state.changed] = np.inf
    islands.number()
    chosen, waits = np.zeros((2, n), np.int64)
    follows = judge(islands, sizes, h, state.dt_before, active, phi, rigour, chosen, waits)
    y = _yield(model, state, chosen, rigour, bodies.mass @ change) if follows else model.potential.no_step
    follow(bodies, h, phi, waits, Q, moved, rubbing, before, u, y, (V, half, pushed))
    return Touch(V, half, pushed, compared, islands.of.copy())


def by_touch(model: Model, Q: Array, inner: Array, held: Flags, found: Touch) -> Array:
    """What is to be remembered (n, 19), see `State.pushed`, of a step with these inner forces that led to Q."""
    out = np.empty((len(Q), 19))
    remember(model.bodies.mass, Q, 1.0 - CARRIED, inner, held, found.pushed, out)
    return out


def _begun(model: Model, state: State, h: float, a: Array, fresh: Flags, rubbing: Array, V: Array) -> Array:
    """What pushes bodies (n, 6) whose velocity was given; their V is made to lag, rubbing (n, 16) ← their friction."""
    contact, Q, n = model.contact, state.Q, model.bodies.count
    assert contact is not None
    s, active = contact.press(Q, h), model.bodies.is_free * fresh
    g, pushed, (u, w) = np.zeros((n, 12)), np.zeros((2, n, 6)), np.zeros((2, n, 4, 3))
    if s.count == 0:
        return pushed[0]
    add_normal_gradient(s, contact.scene, contact.assembly.normal, contact.assembly.everybody, g)
    tied = active - model.lone.among(active)
    known = filter_of(model, tied) if tied.any() else None
    rubbing[fresh] = contact.drag(Q, V, h, s)[fresh]
    push(model, active, known, g / (-h * h), pushed[0], u)
    push(model, active, known, rubbing[:, :12], pushed[1], w)
    parent = model.islands.separate()
    unite_pairs(parent, model.bodies.is_free, s.runs.pairs, len(s.pairs))
    model.islands.number()
    lag(model.bodies.mass, fresh, model.islands.of, h, a, u, w, V)
    return pushed[0] + pushed[1]


def set_rolling(model: Model, state: State, h: float, V: Array, methods: Methods) -> None:
    """Tell contact by how much bodies that are held turn in a step that begins with V."""
    contact, bodies = model.contact, model.bodies
    if contact is not None and contact.scene.some_roll and (methods.some_held or contact.turning.turn.any()):
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


def _yield(model: Model, state: State, active: Indices, rigour: Array, r: Array) -> Array:
    """P_c⁻¹ r (n, 12) of active bodies."""
    contact, directions, laws, Q, h = model.contact, model.directions, model.potential.laws, state.Q, model.start.h
    if contact is None:
        directions.need_blocks()
    elif not directions.blocks.laid_out or not contact.fits(contact.press(Q, h), directions.blocks):
        directions.lay_out(contact.touching(contact.press(Q, h)))
    blocks = directions.blocks
    assemble_filter(model, model.start, active, blocks)
    if laws is not None:
        laws.as_they_are()
        assemble_laws(laws, False, Q, blocks.g, blocks.D, blocks.U)
    if contact is not None:
        contact.add_resistance(Q, state.Q_before, h, contact.press(Q, h), active, rigour, blocks)
    factor_filter(model, active, blocks)
    np.copyto(blocks.g, r.reshape(-1, 12))
    return blocks.solve(active, blocks.g)
