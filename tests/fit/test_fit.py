"""Identification and optimisation: known answers, intervals that hold, mistakes told; worked examples make way."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from dovetail import Sim, identify, optimise
from dovetail.differentiable import RolloutFunction
from dovetail.errors import GradientError

FOLDER = Path(__file__).parents[2] / "examples" / "gradients"


def pendulum(p):
    sim = Sim(dt=0.02, contact=False)
    rod = sim.box((0.5, 0.05, 0.05), pos=(0.25, 0, 0), mass=1.0, name="rod")
    sim.revolute(None, rod, pos=(0, 0, 0), axis=(0, 1, 0), damping=p[0], name="hinge")
    return sim


def angle(tape):
    return tape.coordinate("hinge", "angle")


def test_damping_is_found_with_an_interval_that_has_it():
    clean = angle(pendulum([0.3]).rollout(25))
    found = identify(pendulum, [0.1], clean, angle, names=["damping"], bounds=[(0, 2)])
    # data without noise: what is left is Newton's tolerance
    assert abs(found.p[0] - 0.3) < 1e-5 and found.noise < 1e-6
    noise = 5e-3 * np.random.default_rng(3).normal(size=clean.shape)
    seen = clean + noise
    seen[4] = np.nan
    found = identify(pendulum, [0.1], seen, angle, names=["damping"], bounds=[(0, 2)])
    low, high = found.interval[0]
    assert low < 0.3 < high and high - low < 0.1
    assert abs(found.noise / 5e-3 - 1) < 0.5  # 25 data: their spread is known to 14 %
    assert np.isnan(found.fitted[4]).all() and "damping = 0." in str(found)


def test_what_the_data_do_not_tell_is_said():
    found = identify(
        lambda p: pendulum([p[0] + p[1]]), [0.1, 0.1], angle(pendulum([0.3]).rollout(12)), angle, names=["a", "b"],
        bounds=[(0, 1), (0, 1)],
    )  # fmt: skip
    assert found.unknown == ["the data do not tell a and b apart"] and np.isinf(found.interval).all()
    assert abs(found.p.sum() - 0.3) < 1e-4


def test_the_report_is_one_page_with_its_plots(tmp_path):
    found = identify(pendulum, [0.1], angle(pendulum([0.3]).rollout(8)), angle, names=["<damping>"])
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "&lt;damping&gt;" in page and "<damping>" not in page and page.count("<svg") == 2 and "http" not in page


@pytest.mark.parametrize(("given", "said"), [
    ({"names": ["a", "b"]}, "give as many of each"),
    ({"bounds": [(0.2, 1.0)]}, r"p\[0\] = 0.1 is not within its bounds"),
    ({"data": np.full((5, 1), np.nan)}, "0 data for 1 parameters"),
    ({"measure": lambda tape: angle(tape)[1:]}, r"measure gives an array \(4, 1\), and data are \(5, 1\)"),
])  # fmt: skip
def test_mistakes_of_identify_are_told(given, said):
    arguments = {"data": np.zeros((5, 1)), "measure": angle, **given}
    with pytest.raises(GradientError, match=said):
        identify(pendulum, [0.1], **arguments)


def throw():
    """A body that is thrown: where it is after T steps of bdf1 is known, h²g T(T+1)/2 below h T v."""
    sim = Sim(dt=0.02, contact=False, integrator="bdf1")
    sim.box(0.1, name="box")
    return RolloutFunction(sim, 10, ["V"])


def test_a_throw_meets_its_mark_and_bounds_are_kept():
    f, mark = throw(), np.array([1.0, 0.5, 0.3])

    def loss(Q, V, V0):
        dQ, off = np.zeros_like(Q), Q[-1, 0, 0] - mark
        dQ[-1, 0, 0] = off
        return 0.5 * off @ off, dQ, None

    start = np.zeros((1, 4, 3))
    found = optimise(f, [start], loss, goal=1e-14)
    expected = (mark + np.array([0, 0, 9.81 * 0.02**2 * 55])) / 0.2
    np.testing.assert_allclose(found.values[0][0, 0], expected, atol=1e-5)
    assert found.rollouts == len(found.history) <= 30 and found.loss < 1e-14
    held = optimise(f, [start], loss, bounds=[(-2.0, 2.0)])
    assert np.abs(held.values[0]).max() <= 2.0 and held.loss > 0.1
    assert optimise(f, [start], loss, rollouts=2).message == "2 rollouts were allowed"


def test_mistakes_of_optimise_are_told():
    with pytest.raises(GradientError, match="0 start values for 1 inputs"):
        optimise(throw(), [], lambda Q, V: (0.0, None, None))
    with pytest.raises(GradientError, match="2 bounds for 1 inputs"):
        optimise(throw(), [np.zeros((1, 4, 3))], lambda Q, V, V0: (0.0, None, None), bounds=[None, None])


def load(name):
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_worked_examples_make_way():
    bar = load("design_a_four_bar")
    function, loss, _ = bar.problem()
    found = optimise(function, [bar.GUESS], loss, bounds=[(0.05, 0.5)], rollouts=8)
    assert found.loss < 0.3 * found.history[0]
    puck = load("strike_a_puck")
    function, start, loss, _ = puck.problem()
    found = optimise(function, start, loss, rollouts=3)
    assert found.loss < 0.8 * found.history[0]
    planner = load("swing_up").Planner()
    first = planner.run(0.0)[0]
    assert planner.plan(1) < 0.9 * first
