"""Drives of prismatic and revolute joints: off, active, passive; sag, effort, many turns.

A drive holds its target like a spring of K_d/h², K_d = driving/strength_ratio·(m_i + m_j). A load f displaces it by
f h²/K_d on a hinge, and by half of that on a slider, whose energy measures the distance along the axes of both bodies.
"""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import TIGHT, Bench

from dovetail.constitution import (
    AffineBodyDrivingPrismaticJoint,
    AffineBodyDrivingRevoluteJoint,
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointExternalForce,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
    AffineBodyRevoluteJointLimit,
)

H = 0.01
UP = np.array([0.0, 0.0, 1.0])
TURN = 2 * np.pi
GAMMA = 5.0
SLIDER = (
    AffineBodyPrismaticJoint,
    AffineBodyDrivingPrismaticJoint,
    AffineBodyPrismaticJointExternalForce,
    "distance",
    "external_force",
)
HINGE = (
    AffineBodyRevoluteJoint,
    AffineBodyDrivingRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
    "angle",
    "external_torque",
)
both = pytest.mark.parametrize("what", [SLIDER, HINGE], ids=["prismatic", "revolute"])
integrators = pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])


def driven(what, load=0.0, init=0.0, gamma=GAMMA, count=1, integrator="bdf1"):
    """Bodies of 1 kg on fixed bases of 1 kg by driven joints along z, each under a constant load."""
    kind, drive, force, coordinate, effort = what
    bench = Bench({"dt": H, "integrator/type": integrator, **TIGHT})
    at = np.array([[3.0 * k, 0, 0] for k in range(count)])
    base = bench.rigid("base", at=at, fixed=True)
    body = bench.rigid("body", at=at)

    def extras(sc):
        sc.edges[f"init_{coordinate}"] = init
        drive().apply_to(sc, gamma)
        force().apply_to(sc, load)
        sc.edges[f"{effort}/is_constrained"] = 1

    pairs = ([(slot, k) for k in range(count)] for slot in (base, body))
    return bench, bench.join(kind, *pairs, at, at + UP, strength=1e4, extras=[extras])


def sag(what, load, gamma=GAMMA):
    return load * H**2 / (gamma * 2.0) / (2.0 if what is SLIDER else 1.0)


@both
@integrators
def test_an_active_drive_holds_its_aim_up_to_the_sag_of_the_load(what, integrator):
    """The aim is given in the frame of the reported value, whatever the offset."""
    load = np.array([0.0, 3.0, -7.0])
    aim = np.array([0.2, -0.1, 0.5])
    bench, joined = driven(what, load, init=np.array([0.0, 0.3, 0.5]), count=3, integrator=integrator)
    joined["driving/is_constrained"] = 1
    joined[f"aim_{what[3]}"] = aim
    bench.run(150)
    # after 150 steps the damped oscillation is over; round-off of K_d/h² = 1e5 N/m times 1e-16 m
    assert joined[what[3]] == pytest.approx(aim + sag(what, load), abs=1e-12)
    # the drive also pulls at the axes of the bodies, 1e9 J stiff, which stretches them by 1e-10 or so
    assert joined["driving/effort"] == pytest.approx(-load, abs=1e-8)


@both
def test_a_drive_that_is_off_does_nothing(what):
    """It moves like the same joint without a drive, bit by bit, whatever aim and strength say."""
    bench, joined = driven(what, load=1.0)
    joined[f"aim_{what[3]}"] = 123.0
    free, plain = driven(what, load=1.0, gamma=1e-9)
    bench.run(20)
    free.run(20)
    assert joined[what[3]][0] == plain[what[3]][0] > 0.01
    assert joined["driving/effort"][0] == 0.0


@both
def test_a_drive_can_be_switched_off_and_on(what):
    bench, joined = driven(what, load=2.0)
    name = what[3]
    joined["driving/is_constrained"] = 1
    joined[f"aim_{name}"] = 0.1
    bench.run(100)
    held = joined[name][0]
    joined["driving/is_constrained"] = 0
    bench.run(20)
    # 2 N on 1 kg or 2 N·m on 0.1 kg·m² for 0.2 s
    assert joined[name][0] > held + 0.03
    joined["driving/is_constrained"] = 1
    bench.run(150)
    assert joined[name][0] == pytest.approx(held, abs=1e-12)


