"""Gradients through blows, plastic and elastic, and by restitution, friction and friction against rolling."""

from __future__ import annotations

import numpy as np
import pytest
from gradient_check import TIGHT_TAPE, Problem

from dovetail import Sim
from dovetail.errors import GradientError
from dovetail.gradient.sums import Sums


def thrown(kind, integrator="ctr", e=0.0, mu=0.3, ease=1, log_e=0.0, log_mu=0.0, lever=0.0, g=0.0):
    config = {"contact/ease_in": ease, "contact/friction/memory": int(integrator == "ctr"), **TIGHT_TAPE}
    sim = Sim(friction=mu * np.exp(log_mu), gravity=(0, 0, -9.81 - g), integrator=integrator, config=config)
    e *= np.exp(log_e)
    if kind not in ("plate", "pair"):
        sim.ground(restitution=e, rolling_friction=3e-3 * np.exp(lever) if kind == "balls" else 0.0)
    if kind == "plate":  # which is fixed; the other box on it has contacts of the blow, too
        sim.box((1, 1, 0.1), pos=(0, 0, -0.05), fixed=True, restitution=e)
        sim.box((0.2, 0.15, 0.05), pos=(0, 0, 0.06), velocity=(0.3, 0.1, -1), spin=(0.3, 0.2, 2.0))
        sim.box((0.2, 0.15, 0.05), pos=(0.3, 0.1, 0.028), velocity=(0.2, 0.1, -0.1), spin=(0.1, 0.1, 1.0))
    elif kind == "box":  # on four corners at once, of which three would do
        sim.box((0.2, 0.15, 0.05), pos=(0, 0, 0.06), velocity=(0.3, 0.1, -1), spin=(0.3, 0.2, 2.0))
    elif kind == "puck":  # slides when it lands
        sim.sphere(0.05, pos=(0, 0, 0.08), velocity=(1, 0.2, -1))
    elif kind == "pair":  # nothing holds them; they are turned back
        sim.box((0.2, 0.15, 0.05), pos=(0, 0, 0.06), velocity=(0.3, 0.1, 1), spin=(0.3, 0.2, 2.0), restitution=e)
        sim.sphere(0.05, pos=(0.02, 0.01, 0.16), velocity=(0.1, 0.2, -1), spin=(-4, 20, 1), restitution=e)
    elif kind == "tumbling":  # one box on another, several collisions; energy is cut
        sim.box((0.2, 0.15, 0.05), pos=(0, 0, 0.03), restitution=e)
        velocity, spin = (0.189, -0.523, -2.413), (-12.21, 9.0, 5.72)
        sim.box((0.1, 0.15, 0.05), pos=(0, 0, 0.2), velocity=velocity, spin=spin, restitution=e)
    elif kind == "spinning":  # by more than a radian in a step; it is slowed
        sim.box((0.2, 0.15, 0.05), pos=(0, 0, 0.2), velocity=(0.3, 0.1, -1), spin=(244.909, -306.680, 50.1718))
    elif kind == "arm":
        arm = sim.box((0.4, 0.05, 0.05), pos=(0.2, 0, 0.1), spin=(0, 3.0, 0))
        sim.revolute(None, arm, pos=(0, 0, 0.1), axis=(0, 1, 0))
    elif kind == "slider":
        body = sim.box((0.3, 0.3, 0.05), pos=(0, 0, 0.1), velocity=(0, 0, -1))
        rod = sim.box((0.05, 0.05, 0.3), pos=(0.03, 0, 0.3), velocity=(0, 0, -1))
        sim.prismatic(body, rod, axis=(0.1, 0, 1), damping=3.0)
    elif kind == "crane":  # its foot slides, and goes on to press with more than its weight
        foot = sim.box((0.2, 0.2, 0.1), pos=(0, 0, 0.0509), velocity=(0.5, 0.1, 0))
        arm = sim.box((0.3, 0.05, 0.05), pos=(0.26, 0, 0.05), velocity=(0.5, 0.1, -0.45), spin=(0, 3.0, 0), mass=0.5)
        drive = sim.revolute(foot, arm, pos=(0.11, 0, 0.05), axis=(0, 1, 0)).drive
        drive.stiffness, drive.damping, drive.target = 8.0, 0.05, -0.02
    else:
        sim.sphere(0.05, pos=(0, 0, 0.08), velocity=(1, 0.2, -1), spin=(-4, 20, 1))
        sim.sphere(0.05, pos=(0.01, 0.005, 0.3), velocity=(0, 0, -2.5), spin=(-1, 2, 4), restitution=e)
    return sim.world


