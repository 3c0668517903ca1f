"""Bodies drawn to a pose, and motors, against closed forms of the discrete step."""

from __future__ import annotations

import cmath

import numpy as np
import pytest
from scenes import TIGHT, add_boxes, new_scene, pose, rate, read_state, rotation, run

from dovetail import Scene
from dovetail.constitution import LinearMotor, RotatingMotor, SoftTransformConstraint
from dovetail.solver.integrator import INTEGRATORS

H = 0.01


def tight(**config: object) -> Scene:
    return new_scene(gravity=[0, 0, 0], **{name.replace("/", "__"): value for name, value in TIGHT.items()}, **config)


def drawn(scene: Scene, aim: np.ndarray, strength: object = 100.0, **more: object):
    return add_boxes(
        scene, applied=[lambda mesh: SoftTransformConstraint().apply_to(mesh, strength)],
        instances={"is_constrained": [1], "aim_transform": [aim]}, **more,
    )  # fmt: skip


@pytest.mark.parametrize("method", sorted(INTEGRATORS))
def test_a_pull_on_the_position_averages_inertia_and_target(method, start):
    """x = (c x̃ + η x_aim)/(c + η) in every step: all masses cancel.

    A consistent start has v̂ = v/P and â = g/P with P = 1 + s η, s = η/(1 + η), and g = η (x_aim − x) with the target
    of the last step. At first the target comes from where the body is: a jump by x_aim in a step, at a mean velocity of
    x_aim/(2h) and with x_aim/h².
    """
    table, eta, aim = INTEGRATORS[method], 0.3, np.array([1.0, -2.0, 0.5])
    scene = tight(integrator__type=method)
    box = drawn(scene, pose(aim), eta)
    world = start(scene)
    x = x_before = v = v_before = np.zeros(3)
    share = eta / (1 + eta)
    for n in range(20):
        (a0, a1), (b0, b1), (d, d0, d1, carry, _) = table.position, table.velocity, table.rates
        started, pulled = v, np.zeros(3)
        if table.is_consistent:
            jump = aim if n == 0 else np.zeros(3)
            started = (v + share * eta * jump / (2 * H)) / (1 + share * eta)
            pulled = (eta * (aim - jump - x) + share * eta * jump) / (1 + share * eta)
        x_tilde = a0 * x + a1 * x_before + H * (b0 * started + b1 * v_before) + table.acceleration * pulled
        new = (table.weight * x_tilde + eta * aim) / (table.weight + eta)
        v, v_before = (d * new + d0 * x + d1 * x_before) / H + carry * started, v
        x, x_before = new, x
        run(world, 1)
        np.testing.assert_allclose(box.geometry.transforms.values[0, :3, 3], x, atol=1e-12)  # round-off of 20 steps


@pytest.mark.parametrize("potential", ["OrthoPotential", "ARAP"])
def test_a_body_without_stiffness_follows_the_quadratic_form_exactly(potential, start, rng):
    """Q = (c M̂ + B)⁻¹ (c M̂ Q̃ + B T) for any affine target, once κ is nothing."""
    eta, centre = np.array([0.7, 2.0]), np.array([0.3, 0.1, -0.2])
    aim = pose(rng.normal(size=3), np.eye(3) + 0.3 * rng.normal(size=(3, 3)))
    V = rate(np.eye(4), (1, 2, 3), (3, 2, 1))
    scene = tight()
    box = drawn(scene, aim, eta, centre=centre, kappa=1e-9, velocities=[V], potential=potential)
    meta = box.geometry.meta
    M = np.zeros((4, 4))
    M[0, 0] = meta["abd_mass"][0]
    M[0, 1:] = M[1:, 0] = meta["abd_mass_x_bar"][0]
    M[1:, 1:] = meta["abd_mass_x_bar_x_bar"][0]
    row = np.array([1.0, *centre])
    B = eta[0] * M[0, 0] * np.outer(row, row)
    B += eta[1] * (M - M[0, 0] * np.outer(row, row))
    run(start(scene), 1)

    def rows(T: np.ndarray) -> np.ndarray:
        return np.concatenate([T[:3, 3:].T, T[:3, :3].T])

    expected = np.linalg.solve(M + B, M @ rows(np.eye(4) + H * V) + B @ rows(aim))
    # κ V h² is 1e-14 of the inertia
    np.testing.assert_allclose(rows(box.geometry.transforms.values[0]), expected, atol=1e-11)


