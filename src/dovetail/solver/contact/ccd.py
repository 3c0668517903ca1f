"""Continuous collision detection: how far a step may go without a gap closing.

Additive CCD: along a straight step the distance of two features shrinks at most as fast as their vertices move
towards each other. Advancing by (gap − landing gap)/speed is therefore always safe, and repeating it converges to
the largest safe step. Common motion is taken out first. A step never lands below a part of a gap g = distance −
thickness: one that is squeezed to nothing would take many iterations to open again. That is min(0.3 d̂, g/5), for a blow
closes gap after gap, and halving each takes many iterations, too; below 0.1 d̂ it is d̂/50, then g/2, so that no series
of steps gets to round-off; and g/10 of what is far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.threads import Span, chunks, map_phases
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.kinds import D_HAT, KIND, PAIR, THICKNESS, X0, A, B, corners_of, split_of
from dovetail.solver.contact.known import Watched, at_least, measure, squared_distance
from dovetail.solver.contact.motion import COST_OF_PAIR, tighten, vertex_step
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.islands import Islands
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = ["KEEP", "TIGHTEN", "free_share", "keep_open"]

_ROUNDS = 200
_COST = 16.0  # [ns] of a candidate


@kernel
def _landing(gap: float, d_hat: float) -> float:
    return max(0.1 * gap, min(0.3 * d_hat, 0.5 * gap, max(0.2 * gap, 0.02 * d_hat)))


@kernel
def _set_points(pairs: Indices, k: int, V: Array, x_base: Indices, X: Array, y: Array, P: Array, dP: Array) -> None:
    """P, dP (4, 3) ← the vertices of candidate k and their motion in the step −y."""
    kind = pairs[k, KIND]
    for i in range(corners_of(kind)):
        x, body = pairs[k, X0 + i], pairs[k, A if i < split_of(kind) else B]
        for axis in range(3):
            P[i, axis] = X[x, axis]
            dP[i, axis] = vertex_step(V, x - x_base[body], y, body, axis)


@kernel
def _closing_speed(kind: int, dP: Array) -> float:
    """How fast two features approach at most, common motion taken out of dP."""
    corners, split = corners_of(kind), split_of(kind)
    for axis in range(3):
        mean = 0.0
        for i in range(corners):
            mean += dP[i, axis]
        for i in range(corners):
            dP[i, axis] -= mean / corners
    speed_a = speed_b = 0.0
    for i in range(corners):
        speed = math.sqrt(dP[i, 0] ** 2 + dP[i, 1] ** 2 + dP[i, 2] ** 2)
        if i < split:
            speed_a = max(speed_a, speed)
        else:
            speed_b = max(speed_b, speed)
    return speed_a + speed_b


@kernel
def _advance(kind: int, P: Array, dP: Array, thickness: float, landing: float, room: float, share: float) -> float:
    """The part of a share of the step that keeps two features apart by the landing gap, of which `room` is left."""
    speed = _closing_speed(kind, dP)
    if share * speed <= room:
        return share
    travelled, ahead = 0.0, room / speed
    for _ in range(_ROUNDS):
        travelled += ahead
        if travelled >= share:
            return share
        for i in range(corners_of(kind)):
            for axis in range(3):
                P[i, axis] += ahead * dP[i, axis]
        left = math.sqrt(squared_distance(kind, P, 0, 1, 2, 3)) - thickness - landing
        if left < 0.1 * landing:
            break
        ahead = 0.9 * left / speed
    return min(share, travelled)


@mapped
def keep_open(
    candidates: Candidates, scene: ContactScene, X: Array, path: Array, need: Array, islands: Islands, y: Array,
    chosen: Indices, shares: Array, span: Span,
) -> None:  # fmt: skip
    """shares[part] ← alpha of islands, at most what keeps the gaps of some candidates with a chosen body open."""
    P, dP = np.empty((4, 3)), np.empty((4, 3))
    pairs, numbers, known = candidates.pairs, candidates.numbers, candidates.known
    V, x_base, plane_point, plane_normal = scene.V, scene.x_base, scene.plane_point, scene.plane_normal
    island, running, alpha = islands.of, islands.running, shares[span[0]]
    for m in range(islands.count):
        alpha[m] = islands.alpha[m]
    for k in range(span[1], span[2]):
        k = natural(k)
        kind, a, b = pairs[k, KIND], natural(pairs[k, A]), pairs[k, B]
        if not (chosen[a] or (b >= 0 and chosen[b])):
            continue
        m = island[a]
        if b >= 0 and island[b] >= 0:
            if m >= 0 and m != island[b]:
                continue  # islands are apart whatever share of the step each takes
            m = island[b]
        if not running[m]:
            continue
        share = alpha[m]
        d_hat, thickness = numbers[k, D_HAT], numbers[k, THICKNESS]
        if b < 0:
            plane = pairs[k, X0 + 1]
            _set_points(pairs, k, V, x_base, X, y, P, dP)
            height = closing = 0.0
            for axis in range(3):
                height += (P[0, axis] - plane_point[plane, axis]) * plane_normal[plane, axis]
                closing -= dP[0, axis] * plane_normal[plane, axis]
            gap = height - thickness
            room = gap - _landing(gap, d_hat)
            if share * closing > room:
                alpha[m] = room / closing
            continue
        most = share * need[pairs[k, PAIR]]
        gap = at_least(pairs, known, k, path) - thickness
        if most <= gap - _landing(gap, d_hat):
            continue
        gap = measure(pairs, known, k, X, path) - thickness
        landing = _landing(gap, d_hat)
        if most <= gap - landing:
            continue
        _set_points(pairs, k, V, x_base, X, y, P, dP)
        alpha[m] = min(share, _advance(kind, P, dP, thickness, landing, gap - landing, share))


TIGHTEN, KEEP = 1, 2
"""What bounds a step: what is covered (motion.py), and gaps."""
_LEAST = 4


@mapped
def hold_phases(
    candidates: Candidates, scene: ContactScene, X: Array, watch: Watched, islands: Islands, y: Array, chosen: Indices,
    shares: Array, span: tuple[int, int, int, int],
) -> None:  # fmt: skip
    """Phases of `free_share`, of some pairs or candidates; then the least of what as many chunks allow as span ends."""
    part, start, stop, phase = span
    if phase == TIGHTEN:
        tighten(watch, islands, shares, (part, start, stop))
    elif phase == KEEP:
        keep_open(candidates, scene, X, watch.path, watch.need, islands, y, chosen, shares, (part, start, stop))
    else:
        alpha = islands.alpha
        for each in range(stop):
            for m in range(islands.count):
                alpha[m] = shares[each, m] if each == 0 else min(alpha[m], shares[each, m])


def free_share(
    candidates: Candidates, scene: ContactScene, X: Array, watch: Watched, islands: Islands, y: Array, chosen: Indices,
    asked: int,
) -> None:  # fmt: skip
    """alpha of islands ← at most what of the step −y is covered and keeps every gap of a chosen body (n,) open.

    Most candidates are ruled out by what is known of their distances and by the motion of their bodies.
    """
    works = (TIGHTEN, chunks(len(watch.near), COST_OF_PAIR)), (KEEP, chunks(candidates.count, _COST))
    phases, rows = list[tuple[Sequence[Span], int]](), 1
    for phase, spans in works:
        if asked & phase:
            phases += ((spans, phase), ([(0, 0, len(spans))], _LEAST))
            rows = max(rows, len(spans))
    map_phases(hold_phases, phases, candidates, scene, X, watch, islands, y, chosen, islands.rows(rows))
