"""Adjoint of what touching adds to the start of a step; its equations are those of solver/held.py.

    (Qₙ, Vₙ, Aₙ, Qₙ₋₁; what pushed and rubbed; what rolled and what contacts remember)  ↦  V, ½hφf, what pushes

They are written as formulas that have derivatives (formulas.py) but for y = P_c⁻¹MΔ, whose adjoint solves with the same
matrix: with P_c μ = ȳ, MΔ gets μ, and everything in P_c the derivative of −μ·P_c y.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.gradient.closest import Closest, Form
from dovetail.gradient.formulas import Graph, Node, add_up, cross, custom, gathered, joined, root, summed, where
from dovetail.gradient.frame import Frame, Past
from dovetail.gradient.lagged import Lagged, Memory, Turns
from dovetail.gradient.linear import AdjointSystem
from dovetail.gradient.rigid import Moments, inverse_of
from dovetail.gradient.start import StartAdjoint
from dovetail.gradient.sums import Sums
from dovetail.gradient.touching import Touching
from dovetail.solver.consistent import assemble_filter, factor_filter
from dovetail.solver.following import FADES, FELT, RESTS, RIGID, STILL, SWAYS
from dovetail.solver.islands import unite_pairs
from dovetail.solver.joint.laws import assemble_laws
from dovetail.typing import Array, Flags, Indices

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["Grip", "HeldAdjoint"]

_STEP = 1e-4  # largest change of Q in differences of P along a direction, in units of the range of contacts


def _by_row(flat: Node) -> Node:
    """The first 12 columns (n, ·) as rows (n, 4, 3)."""
    return joined([flat[:, None, 3 * i : 3 * i + 3] for i in range(4)], axis=1)


class Grip:
    """What touching adds to one start, as nodes of a graph.

    Q, V, A, pushed, rubbing, Q_before, turn, axis, force, mass, a     what it comes from, see `Past`
    V_start, half, pushes     what it leads to: Vₙ as the start takes it, ½hφf, and the first 13 columns of `pushed`
    """

    def __init__(self, past: Past, Q: Array, Q_before: Array, V: Array, a: Array, mass: Array) -> None:
        self.graph = graph = Graph()
        self.Q, self.V, self.Q_before, self.a = graph.of(Q), graph.of(V), graph.of(Q_before), graph.of(a)
        self.A, self.pushed, self.rubbing = graph.of(past.A), graph.of(past.pushed), graph.of(past.rubbing)
        self.turn, self.axis, self.force = graph.of(past.turn), graph.of(past.axis), graph.of(past.force)
        self.mass = graph.of(mass)
        self.memory = Memory(past.keys, self.force)
        self.V_start: Node = self.V
        self.half: Node | None = None
        self.pushes: Node = self.pushed[:, :13]
        self.frictions: list[tuple[Closest, Lagged | None]] = []  # whose materials have gradients


class HeldAdjoint:
    """Steps in touch of a simulation; `at` is called for each, before the others."""

    def __init__(self, simulation: Simulation, system: AdjointSystem, start: StartAdjoint) -> None:
        self._model, self._system, self._start = simulation.model, system, start
        self._sums: Sums | None = None
        contact = simulation.contact
        self._range = 0.1 if contact is None else float(contact.scene.d_hat.min(initial=0.1))

    def at(self, k: int, frame: Frame, Q_before: Array) -> None:
        """Go to step k."""
        self._k, self._frame, self._Q_before = k, frame, Q_before

    def begin(self, t: Touching | None, Q: Array, V: Array, a: Array) -> Grip:
        """What touching adds at Q, V with the acceleration a by loads, where the contacts are t."""
        model, frame, h = self._model, self._frame, self._frame.h
        bodies, past, held = model.bodies, self._frame.past, self._frame.methods.held
        assert past is not None
        free = bodies.is_free != 0
        grip = Grip(past, Q, self._Q_before, V, a, np.where(free[:, None, None], bodies.mass, np.eye(4)))
        active, fresh = bodies.is_free * held, held & ~past.lagging
        tied = active - model.lone.among(active)
        moved = Q - self._Q_before
        if not (tied.any() or fresh.any()) and np.abs(moved[held]).max(initial=0.0) < STILL:
            return grip
        model.start.begin(Q, V, held, h, frame.ratio)
        rolls: Flags = np.asarray(past.turn.any(axis=1))
        self._touch(grip, t, rolls, active, tied, fresh)
        return grip

    def ahead(self, grip: Grip, dQ: Array, dV: Array, da: Array) -> tuple[Array, Array]:
        """Changes of V_start and half (n, 4, 3) with the state and the acceleration by loads."""
        grip.graph.push((grip.Q, dQ), (grip.V, dV), (grip.a, da))
        return grip.V_start.change, np.zeros_like(dQ) if grip.half is None else grip.half.change

    def back(self, grip: Grip, bars: tuple[Array, Array, Array], sums: Sums) -> None:
        """Go back from the derivatives by V_start, half and pushes; gradients of parameters go to the sums."""
        self._sums = sums
        seeds = [(grip.V_start, bars[0]), (grip.pushes, bars[2])]
        if grip.half is not None:
            seeds.append((grip.half, bars[1]))
        grip.graph.pull(*seeds)
        free = (self._model.bodies.is_free != 0)[:, None, None]
        sums.constant["mass"] += np.where(free, grip.mass.slope, 0.0)
        grip.graph.free()

    def _touch(
        self, grip: Grip, t: Touching | None, rolls: Flags, active: Indices, tied: Indices, fresh: Flags
    ) -> None:
        """V_start, half and pushes of a grip."""
        h, free = self._frame.h, (self._model.bodies.is_free != 0)[:, None, None]
        Q, mass = grip.Q, grip.mass
        moments, inverse = Moments(mass, Q), free * inverse_of(mass)
        V = grip.V
        turns: Turns | None = Turns(grip.turn, grip.axis, rolls)
        moved = (Q - grip.Q_before) * ~rolls[:, None, None]
        rows = grip.rubbing[:, :12]
        lever, number = grip.rubbing[:, 12:15] * ~rolls[:, None], grip.rubbing.value[:, 15]
        pushed = moments.rigid(grip.A) - grip.pushed[:, 13:]
        closest = None
        if t is not None and t.count:
            assert self._model.contact is not None
            closest = Closest(grip.graph, t, self._model.contact.scene, Q)
        if fresh.any() and self._model.contact is not None:
            new = fresh[:, None]
            moved = where(new[:, :, None], h * V, moved)
            begun = self._begun(grip, closest, moments, inverse, fresh, tied)
            if begun is None:
                pushed = where(new, 0.0, pushed)
            else:
                pressed, drag, count, V = begun
                pushed = where(new, pressed, pushed)
                rows, lever = where(new, drag[:, :12], rows), where(new, drag[:, 12:], lever)
                number, turns = np.where(fresh, count, number), None
        pushed = pushed * (active != 0)[:, None]
        rubbed = moments.rigid(inverse @ _by_row(rows))
        u = moments.rows_of(pushed)
        before = grip.pushed
        as_before = (number == before.value[:, 12])[:, None]
        differs = pushed - before[:, :6] - 0.5 * as_before * (rubbed - before[:, 6:12])
        change = moments.rows_of(differs)
        phi, sway, follows, waits = self._persistence(grip, t, moments, u, change)
        chosen = active * follows
        if chosen.any():
            y = self._yield(grip, closest, turns, chosen, sway, mass @ change)
            V = V - (h * phi) * y
        grip.V_start = V + moments.twisted(inverse, self._twist(moments, phi, moved, rows, lever, u, V))
        grip.half = (0.5 * h * phi) * u
        pushes = joined([pushed, rubbed, number[:, None]])
        grip.pushes = where(waits[:, None], before[:, :13], pushes)

    def _twist(self, moments: Moments, phi: Node, moved: Node, rows: Node, lever: Node, u: Node, V: Node) -> Node:
        """h²φ times the torque ℓ of solver/held.py (n, 3)."""
        h = self._frame.h
        turned = summed(cross(u[:, 1:], moments.S @ V[:, 1:]), 1)
        rubs = lever - cross(moments.carried(moved), rows[:, :3])
        return (h * h) * phi[:, :, 0] * (-turned - (0.5 / h) * rubs)

    def _persistence(
        self, grip: Grip, t: Touching | None, moments: Moments, u: Node, change: Node
    ) -> tuple[Node, Node, Flags, Flags]:
        """φ (n, 1, 1), γ − 1 (n, 1), who follows and who waits, as in solver/held.py."""
        model, h = self._model, self._frame.h
        bodies, past = model.bodies, self._frame.past
        assert past is not None
        of, count = self._islands(t)
        free = bodies.is_free != 0
        all_of_it, changed = (add_up(moments.norm(grip.mass, each) * free, of, count) for each in (u, change))
        kinks = np.bincount(of[free], past.changed[free], count) > 0.0
        some = (all_of_it.value > 1e-300) & ~kinks
        ratio = FADES * FADES * changed / where(some, all_of_it, 1.0)
        ratio = where(some & (ratio.value < 1.0), ratio, ((changed.value > 0.0) | kinks) * 1.0)
        phi = gathered(1.0 - ratio * ratio, of)
        D = grip.Q - grip.Q_before
        along = add_up(summed(summed(change * (grip.mass @ D), 1), 1) * free, of, count)
        motion = add_up(moments.norm(grip.mass, D) * free, of, count)
        sways = (along.value < 0.0) & (motion.value > 1e-300)
        sway = where(sways, (-h * h / SWAYS) * along / where(sways, motion, 1.0), 0.0)
        sway = sway * sway * sway * sway
        sway = gathered(where(sway.value < RIGID, sway, RIGID), of)[:, None]
        arms = np.concatenate([np.ones((len(free), 1)), bodies.half], axis=1)
        lengths = [
            (np.linalg.norm(each, axis=2) * arms).sum(axis=1) * free
            for each in (change.value, grip.Q.value - grip.Q_before.value)
        ]
        felt, fast = h * lengths[0] >= FELT, lengths[1] >= RESTS * past.dt
        feels, moves = (np.bincount(of[free], each[free], count) > 0.0 for each in (felt, fast))
        follows, waits = feels & moves & (1.0 - ratio.value**2 > 0.0), moves & ~feels
        return phi[:, None, None], sway, np.append(follows, False)[of], np.append(waits, False)[of]

    def _islands(self, t: Touching | None) -> tuple[Indices, int]:
        """Island of each body (n,) by joints and the contacts t, −1 where it is fixed, and how many there are."""
        model, islands = self._model, self._model.islands
        parent = islands.separate()
        if t is not None:
            unite_pairs(parent, model.bodies.is_free, t.bodies, t.count)
        islands.number()
        return islands.of.copy(), islands.count

    # ---- a velocity that someone has given -------------------------------------------------------------------

    def _begun(
        self, grip: Grip, closest: Closest | None, moments: Moments, inverse: Any, fresh: Flags, tied: Indices
    ) -> tuple[Node, Node, Array, Node] | None:
        """What pushes fresh bodies (n, 6), their friction (n, 15), in how many contacts, and V, which lags."""
        if closest is None:
            return None
        model, h, n, V = self._model, self._frame.h, self._model.bodies.count, grip.V
        active = model.bodies.is_free * fresh
        tied = active - model.lone.among(active)
        friction = self._freeze(grip, closest, None)
        drag, number = grip.graph.of(np.zeros((n, 15))), np.zeros(n)
        if friction is not None:
            before = grip.Q - h * V
            drag, number = friction.rubbing(before, grip.Q, friction.forces(friction.slip(before, grip.Q)))
        drag = drag * fresh[:, None]
        pushes, rows = [], []
        pressing = closest.forces(n) * (-1.0 / (h * h))
        for force in (pressing, _by_row(drag)):
            force = force * (active != 0)[:, None, None]
            found = inverse @ force
            if tied.any():
                found = where((tied != 0)[:, None, None], self._solve(grip, tied, force, []), found)
            pushes.append(moments.rigid(found) * (active != 0)[:, None])
            rows.append(moments.rows_of(pushes[-1]))
        u, w = rows
        loads, strength, leaves = (
            summed(summed(one * (grip.mass @ other), 1), 1) for one, other in ((grip.a, grip.a), (u, u), (u, V))
        )
        of, count = self._islands(closest.t)
        over = fresh & (of >= 0) & (strength.value > loads.value)
        share = where(over, root(loads / where(over, strength, 1.0)), 1.0)
        leaves_soon = fresh & (of >= 0) & (leaves.value > h * np.sqrt(loads.value * strength.value))
        # of an island the least share counts
        order = np.lexsort((share.value, of))
        first = np.full(count, -1)
        first[of[order][::-1]] = order[::-1]
        stays = np.bincount(of[leaves_soon], minlength=count)[of] == 0
        shares = gathered(share, first[of]) * (stays & fresh & (of >= 0))
        return pushes[0] + pushes[1], drag, number, V - (0.5 * h) * shares[:, None, None] * (u + w)

    # ---- linear systems --------------------------------------------------------------------------------------

    def _freeze(self, grip: Grip, closest: Closest, turns: Turns | None) -> Lagged | None:
        """Friction at Q, None where there is none."""
        contact, h = self._model.contact, self._frame.h
        assert contact is not None
        if not contact.has_friction:
            grip.frictions.append((closest, None))
            return None
        memory = None if contact.stick is None else grip.memory
        found = Lagged(grip.graph, closest, contact.scene, grip.Q, turns, memory, h, contact.eps_velocity * h)
        grip.frictions.append((closest, found))
        return found

    def _yield(
        self, grip: Grip, closest: Closest | None, turns: Turns | None, chosen: Indices, sway: Node, r: Node
    ) -> Node:
        """P_c⁻¹ r of chosen bodies (n, 4, 3)."""
        forms = []
        if closest is not None:
            free = np.append(self._model.bodies.is_free, 0)[closest.bodies] != 0
            of: Indices = np.where(free, closest.bodies, -1).max(axis=1)
            forms.append(closest.bends(1.0 + gathered(sway, of)))
            friction = self._freeze(grip, closest, turns)
            if friction is not None:
                forms.append(friction.bends(friction.slip_on(grip.Q_before)))
        return self._solve(grip, chosen, r, forms, laws=True)

    def _solve(self, grip: Grip, active: Indices, r: Node, forms: list[Form], laws: bool = False) -> Node:
        """P⁻¹ r of active bodies, with what contacts and laws resist if they are given."""
        on = (active != 0)[:, None, None]

        def solved(b: Array) -> Array:
            x = np.ascontiguousarray((b * on).reshape(-1, 12))
            found: Array = self._system.blocks.solve(active, x).reshape(-1, 4, 3) * on
            return found

        self._factor(grip, active, forms, laws)
        y = solved(r.value)

        def pull(bar: Array) -> tuple[Array]:
            self._factor(grip, active, forms, laws)
            mu, sums = solved(bar), self._sums
            assert sums is not None
            with self._last_scale():
                by_Q = self._start.filter_adjoint(
                    self._k, self._frame, grip.Q.value, grip.V.value, active, mu, y, sums, laws
                )
            grip.Q.add(by_Q)
            after = len(grip.graph.nodes)
            works = [form.work(mu, y) for form in forms]
            grip.graph.pull(*((work, -np.ones_like(work.value)) for work in works), after=after)
            del grip.graph.nodes[after:]
            return (mu,)

        def push(dr: Array) -> Array:
            step = _STEP * self._range / max(float(np.abs(grip.Q.change).max()), 1e-300)
            found = np.zeros_like(y)
            for share, weight in ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)):
                self._factor(grip, active, forms, laws, share * step)
                found += weight / (12.0 * step) * solved(r.value)
            self._factor(grip, active, forms, laws)
            return solved(dr) + found

        return custom((r,), y, pull, push)

    @contextmanager
    def _last_scale(self) -> Iterator[None]:
        """Laws have the scale that they had in the last step."""
        laws, past = self._model.potential.laws, self._frame.past
        if laws is None or past is None:
            yield
            return
        kept, laws.scale[:] = laws.scale.copy(), past.scale
        yield
        laws.scale[:] = kept

    def _factor(self, grip: Grip, active: Indices, forms: list[Form], laws: bool, share: float = 0.0) -> None:
        """Have P factored, with what is given, where Q and forms have gone on by a share of their change."""
        model, blocks = self._model, self._system.blocks
        Q = grip.Q.value + share * grip.Q.change
        model.start.begin(Q, grip.V.value, self._frame.methods.held, self._frame.h, self._frame.ratio)
        assemble_filter(model, model.start, active, blocks)
        known = model.potential.laws
        if laws and known is not None:
            with self._last_scale():
                known.as_they_are()
                assemble_laws(known, False, Q, blocks.g, blocks.D, blocks.U)
        for form in forms:
            form.add(share, blocks)
        factor_filter(model, active, blocks)