@both
@integrators
def test_a_passive_drive_keeps_the_value_at_which_it_became_passive(what, integrator):
    """Its target is latched: the residual sag is f h²/K_d below the latched value, and it does not creep."""
    load = -4.0
    bench, joined = driven(what, load, init=0.25, integrator=integrator)
    name = what[3]
    joined["driving/is_constrained"] = 1
    joined[f"aim_{name}"] = 0.4
    bench.run(150)
    latched = joined[name][0]
    assert latched == pytest.approx(0.4 + sag(what, load), abs=1e-12)
    joined["is_passive"] = 1
    joined[f"aim_{name}"] = -3.0  # not looked at any more
    bench.run(150)
    settled = joined[name][0]
    assert settled == pytest.approx(latched + sag(what, load), abs=1e-12)
    path = np.array(bench.run(200, lambda: joined[name][0]))
    # a drive that followed the last frame would move by the sag, 2e-5, in every frame
    assert np.abs(path - settled).max() <= 1e-13


@both
def test_a_passive_drive_latches_anew_each_time(what):
    bench, joined = driven(what)
    name = what[3]
    joined["driving/is_constrained"] = 1
    for aim in (0.1, -0.2):
        joined["is_passive"] = 0
        joined[f"aim_{name}"] = aim
        bench.run(200)
        joined["is_passive"] = 1
        joined[f"aim_{name}"] = 99.0
        bench.run(50)
        # the drive had arrived, so nothing moves when it turns passive
        assert joined[name][0] == pytest.approx(aim, abs=1e-9)


@both
def test_a_passive_drive_that_is_off_holds_nothing(what):
    bench, joined = driven(what, load=1.0)
    joined["is_passive"] = 1
    bench.run(20)
    assert joined[what[3]][0] > 0.01
    joined["driving/is_constrained"] = 1
    before = joined[what[3]][0]
    bench.run(200)
    # it latches where it is when it is switched on; from there the sag, once the motion is damped out
    assert joined[what[3]][0] == pytest.approx(before + sag(what, 1.0), abs=1e-9)


@both
def test_strength_ratios_are_read_every_frame(what):
    bench, joined = driven(what, load=5.0)
    joined["driving/is_constrained"] = 1
    joined["driving/strength_ratio"] = 4 * GAMMA
    bench.run(150)
    assert joined[what[3]][0] == pytest.approx(sag(what, 5.0, 4 * GAMMA), abs=1e-12)


# ---- many turns -------------------------------------------------------------------------------------------


def test_a_motor_turns_200_times_between_limits_at_plus_and_minus_100_turns():
    """From −100 to +100 turns and on: the limit stops it where drive and limit balance."""
    bench = Bench(TIGHT)
    base = bench.rigid("base", fixed=True)
    rotor = bench.rigid("rotor")
    strength = 1e12

    def extras(sc):
        sc.edges["init_angle"] = -100 * TURN
        AffineBodyRevoluteJointLimit().apply_to(sc, -100 * TURN, 100 * TURN, strength)
        AffineBodyDrivingRevoluteJoint().apply_to(sc, 100.0)
        sc.edges["driving/is_constrained"] = 1

    joined = bench.join(AffineBodyRevoluteJoint, [base], [rotor], (0, 0, 0), (0, 0, 1), extras=[extras])
    assert bench.world.is_valid()
    assert joined["angle/multi_turn"][0] == -100 * TURN
    assert joined["angle"][0] == pytest.approx(0.0, abs=1e-12)
    turns = np.concatenate([np.arange(0, 200, 0.1), np.full(100, 201.0)]) - 100.0
    seen = []
    for aim in turns:
        joined["aim_angle"] = aim * TURN
        seen += bench.run(1, lambda: (joined["angle/multi_turn"][0], joined["angle"][0], joined["limit/violation"][0]))
    total, wrapped, violation = np.array(seen).T
    running = slice(20, 2000)
    # a damped drive at a constant rate lags its aim by less than a step of it
    assert np.abs(total - turns * TURN)[running].max() < 0.2 * TURN
    assert not violation[running].any()
    assert np.abs(wrapped).max() <= np.pi
    assert np.exp(1j * wrapped) == pytest.approx(np.exp(1j * total), abs=1e-9)
    # 3 s e²/w³ = K_d (aim − u − e), K_d = 100·2 kg, w = 200 turns
    a, b, c = 3 * strength / (200 * TURN) ** 3, 200.0, -200.0 * TURN
    excess = (-b + np.sqrt(b * b - 4 * a * c)) / (2 * a)
    assert total[-1] - 100 * TURN == pytest.approx(excess, rel=1e-6)
    assert violation[-1] == pytest.approx(excess, rel=1e-6)
