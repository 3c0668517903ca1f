"""The two sweeps over all places: emitted code where eight bodies have joints of a common kind, else plain loops."""

from __future__ import annotations

import numpy as np

from dovetail.solver.articulated.eliminations import eliminate_of, eliminate_wide_of, substitute_of
from dovetail.solver.articulated.lanes import local_of, motion_of
from dovetail.solver.articulated.layout import FRAME, MOTION
from dovetail.solver.articulated.sweep import eliminate_place, substitute_place
from dovetail.solver.emit import LANES
from dovetail.solver.kernel import jit_enabled, kernel
from dovetail.typing import Array, Indices

__all__ = ["CASES", "PLAIN", "sweep"]

CASES: tuple[tuple[tuple[int, ...], int], ...] = (((), 1), ((), 2), ((1,), 1), ((1, 1), 1), ((2,), 2))
"""Triples of each child and of the body itself, by number of the case."""

PLAIN = -1
"""The case of all other bodies."""

if jit_enabled:
    _local_1, _local_2, _local_3 = (local_of(triples) for triples in (1, 2, 3))
    _local_4 = local_of(4, below=2)
    _leaf_1, _leaf_2, _chain_1, _fork_1 = (eliminate_of(*case) for case in CASES[:-1])
    _chain_2 = eliminate_wide_of(2, 2)
    _down_11, _down_21, _down_22 = substitute_of(1, 1), substitute_of(2, 1), substitute_of(2, 2)
    _motion_1, _motion_2, _motion_11, _motion_21, _motion_22 = (
        motion_of(sum(children) + own, own) for children, own in CASES
    )


@kernel
def _know(kinds: Indices, table: Array, first: int, constants: Array) -> None:
    """constants (·, 8) ← columns for the kinds of eight bodies."""
    for k in range(table.shape[1]):
        for lane in range(LANES):
            constants[k, lane] = table[kinds[first + lane], k]


