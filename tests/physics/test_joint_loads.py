"""Forces and torques along joint axes: size, sign, action and reaction, with every integrator.

Two free bodies that a joint guides along (or about) z and a load drives apart move in closed form: the coordinate of
the discrete scheme is that of a single mass under a constant acceleration.
"""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import TIGHT, Bench, image

from dovetail.constitution import (
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointExternalForce,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
)

H, FRAMES = 0.01, 30
UP = np.array([0.0, 0.0, 1.0])
integrators = pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])
MASSES = 1.0, 3.0


def discrete_path(acceleration, integrator, frames=FRAMES):
    """Positions of a mass from rest under a constant acceleration; bdf2 begins as if it had been at rest before."""
    x = x_before = v = v_before = 0.0
    path = []
    for _ in range(frames):
        if integrator == "bdf1":
            new = x + H * v + H * H * acceleration
            v_new = (new - x) / H
        else:
            new = 4 / 3 * x - x_before / 3 + 2 * H / 9 * (4 * v - v_before) + 4 / 9 * H * H * acceleration
            v_new = (3 * new - 4 * x + x_before) / (2 * H)
        x, x_before, v, v_before = new, x, v_new, v
        path.append(x)
    return np.array(path)


def sliders(forces, integrator="bdf1", on=1):
    """Pairs of free bodies (1 kg left, 3 kg right) on sliders along +z."""
    bench = Bench({"dt": H, "integrator/type": integrator, **TIGHT})
    at = np.array([[4.0 * k, 0, 0] for k in range(len(forces))])
    left, right = (bench.rigid(name, mass=m, at=at) for name, m in zip(("left", "right"), MASSES, strict=True))

    def force(sc):
        AffineBodyPrismaticJointExternalForce().apply_to(sc, forces)
        sc.edges["external_force/is_constrained"] = on

    pairs = ([(slot, k) for k in range(len(forces))] for slot in (left, right))
    joined = bench.join(AffineBodyPrismaticJoint, *pairs, at, at + 2 * UP, extras=[force])
    return bench, left, right, joined


@integrators
def test_a_force_drives_the_bodies_of_a_slider_apart(integrator):
    forces = np.array([2.0, -5.0, 0.0])
    bench, left, right, joined = sliders(forces, integrator)
    path = np.array(bench.run(FRAMES, lambda: joined["distance"].copy()))
    reduced = 1 / (1 / MASSES[0] + 1 / MASSES[1])
    expected = discrete_path(1.0, integrator)[:, None] * forces / reduced
    # round-off of positions up to 8 m, accumulated over 30 steps
    assert path == pytest.approx(expected, abs=1e-12)
    for k, f in enumerate(forces):
        share = discrete_path(f, integrator)[-1]
        # the right body along +t, the left against it, each by its own mass
        assert image(left, (0, 0, 0), k)[2] == pytest.approx(-share / MASSES[0], abs=1e-12)
        assert image(right, (0, 0, 0), k)[2] == pytest.approx(share / MASSES[1], abs=1e-12)


@integrators
def test_a_torque_turns_the_right_body_right_handed_about_the_axis(integrator):
    """On a fixed base, slowly enough (θ ≪ 1) for the scheme of an angle: θ̈ = τ/I."""
    bench = Bench({"dt": H, "integrator/type": integrator, **TIGHT})
    torques = np.array([1e-4, -2e-4])
    at = np.array([[4.0 * k, 0, 0] for k in range(2)])
    base = bench.rigid("base", at=at, fixed=True)
    rotor = bench.rigid("rotor", inertia=(0.1, 0.12, 0.15), at=at)

    def torque(sc):
        AffineBodyRevoluteJointExternalForce().apply_to(sc, torques)
        sc.edges["external_torque/is_constrained"] = 1

    pairs = ([(slot, k) for k in range(2)] for slot in (base, rotor))
    joined = bench.join(AffineBodyRevoluteJoint, *pairs, at, at + UP, strength=1e4, extras=[torque])
    path = np.array(bench.run(FRAMES, lambda: joined["angle"].copy()))
    expected = discrete_path(1.0, integrator)[:, None] * torques / 0.15
    # affine rotations deviate from the scheme of an angle by (ω h)² < 1e-11 of it
    assert path == pytest.approx(expected, rel=1e-6)
    for k, sign in enumerate(np.sign(torques)):
        T = rotor.geometry.transforms.values[k]
        assert sign * T[1, 0] > 0  # +τ carries x towards y: right-handed about +z


