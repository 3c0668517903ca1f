"""Drives at their caps: they exert what they report and never more, under every integrator, and plan with all of it.

1 kg on a slider and 10 N, unless something else is said. Bodies are stiff (κ = 1e10 Pa), because a drive pulls at the
axis of its body: a strain of F r/(2κV), 5e-7 at a metre, makes its effort so much more than what it does to the
momentum.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dovetail import Sim, Worlds

CAP = 10.0
STEPS = [0.01, 0.005, 0.002, 0.001]
METHODS = ["ctr", "bdf1", "bdf2"]
BRAKES = 0.9  # of what it speeds up with
NEAR = 1e-3
G = 9.81
every = pytest.mark.parametrize(("method", "dt"), [(method, dt) for method in METHODS for dt in STEPS])


def phases(offsets: list[float]) -> list[tuple[str, float, float]]:
    """Every integrator and step, and some offsets of the target [m] at 10 ms, where a step covers 4 cm."""
    found = [(method, dt, 0.0) for method in METHODS for dt in STEPS]
    return found + [(method, 0.01, offset) for method in METHODS for offset in offsets]


def slider(method: str, dt: float, axis: Any = (1, 0, 0), gravity: Any = (0, 0, 0), **more: Any) -> tuple[Any, ...]:
    """The scene, its body and its slider."""
    sim = Sim(dt=dt, contact=False, integrator=method, gravity=gravity, kappa=1e10, **more)
    body = sim.box(0.1, mass=1.0)
    return sim, body, sim.prismatic(None, body, axis=axis, pos=(0, 0, 0))


def follow(sim: Any, steps: int, *read: Any) -> np.ndarray:
    """What can be read after every step."""
    found = []
    for _ in range(steps):
        sim.step()
        found.append([float(one()) for one in read])
    return np.array(found).T


def pushes(method: str, dt: float, inertia: float, speed: np.ndarray) -> np.ndarray:
    """Mean forces that a momentum of the integrator's own balance has had in every step, from rest.

    m (Vₙ₊₁ − Vₙ)/h; with bdf2, whose first step is one of bdf1, m (3Vₙ₊₁ − 4Vₙ + Vₙ₋₁)/(2h).
    """
    v = np.concatenate([[0.0, 0.0], speed])
    change = v[2:] - v[1:-1]
    if method == "bdf2":
        change[1:] = (3.0 * v[3:] - 4.0 * v[2:-1] + v[1:-2]) / 2.0
    return inertia * change / dt


def planned(way: float, acceleration: float) -> float:
    """Time from rest to so near to the target, speeding up with that and braking with 0.9 of it."""
    brake = BRAKES * acceleration
    return math.sqrt(2.0 * way / acceleration * (1.0 + 1.0 / BRAKES)) - math.sqrt(2.0 * NEAR / brake)


# ---- plans ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "dt", "offset"), phases([0.003, 0.0071]))
def test_a_drive_goes_to_its_target_with_all_of_its_cap_and_does_not_pass_it(method, dt, offset):
    """It speeds up with f/m and brakes with 0.9 of that: √(2x/a (1 + 1/0.9)), 0.650 s, where 2√(x/a) is 0.632 s."""
    (sim, body, joint), target = slider(method, dt), 1.0 + offset
    joint.drive.target, joint.drive.max_effort = target, CAP
    x, v, f = follow(sim, round(1.0 / dt), lambda: joint.distance, lambda: body.velocity[0], lambda: joint.drive.effort)
    arrived = dt * (2 + int(np.flatnonzero(np.abs(x - target) > NEAR)[-1]))
    assert arrived == pytest.approx(planned(target, CAP), abs=1.5 * dt)
    assert x.max() - target < 2e-4 and abs(x[-1] - target) < 1e-9
    # all of it until it brakes, 0.9 of it then; bdf1 goes the whole way of a step with the speed at its end
    speeding = round(0.25 / dt)
    np.testing.assert_allclose(f[:speeding], CAP, rtol=2e-4)
    assert v[speeding - 1] == pytest.approx(CAP * 0.25, rel=2e-4)
    assert np.abs(f).max() <= CAP * (1.0 + 1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_leaves_the_cap_what_the_weight_along_the_axis_takes(method):
    """15 N lift 1 kg with 15 N − m g; on a level slider they are all there, and across a slope in between."""
    for axis in ((1, 0, 0), (0, 0, 1), (0.8, 0, 0.6)):
        sim, _, joint = slider(method, 0.005, axis, (0, 0, -G))
        joint.drive.target, joint.drive.max_effort = 0.5, 15.0
        spare = 15.0 - G * axis[2]
        sim.step()
        assert joint.attributes["drive/acceleration"][0] == pytest.approx(spare, rel=1e-6)
        (x,) = follow(sim, 400, lambda joint=joint: joint.distance)
        arrived = 0.005 * (3 + int(np.flatnonzero(np.abs(x - 0.5) > NEAR)[-1]))
        assert arrived == pytest.approx(planned(0.5, spare), abs=0.0075)
        assert x.max() < 0.5 + 1e-4


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("push", "dt"), [(0.0, 0.01), (-6.0, 0.01), (8.0, 0.01), (0.0, 0.002), (3.0, 0.005)])
def test_an_arm_that_falls_is_never_pushed_away_from_its_target(method, push, dt):
    """3 N·m cannot hold 2 kg 0.25 m out; whatever else pushes it, the drive brakes while it moves away, or does
    nothing.
    """
    sim = Sim(dt=dt, contact=False, integrator=method)
    arm = sim.box((0.5, 0.05, 0.05), pos=(0.25, 0, 1), mass=2.0)
    hinge = sim.revolute(None, arm, pos=(0, 0, 1), axis=(0, 1, 0))
    hinge.drive.target, hinge.drive.max_effort = -1.0, 3.0
    away = 0
    for k in range(300):
        hinge.torque = push if k * dt < 0.3 else 0.0
        before = hinge.angle
        sim.step()
        left, moved = -1.0 - hinge.angle, hinge.angle - before
        if moved * left < 0.0:
            away += 1
            assert hinge.drive.effort * left >= -1e-9
    assert away > 20


def test_a_target_that_is_turned_round_stops_the_joint_with_the_cap():
    """It moves away with v then, and stops within v²/(2a)."""
    sim, body, joint = slider("ctr", 0.002)
    joint.drive.target, joint.drive.max_effort = 1.0, CAP
    sim.step(100)
    v, x = body.velocity[0], joint.distance
    assert v == pytest.approx(CAP * 0.2, rel=1e-3)
    joint.drive.target = -0.5
    (way,) = follow(sim, 200, lambda: joint.distance)
    assert way.max() - x == pytest.approx(v * v / (2.0 * CAP), abs=v * 0.002)
    sim.step(600)
    assert joint.distance == pytest.approx(-0.5, abs=1e-9)


# ---- efforts ----------------------------------------------------------------------------------------------


@every
def test_a_motor_reaches_its_speed_when_its_cap_allows_and_keeps_it(method, dt):
    """I ω/τ = 0.395 s; a step of the rate law besides. Rates of hinges are off by (ωh)²/6, 4e-4 at 10 ms."""
    inertia, wanted, torque = 0.0079, 5.0, 0.1
    sim = Sim(dt=dt, contact=False, integrator=method, gravity=(0, 0, 0))
    wheel = sim.cylinder(0.1, 0.05, mass=2.0 * inertia / 0.1**2)
    hinge = sim.revolute(None, wheel, pos=(0, 0, 0), axis=(0, 0, 1))
    hinge.drive.target_velocity, hinge.drive.max_effort = wanted, torque
    inertia = wheel.inertia[2, 2]
    speed, effort = follow(sim, round(1.0 / dt), lambda: hinge.velocity, lambda: hinge.drive.effort)
    reached = dt * (1 + int(np.argmax(speed > wanted * (1.0 - 1e-3))))
    assert reached == pytest.approx(inertia * wanted / torque, abs=(1.0 if method != "bdf1" else 1.5) * dt + 1e-3)
    kept = speed[round(0.45 / dt) :]
    np.testing.assert_allclose(kept, wanted, rtol=1e-3)
    assert np.ptp(kept) < 1e-3  # newton/velocity_tol
    assert np.abs(effort).max() <= torque * (1.0 + 1e-12)
    turned = speed[: round(0.35 / dt)]
    # bdf1 loses (ωh)² of the spin in a step, Iω³h of torque; bdf2, of second order, about ωh of that; ctr less
    loss = inertia * wanted**3 * dt * (1.0 if method == "bdf1" else 2.0 * wanted * dt)
    np.testing.assert_allclose(
        effort[2 : len(turned)], pushes(method, dt, inertia, turned)[2:], atol=1e-6 * torque + loss
    )


@every
def test_a_drive_that_is_overpowered_pulls_with_its_cap_all_the_time(method, dt):
    """2 N against 1 N on 1 kg: 1 m/s after 1 s, and −1 N in every step."""
    sim, body, joint = slider(method, dt)
    joint.drive.target, joint.drive.max_effort = 0.0, 1.0
    joint.force = 2.0
    speed, effort = follow(sim, round(1.0 / dt), lambda: body.velocity[0], lambda: joint.drive.effort)
    assert speed[-1] == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(effort, -1.0, rtol=1e-12)


@pytest.mark.parametrize(("method", "dt", "offset"), phases([0.0136, 0.0153, 0.017]))
def test_gains_with_a_cap_pass_their_target_as_the_saturated_equation_does(method, dt, offset):
    """ẍ = clip(k(x̃ − x) − c ẋ, ±f)/m with k = 1e4, c = 200 reaches 1.829 m, and no step has more than the cap.

    Spring and damper cancel on the way, and then a step begins below the cap at 4.3 m/s: at 10 ms and these offsets.
    Where the force changes its sign, it does so in all of a step, up to a step early. It is then v h less far, and by a
    h slower, which is another v h less until it stands. bdf1 is besides ahead of its speed by half a step.
    """
    sim, body, joint = slider(method, dt)
    joint.drive.target, joint.drive.stiffness, joint.drive.damping = 1.0 + offset, 1e4, 200.0
    joint.drive.max_effort = CAP
    x, v, f = follow(sim, round(2.5 / dt), lambda: joint.distance, lambda: body.velocity[0], lambda: joint.drive.effort)
    exact = solve_ivp(
        lambda t, y: [y[1], np.clip(1e4 * (1.0 + offset - y[0]) - 200.0 * y[1], -CAP, CAP)],
        (0.0, 1.5), [0.0, 0.0], rtol=1e-9, atol=1e-11, max_step=2e-4,
    )  # fmt: skip
    peak, fastest = exact.y[0].max(), exact.y[1].max()
    assert abs(x.max() - peak) < (2.5 if method == "bdf1" else 2.0) * fastest * dt  # 0.6, 0.5 % at 1 ms
    forces = pushes(method, dt, 1.0, v)
    assert np.abs(np.diff(v, prepend=0.0)).max() / dt <= CAP * (1.0 + 1e-6)
    assert np.abs(forces).max() <= CAP * (1.0 + 1e-6)
    np.testing.assert_allclose(f, forces, atol=1e-6 * CAP)


@every
def test_the_sum_of_efforts_is_the_change_of_momentum(method, dt):
    """Of a drive that speeds up, brakes, arrives and holds; to 1e-6 where Newton's method goes on to 1e-5 m/s."""
    sim, body, joint = slider(method, dt, config={"newton/velocity_tol": 1e-5, "newton/transrate_tol": 1e-4})
    joint.drive.target, joint.drive.max_effort = 1.0, CAP
    v, f = follow(sim, round(1.0 / dt), lambda: body.velocity[0], lambda: joint.drive.effort)
    forces = pushes(method, dt, 1.0, v)
    np.testing.assert_allclose(f, forces, atol=2e-6 * CAP)
    assert np.abs(np.cumsum(f - forces) * dt).max() <= 1e-6 * v.max()