def struck(tape):
    return sorted({jump.step for jump in tape.jumps if jump.reason == "is struck"})


# ground, plates and pairs; lands plastically or bounces; sticks, slides, rolls
CASES = [
    ("box", {"e": 0.7, "ease": 0}, 9),
    ("box", {"e": 0.7, "mu": 0.05}, 9),
    ("box", {"mu": 0.05}, 9),
    ("puck", {"mu": 0.1}, 9),
    ("puck", {"e": 0.7, "mu": 0.1}, 9),
    ("puck", {"e": 0.7, "mu": 0.1, "integrator": "bdf1"}, 9),
    ("plate", {"e": 0.7, "ease": 0, "integrator": "bdf1"}, 9),
    ("pair", {"e": 0.7}, 9),
    ("balls", {"e": 0.7, "ease": 0}, 9),
    ("balls", {"e": 0.7}, 9),
    ("tumbling", {"e": 0.999, "mu": 0.5, "ease": 0, "integrator": "bdf1"}, 6),
    ("spinning", {"e": 0.9999, "mu": 0.0}, 9),
    ("arm", {}, 11),
    ("arm", {"e": 0.5}, 10),
    ("slider", {"e": 0.3}, 9),
    ("crane", {"mu": 0.1}, 9),
]


# Differences under ctr are noisy below 1e-5 m and 1e-4 m/s: which points roll is asked with 1e-6 rad. Velocities of
# joints after a blow are known to the round-off of stiff shapes, 1e-8 m/s, those at 300 rad/s to that of the others.
# A change of Q of 1e-5 strains shapes so much that the landing of the crane is another one.
WIDE = {"arm": (1e-2, 1e-4, 1e-5), "spinning": (1e-2, 1e-4, 5e-5), "crane": (1e-4, 1e-6, 1e-5)}


@pytest.mark.parametrize("kind, options, steps", CASES)
def test_gradients_through_a_blow_are_those_of_the_program(kind, options, steps):
    problem = Problem(lambda **changes: thrown(kind, **options, **changes), steps)
    tape = problem.tape()
    blows = struck(tape)
    assert blows
    found = tape.backward(problem.by_Q, problem.by_V, strict=True)
    rng = np.random.default_rng(1)
    along, by = rng.normal(size=problem.by_Q.shape[1:]), rng.normal(size=(2, *problem.by_Q.shape[1:]))
    along[~np.isfinite(found.V)] = 0.0
    wide_V, wide_Q, tolerance = WIDE.get(kind, (1e-4, 1e-5, 1e-5))
    pairs = {
        "V": (float(np.nansum(found.V * along)), problem.slope(wide_V, dV=along)),
        "Q": (float(np.nansum(found.Q * along)), problem.slope(wide_Q, dQ=along)),
        "mu": (float(found.log_mu.sum()), problem.slope(1e-4, log_mu=1.0)),
        "gravity": (-float(found.gravity[2]), problem.slope(1e-3, g=1.0)),
    }
    if "e" in options:
        pairs["e"] = float(found.log_restitution.sum()), problem.slope(1e-4, log_e=1.0)
    if kind == "balls":
        pairs["lever"] = float(found.log_rolling.sum()), problem.slope(1e-3, lever=1.0)
    # what hardly counts, friction that sticks, is known to the noise of the others
    wrong = {
        name: both for name, both in pairs.items() if not abs(both[0] - both[1]) <= tolerance * max(abs(both[1]), 1.0)
    }
    assert not wrong
    for k in blows:
        ahead, back = tape.step_jvp(k, 1e-3 * along, along), tape.step_vjp(k, *by)
        expected = float(np.nansum(1e-3 * back.Q * along + back.V * along))
        assert sum((b * d).sum() for b, d in zip(by, ahead, strict=True)) == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("kind, options, steps", CASES)
