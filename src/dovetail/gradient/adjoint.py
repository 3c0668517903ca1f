"""The adjoint of one step: from the adjoints of its end to those of its start.

    Q̃ = α₀ Qₙ + α₁ Qₙ₋₁ + h (β₀ Vₙ + β₁ Vₙ₋₁) + σ h² a         g = c M (Q − Q̃) + ∇(all else) = 0
    Vₙ₊₁ = (δ Q + δ₀ Qₙ + δ₁ Qₙ₋₁)/h

With H x = q + δ v/h, q and v the adjoints of Qₙ₊₁ and Vₙ₊₁, that of Q̃ is c M x. A step in touch has more to tell the
next one than Q and V (`Past` in frame.py): what of that depends on Qₙ₊₁ is part of q.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.gradient.blow import names_of
from dovetail.gradient.bodies import Costate, PastBars, end_bars, fall_back, step_back
from dovetail.gradient.contact import ContactAdjoint
from dovetail.gradient.eased import EaseAdjoint
from dovetail.gradient.frame import Frame, Parameters, Past
from dovetail.gradient.held import Grip, HeldAdjoint
from dovetail.gradient.lagged import rows_by_key
from dovetail.gradient.laws import value_adjoints
from dovetail.gradient.linear import AdjointSystem
from dovetail.gradient.loads import load_adjoints
from dovetail.gradient.potential import PotentialAdjoint
from dovetail.gradient.reel import Ends
from dovetail.gradient.rotors import RotorAdjoint
from dovetail.gradient.rubbing import RubbingContact
from dovetail.gradient.start import Begun, StartAdjoint
from dovetail.gradient.sums import Sums
from dovetail.gradient.through_blow import before_blow, fly_back, struck
from dovetail.gradient.touching import Touching, Walk
from dovetail.gradient.turning import TurnAdjoint
from dovetail.solver.assembly.start import close_start
from dovetail.solver.bodies import Bodies
from dovetail.solver.contact.ease import keys_of_sides
from dovetail.solver.integrator import Methods
from dovetail.solver.joint.law_start import accept_start
from dovetail.solver.predict import predict
from dovetail.typing import Array, Flags, Indices

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["Adjoint"]

_STEP = 1e-5  # largest change of Q in differences of loads, which are smooth


def _table(methods: Methods, bodies: Bodies, touched: Flags | None) -> Array:
    """Coefficients (n, 10) of the methods of bodies: α₀, α₁, β₀, β₁, σ of Q̃, and δ, δ₀, δ₁, ε, η of the new velocity.

    Quasi-static bodies have no past, and fixed ones no velocity; touched (n,) touch something in the end.
    """
    free, dynamic = (bodies.is_free != 0)[:, None], ((bodies.is_free * bodies.is_dynamic) != 0)[:, None]
    of = methods.of if touched is None else methods.landing(touched)[0]
    prediction, rates = methods.prediction[methods.of], methods.rates[of]
    place = np.where(dynamic, prediction[:, :4], (1.0, 0.0, 0.0, 0.0))
    return np.hstack([place, prediction[:, 4:], np.where(free, rates, 0.0)])


class Adjoint:
    """Steps of a simulation backwards; between `__enter__` and `__exit__` its model is not what it was.

    k, frame, ends, contact, begun    of the step at hand
    sums                              what gradients are added to
    """

    def __init__(self, simulation: Simulation, parameters: Parameters, sums: Sums) -> None:
        self._simulation, self.parameters, self.sums = simulation, parameters, sums
        self.model = simulation.model
        self.system = AdjointSystem(self.model)
        self.potential = PotentialAdjoint(simulation)
        n = self.model.bodies.count
        self._last: tuple[Methods, Flags | None, Array] | None = None
        self._room, self._costates = np.zeros((4, n, 4, 3)), (Costate.zero(n), Costate.zero(n))
        self.start = StartAdjoint(simulation, self.system, self.potential.is_place)
        self._held = HeldAdjoint(simulation, self.system, self.start)
        self.rotors = RotorAdjoint(self.model)

    def __enter__(self) -> Adjoint:
        self._kept = self.parameters.now()
        self.system.enter()
        contact = self.model.contact
        self.walk = None if contact is None else Walk(contact)
        self._later: tuple[Touching, int, float] | None = None
        self._stands = False  # at any step
        return self

    def __exit__(self, *error: object) -> None:
        self.parameters.restore(self._kept)
        self.system.leave()
        self._simulation.version += 1  # what the next step works on has to be prepared anew

    def step(self, k: int, frame: Frame, ends: Ends, after: Costate) -> Costate:
        """Adjoints at the start of step k from those at its end; gradients go to the sums.

        They are in one of two arrays that take turns.
        """
        self.at(k, frame, ends)
        return self.pull(after)

    def at(self, k: int, frame: Frame, ends: Ends) -> None:
        """Go to step k: what it began with, and its Hessian, factored."""
        self.stand(k, frame, ends)
        finds = self.parameters.finds_multipliers(frame.methods)
        self.sums.residual[k] = self.system.factor(k, finds) / frame.h

    def stand(self, k: int, frame: Frame, ends: Ends) -> None:
        """Go to step k: what it began with, and its Hessian."""
        model, h, methods = self.model, frame.h, frame.methods
        self.k, self.frame, self.ends = k, frame, ends
        self.parameters.put(frame.given, self._stands)
        self._stands = True
        if self.rotors.count:
            self.rotors.stand()
        self.parameters.find_starts(frame.branches[0], ends.Q, ends.V)
        self.system.prepare(h, methods.weight)
        self.contact = self._touch(frame, ends)
        if self.contact is not None and not self.contact.fits(self.system.blocks):
            self.system.lay_out(self.contact.pairs)
        self._held.at(k, frame, ends.Q_before)
        self.V_start, a, self.begun = self.begin(ends.Q, ends.V)
        if model.potential.laws is not None and self.begun is not None:
            A = self.begun.acceleration(h)
            accept_start(model.potential.laws, h, self.V_start, A, A, model.bodies.is_free, methods.smooth)
        predict(
            methods.prediction, methods.of, h, model.bodies.is_free, model.bodies.is_dynamic, a, ends.Q, self.V_start,
            ends.Q_before, ends.V_before, model.potential.Q_tilde,
        )  # fmt: skip
        self.turns = TurnAdjoint(model, frame, ends.Q, self.V_start, self.begun)
        if isinstance(self.contact, RubbingContact):
            assert frame.past is not None
            turn, axis = self.turns.values
            self.contact.freeze(frame.past, turn, axis, self.turns.rolls)
        self.parameters.coordinates.reference[:] = frame.branches[1]
        self.blow = struck(self, frame, ends, a)
        self.system.assemble(model.potential.bare(ends.Q_end), self.contact)

    def begin(self, Q: Array, V: Array) -> tuple[Array, Array, Begun | None]:
        """Velocity and acceleration that the step at hand begins with at Q, V, where the contacts are known."""
        frame, half = self.frame, None
        self.grip: Grip | None = None
        if frame.methods.is_consistent and frame.methods.some_held:
            self.grip = self._held.begin(self._pressed, Q, V, self.model.loads.accelerations(Q))
            V = self.grip.V_start.value
            half = None if self.grip.half is None else self.grip.half.value
        return self.begin_with(Q, V, half)

    def begin_with(
        self, Q: Array, V: Array, half: Array | None, push: Array | None = None
    ) -> tuple[Array, Array, Begun | None]:
        """The same with V and half (n, 4, 3) as touching makes them, push (n, 4, 3) an acceleration more.

        The coordinates of joints are left on the branch that they are on at its start.
        """
        frame, loads = self.frame, self.model.loads
        self.parameters.coordinates.reference[:] = frame.branches[0]
        a = loads.accelerations(Q)
        if push is not None:
            a = a + push
        if not frame.methods.is_consistent:
            return V, a, None
        begun, h = self.start.begin(frame, Q, V, a, half), frame.h
        end, total, unused = a, begun.a.copy(), self._room[0]
        if loads.act:
            end = loads.accelerations(Q + h * begun.V) + (0.0 if push is None else push)
        close_start(begun.active, h, begun.x.reshape(-1, 12), -1.0, end, total, unused)
        return begun.V, total, begun

    def touch_ahead(self, dQ: Array, dV: Array, push: Array) -> tuple[Array, Array]:
        """Changes of V and half as touching makes them, with those of the state and of accelerations."""
        if self.grip is None:
            return dV, np.zeros_like(dQ)
        return self._held.ahead(self.grip, dQ, dV, self.load_change(self.ends.Q, dQ) + push)

    def load_change(self, Q: Array, dQ: Array) -> Array:
        """Change of accelerations by loads at a state, with that of the state."""
        loads, step = self.model.loads, _STEP / max(float(np.abs(dQ).max()), 1e-300)
        ahead = loads.accelerations(Q + step * dQ).copy()
        return (ahead - loads.accelerations(Q - step * dQ)) / (2.0 * step)

    def pull(self, after: Costate) -> Costate:
        """Adjoints at the start of the step at hand, from those at its end."""
        model, sums, k, frame, ends, begun = self.model, self.sums, self.k, self.frame, self.ends, self.begun
        h, Q1, reference, table = frame.h, ends.Q_end, self.parameters.coordinates.reference, self.table
        reference[:] = frame.branches[1]
        before = self._costates[after is self._costates[0]]
        (a_bar, V_bar, q, _), released, rubbed = self._room, self.model.islands.joined[:0], None
        if (blow := self.blow) is not None:
            after, ends, released = before_blow(self, blow, after, ends)
            rubbed = names_of(blow.closest.t, blow.blow), blow.rubs.slope
        past, c = after.past, model.potential.weights.c
        if self.rotors.count:
            self.rotors.end(table, h, ends, after, sums)
        end_bars(table, h, after, q)
        if past is not None:
            pulled = (c * model.bodies.is_free)[:, None, None] / (h * h) * past.A
            q += pulled
        if isinstance(self.contact, RubbingContact) and (past is not None or rubbed is not None):
            q += self.contact.explicit(past, rubbed)
        x, nu = self.system.solve(q)
        start_bar = self.potential.run(k, h, Q1, x, nu, sums)
        Q_bar, Vn_bar = before.Q, before.V
        step_back(model.bodies, table, c, h, Q1, model.potential.Q_tilde, x, after, before, (a_bar, V_bar), sums.bodies)
        if past is not None:
            Q_bar -= table[:, 0, None, None] * pulled
            a_bar -= (h * h * table[:, 4, None, None]) * pulled
            V_bar -= (h * table[:, 2, None, None]) * pulled
        if self.contact is not None:
            self.contact.back(x, Q_bar, sums)
        if self.eased is not None:
            self._ease_back(self.eased, past, released, x)
        before.past = None
        if frame.past is not None:
            before.past = self._past_bars(frame.past)
        reference[:] = frame.branches[0]
        if blow is not None:
            fly_back(self, blow.flight.slope, before, a_bar, V_bar)
            V_bar += blow.start.slope
        A_bar = a_bar
        if self.rotors.count:
            aim_bar = self.potential.by_laws[self.rotors.places()]
            of_V, of_A = self.rotors.start(table, h, ends, begun, aim_bar, after, before, sums)
            V_bar += of_V
            A_bar = a_bar + of_A
        if blow is not None:
            Q_bar += blow.Q_before.slope
            Vn_bar += blow.V_before.slope
        if begun is None:
            self.load_back(k, a_bar if blow is None else a_bar + blow.a_before.slope, ends.Q, Q_bar)
            Vn_bar += V_bar
            if len(start_bar) and start_bar.any():
                coordinates, nothing = self.parameters.coordinates, np.zeros_like(Q1)
                value_adjoints(
                    coordinates, ends.Q, nothing, start_bar, np.zeros(coordinates.count), Q_bar, nothing,
                    sums.constant["coordinates/W"],
                )  # fmt: skip
            if self.eased is not None:
                self._find_back(self.eased, before)
            return before
        end_bar, on = a_bar, (begun.active != 0)[:, None, None]
        rubs = self.contact if isinstance(self.contact, RubbingContact) else None
        if (found := self.turns.back(past, rubs, sums)) is not None:
            of_Q, of_V, inner_bar = found
            Q_bar += of_Q
            V_bar += of_V
            A_bar, end_bar = A_bar + inner_bar, a_bar - np.where(on, inner_bar, 0.0)
        if self._loaded:
            at_end = np.zeros_like(Q1)
            self.load_back(k, np.where(on, end_bar, 0.0), ends.Q + h * begun.V, at_end)
            V_bar += h * at_end
            Q_bar += at_end
            end_bar = np.where(on, 0.0, end_bar)
        of_Q, of_V, of_a, half_bar = self.start.back(
            k, frame, begun, ends.Q, V_bar, A_bar, start_bar, self.potential.exerted_bar(frame.methods.smooth), sums
        )
        Q_bar += of_Q
        if self.rotors.count:
            self.rotors.begun_with(self.start.by_laws, before)
        of_a += end_bar  # without loads accelerations at both ends are the same
        grip = self.grip
        if grip is None:
            Vn_bar += of_V
        else:
            pushed_bar = np.zeros((len(Q1), 13)) if past is None else past.pushed[:, :13].copy()
            if blow is not None:
                pushed_bar[:, :6] += blow.pushed.slope
                of_V += blow.V_held.slope
            self._held.back(grip, (of_V, half_bar, pushed_bar), sums)
            self._release(grip, before)
            of_a += grip.a.slope
        if self.eased is not None:
            self._find_back(self.eased, before)
        if blow is not None:
            of_a += blow.a_before.slope
        self.load_back(k, of_a, ends.Q, Q_bar)
        return before

    def _ease_back(self, eased: EaseAdjoint, past: PastBars | None, released: Indices, x: Array) -> None:
        """Shares of eased pairs get what the next step, barriers at the end and friction have.

        The next step has other shares of pairs (p, 2) that a blow has released.
        """
        if past is not None and len(past.pairs):
            at = rows_by_key(past.pairs, eased.pairs)
            goes_on = (at >= 0) & ~np.isin(keys_of_sides(eased.pairs), keys_of_sides(released))
            eased.grow(np.where(goes_on, past.share[at], 0.0), np.where(goes_on, past.growth[at], 0.0))
        if isinstance(self.contact, RubbingContact):
            eased.pull_end(self.contact.end, self.ends.Q_end, x)
            if self.contact.lags:
                eased.add(self.contact.start, self.contact.closest.reach.slope)

    def _find_back(self, eased: EaseAdjoint, before: Costate) -> None:
        """Shares go back to the step before, or to the state in which they were found."""
        past, grip, contact = before.past, self.grip, self.contact
        assert past is not None
        for closest in {id(each): each for each, _ in grip.frictions}.values() if grip is not None else ():
            eased.add(closest.t, closest.reach.slope, known=True)
        assert self.walk is not None
        np.add(before.Q, eased.pull_gaps(self.walk, self.ends.Q, self.sums), out=before.Q)
        past.pairs, past.share, past.growth = eased.before[0], eased.bars[~eased.found], eased.growth_bars[~eased.found]
        if eased.found.any() and isinstance(contact, RubbingContact):
            by_Q, log_kappa = eased.pull_found(contact.start, self.model, self.ends.Q, self.sums)
            np.add(before.Q, by_Q, out=before.Q)
            contact.tell_friction(contact.start, log_kappa, None, self.sums)

    def _past_bars(self, past: Past) -> PastBars:
        """Adjoints of the past of a step, with what its friction takes from that."""
        n, rubs = self.model.bodies.count, self.contact
        force = np.zeros_like(past.force)
        if isinstance(rubs, RubbingContact) and rubs.lags:
            force += rubs.force.slope
        return PastBars(
            np.zeros((n, 4, 3)), np.zeros((n, 19)), np.zeros((n, 16)), np.zeros((n, 3)), np.zeros((n, 3)), past.keys,
            force, np.zeros((0, 2), np.int64), np.zeros(0), np.zeros(0),
        )  # fmt: skip

    def _release(self, grip: Grip, before: Costate) -> None:
        """before += what the start of a step in touch takes from the state and the past of it."""
        past = before.past
        assert past is not None
        for node, bar in (
            (grip.Q, before.Q), (grip.V, before.V), (grip.Q_before, before.Q_before),
            (grip.A, past.A), (grip.pushed, past.pushed), (grip.rubbing, past.rubbing), (grip.turn, past.turn),
            (grip.axis, past.axis), (grip.force, past.force),
        ):  # fmt: skip
            bar += node.slope
        if self.contact is not None:
            told = set()
            for closest, friction in grip.frictions:
                log_kappa = np.zeros(closest.t.count) if closest in told else closest.log_kappa.slope[:, 0]
                if closest not in told and self.model.contact is not None:
                    closest.tell_shapes(self.model.contact.scene, self.sums)
                told.add(closest)
                self.contact.tell_friction(closest.t, log_kappa, friction, self.sums)

    @property
    def table(self) -> Array:
        """Coefficients (n, 10) of the methods of the step at hand."""
        return self._coefficients(self.frame.methods, self.frame.touched)

    @property
    def in_flight(self) -> Array:
        """The same where nothing is touched in the end."""
        return _table(self.frame.methods, self.model.bodies, None)

    @property
    def pulls_once(self) -> bool:
        """Whether `pull` leaves nothing to be pulled again: the start of ctr takes the place of the factor."""
        return self.begun is not None or isinstance(self.contact, RubbingContact) or self.blow is not None

    def _coefficients(self, methods: Methods, touched: Flags | None) -> Array:
        """Those of the last step if its methods were the same."""
        if self._last is None or self._last[0] is not methods or self._last[1] is not touched:
            self._last = methods, touched, _table(methods, self.model.bodies, touched)
        return self._last[2]

    def _touch(self, frame: Frame, ends: Ends) -> ContactAdjoint | None:
        """Contacts of a step, None where there are none."""
        contact, h = self.model.contact, frame.h
        self.eased: EaseAdjoint | None = None
        self._pressed: Touching | None = None
        if contact is None:
            return None
        assert self.walk is not None
        later = self._later
        known = later is not None and later[1:] == (self.k + 1, h) and frame.blow is None
        eased = None if frame.easing is None else EaseAdjoint(contact, frame.easing, h)
        before, at_start, at_end = (None, None, None) if eased is None else (eased.before, eased.at_start, eased.at_end)
        end = later[0] if later is not None and known else self.walk.to(ends.Q_end, h, at_end)
        start = self.walk.to(ends.Q, h, before) if frame.contacts else self.walk.nowhere(ends.Q)
        self.eased, self._pressed = eased, start
        if eased is not None and eased.found.any():
            start = self.walk.to(ends.Q, h, at_start)
        self._later = self._pressed, self.k, h
        if not (start.count or end.count):
            return None
        kind = ContactAdjoint if frame.past is None else RubbingContact
        return kind(contact, start, end, ends.Q, ends.Q_end, h)

    @property
    def _loaded(self) -> bool:
        """Whether accelerations depend on where bodies are, or may."""
        return self.model.loads.act or bool(self._simulation.joints.lowered.loads)

    def load_back(self, k: int, a_bar: Array, Q: Array, Q_bar: Array) -> None:
        """Gradients by gravity and loads at Q, where accelerations have the adjoint a_bar; Q_bar += their part."""
        sums, F_bar = self.sums, self._room[3]
        fall_back(self.model.bodies, a_bar, sums.bodies, F_bar, sums.steps["forces"][k])
        if self.model.loads.act:
            by_loads = self.model.loads.accelerations(Q) - self.model.loads.free_fall
            sums.constant["mass"] -= F_bar @ by_loads.swapaxes(1, 2)  # of M⁻¹F
        for n, load in enumerate(self._simulation.joints.lowered.loads):
            values, W_bar = load_adjoints(load, Q, F_bar, Q_bar)
            sums.steps[f"load {n}"][k] += values
            sums.constant[f"load {n}/W"] += W_bar
