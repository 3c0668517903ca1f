"""Derivatives of contact and friction: each row's own first, then gathered body by body (runs.py, rows.py)."""

from __future__ import annotations

import numpy as np

from dovetail.errors import SolverError
from dovetail.kernel.kernel import mapped
from dovetail.kernel.record import Record, nested
from dovetail.kernel.threads import chunks, map_phases
from dovetail.solver.blocks import Blocks
from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.friction import Frictions, friction_terms
from dovetail.solver.contact.normal import add_mollifiers, normal_terms
from dovetail.solver.contact.rows import Terms, add_terms
from dovetail.solver.contact.runs import by_rows, sort_by_body
from dovetail.solver.contact.scene import ContactScene
from dovetail.typing import Array, Indices

__all__ = ["GATHER", "RUNS", "TERMS", "Assembly", "assemble", "assemble_phases"]

_COST_OF_TERMS, _COST_OF_ROWS = 50.0, 300.0  # [ns] of a contact or friction
TERMS, RUNS, GATHER = (1 << phase for phase in range(3))


class Assembly(Record):
    """Room to assemble in: what contacts and frictions add; the gradient of all bodies (n, 12), and 1 for each (n,)."""

    normal: Terms = nested(Terms)
    rubbing: Terms = nested(Terms)

    def __init__(self, bodies: int) -> None:
        super().__init__(normal=Terms(), rubbing=Terms())
        self.gradient, self.everybody = np.zeros((bodies, 12)), np.ones(bodies, np.int64)


@mapped
def assemble_phases(
    s: ActiveContacts, candidates: Candidates, scene: ContactScene, f: Frictions, Q_start: Array, Q: Array,
    active: Indices, blocks: Blocks, room: Assembly, counts: tuple[int, int], span: tuple[int, int, int, int],
) -> int:  # fmt: skip
    """Phases of `assemble`: span has where to begin and to end, among contacts and frictions, or among bodies.

    Returns how many pairs have no block, of those that were gathered.
    """
    missing = 0
    _, start, stop, phases = span
    contacts, frictions = counts
    if phases & TERMS:
        rows = max(contacts + frictions, 1)  # a chunk has the same share of both: they are of the same bodies
        normal_terms(s, candidates, active, start * contacts // rows, stop * contacts // rows, room.normal)
        friction_terms(f, Q_start, Q, active, start * frictions // rows, stop * frictions // rows, room.rubbing)
    if phases & RUNS and contacts:
        sort_by_body(s.runs)
    if phases & GATHER:
        T = np.empty((14, 8))
        runs = s.runs if contacts else f.runs
        start, stop = (by_rows(runs, span[1]), by_rows(runs, span[2])) if phases == GATHER else (0, len(active))
        for part in range(2):  # one call, of long code
            if counts[part] == 0:
                continue
            xi, bodies = (s.xi, s.bodies) if part == 0 else (f.xi, f.bodies)
            terms, runs = (room.normal, s.runs) if part == 0 else (room.rubbing, f.runs)
            for b in range(start, stop):
                if not active[b]:
                    continue  # it is coupled to no active one
                missing += add_terms(xi, bodies, terms, runs, b, blocks, T)
                if part == 0:
                    add_mollifiers(s, candidates, scene, runs, b, blocks.g)
    return missing


def assemble(
    s: ActiveContacts, scene: ContactScene, f: Frictions, Q_start: Array, Q: Array, active: Indices, blocks: Blocks,
    room: Assembly,
) -> None:  # fmt: skip
    """Add derivatives of barrier and friction, where one of the bodies is active; `room` is to work in."""
    room.normal.make_room(s.count)
    room.rubbing.make_room(f.count)
    rows, bodies = s.count + f.count, len(active)
    arguments = (s, s.candidates, scene, f, Q_start, Q, active, blocks, room, (s.count, f.count))
    spans = chunks(rows, _COST_OF_TERMS)
    if len(spans) == 1:
        missing = assemble_phases(*arguments, (0, 0, rows, TERMS | RUNS | GATHER))
    else:
        by_body = chunks(bodies, _COST_OF_ROWS * rows / bodies)
        phases = (spans, TERMS), ([(0, 0, 0)], RUNS), (by_body, GATHER)
        missing = max(map_phases(assemble_phases, phases, *arguments))
    if missing:
        pairs = np.concatenate([s.pairs, f.pairs])
        a, b = next(pair for pair in pairs.tolist() if not blocks.has(np.array([pair])))
        raise SolverError(
            f"bodies {a} and {b} touch, but the linear system was laid out without a block for the two; this is a "
            "mistake of the solver: please report it with the scene"
        )
