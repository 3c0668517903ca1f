"""Couplings of joint coordinates: gears, racks, mimics, between joints that share a body or not, soft and exact."""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import TIGHT, Bench

from dovetail.constitution import (
    AffineBodyCylindricalJoint,
    AffineBodyJointCoupling,
    AffineBodyJointDrive,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
    AffineBodySphericalJoint,
)
from dovetail.errors import ConstitutionError
from dovetail.solver.joint.combined import (
    apply_combined,
    linearise_combined,
    measure_combined,
    pull_back_combined,
)

UP = np.array([0.0, 0.0, 1.0])
SIDE = np.array([1.0, 0.0, 0.0])
LEADER, FOLLOWER = 0.3, 0.02  # moments of inertia [kg·m²]


def couple(bench, leader, follower, ratio, offset=0.0, strength=np.inf, name="coupling", **named):
    sc = AffineBodyJointCoupling().create_geometry([leader.slot], [follower.slot], ratio, offset, strength, **named)
    slot, _ = bench.scene.objects.create(name).geometries.create(sc)
    return slot


def value(slot, name):
    return float(slot.geometry["coupling"].slot(name).values[0])


def torque(tau):
    def apply(sc):
        AffineBodyRevoluteJointExternalForce().apply_to(sc, tau)
        sc.edges["external_torque/is_constrained"] = 1

    return apply


def wheels(ratio, tau, h=1e-3, strength=np.inf, integrator="bdf1", gamma=np.inf):
    """Two wheels on one base; a torque turns the first, a gear the second."""
    bench = Bench({"dt": h, "integrator/type": integrator, **TIGHT})
    base = bench.rigid("base", fixed=True)
    first = bench.rigid("first", inertia=(LEADER,) * 3)
    second = bench.rigid("second", inertia=(FOLLOWER,) * 3, at=SIDE)
    leader = bench.join(AffineBodyRevoluteJoint, [base], [first], 0 * UP, UP, strength=gamma, extras=[torque(tau)])
    follower = bench.join(AffineBodyRevoluteJoint, [base], [second], SIDE, SIDE + UP, strength=gamma, name="second")
    return bench, leader, follower, couple(bench, leader, follower, ratio, strength=strength)


@pytest.mark.parametrize("integrator", ["bdf1", "bdf2", "ctr"])
@pytest.mark.parametrize("ratio", [-2.5, 0.4])
def test_an_exact_gear_keeps_its_ratio_and_reflects_the_inertia(ratio, integrator):
    """α = τ/(J_l + r² J_f), and the gear drives the follower with J_f r α."""
    tau, n, h = 2.0, 300, 1e-3
    bench, leader, follower, gear = wheels(ratio, tau, h, integrator=integrator)
    worst = max(
        bench.run(n, lambda: abs(follower["angle/multi_turn"][0] - ratio * leader["angle/multi_turn"][0]))
    )  # fmt: skip
    assert worst < 1e-9
    alpha = tau / (LEADER + ratio**2 * FOLLOWER)
    # bdf1 lags by h/2 over 0.3 s and takes (ωh)²/2 of the spin a step
    assert leader["velocity"][0] == pytest.approx(alpha * n * h, rel=5e-3)
    assert value(gear, "effort") == pytest.approx(FOLLOWER * ratio * alpha, rel=2e-2)
    assert abs(value(gear, "gap")) < 1e-9


def test_a_gear_counts_turns():
    bench, leader, follower, _ = wheels(-3.0, 4.0, h=5e-3)
    bench.run(400)
    assert leader["angle/multi_turn"][0] > 3 * np.pi
    assert follower["angle/multi_turn"][0] == pytest.approx(-3.0 * leader["angle/multi_turn"][0], abs=1e-9)


def test_a_soft_gear_yields_by_its_load_over_its_strength():
    """Held at the leader, loaded at the follower: K of the follower, γ(m_i + m_j) = 2γ kg·m²."""
    h, gamma, load = 0.01, 50.0, 3.0
    bench = Bench({"dt": h, **TIGHT})
    base = bench.rigid("base", fixed=True)
    first, second = bench.rigid("first"), bench.rigid("second", at=SIDE)
    second.geometry.instances["is_dynamic"] = first.geometry.instances["is_dynamic"] = 0

    def held(sc):
        AffineBodyJointDrive().apply_to(sc, stiffness=1e9)

    leader = bench.join(AffineBodyRevoluteJoint, [base], [first], 0 * UP, UP, extras=[held])
    follower = bench.join(
        AffineBodyRevoluteJoint, [base], [second], SIDE, SIDE + UP, extras=[torque(load)], name="second"
    )
    gear = couple(bench, leader, follower, 2.0, strength=gamma)
    bench.run(40)
    assert value(gear, "gap") == pytest.approx(load * h**2 / (2 * gamma), rel=1e-6)
    assert value(gear, "effort") == pytest.approx(-load, rel=1e-6)
    # the leader feels −ratio times that
    assert leader["drive/effort"][0] == pytest.approx(-2.0 * load, rel=1e-6)


