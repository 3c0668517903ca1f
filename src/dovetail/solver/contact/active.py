"""Active contacts: closest points of all candidates, those within the barrier's range, and their energy.

A contact, whatever its kind, is a pair of material points: rows ξ_a = (1, x̄_a), ξ_b = (1, x̄_b) on two bodies, and
r = x_a − x_b. Nothing else enters the energy, the gradient or friction, except the mollifier of nearly parallel edges.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.ahead import write_soon
from dovetail.kernel.kernel import kernel, mapped, plain_kernel
from dovetail.kernel.record import Record, f8, i8, nested
from dovetail.kernel.threads import chunks, map_phases
from dovetail.solver.contact.barrier import barrier, mollifier, of_lighter
from dovetail.solver.contact.candidates import Candidates, move_vertices
from dovetail.solver.contact.chosen import Chosen, balance, bound, place
from dovetail.solver.contact.distance import edge_edge, point_edge, point_triangle
from dovetail.solver.contact.kinds import (
    D_HAT,
    EDGE_EDGE,
    KAPPA,
    KIND,
    POINT_EDGE,
    POINT_TRIANGLE,
    SHAPE,
    THICKNESS,
    X0,
    A,
    B,
)
from dovetail.solver.contact.known import (
    COST_OF_BODY,
    COST_OF_PAIR,
    Watched,
    at_least,
    follow_bodies,
    follow_pairs,
    remember,
)
from dovetail.solver.contact.runs import LINE, Runs, join_pieces, note_run, owner_of
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = ["ALL", "FADED", "ActiveContacts", "find_active", "find_phases"]

FADED = 1e-12  # weight below which a mollified pair of edges is left out: far below the accuracy of the energy
_COST = 30.0  # [ns] of a candidate
_AHEAD = 16  # contacts
_WHOLE = [(0, 0, 0)]


class ActiveContacts(Record):
    """The contacts of one state, of which the first `count` rows are valid; it grows as needed.

    xi (k, 8)                   ξ_a, ξ_b
    r (k, 3), squared (k,)      x_a − x_b [m], D = |r|² [m²]
    weight, slope (k,)          mollifier m and m′; 1 and 0 but for edges
    kappa, energy (k,)          h²κ, m h²κ b
    bodies (k, 2)               a, b; −1 for a half-plane
    candidate (k,)              row of the candidates
    candidates                  those that they are of: not the present ones where these have been looked for since
    X                           positions of the candidates' vertices at that state
    runs                        contacts by body pair; by body only where that was asked for
    """

    xi: Array = f8(2)
    r: Array = f8(2)
    squared: Array = f8(1)
    weight: Array = f8(1)
    slope: Array = f8(1)
    kappa: Array = f8(1)
    energy: Array = f8(1)
    bodies: Indices = i8(2)
    candidate: Indices = i8(1)
    candidates: Candidates = nested(Candidates)
    X: Array = f8(2)
    runs: Runs = nested(Runs)

    def __init__(self, X: Array, bodies: int) -> None:
        self.count = 0
        super().__init__(
            xi=np.empty((0, 8)), r=np.empty((0, 3)), squared=np.empty(0), weight=np.empty(0), slope=np.empty(0),
            kappa=np.empty(0), energy=np.empty(0), bodies=np.empty((0, 2), np.int64),
            candidate=np.empty(0, np.int64), candidates=Candidates.none(), X=X, runs=Runs(bodies),
        )  # fmt: skip

    def make_room(self, size: int) -> None:
        """Room for so many contacts; what was there is lost."""
        if size > len(self.xi):
            self.runs.make_room(size)
            size = 2 * size
            self.xi, self.r = np.empty((size, 8)), np.empty((size, 3))
            self.squared, self.weight, self.slope, self.kappa, self.energy = (np.empty(size) for _ in range(5))
            self.bodies, self.candidate = np.empty((size, 2), np.int64), np.empty(size, np.int64)

    @property
    def pairs(self) -> Indices:
        """The bodies (p, 2) of each run."""
        return self.runs.pairs[: self.runs.number[0] if self.count else 0]


@kernel
def _write_points(
    xi: Array, n: int, V: Array, base_a: int, base_b: int, x: tuple[int, int, int, int], kind: int, u: float, v: float
) -> None:
    """ξ_a, ξ_b of contact n ← closest points of vertices x (4) with weights u, v; V[x − base] are in the bodies."""
    xi[n, 0] = xi[n, 4] = 1.0
    for i in range(3):
        xi[n, 1 + i] = V[x[0] - base_a, i]
        xi[n, 5 + i] = 0.0
        if kind == EDGE_EDGE:
            xi[n, 1 + i] = (1.0 - u) * V[x[0] - base_a, i] + u * V[x[1] - base_a, i]
            xi[n, 5 + i] = (1.0 - v) * V[x[2] - base_b, i] + v * V[x[3] - base_b, i]
        elif kind == POINT_TRIANGLE:
            xi[n, 5 + i] = (1.0 - u - v) * V[x[1] - base_b, i] + u * V[x[2] - base_b, i] + v * V[x[3] - base_b, i]
        elif kind == POINT_EDGE:
            xi[n, 5 + i] = (1.0 - u) * V[x[1] - base_b, i] + u * V[x[2] - base_b, i]


@kernel
def _end_of_group(pairs: Indices, numbers: Array, k: int) -> int:
    """The first candidate from k on that is not of the same point and patch as the one before it."""
    while 0 < k < len(pairs) and pairs[k, KIND] == POINT_TRIANGLE and pairs[k - 1, KIND] == POINT_TRIANGLE:
        same = pairs[k, X0] == pairs[k - 1, X0] and pairs[k, B] == pairs[k - 1, B]
        if not same or numbers[k, SHAPE] != numbers[k - 1, SHAPE]:
            break
        k += 1
    return k


@kernel
def _choose(
    watch: Watched, candidates: Candidates, scene: ContactScene, runs: Indices, X: Array, start: int, stop: int,
    chosen: Chosen,
) -> int:  # fmt: skip
    """Choose the contacts among some candidates; how many, −1 where a gap is closed."""
    # fields of records are taken out of loops: kernels would load them again after each write
    pairs, numbers, known, path = candidates.pairs, candidates.numbers, candidates.known, watch.path
    plane_normal, plane_point = scene.plane_normal, scene.plane_point
    rows, measured, first = chosen.candidate, chosen.measured, start
    start, stop = _end_of_group(pairs, numbers, start), _end_of_group(pairs, numbers, stop)
    count, group_point, group_body, group_entry, group_patch = first, -1, -1, -1, -1.0
    for k in range(start, stop):
        k = natural(k)
        kind, a, b = pairs[k, KIND], natural(pairs[k, A]), pairs[k, B]
        if not (runs[a] or (b >= 0 and runs[b])):
            continue
        d_hat, thickness = numbers[k, D_HAT], numbers[k, THICKNESS]
        if b >= 0 and at_least(pairs, known, k, path) >= d_hat + thickness:
            continue
        reach = (d_hat + thickness) * (d_hat + thickness)
        x0, x1, x2, x3 = natural(pairs[k, X0]), natural(pairs[k, X0 + 1]), pairs[k, X0 + 2], pairs[k, X0 + 3]
        u = v = cross = 0.0
        if kind == POINT_TRIANGLE:
            u, v, r0, r1, r2 = point_triangle(X, x0, x1, natural(x2), natural(x3))
        elif kind == EDGE_EDGE:
            u, v, r0, r1, r2, cross = edge_edge(X, x0, x1, natural(x2), natural(x3))
        elif kind == POINT_EDGE:
            u, r0, r1, r2 = point_edge(X, x0, x1, natural(x2))
        else:
            height, p = 0.0, x1
            for i in range(3):
                height += (X[x0, i] - plane_point[p, i]) * plane_normal[p, i]
            if not height > thickness:
                return -1
            r0, r1, r2 = height * plane_normal[p, 0], height * plane_normal[p, 1], height * plane_normal[p, 2]
        D = r0 * r0 + r1 * r1 + r2 * r2
        remember(pairs, known, k, path, math.sqrt(D))
        if D >= reach:
            continue
        if not thickness * thickness < D:
            return -1
        entry, weight, slope = count, 1.0, 0.0
        if kind == POINT_TRIANGLE and group_point == x0 and group_body == b and group_patch == numbers[k, SHAPE]:
            # same point and patch: the nearer triangle takes the place of the other
            if D >= measured[group_entry, 5]:
                continue
            entry = group_entry
        else:
            if kind == EDGE_EDGE:
                weight, slope = mollifier(cross, numbers[k, SHAPE])
                if weight < FADED:
                    continue
            elif kind == POINT_TRIANGLE:
                group_point, group_body, group_patch, group_entry = x0, b, numbers[k, SHAPE], entry
            count += 1
        entry = natural(entry)
        rows[entry] = k
        measured[entry, 0], measured[entry, 1], measured[entry, 5] = u, v, D
        measured[entry, 2], measured[entry, 3], measured[entry, 4] = r0, r1, r2
        measured[entry, 6], measured[entry, 7] = weight, slope
    return count - first


@plain_kernel
def _plus(total: float, energy: float) -> float:
    """Their sum, rounded once and in this order, in whichever kernel."""
    return total + energy


@kernel
def _write(
    candidates: Candidates, scene: ContactScene, stiffness: Array, h2: float, chosen: Chosen, row: int, n: int,
    end: int, active: ActiveContacts,
) -> int:  # fmt: skip
    """Contacts from n up to `end` ← what was chosen from a row on; where pieces of runs end, which begin there too."""
    pairs, numbers, rows, measured = candidates.pairs, candidates.numbers, chosen.candidate, chosen.measured
    squared, weights, slopes, kappas, r = active.squared, active.weight, active.slope, active.kappa, active.r
    xi, bodies, candidate, energy, V, x_base = (
        active.xi, active.bodies, active.candidate, active.energy, scene.V, scene.x_base
    )  # fmt: skip
    totals, pieces, piece, total, one, other = chosen.total, chosen.pieces, row - 1, 0.0, -2, -2
    for entry in range(n, end):
        entry, row = natural(entry), natural(row)
        write_soon(bodies, entry + _AHEAD)
        write_soon(xi, entry + _AHEAD)
        write_soon(slopes, entry + _AHEAD)
        k = natural(rows[row])
        kind, a, b, D, weight = pairs[k, KIND], natural(pairs[k, A]), pairs[k, B], measured[row, 5], measured[row, 6]
        kappa, d_hat = numbers[k, KAPPA], numbers[k, D_HAT]
        if kappa < 0.0:
            kappa *= -(stiffness[a] if b < 0 else of_lighter(stiffness[a], stiffness[b])) / (d_hat * d_hat)
        kappa *= h2
        value, _, _ = barrier(D, numbers[k, THICKNESS], d_hat)
        if not ((a == one and b == other) or (a == other and b == one)):
            one, other, total = a, b, 0.0
            piece += 1
            note_run(pieces, natural(piece), entry, a, b)
            write_soon(totals, piece + LINE)
        energy[entry] = value = weight * kappa * value
        total = _plus(total, value)
        totals[natural(piece)] = total
        bodies[entry, 0], bodies[entry, 1], candidate[entry] = a, b, k
        x = (pairs[k, X0], pairs[k, X0 + 1], pairs[k, X0 + 2], pairs[k, X0 + 3])
        base_b = x_base[b] if b >= 0 else 0
        _write_points(xi, entry, V, x_base[a], base_b, x, kind, measured[row, 0], measured[row, 1])
        r[entry, 0], r[entry, 1], r[entry, 2] = measured[row, 2], measured[row, 3], measured[row, 4]
        squared[entry], weights[entry], slopes[entry], kappas[entry] = D, weight, measured[row, 7], kappa
        row += 1
    return piece + 1


@kernel
def _sum(owner: Indices, chosen: Chosen, active: ActiveContacts, E: Array) -> None:
    """E[owner] += energies, run by run: the same sums, wherever chunks begin."""
    energy, totals, pieces, runs = active.energy, chosen.total, chosen.pieces, active.runs
    run = end = 0
    for part in range(len(pieces.span)):
        end += chosen.counts[part]
        for k in range(pieces.span[part, 0], pieces.span[part, 1]):
            if pieces.row[k] != runs.first[run]:
                continue  # a run that goes on from the chunk before
            a, b, total = runs.pairs[run, 0], runs.pairs[run, 1], totals[k]
            if k + 1 == pieces.span[part, 1]:
                for n in range(end, runs.first[run + 1]):
                    total = _plus(total, energy[n])
            E[owner_of(owner, a, b)] += total
            run += 1


_GO, _FOLLOW, _CHOOSE, _WRITE, _SUM = (1 << phase for phase in range(5))
ALL = _GO | _FOLLOW | _CHOOSE | _WRITE | _SUM


@mapped
def find_phases(
    watch: Watched, candidates: Candidates, scene: ContactScene, stiffness: Array, h2: float, Q: Array, runs: Indices,
    owner: Indices, chosen: Chosen, active: ActiveContacts, E: Array, span: tuple[int, int, int, int],
) -> int:  # fmt: skip
    """Phases of `find_active`: span has the part, where it begins and ends, and the phases.

    Among bodies, then pairs and vertices, then candidates, which have bounds of their own; sums, and all phases at
    once, are over all. Returns the number of contacts, −1 where a gap is closed. Nothing is written where there is no
    room for all of them.
    """
    part, start, stop, phases = span
    whole = phases == ALL
    if phases & _GO:
        follow_bodies(watch, Q, 0 if whole else start, len(Q) if whole else stop)
    if phases & _FOLLOW:
        last = max(len(watch.near), len(watch.vertices)) if whole else stop
        follow_pairs(watch, 0 if whole else start, last)
        move_vertices(watch.vertices, scene.V, Q, 0 if whole else start, last, active.X)
    if not phases & ~(_GO | _FOLLOW):
        return 0
    counts, parts = chosen.counts, len(chosen.counts)
    if not whole:
        start, stop = bound(chosen.bounds, part, parts), bound(chosen.bounds, part + 1, parts)
    if phases & _CHOOSE:
        counts[part] = _choose(watch, candidates, scene, runs, active.X, start, stop, chosen)
        if not whole:
            return 0
    n, count = place(counts, part)
    if not 0 <= count <= len(active.energy):
        return count
    if phases & _WRITE:
        end = _write(candidates, scene, stiffness, h2, chosen, start, n, n + counts[part], active)
        chosen.pieces.span[part, 0], chosen.pieces.span[part, 1] = start, end
    if phases & _SUM:
        join_pieces(chosen.pieces, count, active.runs)
        _sum(owner, chosen, active, E)
        if not whole and count > chosen.most[0]:
            chosen.most[0] = count
            balance(chosen)
    return count


def find_active(
    watch: Watched, candidates: Candidates, scene: ContactScene, stiffness: Array, h2: float, Q: Array, runs: Indices,
    owner: Indices, chosen: Chosen, active: ActiveContacts, E: Array,
) -> bool:  # fmt: skip
    """Go to Q; fill the active contacts from all candidates with a body that runs; E[owner] += energies.

    stiffness (n,) gives κ d̂² of an adaptive contact, which −κ multiplies. Candidates of one point and one patch follow
    each other; only the nearest of them is a contact. Distances of those that may be in reach are measured and
    remembered, see known.py. False where a gap is closed. `chosen` is room to work in.
    """
    arguments = (watch, candidates, scene, stiffness, h2, Q, runs, owner, chosen, active, E)
    size = candidates.count
    spans = chunks(size, _COST)
    chosen.make_room(size, len(spans))
    active.candidates, active.count = candidates, 0
    if len(spans) == 1:
        active.make_room(size)
        active.count = max(0, count := find_phases(*arguments, (0, 0, size, ALL)))
        return bool(count >= 0)
    others, last = max(len(watch.near), len(watch.vertices)), ((spans, _WRITE), (_WHOLE, _SUM))
    bodies, followers = chunks(len(Q), COST_OF_BODY), chunks(others, COST_OF_PAIR)
    phases = ((bodies, _GO), (followers, _FOLLOW), (spans, _CHOOSE), *last)
    count = map_phases(find_phases, phases, *arguments)[-1]
    if count > len(active.energy):
        active.make_room(count)
        map_phases(find_phases, last, *arguments)
    active.count = max(0, count)
    return count >= 0