@kernel
def _sweep_up(
    case: Indices, first: Indices, size: Indices, uniform: Indices, store: Indices, points_at: Indices, rigid: Indices,
    lane_body: Indices, lane_kind: Indices, points: Array, table: Array, body: Indices, children: Indices,
    upward: Indices, ground: Indices, other: Indices, phi_start: Indices, y_start: Indices, widest: int,
    weights: Array, special: Indices, mass: Array, inertia: Array, c: Array, w: Array, stress: Array, covectors: Array,
    compliance: Array, residual: Array, all_active: bool, active: Indices, position: Indices, Q: Array, Q_tilde: Array,
    two: int, push: Array, constants: Array, C: Array, lines: Array, frame: Array, motion: Array, R: Array, L: Array,
    u: Array, Phi: Array, Y: Array, second: Array,
) -> int:  # fmt: skip
    """Frames, compliances and eliminations from the leaves to the roots, chunk by chunk; see sweep.py.

    case, first, size, uniform, store, points_at, rigid (n)   of the chunks; see chunks.py
    lane_body, lane_kind (8n), points, table                  bodies of eight lanes, their points and constants
    compliance (t + 8, 3)                                     zeros at the end stand for those of rigid chunks

    Returns −1, or the body at which a pivot is not positive (plain places only; elsewhere NaN will show).
    """
    A, Z, small = np.empty((3 * widest, 3 * widest + 2)), np.empty((3 * widest + 2, 12)), np.empty((3, 4, 3))
    held = -1
    bad = -1
    for n in range(len(case) - 1, -1, -1):
        kind = case[n]
        if kind == PLAIN:
            for lane in range(size[n] - 1, -1, -1):
                i = first[n] + lane
                if active[position[body[i]]]:
                    fine = eliminate_place(
                        i, body, children, upward, ground, other, phi_start, y_start, weights, special, mass, inertia,
                        c, w, stress, covectors, compliance, residual, Q, Q_tilde, two, push, A, Z, small, R, L, u,
                        store[n] + lane, Phi, Y, second,
                    )  # fmt: skip
                    if not fine:
                        bad = body[i]
            continue
        if uniform[n] < 0 or uniform[n] != held:
            _know(lane_kind, table, LANES * n, constants)
            held = uniform[n]
        at, p, q, o = points_at[n], LANES * n, LANES * FRAME * store[n], LANES * MOTION * store[n]
        if kind == 0:
            _local_1(lane_body, p, constants, points, at, Q, Q_tilde, frame, q, C, lines, two, push, motion, o)
        elif kind == 1 or kind == 2:
            _local_2(lane_body, p, constants, points, at, Q, Q_tilde, frame, q, C, lines, two, push, motion, o)
        elif kind == 3:
            _local_3(lane_body, p, constants, points, at, Q, Q_tilde, frame, q, C, lines, two, push, motion, o)
        else:
            _local_4(lane_body, p, constants, points, at, Q, Q_tilde, frame, q, C, lines, two, push, motion, o)
        # places of a chunk are alike, so that all but Φ lie at equal distances
        start = first[n]
        own, some = upward[start + 1] - upward[start], children[start + 1] - children[start]
        y_size, soft = y_start[start + 1] - y_start[start], 3 * upward[start]
        for lane in range(size[n] - 1, -1, -1):
            i, j = start + lane, children[start] + lane * some
            if not all_active and not active[position[body[i]]]:
                continue
            mine, y_at = phi_start[i], y_start[start] + lane * y_size
            ours, theirs = soft + 3 * lane * own, 3 * upward[j]
            own_at = 3 * len(compliance) - 3 * LANES if rigid[n] else ours
            if kind == 0:
                _leaf_1(C, lane, Phi, 0, 0, mine, Y, y_at, compliance, own_at, two, second, theirs, ours)
            elif kind == 1:
                _leaf_2(C, lane, Phi, 0, 0, mine, Y, y_at, compliance, own_at, two, second, theirs, ours)
            elif kind == 2:
                child = phi_start[j]
                _chain_1(C, lane, Phi, child, 0, mine, Y, y_at, compliance, own_at, two, second, theirs, ours)
            elif kind == 3:
                child, other_child = phi_start[j], phi_start[j + 1]
                _fork_1(C, lane, Phi, child, other_child, mine, Y, y_at, compliance, own_at, two, second, theirs, ours)
            else:
                child = phi_start[j]
                _chain_2(C, lines, lane, Phi, child, mine, Y, y_at, compliance, own_at, two, second, theirs, ours)
    return bad


