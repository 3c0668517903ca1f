"""Lists of pairs and of candidates in order, against NumPy's sorting."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import BOX, L_SHAPE, STAR, Stage, random_rotation, scaled
from scenes import pose

from dovetail.kernel.threads import using
from dovetail.solver.contact.features import _sort
from dovetail.solver.contact.kinds import EDGE_EDGE, KIND, PAIR, POINT_TRIANGLE, SHAPE, X0, A, B
from dovetail.solver.contact.near import _sort_by, find_pairs


@pytest.mark.parametrize("count", [0, 1, 2, 3, 17, 64, 65, 200])
def test_keys_are_sorted_and_equal_ones_stay_in_order(rng, count):
    key, order, spare = rng.integers(0, 20, count), np.empty(count, np.int64), np.empty(count, np.int64)
    _sort(key, count, order, spare)
    np.testing.assert_array_equal(order, np.argsort(key, kind="stable"))


def test_pairs_are_sorted_and_found_again(rng):
    key = rng.choice(400, 150, replace=False)  # pairs of 20 bodies
    rows = np.stack([key // 20, key % 20], axis=1)
    spare, found = np.empty_like(rows), np.empty_like(rows)
    _sort_by(rows, 1, np.zeros(21, np.int64), spare)
    _sort_by(spare, 0, np.zeros(21, np.int64), found)
    np.testing.assert_array_equal(found, rows[np.lexsort((rows[:, 1], rows[:, 0]))])
    some, place = found[rng.random(len(found)) < 0.5], np.empty(len(found), np.int64)
    find_pairs(found, some, place)
    present = {tuple(pair): k for k, pair in enumerate(some.tolist())}
    assert place.tolist() == [present.get(tuple(pair), -1) for pair in found.tolist()]


@pytest.mark.parametrize("grain", [1e9, 0.05], ids=["one chunk", "many chunks"])
def test_candidates_of_a_pair_come_by_kind_point_and_patch(rng, grain):
    with using(3, grain):
        stage = Stage(d_hat=0.2)
        for k, mesh in enumerate((BOX, L_SHAPE, STAR)):
            places = [(0.5 * i, 0.5 * j, 0.5 * k) for i in range(2) for j in range(2)]
            stage.add(f"{k}", scaled(mesh, 0.25), [pose(place, random_rotation(rng)) for place in places])
        probe = stage.probe()
        probe.look(probe.Q)
        found = probe.contact.candidates
    patch = np.where(found.pairs[:, KIND] == POINT_TRIANGLE, found.numbers[:, SHAPE], 0.0)
    order = np.lexsort((patch, found.pairs[:, X0], found.pairs[:, KIND], found.pairs[:, PAIR]))
    np.testing.assert_array_equal(order, np.arange(len(order)))
    assert len(order) > 500 and len(np.unique(patch)) > 3
    pairs, scene = found.pairs, probe.contact.scene
    assert set(pairs[:, KIND]) == {POINT_TRIANGLE, EDGE_EDGE}  # four vertices each
    first_of_b = np.where(pairs[:, KIND] == EDGE_EDGE, 2, 1)[:, None]
    body = np.where(np.arange(4) < first_of_b, pairs[:, A, None], pairs[:, B, None])
    spoken_of = sorted({*zip(pairs[:, X0 : X0 + 4].ravel().tolist(), body.ravel().tolist(), strict=True)})
    expected = [(x, b, x - scene.x_base[b]) for x, b in spoken_of]
    np.testing.assert_array_equal(probe.contact.watch.vertices, expected)
