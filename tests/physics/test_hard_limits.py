"""Limits with an infinite strength: no step ever crosses them, whatever pushes, however fast, at whatever turn."""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import TIGHT, Bench

from dovetail import Sim
from dovetail.constitution import (
    AffineBodyCylindricalJoint,
    AffineBodyExternalBodyForce,
    AffineBodyJointLimit,
    AffineBodyPointOnLineJoint,
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointLimit,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
    AffineBodyRevoluteJointLimit,
    AffineBodyScrewJoint,
    AffineBodyUniversalJoint,
)
from dovetail.errors import ConstitutionError

UP = np.array([0.0, 0.0, 1.0])


def hinge(lower, upper, config=None, spin=0.0, torque=0.0, strength=np.inf, gamma=1e4, init=0.0):
    """A body on a hinge along z through its centre, with a limit and a torque."""
    bench = Bench({"dt": 0.01, **(config or {})})
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body", spin=(0, 0, spin))

    def extras(sc):
        sc.edges["init_angle"] = init
        AffineBodyRevoluteJointLimit().apply_to(sc, lower, upper, strength)
        AffineBodyRevoluteJointExternalForce().apply_to(sc, torque)
        sc.edges["external_torque/is_constrained"] = 1

    return bench, bench.join(AffineBodyRevoluteJoint, [base], [body], 0 * UP, UP, strength=gamma, extras=[extras])


@pytest.mark.parametrize("gamma", [1e3, np.inf])
def test_nothing_is_ever_outside_in_1e5_random_steps_with_impacts(gamma):
    """Sixty joints of each of five kinds with seven coordinates, 170 steps, for penalty and exact joints.

    Random forces and torques of six orders of magnitude change every few steps; now and then a body is kicked by up to
    a metre and several radians a step.
    """
    rng = np.random.default_rng(3)
    each, steps = 60, 170
    bench = Bench({"dt": 0.01})
    kinds = {
        AffineBodyRevoluteJoint: ("angle/multi_turn",),
        AffineBodyPrismaticJoint: ("distance",),
        AffineBodyCylindricalJoint: ("distance", "angle/multi_turn"),
        AffineBodyPointOnLineJoint: ("distance",),
        AffineBodyUniversalJoint: ("angle/multi_turn", "bend/multi_turn"),
    }
    at = np.arange(each)[:, None] * [3.0, 0, 0]
    joints, bodies = [], []
    for number, kind in enumerate(kinds):
        place = at + np.array([0, 3.0 * number, 0])
        base = bench.rigid(f"base {number}", at=place, fixed=True)
        body = bench.rigid(f"body {number}", at=place, stiffness=1e6)
        AffineBodyExternalBodyForce().apply_to(body.geometry, np.zeros(12))
        bounds = {}

        def extras(sc, kind=kind, bounds=bounds):
            for word in kind.coordinates():
                low, high = -rng.uniform(0.01, 1.2, each), rng.uniform(0.01, 1.2, each)
                low[0], high[0] = 0.0, 20.0  # starts on its bound; wide
                AffineBodyJointLimit().apply_to(sc, low, high, np.inf, coordinate=word.attribute)
                name = f"{word.attribute}/multi_turn" if word.unit == "rad" else word.attribute
                bounds[name] = low, high

        pairs = ([(slot, k) for k in range(each)] for slot in (base, body))
        joints.append((bench.join(kind, *pairs, place, place + UP, strength=gamma, extras=[extras]), bounds))
        bodies.append(body)
    accessor = bench.accessor()
    closest = np.inf
    for step in range(steps):
        for body in bodies:
            if rng.random() < 0.3:
                size = 10 ** rng.uniform(-3, 3, (each, 1))
                body.geometry.instances["external_force"] = size * rng.normal(size=(each, 12))
        if step % 40 == 20:
            state = accessor.create_geometry()
            state.instances.create("velocity", np.zeros((4, 4)))
            accessor.copy_to(state)
            moved = state.instances["velocity"].copy()
            moved[:, :3, 3] += 50 * rng.normal(size=(len(moved), 3))
            moved[:, :3, :3] += 50 * rng.normal(size=(len(moved), 3, 3))
            fixed = np.concatenate([slot.geometry.instances["is_fixed"] for slot, _ in bench.scene.geometries
                                    if "is_fixed" in slot.geometry.instances])  # fmt: skip
            moved[fixed != 0] = 0.0
            state.instances["velocity"] = moved
            accessor.copy_from(state)
        bench.run()
        for joined, bounds in joints:
            for name, (low, high) in bounds.items():
                x = joined[name]
                # the one that starts on its bound has 1e-6 of room behind it
                assert (x[1:] > low[1:]).all() and (x < high).all() and x[0] > -1e-6
                closest = min(closest, float((x - low)[1:].min()), float((high - x).min()))
    assert 0.0 < closest < 1e-5  # the stops were needed


