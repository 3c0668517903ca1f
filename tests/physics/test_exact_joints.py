"""Joints with strength_ratio = inf: closed to round-off at any step length, in any mechanism, and else as before."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from contact_scenes import Stage, box
from joint_scenes import TIGHT, Bench, Joined, image

from dovetail.constitution import (
    AffineBodyDrivingRevoluteJoint,
    AffineBodyFixedJoint,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointLimit,
    AffineBodySphericalJoint,
)

G = (0, 0, -9.81)
HALF = np.array([0.0, 0.02, 0.0])
STEPS = pytest.mark.parametrize("dt", [1e-3, 1e-2, 1 / 24], ids=["1ms", "10ms", "42ms"])

CLOSED = 1e-9
"""[m, rad] The promise; residuals are brought below 1e-12, over hinges as short as 0.02 m that is 5e-11 rad."""


# ---- mechanisms --------------------------------------------------------------------------------------------


def chain(dt=0.01, links=100, gamma=np.inf, **config):
    """Links of 0.1 m, hinged end to end about y, that fall from the horizontal."""
    bench = Bench({"dt": dt, **config}, gravity=G)
    base = bench.box("base", (0.1, 0.02, 0.02), (-0.05, 0, 0), fixed=True)
    slot = bench.box("links", (0.1, 0.02, 0.02), [(0.1 * k + 0.05, 0, 0) for k in range(links)])
    pins = np.array([[0.1 * k, 0, 0] for k in range(links)])
    bodies = [base, *((slot, k) for k in range(links))]
    half = HALF / 2
    return bench, [
        bench.join(AffineBodyRevoluteJoint, bodies[:-1], bodies[1:], pins - half, pins + half, strength=gamma)
    ]


def chain_by_blocks(dt):
    """The same with the other shape energy, which keeps it from the sweep over trees."""
    bench = Bench({"dt": dt}, gravity=G)
    base = bench.box("base", (0.1, 0.02, 0.02), (-0.05, 0, 0), fixed=True)
    slot = bench.box("links", (0.1, 0.02, 0.02), [(0.1 * k + 0.05, 0, 0) for k in range(100)], potential="ARAP")
    pins = np.array([[0.1 * k, 0, 0] for k in range(100)])
    bodies = [base, *((slot, k) for k in range(100))]
    hinges = bench.join(AffineBodyRevoluteJoint, bodies[:-1], bodies[1:], pins - HALF, pins + HALF, strength=np.inf)
    return bench, [hinges]


def tree(dt):
    """A binary tree of spherical joints, five generations, that swings from its root."""
    bench = Bench({"dt": dt}, gravity=G)
    root = bench.box("root", (0.1, 0.1, 0.1), fixed=True)
    places = [(0.0, 0.0)]
    for generation in range(1, 5):
        places += [(2.0 * k - 2**generation + 1, float(generation)) for k in range(2**generation)]
    centres = np.array([(0.3 * g + 0.15, 0.1 * y, 0.0) for y, g in places])
    slot = bench.box("twigs", (0.2, 0.05, 0.05), centres)
    bodies = [(slot, k) for k in range(len(places))]
    parents = [root, *(bodies[(k - 1) // 2] for k in range(1, len(places)))]
    return bench, [bench.join(AffineBodySphericalJoint, parents, bodies, centres - (0.15, 0, 0), strength=np.inf)]


def four_bars(dt, count=2, gamma=np.inf):
    """IFToMM A02: rods of 1 kg and 1 m in a row of four-bars, over-constrained, through the flat position."""
    bench = Bench({"dt": dt}, gravity=(0, -9.81, 0))
    base = bench.rigid("base", fixed=True)
    upright = {"inertia": (1 / 12, 0.01, 1 / 12), "centre": (0, 0.5, 0), "spin": (0, 0, -1)}
    level = {"inertia": (0.01, 1 / 12, 1 / 12), "velocity": (1, 0, 0)}
    posts = [bench.rigid(f"post {k}", at=(k, 0, 0), **upright) for k in range(count + 1)]
    bars = [bench.rigid(f"bar {k}", at=(k + 0.5, 1, 0), **level) for k in range(count)]
    left, right = [base] * (count + 1), list(posts)
    pins = [(k, 0, 0) for k in range(count + 1)]
    for k in range(count):
        left += [posts[k], bars[k]]
        right += [bars[k], posts[k + 1]]
        pins += [(k, 1, 0), (k + 1, 1, 0)]
    up = np.array([0, 0, 0.5])
    return bench, [bench.join(AffineBodyRevoluteJoint, left, right, pins - up, pins + up, strength=gamma)], posts


def bricard(dt):
    """Bricard's linkage with three planes of symmetry: six bars along edges of a cube, six hinges, one motion.

    A count of motions says none: 6·5 − 6·5 = 0. It moves because two constraints depend on the others.
    """
    bench = Bench({"dt": dt}, gravity=G)
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1.0]])
    along = np.roll(corners, -1, axis=0) - corners
    bars = [
        bench.box(f"bar {k}", 0.9 * np.abs(along[k]) + 0.1, corners[k] + along[k] / 2, fixed=k == 0) for k in range(6)
    ]
    half = 0.1 * np.cross(np.roll(along, 1, axis=0), along)
    hinges = bench.join(
        AffineBodyRevoluteJoint, np.roll(np.array(bars, object), 1).tolist(), bars, corners - half, corners + half,
        strength=np.inf,
    )  # fmt: skip
    return bench, [hinges]


def mixed(dt):
    """A chain of all four kinds of joints, of which every other one yields."""
    bench = Bench({"dt": dt}, gravity=G)
    base = bench.box("base", (0.1, 0.1, 0.1), fixed=True)
    links = bench.box("links", (0.2, 0.05, 0.05), [(0.25 * k + 0.2, 0, 0) for k in range(8)])
    bodies = [base, *((links, k) for k in range(8))]
    joined = []
    for k, kind in enumerate(
        2 * (AffineBodyRevoluteJoint, AffineBodyPrismaticJoint, AffineBodySphericalJoint, AffineBodyFixedJoint)
    ):
        pin = np.array([0.25 * k + 0.075, 0, 0])
        points = {"edge": [pin, pin + np.array([0.05, 0.02, 0.01])], "vertex": [pin]}[kind.element]
        strength = np.inf if k % 4 < 2 else 1e3
        joined.append(bench.join(kind, [bodies[k]], [bodies[k + 1]], *points, strength=strength, name=f"joint {k}"))
    return bench, [j for j in joined if np.isinf(j["strength_ratio"]).all()]


MECHANISMS = {
    "chain": (chain, 0.8),
    "chain by blocks": (chain_by_blocks, 0.8),
    "tree": (tree, 0.8),
    "A02": (lambda dt: four_bars(dt)[:2], 1.2),
    "Bricard": (bricard, 0.8),
    "mixed": (mixed, 0.8),
}


def largest(joined):
    return max(max(j["gap"].max(), j["misalignment"].max()) for j in joined)


@STEPS
@pytest.mark.parametrize("sweeps", [True, False], ids=["sweep", "blocks"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_exact_joints_stay_closed(name, sweeps, dt):
    make, duration = MECHANISMS[name]
    bench, joined = make(dt)
    bench.scene.config["newton/direction"] = "auto" if sweeps else "factor"
    # at 1 ms the end of the interval is left out, the whip of the chain is in the others
    frames = min(round(duration / dt), 200)
    seen = bench.run(frames, lambda: (largest(joined), bench.world.report.converged))
    assert max(open_by for open_by, _ in seen) < CLOSED
    assert all(converged for _, converged in seen)
    if name in ("chain", "tree"):
        assert (bench.world._simulation.model.directions.sweep is not None) == sweeps, "both solvers are tested"


def test_all_joints_of_a_scene_can_be_made_exact():
    bench, joined = chain(links=10, gamma=100.0, **{"joint/exact": 1})
    assert max(bench.run(30, lambda: largest(joined))) < CLOSED
    bench, joined = chain(links=10, gamma=100.0)
    assert max(bench.run(30, lambda: largest(joined))) > 1e-6


# ---- the limit of penalties ----------------------------------------------------------------------------------


@cache
def tip_of_a_chain(gamma, method="bdf1"):
    bench, _ = chain(links=5, gamma=gamma, **TIGHT, **{"integrator/type": method})
    bench.run(30)
    slot, _ = next(bench.scene.objects.find("links")[0].geometries.pairs())
    return image(slot, (0.05, 0, 0), 4)


@pytest.mark.parametrize("method", ["bdf1", "bdf2"])
def test_penalties_approach_the_exact_joint_with_the_inverse_of_their_strength(method):
    exact = tip_of_a_chain(np.inf, method)
    errors = [np.linalg.norm(tip_of_a_chain(gamma, method) - exact) for gamma in (1e3, 1e4, 1e5)]
    # the next order is 1e-3 of the first one at γ = 1e3
    assert np.log10(np.divide(errors[:-1], errors[1:])) == pytest.approx(1.0, abs=0.02)
    assert errors[-1] < 1e-6


def slid(gamma):
    """A box on an oblique slider whose anchors start half a metre apart, after 20 steps.

    Where they meet a penalty does not hold the axes parallel, and the limit is approached more slowly.
    """
    bench = Bench({"dt": 0.01, **TIGHT}, gravity=(1, 2, -9.81))
    base = bench.box("base", fixed=True)
    body = bench.box("body", (0.3, 0.2, 0.1), (0.5, 0, 0))
    axis = np.array([1, 0.1, -1]) / np.linalg.norm([1, 0.1, -1])
    left, right = np.array([0.2, 0, 0]) - 0.5 * axis, np.array([-0.3, 0, 0])
    ends = [left], [left + axis], [right], [right + axis]
    bench.put("slider", AffineBodyPrismaticJoint().create_geometry(*ends, [base], [0], [body], [0], gamma))
    bench.run(20)
    return body.geometry.transforms.values[0].copy()


def test_so_do_sliders():
    errors = [np.abs(slid(gamma) - slid(np.inf)).max() for gamma in (1e3, 1e4)]
    # measured 0.95: at γ = 1e3 the slide is only some ten times as stiff as the body against shear
    assert np.log10(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.1)


# ---- energy ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("links", "dt"), [(100, 1 / 24), (30, 1e-2)])
def test_a_hanging_chain_never_gains_energy(links, dt):
    bench, joined = chain(dt, links)
    seen = bench.run(250, lambda: (sum(bench.world.energies().values()), largest(joined)))
    energy = np.array([e for e, _ in seen])
    # round-off of sums of 1e2 J
    assert np.diff(energy).max() < 1e-9
    assert max(open_by for _, open_by in seen) < CLOSED
    assert np.ptp(energy) > 0.1, "it falls at all"


@pytest.mark.parametrize(("links", "gamma"), [(10, 100.0), (100, 100.0), (10, np.inf), (100, np.inf)])
def test_a_falling_chain_needs_few_iterations(links, gamma):
    bench, _ = chain(links=links, gamma=gamma)
    # at the tolerances of libuipc below
    assert np.mean(bench.run(100, lambda: bench.world.report.iterations)) <= 3.2
    loose = {"newton/velocity_tol": 0.05, "newton/transrate_tol": 0.1}
    bench, _ = chain(links=links, gamma=gamma, **loose)
    assert np.mean(bench.run(100, lambda: bench.world.report.iterations)) <= 2.2


# ---- reactions -------------------------------------------------------------------------------------------------


def test_a_weight_hangs_by_its_reaction():
    bench = Bench({"dt": 0.01, **TIGHT}, gravity=G)
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body", mass=3.0, at=(0.5, 0, 0))
    joint = bench.join(AffineBodyFixedJoint, [base], [body], strength=np.inf)
    bench.run(60)
    # bdf1 damps what the first step has shaken to below 1e-9; the anchor is half way between the two bodies
    assert joint["reaction/force"][0] == pytest.approx((0, 0, 3 * 9.81), abs=1e-6)
    assert joint["reaction/torque"][0] == pytest.approx((0, -3 * 9.81 * 0.25, 0), abs=1e-6)


def test_reactions_are_those_of_stiff_penalties():
    found = {}
    for gamma in (1e7, np.inf):
        bench, joined = chain(links=5, gamma=gamma, **TIGHT)
        bench.run(15)
        found[gamma] = [(j["reaction/force"].copy(), j["reaction/torque"].copy()) for j in joined]
    for yielding, exact in zip(found[1e7], found[np.inf], strict=True):
        for a, b in zip(yielding, exact, strict=True):
            # 1/γ, and the round-off 1e-16/h² · K of the penalty's gap
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-4)


def test_a_shared_load_is_shared_evenly_by_two_equal_joints():
    """Twice the same hinge: how the load is shared is not determined, and least norm shares it evenly."""
    bench = Bench({"dt": 0.01}, gravity=G)
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body", mass=2.0, at=(0.5, 0, 0))
    hinges = [bench.join(AffineBodyRevoluteJoint, [base], [body], (0, -1, 0), (0, 1, 0), strength=np.inf) for _ in "ab"]
    bench.run(20)
    np.testing.assert_allclose(hinges[0]["reaction/force"], hinges[1]["reaction/force"], atol=1e-6)
    assert largest(hinges) < CLOSED


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
