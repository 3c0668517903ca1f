"""Blows: bodies that have met in a step get the velocity of an impact, by impulses at their contacts.

A step that comes to touch something finds positions, with the forces F of contacts, whose impulses are hF. Velocities
are those of Newton's and Coulomb's laws (impulses.py), from V⁻, which bodies had without the forces of these contacts:

    V⁻ = P(V) + h/2 f − h W F         V⁺ = V⁻ + W p         contacts push with p/h

F is told by barriers at Q, which are off by what Newton's method leaves. In islands without joints V⁻ is free flight,
as if F were the momentum that bodies have got in the step.

V is the velocity that the step has led to, f, and what a start takes from velocities that were given, what V lags
behind by (held.py), W = P⁻¹Jᵀ what rigid bodies and joints
make of unit impulses at the surfaces, without laws: drives have no impulses. P(V) is V without what strains bodies and
opens joints. All contacts of the bodies that contacts and joints connect to a blow take part, those of the blow alone
where they are many.

A blow is where a pair meets that did not press on each other at the start of the step, if the barrier gives up what it
holds: the pair gets a range of its own (ease.py), with which it pushes as loads press from now on, or none where it
comes apart. Drives press, too, but what with is not known at once: pairs go on with no less than what they pressed with
at the start of the step. And it is where one with a restitution meets faster than it gains by falling for two steps.
The speed that they have met with is that of V⁻ without what loads have added after the meeting, by which they give back
what lifting the bodies by Δx, what contacts have moved them by, has taken:

    met² = (n·v⁻)² + 2 (n·a)(n·Δx),   Δx = h² W F

In an island that nothing else holds W p would turn by what contacts have moved its bodies apart; a turn of all of it
makes up for that. V⁺ − V is made less by one factor in each island where there would be more energy, kinetic and
stored, than the step began with and loads have given (struck.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.solver.contact.kinds import D_HAT
from dovetail.solver.contact.readback import Survey
from dovetail.solver.impulses import Impulses, bear, resolve
from dovetail.solver.integrator import Methods
from dovetail.solver.islands import components
from dovetail.solver.model import Model
from dovetail.solver.response import Response, rigid_motions, rigid_rows
from dovetail.solver.state import State
from dovetail.solver.struck import Island, share_of, slow_down, turn_back
from dovetail.typing import Array, Flags, Indices

__all__ = ["Blow", "Flight", "blow"]

_SLOW = 2.0  # steps of free fall
_BARRIER = 0.02  # [d̂/h]: what a barrier throws back by itself is slower
_TWICE = 0.02  # of the fastest meeting: slower collisions that follow from it are plastic
_MANY = 64  # contacts of an island
_PRESSED = 1.05  # of what loads press with: more is what a blow has left


class Flight(NamedTuple):
    """A step without forces of its own: velocities (n, 4, 3) that it began with and would have ended with; their lag.

    The lag is what touching has taken from the velocities at its start, besides ½hf.
    """

    start: Array
    V: Array
    lag: Array


@dataclass
class _Meeting:
    """Contacts at the end of a step (k,): whether a blow begins there.

    lagged (n,), f (n, 4, 3)  whose velocities lagged behind at its start; by what, twice that over h
    shaken (n,)         who had an impact in the step before
    may_strike (k,)     which have a restitution, or bodies that did not touch at its start
    met, slow (k,)      speed that they have met with, 0 where no blow begins; speed up to which none bounces
    """

    lagged: Flags
    shaken: Flags
    f: Array
    may_strike: Flags
    met: Array
    slow: Array


@dataclass(frozen=True)
class Blow:
    """What was decided in a blow, for who differentiates it; of islands (c,), and of rows (m,), see `_Rows`.

    who (n,), island (n,)     bodies that were struck; the island of each body, −1 for none
    lagged (n,)               whose velocity lagged behind at the start of the step
    flies (n,)                see `_Rows`
    turned, share, slowed (c,)    islands that were turned back; shares of V⁺ − V; what is left of V⁺ by `slow_down`
    features (m, 7)           that touch, see `features_of` in contact/readback.py
    blows, falling            their impulses, and those by which they bear loads
    released, parts (m,)      which have another range from then on; speeds with which they part, 0 if they do not
    goes_on (m,)              whose pairs push as at the start of the step
    pairs (p, 2), ranges (p,) whose range that is, and its share
    """

    who: Flags
    island: Indices
    lagged: Flags
    flies: Flags
    turned: Flags
    share: Array
    slowed: Array
    features: Indices
    blows: Impulses
    falling: Impulses
    released: Flags
    parts: Array
    goes_on: Flags
    pairs: Indices
    ranges: Array


def blow(
    model: Model, state: State, h: float, methods: Methods, lagged: Callable[[], tuple[Flags, Flags]],
    flight: Callable[[], Flight],
) -> None:  # fmt: skip
    """Give bodies that have met in the last step, of length h, the velocity of an impact.

    lagged: who is held and had a velocity that lagged behind at its start (n,), and who had an impact before (n,).
    """
    contact = model.contact
    if contact is None or contact.is_idle:
        return
    is_plastic, some_bounce = methods.is_consistent and contact.ease is not None, contact.scene.restitution.any()
    if not (is_plastic or some_bounce):
        return
    survey = contact.survey(state.Q, state.Q_before, h)
    e = survey.restitution() if some_bounce else np.zeros(survey.active.count)
    is_new = contact.is_new(survey.active) if is_plastic else np.zeros(survey.active.count, np.bool_)
    if not (is_new.any() or e.any()):
        return
    found = _meet(model, state, h, lagged(), survey, e, is_new)
    if found.met.any():
        _strike(model, state, h, methods, survey, e, found, flight())


def _meet(
    model: Model, state: State, h: float, before: tuple[Flags, Flags], survey: Survey, e: Array, is_new: Flags
) -> _Meeting:
    lagged, shaken = before
    may_strike = is_new | (e > 0.0)
    f, some = np.zeros_like(state.Q), np.flatnonzero(may_strike)
    if np.count_nonzero(lagged):
        f[lagged] = rigid_rows(model.bodies.mass[lagged], state.Q_before[lagged], state.pushed[lagged, :6])
    loads = model.loads.accelerations(state.Q_before) * model.bodies.is_free[:, None, None]
    begun, falls, way = (
        survey.along_normals(rows, some) for rows in (state.V_before + 0.5 * h * f, loads, state.moved)
    )
    met, slow = np.zeros((2, len(may_strike)))
    met[some], slow[some] = np.sqrt(np.maximum(begun * begun + 2.0 * falls * way, 0.0)), _SLOW * h * np.abs(falls)
    felt = _BARRIER / h * survey.candidates.numbers[survey.candidate, D_HAT]
    met[some] *= (way < 0.0) & (met > np.where(is_new, felt, np.maximum(slow, felt)))[some]
    return _Meeting(lagged, shaken, f, may_strike, met, slow)


@dataclass
class _Rows:
    """Rows of blows (m,): contacts by island and pair, each followed by its friction against rolling if it has any.

    of, rolls (m,)      which of all contacts it is; whether it is against rolling
    leader (m,)         the row of its contact
    pair, first         where pairs and islands begin
    island (n,)         of each body, −1 for none
    flies (n,)          bodies on which nothing but contacts of these rows acts
    """

    of: Indices
    rolls: Flags
    leader: Indices
    pair: Indices
    first: Indices
    island: Indices
    flies: Flags

    def by_pair(self, least: np.ufunc, values: Array) -> Array:
        """What all rows of a pair (m,) have together."""
        found: Array = np.repeat(least.reduceat(values, self.pair[:-1]), np.diff(self.pair))
        return found

    def by_island(self, values: Array) -> Array:
        """Values by island (c,) for each row (m,)."""
        return np.repeat(values, np.diff(self.pair[self.first]))


def _rows(model: Model, survey: Survey, meets: Flags, may_strike: Flags) -> _Rows:
    chosen, pair, first, island, is_whole = _islands(model, survey, meets)
    lone, is_free = model.lone.among(model.bodies.is_free) != 0, model.bodies.is_free != 0
    is_whole[island[is_free & ~lone & (island >= 0)]] = False  # of those that joints tie, barriers alone tell F
    flies = lone & np.append(is_whole, False)[island]
    more = np.ones(len(chosen), np.int64)
    if survey.scene.resists_rolling:
        bodies = survey.bodies[chosen]
        free = (bodies < 0) | (model.bodies.is_free[bodies] == 0) | flies[bodies]
        more += (survey.levers_of(chosen) > 0.0) & (may_strike[chosen] | free.all(axis=1))
    begin = np.concatenate([[0], np.cumsum(more)])
    of = np.repeat(np.arange(len(chosen)), more)
    rolls = np.arange(len(of)) != begin[of]
    return _Rows(chosen[of], rolls, begin[of], begin[pair], first, island, flies)


def _strike(
    model: Model, state: State, h: float, methods: Methods, survey: Survey, e: Array, meeting: _Meeting,
    flight: Flight,
) -> None:  # fmt: skip
    """Velocities ← those after the blows; contacts give up what they hold of them."""
    contact = model.contact
    assert contact is not None
    rows = _rows(model, survey, meeting.met > 0.0, meeting.may_strike)
    response = Response(model, state, h, methods, survey, rows.of, rows.rolls, rows.island)
    held = survey.impulses(rows.of, response.along, h) * ~rows.rolls[:, None]
    nothing, behind = np.zeros_like(state.V), 0.5 * h * meeting.f
    behind = response.rigid_motion(behind, nothing) if behind.any() else behind
    lag = np.where(response.moves, flight.lag + behind, 0.0)
    V = response.rigid_motion(state.V, state.V) + lag
    V_without = response.after(V, -held)
    V_without = np.where(rows.flies[:, None, None], response.rigid_motion(flight.V, flight.V) + lag, V_without)
    a = model.loads.accelerations(state.Q) * model.bodies.is_free[:, None, None]
    falling = response.rigid_motion(a, nothing)
    speed, with_contact, gained = (response.rates(rates) for rates in (V_without, V, falling))
    met = np.sqrt(np.maximum(speed * speed + 2.0 * h * gained * (with_contact - speed), 0.0))
    met *= (meeting.met[rows.of] > 0.0) & (speed < 0.0) & ~rows.rolls
    fastest = rows.by_island(np.maximum.reduceat(met, rows.pair[rows.first[:-1]]))
    mu = np.where(rows.rolls, survey.levers_of(rows.of), survey.friction_of(rows.of)) * contact.has_friction
    given = {
        "met": met, "restitution": e[rows.of], "friction": mu, "leader": rows.leader, "pair": rows.pair,
        "slow": np.maximum(meeting.slow[rows.of], _TWICE * fastest), "island": rows.first,
    }  # fmt: skip
    blows = response.impulses(V_without, given)
    resolve(blows)
    V_new = blows.V.reshape(V.shape)
    sides = survey.sides()[rows.of]
    shaken = np.append(meeting.shaken, False)[survey.bodies[rows.of]].any(axis=1)
    before = contact.pressing_at_start.forces_of(sides) * ~shaken
    left = _Left(response, h * falling, given, blows, held, survey, rows, h, before)
    response.close()
    island = Island(model, state, h, rows.island, len(rows.first) - 1)
    struck, V_before = response.moves[:, 0, 0], flight.start + lag
    V_before[struck] = rigid_motions(model.bodies.mass[struck], state.Q_before[struck], V_before[struck])
    turned = turn_back(island, V_before, V_new)
    share, most = share_of(island, V_before, V, V_new, left.kept)
    shares = np.append(share, 0.0)[rows.island][:, None, None]
    V_new = V + shares * (V_new - V)
    slowed = slow_down(island, most, V_new)
    state.V[struck] = V_new[struck]
    state.A[struck] = 0.0  # a blow does not last
    state.lagging = state.lagging & ~struck
    some, features = left.released, survey.features_of(rows.of)
    eased = contact.release(survey.active, rows.of[some], left.borne[some], left.parts[some], h)
    known = Blow(
        struck, rows.island, meeting.lagged, rows.flies, turned, share, slowed, features, blows, left.loaded, some,
        left.parts, left.goes_on, *eased,
    )  # fmt: skip
    besides, told = rows.by_island(share)[:, None] * (blows.p - held), ~rows.rolls
    contact.strike(
        survey, known, rows.of[told], response.along[told], besides[told] / h, h * response.forces(besides), h
    )  # fmt: skip


class _Left:
    """What rows of blows (m,) are left with.

    parts, borne (m,)    speed with which their pair comes apart, 0 if it does not; what it presses with from now on [N]
    goes_on (m,)         whether that is what it pressed with before
    released (m,)        which have another range from now on
    kept (k,)            which of all contacts still hold what they do
    loaded               impulses by which they bear loads
    """

    def __init__(
        self, response: Response, falls: Array, given: dict[str, Array], blows: Impulses, held: Array, survey: Survey,
        rows: _Rows, h: float, before: Array,
    ) -> None:  # fmt: skip
        loaded = response.impulses(falls, given)
        bear(loaded)
        self.loaded = loaded
        speed = rows.by_pair(np.minimum, np.where(rows.rolls, np.inf, response.rates(blows.V)))
        reach = survey.candidates.numbers[survey.candidate[rows.of], D_HAT]
        self.borne = loaded.p[:, 0] / h
        pressed, pressing = (rows.by_pair(np.add, each) for each in (held[:, 0] / h, self.borne))
        self.goes_on = before > _PRESSED * pressing
        self.borne = np.where(self.goes_on, before / rows.by_pair(np.add, np.where(rows.rolls, 0.0, 1.0)), self.borne)
        pressing = np.where(self.goes_on, before, pressing)
        self.parts = np.where(speed > _BARRIER / h * reach, speed, 0.0)
        self.released = ((self.parts > 0.0) | (pressed > _PRESSED * pressing)) & ~rows.rolls
        self.kept = np.ones(survey.active.count, np.bool_)
        self.kept[rows.of[self.released]] = False


def _islands(model: Model, survey: Survey, meets: Flags) -> tuple[Indices, Indices, Indices, Indices, Flags]:
    """Contacts (m,) of blows by island and pair; where pairs and islands begin; island of each body (n,), −1 for none.

    An island is all that contacts and joints connect to a blow; where it has many contacts only those of pairs that
    meet take part. The last is which islands (c,) have all of their contacts.
    """
    mechanism, sides = np.append(model.islands.mechanism, -1), survey.sides()
    mechanisms = mechanism[survey.bodies]
    both = (mechanisms >= 0).all(axis=1)
    root = np.append(components(int(mechanism.max()) + 1, np.unique(mechanisms[both], axis=0)), -1)
    of = root[mechanisms.max(axis=1)]
    struck = np.unique(of[meets])
    number = np.full(len(root), -1)
    number[struck] = np.arange(len(struck))
    chosen = np.flatnonzero(number[of] >= 0)
    many = np.bincount(number[of[chosen]], minlength=len(struck)) > _MANY
    if many.any():
        key = sides @ np.array([2**32, 1])
        chosen = chosen[~many[number[of[chosen]]] | np.isin(key[chosen], key[meets])]
    order = np.lexsort((sides[chosen, 1], sides[chosen, 0], number[of[chosen]]))
    chosen = chosen[order]
    by = np.column_stack([number[of[chosen]], sides[chosen]])
    pair = np.flatnonzero(np.append(True, (by[1:] != by[:-1]).any(axis=1)))
    first = np.flatnonzero(np.append(True, np.diff(by[pair, 0]) != 0))
    return chosen, np.append(pair, len(chosen)), np.append(first, len(pair)), number[root[mechanism[:-1]]], ~many
