"""Blows: bodies that have met in a step get the velocity of an impact, by impulses at their contacts.

A step that comes to touch something finds positions, with the forces F of contacts, whose impulses are hF. Velocities are
those of Newton's and Coulomb's laws (impulses.py), from V⁻, which the bodies had without the forces of these contacts:

    V⁻ = P(V) + h/2 f − h W F         V⁺ = V⁻ + W p         contacts push with p/h

V is the velocity that the step has led to, f what V lags behind by (held.py), W = P⁻¹Jᵀ what rigid bodies and joints make of
unit impulses at the surfaces, without laws: drives have no impulses. P(V) is V without what strains bodies and opens joints.
All contacts of the bodies that contacts and joints connect to a blow take part, those of the blow alone where they are many.

A blow is where a pair meets with more than it gains by falling for two steps, and either has a restitution e > 0 or did not
touch at the start of the step, if the barrier gives up what it holds: the pair gets a range of its own (ease.py), with which
it pushes as loads press from now on, or none where it comes apart. What loads have added since the meeting counts in v⁻:

    met² = (n·ẋ)² + 2 (n·a)(n·Δx)

In an island that nothing else holds W p would turn by what contacts have moved its bodies apart; a turn of all of it makes
up for that. V⁺ − V is made less by one factor in each island where there would be more energy, kinetic and stored, than the
step began with and loads have given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.solver.contact.kinds import D_HAT
from dovetail.solver.contact.readback import Survey
from dovetail.solver.impulses import Impulses, bear, resolve
from dovetail.solver.integrator import Methods
from dovetail.solver.islands import components
from dovetail.solver.model import Model
from dovetail.solver.response import Response, rigid_rows
from dovetail.solver.state import State
from dovetail.solver.struck import Island, share_of, turn_back
from dovetail.typing import Array, Flags, Indices

__all__ = ["blow"]

_SLOW = 2.0  # steps of free fall
_BARRIER = 0.02  # [d̂/h]: what a barrier throws back by itself is slower
_TWICE = 0.02  # of the fastest meeting: slower collisions that follow from it are plastic
_MANY = 256  # contacts of an island
_PRESSED = 1.05  # of what loads press with: more is what a blow has left


@dataclass
class _Meeting:
    """Contacts at the end of a step (k,): whether a blow begins there.

    f (n, 4, 3)         what velocities at its start lagged behind by, twice that over h
    met, slow (k,)      speed that they have met with, 0 where no blow begins; speed that is none
    """

    f: Array
    met: Array
    slow: Array


def blow(model: Model, state: State, h: float, methods: Methods, lagged: Flags) -> None:
    """Give bodies that have met in the last step, of length h, the velocity of an impact.

    lagged (n,) are those whose velocity lagged behind at its start.
    """
    contact = model.contact
    if contact is None or contact.is_idle:
        return
    is_plastic, some_bounce = methods.is_consistent and contact.ease is not None, contact.scene.restitution.any()
    if not (is_plastic or some_bounce):
        return
    survey = contact.survey(state.Q, state.Q_before, h)
    e = survey.restitution() if some_bounce else np.zeros(survey.active.count)
    may_strike = (e > 0.0) | contact.is_new(survey.active) if is_plastic else e > 0.0
    if not may_strike.any():
        return
    found = _meet(model, state, h, lagged & methods.held, survey, may_strike)
    if found.met.any():
        _strike(model, state, h, methods, survey, e, found)


def _meet(model: Model, state: State, h: float, lagged: Flags, survey: Survey, may_strike: Flags) -> _Meeting:
    f, some = np.zeros_like(state.Q), np.flatnonzero(may_strike)
    if np.count_nonzero(lagged):
        f[lagged] = rigid_rows(model.bodies.mass[lagged], state.Q_before[lagged], state.pushed[lagged, :6])
    loads = model.loads.accelerations(state.Q_before) * model.bodies.is_free[:, None, None]
    begun, falls, way = (
        survey.along_normals(rows, some) for rows in (state.V_before + 0.5 * h * f, loads, state.moved)
    )
    met, slow = np.zeros((2, len(may_strike)))
    met[some], slow[some] = np.sqrt(np.maximum(begun * begun + 2.0 * falls * way, 0.0)), _SLOW * h * np.abs(falls)
    least = np.maximum(slow, _BARRIER / h * survey.candidates.numbers[survey.candidate, D_HAT])
    met[some] *= (begun < 0.0) & (met > least)[some]
    return _Meeting(f, met, slow)


def _strike(
    model: Model, state: State, h: float, methods: Methods, survey: Survey, e: Array, meeting: _Meeting
) -> None:
    """Velocities ← those after the blows; contacts give up what they hold of them."""
    contact, bodies = model.contact, model.bodies
    assert contact is not None
    chosen, pair, first, island_of = _islands(model, survey, meeting.met > 0.0)
    response = Response(model, state, h, methods, survey, chosen, island_of)
    met = meeting.met[chosen]
    fastest = np.repeat(np.maximum.reduceat(met, pair[first[:-1]]), np.diff(pair[first]))
    given = {
        "met": met, "restitution": e[chosen], "friction": survey.friction_of(chosen) * contact.has_friction,
        "slow": np.maximum(meeting.slow[chosen], _TWICE * fastest), "pair": pair, "island": first,
    }  # fmt: skip
    held = survey.impulses(chosen, response.along, h)
    V = response.rigid_motion(state.V, state.V) + 0.5 * h * np.where(response.moves, meeting.f, 0.0)
    blows = response.impulses(response.after(V, -held), given)
    resolve(blows)
    V_new = blows.V.reshape(V.shape)
    over = _Left(model, state, h, response, given, blows, held, survey, chosen)
    response.close()
    island = Island(model, state, h, island_of, len(first) - 1)
    turn_back(island, state.V_before + 0.5 * h * meeting.f, V_new)
    share = share_of(island, state.V_before + 0.5 * h * meeting.f, V_new, over.kept)
    struck = response.moves[:, 0, 0]
    shares = np.append(share, 0.0)[island_of][:, None, None]
    state.V[struck] = (state.V + shares * (V_new - state.V))[struck]
    state.A[struck] = 0.0  # a blow does not last
    state.lagging = state.lagging & ~struck
    by = np.repeat(share, np.diff(pair[first]))[:, None] * (blows.p - held)
    contact.strike(survey, chosen, response.along, by / h, h * response.forces(by), h)
    if contact.ease is not None:
        some = over.released
        contact.release(survey.active, chosen[some], over.borne[some], over.parts[some], h)


class _Left:
    """What contacts of blows (m,) are left with.

    parts, borne (m,)    speed with which their pair comes apart, 0 if it does not; what loads press with [N]
    released (m,)        who has another range from now on
    kept (k,)            which of all contacts still hold what they do
    """

    def __init__(
        self, model: Model, state: State, h: float, response: Response, given: dict[str, Array], blows: Impulses,
        held: Array, survey: Survey, chosen: Indices,
    ) -> None:  # fmt: skip
        a = model.loads.accelerations(state.Q) * model.bodies.is_free[:, None, None]
        falling = response.impulses(h * response.rigid_motion(a, np.zeros_like(a)), given)
        bear(falling)
        starts, of = given["pair"][:-1], np.repeat(np.arange(len(given["pair"]) - 1), np.diff(given["pair"]))
        speed = np.minimum.reduceat(response.rates(blows.V), starts)[of]
        reach = survey.candidates.numbers[survey.candidate[chosen], D_HAT]
        self.borne = falling.p[:, 0] / h
        pressed, pressing = (np.add.reduceat(each, starts)[of] for each in (held[:, 0] / h, self.borne))
        self.parts = np.where(speed > _BARRIER / h * reach, speed, 0.0)
        self.released = (self.parts > 0.0) | (pressed > _PRESSED * pressing)
        self.kept = np.ones(survey.active.count, np.bool_)
        self.kept[chosen[self.released]] = False


def _islands(model: Model, survey: Survey, meets: Flags) -> tuple[Indices, Indices, Indices, Indices]:
    """Contacts (m,) of blows by island and pair; where pairs and islands begin; island of each body (n,), −1 for none.

    An island is all that contacts and joints connect to a blow; where it has many contacts only those of pairs that
    meet take part.
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
    return chosen, np.append(pair, len(chosen)), np.append(first, len(pair)), number[root[mechanism[:-1]]]