def test_rack_and_pinion():
    """An angle leads a distance: ratio in metres per radian, m_eff = m r² on the wheel."""
    r, tau, h, n = 0.05, 0.5, 1e-3, 200
    bench = Bench({"dt": h, **TIGHT})
    base = bench.rigid("base", fixed=True)
    pinion, rack = bench.rigid("pinion", inertia=(LEADER,) * 3), bench.rigid("rack", mass=20.0, at=SIDE)
    leader = bench.join(AffineBodyRevoluteJoint, [base], [pinion], 0 * UP, UP, strength=np.inf, extras=[torque(tau)])
    follower = bench.join(AffineBodyPrismaticJoint, [base], [rack], SIDE, SIDE + UP, strength=np.inf, name="rack")
    couple(bench, leader, follower, r)
    bench.run(n)
    assert follower["distance"][0] == pytest.approx(r * leader["angle"][0], abs=1e-9)
    assert leader["velocity"][0] == pytest.approx(tau * n * h / (LEADER + 20.0 * r**2), rel=5e-3)


@pytest.mark.parametrize("strength", [np.inf, 100.0])
def test_joints_that_share_no_body_keep_their_momentum_together(strength):
    """Two free pairs of bodies, all eight coordinates of a hinge and of another one far away, spinning apart."""
    bench = Bench({"dt": 0.01, "newton/velocity_tol": 1e-11, "newton/transrate_tol": 1e-11})
    spins = [(0, 0, 1.0), (0.2, 0, -2.0), (0, 0.3, 0.5), (0, 0, 3.0)]
    bodies = [bench.box(f"body {k}", at=(k, 0.1 * k, 0), spin=s, density=100.0) for k, s in enumerate(spins)]
    leader = bench.join(AffineBodyRevoluteJoint, [bodies[0]], [bodies[1]], (0.5, 0, 0), (0.5, 0.2, 1))
    follower = bench.join(AffineBodyRevoluteJoint, [bodies[2]], [bodies[3]], (2.5, 0, 0), (2.5, 0, 1), name="other")
    gear = couple(bench, leader, follower, -1.7, strength=strength)
    simulation = bench.lowered()
    mass, state = simulation.model.bodies.mass, simulation.state
    size = np.abs(mass @ state.V).sum()
    for frame in range(1, 11):
        V = state.V.copy()
        assert simulation.advance(frame).converged
        change = mass @ (state.V - V)
        # what a step conserves, see test_joint_momentum.py
        assert np.abs(change[:, 0].sum(axis=0)).max() <= 1e-12 * size
        assert np.abs(np.cross(state.Q, change).sum(axis=(0, 1))).max() <= 1e-11 * size
    simulation.retrieve()
    assert abs(value(gear, "effort")) > 1e-3
    if strength == np.inf:
        assert abs(value(gear, "gap")) < 1e-9


@pytest.mark.parametrize("strength", [np.inf, 1e4])
def test_a_mimic_follows_with_an_offset_that_may_change(strength):
    """Fingers as in a gripper: the second closes as the first one does, from another angle."""
    bench = Bench({"dt": 0.01, **TIGHT})
    base = bench.rigid("base", fixed=True)
    first, second = bench.rigid("first"), bench.rigid("second", at=SIDE)

    def drive(sc):
        AffineBodyJointDrive().apply_to(sc, damping=100.0)
        sc.edges["drive/target_velocity"] = 0.5

    def shifted(sc):
        sc.edges["init_angle"] = 0.3

    leader = bench.join(AffineBodyRevoluteJoint, [base], [first], 0 * UP, UP, strength=1e4, extras=[drive])
    follower = bench.join(
        AffineBodyRevoluteJoint, [base], [second], SIDE, SIDE + UP, strength=1e4, extras=[shifted], name="second"
    )
    mimic = couple(bench, leader, follower, -1.0, offset=0.3, strength=strength)
    tolerance = 1e-9 if strength == np.inf else 1e-5
    for k in range(50):
        mimic.geometry["coupling"].slot("offset").edit()[:] = 0.3 + 0.001 * k
        bench.run()
        assert follower["angle"][0] == pytest.approx(-leader["angle"][0] + 0.3 + 0.001 * k, abs=tolerance)


