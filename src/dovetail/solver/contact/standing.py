"""What contact does in a step of a machine that stands, as calls of a program (solver/repose.py).

Words of the program say how many contacts and frictions there are, which is known once it runs; candidates and the room
for contacts are others from time to time, and are then put into its words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.kernel.program import Program
from dovetail.kernel.threads import chunks
from dovetail.solver.contact import active, assembly, bound, friction, stick
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.motion import EVERYTHING, look_at_chunk, record_chunk
from dovetail.solver.contact.swing import swing
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.solver.blocks import Blocks
    from dovetail.solver.contact.contact import Contact
    from dovetail.solver.islands import Islands

__all__ = ["StandingContact", "rooms_of"]

_LENGTH = 5  # words from the place of an array among arguments to its length
_COST_OF_BODY, _COST_OF_CANDIDATE = 250.0, 200.0  # [ns] of a step at most: it must be too little to be cut into chunks


def rooms_of(contact: Contact) -> tuple[object, ...]:
    """What a program depends on, and what is made anew where a step is broken off."""
    return contact.friction, contact.assembly, contact.threats, contact.chosen, contact.stiffness


class StandingContact:
    """The calls of contact, by name, with room for what they find.

    keys, pairs, load      of friction, see stick.py
    known, past            what was remembered of it
    force, rubbed          at the end of the step
    by_contacts, by_frictions, by_both, by_known    words that say how many there are
    """

    def __init__(self, contact: Contact, program: Program, islands: Islands, h: float) -> None:
        n = len(islands.of)
        self._contact, self._program, self._islands, self._h2 = contact, program, islands, h * h
        self._size = 2 * self._frictions(contact.candidates) + len(contact.stick.keys) if contact.stick else 0
        self.keys, self.known, self.pairs = (np.zeros((self._size, k), np.int64) for k in (stick.KEY, stick.KEY, 2))
        self.past, self.force, self.load = np.zeros((self._size, 4)), np.zeros((self._size, 3)), np.zeros(self._size)
        self.rubbed, self._first = np.zeros((n, 16)), np.zeros(2, np.int64)
        self.by_contacts, self.by_frictions, self.by_both, self.by_known = (list[int]() for _ in range(4))
        self._candidates, self._survey, self._is_small = contact.candidates, contact.found, False
        self._to_candidates, self._to_survey, self._sizes = (list[int]() for _ in range(3))
        self._words: Indices = np.zeros(0, np.int64)

    def _frictions(self, candidates: Candidates) -> int:
        """How many frictions candidates have at most."""
        return (2 if self._contact.scene.resists_rolling else 1) * candidates.count

    def _add(self, kernel: Any, *arguments: Any) -> int:
        place = self._program.add(kernel, *arguments)
        for k, value in enumerate(arguments):
            if value is self._candidates:
                self._to_candidates.append(self._program.argument(place, k))
            if value is self._survey:
                self._to_survey.append(self._program.argument(place, k))
        return place

    def bind(
        self, blocks: Blocks, Q: Array, way: Array, y: Array, E: Array, Q_end: Array, numbers: Array, mass: Array | None
    ) -> dict[str, int]:
        """Places of calls by name; Q and E are those of the start, to the guess it is −way, and the step is −y.

        mass is that of bodies that may swing (swing.py), None if they do not.
        """
        c, islands, h2, at, none = self._contact, self._islands, self._h2, self._program.argument, (0, 0, 0)
        n = len(islands.of)
        s, f, candidates, watch, scene = self._survey, c.friction, self._candidates, c.watch, c.scene
        everything = bound.LOOK | bound.COUPLE | bound.FREE | bound.FORESEE
        look = self._add(look_at_chunk, watch, Q, way, True, islands.of, c.whole, EVERYTHING)
        freeze = self._add(friction.freeze_friction, s, candidates, scene, Q, c.turning, f, self._first, none)
        name = self._add(stick.name_features, f, candidates, self.keys)
        recalled = self._add(stick.recall, self.known, self.past, self.keys, Q, h2, f)
        rub = self._add(friction.energies, f, Q, Q, c.is_free, c.owner, E, (0, 0, n))
        bounds = [
            self._add(
                bound.bound_phases, candidates, scene, s, watch, islands, f, c.threats, Q, step, c.borne,
                numbers, (0, 0, phases, False),
            )
            for step, phases in ((way, bound.COUPLE), (y, everything))
        ]  # fmt: skip
        touch = self._add(
            assembly.assemble_phases, s, candidates, scene, f, Q, Q, islands.unconverged, blocks, c.assembly, (0, 0),
            (*none, assembly.TERMS | assembly.RUNS | assembly.GATHER),
        )  # fmt: skip
        swung = -1 if mass is None else self._add(swing, islands, mass, s, 0, Q, y, np.zeros(n, np.int64))
        find = self._add(
            active.find_phases, watch, candidates, scene, c.stiffness, h2, Q_end, c.everything, c.owner, c.chosen, s,
            c.E_found, (*none, active.ALL),
        )  # fmt: skip
        slip = self._add(friction.slips, f, Q, Q_end, self.force, none)
        drag = self._add(friction.rub, f, h2, Q, Q_end, self.force, self.rubbed, (0, 0, n))
        turn = self._add(stick.by_columns, self.pairs, h2, Q_end, self.force)
        record = self._add(record_chunk, watch, islands, EVERYTHING[:3])
        self._sizes = [at(find, 11) + 2]
        self.by_contacts = [at(freeze, 7) + 2, *(at(place, 11) for place in bounds), at(touch, 9)]
        self.by_contacts += [] if mass is None else [at(swung, 3)]
        self.by_frictions = [
            at(name, 2) + _LENGTH, at(recalled, 2) + _LENGTH, *(at(place, 11) + 1 for place in bounds),
            at(touch, 9) + 1, at(slip, 4) + 2, at(turn, 3) + _LENGTH,
        ]  # fmt: skip
        self.by_both, self.by_known = [at(touch, 10) + 2], [at(recalled, 0) + _LENGTH]
        return {
            "look": look, "freeze": freeze, "name": name, "recall": recalled, "rub": rub, "couple": bounds[0],
            "touch": touch, "bound": bounds[1], "swing": swung, "find": find, "slip": slip, "drag": drag, "turn": turn,
            "record": record,
        }  # fmt: skip

    def begin(self, words: Indices) -> None:
        """Have these words of the program."""
        self._words, self._candidates = words, Candidates.none()

    # ---- steps -----------------------------------------------------------------------------------------------

    def aim(self) -> bool | None:
        """Have the program work on present candidates; whether it can, None if it has to be made anew."""
        c = self._contact
        candidates, survey = c.candidates, c.found
        if candidates is self._candidates and survey is self._survey:
            return self._is_small
        rows, size = self._frictions(candidates), candidates.count
        if rows > self._size:
            return None
        self._candidates = Candidates.none()  # an interrupt may come in between
        survey.make_room(size)
        c.chosen.make_room(size)
        c.threats.make_room(size, 1)
        c.friction.make_room(rows)
        c.friction.pieces.make_room(rows)
        c.assembly.normal.make_room(size)
        c.assembly.rubbing.make_room(rows)
        self._words[self._to_candidates] = candidates._pointer
        self._words[self._to_survey] = survey._pointer
        self._words[self._sizes] = size
        work = _COST_OF_BODY * (len(c.watch.budget) + len(c.watch.near)) + _COST_OF_CANDIDATE * size
        self._is_small = len(chunks(int(work), 1.0)) == 1
        self._survey, self._candidates = survey, candidates
        return self._is_small

    def is_ready(self, Q: Array, h: float) -> bool:
        """Whether contact is as a step of length h from Q begins with where nothing is unusual."""
        c, watch, ease = self._contact, self._contact.watch, self._contact.ease
        surveyed = c.found_for
        assert c.stick is not None
        if surveyed[0] is not Q or surveyed[1] != h or c.h2 != self._h2 or c.found.candidates is not c.candidates:
            return False
        if watch.is_short or watch.is_blind or watch.may_be_crowded(c.count_at_start) or len(c.stick.keys) > self._size:
            return False
        if c.firmness.some or (ease is not None and (len(ease.pairs) or np.count_nonzero(ease.placed))):
            return False
        if c.friction.epsilon != c.eps_velocity * h:
            c.friction.epsilon = c.eps_velocity * h
        return c.found.count > 0

    def settle(self, Q_before: Array, Q: Array, h: float, contacts: int, frictions: int, known: int) -> None:
        """Steps have led to Q, with so many contacts there, and frictions that remember so many."""
        c, s, f = self._contact, self._survey, self._contact.friction
        if c.watch.looks:  # of records, which are slow to write to
            c.watch.looks = 0
        if s.count != contacts:
            s.count = contacts
        if f.candidates is not self._candidates:
            f.candidates = self._candidates
        if f.count != frictions:
            f.count = frictions
        f.slid = None, None, 0.0
        c.Q_start, c.gone_to, c.found_for, c.frozen = Q_before, s, (Q, h), (None, 0.0, 0)

    def take_over(self, Q_before: Array, Q: Array, h: float, *counts: int) -> None:
        """A step has led to Q; see `settle`."""
        c, frictions, remembered = self._contact, counts[1], self._contact.stick
        assert remembered is not None
        c.count_at_start = self._survey.count
        self.settle(Q_before, Q, h, *counts)
        known = np.empty((frictions, 4))
        known[:, :3], known[:, 3] = self.force[:frictions], self.load[:frictions] / self._h2
        remembered.keys, remembered.bodies = self.keys[:frictions].copy(), self.pairs[:frictions].copy()
        remembered.force = known
        if c.ease is not None:
            c.ease.commit(h)

    def give_up(self, was_at_end: bool) -> None:
        """The general way begins the step anew; where it was at its end, contacts of the start are looked for again."""
        c = self._contact
        c.friction.count = 0
        if was_at_end:
            c.found_for, c.gone_to = (None, 0.0), None
