"""Which islands the dual sweep takes, and that it ends where the block system does."""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import TIGHT, Bench

from dovetail.constitution import (
    AffineBodyCylindricalJoint,
    AffineBodyDistanceJoint,
    AffineBodyDrivingRevoluteJoint,
    AffineBodyFixedJoint,
    AffineBodyJointDamper,
    AffineBodyJointDrive,
    AffineBodyJointFriction,
    AffineBodyPlanarJoint,
    AffineBodyPointOnLineJoint,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointLimit,
    AffineBodyScrewJoint,
    AffineBodySphericalJoint,
    AffineBodyUniversalJoint,
    SoftTransformConstraint,
)

EXACT = float("inf")


SWEEP = {"newton/direction": "sweep"}


def swept(bench: Bench) -> np.ndarray:
    """Flags of the bodies in trees."""
    bench.scene.config["newton/direction"] = "sweep"
    found = bench.lowered().model.directions.sweep
    return np.zeros(0, bool) if found is None else found.in_trees != 0


def chain(bench: Bench, kind, links: int, strength=EXACT, **more):
    """A fixed base and links 0.2 m long, end to end along x, joined about y."""
    slot = bench.box("base", (0.2, 0.05, 0.05), (-0.1, 0.0, 0.0), fixed=True)
    at = np.zeros((links, 3))
    at[:, 0] = 0.2 * np.arange(links) + 0.1
    rest = bench.box("links", (0.2, 0.05, 0.05), at, **more)
    bench.slots = {"links": rest}
    bodies = [(slot, 0), *((rest, k) for k in range(links))]
    ends = np.zeros((links, 3))
    ends[:, 0] = 0.2 * np.arange(links)
    half = np.array([0.0, 0.02, 0.0])
    points = [ends - half, ends + half] if kind is AffineBodyRevoluteJoint else [ends]
    return bench.join(kind, bodies[:-1], bodies[1:], *points, strength=strength)


def tree(bench: Bench, bodies: int, strength) -> list:
    """Balls, hinges and welds in turns on a binary tree, hung up at its root."""
    slot = bench.box("base", (0.2, 0.2, 0.2), (0.0, 0.0, 1.0), fixed=True)
    rng = np.random.default_rng(7)
    at = [rng.normal(size=3) * 0.4 for _ in range(bodies)]
    rest = bench.box("bodies", (0.3, 0.2, 0.1), at)
    kinds = AffineBodySphericalJoint, AffineBodyRevoluteJoint, AffineBodyFixedJoint
    joints = []
    for k in range(bodies):
        left = (slot, 0) if k == 0 else (rest, (k - 1) // 2)
        kind = kinds[k % 3]
        anchor = at[k] + rng.normal(size=3) * 0.1
        points = {1: (anchor,), 2: (anchor, anchor + np.array([0.0, 0.3, 0.1])), 0: ()}[len(kind.world_points)]
        value = strength[k % len(strength)]
        joints.append(bench.join(kind, [left], [(rest, k)], *points, strength=value, name=f"joint {k}"))
    return joints


LOOSE = {"bdf1": 1.0, "ctr": 1e3}
"""A start by sweeps takes bodies for rigid ones, which changes strain rates by a thousandth: see test_consistent.py."""


def motion(build, sweeps: bool, frames: int, **config) -> tuple[np.ndarray, np.ndarray]:
    """States of all frames and reactions at the end, with and without the sweep."""
    direction = {"newton/direction": "sweep" if sweeps else "factor"}
    bench = Bench({"dt": 0.01, **TIGHT, **config, **direction}, gravity=(0.0, 0.0, -9.8))
    joints = build(bench)
    states = bench.run(frames, lambda: np.stack([g.transforms.values.copy() for g in bodies_of(bench)[-1:]]))
    assert (bench.world._simulation.model.directions.sweep is not None) == sweeps
    return np.array(states), np.concatenate([j["reaction/force"].ravel() for j in joints])


def bodies_of(bench: Bench):
    return [slot.geometry for slot, _ in bench.scene.geometries if "kappa" in slot.geometry.instances]


@pytest.mark.parametrize("strength", [(EXACT,), (100.0,), (EXACT, 100.0, 30.0, EXACT)])
@pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])
def test_sweep_and_block_system_end_at_the_same_minimiser(strength, integrator):
    config = {"integrator/type": integrator}
    build = lambda bench: tree(bench, 15, strength)  # noqa: E731
    found, forces = motion(build, True, 5, **config)
    expected, others = motion(build, False, 5, **config)
    # tolerances of 1e-8 m/s · 0.01 s, and five steps that pass errors on
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(forces, others, atol=1e-5 * np.abs(others).max())