def test_what_drives_exert_is_told_alike_by_a_scene_and_by_worlds():
    """Worlds march and read for themselves."""

    def build(sim: Any, *_: Any) -> None:
        body = sim.box(0.1, mass=1.0)
        joint = sim.prismatic(None, body, axis=(1, 0, 0), pos=(0, 0, 0), drive=True)
        joint.drive.target, joint.drive.max_effort = 1.0, CAP

    sim, worlds = Sim(contact=False), Worlds(build, 2, contact=False)
    build(sim)
    told = []
    for _ in range(70):
        sim.step()
        worlds.step()
        told.append((sim.mechanism().effort[0], *worlds.effort[:, 0]))
    first, *others = np.array(told).T
    for one in others:
        np.testing.assert_array_equal(one, first)
    assert first.min() < -8.0 and first.max() == pytest.approx(CAP)


# ---- work for Newton's method -----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["ctr", "bdf1"])
@pytest.mark.parametrize("cap", [5.0, 15.0, 50.0])
def test_many_drives_at_their_caps_are_no_work_for_newton(method, cap):
    """Five links whose targets jump every 0.3 s: which of them is at its cap is found in a few iterations."""
    sim, last, hinges = Sim(contact=False, integrator=method), None, []
    for k in range(5):
        link = sim.box((0.3, 0.05, 0.05), pos=(0.15 + 0.3 * k, 0, 1), mass=1.0)
        axis = (0, 1, 0) if k % 2 == 0 else (0, 0, 1)
        hinges.append(sim.revolute(last, link, pos=(0.3 * k, 0, 1), axis=axis, drive=0.0))
        hinges[-1].drive.max_effort, last = cap, link
    iterations = []
    for k in range(150):
        if k % 30 == 0:
            for n, hinge in enumerate(hinges):
                hinge.drive.target = 0.7 if (k // 30 + n) % 2 == 0 else -0.7
        sim.step()
        iterations.append(sim.world.report.iterations)
        assert max(abs(hinge.drive.effort) for hinge in hinges) <= cap * (1.0 + 1e-9)
    assert np.mean(iterations) < 5.0 and max(iterations) <= 12  # _PATIENCE of caps.py, and a few
