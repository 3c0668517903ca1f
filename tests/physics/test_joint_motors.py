"""Drives with gains and caps, dampers and dry friction, against closed forms of the discrete equation of motion.

On a slider bdf1 is the scalar scheme m(x − 2xₙ + xₙ₋₁)/h² = f(x, (x − xₙ)/h), so what it does can be told to round-off.
A hinge obeys the same law for its angle up to the damping of bdf1, a share of (ωh)²/2 a step.
"""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import TIGHT, Bench

from dovetail.constitution import (
    AffineBodyCylindricalJoint,
    AffineBodyJointDamper,
    AffineBodyJointDrive,
    AffineBodyJointFriction,
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointExternalForce,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
    AffineBodySphericalJoint,
)
from dovetail.errors import ConstitutionError

H = 0.01
UP = np.array([0.0, 0.0, 1.0])
MASS, INERTIA = 2.0, 0.3
# positions of a metre with round-off 2e-16 m, over differences quotients of h² = 1e-4 s²: 1e-11 m a step
ROUND_OFF = 1e-9


def slider(extras, h=H, load=0.0, velocity=0.0):
    """A mass on a slider along z with an external force: bench, joint."""
    bench = Bench({"dt": h, **TIGHT})
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body", mass=MASS, velocity=(0, 0, velocity))

    def on(sc):
        AffineBodyPrismaticJointExternalForce().apply_to(sc, load)
        sc.edges["external_force/is_constrained"] = 1

    return bench, bench.join(AffineBodyPrismaticJoint, [base], [body], 0 * UP, UP, strength=1e4, extras=[*extras, on])


def hinge(extras, h=H, load=0.0, spin=0.0):
    bench = Bench({"dt": h, **TIGHT})
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body", inertia=(INERTIA,) * 3, spin=(0, 0, spin))

    def on(sc):
        AffineBodyRevoluteJointExternalForce().apply_to(sc, load)
        sc.edges["external_torque/is_constrained"] = 1

    return bench, bench.join(AffineBodyRevoluteJoint, [base], [body], 0 * UP, UP, strength=1e4, extras=[*extras, on])


def drive(stiffness=0.0, damping=0.0, max_effort=np.inf, target=0.0, target_velocity=0.0):
    def apply(sc):
        AffineBodyJointDrive().apply_to(sc, stiffness, damping, max_effort)
        sc.edges["drive/target"] = target
        sc.edges["drive/target_velocity"] = target_velocity

    return apply


def scalar(force, steps, h=H, x=0.0, v=0.0, mass=MASS):
    """x after every step of bdf1 with force(x, v) at its end, which falls in x and v; found by bisection."""
    path = []
    for _ in range(steps):
        low, high = x - 10.0, x + 10.0
        for _ in range(200):
            middle = (low + high) / 2
            wanted = (middle - x - h * v) * mass / h**2
            low, high = (low, middle) if wanted > force(middle, (middle - x) / h) else (middle, high)
        x, v = middle, (middle - x) / h
        path.append(x)
    return np.array(path)


# ---- drives ------------------------------------------------------------------------------------------------


def test_a_capped_drive_accelerates_a_slider_by_its_cap():
    bench, joined = slider([drive(stiffness=1e6, max_effort=5.0, target=100.0)])
    efforts = bench.run(50, lambda: float(joined["drive/effort"][0]))
    assert efforts == pytest.approx([5.0] * 50, rel=1e-12)
    assert joined["velocity"][0] == pytest.approx(5.0 * 50 * H / MASS, rel=ROUND_OFF)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_capped_drive_turns_a_hinge_with_omega_torque_times_time_over_inertia(sign):
    h, torque = 1e-3, 0.6
    bench, joined = hinge([drive(stiffness=1e5, max_effort=torque, target=sign * 100.0)], h)
    bench.run(300)
    assert joined["drive/effort"][0] == pytest.approx(sign * torque, rel=1e-12)
    # bdf1 loses (ωh)²/2 a step, 1e-7 here, and its rate is that of a chord: ωh/2 = 3e-4 relative
    assert joined["velocity"][0] == pytest.approx(sign * torque * 0.3 / INERTIA, rel=1e-3)