def test_a_long_chain_is_the_same_either_way():
    build = lambda bench: [chain(bench, AffineBodyRevoluteJoint, 40)]  # noqa: E731
    found, forces = motion(build, True, 5)
    expected, others = motion(build, False, 5)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(forces, others, atol=1e-5 * np.abs(others).max())


def driven(bench: Bench, kind, strength=EXACT) -> list:
    """A chain of 40 hinges whose first one is driven, or limited, and the rest of which hangs on it."""
    rest = chain(bench, AffineBodyRevoluteJoint, 40, strength)
    base = bench.box("wall", (0.2, 0.2, 0.2), (-1.0, 0.0, 0.0), fixed=True)
    arm = bench.box("arm", (0.3, 0.1, 0.1), (-0.7, 0.0, 0.0))
    bench.join(AffineBodySphericalJoint, [arm], [(bench.slots["links"], 39)], (7.8, 0.0, 0.0), strength=strength)

    def add(sc) -> None:
        if kind is AffineBodyDrivingRevoluteJoint:
            kind().apply_to(sc, 50.0)
            sc.edges["driving/is_constrained"] = 1
            sc.edges["aim_angle"] = 0.4
        else:
            kind().apply_to(sc, -0.02, 0.01, 5.0)

    ends = (-0.85, -0.1, 0.0), (-0.85, 0.1, 0.0)
    hinge = bench.join(AffineBodyRevoluteJoint, [base], [arm], *ends, strength=strength, extras=[add])
    return [rest, hinge]


@pytest.mark.parametrize("kind", [AffineBodyDrivingRevoluteJoint, AffineBodyRevoluteJointLimit])
@pytest.mark.parametrize("strength", [EXACT, 100.0])
@pytest.mark.parametrize("integrator", ["bdf1", "ctr"])
def test_few_drives_and_limits_are_rows_of_the_sweep(kind, strength, integrator):
    build, config = lambda bench: driven(bench, kind, strength), {"integrator/type": integrator}
    found, forces = motion(build, True, 6, **config)
    expected, others = motion(build, False, 6, **config)
    loose = LOOSE[integrator]
    np.testing.assert_allclose(found, expected, atol=loose * 1e-9)
    np.testing.assert_allclose(forces, others, atol=loose * 1e-5 * np.abs(others).max())


def with_an_odd_joint(bench: Bench, kind, strength, extras=()) -> list:
    """A chain of 40 hinges with an arm at its end that a joint of another kind holds."""
    rest = chain(bench, AffineBodyRevoluteJoint, 40, strength)
    arm = bench.box("arm", (0.3, 0.1, 0.1), (8.2, 0.0, 0.0))
    ends = ((8.05, 0.0, 0.0), (8.05, 0.3, 0.2))[: len(kind.world_points)]
    last = (bench.slots["links"], 39)
    return [rest, bench.join(kind, [last], [arm], *ends, strength=strength, extras=extras, name="odd")]


SLIDERS = AffineBodyCylindricalJoint, AffineBodyPointOnLineJoint, AffineBodyPrismaticJoint
HELD = AffineBodyDistanceJoint, AffineBodyPlanarJoint, AffineBodyScrewJoint, AffineBodyUniversalJoint


@pytest.mark.parametrize(
    ("kind", "strength"), [(kind, 100.0) for kind in SLIDERS + HELD] + [(kind, EXACT) for kind in SLIDERS]
)
def test_few_joints_of_other_kinds_are_rows_of_the_sweep(kind, strength):
    build = lambda bench: with_an_odd_joint(bench, kind, strength)  # noqa: E731
    bench = Bench()
    build(bench)
    assert swept(bench).sum() == 41
    found, forces = motion(build, True, 5)
    expected, others = motion(build, False, 5)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(forces, others, atol=1e-5 * np.abs(others).max())


