"""ctr with laws that depend on rates: dampers, servos and dry friction, against the motion in continuous time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from joint_scenes import TIGHT, Bench
from scenes import read_state
from scipy.integrate import solve_ivp

from dovetail import Engine, Sim, World
from dovetail.constitution import (
    AffineBodyDrivingRevoluteJoint,
    AffineBodyJointDamper,
    AffineBodyJointDrive,
    AffineBodyJointFriction,
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointExternalForce,
    AffineBodyRevoluteJoint,
    Joint,
)

MASS = 2.0
TIME = 0.5
EXACT = [1e4, np.inf]


def slider(extra, dt, load=0.0, velocity=0.0, strength=1e4, method="ctr"):
    """A mass on a slider along z with an external force: bench, joint."""
    bench = Bench({"dt": dt, "integrator/type": method, **TIGHT})
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body", mass=MASS, velocity=(0, 0, velocity))

    def on(sc):
        AffineBodyPrismaticJointExternalForce().apply_to(sc, load)
        sc.edges["external_force/is_constrained"] = 1

    kind: type[Joint] = AffineBodyPrismaticJoint
    return bench, bench.join(kind, [base], [body], (0, 0, 0), (0, 0, 1), strength=strength, extras=[extra, on])


def damper(c):
    return lambda sc: AffineBodyJointDamper().apply_to(sc, c)


def friction(f):
    return lambda sc: AffineBodyJointFriction().apply_to(sc, f)


def drive(stiffness, damping, max_effort=np.inf, target=0.0, target_velocity=0.0):
    def apply(sc):
        AffineBodyJointDrive().apply_to(sc, stiffness, damping, max_effort)
        sc.edges["drive/target"] = target
        sc.edges["drive/target_velocity"] = target_velocity

    return apply


def measured_orders(run, exact, steps=(0.02, 0.01, 0.005)) -> np.ndarray:
    errors = [np.abs(np.asarray(run(dt)) - exact).max() for dt in steps]
    return np.log2([a / b for a, b in pairwise(errors)])


def end(extra, dt, time=TIME, **more) -> list[float]:
    """Distance and velocity at some time."""
    bench, joined = slider(extra, dt, **more)
    bench.run(round(time / dt))
    return [float(joined["distance"][0]), float(joined["velocity"][0])]


@pytest.mark.parametrize("strength", EXACT)
def test_a_damper_slows_down_exponentially(strength):
    """V = V₀ e^{−ct/m} with ct/m = 2 at the end; of second order, where bdf1 is of first."""
    c = 8.0
    decayed = np.exp(-c * TIME / MASS)
    exact = np.array([1.5 * MASS / c * (1 - decayed), 1.5 * decayed])
    orders = measured_orders(lambda dt: end(damper(c), dt, velocity=1.5, strength=strength), exact)
    assert (orders > 1.8).all()  # (hc/m)² = 0.006 at the largest step


def test_the_effort_of_a_damper_is_that_of_the_velocity_at_the_end_of_the_step():
    bench, joined = slider(damper(8.0), 0.01, velocity=1.5)
    for _ in range(10):
        bench.run()
        assert joined["damper/effort"][0] == pytest.approx(-8.0 * joined["velocity"][0], rel=1e-9)


@pytest.mark.parametrize("method", ["bdf1", "ctr"])
def test_a_damper_stores_no_energy(method):
    bench, _ = slider(damper(8.0), 0.01, velocity=1.5, method=method)
    bench.run(5)
    assert bench.world.energies()["joint"] < 1e-9  # the gap of the slider alone


@pytest.mark.parametrize("c", [1e3, 1e6])
def test_a_stiff_damper_stops_at_once_and_for_good(c):
    """hc/m ≫ 1: the velocity neither rings nor changes its sign."""
    bench, joined = slider(damper(c), 0.01, velocity=1.0)
    speeds = bench.run(10, lambda: float(joined["velocity"][0]))
    assert max(np.abs(speeds[3:])) < 1e-3
    assert joined["distance"][0] < 0.01  # not farther than a step


def test_a_pd_drive_responds_as_the_damped_oscillator():
    """m x″ = k(x̃ − x) − c x′ from rest: ω₀ = √(k/m), ζ = c/(2√(km))."""
    k, c, target, time = 200.0, 8.0, 0.4, 0.3
    decay, omega = c / (2 * MASS), np.sqrt(k / MASS - (c / (2 * MASS)) ** 2)
    damped = np.exp(-decay * time)
    x = target * (1 - damped * (np.cos(omega * time) + decay / omega * np.sin(omega * time)))
    v = target * damped * (omega + decay**2 / omega) * np.sin(omega * time)
    steps = (0.005, 0.0025, 0.00125)
    orders = measured_orders(lambda dt: end(drive(k, c, target=target), dt, time), np.array([x, v]), steps)
    assert (orders > 1.8).all()  # the next term, of order 3, has the other sign: 1.88 and 1.94


def test_a_capped_drive_accelerates_by_its_cap():
    bench, joined = slider(drive(1e6, 0.0, max_effort=5.0, target=100.0), 0.01)
    efforts = bench.run(50, lambda: float(joined["drive/effort"][0]))
    assert efforts == pytest.approx([5.0] * 50, rel=1e-9)
    # newton/velocity_tol is 1e-3 m/s
    assert joined["velocity"][0] == pytest.approx(5.0 * 0.5 / MASS, abs=1e-3)


@pytest.mark.parametrize("gain", [1e2, 1e4])
def test_a_firm_motor_that_is_capped_or_switched_off_forgets_its_gain(gain):
    """A speed is known to Newton's tolerance; the old gain must not turn that into a force that nothing resists."""
    dt, cap, inertia = 0.01, 0.5, 0.1
    bench = Bench({"dt": dt, "integrator/type": "ctr"})
    base, body = bench.rigid("base", fixed=True), bench.rigid("body", mass=MASS, inertia=[inertia] * 3)
    firm = drive(0.0, gain * inertia / dt, target_velocity=3.0)
    joined = bench.join(AffineBodyRevoluteJoint, [base], [body], (0, 0, 0), (0, 0, 1), strength=np.inf, extras=[firm])
    bench.run(50)
    joined["drive/max_effort"], joined["drive/target_velocity"] = cap, -3.0
    speeds = [float(joined["velocity"][0]), *bench.run(2, lambda: float(joined["velocity"][0]))]
    joined["drive/damping"] = 0.0
    speeds += bench.run(2, lambda: float(joined["velocity"][0]))
    # the cap acts for two whole steps; newton/velocity_tol is 1e-3 m/s
    slowed = cap * dt / inertia
    assert -np.diff(speeds) == pytest.approx([slowed, slowed, 0.0, 0.0], abs=1e-3)