def test_blows_are_gone_through_again_as_they_were(kind, options, steps):
    tape = thrown(kind, **options).rollout(steps)
    for k in struck(tape):
        with tape._at(k, Sums(tape._simulation, steps)) as adjoint:
            free = tape._simulation.model.bodies.is_free != 0
            assert np.abs(adjoint.blow.V_after.value - tape.V[k + 1])[free].max() < 1e-12


def test_what_stands_goes_on_to_press_while_something_lands_beside_it():
    """Its drive carries the arm that lands, which laws of rigid bodies and joints alone know nothing of."""
    (blow,) = [frame.blow for frame in thrown("crane", mu=0.1).rollout(9)._frames if frame.blow is not None]
    assert blow.goes_on.tolist() == [True] * 4 + [False] * 2


def test_blows_of_these_scenes_are_turned_back_cut_and_slowed():
    def blows(kind, **options):
        return [frame.blow for frame in thrown(kind, **options).rollout(9)._frames if frame.blow is not None]

    assert any((blow.slowed < 0.95).any() for blow in blows("spinning", e=0.9999, mu=0.0))
    assert any(blow.turned.any() for blow in blows("pair", e=0.7))
    tumbling = blows("tumbling", e=0.999, mu=0.5, ease=0, integrator="bdf1")
    assert any((blow.share < 0.95).any() for blow in tumbling)
    assert max(blow.blows.order[0] for blow in tumbling) > 1


def test_checkpoints_go_through_the_same_blows():
    whole, parts = (thrown("box", e=0.7, mu=0.05).rollout(9, every=every) for every in (0, 2))
    bar = np.random.default_rng(0).normal(size=whole.Q.shape)
    one, other = whole.backward(bar, bar), parts.backward(bar, bar)
    assert struck(whole) == struck(parts) != []
    for name in ("Q", "V", "gravity", "log_mu", "log_restitution"):
        assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)


def test_smooth_rollouts_have_gradients_of_bounces():
    def loss(log_e):
        tape = thrown("puck", e=0.7 * np.exp(log_e), mu=0.1).rollout(9, smooth=True)
        return tape, float(tape.Q[-1, 0, 0].sum())

    tape, _ = loss(0.0)
    bar = np.zeros_like(tape.Q[-1])
    bar[0, 0] = 1.0
    expected = (loss(1e-4)[1] - loss(-1e-4)[1]) / 2e-4
    assert struck(tape) and tape.backward(bar).log_restitution.sum() == pytest.approx(expected, rel=1e-5)


def test_a_blow_on_joints_that_is_cut_is_refused_by_name():
    sim = Sim(friction=0.2)
    sim.ground(restitution=0.4)
    arm = sim.box((0.4, 0.05, 0.05), pos=(0.2, 0, 0.1), velocity=(0.3, 0.1, -1), spin=(0, 1.0, 0), name="arm")
    hand = sim.box((0.3, 0.05, 0.05), pos=(0.55, 0, 0.1), velocity=(0.3, 0.1, -1.35), spin=(0, 1.0, 0))
    drive = sim.revolute(arm, hand, pos=(0.4, 0, 0.1), axis=(0, 1, 0), damping=0.1).drive
    drive.stiffness, drive.damping, drive.target = 50.0, 1.0, 0.2
    tape = sim.rollout(20)
    assert any((frame.blow.share < 1.0).any() for frame in tape._frames if frame.blow is not None)
    with pytest.raises(GradientError, match=r"cut.*instance 0 of 'arm'.*which joints hold; set its restitution to 0"):
        tape.backward(np.ones_like(tape.Q))
