"""Limits of prismatic and revolute joints: silent inside, cubic outside, overshoot in closed form.

A constant load f holds the coordinate outside where φ′ = h² f, that is x − u = w·√(f h² w/(3 s)), w = u − l (1 where
u = l). Loaded bodies are quasi-static, so that they settle there to round-off.
"""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import TIGHT, Bench

from dovetail.constitution import (
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointExternalForce,
    AffineBodyPrismaticJointLimit,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
    AffineBodyRevoluteJointLimit,
)

H = 0.01
UP = np.array([0.0, 0.0, 1.0])
SLIDE = (
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointLimit,
    AffineBodyPrismaticJointExternalForce,
    "distance",
    "external_force",
)
TURN = (
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointLimit,
    AffineBodyRevoluteJointExternalForce,
    "angle",
    "external_torque",
)
both = pytest.mark.parametrize("what", [SLIDE, TURN], ids=["prismatic", "revolute"])


def loaded(what, lower, upper, strength, load, init=0.0, dynamic=0, integrator="bdf1"):
    """Bodies on fixed bases, one per entry of the broadcast arguments, with a limit and a constant load each."""
    kind, limit, force, coordinate, effort = what
    lower, upper, strength, load, init = np.broadcast_arrays(lower, upper, strength, load, init)
    n = lower.size
    bench = Bench({"dt": H, "integrator/type": integrator, **TIGHT})
    at = np.array([[3.0 * k, 0, 0] for k in range(n)])
    base = bench.rigid("base", at=at, fixed=True)
    body = bench.rigid("body", at=at)
    body.geometry.instances["is_dynamic"] = dynamic

    def extras(sc):
        sc.edges[f"init_{coordinate}"] = init
        limit().apply_to(sc, lower, upper, strength)
        force().apply_to(sc, load)
        sc.edges[f"{effort}/is_constrained"] = 1

    pairs = ([(slot, k) for k in range(n)] for slot in (base, body))
    return bench, bench.join(kind, *pairs, at, at + UP, strength=1e4, extras=[extras])


def overshoot(width, strength, load):
    width = np.where(width > 0, width, 1.0)
    return width * np.sqrt(np.abs(load) * H**2 * width / (3 * strength))


@both
@pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])
def test_overshoot_under_a_constant_load(what, integrator):
    """Both ends, several widths and strengths; the offset of the reported value lets each start 0.01 inside."""
    lower = np.array([-0.2, -0.2, -0.1, 0.0, 0.0, -1.0])
    upper = np.array([0.3, 0.1, 0.5, 0.0, 0.0, 1.0])
    load = np.array([5.0, 20.0, -5.0, 5.0, -8.0, 2.0])
    strength = np.array([10.0, 100.0, 1.0, 50.0, 20.0, 1e3])
    init = np.where(load > 0, upper - 0.01, lower + 0.01)
    bench, joined = loaded(what, lower, upper, strength, load, init, integrator=integrator)
    bench.run(400)
    excess = overshoot(upper - lower, strength, load)
    expected = np.where(load > 0, upper + excess, lower - excess)
    # round-off of the coordinate, 2e-16 m or rad, over excesses of 1e-3 to 1e-1
    assert joined[what[3]] == pytest.approx(expected, abs=1e-12)
    assert joined["limit/violation"] == pytest.approx(excess, abs=1e-12)


@both
def test_a_moving_body_comes_to_rest_at_the_same_overshoot(what):
    bench, joined = loaded(what, 0.0, 0.2, 5.0, 10.0, dynamic=1)
    bench.run(600)
    expected = 0.2 + overshoot(0.2, 5.0, 10.0)
    assert joined[what[3]][0] == pytest.approx(expected, abs=1e-9)
    assert joined["velocity"][0] == pytest.approx(0.0, abs=1e-6)


@both
@pytest.mark.parametrize("init", [0.0, 0.7])
def test_between_the_limits_and_on_their_borders_a_joint_is_free(what, init):
    """The same motion as with limits far away, bit by bit, also when it starts on a border."""
    bench, joined = loaded(what, np.array([init, init - 9, init - 9]), init + 9.0, 1e6, 3.0, init, dynamic=1)
    bench.run(20)
    near, far, other = joined[what[3]]
    assert near == far == other
    assert near > init + 0.05
    assert not joined["limit/violation"].any()


@both
def test_limits_are_read_every_frame(what):
    bench, joined = loaded(what, -1.0, 1.0, 50.0, 5.0)
    bench.run(5)
    assert joined["limit/violation"][0] == 0.0
    joined["limit/upper"] = 0.0
    joined["limit/strength"] = 200.0
    bench.run(300)
    assert joined[what[3]][0] == pytest.approx(overshoot(1.0, 200.0, 5.0), abs=1e-12)


def test_a_slider_bounces_between_its_limits():
    """Without a load the body is turned back at both ends, and goes beyond by no more than its momentum allows."""
    bench = Bench({"dt": 1e-3, **TIGHT})
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body", velocity=(0, 0, 1))
    limit = [lambda sc: AffineBodyPrismaticJointLimit().apply_to(sc, -0.1, 0.1, 1e-4)]
    joined = bench.join(AffineBodyPrismaticJoint, [base], [body], (0, 0, 0), (0, 0, 1), extras=limit)
    distance = np.array(bench.run(1200, lambda: joined["distance"][0]))
    # ½ m v² = φ(x)/h² at the turning point bounds the excess: w (½ m v² h²/s)^(1/3)
    bound = 0.2 * (0.5 * 1e-6 / 1e-4) ** (1 / 3)
    assert 0.1 + 0.8 * bound < distance.max() < 0.1 + bound
    assert -0.1 - bound < distance.min() < -0.1
    # backward Euler takes energy at every turn but only a little: four turns in 1.2 s
    assert np.count_nonzero(np.diff(np.sign(np.diff(distance)))) >= 4