def test_both_coordinates_of_one_joint_make_a_screw():
    pitch = 0.25
    bench = Bench({"dt": 0.01, **TIGHT})
    base, body = bench.rigid("base", fixed=True), bench.rigid("body", spin=(0, 0, 5.0))
    joined = bench.join(AffineBodyCylindricalJoint, [base], [body], 0 * UP, UP, strength=np.inf)
    couple(bench, joined, joined, pitch / (2 * np.pi), leader_coordinate="angle", follower_coordinate="distance")
    bench.run(100)
    assert joined["angle/multi_turn"][0] > 2.0
    assert joined["distance"][0] == pytest.approx(pitch * joined["angle/multi_turn"][0] / (2 * np.pi), abs=1e-9)


def test_a_kept_state_goes_on_bit_by_bit():
    bench, leader, follower, gear = wheels(-1.5, 2.0, 0.01)
    bench.run(10)
    kept = bench.world.state()
    first = bench.run(10, lambda: (leader["angle"][0], follower["angle"][0], value(gear, "effort")))
    bench.world.restore(kept)
    assert bench.run(10, lambda: (leader["angle"][0], follower["angle"][0], value(gear, "effort"))) == first


@pytest.mark.parametrize("seed", range(3))
def test_j_is_the_derivative_of_a_combined_row(seed):
    """Two coordinates on four bodies in states that are no rotations; differences of second order."""
    bench, _, _, _ = wheels(-2.5, 1.0)
    simulation = bench.lowered()
    rng = np.random.default_rng(seed)
    rows, active = simulation.model.potential.exact.combined, simulation.model.bodies.is_free
    Q = simulation.state.Q + 0.1 * active[:, None, None] * rng.normal(size=simulation.state.Q.shape)
    y = active[:, None] * rng.normal(size=(len(Q), 12))
    s, out = 1e-5, np.empty((1, 3))
    linearise_combined(rows, active, Q)
    apply_combined(rows, active, y, 0, out)
    applied = out[0, 0]
    residual = [measure_combined(rows, active, Q, t * y, 0, out) and out[0, 0] for t in (-s, s)]
    assert applied == pytest.approx((residual[0] - residual[1]) / (2 * s), abs=1e-8)
    g = np.zeros_like(y)
    pull_back_combined(rows, np.array([[1.0, 0.0, 0.0]]), 0, g)
    assert np.vdot(g, y) == pytest.approx(applied, rel=1e-12)


def test_couplings_that_make_no_sense_are_refused():
    bench, leader, follower, _ = wheels(1.0, 0.0)
    make = AffineBodyJointCoupling().create_geometry
    with pytest.raises(ConstitutionError, match=r"coupling 0 has ratio = nan"):
        make([leader.slot], [follower.slot], np.nan)
    with pytest.raises(ConstitutionError, match=r"coupling 0 has strength_ratio = 0; give a number > 0, or inf"):
        make([leader.slot], [follower.slot], 1.0, strength_ratios=0.0)
    with pytest.raises(ConstitutionError, match=r"coupling 0 has the follower joint 3 of 'second', which has 1"):
        make([leader.slot], [follower.slot], 1.0, follower_indices=3)
    with pytest.raises(ConstitutionError, match=r"AffineBodyRevoluteJoint reports no coordinate 'distance', but angle"):
        make([leader.slot], [follower.slot], 1.0, leader_coordinate="distance")
    with pytest.raises(ConstitutionError, match=r"follower_slots has 0 slots for 1 coupling"):
        make([leader.slot], [], 1.0)
    ball = bench.join(AffineBodySphericalJoint, [leader_body(bench)], [leader_body(bench, "other")], 0 * UP)
    with pytest.raises(ConstitutionError, match=r"AffineBodySphericalJoint \(26\), which reports no coordinate"):
        make([ball.slot], [follower.slot], 1.0)


def leader_body(bench, name="ball"):
    return bench.rigid(name, at=(0, 5, 0))