@pytest.mark.parametrize("load", [0.0, -8.0, 3.0])
def test_a_velocity_drive_reaches_its_target_up_to_the_load_over_its_gain(load):
    gain, wanted = 200.0, 0.7
    bench, joined = slider([drive(damping=gain, target_velocity=wanted)], load=load)
    bench.run(100)
    # the rest decays with 1/(1 + hc/m) = 1/2 a step
    assert joined["velocity"][0] == pytest.approx(wanted + load / gain, rel=ROUND_OFF)
    assert joined["drive/effort"][0] == pytest.approx(-load, abs=1e-7)


def test_a_velocity_drive_that_is_too_weak_loses_against_the_load():
    bench, joined = slider([drive(damping=1e4, max_effort=3.0, target_velocity=1.0)], load=-5.0)
    bench.run(40)
    assert joined["velocity"][0] == pytest.approx((3.0 - 5.0) * 40 * H / MASS, rel=ROUND_OFF)


def test_a_drive_with_a_largest_velocity_goes_at_it_and_then_stops_at_its_target():
    bench, joined = slider([drive(stiffness=1e5, damping=1e3, target=0.5)], load=-8.0)
    joined["drive/max_velocity"], joined["drive/brake"] = 0.7, 1e5
    speeds = bench.run(40, lambda: float(joined["velocity"][0]))
    assert speeds[20:] == pytest.approx([0.7 - 8.0 / 1e5] * 20, rel=1e-6)  # the load over the gain; Newton's tolerance
    bench.run(100)
    assert joined["distance"][0] == pytest.approx(0.5 - 8.0 / 1e5, rel=1e-6)


@pytest.mark.parametrize(("k", "c"), [(80.0, 0.0), (80.0, 4.0), (80.0, 25.3), (500.0, 200.0)])
def test_the_step_response_of_a_pd_drive_is_that_of_the_discrete_oscillator(k, c):
    """Undamped, underdamped, critical and overdamped; with a cap that saturates at first."""
    cap, target = 30.0, 0.5
    bench, joined = slider([drive(k, c, cap, target)])
    path = bench.run(120, lambda: float(joined["distance"][0]))
    expected = scalar(lambda x, v: np.clip(k * (target - x) - c * v, -cap, cap), 120)
    # the drive also pulls at the axes of the bodies, 1e9 J stiff: 30 N strain them by 1e-8
    assert path == pytest.approx(expected, abs=1e-8)


def test_the_step_response_approaches_the_continuous_one_with_first_order():
    """x = x̃ (1 − e^{−ζωt}(cos ω_d t + ζω/ω_d sin ω_d t)) for 2 kg, 80 N/m, 4 N·s/m: ω² = 40, ζω = 1."""
    omega_d = np.sqrt(40.0 - 1.0)
    t = 0.4
    truth = 0.5 * (1 - np.exp(-t) * (np.cos(omega_d * t) + np.sin(omega_d * t) / omega_d))
    errors = []
    for h in (4e-3, 2e-3):
        bench, joined = slider([drive(80.0, 4.0, target=0.5)], h)
        bench.run(round(t / h))
        errors.append(abs(float(joined["distance"][0]) - truth))
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.1)
    assert errors[1] < 0.01 * 0.5


@pytest.mark.parametrize("make", [slider, hinge])
@pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])
def test_stiff_gains_are_stable_at_a_large_step(make, integrator):
    bench, joined = make([drive(1e8, 1e5, target=0.5)], 0.02, load=10.0)
    bench.scene.config["integrator/type"] = integrator
    bench.run(200)
    name = "distance" if make is slider else "angle"
    assert joined[name][0] == pytest.approx(0.5 + 10.0 / 1e8, abs=1e-9)
    assert abs(joined["velocity"][0]) < 1e-6
    assert bench.world.report.converged


