"""Who might meet whom in a step: the bodies that contact couples into islands, and those that it concerns at all."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.record import Record, f8, i8
from dovetail.kernel.threads import chunks, map_phases
from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.kinds import D_HAT, KIND, PAIR, THICKNESS, X0, A, B, corners_of, split_of
from dovetail.solver.contact.known import Watched, at_least, measure
from dovetail.solver.contact.motion import guard_uncovered, vertex_step
from dovetail.solver.contact.runs import Runs
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.islands import (
    Islands,
    mark_pairs,
    number_islands,
    separate_islands,
    unite,
    unite_pairs,
)
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = ["EVERY_PHASE", "NUMBER", "SEPARATE", "Threats", "couple", "couple_phases"]

_COST = 8.0  # [ns] of a candidate


class Threats(Record):
    """Room to look for threats in.

    root, span (n,)   a member of the set that a body is in at first, −1 for a fixed one; most that a point of it moves
    found             candidates that threaten, those of a chunk from where it begins on
    rows (parts, 2)   where those of each chunk begin and end
    share (n,)        of the step, that is to be covered
    """

    root: Indices = i8(1)
    span: Array = f8(1)
    found: Indices = i8(1)
    rows: Indices = i8(2)
    share: Array = f8(1)

    def __init__(self, bodies: int) -> None:
        super().__init__(
            root=np.empty(bodies, np.int64), span=np.empty(bodies), found=np.empty(0, np.int64),
            rows=np.zeros((1, 2), np.int64), share=np.empty(bodies),
        )  # fmt: skip

    def make_room(self, size: int, parts: int) -> None:
        """Room for so many candidates in so many chunks; what was there is lost."""
        if size > len(self.found):
            self.found = np.empty(2 * size, np.int64)
        if parts != len(self.rows):
            self.rows = np.zeros((parts, 2), np.int64)


@kernel
def _may_meet_plane(pairs: Indices, k: int, scene: ContactScene, X: Array, y: Array, reach: float) -> bool:
    """Whether the vertex of candidate k is within the range of its half-plane before or after the step −y."""
    x, plane, a = pairs[k, X0], pairs[k, X0 + 1], pairs[k, A]
    V, normals, points, v = scene.V, scene.plane_normal, scene.plane_point, x - scene.x_base[a]
    height = moved = 0.0
    for axis in range(3):
        normal = normals[plane, axis]
        height += (X[x, axis] - points[plane, axis]) * normal
        moved += vertex_step(V, v, y, a, axis) * normal
    return min(height, height + moved) < reach


@kernel
def _boxes_meet(
    pairs: Indices, k: int, V: Array, x_base: Indices, X: Array, y: Array, reach: float, box: Array
) -> bool:
    """Whether the boxes that the two features of candidate k sweep come within reach; box (2, 2, 3) is scratch."""
    kind = pairs[k, KIND]
    split = split_of(kind)
    for i in range(corners_of(kind)):
        side = 0 if i < split else 1
        fresh = i == 0 or i == split
        body = pairs[k, A + side]
        x = pairs[k, X0 + i]
        for axis in range(3):
            start = X[x, axis]
            end = start + vertex_step(V, x - x_base[body], y, body, axis)
            low, high = min(start, end), max(start, end)
            box[side, 0, axis] = low if fresh else min(box[side, 0, axis], low)
            box[side, 1, axis] = high if fresh else max(box[side, 1, axis], high)
    for axis in range(3):
        if box[0, 0, axis] - box[1, 1, axis] >= reach or box[1, 0, axis] - box[0, 1, axis] >= reach:
            return False
    return True


@kernel
def _prepare(watch: Watched, islands: Islands, parent: Indices, threats: Threats) -> None:
    root, span, shift, turn, is_free = threats.root, threats.span, watch.shift, watch.turn, islands.is_free
    for b in range(len(span)):
        span[b] = turn[b] + math.sqrt(shift[b, 0] ** 2 + shift[b, 1] ** 2 + shift[b, 2] ** 2)
        # a parent precedes its members
        root[b] = -1 if not is_free[b] else b if parent[b] == b else root[parent[b]]


@kernel
def _seek(
    candidates: Candidates, scene: ContactScene, X: Array, watch: Watched, unconverged: Indices, y: Array,
    guarded: Indices, start: int, stop: int, threats: Threats,
) -> int:  # fmt: skip
    """found ← those of some candidates that threaten who is not yet guarded and together; where they end."""
    box = np.empty((2, 2, 3))
    pairs, numbers, known = candidates.pairs, candidates.numbers, candidates.known
    path, bend, root, span, found = watch.path, watch.bend, threats.root, threats.span, threats.found
    V, x_base = scene.V, scene.x_base
    end, last = start, -1  # the pair of bodies of which nothing else is to be known
    for k in range(start, stop):
        k = natural(k)
        pair = pairs[k, PAIR]
        if pair == last and pair >= 0:
            continue
        a, b = natural(pairs[k, A]), pairs[k, B]
        if b < 0:
            if unconverged[a] and not guarded[a]:
                reach = numbers[k, D_HAT] + numbers[k, THICKNESS]
                if _may_meet_plane(pairs, k, scene, X, y, reach + bend[a]):
                    found[end] = k
                    end += 1
            continue
        is_known = guarded[a] and guarded[b] and (root[a] < 0 or root[b] < 0 or root[a] == root[b])
        if is_known or not (unconverged[a] or unconverged[b]):
            last = pair
            continue
        reach = numbers[k, D_HAT] + numbers[k, THICKNESS]
        far = reach + span[a] + span[b]
        if at_least(pairs, known, k, path) >= far:
            continue
        if measure(pairs, known, k, X, path) >= far:
            continue
        if _boxes_meet(pairs, k, V, x_base, X, y, reach + bend[a] + bend[b], box):
            found[end], last = k, pair  # of one pair, one is enough
            end += 1
    return end


_PREPARE, _SEEK, _UNITE = (1 << phase for phase in range(3))
_AT_ONCE = _PREPARE | _SEEK | _UNITE


@kernel
def _threatened(
    candidates: Candidates, scene: ContactScene, X: Array, watch: Watched, islands: Islands, y: Array,
    parent: Indices, guarded: Indices, threats: Threats, span: tuple[int, int, int, int],
) -> None:  # fmt: skip
    """Phases of `couple` over some candidates: span has the part, where it begins and ends, and the phases.

    Preparing and uniting is over all.
    """
    part, start, stop, phases = span
    pairs, found, rows, is_free = candidates.pairs, threats.found, threats.rows, islands.is_free
    if phases & _PREPARE:
        _prepare(watch, islands, parent, threats)
    if phases & _SEEK:
        end = _seek(candidates, scene, X, watch, islands.unconverged, y, guarded, start, stop, threats)
        rows[part, 0], rows[part, 1] = start, end
    if phases & _UNITE:
        for each in range(len(rows)):
            for row in range(rows[each, 0], rows[each, 1]):
                a, b = pairs[found[row], A], pairs[found[row], B]
                guarded[a] = 1
                if b >= 0:
                    guarded[b] = 1
                    if is_free[a] and is_free[b]:
                        unite(parent, a, b)


SEPARATE, _TOUCH, NUMBER = 8, 16, 32
"""Of `couple`: to begin with what joints unite; to unite what rubs, and mark what touches; to number islands."""
EVERY_PHASE = SEPARATE | _TOUCH | _AT_ONCE | NUMBER


@mapped
def couple_phases(
    candidates: Candidates, scene: ContactScene, s: ActiveContacts, watch: Watched, islands: Islands, y: Array,
    rubbing: Runs, threats: Threats, counts: tuple[int, int, bool], span: tuple[int, int, int, int],
) -> int:  # fmt: skip
    """Phases of `couple` over some candidates, or all; counts of contacts and of rows that rub, whether some is short.

    Returns twice the number of islands, and one more if a body runs that did not, once they are numbered.
    """
    part, start, stop, phases = span
    parent, marks = islands.parent, islands.marks
    if phases & SEPARATE:
        for b in range(len(marks)):
            marks[b] = 0
        separate_islands(islands)
    if phases & _TOUCH:
        if counts[1]:
            unite_pairs(parent, islands.is_free, rubbing.pairs, rubbing.number[0])
            mark_pairs(rubbing.pairs, rubbing.number[0], marks)
        if counts[2]:
            guard_uncovered(watch, marks)
        if counts[0]:
            mark_pairs(s.runs.pairs, s.runs.number[0], marks)
    _threatened(candidates, scene, s.X, watch, islands, y, parent, marks, threats, (part, start, stop, phases))
    if phases & NUMBER:
        count, revived = number_islands(islands)
        return 2 * count + (1 if revived else 0)
    return 0


def couple(
    candidates: Candidates, scene: ContactScene, s: ActiveContacts, watch: Watched, islands: Islands, y: Array,
    rubbing: Runs, threats: Threats, counts: tuple[int, int, bool], also: int,
) -> int:  # fmt: skip
    """Unite bodies that rub, and those that might come within the range of the barrier in the step −y.

    marks (n,) ← 1 for them, and for those that touch, or that might so touch a half-plane or a fixed body, each taking
    any share of the step. A candidate is ruled out if its distance exceeds the range by more than both bodies move, or
    if the boxes that its two features sweep stay apart by the range along some axis, also if the step is curved (bend,
    see motion.py). `threats` is room to work in; see `couple_phases` for the rest.
    """
    arguments = (candidates, scene, s, watch, islands, y, rubbing, threats, counts)
    size = candidates.count
    spans = chunks(size, _COST)
    threats.make_room(size, len(spans))
    if len(spans) == 1:
        return int(couple_phases(*arguments, (0, 0, size, also | _TOUCH | _AT_ONCE)))
    whole, first, last = [(0, 0, 0)], _TOUCH | _PREPARE | (also & SEPARATE), _UNITE | (also & NUMBER)
    return map_phases(couple_phases, ((whole, first), (spans, _SEEK), (whole, last)), *arguments)[2]