@integrators
def test_a_torque_turns_both_bodies_of_a_hinge_by_opposite_moments(integrator):
    bench = Bench({"dt": H, "integrator/type": integrator, **TIGHT})
    left = bench.rigid("left", inertia=(0.1, 0.1, 0.1), at=(0, 0, -1))
    right = bench.rigid("right", inertia=(0.2, 0.2, 0.3), at=(0, 0, 1))

    def torque(sc):
        AffineBodyRevoluteJointExternalForce().apply_to(sc, 1e-3)
        sc.edges["external_torque/is_constrained"] = 1

    joined = bench.join(AffineBodyRevoluteJoint, [left], [right], (0, 0, -0.5), (0, 0, 0.5), extras=[torque])
    bench.run(FRAMES)
    angles = [np.arctan2(T[1, 0], T[0, 0]) for T in (slot.geometry.transforms.values[0] for slot in (left, right))]
    assert angles[0] * 0.1 == pytest.approx(-angles[1] * 0.3, rel=1e-6)
    assert joined["angle"][0] == pytest.approx(angles[1] - angles[0], abs=1e-12)
    assert joined["angle"][0] > 0


def test_a_reversed_axis_reverses_the_effect():
    """P0 and P1 swapped: +f then pushes the right body along −z, and the distance still grows."""
    bench = Bench({"dt": H, **TIGHT})
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body")

    def force(sc):
        AffineBodyPrismaticJointExternalForce().apply_to(sc, 1.0)
        sc.edges["external_force/is_constrained"] = 1

    joined = bench.join(AffineBodyPrismaticJoint, [base], [body], (0, 0, 1), (0, 0, 0), extras=[force])
    bench.run(10)
    assert joined["distance"][0] == pytest.approx(discrete_path(1.0, "bdf1", 10)[-1], abs=1e-14)
    assert image(body, (0, 0, 0))[2] == pytest.approx(-joined["distance"][0], abs=1e-14)


def test_a_force_acts_at_the_origin_of_the_body_as_specified():
    """Where the origin is not the centre of mass, the force has a lever, which the slider must hold."""
    bench = Bench({"dt": H, **TIGHT})
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body", centre=(0.5, 0, 0))
    body.geometry.instances["is_dynamic"] = 0

    def force(sc):
        AffineBodyPrismaticJointExternalForce().apply_to(sc, 10.0)
        sc.edges["external_force/is_constrained"] = 1

    joined = bench.join(AffineBodyPrismaticJoint, [base], [body], (0, 0, 0), (0, 0, 1), strength=1e4, extras=[force])
    bench.run(3)
    # about the centre of mass the force has the moment (−0.5, 0, 0) × 10 z = 5 y; the body does not turn
    assert joined["reaction/torque"][0, 1] == pytest.approx(-5.0, rel=1e-4)


def test_loads_are_switched_and_changed_every_frame():
    bench, _, _, joined = sliders(np.array([7.0]), on=0)
    bench.run(5)
    assert joined["distance"][0] == 0.0
    joined["external_force/is_constrained"] = 1
    bench.run(5)
    pushed = joined["velocity"][0]
    assert pushed == pytest.approx(7.0 * (1 + 1 / 3) * 5 * H, rel=1e-12)
    joined["external_force"] = -7.0
    bench.run(5)
    assert joined["velocity"][0] == pytest.approx(0.0, abs=1e-12)


@integrators
def test_reactions_do_not_contain_the_load(integrator):
    """The slider is free along its axis, so pushing there loads nothing across it."""
    bench, _, _, joined = sliders(np.array([50.0]), integrator)
    bench.run(10)
    # round-off of K/h² = 4e6 N/m times positions of 0.3 m
    assert np.abs(joined["reaction/force"]).max() < 1e-8
    assert np.abs(joined["reaction/torque"]).max() < 1e-8
