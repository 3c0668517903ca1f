"""Joints with strength_ratio = inf: closed to round-off at any step length, in any mechanism; energy and reactions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from exact_mechanisms import CLOSED, MECHANISMS, G, chain, largest
from joint_scenes import TIGHT, Bench, image

from dovetail.constitution import (
    AffineBodyFixedJoint,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
)

STEPS = pytest.mark.parametrize("dt", [1e-3, 1e-2, 1 / 24], ids=["1ms", "10ms", "42ms"])


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
