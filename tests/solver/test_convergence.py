"""When Newton's iteration ends before a step is within the tolerances, and what a curved step does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scenes import TIGHT, add_chain, new_scene

from dovetail.solver.convergence import accept_trials, close_finished, continue_trials, predict_last, settle
from dovetail.solver.islands import Islands
from dovetail.solver.iterate import move


def islands(count: int, **given: Any) -> Islands:
    """Islands of one body each that run, of which nothing is known but what is given."""
    made = Islands(np.ones(count, np.int64), np.zeros((0, 2), np.int64), np.zeros(count, np.int64))
    made.begin()
    for name, values in given.items():
        getattr(made, name)[:] = values
    return made


def lasts(*sizes: float, rate: float = 0.0, guarded: bool = False) -> list[bool]:
    """Whether each of some steps of one island counts as its last, by prediction or within the tolerances."""
    one, found = islands(1, guarded=guarded, alpha=1.0, rate=rate), []
    for size in sizes:
        one.size[0] = size
        left = settle(one, 1.0)
        known = one.gaps[0]
        assert predict_last(one, False, True) == one.gaps[0] - known
        assert left + one.done[0] == 1 and one.gaps[0] == max(known, one.curved[0])
        assert one.last[0] + one.done[0] + one.curved[0] <= 1
        found.append(bool(one.last[0] or one.done[0]))
    return found


def test_a_step_within_the_tolerances_is_the_last():
    assert lasts(1.0) == [True]
    assert lasts(1.01) == [False]


def test_a_step_ends_an_island_that_runs_if_enough_of_it_is_free():
    some = islands(3, size=0.5, alpha=(1.0, 0.9, 1.0), running=(1, 1, 0))
    assert settle(some, 1.0) == 1
    assert some.done.tolist() == [1, 0, 0]
    assert settle(some, 0.9) == 0
    assert some.done.tolist() == [1, 1, 0]
    assert settle(some, np.inf) == 2, "before a step may settle none ends"


def test_a_step_is_the_last_if_one_that_shrinks_as_much_would_be_far_within_the_tolerances():
    assert lasts(100.0, 3.0) == [False, True]
    assert lasts(100.0, 8.0) == [False, False]


def test_nothing_is_predicted_of_joints_that_stay_open():
    assert lasts(100.0, np.inf, 2.0) == [False, False, False]


def test_nothing_is_predicted_far_from_the_tolerances():
    assert lasts(1e9, 11.0) == [False, False]


def test_nothing_is_predicted_of_guarded_islands_which_go_straight():
    assert lasts(100.0, 3.0, guarded=True) == [False, False]
    assert lasts(100.0, 3.0, rate=1e-2, guarded=True) == [False, False]
    assert lasts(100.0, 3.0, rate=1e-2) == [False, True]
    assert lasts(100.0, 3.0, 1.0, guarded=True) == [False, False, True], "a step within the tolerances ends them"


def test_nothing_is_predicted_after_a_straight_step_that_turned_bodies():
    """A step is straight where it is the last, or its island is done; what follows if that was not taken whole."""
    some = islands(2, before=(100.0, 0.9), size=(3.0, 0.9), done=(0, 1), rate=1e-2)
    predict_last(some, False, True)
    assert some.last.tolist() == [1, 0] and not some.curved.any()
    assert np.isinf(some.before).all()


def test_islands_that_have_converged_are_neither_last_nor_curved():
    one = islands(1, before=100.0, size=3.0, running=0, rate=1e-2)
    assert predict_last(one, False, True) == 0
    assert not one.last.any() and not one.curved.any()


def test_before_a_step_may_settle_none_is_the_last():
    one = islands(1, before=100.0, size=3.0, rate=1e-2)
    assert predict_last(one, False, False) == 1
    assert not one.last.any() and one.curved.all()


def test_whether_steps_are_curved_is_said_of_each_island_and_joints_stay_open_after_one_that_was():
    some = islands(3, before=np.inf, size=3.0, rate=(1e-2, 1e-5, 1e-2))
    assert predict_last(some, False, True) == 2
    assert some.curved.tolist() == some.gaps.tolist() == [1, 0, 1]
    some.rate[:] = 1e-5
    assert predict_last(some, False, True) == 0, "two may have open joints, as before, though they go straight now"
    assert some.curved.tolist() == [0, 0, 0] and some.gaps.tolist() == [1, 0, 1]
    some.rate[:] = 1e-2
    assert predict_last(some, True, True) == 0 and not some.curved.any(), "none is curved any more"


def test_trials_go_on_while_steps_shrink_and_end_straight():
    some = islands(3, shortest=np.inf, has_exact=(1, 0, 1), tried=1, size=100.0, rate=0.1)
    assert continue_trials(some, True) == (3, 1), "only where no joint is held do energies tell something"
    assert some.curved.all() and not some.last.any()
    # the first is nearly there, the second has stopped shrinking, the third does shrink
    some.size[:] = 3.0, 60.0, 40.0
    assert continue_trials(some, True) == (2, 1)
    assert some.tried.tolist() == [1, 0, 1] and some.last.tolist() == [1, 0, 0]
    assert some.curved.tolist() == [0, 0, 1]
    some.size[:], before = 0.0, some.before.copy()
    continue_trials(some, True)
    assert some.before[1] == before[1], "one that waits has no step, of which nothing follows"


def test_the_last_trial_is_straight():
    one = islands(1, shortest=np.inf, has_exact=1, tried=1, size=50.0, rate=0.1)
    continue_trials(one, False)
    assert one.tried[0] and not one.curved[0]


def test_islands_stay_where_their_energy_is_within_its_limit():
    some = islands(
        4, alpha=0.5, tried=(1, 1, 1, 0), last=(1, 1, 0, 1), curved=(0, 0, 1, 0), has_exact=1,
        total=(1.0, 3.0, 0.0, 0.0), limit=2.0,
    )  # fmt: skip
    assert accept_trials(some) == 1
    assert some.alpha.tolist() == [1.0, 0.0, 0.0, 0.5] and some.ended.tolist() == [1, 0, 0, 0]
    assert some.tried.tolist() == [0, 0, 1, 0], "open joints are tried on"


def test_a_last_step_that_is_not_taken_whole_is_none():
    some = islands(3, alpha=(1.0, 0.5, 1.0), last=(1, 1, 0), done=(0, 0, 1))
    assert close_finished(some) == 1
    assert some.done.tolist() == [1, 0, 1]


def moved(A: np.ndarray, y: np.ndarray, alpha: float, curved: bool) -> np.ndarray:
    Q, out, step = np.zeros((1, 4, 3)), np.empty((1, 4, 3)), np.zeros((1, 12))
    Q[0, 1:], step[0, 3:] = A, y.ravel()
    move(islands(1, alpha=alpha, curved=curved), step, Q, out)
    return out[0, 1:]


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_a_curved_step_stretches_a_body_that_it_turns_only_as_the_step_asks_for(alpha, rng):
    A = np.linalg.qr(rng.normal(size=(3, 3)))[0] @ (np.eye(3) + 1e-3 * rng.normal(size=(3, 3)))
    y = np.cross(1e-2 * rng.normal(size=3), A) + 1e-4 * rng.normal(size=(3, 3))
    asked = A @ A.T - alpha * (A @ y.T + y @ A.T)
    straight, curved = moved(A, y, alpha, False), moved(A, y, alpha, True)
    np.testing.assert_allclose(straight, A - alpha * y, rtol=0.0, atol=1e-15)
    left = np.abs(curved @ curved.T - asked).max()
    # G is some 1e-4 and taken out to first order: what is left is G times the strain of A, some 2e-3
    assert left < 0.02 * np.abs(straight @ straight.T - asked).max()


def test_a_curved_step_that_turns_a_body_never_turns_it_inside_out(rng):
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