def test_a_strong_pull_reaches_its_target(start):
    aim = pose((0.5, 1, 2), rotation([1, 2, 3], 0.8))
    scene = tight()
    box = drawn(scene, aim, 1e8)
    run(start(scene), 2)
    np.testing.assert_allclose(box.geometry.transforms.values[0], aim, atol=1e-7)  # 1/strength of the way is missing


def test_a_switched_off_pull_does_nothing(start):
    scene = tight()
    box = drawn(scene, pose((1, 0, 0)))
    box.geometry.instances["is_constrained"] = 0
    run(start(scene), 5)
    np.testing.assert_array_equal(box.geometry.transforms.values[0], np.eye(4))


def test_with_substeps_the_result_is_the_same_to_tolerance(start):
    """Substeps only let the target arrive gradually within Newton's iteration."""
    aim = pose((0.3, -0.2, 0.1), rotation([1, 2, 3], 1.2))
    found = []
    for substeps in (1, 3, 8):
        scene = tight()
        scene.animator.substep(substeps)
        drawn(scene, aim, 5.0)
        world = start(scene)
        run(world, 5)
        found.append(read_state(world)[0])
        assert world.report.iterations >= substeps
    # a last step within the tolerances moves 1e-11 m, its square is what is left; stiffness amplifies round-off
    np.testing.assert_allclose(found[1], found[0], atol=1e-10)
    np.testing.assert_allclose(found[2], found[0], atol=1e-10)


def motor(scene: Scene, apply: object, kind: type, **more: object):
    box = add_boxes(scene, applied=[apply], instances={"is_constrained": [1]}, **more)
    scene.animator.insert(
        scene.objects.find("box")[0], lambda info: kind.animate(info.geo_slots()[0].geometry, info.dt())
    )
    return box


def test_a_linear_motor_pulls_to_one_step_ahead(start):
    """x = (x̃ + s (xₙ + v h))/(1 + s); its speed tends to v."""
    s, speed = 5.0, 0.8
    scene = tight()
    box = motor(scene, lambda mesh: LinearMotor().apply_to(mesh, s, (0, 3, 0), speed), LinearMotor)
    world = start(scene)
    x = v = 0.0
    for _ in range(40):
        run(world, 1)
        new = (x + H * v + s * (x + speed * H)) / (1 + s)
        x, v = new, (new - x) / H
        np.testing.assert_allclose(box.geometry.transforms.values[0, :3, 3], [0, x, 0], atol=1e-12)
    assert v == pytest.approx(speed, rel=1e-6)


def test_a_rotating_motor_turns_by_the_angle_of_the_weighted_sum(start):
    """In the rigid limit each step turns by arg(2 − e^{−iφ} + s e^{iωh}), φ the angle of the step before."""
    s, omega = 2.0, 6.0
    scene = tight()
    box = motor(
        scene, lambda mesh: RotatingMotor().apply_to(mesh, s, (0, 0, 2), omega), RotatingMotor, poses=[(1, 2, 3)],
        kappa=1e10,
    )  # fmt: skip
    world = start(scene)
    angle = step = 0.0
    for _ in range(30):
        run(world, 1)
        step = cmath.phase(2 - cmath.exp(-1j * step) + s * cmath.exp(1j * omega * H))
        angle += step
        # strains of ρω²L²/κ = 2e-7
        np.testing.assert_allclose(
            box.geometry.transforms.values[0], pose((1, 2, 3), rotation([0, 0, 1], angle)), atol=1e-6
        )
    assert step / H == pytest.approx(omega, rel=2e-3)  # implicit Euler lags a little