def weak_drive(sc) -> None:
    """At its limit from the first step on: a constant torque."""
    AffineBodyJointDrive().apply_to(sc, 1e4, 1.0, 0.5)
    sc.edges["drive/target"] = 1.0


@pytest.mark.parametrize(
    "extra",
    [
        weak_drive,
        lambda sc: AffineBodyJointDamper().apply_to(sc, 2.0),
        lambda sc: AffineBodyJointFriction().apply_to(sc, 0.2, 1e-3),
    ],
    ids=["capped drive", "damper", "dry friction"],
)
@pytest.mark.parametrize("integrator", ["bdf1", "ctr"])
def test_laws_of_rates_and_constant_forces_are_rows_of_the_sweep(extra, integrator):
    build = lambda bench: with_an_odd_joint(bench, AffineBodyRevoluteJoint, EXACT, [extra])  # noqa: E731
    # what is left of closed joints, 1e-13 of the scene, the block system makes up by steps that shrink by a twentieth
    config = {"integrator/type": integrator, "newton/velocity_tol": 1e-10, "newton/transrate_tol": 1e-10}
    found, forces = motion(build, True, 5, **config)
    expected, others = motion(build, False, 5, **config)
    loose = LOOSE[integrator]
    np.testing.assert_allclose(found, expected, atol=loose * 1e-9)
    np.testing.assert_allclose(forces, others, atol=loose * 1e-5 * np.abs(others).max())


def test_exact_sliders_of_two_joints_between_the_same_bodies_are_left_to_the_block_system():
    bench = Bench()
    with_an_odd_joint(bench, AffineBodyPointOnLineJoint, EXACT)
    ends = (8.05, 0.0, 0.0), (8.05, 0.3, 0.2)
    arm = next(iter(bench.scene.objects.find("arm")[0].geometries.pairs()))[0]
    bench.join(AffineBodyPointOnLineJoint, [(bench.slots["links"], 39)], [arm], *ends, strength=EXACT, name="again")
    assert not swept(bench).any()


@pytest.mark.parametrize("dt", [0.01, 1 / 24])
def test_exact_chains_hold_and_never_gain_energy(dt):
    bench = Bench({"dt": dt, **SWEEP}, gravity=(0.0, 0.0, -9.8))
    joint = chain(bench, AffineBodyRevoluteJoint, 60)
    energies = [sum(bench.world._simulation.energies().values())]
    energies += bench.run(30, lambda: sum(bench.world._simulation.energies().values()))
    assert joint["gap"].max() < 1e-12 and joint["misalignment"].max() < 1e-12  # round-off of positions up to 12 m
    assert np.diff(energies).max() <= 1e-12 * np.abs(energies).max()


def test_a_chain_goes_to_the_sweep_and_a_ring_does_not():
    bench = Bench()
    chain(bench, AffineBodySphericalJoint, 5)
    assert swept(bench).sum() == 5
    ring = Bench()
    at = np.array([[0.3 * np.cos(a), 0.3 * np.sin(a), 0.0] for a in np.arange(6) * np.pi / 3])
    slot = ring.box("ring", (0.1, 0.1, 0.1), at)
    bodies = [(slot, k) for k in range(6)]
    middle = (at + np.roll(at, -1, axis=0)) / 2
    ring.join(AffineBodySphericalJoint, bodies, bodies[1:] + bodies[:1], middle, strength=EXACT)
    assert not swept(ring).any()


def test_bodies_it_cannot_describe_are_left_to_the_block_system():
    def screw(bench: Bench):
        bodies = [bench.box("a", fixed=True)], [bench.box("b")]
        return bench.join(AffineBodyScrewJoint, *bodies, (0, 0, 0), (1, 0, 0), strength=EXACT)

    for build in (
        lambda bench: chain(bench, AffineBodySphericalJoint, 5, potential="ARAP"),
        lambda bench: chain(bench, AffineBodySphericalJoint, 5, kappa=1e4),
        screw,
    ):
        bench = Bench(SWEEP)
        build(bench)
        sweep = bench.lowered().model.directions.sweep
        assert sweep is None or not sweep.fits.any()