def test_targets_gains_and_caps_are_read_every_frame():
    bench, joined = slider([drive(damping=1e4, target_velocity=1.0)])
    bench.run(60)
    assert joined["velocity"][0] == pytest.approx(1.0, rel=1e-9)
    joined["drive/target_velocity"] = -0.5
    bench.run(60)
    assert joined["velocity"][0] == pytest.approx(-0.5, rel=1e-9)
    joined["drive/damping"], joined["drive/stiffness"], joined["drive/target"] = 400.0, 1e4, 0.2
    joined["drive/target_velocity"] = 0.0
    bench.run(200)
    assert joined["distance"][0] == pytest.approx(0.2, abs=1e-9)
    joined["drive/max_effort"], joined["drive/target"] = 2.0, 5.0
    bench.run(1)
    assert joined["drive/effort"][0] == pytest.approx(2.0, rel=1e-12)


def test_a_drive_counts_turns_and_the_offset():
    """The target is in the frame of the reported value, many turns away."""

    def offset(sc):
        sc.edges["init_angle"] = 1.0

    bench, joined = hinge([drive(40.0, 8.0, target=15.0), offset])
    bench.run(600)
    assert joined["angle/multi_turn"][0] == pytest.approx(15.0, abs=1e-6)


# ---- dampers -----------------------------------------------------------------------------------------------


def damper(c):
    return lambda sc: AffineBodyJointDamper().apply_to(sc, c)


def test_a_damped_slider_slows_down_geometrically():
    c = 3.0
    bench, joined = slider([damper(c)], velocity=1.0)
    speeds = bench.run(100, lambda: float(joined["velocity"][0]))
    assert speeds == pytest.approx((1 + H * c / MASS) ** -np.arange(1.0, 101), rel=1e-8)
    assert joined["damper/effort"][0] == pytest.approx(-c * speeds[-1], rel=1e-6)


def test_a_damped_hinge_reaches_the_speed_of_its_load():
    bench, joined = hinge([damper(2.0)], load=1.0)
    bench.run(200)
    # bdf1 takes (ωh)²/2 of the spin a step, as a torque of ½ I ω³ h = 2e-4 N·m would
    assert joined["velocity"][0] == pytest.approx(0.5, rel=1e-3)


# ---- friction ----------------------------------------------------------------------------------------------


def friction(f, eps=1e-3):
    return lambda sc: AffineBodyJointFriction().apply_to(sc, f, eps)


def test_friction_brakes_a_slider_with_its_effort_until_it_stands():
    f, v = 4.0, 1.0
    bench, joined = slider([friction(f)], velocity=v)
    path = np.array(bench.run(80, lambda: float(joined["distance"][0])))
    expected = scalar(lambda x, v: -f * np.clip(v / 1e-3, -1, 1), 80, v=v)
    assert path == pytest.approx(expected, abs=1e-9)
    # v²/(2a) with a = f/m, less what bdf1 takes: v h/2
    assert path[-1] == pytest.approx(v**2 / (2 * f / MASS) - v * H / 2, abs=1e-4)


@pytest.mark.parametrize("load", [3.9, -2.0])
def test_friction_holds_a_smaller_load_with_less_than_eps_velocity(load):
    f, eps = 4.0, 1e-4
    bench, joined = slider([friction(f, eps)], load=load)
    bench.run(50)
    assert joined["velocity"][0] == pytest.approx(eps * load / f, rel=1e-6)
    assert joined["friction/effort"][0] == pytest.approx(-load, rel=1e-6)


def test_friction_yields_to_a_larger_load():
    bench, joined = slider([friction(4.0)], load=6.0)
    bench.run(50)
    assert joined["friction/effort"][0] == pytest.approx(-4.0, rel=1e-12)
    # in the first step the velocity is already above eps
    assert joined["velocity"][0] == pytest.approx(2.0 * 50 * H / MASS, rel=1e-9)


def test_friction_brakes_a_hinge_whichever_way_it_turns():
    for spin in (2.0, -2.0):
        bench, joined = hinge([friction(0.5)], h=1e-3, spin=spin)
        bench.run(600)
        assert joined["friction/effort"][0] == pytest.approx(-np.sign(spin) * 0.5, rel=1e-9)
        # ω = ω₀ − τt/I; bdf1 loses (ωh)²/2 a step besides
        assert joined["velocity"][0] == pytest.approx(spin - np.sign(spin) * 0.5 * 0.6 / INERTIA, rel=3e-3)


# ---- on further coordinates, together, refused ---------------------------------------------------------------


