"""The two sweeps over all places: emitted code where eight bodies have joints of a common kind, else plain loops.

Arguments `balls`, `hinges` and `driven` are None where no chunk has the cases of that name. Their code is then not
compiled: conditions on them stand alone, so that Numba sees it. A first run waits for little else.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.emit import LANES
from dovetail.kernel.kernel import jit_enabled, kernel
from dovetail.solver.articulated.arrays import SweepArrays, SweepWeights
from dovetail.solver.articulated.cousins import down_of, up_of
from dovetail.solver.articulated.driven import local_driven_of, motion_driven_of
from dovetail.solver.articulated.eliminations import eliminate_of, eliminate_wide_of, substitute_of
from dovetail.solver.articulated.lanes import local_of, motion_of
from dovetail.solver.articulated.layout import CHILDREN, FIRST_CHILD, FRAME, JOINT, KEPT, MOTION, OWN
from dovetail.solver.articulated.sweep import eliminate_place, hold_root, substitute_place
from dovetail.solver.bodies import Bodies
from dovetail.typing import Array, Indices

__all__ = ["BALLS", "CASES", "COUSINS", "DRIVEN", "HINGES", "PLAIN", "ROPE", "ROPES", "sweep"]

CASES: tuple[tuple[tuple[int, ...], int], ...] = (
    ((), 1), ((), 2), ((1,), 1), ((1, 1), 1), ((2,), 2), ((1,), 1), ((), 2), ((2,), 2),
)  # fmt: skip
"""Points of each child and of the body itself, by number of the case."""

ROPE, ROPES = 2, 5
"""The cases of bodies with a ball above and below: one after the other, and eight side by side."""

COUSINS = (0, 3, ROPES)
"""Cases whose chunks have all places on one level, or on none's way: they are taken eight at a time."""

BALLS, HINGES, DRIVEN = (0, ROPE, 3, ROPES), (1, 4), (6, 7)
"""Cases with one point in each joint, with two, and with two and a law on the angle, see driven.py."""

PLAIN = -1
"""The case of all other bodies."""

if jit_enabled:
    _up_0, _up_1, _up_2 = (up_of(children) for children in range(3))
    _down_0, _down_1, _down_2 = (down_of(children) for children in range(3))
    _local_2, _local_4 = local_of(2), local_of(4, below=2)
    _leaf_2, _chain_1, _chain_2 = eliminate_of((), 2), eliminate_of((1,), 1), eliminate_wide_of((3, 3), 6)
    _back_11, _back_22 = substitute_of(3, 3), substitute_of(6, 6)
    _motion_2, _motion_11, _motion_22 = motion_of(2, 2), motion_of(2, 1), motion_of(4, 2)
    _local_driven_0, _local_driven_1 = (local_driven_of(children) for children in range(2))
    _driven_leaf, _driven_chain = eliminate_wide_of((), 7), eliminate_wide_of((3, 3, 1), 7)
    _driven_back = substitute_of(7, 7)
    _motion_driven_0, _motion_driven_1 = (motion_driven_of(children) for children in range(2))


@kernel
def _find(s: SweepArrays, first: int, size: int, some: int, all_active: bool, active: Indices, spare: int) -> bool:
    """starts (rows, 8) ← where cousins with `some` children read and write, see layout.py; False if none of them runs.

    Those that rest write the forces below them to the spare triples.
    """
    starts, runs = s.starts, all_active
    for lane in range(LANES):
        i = first + min(lane, size - 1)
        starts[OWN, lane], starts[JOINT, lane] = s.phi_start[i], 3 * s.upward[i]
        if some:
            j = s.children[i]
            starts[FIRST_CHILD, lane] = s.phi_start[j]
            starts[FIRST_CHILD + 1, lane] = s.phi_start[j + some - 1]
            starts[CHILDREN, lane] = 3 * s.upward[j]
        if not all_active:
            if active[s.body[i]]:
                runs = True
            else:
                starts[CHILDREN, lane] = spare
    return runs