def arm(bench: Bench) -> list:
    """A single arm on a driven hinge."""
    slot, arm = bench.box("base", fixed=True), bench.box("arm", at=(0.5, 0.0, 0.0))

    def drive(sc) -> None:
        AffineBodyDrivingRevoluteJoint().apply_to(sc, 10.0)
        sc.edges["driving/is_constrained"] = 1
        sc.edges["aim_angle"] = 0.4

    return [
        bench.join(AffineBodyRevoluteJoint, [slot], [arm], (0.25, 0, 0), (0.25, 1, 0), strength=EXACT, extras=[drive])
    ]


def slider(bench: Bench) -> list:
    """A single body on an exact slider."""
    bodies = [bench.box("a", fixed=True)], [bench.box("b")]
    return [bench.join(AffineBodyPrismaticJoint, *bodies, (0, 0, 0), (1, 0, 1), strength=EXACT)]


@pytest.mark.parametrize("build", [arm, slider])
def test_single_bodies_with_drives_and_sliders_are_swept(build):
    bench = Bench()
    build(bench)
    assert swept(bench).sum() == 1
    found, forces = motion(build, True, 5)
    expected, others = motion(build, False, 5)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(forces, others, atol=1e-5 * np.abs(others).max())


def test_few_bodies_on_penalties_are_left_to_the_block_system_unless_the_sweep_is_asked_for():
    for direction, links, taken in (("auto", 5, 0), ("sweep", 5, 5), ("auto", 40, 40)):
        bench = Bench({"newton/direction": direction})
        chain(bench, AffineBodySphericalJoint, links, strength=100.0)
        sweep = bench.lowered().model.directions.sweep
        assert (0 if sweep is None else sweep.in_trees.sum()) == taken


def test_doubled_exact_joints_are_left_to_the_block_system():
    bench = Bench()
    slot, arm = bench.box("base", fixed=True), bench.box("arm", at=(0.5, 0.0, 0.0))
    for _ in range(2):
        bench.join(AffineBodySphericalJoint, [slot], [arm], (0.25, 0, 0), strength=EXACT)
    assert not swept(bench).any()


def test_a_soft_transform_takes_its_island_out_for_as_long_as_it_acts():
    bench = Bench({"dt": 0.01, **SWEEP}, gravity=(0.0, 0.0, -9.8))
    joint = chain(bench, AffineBodySphericalJoint, 5)
    shape = bench.scene.objects.find("links")[0].geometries.pairs()
    links = next(iter(shape))[0].geometry
    SoftTransformConstraint().apply_to(links, np.array([100.0, 100.0]))
    links.instances["aim_transform"] = links.transforms.values
    links.instances["is_constrained"] = 0
    bench.run(1)
    model = bench.world._simulation.model
    sweep, free = model.directions.sweep, model.bodies.is_free
    np.testing.assert_array_equal(sweep.fits, free)
    links.instances["is_constrained"] = 1
    bench.run(1)
    assert not sweep.fits.any()
    links.instances["is_constrained"] = 0
    bench.run(1)
    np.testing.assert_array_equal(sweep.fits, free)
    assert joint["gap"].max() < 1e-12


@pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])
def test_trees_that_do_not_suit_the_sweep_move_beside_others_as_they_would_alone(integrator):
    """Two chains hang on the same base; one ends in a block of lead, beside which its links are soft."""

    def build(bench: Bench) -> list:
        first = chain(bench, AffineBodyRevoluteJoint, 5)
        base = bench.box("other base", (0.2, 0.05, 0.05), (-0.1, 1.0, 0.0), fixed=True)
        links = bench.box("other links", (0.2, 0.05, 0.05), [(0.2 * k + 0.1, 1.0, 0.0) for k in range(5)])
        lead = bench.box("lead", (0.3, 0.3, 0.3), (1.2, 1.0, 0.0), density=4e5)
        bodies = [base, *((links, k) for k in range(5)), lead]
        ends = np.array([[0.2 * k, 1.0, 0.0] for k in range(6)])
        half = np.array([0.0, 0.02, 0.0])
        second = bench.join(AffineBodyRevoluteJoint, bodies[:-1], bodies[1:], ends - half, ends + half, strength=EXACT)
        return [first, second]

    config = {"integrator/type": integrator}
    found, forces = motion(build, True, 8, **config)
    expected, others = motion(build, False, 8, **config)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    np.testing.assert_allclose(forces, others, atol=1e-5 * np.abs(others).max())