def test_additions_act_on_the_coordinate_they_were_put_on():
    bench = Bench({"dt": H, **TIGHT})
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body", mass=MASS, inertia=(INERTIA,) * 3, velocity=(0, 0, 0.3))

    def extras(sc):
        AffineBodyJointDrive().apply_to(sc, damping=50.0, coordinate="angle")
        AffineBodyJointDamper().apply_to(sc, 5.0)
        sc.edges["angle/drive/target_velocity"] = 1.0

    joined = bench.join(AffineBodyCylindricalJoint, [base], [body], 0 * UP, UP, strength=1e4, extras=[extras])
    bench.run(50)
    assert joined["velocity"][0] == pytest.approx(0.3 * (1 + H * 5.0 / MASS) ** -50.0, rel=1e-7)
    # the rate of bdf1 is that of a chord, (ωh)²/6 less than that of the arc
    assert joined["angle/velocity"][0] == pytest.approx(1.0, rel=1e-4)


def test_drive_damper_and_friction_add_up():
    """At a steady velocity the drive exerts what the others take."""
    f, c, gain = 2.0, 5.0, 100.0
    bench, joined = slider([drive(damping=gain, target_velocity=1.0), damper(c), friction(f)])
    bench.run(200)
    v = (gain - f) / (gain + c)
    assert joined["velocity"][0] == pytest.approx(v, rel=1e-8)
    assert joined["drive/effort"][0] == pytest.approx(f + c * v, rel=1e-6)


def test_a_dump_goes_on_bit_by_bit(tmp_path):
    """The start of the step, which dampers and friction measure from, is part of what is saved."""
    bench, joined = hinge([drive(20.0, 1.0, 3.0, 1.0), damper(0.1), friction(0.2)], spin=1.0)
    bench.run(10)
    kept = bench.world.state()
    first = bench.run(10, lambda: joined["angle/multi_turn"][0])
    bench.world.restore(kept)
    assert bench.run(10, lambda: joined["angle/multi_turn"][0]) == first


@pytest.mark.parametrize(
    ("apply", "message"),
    [
        (
            lambda sc: AffineBodyJointDrive().apply_to(sc, stiffness=-1.0),
            r"has stiffness = -1; give .* ≥ 0",
        ),
        (lambda sc: AffineBodyJointDrive().apply_to(sc, 1.0, max_effort=np.nan), r"max_effort = nan \[N·m\]"),
        (lambda sc: AffineBodyJointDamper().apply_to(sc, np.inf), r"has damping = inf; give a finite number ≥ 0"),
        (
            lambda sc: AffineBodyJointFriction().apply_to(sc, 1.0, 0.0),
            r"has eps_velocity = 0; give .* > 0",
        ),
        (
            lambda sc: AffineBodyJointDamper().apply_to(sc, 1.0, "distance"),
            r"AffineBodyRevoluteJoint reports no coordinate 'distance', but angle; name one of those",
        ),
    ],
)
def test_numbers_and_names_that_make_no_sense_are_refused(apply, message):
    with pytest.raises(ConstitutionError, match=message):
        hinge([apply])


def test_a_joint_without_a_coordinate_is_refused():
    bench = Bench()
    bodies = bench.rigid("base", fixed=True), bench.rigid("body")
    with pytest.raises(ConstitutionError, match=r"AffineBodySphericalJoint \(26\), which reports no coordinate"):
        bench.join(
            AffineBodySphericalJoint, [bodies[0]], [bodies[1]], 0 * UP,
            extras=[lambda sc: AffineBodyJointDamper().apply_to(sc, 1.0)],
        )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("drive/damping", -3.0, r"joint 0 has drive/damping = -3; give a number ≥ 0"),
        ("drive/max_effort", -np.inf, r"joint 0 has drive/max_effort = -inf"),
        ("drive/target", np.nan, r"joint 0 has drive/target = nan"),
        ("friction/eps_velocity", 0.0, r"joint 0 has friction/eps_velocity = 0; give a number > 0"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_while_a_world_runs(name, value, message):
    bench, joined = hinge([drive(1.0, 1.0), friction(1.0)])
    bench.run(1)
    joined[name] = value
    with pytest.raises(ConstitutionError, match=message):
        bench.world.advance()