@kernel
def sweep(
    balls: int | None, hinges: int | None, driven: int | None, s: SweepArrays, bodies: Bodies, given: SweepWeights,
    active: Indices, Q: Array, Q_tilde: Array, two: int, push: Array, steps: tuple[Array, Array],
) -> int:  # fmt: skip
    """Frames, compliances and eliminations up to the roots, then multipliers and steps down; see sweep.py.

    steps[0] (n, 12) ← Newton step of active bodies (n,), and steps[1] if `two`, for a second right-hand side M push, of
    bodies in trees without laws. Returns −1, or the body at which a pivot is not positive (plain places only; elsewhere
    NaN will show).

    One function, since code of a kernel that another one calls is compiled twice, which would add seven seconds to a
    first run.
    """
    case, first, size, known, store = s.case, s.first, s.size, s.known, s.store
    points_at, lanes_at, rigid, points = s.points_at, s.lanes_at, s.rigid, s.points
    lane_body, lane_child, lane_own = s.lane_body, s.lane_child, s.lane_own
    body, children, upward, phi_start, y_start = s.body, s.children, s.upward, s.phi_start, s.y_start
    compliance, C, lines, starts = s.compliance, s.C, s.lines, s.starts
    frame, kept, Phi, Y, multiplier, second, far = s.frame, s.kept, s.Phi, s.Y, s.multiplier, s.second, s.far
    tables, widest, (y, y_second), lane_law = given.tables, s.widest, steps, s.lane_law
    all_active = True
    for i in range(len(body)):
        all_active = all_active and active[body[i]] != 0
    wide = LANES * ((widest + 2 + LANES - 1) // LANES)
    A, Z, small = np.zeros((widest, wide)), np.zeros((12, wide if len(s.R) else 0)), np.empty((3, 4, 3))
    bad = -1
    spare = 3 * len(compliance) - 3 * LANES
    # ---- the way up
    for n in s.upwards:
        kind, start = case[n], first[n]
        if kind == PLAIN:
            for lane in range(size[n] - 1, -1, -1):
                i = start + lane
                if active[body[i]]:
                    fine = eliminate_place(i, s, bodies, given, Q, Q_tilde, two, push, A, Z, small, store[n] + lane)
                    if not fine:
                        bad = body[i]
            continue
        if two != 0 and kind >= DRIVEN[0]:
            continue
        constants = tables[known[n]]
        at, p, q, o = points_at[n], LANES * n, LANES * FRAME * store[n], LANES * KEPT * store[n]
        some = children[start + 1] - children[start]
        if balls is not None:
            if kind == 0 or kind == 3 or kind == ROPES:
                soft, y_at = 1 - rigid[n], lanes_at[n]
                if not _find(s, start, size[n], some, all_active, active, spare):
                    continue
                if kind == 0:
                    _up_0(
                        lane_body, p, constants, points, at, Q, Q_tilde, frame, q, two, push, kept, o, Phi, starts, Y,
                        y_at, soft, compliance, second, far,
                    )  # fmt: skip
                elif kind == ROPES:
                    _up_1(
                        lane_body, p, constants, points, at, Q, Q_tilde, frame, q, two, push, kept, o, Phi, starts, Y,
                        y_at, soft, compliance, second, far,
                    )  # fmt: skip
                else:
                    _up_2(
                        lane_body, p, constants, points, at, Q, Q_tilde, frame, q, two, push, kept, o, Phi, starts, Y,
                        y_at, soft, compliance, second, far,
                    )  # fmt: skip
                continue
            if kind == ROPE:
                _local_2(lane_body, p, constants, points, at, Q, Q_tilde, frame, q, C, lines, two, push, kept, o, far)
        if hinges is not None:
            if kind == 1:
                _local_2(lane_body, p, constants, points, at, Q, Q_tilde, frame, q, C, lines, two, push, kept, o, far)
            elif kind == 4:
                _local_4(lane_body, p, constants, points, at, Q, Q_tilde, frame, q, C, lines, two, push, kept, o, far)
        if driven is not None:
            if kind == DRIVEN[0]:
                _local_driven_0(
                    lane_body, p, constants, points, at, Q, Q_tilde, frame, q, C, lines, s.covectors, s.residual,
                    lane_law, 3 * p, far,
                )  # fmt: skip
            elif kind == DRIVEN[1]:
                _local_driven_1(
                    lane_body, p, constants, points, at, Q, Q_tilde, frame, q, C, lines, s.covectors, s.residual,
                    lane_law, 3 * p, far,
                )  # fmt: skip
        # places of a chunk are alike, so that all but Φ lie at equal distances
        own, y_size = upward[start + 1] - upward[start], y_start[start + 1] - y_start[start]
        for lane in range(size[n] - 1, -1, -1):
            i, j = start + lane, children[start] + lane * some
            if not all_active and not active[body[i]]:
                continue
            mine, y_at = phi_start[i], y_start[start] + lane * y_size
            ours, theirs = 3 * (upward[start] + lane * own), 3 * upward[j]
            own_at = spare if rigid[n] else ours
            child = phi_start[j] if some else 0
            if balls is not None:  # noqa: SIM102
                if kind == ROPE:
                    _chain_1(C, lane, Phi, child, mine, Y, y_at, compliance, own_at, two, second, theirs, ours)
            if hinges is not None:
                if kind == 1:
                    _leaf_2(C, lane, Phi, child, mine, Y, y_at, compliance, own_at, two, second, theirs, ours)
                elif kind == 4:
                    _chain_2(
                        C, lines, lane, Phi, child, mine, Y, y_at, compliance, own_at, two, second, theirs, ours, far
                    )
            if driven is not None:
                if kind == DRIVEN[0]:
                    _driven_leaf(
                        C, lines, lane, Phi, child, mine, Y, y_at, compliance, own_at, two, second, theirs, ours, far
                    )
                elif kind == DRIVEN[1]:
                    _driven_chain(
                        C, lines, lane, Phi, child, mine, Y, y_at, compliance, own_at, two, second, theirs, ours, far
                    )
    for i in range(children[0] if len(body) else 0):
        if active[body[i]] and not hold_root(i, s, Q, two, A, small):
            bad = body[i]
    if bad >= 0:
        return bad
    # ---- the way down
    for n in range(len(case)):
        kind, start = case[n], first[n]
        if kind == PLAIN:
            for lane in range(size[n]):
                i = start + lane
                if active[body[i]]:
                    substitute_place(i, s, bodies, given, Z, small, store[n] + lane, two, y, y_second)
            continue
        if two != 0 and kind >= DRIVEN[0]:
            continue
        constants = tables[known[n]]
        own_at, own = 3 * upward[start], 3 * (upward[start + 1] - upward[start])
        child_at, some = 3 * upward[children[start]], children[start + 1] - children[start]
        below = 3 * (upward[children[start + 1]] - upward[children[start]])
        at, p, q = points_at[n], LANES * n, LANES * FRAME * store[n]
        is_cousin = kind == 0 or kind == 3 or kind == ROPES
        if is_cousin:
            if not _find(s, start, size[n], some, all_active, active, spare):
                continue
        else:
            for lane in range(size[n]):
                if not all_active and not active[body[start + lane]]:
                    continue
                y_at = y_start[start] + lane * (y_start[start + 1] - y_start[start])
                ours, theirs = own_at + lane * own, child_at + lane * below
                if balls is not None:  # noqa: SIM102
                    if kind == ROPE:
                        _back_11(Y, y_at, multiplier, ours, theirs, two, second)
                if hinges is not None:  # noqa: SIM102
                    if kind == 4:
                        _back_22(Y, y_at, multiplier, ours, theirs, two, second)
                if driven is not None:  # noqa: SIM102
                    if kind == DRIVEN[1]:
                        _driven_back(Y, y_at, multiplier, ours, theirs, two, second)
        for column in range(2 if two else 1):
            force, z, caused = (multiplier, y, frame) if column == 0 else (second, y_second, kept)
            o = q + LANES * (FRAME - MOTION) if column == 0 else LANES * KEPT * store[n]
            if balls is not None:
                if kind == ROPE:
                    _motion_11(lane_body, p, constants, points, at, frame, q, caused, o, force, lane_child, lane_own, z)
                elif is_cousin:
                    y_at = lanes_at[n]
                    initial = Y if column == 0 else kept
                    r = y_at + LANES * 9 * some if column == 0 else o + LANES * MOTION
                    if kind == 0:
                        _down_0(
                            lane_body, p, constants, points, at, frame, q, caused, o, force, starts, Y, y_at,
                            initial, r, z,
                        )  # fmt: skip
                    elif kind == ROPES:
                        _down_1(
                            lane_body, p, constants, points, at, frame, q, caused, o, force, starts, Y, y_at,
                            initial, r, z,
                        )  # fmt: skip
                    else:
                        _down_2(
                            lane_body, p, constants, points, at, frame, q, caused, o, force, starts, Y, y_at,
                            initial, r, z,
                        )  # fmt: skip
            if hinges is not None:
                if kind == 1:
                    _motion_2(lane_body, p, constants, points, at, frame, q, caused, o, force, lane_child, lane_own, z)
                elif kind == 4:
                    _motion_22(lane_body, p, constants, points, at, frame, q, caused, o, force, lane_child, lane_own, z)
            if driven is not None:
                if kind == DRIVEN[0]:
                    _motion_driven_0(
                        lane_body, p, constants, points, at, frame, q, caused, o, force, lane_child, lane_own,
                        s.covectors, lane_law, 3 * p, z,
                    )  # fmt: skip
                elif kind == DRIVEN[1]:
                    _motion_driven_1(
                        lane_body, p, constants, points, at, frame, q, caused, o, force, lane_child, lane_own,
                        s.covectors, lane_law, 3 * p, z,
                    )  # fmt: skip
    return bad
