"""Runs of contacts are the same wherever chunks begin, and divide bodies into equal work."""

from __future__ import annotations

from itertools import groupby, pairwise

import numpy as np
import pytest
from contact_scenes import boxes_in_touch

from dovetail.kernel.threads import MOST, using
from dovetail.solver.contact.runs import Pieces, Runs, by_rows, list_runs, note_run, owner_of, run_of
from dovetail.solver.contact.secant import foresee, size_by_rests

BODIES = 9


def rows_of(rng, runs=40):
    """Rows (k, 2) of body pairs, some of them half-planes or of a body with itself, either body first."""
    rows, last = [], (-2, -2)
    while len(rows) < runs:
        a, b = rng.integers(0, BODIES), rng.integers(-1, BODIES)
        if {a, b} != set(last):
            last = a, b
            rows += [(a, b) if b < 0 or rng.random() < 0.5 else (b, a) for _ in range(rng.integers(1, 5))]
    return np.array(rows)


def listed(rows, bounds):
    """Runs of rows that chunks between these bounds have noted."""
    pieces, runs = Pieces(), Runs(BODIES)
    pieces.make_room(len(rows), len(bounds) - 1)
    runs.make_room(len(rows))
    for part, (start, stop) in enumerate(pairwise(bounds)):
        piece = start - 1
        for k in range(start, stop):
            if k == start or set(rows[k]) != set(rows[k - 1]):
                piece += 1
                note_run(pieces, piece, k, *rows[k])
        pieces.span[part] = start, piece + 1
    list_runs(pieces, len(rows), runs)
    return runs


@pytest.mark.parametrize("parts", [1, 2, 7, 31])
def test_runs_are_those_of_all_rows_wherever_chunks_begin(rng, parts):
    rows = rows_of(rng)
    bounds = np.sort(rng.integers(0, len(rows) + 1, parts - 1))  # some chunks are empty, some within a run
    runs = listed(rows, [0, *bounds, len(rows)])
    expected = [(pair, len(list(group))) for pair, group in groupby((max(r), min(r)) for r in rows.tolist())]
    number = int(runs.number[0])
    assert [tuple(pair) for pair in runs.pairs[:number].tolist()] == [pair for pair, _ in expected]
    np.testing.assert_array_equal(np.diff(runs.first[: number + 1]), [length for _, length in expected])
    for b in range(BODIES):
        own = [k for k, (pair, _) in enumerate(expected) if b in pair]
        assert runs.of[runs.start[b] : runs.start[b + 1]].tolist() == own
        assert runs.before[b + 1] - runs.before[b] == sum(expected[k][1] for k in own)
    assert all(runs.first[run_of(runs, k)] <= k < runs.first[run_of(runs, k) + 1] for k in range(len(rows)))


def test_chunks_of_bodies_have_equal_rows_and_leave_none_out(rng):
    runs = listed(rows_of(rng, 200), [0, 50, 200])
    starts = [by_rows(runs, b) for b in range(BODIES + 1)]
    assert starts[0] == 0 and starts[-1] == BODIES and starts == sorted(starts)
    share = runs.before[BODIES] / BODIES
    most = np.diff(runs.before).max()
    for b, start in enumerate(starts[:-1]):
        assert 0 <= runs.before[start] - b * share < most  # a body is never divided
    assert [by_rows(Runs(3), b) for b in range(4)] == [0, 1, 2, 3]  # nothing touches


def test_the_first_free_body_owns_the_energy_of_a_pair():
    owner = np.array([0, -1, 2])
    assert [owner_of(owner, *pair) for pair in ((2, 0), (2, 1), (1, 0), (2, -1), (2, 2))] == [0, 2, 0, 2, 2]


def crowd(grain):
    """Twelve boxes in touch, looked at in chunks of so many microseconds."""
    probe = boxes_in_touch(12)
    with using(2, grain):
        probe.derivatives(probe.Q)
    return probe


def test_energies_of_contacts_have_the_same_bits_wherever_chunks_begin(rng):
    whole = crowd(1e9)
    contact, Q, h = whole.contact, whole.Q, whole.h
    expected, active, found = np.zeros(len(Q)), contact.contacts(), []
    assert contact.find(contact.watch, Q, h, active, expected) and active.count > 50
    for _ in range(20):
        E = np.zeros(len(Q))
        size = contact.candidates.count
        with using(2, 1e-3):
            contact.chosen.make_room(size, MOST)
            contact.chosen.bounds[1:-1] = np.sort(rng.integers(0, size + 1, MOST - 1))
            assert contact.find(contact.watch, Q, h, active, E)
        assert E.tobytes() == expected.tobytes()
        found.append(active.pairs.tobytes())
    assert len(set(found)) == 1


def test_chunks_of_candidates_become_equal_work():
    probe = crowd(1e-3)
    contact, Q = probe.contact, probe.Q
    with using(2, 1e-3):
        active, chosen = contact.contacts(), contact.chosen
        contact.find(contact.watch, Q, probe.h, active, np.zeros(len(Q)))
        before = chosen.counts.max()
        contact.find(contact.watch, Q, probe.h, active, np.zeros(len(Q)))
    assert chosen.bounds[0] == 0 and chosen.bounds[-1] == contact.candidates.count
    assert (np.diff(chosen.bounds) >= 0).all()
    # 32 chunks of some 20 candidates: contacts of a point lie in the one where they begin
    assert chosen.counts.max() <= before


def test_what_friction_leaves_enlarges_its_islands_however_it_is_cut(rng):
    sizes = []
    y = 1e-4 * rng.standard_normal((12, 12))
    probe = crowd(1e9)
    f, islands = probe.contact.friction, probe.model.islands
    # slips beyond ε, where the law itself has no slope and the secants do
    f.law[: f.count] = np.array([2.0 * f.epsilon, 0.0, 1.0, 1.0]) * rng.uniform(1.0, 2.0, (f.count, 1))
    for parts in (1, 2, 5, 31):
        islands.size[:] = 0.0
        bounds = [k * f.count // parts for k in range(parts + 1)]
        spans = list(zip(range(parts), bounds[:-1], bounds[1:], strict=True))
        some = [foresee(f, y, islands.unconverged, span) for span in spans]
        size_by_rests(f, f.count, parts, islands, 1e-6)
        sizes.append(islands.size[: islands.count].copy())
        assert any(some) and sizes[-1].max() > 0.0
        np.testing.assert_array_equal(sizes[-1], sizes[0])