@kernel
def _sweep_down(
    case: Indices, first: Indices, size: Indices, uniform: Indices, store: Indices, points_at: Indices,
    lane_position: Indices, lane_kind: Indices, lane_child: Indices, lane_own: Indices, points: Array, table: Array,
    body: Indices, children: Indices, upward: Indices, ground: Indices, y_start: Indices, widest: int, weights: Array,
    special: Indices, mass: Array, inertia: Array, c: Array, w: Array, covectors: Array, all_active: bool,
    active: Indices, position: Indices, constants: Array, frame: Array, motion: Array, R: Array, L: Array, u: Array,
    Y: Array, two: int, multiplier: Array, second: Array, y: Array, y_second: Array,
) -> None:  # fmt: skip
    """Multipliers and steps from the roots to the leaves."""
    Z, small = np.empty((2, 12)), np.empty((3, 4, 3))
    held = -1
    for n in range(len(case)):
        kind = case[n]
        if kind == PLAIN:
            for lane in range(size[n]):
                i = first[n] + lane
                row = position[body[i]]
                if active[row]:
                    substitute_place(
                        i, body, children, upward, ground, y_start, weights, special, mass, inertia, c, w, covectors, Z,
                        small, R, L, u, store[n] + lane, Y, two, multiplier, second, row, y, y_second,
                    )  # fmt: skip
            continue
        if uniform[n] < 0 or uniform[n] != held:
            _know(lane_kind, table, LANES * n, constants)
            held = uniform[n]
        start = first[n]
        own_at, own = 3 * upward[start], 3 * (upward[start + 1] - upward[start])
        child_at = 3 * upward[children[start]]
        below = 3 * (upward[children[start + 1]] - upward[children[start]])
        y_size = y_start[start + 1] - y_start[start]
        for lane in range(size[n]):
            if not all_active and not active[position[body[start + lane]]]:
                continue
            y_at = y_start[start] + lane * y_size
            if kind == 2:
                _down_11(Y, y_at, multiplier, own_at + lane * own, child_at + lane * below, two, second)
            elif kind == 3:
                _down_21(Y, y_at, multiplier, own_at + lane * own, child_at + lane * below, two, second)
            elif kind == 4:
                _down_22(Y, y_at, multiplier, own_at + lane * own, child_at + lane * below, two, second)
        at, p, q = points_at[n], LANES * n, LANES * FRAME * store[n]
        for column in range(2 if two else 1):
            force, z, caused = (multiplier, y, frame) if column == 0 else (second, y_second, motion)
            o = q + LANES * (FRAME - MOTION) if column == 0 else LANES * MOTION * store[n]
            if kind == 0:
                _motion_1(lane_position, p, constants, points, at, frame, q, caused, o, force, lane_child, lane_own, z)
            elif kind == 1:
                _motion_2(lane_position, p, constants, points, at, frame, q, caused, o, force, lane_child, lane_own, z)
            elif kind == 2:
                _motion_11(lane_position, p, constants, points, at, frame, q, caused, o, force, lane_child, lane_own, z)
            elif kind == 3:
                _motion_21(lane_position, p, constants, points, at, frame, q, caused, o, force, lane_child, lane_own, z)
            else:
                _motion_22(lane_position, p, constants, points, at, frame, q, caused, o, force, lane_child, lane_own, z)


@kernel
def sweep(
    case: Indices, first: Indices, size: Indices, uniform: Indices, store: Indices, points_at: Indices, rigid: Indices,
    lane_body: Indices, lane_position: Indices, lane_kind: Indices, lane_child: Indices, lane_own: Indices,
    points: Array, table: Array, body: Indices, children: Indices, upward: Indices, ground: Indices, other: Indices,
    phi_start: Indices, y_start: Indices, widest: int, weights: Array, special: Indices, mass: Array, inertia: Array,
    c: Array, w: Array, stress: Array, covectors: Array, compliance: Array, residual: Array, active: Indices,
    position: Indices, Q: Array, Q_tilde: Array, two: int, push: Array, constants: Array, C: Array, lines: Array,
    frame: Array, motion: Array, R: Array, L: Array, u: Array, Phi: Array, Y: Array, multiplier: Array, second: Array,
    y: Array, y_second: Array,
) -> int:  # fmt: skip
    """Both in one call, as handing over so many arrays takes as long as the way down a hundred bodies.

    Returns −1, or the body at which the way up has ended.
    """
    all_active = True
    for k in range(len(active)):
        all_active = all_active and active[k] != 0
    bad = _sweep_up(
        case, first, size, uniform, store, points_at, rigid, lane_body, lane_kind, points, table, body, children,
        upward, ground, other, phi_start, y_start, widest, weights, special, mass, inertia, c, w, stress, covectors,
        compliance, residual, all_active, active, position, Q, Q_tilde, two, push, constants, C, lines, frame, motion,
        R, L, u, Phi, Y, second,
    )  # fmt: skip
    if bad < 0:
        _sweep_down(
            case, first, size, uniform, store, points_at, lane_position, lane_kind, lane_child, lane_own, points, table,
            body, children, upward, ground, y_start, widest, weights, special, mass, inertia, c, w, covectors,
            all_active, active, position, constants, frame, motion, R, L, u, Y, two, multiplier, second, y, y_second,
        )  # fmt: skip
    return bad