def held_arm(kind) -> tuple[Bench, Any, dict[str, float]]:
    """An arm of 0.6 m that a drive holds out horizontally; what to write to let it go."""
    bench = Bench({"integrator/type": "ctr", **TIGHT}, gravity=(0, 0, -9.8))
    base = bench.box("base", (0.1, 0.1, 0.1), fixed=True)
    arm = bench.box("arm", (0.6, 0.05, 0.05), (0.3, 0, 0))

    def hold(sc) -> None:
        if kind is AffineBodyDrivingRevoluteJoint:
            kind().apply_to(sc, 100.0)
            sc.edges["driving/is_constrained"] = 1
        else:
            kind().apply_to(sc, 1e6, 1e4)  # it sags by 5e-6 rad

    half = np.array([0, 0.02, 0])
    joined = bench.join(AffineBodyRevoluteJoint, [base], [arm], -half, half, strength=np.inf, extras=[hold])
    plain = {"driving/is_constrained": 0}
    return (
        bench,
        joined,
        plain if kind is AffineBodyDrivingRevoluteJoint else dict.fromkeys(("drive/stiffness", "drive/damping"), 0.0),
    )


@pytest.mark.parametrize("kind", [AffineBodyDrivingRevoluteJoint, AffineBodyJointDrive])
def test_an_arm_that_is_let_go_falls_at_once(kind):
    """θ″ = m g ℓ cos θ / I from rest; a drive that held on for part of a step would cost an error of first order."""
    reach, inertia = 0.3, (0.6**2 + 0.05**2) / 12 + 0.3**2
    fall = solve_ivp(
        lambda t, y: [y[1], 9.8 * reach * np.cos(y[0]) / inertia], (0, 0.3), [0, 0], rtol=1e-10, atol=1e-10
    )
    errors = []
    for dt in (0.02, 0.01, 0.005):
        bench, joined, free = held_arm(kind)
        bench.scene.config["dt"] = dt
        bench.run(round(0.1 / dt))
        for name, value in free.items():
            joined[name] = value
        errors.append(bench.run(round(0.3 / dt), lambda joined=joined: float(joined["angle"][0]))[-1] - fall.y[0, -1])
    assert abs(errors[1]) < 2e-3
    assert np.log2(errors[0] / errors[1]) > 1.8 and np.log2(errors[1] / errors[2]) > 1.8