# ---- one hinge -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [1, -1])
def test_a_body_comes_to_rest_at_the_stop_without_bouncing_off(sign):
    """It arrives with 5 rad/s. What the barrier stores, κĝ²/h² per inertia, lets it go with less than 0.05 rad/s."""
    bench, joined = hinge(-0.5, 0.5, spin=sign * 5.0)
    after = bench.run(60, lambda: (float(joined["angle"][0]), float(joined["velocity"][0])))
    assert max(sign * x for x, _ in after) > 0.4999
    assert all(abs(v) < 0.05 for _, v in after[15:])
    assert joined["limit/violation"][0] == 0.0


def test_under_a_load_the_gap_is_where_the_barrier_balances_it():
    """φ′(g) = −h²f with the barrier's own κ: read from the solver, and found again by bisection."""
    torque, h = 3.0, 0.01
    bench, joined = hinge(-1.0, 0.2, {**TIGHT}, torque=torque)
    bench.run(300)
    gap = 0.2 - float(joined["angle"][0])
    kappa = 0.1  # the inertia about the axis, which for a body with equal moments is that of its affine rotation

    def slope(g, margin=1e-4):
        y = g / margin
        return kappa * margin * (2 * (y - 1) * np.log(y) + (y - 1) ** 2 / y)

    low, high = 1e-9, 1e-4
    for _ in range(100):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if slope(middle) > h**2 * torque else (low, middle)
    # Newton ends within 1e-10 rad, and the angle of 0.2 rad has a round-off of 3e-17
    assert gap == pytest.approx(middle, rel=1e-3)
    assert joined["limit/effort"][0] == pytest.approx(-torque, rel=1e-3)


@pytest.mark.parametrize("torque", [0.3, 30.0, 3e3, 3e5, 3e7])
def test_the_gap_under_any_load_is_some_of_the_margin(torque):
    """From 1 to 90 % of ĝ = 1e-4 rad: κ follows the load by powers of ten. It was κĝ²/h²f, down to 3e-13 rad."""
    bench, joined = hinge(-1.0, 0.2, torque=torque)
    bench.run(120)
    assert 1e-6 < 0.2 - float(joined["angle"][0]) < 0.9e-4
    assert joined["limit/effort"][0] == pytest.approx(-torque, rel=0.05)  # what Newton's tolerance leaves of a gap


