"""When Newton's iteration ends before a step is within the tolerances, and what a step that turns bodies does."""

from __future__ import annotations

import numpy as np
import pytest
from scenes import TIGHT, add_chain, new_scene

from dovetail.solver.iterate import move
from dovetail.solver.outlook import conclude, foresee, keep, sift


def lasts(*sizes: float, rate: float = 0.0, turns: bool = False) -> list[bool]:
    """Whether each of some steps of one island counts as its last, by foresight or within the tolerances."""
    before, running, found = np.full(1, np.inf), np.ones(1, np.int64), []
    for size in sizes:
        now, done, last, turned = np.array([size]), np.array([size <= 1.0]), np.zeros(1, bool), np.zeros(1, bool)
        foresee(now, before, np.array([turns]), rate, True, running, done, last, turned)
        assert not (last & done).any() and not (turned & (last | done)).any()
        found.append(bool((last | done)[0]))
    return found


def test_a_step_within_the_tolerances_is_the_last():
    assert lasts(1.0) == [True]
    assert lasts(1.01) == [False]


def test_a_step_is_the_last_if_one_that_shrinks_as_much_would_be_far_within_the_tolerances():
    assert lasts(100.0, 3.0) == [False, True]
    assert lasts(100.0, 8.0) == [False, False]


def test_nothing_is_foretold_of_joints_that_stay_open():
    assert lasts(100.0, np.inf, 2.0) == [False, False, False]


def test_nothing_is_foretold_far_from_the_tolerances():
    assert lasts(1e9, 11.0) == [False, False]


def test_nothing_is_foretold_after_a_straight_step_that_turned_bodies():
    assert lasts(100.0, 3.0, rate=1e-2) == [False, False]
    assert lasts(100.0, 3.0, rate=1e-2, turns=True) == [False, True]


def flags(*values: bool) -> np.ndarray:
    return np.array(values)


def test_trials_go_on_while_steps_shrink_and_end_straight():
    before, shortest, held = np.full(3, np.inf), np.full(3, np.inf), flags(True, False, True)
    tried, last, turned = flags(True, True, True), flags(False, False, False), flags(False, False, False)
    assert sift(np.array([100.0, 100.0, 100.0]), before, shortest, 0.1, True, held, tried, last, turned) == (3, 1)
    assert turned.all() and not last.any(), "only where no joint is held do energies tell something"
    # the first is nearly there, the second has stopped shrinking, the third does shrink
    assert sift(np.array([3.0, 60.0, 40.0]), before, shortest, 0.1, True, held, tried, last, turned) == (2, 1)
    assert tried.tolist() == [True, False, True] and last.tolist() == [True, False, False]
    assert turned.tolist() == [False, False, True]


def test_the_last_trial_is_straight():
    tried, last, turned = flags(True), flags(False), flags(False)
    infinite = np.full(1, np.inf)
    sift(np.array([50.0]), infinite.copy(), infinite.copy(), 0.1, False, flags(True), tried, last, turned)
    assert tried[0] and not turned[0]


def test_islands_stay_where_their_energy_is_within_its_limit():
    alpha, ended, tried = np.full(4, 0.5), flags(False, False, False, False), flags(True, True, True, False)
    last, turned, held = flags(True, True, False, True), flags(False, False, True, False), flags(True, True, True, True)
    E, limit = np.array([1.0, 3.0, 0.0, 0.0]), np.full(4, 2.0)
    assert keep(E, limit, held, turned, last, tried, alpha, ended) == 1
    assert alpha.tolist() == [1.0, 0.0, 0.0, 0.5] and ended.tolist() == [True, False, False, False]
    assert tried.tolist() == [False, False, True, False], "open joints are tried on"


def test_a_last_step_that_is_not_taken_whole_is_none():
    done = flags(False, False, True)
    assert conclude(np.array([1.0, 0.5, 1.0]), flags(True, True, False), done) == 1
    assert done.tolist() == [True, False, True]


def moved(A: np.ndarray, y: np.ndarray, alpha: float, turns: bool) -> np.ndarray:
    Q, out, step = np.zeros((1, 4, 3)), np.empty((1, 4, 3)), np.zeros((1, 12))
    Q[0, 1:], step[0, 3:] = A, y.ravel()
    one = np.ones(1, np.int64)
    move(np.zeros(1, np.int64), 0 * one, one, np.array([turns]), step, np.array([alpha]), Q, out)
    return out[0, 1:]


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_a_step_that_turns_a_body_stretches_it_only_as_the_step_asks_for(alpha, rng):
    A = np.linalg.qr(rng.normal(size=(3, 3)))[0] @ (np.eye(3) + 1e-3 * rng.normal(size=(3, 3)))
    y = np.cross(1e-2 * rng.normal(size=3), A) + 1e-4 * rng.normal(size=(3, 3))
    asked = A @ A.T - alpha * (A @ y.T + y @ A.T)
    straight, turned = moved(A, y, alpha, False), moved(A, y, alpha, True)
    np.testing.assert_allclose(straight, A - alpha * y, rtol=0.0, atol=1e-15)
    left = np.abs(turned @ turned.T - asked).max()
    # G is some 1e-4 and taken out to first order: what is left is G times the strain of A, some 2e-3
    assert left < 0.02 * np.abs(straight @ straight.T - asked).max()


def test_a_step_that_turns_a_body_never_turns_it_inside_out(rng):
    for _ in range(50):
        Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        w = rng.normal(size=3) * 5.0
        y = np.cross(w, Q)  # rows turn with ω
        assert np.linalg.det(moved(Q, y, 1.0, True)) * np.linalg.det(Q) > 0.0


def test_what_is_left_out_is_less_than_the_tolerances(start):
    """A chain that falls for half a second, with default tolerances and with tight ones."""

    def tip(**config) -> tuple[np.ndarray, int]:
        scene = new_scene(gravity=[0.0, 0.0, -9.8], **config)
        links = add_chain(scene, 20)
        world, count = start(scene), 0
        for _ in range(50):
            world.advance()
            count += world.report.iterations
        world.retrieve()
        return links.geometry.transforms.values[-1, :3, 3].copy(), count

    found, iterations = tip()
    exact, _ = tip(**{key.replace("/", "__"): value for key, value in TIGHT.items()})
    # 1e-3 m/s over 0.5 s; far less is left, as every step ends well below its tolerance
    assert np.abs(found - exact).max() < 0.02 * 1e-3 * 0.5
    assert iterations <= 2.1 * 50
