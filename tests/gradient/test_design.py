"""Gradients by what scenes are built from: anchors, axes, sizes, densities, gains, and where bodies begin."""

from __future__ import annotations

import numpy as np
import pytest
from gradient_check import TIGHT_TAPE, Problem
from joint_scenes import Bench, pose

from dovetail.constitution import (
    AffineBodyExternalBodyForce,
    AffineBodyJointCoupling,
    AffineBodyJointDamper,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
    SoftTransformConstraint,
)
from dovetail.errors import GradientError

NAMES = ["anchor x", "anchor z", "axis x", "slide z", "length", "density", "damping", "place"]


def built(p, method="bdf1", strength=100.0):
    """An arm on a hinge with a damper and a torque, and a box that slides on it."""
    x, z, axis, slide, length, density, damping, place = p
    bench = Bench({"dt": 0.01, "integrator/type": method, **TIGHT_TAPE}, gravity=(0, 0.5, -9.81))
    base = bench.box("base", fixed=True)
    arm = bench.box("arm", (0.5 + length, 0.1, 0.1), (0.3, 0, 0), density=200.0 + density, kappa=1e6, spin=(0.5, 1, 0))
    box = bench.box("box", (0.2, 0.2, 0.2), (0.6 + place, 0.1, 0.2), density=200.0, kappa=1e6)

    def extras(sc):
        AffineBodyJointDamper().apply_to(sc, 1.0 + damping)
        AffineBodyRevoluteJointExternalForce().apply_to(sc, 3.0)
        sc.edges["external_torque/is_constrained"] = 1

    ends = (0.05 + x, -0.1, z), (0.05 + axis, 0.1, 0.0)
    bench.join(AffineBodyRevoluteJoint, [base], [arm], *ends, strength=strength, extras=[extras], name="hinge")
    ends = (0.5, 0.0, 0.1), (0.6, 0.05, 0.3 + slide)
    bench.join(AffineBodyPrismaticJoint, [arm], [box], *ends, strength=strength, name="slide")
    return bench.world


@pytest.mark.parametrize("method, strength", [("bdf1", 100.0), ("bdf1", np.inf), ("ctr", 100.0), ("ctr", np.inf)])
def test_what_a_scene_is_built_from(method, strength):
    problem = Problem(lambda p=None: built(np.zeros(8) if p is None else p, method, strength), 6)
    found = problem.gradients().design(lambda p: built(p, method, strength), np.zeros(8))
    # densities of some hundred and dampings of 1 are changed in steps of their own
    steps = np.array([1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1.0, 1e-2, 1e-4])
    if method == "ctr":  # whose start has a noise of 1e-12 m/s with exact joints
        steps *= 10.0
    for k, name in enumerate(NAMES):
        expected = problem.slope(steps[k], p=np.eye(8)[k])
        assert found[k] == pytest.approx(expected, rel=1e-6, abs=1e-8), name


def test_a_loss_of_coordinates_of_joints():
    """Where the hinge and the slide are, by an anchor that they are measured from, and by the start."""

    def loss(p=0.0, speed=0.0):
        world = built(np.eye(8)[3] * p)
        state = world._simulation.state
        state.V[1, 0, 2] += speed
        tape = world.rollout(5)
        angle, way = tape.coordinate("hinge", "angle"), tape.coordinate("slide", "distance")
        return tape, float((angle**2).sum() + way[-1, 0]), angle

    def slope(step, **along):
        wide, narrow = (
            (loss(**{k: h * v for k, v in along.items()})[1] - loss(**{k: -h * v for k, v in along.items()})[1])
            / (2 * h)
            for h in (step, step / 2)
        )
        return (4 * narrow - wide) / 3

    tape, _, angle = loss()
    by_way = np.zeros((6, 1))
    by_way[-1] = 1.0
    found = tape.backward(dL_dx={("hinge", "angle"): 2.0 * angle, ("slide", "distance"): by_way}, strict=True)
    assert found.V[1, 0, 2] == pytest.approx(slope(1e-3, speed=1.0), rel=1e-6)
    by_p = found.design(lambda p: built(np.eye(8)[3] * p), 0.0)
    assert by_p == pytest.approx(slope(1e-3, p=1.0), rel=1e-6, abs=1e-9)
    with pytest.raises(GradientError, match=r"no coordinate \('hinge', 'distance'\); there are \('hinge', 'angle'\)"):
        tape.coordinate("hinge", "distance")


def drawn(p):
    """A box that a force pushes and a soft transform draws, and two wheels that a soft gear ties."""
    force, aim, eta, ratio, offset, strength, density = p
    bench = Bench({"dt": 0.01, "integrator/type": "bdf1", **TIGHT_TAPE}, gravity=(0, -3.0, 0))
    box = bench.box("box", (0.3, 0.2, 0.1), (2.0, 0, 0), density=500.0 + density, kappa=1e7)
    SoftTransformConstraint().apply_to(box.geometry, (3.0 + eta, 2.0))
    AffineBodyExternalBodyForce().apply_to(box.geometry, np.eye(12)[1] * (2.0 + force))
    for switch in ("external_force/is_constrained", "is_constrained"):
        box.geometry.instances[switch] = 1
    box.geometry.instances["aim_transform"] = pose((2.01 + aim, 0.02, 0.0))[None]
    base, wheels = bench.box("base", fixed=True), []
    for k in range(2):
        body = bench.box(f"wheel {k}", (0.2, 0.4, 0.1), (k + 0.1, 0, 0), density=100.0 + density, kappa=1e7)
        wheels.append(bench.join(AffineBodyRevoluteJoint, [base], [body], (k, 0, -0.1), (k, 0, 0.1), name=f"hinge {k}"))
    first, second = (wheel.slot for wheel in wheels)
    gear = AffineBodyJointCoupling().create_geometry([first], [second], ratio - 1.5, 0.02 + offset, 0.2 + strength)
    bench.scene.objects.create("gear").geometries.create(gear)
    return bench.world


def test_forces_soft_transforms_and_gears_that_a_scene_is_built_with():
    problem = Problem(lambda p=(0.0,) * 7: drawn(p), 4)
    by_p = problem.gradients().design(drawn, np.zeros(7))
    for k, (found, one) in enumerate(zip(by_p, np.eye(7), strict=True)):
        expected = problem.slope(1e-3, p=one)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9) and expected != 0.0, k


def test_what_is_not_known_is_refused_by_name():
    def moved(p):
        bench = Bench()
        base, box = bench.box("base", at=(p, 0, 0), fixed=True), bench.box("box", at=(1, 0, 0))
        bench.join(AffineBodyRevoluteJoint, [base], [box], (0.5, 0, 0), (0.5, 1, 0))
        return bench.world

    gradients = moved(0.0).rollout(2).backward()
    with pytest.raises(GradientError, match=r"p\[\] changes poses of fixed bodies; no gradient by that is known"):
        gradients.design(moved, 0.0)