@pytest.mark.parametrize("stiffness", [20.0, 2e3, 2e4])
@pytest.mark.parametrize("pressed", [(5,), (1, 2, 4, 5)])
def test_motors_press_joints_of_an_arm_against_stops_while_others_swing(stiffness, pressed):
    """Steps that turn bodies bend into gaps of stops by second order: they took 1024 iterations, or were singular."""
    sim = Sim(contact=False)
    joints, parent = [], None
    for k, axis in enumerate([(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0)]):
        width = 0.06 - 0.006 * k
        link = sim.box((0.3, width, width), pos=(0.3 * k + 0.15, 0, 1), density=2000)
        joint = sim.revolute(parent, link, pos=(0.3 * k, 0, 1), axis=axis, limit=(-0.6, 0.6), hard=True, drive=True)
        joint.drive.stiffness, joint.drive.damping = stiffness, 0.02 * stiffness
        joints.append(joint)
        parent = link
    iterations = []
    for _ in sim.run(100):
        for k, joint in enumerate(joints):
            joint.drive.target = 1.5 if k in pressed else 0.4 * np.sin(2 * np.pi * sim.time + k)
        iterations.append(sim.world.report.iterations)
        assert all(abs(joint.angle) < 0.6 for joint in joints)
    assert max(iterations) < 400  # where all four arrive in one step, with 50 kN·m; 1,024 are allowed
    assert np.mean(iterations) < 10  # the stress of a link changes with the barrier that it is pressed against
    assert all(0.6 - joints[k].angle < 1e-4 for k in pressed)


@pytest.mark.parametrize("spin", [30.0, 70.0, 250.0, 700.0])
@pytest.mark.parametrize("gamma", [1e4, np.inf])
def test_a_fast_wheel_does_not_wrap_past_a_stop_many_turns_away(spin, gamma):
    """Up to seven radians a step, a turn and more, over bounds three turns away."""
    bench, joined = hinge(-20.0, 20.0, spin=spin, torque=40.0, gamma=gamma)
    # it gets there in 59 steps at most, and is pressed against it in the others
    angles = bench.run(80, lambda: float(joined["angle/multi_turn"][0]))
    assert max(angles) < 20.0
    assert angles[-1] > 19.9
    # never more than is possible: a step turns it on, and never by whole turns elsewhere
    assert min(np.diff(angles)) > -0.1


def test_the_wheel_turns_as_if_there_were_no_stop_until_it_gets_there():
    free, stopped = (hinge(-u, u, spin=20.0) for u in (1e6, 3.0))
    paths = [np.array(b.run(10, lambda j=j: float(j["angle/multi_turn"][0]))) for b, j in (free, stopped)]
    before = paths[0] < 2.9
    # Newton's tolerance, 1e-2 /s · h
    assert paths[1][before] == pytest.approx(paths[0][before], abs=1e-4)
    assert before.sum() >= 8


@pytest.mark.parametrize("config", [{"newton/max_iter": 1}, {"newton/max_iter": 2}, {"line_search/max_iter": 1}])
def test_a_newton_iteration_that_stops_early_is_inside_as_well(config):
    bench, joined = hinge(-0.3, 0.3, config, spin=40.0, torque=100.0)
    with np.errstate(all="ignore"):
        angles = bench.run(30, lambda: float(joined["angle/multi_turn"][0]))
    assert max(angles) < 0.3
    assert max(angles) > 0.2


@pytest.mark.parametrize("integrator", ["bdf1", "bdf2", "ctr"])
@pytest.mark.parametrize("contact", [0, 1])
@pytest.mark.parametrize("gamma", [100.0, np.inf])
def test_with_every_integrator_and_with_contact(integrator, contact, gamma):
    bench = Bench({"dt": 0.01, "integrator/type": integrator, "contact/enable": contact}, gravity=(0, 0, -9.8))
    base = bench.box("base", at=(0, 0, 1), fixed=True)
    body = bench.box("body", at=(0, 0, 0.3))
    limit = [lambda sc: AffineBodyPrismaticJointLimit().apply_to(sc, -0.2, 0.1, np.inf)]
    joined = bench.join(AffineBodyPrismaticJoint, [base], [body], (0, 0, 0), (0, 0, 1), strength=gamma, extras=limit)
    way = bench.run(60, lambda: float(joined["distance"][0]))
    assert min(way) > -0.2
    assert way[-1] == pytest.approx(-0.2, abs=1e-4)


