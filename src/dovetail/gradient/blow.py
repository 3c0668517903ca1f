"""Adjoint of blows (solver/blow.py): the velocities that bodies have after them, and ranges of pairs from then on.

    Q_before, V_before, f, loads; Q, V, forces of contacts  ↦  V⁺; s, ds/dt of pairs that are released

Which contacts take part, which pairs collide, and whether energy cuts V⁺ is as it was, no part of a derivative.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from dovetail.errors import GradientError
from dovetail.gradient.closest import Closest
from dovetail.gradient.contact import ContactAdjoint
from dovetail.gradient.eased import EaseAdjoint, pairs_of
from dovetail.gradient.formulas import Graph, Node, dot, gathered, joined, reshaped, root, where
from dovetail.gradient.impulses import collided
from dovetail.gradient.lagged import keys_of, rows_by_key
from dovetail.gradient.response import ResponseAdjoint, Tied
from dovetail.gradient.rigid import Moments
from dovetail.gradient.struck import IslandAdjoint
from dovetail.gradient.sums import Sums
from dovetail.gradient.touching import Touching, materials_of
from dovetail.solver.blow import Blow
from dovetail.solver.contact.ease import keys_of_sides, ranges_of, sides_of
from dovetail.solver.contact.kinds import THICKNESS
from dovetail.solver.contact.readback import features_of
from dovetail.solver.model import Model
from dovetail.typing import Array, Flags, Indices

__all__ = ["BlowAdjoint", "Given", "names_of"]

_NOTHING = np.iinfo(np.int64).min  # no name
_FULL = 1.0 - 1e-9  # what is left of V⁺ of an island that has no more energy than it may
_WHOLE = 1.0 - 1e-8  # a share that is the whole range, which cannot push as hard as is wanted


@dataclass
class Given:
    """What a blow comes from: arrays (n, 4, 3), pushed (n, 6) of who lags at the start, rubs (m, 3) of its rows.

    start is the velocity that the step begins with, flight that at its end without any force of its own, and V_held
    what a start takes, as touching makes it.
    """

    Q_before: Array
    V_before: Array
    a_before: Array
    Q: Array
    V: Array
    a: Array
    start: Array
    flight: Array
    V_held: Array
    pushed: Array
    rubs: Array


class BlowAdjoint:
    """The blow at the end of a step of length h.

    held (n,)         who is held in the step
    blow, struck (n,) what was decided, and who is struck
    V_after           node: V (n, 4, 3) after it
    """

    def __init__(
        self, model: Model, contact: ContactAdjoint, blow: Blow, h: float, held: Flags, given: Given,
        at_start: Touching, tied: Tied | None,
    ) -> None:  # fmt: skip
        self._model, self._contact, self.blow, self._h, self._tied = model, contact, blow, h, tied
        self.struck, self._t, n = blow.who, contact.end, model.bodies.count
        free, graph = (model.bodies.is_free != 0)[:, None, None], Graph()
        self._graph, self._free = graph, free
        self.Q_before, self.Q = graph.of(given.Q_before), graph.of(given.Q)
        rates = given.V_before, given.a_before, given.V, given.a, given.start, given.flight, given.V_held
        moving = (graph.of(np.where(free, each, 0.0)) for each in rates)
        self.V_before, self.a_before, self.V, self.a, self.start, self.flight, self.V_held = moving
        self.pushed, self.rubs = graph.of(given.pushed), graph.of(given.rubs)
        self.mass = graph.of(np.where(free, model.bodies.mass, np.eye(4)))
        self.stiffness = graph.of(model.bodies.stiffness)
        self.closest = self._closest(self._t)
        self._begins = at_start
        self._at_start: Closest | None = None
        self._again: Closest | None = None
        self._at = at = _rows_of(self._t, blow.features)
        if tied is not None:
            tied.at(self.Q)
        self._response = response = ResponseAdjoint(model, blow, self.closest, at, self.mass, tied)
        known, rows = blow.blows, len(at)
        self._log_e, self._log_mu = graph.of(np.zeros(rows)), graph.of(np.zeros(rows))
        is_held, lagged = held[:, None], blow.lagged[:, None]
        behind = (0.5 * h) * Moments(self.mass, self.Q_before).rows_of(lagged * self.pushed)
        if lagged.any():
            behind = response.rigid_motion(behind, np.zeros_like(behind.value))
        lag = response.moves * (is_held[:, None] * (self.V_before - self.V_held) + behind)
        V = response.rigid_motion(self.V, self.V) + lag
        # what the step would have led to without the forces of these contacts
        impulses = self._held(known.leader == np.arange(rows))
        flight = response.rigid_motion(self.flight, self.flight) + lag
        without = where(blow.flies[:, None, None], flight, reshaped(response.after(V, -impulses), n, 4, 3))
        self._falling = response.rigid_motion(self.a, np.zeros_like(self.a.value))
        e, mu = known.restitution * (1.0 + self._log_e), known.friction * (1.0 + self._log_mu)
        self._xi, self._along = response.c * np.repeat([1.0, -1.0], 4), reshaped(response.along, rows, 9)
        V_new, _ = collided(
            known, True, reshaped(without, n, 12), self._xi, self._along, response.motion, self._met(without, V), e, mu
        )
        self._V_left = reshaped(V_new, n, 4, 3)
        self._V_after(V, self._V_left, self.start + lag)

    def _closest(self, t: Touching) -> Closest:
        assert self._model.contact is not None
        return Closest(self._graph, t, self._model.contact.scene, self.Q)

    def _met(self, without: Node, V: Node) -> Node:
        """The speed (m,) that contacts have met with."""
        meets = self.blow.blows.met > 0.0
        v, moved, gained = (self._response.rates(each) for each in (without, V, self._falling))
        square = v * v + (2.0 * self._h) * gained * (moved - v)
        return meets * root(where(meets, square, 1.0))

    def _held(self, are_points: Flags) -> Node:
        """Impulses (m, 3) that contacts have in the step."""
        pushes, along = gathered(self.closest.pushes(), self._at), self._response.along
        rubbed = [dot(self.rubs, along[:, d]) for d in (1, 2)]
        return (are_points[:, None] / self._h) * joined([pushes, *rubbed])

    def _closest_at_start(self) -> Closest:
        if self._at_start is None:
            assert self._model.contact is not None
            self._at_start = Closest(self._graph, self._begins, self._model.contact.scene, self.Q_before)
        return self._at_start

    def _V_after(self, start: Node, V: Node, begun: Node) -> None:
        """V_after ← with islands turned back, and cut."""
        model, blow, h, inside = self._model, self.blow, self._h, np.where(self._free[:, 0, 0], self.blow.island, -1)
        struck, count = blow.who[:, None, None], len(blow.share)
        cut, slow = (blow.share > 0.0) & (blow.share < 1.0), blow.slowed < _FULL
        before = Moments(self.mass, self.Q_before)
        begun = where(struck, before.rows_of(before.rigid(begun)), begun)
        islands = IslandAdjoint(inside, count, self.Q_before, self.Q, self.mass, self.stiffness)
        V = islands.turned_back(blow.turned, begun, V)
        shares = gathered(self._graph.of(blow.share), inside)
        if cut.any() or slow.any():
            self._refuse_joints(cut | slow)
            kept = np.ones(self._t.count, np.bool_)
            kept[self._at[blow.released]] = False
            both = np.where(self._t.bodies >= 0, inside[self._t.bodies], -1)
            gained = islands.held(self.closest, kept, both.max(axis=1))
            if self._begins.count:
                a, b = self._begins.bodies.T
                owner = np.where((b >= 0) & self._free[b, 0, 0], b, a)
                every = np.ones(self._begins.count, np.bool_)
                gained = gained - islands.held(self._closest_at_start(), every, inside[owner])
            gained = gained / (h * h)
            gained = gained + islands.stored(model.bodies, self.Q) - islands.stored(model.bodies, self.Q_before)
            most = islands.given(self.a_before, self.Q - self.Q_before) - gained + islands.energy(begun)
            shares = gathered(where(cut, islands.shares(cut, most, start, V - start), blow.share), inside)
        V = start + shares[:, None, None] * (V - start)
        if slow.any():
            V = islands.slowed(slow, most, V)
        self.V_after = where(struck, V, self.V)

    def _refuse_joints(self, cut: Flags) -> None:
        if self._tied is None:
            return
        wrong = np.flatnonzero((self._tied.active != 0) & np.append(cut, False)[self.blow.island])
        if len(wrong):
            raise GradientError(
                "Tape.backward: gradients are not known of a blow that is cut so that no energy is gained, on "
                f"{self._model.bodies.name(int(wrong[0]))}, which joints hold; set its restitution to 0."
            )

    # ---- ranges after it ---------------------------------------------------------------------------------------

    def _ranges(self, again: Touching, share_bar: Array, growth_bar: Array) -> list[tuple[Node, Array]]:
        """Seeds of derivatives by shares and growth (p,) of the pairs that are released; `again` are contacts then."""
        assert self._model.contact is not None
        scene, blow, h, response = self._model.contact.scene, self.blow, self._h, self._response
        keys, count = keys_of_sides(blow.pairs), len(blow.pairs)
        rows = np.flatnonzero(blow.released)
        pair = np.searchsorted(keys, keys_of_sides(sides_of(blow.features[rows])))
        at, seeds = self._at[rows], list[tuple[Node, Array]]()
        whole = ranges_of(scene, self._t.bodies)[at]
        gap = gathered(self.closest.d, at)[:, 0] - self._t.numbers[at, THICKNESS]
        speed = response.rates(self._V_left)
        apart = np.zeros(count)
        np.maximum.at(apart, pair, blow.parts[rows])
        widest = np.zeros(count)
        np.maximum.at(widest, pair, whole)
        first_speed, first_gap = _least(speed.value[rows], pair, count), _least(gap.value / whole, pair, count)
        seeds.append((gathered(speed, rows[first_speed]), np.where(apart > 0.0, 0.5 / widest * growth_bar, 0.0)))
        borne = self._borne()
        wanted, goes_on = np.zeros(count), np.zeros(count, np.bool_)
        np.add.at(wanted, pair, borne.value[rows, 0])
        goes_on[pair] = blow.goes_on[rows]
        by_gap = ((apart > 0.0) | (wanted == 0.0) & ~goes_on) & (gap.value[first_gap] < whole[first_gap])
        seeds.append((gathered(gap, first_gap), np.where(by_gap, share_bar / whole[first_gap], 0.0)))
        bars = np.where(by_gap | (apart > 0.0) | (blow.ranges >= _WHOLE), 0.0, share_bar)
        if not bars.any():
            return seeds
        # Σ push(s; Q) = h Σ p, or what it was at the start
        self._again = closest = self._closest(again)
        place = pairs_of(blow.pairs, again)
        slope = _slopes(closest, self._model, place, count)
        pushes = np.where(place >= 0, (-bars / slope)[place], 0.0)[:, None]
        if goes_on.any():
            place = pairs_of(blow.pairs, self._begins)
            by_start = np.where((place >= 0) & goes_on[place], (bars / slope)[place], 0.0)[:, None]
            seeds.append((self._closest_at_start().pushes(), by_start))
        by_load = np.where(goes_on, 0.0, h * bars / slope)[pair]
        return [*seeds, (closest.pushes(), pushes), (gathered(borne, rows)[:, 0], by_load)]

    def _borne(self) -> Node:
        """Impulses (m, 3) by which contacts bear what loads add in a step."""
        response, falling = self._response, self.blow.falling
        V = reshaped(self._h * self._falling, -1, 12)
        none = np.zeros(len(self._at))
        return collided(falling, False, V, self._xi, self._along, response.motion, none, none, none)[1]

    # ---- there and back ----------------------------------------------------------------------------------------

    def ahead(self, changes: Given, eased: EaseAdjoint | None, shares: tuple[Array, Array]) -> Array:
        """What V after it (n, 4, 3) changes by, with shares (p,) of eased pairs at the start and at the end, too."""
        seeds = [(getattr(self, each.name), getattr(changes, each.name)) for each in fields(Given)]
        for closest, ds in zip((self._at_start, self.closest), shares, strict=True):
            if eased is not None and closest is not None:
                seeds.append((closest.reach, eased.changes(closest.t, ds)))
        self._graph.push(*seeds)
        return self.V_after.change

    def back(self, V_bar: Array, again: Touching | None, bars: tuple[Array, Array], sums: Sums) -> None:
        """Slopes of all nodes ← from the adjoint of V after it, and from those of shares and growth (p,) of released
        pairs, whose contacts are those of `again`; gradients by masses and materials go to the sums.
        """
        model, t, at = self._model, self._t, self._at
        assert model.contact is not None
        scene, closests = model.contact.scene, [self.closest]
        if self._tied is not None:
            self._tied.sums = sums
        seeds = [] if again is None else self._ranges(again, *bars)
        self._graph.pull((self.V_after, V_bar), *seeds)
        closests += [each for each in (self._at_start, self._again) if each is not None]
        sums.constant["mass"] += np.where(self._free, self.mass.slope, 0.0)
        sums.bodies.stiffness += self.stiffness.slope
        one, other = (each[at] for each in materials_of(scene, t))
        np.add.at(sums.log_restitution, (one, other), self._log_e.slope)
        rolls, by_mu = self.blow.blows.leader != np.arange(len(at)), self._log_mu.slope
        np.add.at(sums.log_mu, (one, other), np.where(rolls, 0.0, by_mu))
        np.add.at(sums.log_rolling, (one, other), np.where(rolls, by_mu, 0.0))
        for closest in closests:
            closest.tell_shapes(scene, sums)
            self._contact.tell_friction(closest.t, closest.log_kappa.slope[:, 0], None, sums)
        self._graph.free()

    def tell_ranges(self, eased: EaseAdjoint) -> None:
        """Shares of pairs that were eased in the step get what the blow has of them."""
        eased.add(self.closest.t, self.closest.reach.slope, grown=True)
        if self._at_start is not None:
            eased.add(self._at_start.t, self._at_start.reach.slope)


def names_of(t: Touching, blow: Blow) -> Indices:
    """Names (m, 4) that friction has for the contacts of a blow, which are among those of t; none against rolling."""
    names, leader = keys_of(t)[_rows_of(t, blow.features)], blow.blows.leader
    names[leader != np.arange(len(leader)), 0] = _NOTHING
    return names


def _rows_of(t: Touching, features: Indices) -> Indices:
    """Which contacts (m,) of t are made of these features (m, 7)."""
    at = rows_by_key(features_of(t.pairs, t.numbers), features)
    assert (at >= 0).all()
    return at


def _least(values: Array, of: Indices, count: int) -> Indices:
    """The place of the least value of each of `count` groups."""
    order = np.lexsort((values, of))
    found: Indices = order[np.searchsorted(of[order], np.arange(count))]
    return found


def _slopes(closest: Closest, model: Model, place: Indices, count: int) -> Array:
    """How Σ push of pairs (p,) changes with their shares."""
    assert model.contact is not None
    graph = Graph()
    alone = Closest(graph, closest.t, model.contact.scene, graph.of(closest.Q.value))
    pushes = alone.pushes()
    graph.push((alone.reach, ranges_of(model.contact.scene, closest.t.bodies)[:, None]))
    slope = np.bincount(place[place >= 0], pushes.change[place >= 0, 0], count)
    return np.where(slope != 0.0, slope, np.inf)
