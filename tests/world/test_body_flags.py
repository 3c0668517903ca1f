"""Fixed, quasi-static and external-kinetic bodies, and bodies that are pushed, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scenes import TIGHT, add_boxes, new_scene, pose, rate, read_state, rotation, run

from dovetail.constitution import AffineBodyExternalBodyForce, SoftTransformConstraint
from dovetail.solver.integrator import INTEGRATORS

G, H = 9.8, 0.01


@pytest.fixture(params=sorted(INTEGRATORS))
def method(request) -> str:
    return request.param


@pytest.mark.parametrize("potential", ["OrthoPotential", "ARAP"])
def test_a_fixed_body_never_moves(method, potential, start):
    scene = new_scene(integrator__type=method)
    T = pose((1, 2, 3), rotation([1, 1, 0], 0.7))
    box = add_boxes(
        scene, [T], fixed=[0], velocities=[rate(T, (1, 2, 3), (4, 5, 6))], potential=potential,
        applied=[
            lambda mesh: AffineBodyExternalBodyForce().apply_to(mesh, (1e3, 0, 0)),
            lambda mesh: SoftTransformConstraint().apply_to(mesh, 100.0),
        ],
        instances={"is_constrained": [1], "aim_transform": [pose((9, 9, 9))]},
    )  # fmt: skip
    world = start(scene)
    run(world, 10)
    np.testing.assert_array_equal(box.geometry.transforms.values[0], T)
    assert not read_state(world)[1].any()


def test_a_quasi_static_body_forgets_its_velocity_in_every_step(method, start):
    """Each step begins at rest: it sinks by σ g h² a step, at constant speed. ctr takes it as bdf1."""
    scene = new_scene(integrator__type=method)
    box = add_boxes(scene, velocities=[rate(np.eye(4), (5, 0, 0), (0, 3, 0))], instances={"is_dynamic": [0]})
    world = start(scene)
    for n in range(1, 31):
        run(world, 1)
        T = box.geometry.transforms.values[0]
        expected = [0, -INTEGRATORS["bdf1" if method == "ctr" else method].acceleration * G * H * H * n, 0]
        np.testing.assert_allclose(T[:3, 3], expected, atol=1e-15 * n)
        np.testing.assert_allclose(T[:3, :3], np.eye(3), atol=1e-13)


def test_a_body_with_external_kinetic_feels_neither_inertia_nor_gravity_nor_forces(method, start):
    """All three enter by the kinetic term, which someone else supplies; with nothing else it stays."""
    scene = new_scene(integrator__type=method)
    T = pose((1, 2, 3), rotation([1, 1, 0], 0.7))
    box = add_boxes(
        scene, [T], velocities=[rate(T, (5, 0, 0), (0, 3, 0))], instances={"external_kinetic": [1]},
        applied=[lambda mesh: AffineBodyExternalBodyForce().apply_to(mesh, (1e3, 0, 0))],
    )  # fmt: skip
    world = start(scene)
    run(world, 10)
    np.testing.assert_allclose(box.geometry.transforms.values[0], T, atol=1e-12)


def test_a_body_with_external_kinetic_goes_where_it_is_drawn_in_one_step(start):
    scene = new_scene(**{name.replace("/", "__"): value for name, value in TIGHT.items()})
    aim = pose((1, 2, 3), rotation([1, 1, 0], 0.7))
    box = add_boxes(
        scene, [np.eye(4)], applied=[lambda mesh: SoftTransformConstraint().apply_to(mesh, 1.0)],
        instances={"external_kinetic": [1], "is_constrained": [1], "aim_transform": [aim]},
    )  # fmt: skip
    world = start(scene)
    run(world, 1)
    # a ghost of 1e-8 of the mass keeps the system solvable; the last Newton step leaves its share of 1e-11
    np.testing.assert_allclose(box.geometry.transforms.values[0], aim, atol=1e-9)


def test_flags_are_each_instances_own(start):
    scene = new_scene()
    flags = {"is_dynamic": [1, 0, 1, 1], "external_kinetic": [0, 0, 1, 0]}
    boxes = add_boxes(scene, [(2 * k, 0, 0) for k in range(4)], fixed=[3], instances=flags)
    world = start(scene)
    run(world, 10)
    fallen = boxes.geometry.transforms.values[:, 1, 3]
    np.testing.assert_allclose(fallen, [-G * H * H * 55, -G * H * H * 10, 0, 0], atol=1e-12)  # ghost masses
    assert fallen[3] == 0.0


def test_a_force_is_read_every_frame_and_can_be_switched_off(start):
    scene = new_scene(gravity=[0, 0, 0])
    box = add_boxes(scene, applied=[lambda mesh: AffineBodyExternalBodyForce().apply_to(mesh, (30.0, 0, 0))])

    def push(info) -> None:
        instances = info.geo_slots()[0].geometry.instances
        instances["external_force"][0, 0] = 30.0 * info.frame()
        instances["external_force/is_constrained"] = int(info.frame() <= 3)

    scene.animator.insert(scene.objects.find("box")[0], push)
    world = start(scene)
    x = v = 0.0
    for frame in range(1, 7):
        run(world, 1)
        v += H * (frame if frame <= 3 else 0.0)  # the box has 30 kg
        x += H * v
        assert box.geometry.transforms.values[0, 0, 3] == pytest.approx(x, abs=1e-14)