def test_some_joints_of_a_geometry_may_be_hard_and_others_soft():
    bench = Bench({"dt": 0.01})
    at = np.array([[0.0, 0, 0], [3.0, 0, 0]])
    base, body = bench.rigid("base", at=at, fixed=True), bench.rigid("body", at=at, spin=(0, 0, 5.0))
    limit = [lambda sc: AffineBodyRevoluteJointLimit().apply_to(sc, -0.3, 0.3, [np.inf, 1.0])]
    pairs = ([(slot, k) for k in range(2)] for slot in (base, body))
    joined = bench.join(AffineBodyRevoluteJoint, *pairs, at, at + UP, extras=limit)
    most = np.max(bench.run(30, lambda: joined["angle"].copy()), axis=0)
    assert most[0] < 0.3 < most[1]
    # and it may change its mind
    joined["limit/strength"] = [1.0, 1.0]
    bench.run(1)
    joined["limit/strength"] = [np.inf, 1.0]
    bench.run(1)


def test_bounds_may_be_moved_while_a_world_runs():
    bench, joined = hinge(-1.0, 1.0, torque=1.0)
    bench.run(150)
    assert joined["angle"][0] == pytest.approx(1.0, abs=1e-4)
    for k in range(100):
        joined["limit/upper"] = 1.0 + 0.005 * k
        bench.run()
        assert joined["angle"][0] < joined["limit/upper"][0]
    assert joined["angle"][0] == pytest.approx(joined["limit/upper"][0], abs=0.01)


def test_the_offset_of_the_reported_angle_counts():
    bench, joined = hinge(1.9, 2.1, init=2.0, torque=1.0)
    bench.run(100)
    assert joined["angle"][0] == pytest.approx(2.1, abs=1e-4)
    assert joined["angle"][0] < 2.1


def test_a_nut_stops_at_either_of_its_coordinates():
    for name, upper in (("angle", 3.0), ("distance", 0.1)):
        bench = Bench({"dt": 0.01})
        base, body = bench.rigid("base", fixed=True), bench.rigid("body", spin=(0, 0, 10.0))

        def extras(sc, name=name, upper=upper):
            sc.edges["pitch"] = 0.3
            AffineBodyJointLimit().apply_to(sc, -1.0, upper, np.inf, coordinate=name)

        joined = bench.join(AffineBodyScrewJoint, [base], [body], 0 * UP, UP, strength=1e4, extras=[extras])
        most = max(bench.run(100, lambda j=joined, n=name: float(j[n if n == "distance" else "angle/multi_turn"][0])))
        assert upper - 1e-3 < most < upper


# ---- refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        (0.3, 1.0, r"joint 0 of 'joint' has angle = 0.1 \[rad\], which is 0.2 outside of its hard limits 0.3 … 1;"),
        (-1.0, -0.4, r"joint 0 of 'joint' has angle = 0.1 \[rad\], which is 0.5 outside of its hard limits -1 … -0.4;"),
        (0.5, 0.5, r"joint 0 of 'joint' has lower = upper = 0.4 \[rad\]; a hard limit needs a range"),
    ],
)
def test_a_joint_that_starts_outside_is_refused_at_init_with_how_far(lower, upper, message):
    bench, _ = hinge(lower, upper, init=0.1)
    with pytest.raises(ConstitutionError, match=message):
        bench.run(0)
        bench.world


def test_a_bound_that_is_moved_past_the_joint_is_refused():
    bench, joined = hinge(-1.0, 1.0)
    bench.run(1)
    joined["limit/lower"] = 0.25
    with pytest.raises(ConstitutionError, match=r"has angle = .*e?.* \[rad\], which is 0.25 outside"):
        bench.world.advance()


def test_a_limit_cannot_turn_hard_if_none_was_at_init():
    bench, joined = hinge(-1.0, 1.0, strength=1.0)
    bench.run(1)
    joined["limit/strength"] = np.inf
    with pytest.raises(ConstitutionError, match=r"limit/strength = inf, which none of them had at World.init"):
        bench.world.advance()
