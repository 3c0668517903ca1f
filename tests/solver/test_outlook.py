"""When Newton's iteration ends before a step is within the tolerances, and what a step that turns bodies does."""

from __future__ import annotations

import numpy as np
import pytest
from scenes import TIGHT, add_chain, new_scene

from dovetail.solver.iterate import move
from dovetail.solver.outlook import STRAIGHT, Outlook


def lasts(*sizes: float, rate: float = 0.0, turned: bool = False) -> list[bool]:
    """Whether each of some steps of one island counts as its last."""
    outlook, found = Outlook(1), []
    for size in sizes:
        now = np.array([size])
        found.append(bool(outlook.last(now)[0]))
        outlook.follow(now, np.array([turned]), rate)
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
    assert lasts(100.0, 3.0, rate=2 * STRAIGHT) == [False, False]
    assert lasts(100.0, 3.0, rate=2 * STRAIGHT, turned=True) == [False, True]


def test_an_island_that_begins_anew_has_no_outlook():
    outlook = Outlook(2)
    outlook.follow(np.array([100.0, 100.0]), None, 0.0)
    outlook.forget(np.array([True, False]))
    assert outlook.last(np.array([3.0, 3.0])).tolist() == [False, True]


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
