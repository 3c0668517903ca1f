"""Joints with strength_ratio = inf beside drives, limits, contact, and bodies of all kinds."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import Stage, box
from exact_mechanisms import CLOSED, HALF, G, largest, mixed
from joint_scenes import Bench, Joined

from dovetail.constitution import (
    AffineBodyDrivingRevoluteJoint,
    AffineBodyFixedJoint,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointLimit,
    AffineBodySphericalJoint,
)

# ---- with everything else ----------------------------------------------------------------------------------------


def test_drives_and_limits_act_on_exact_hinges():
    def extras(sc):
        AffineBodyDrivingRevoluteJoint().apply_to(sc, 1e3)
        sc.edges["driving/is_constrained"] = [1, 0]
        sc.edges["aim_angle"] = 0.7
        AffineBodyRevoluteJointLimit().apply_to(sc, -0.3, 0.3, 1e3)

    bench = Bench({"dt": 0.01}, gravity=G)
    base = bench.box("base", (0.1, 0.1, 0.1), fixed=True)
    links = bench.box("links", (0.2, 0.05, 0.05), [(0.15, 0, 0), (0.35, 0, 0)])
    hinge_mass = 1000 * (0.1**3 + 0.2 * 0.05**2)
    pins = np.array([[0.05, 0, 0], [0.25, 0, 0]])
    bodies = [base, (links, 0), (links, 1)]
    hinge = bench.join(
        AffineBodyRevoluteJoint, bodies[:-1], bodies[1:], pins - HALF, pins + HALF, strength=np.inf, extras=[extras]
    )
    bench.run(100)
    assert largest([hinge]) < CLOSED
    # where the drive and the stop balance: K_d (0.7 − θ) = 3 s ((θ − 0.3)/0.6)²/0.6, less the weight
    x = np.linspace(0.3, 0.7, 100001)
    balance = x[np.argmin(np.abs(1e3 * hinge_mass * (0.7 - x) - 3e3 * ((x - 0.3) / 0.6) ** 2 / 0.6))]
    assert hinge["angle"][0] == pytest.approx(balance, abs=5e-3)
    # the weight of a link, 0.5 kg at 0.1 m, times h² against the stop
    assert 0.3 < hinge["angle"][1] < 0.31


@pytest.mark.parametrize("kind", [AffineBodySphericalJoint, AffineBodyPrismaticJoint])
def test_joints_that_start_open_are_closed_within_the_step(kind):
    bench = Bench({"dt": 0.01})
    base = bench.box("base", fixed=True)
    body = bench.box("body", at=(1, 0, 0))
    points = [(0.5, 0, 0), (0.5, 0, 1)][: len(kind.world_points)]
    joint = bench.join(kind, [base], [body], *points, strength=np.inf)
    bench.run(3)
    moved = body.geometry.transforms.values.copy()
    moved[0, :3, 3] += (0.05, 0.02, 0.0)
    bench.write(moved, 1)
    bench.world.retrieve()
    assert joint["gap"][0] > 0.05
    bench.run(1)
    assert largest([joint]) < CLOSED and bench.world.report.converged


def test_the_length_of_steps_may_change_at_will():
    rng = np.random.default_rng(0)
    bench, joined = mixed(0.01)
    for _ in range(60):
        bench.scene.config["dt"] = float(10 ** rng.uniform(-3.3, -1.2))
        bench.run(1)
        assert largest(joined) < CLOSED and bench.world.report.converged


@pytest.mark.parametrize("case", ["ARAP", "quasi-static", "massless", "far away", "1000 times heavier"])
def test_all_kinds_of_bodies_can_have_exact_joints(case):
    bench = Bench({"dt": 0.01}, gravity=G)
    x = 1e3 if case == "far away" else 0.0
    potential = "ARAP" if case == "ARAP" else "OrthoPotential"
    base = bench.box("base", at=(x, 0, 0), fixed=True)
    places = [(x + 0.4 + 0.35 * k, 0, 0) for k in range(3)]
    links = bench.box("links", (0.3, 0.1, 0.1), places, potential=potential)
    end = bench.box("end", at=(x + 1.5, 0, 0), density=4e5 if case == "1000 times heavier" else 1e3)
    if case == "quasi-static":
        links.geometry.instances["is_dynamic"] = 0
    if case == "massless":
        links.geometry.instances["external_kinetic"] = 1
    bodies = [base, *((links, k) for k in range(3)), end]
    pins = np.array([[x + 0.22 + 0.35 * k, 0, 0] for k in range(4)])
    hinges = bench.join(AffineBodyRevoluteJoint, bodies[:-1], bodies[1:], pins - HALF, pins + HALF, strength=np.inf)
    seen = bench.run(30, lambda: (largest([hinges]), bench.world.report.converged))
    # a kilometre away 1e-13 m is the last digit
    assert max(open_by for open_by, _ in seen) < CLOSED
    assert all(converged for _, converged in seen)


def test_a_chain_falls_on_the_ground_with_its_joints_closed_and_nothing_through_it():
    stage = Stage(gravity=(0, 0, -9.81))
    stage.ground()
    links = stage.add("links", box(0.2, 0.1, 0.1), [(0.25 * k, 0, 0.4) for k in range(6)])
    pins = np.array([[0.25 * k + 0.125, 0, 0.4] for k in range(5)])
    left, right = [[links] * 5, np.arange(5)], [[links] * 5, np.arange(1, 6)]
    joint = AffineBodyRevoluteJoint().create_geometry(pins - HALF, pins + HALF, *left, *right, np.inf)
    hinges, _ = stage.scene.objects.create("hinges").geometries.create(joint)
    wall = stage.add("wall", box(0.2, 1.0, 0.2), [(0.6, 0, 0.12)])
    edges = hinges.geometry.edges
    gaps, contacts = [], 0
    for _ in range(80):
        stage.run(1)
        gaps.append(max(edges["gap"].max(), edges["misalignment"].max()))
        contacts = max(contacts, stage.world.report.contacts)
        assert stage.world.report.converged
    assert max(gaps) < CLOSED and contacts > 5
    assert wall is not None


@pytest.mark.parametrize("seed", range(8))
def test_random_mechanisms_with_loops_limits_and_contact_stay_closed_and_apart(seed):
    """Links joined at random to a tree, often with a loop too many, thrown on the ground; dt up to 1/24."""
    rng = np.random.default_rng(seed)
    dt = float(rng.choice([0.005, 0.01, 0.02, 1 / 24]))
    stage = Stage(gravity=G, joint__exact=1, contact__joint_neighbours=0, dt=dt)
    stage.ground()
    stage.material(0.3)
    n = int(rng.integers(4, 9))
    places = np.array([(0.6 * (k % 3), 0.6 * (k // 3 % 3), 0.5 + 0.6 * (k // 9)) for k in range(n)])
    links = stage.add(
        "links", box(0.4, 0.3, 0.2), places, spin=rng.normal(size=(n, 3)), velocity=rng.normal(size=(n, 3))
    )
    pairs = [(k, int(rng.integers(0, k))) for k in range(1, n)]
    pairs += [rng.choice(n, 2, replace=False).tolist() for _ in range(int(rng.integers(0, 2)))]
    joined = []
    for a, b in pairs:
        kind = (AffineBodySphericalJoint, AffineBodyRevoluteJoint, AffineBodyPrismaticJoint, AffineBodyFixedJoint)[
            int(rng.integers(0, 4))
        ]
        middle, along = (places[a] + places[b]) / 2, rng.normal(size=3)
        points = [[middle], [middle + 0.3 * along / np.linalg.norm(along)]][: len(kind.world_points)]
        joint = kind().create_geometry(*points, [links], [a], [links], [b], [100.0])
        if kind is AffineBodyRevoluteJoint and rng.random() < 0.5:
            AffineBodyRevoluteJointLimit().apply_to(joint, -0.5, 0.5, 10.0)
        slot, _ = stage.scene.objects.create("joint").geometries.create(joint)
        joined.append(Joined(slot, kind))
    for _ in range(40):
        stage.world.advance()
        stage.world.retrieve()
        assert largest(joined) < CLOSED and stage.world.report.converged
    assert stage.world.sanity_checker().check() == 0


def test_a_joint_that_contact_keeps_open_is_named(caplog):
    """A wall stands between the body and the place where its joint wants it."""
    stage = Stage(**{"newton/max_iter": 30})
    base = stage.add("base", box(0.2, 0.2, 0.2), [(0, 0, 0)], fixed=True)
    stage.add("wall", box(0.1, 2.0, 2.0), [(0.5, 0, 0)], fixed=True)
    body = stage.add("body", box(0.2, 0.2, 0.2), [(1.0, 0, 0)])
    ball = AffineBodySphericalJoint().create_geometry([(0, 0, 0)], [(-0.2, 0, 0)], [base], [0], [body], [0], np.inf)
    stage.scene.objects.create("ball").geometries.create(ball)
    with caplog.at_level("WARNING", "dovetail"):
        stage.run(1)
    assert not stage.world.report.converged
    assert "The exact joint 0 of 'ball' stays open by" in caplog.text


def test_a_step_that_reaches_the_iteration_limit_leaves_joints_closed():
    """Its last iterate is taken as it is, so it must not be one that went round."""
    bench = Bench({"dt": 0.04, "newton/max_iter": 3}, gravity=G)
    base = bench.box("base", fixed=True)
    links = bench.box("links", (0.3, 0.1, 0.1), [(0.4 + 0.35 * k, 0, 0) for k in range(4)], spin=(0, 20.0, 3.0))
    bodies = [base, *((links, k) for k in range(4))]
    pins = np.array([[0.22 + 0.35 * k, 0, 0] for k in range(4)])
    hinges = bench.join(AffineBodyRevoluteJoint, bodies[:-1], bodies[1:], pins - HALF, pins + HALF, strength=np.inf)
    seen = bench.run(10, lambda: (largest([hinges]), bench.world.report.converged))
    assert not all(converged for _, converged in seen)
    assert max(open_by for open_by, _ in seen) < CLOSED