def test_a_firm_drive_of_little_inertia_follows_a_target_without_going_from_one_end_of_its_strength_to_the_other():
    """x lags by c/k behind a target that moves evenly, and the effort is 0; a cap is reached by 0.06 rad/s of error."""
    sim = Sim(gravity=(0, 0, 0), contact=False)
    wheel = sim.cylinder(0.1, 0.05, mass=0.7)
    hinge = sim.revolute(None, wheel, pos=(0, 0, 0), axis=(0, 0, 1))
    hinge.drive.target = 0.0
    hinge.drive.stiffness, hinge.drive.damping, hinge.drive.max_effort = 4000.0, 200.0, 12.0
    efforts, iterations = [], []
    for k in range(40):
        hinge.drive.target = 0.9 * k * sim.dt
        sim.step()
        efforts.append(hinge.drive.effort)
        iterations.append(sim.world.report.iterations)
    # the way to it decays as e^(−t/50 ms), for 400 ms, from ‖I‖·0.9 rad/s / 50 ms = 0.06 N·m
    assert np.abs(efforts[-10:]).max() < 1e-3
    assert abs(hinge.drive.target - hinge.angle - 0.9 * 0.05) < 1e-3
    assert max(iterations[1:]) <= 4


@pytest.mark.parametrize("load", [0.0, -8.0])
def test_a_velocity_drive_reaches_its_target_up_to_the_load_over_its_gain(load):
    bench, joined = slider(drive(0.0, 200.0, target_velocity=0.7), 0.01, load=load)
    bench.run(100)
    assert joined["velocity"][0] == pytest.approx(0.7 + load / 200.0, rel=1e-6)
    assert joined["drive/effort"][0] == pytest.approx(-load, abs=1e-4)


@pytest.mark.parametrize("dt", [0.02, 0.01])
@pytest.mark.parametrize("strength", EXACT)
def test_a_stiff_drive_holds_a_load_at_rest(dt, strength):
    """k = 1e5 N/m: it yields by f/k and reports the load."""
    bench, joined = slider(drive(1e5, 1e3), dt, load=-30.0, strength=strength)
    bench.run(60)
    assert joined["distance"][0] == pytest.approx(-30.0 / 1e5, rel=1e-4)
    assert joined["drive/effort"][0] == pytest.approx(30.0, rel=1e-4)
    assert abs(joined["velocity"][0]) < 1e-7


def test_dry_friction_brakes_evenly_and_then_sticks():
    """v₀ = 1 m/s, f = 8 N on 2 kg: it slides v₀²/(2a) = 0.125 m in 0.25 s, and stays."""
    bench, joined = slider(friction(8.0), 0.01, velocity=1.0)
    speeds = np.array(bench.run(60, lambda: float(joined["velocity"][0])))
    times = 0.01 * np.arange(1, 61)
    np.testing.assert_allclose(speeds[:24], 1.0 - 4.0 * times[:24], atol=1e-6)
    assert np.abs(speeds[27:]).max() < 1e-3  # it creeps at most with eps_velocity
    assert joined["distance"][0] == pytest.approx(0.125, abs=1e-3)


@pytest.mark.parametrize("load", [7.0, -7.0])
def test_dry_friction_holds_what_it_can_and_no_more(load):
    """8 N hold 7 N, and say so; of 10 N they leave 2 N."""
    bench, joined = slider(friction(8.0), 0.01, load=load)
    bench.run(50)
    assert joined["friction/effort"][0] == pytest.approx(-load, rel=1e-3)
    assert abs(joined["distance"][0]) < 1e-3 * 0.5 * 1.01  # creeps with less than eps_velocity
    bench, joined = slider(friction(8.0), 0.01, load=10 * np.sign(load))
    bench.run(50)
    assert abs(joined["velocity"][0]) == pytest.approx(2.0 / MASS * 0.5, rel=0.05)
    assert joined["friction/effort"][0] == pytest.approx(-8.0 * np.sign(load), rel=1e-9)


def test_a_driven_run_can_be_dumped_and_recovered_bit_by_bit(tmp_path):
    states, efforts = [], []
    for resumed in (False, True):
        bench, joined = slider(drive(200.0, 8.0, target=0.4), 0.01)
        world = World(Engine("cpu", tmp_path))
        world.init(bench.scene)
        if resumed:
            assert world.recover(10)
        for frame in range(world.frame(), 20):
            world.advance()
            if frame + 1 == 10 and not resumed:
                world.dump()
        world.retrieve()
        states.append(read_state(world))
        efforts.append(joined["drive/effort"].copy())
    for one, two in zip(*states, strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(*efforts)


def test_a_drive_on_a_joint_that_does_not_begin_at_zero_has_not_moved_before():
    """Its target is where the joint is: nothing moves, also in the first step."""
    sim = Sim(gravity=(0, 0, 0), contact=False)
    hinge = sim.revolute(None, sim.box(0.2), pos=(0, 0, 0), axis=(0, 0, 1))
    hinge.attributes["init_angle"] = 0.5
    hinge.drive.target = 0.5
    hinge.drive.stiffness, hinge.drive.damping = 4000.0, 20.0
    sim.step()
    assert hinge.angle == pytest.approx(0.5, abs=1e-12) and abs(hinge.velocity) < 1e-9
