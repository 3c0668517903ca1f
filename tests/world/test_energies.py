"""Energies that a world tells, against closed forms, and that none is gained."""

from __future__ import annotations

import numpy as np
import pytest
from contact_readback import D_HAT, TIGHTLY, G, H, heap
from contact_scenes import BOX, Stage, box, scaled
from scenes import pose, rotation

from dovetail.constitution import (
    AffineBodyDrivingPrismaticJoint,
    AffineBodyJointDrive,
    AffineBodyJointSpring,
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointLimit,
    AffineBodySphericalJoint,
    SoftTransformConstraint,
)
from dovetail.solver.contact.barrier import barrier

# ---- energies --------------------------------------------------------------------------------------------------


def test_energies_of_a_thrown_body_are_those_of_the_textbook(start):
    stage = Stage((0, 0, -G), contact__enable=0)
    slot = stage.add("box", box(0.2, 0.4, 0.6), [(1, 2, 3)], velocity=(1.0, -2.0, 4.0), spin=(0, 0, 3.0))
    stage.add("post", BOX, [(9, 9, 9)], fixed=True)
    world = start(stage.scene)
    energies = world.energies()
    m, J = slot.geometry.meta["mass"][0], slot.geometry.meta["inertia"][0][2, 2]
    assert energies["kinetic"] == pytest.approx(m * 21.0 / 2 + J * 9.0 / 2, rel=1e-12)
    assert energies["gravity"] == pytest.approx(m * G * 3.0, rel=1e-12)  # the fixed post does not count
    assert energies["shape"] == pytest.approx(0.0, abs=1e-12)
    rest = {name: value for name, value in energies.items() if name not in ("kinetic", "gravity", "shape")}
    assert rest == {"joint": 0.0, "soft_transform": 0.0, "barrier": 0.0, "friction_dissipated": 0.0}


@pytest.mark.parametrize(("potential", "strain"), [("OrthoPotential", (1.1**2 - 1) ** 2), ("ARAP", 0.1**2)])
def test_the_shape_energy_is_that_of_the_stretch(start, potential, strain):
    from dovetail.constitution import AffineBodyConstitution

    stage = Stage(contact__enable=0)
    T = pose((0, 0, 0), rotation([1, 2, 3], 0.7) @ np.diag([1.1, 1.0, 1.0]))
    slot = stage.add("box", BOX, [T], body=lambda sc: AffineBodyConstitution({"name": potential}).apply_to(sc, 1e5))
    energies = start(stage.scene).energies()
    assert energies["shape"] == pytest.approx(1e5 * slot.geometry.meta["volume"][0] * strain, rel=1e-10)


def test_the_energy_of_a_joint_is_that_of_a_spring_of_its_strength(start):
    """A body hangs at a ball joint: the gap is m g h²/K, the energy K/h² gap²/2."""
    stage = Stage((0, 0, -G), **TIGHTLY, contact__enable=0)
    post = stage.add("post", scaled(BOX, 0.1), [(0, 0, 0)], fixed=True)
    bob = stage.add("bob", scaled(BOX, 0.1), [(0, 0, -0.3)])
    joint = AffineBodySphericalJoint().create_geometry([[0, 0, -0.2]], [post], [0], [bob], [0], [50.0])
    stage.scene.objects.create("joint").geometries.create(joint)
    world = start(stage.scene)
    for _ in range(200):
        world.advance()
    m = bob.geometry.meta["mass"][0]
    K = 50.0 * 2 * m
    gap = m * G * H**2 / K
    assert world.energies()["joint"] == pytest.approx(K / H**2 * gap**2 / 2, rel=1e-4)


def test_the_energy_of_a_soft_transform_is_that_of_its_pull(start):
    stage = Stage(contact__enable=0)

    def pull(sc) -> None:
        SoftTransformConstraint().apply_to(sc, 20.0)
        sc.instances["is_constrained"] = 1
        sc.instances["aim_transform"] = pose((0.1, 0, 0))

    slot = stage.add("box", scaled(BOX, 0.1), [(0, 0, 0)], applied=[pull])
    world = start(stage.scene)
    world.advance()
    world.retrieve()
    left = 0.1 - slot.geometry.transforms.values[0, 0, 3]
    assert left == pytest.approx(0.1 / 21, rel=1e-3)
    m = slot.geometry.meta["mass"][0]
    assert world.energies()["soft_transform"] == pytest.approx(20.0 * m / H**2 * left**2 / 2, rel=1e-6)


def test_the_barrier_energy_is_the_sum_over_the_gaps(start):
    stage = Stage()
    stage.material(0.5, 1e8)
    stage.ground()
    stage.add("cube", scaled(BOX, 0.1), [(0, 0, 0.0504)])
    world = start(stage.scene)
    value, _, _ = barrier((0.4e-3) ** 2, 0.0, D_HAT)
    assert world.energies()["barrier"] == pytest.approx(4 * 1e8 * value, rel=1e-10)


def test_energy_is_lost_to_friction_and_to_the_integrator_but_never_gained(rng):
    stage = heap(rng)
    names = ("kinetic", "gravity", "shape", "barrier", "friction_dissipated")
    totals = [sum(stage.world.energies()[name] for name in names)]
    stage.run(60, lambda: totals.append(sum(stage.world.energies()[name] for name in names)))
    # bdf1 loses energy; Newton's tolerance of 1e-3 m/s is worth m v²/2 of that speed, some 1e-3 of these joules
    assert (np.diff(totals) < 1e-3 * totals[0]).all()
    assert totals[-1] < totals[0]
    assert stage.world.energies()["friction_dissipated"] > 0.05 * totals[0]


def test_what_friction_has_dissipated_is_dumped_and_recovered(tmp_path, start):
    def sliding() -> Stage:
        stage = Stage((0, 0, -G))
        stage.ground()
        stage.add("cube", scaled(BOX, 0.1), [(0, 0, 0.0508)], velocity=(1.0, 0, 0))
        return stage

    world = start(sliding().scene)
    for _ in range(10):
        world.advance()
    assert world.dump()
    then = world.energies()["friction_dissipated"]
    world.advance()
    assert world.energies()["friction_dissipated"] > then > 0
    again = start(sliding().scene)
    assert again.recover(10)
    assert again.energies()["friction_dissipated"] == then


def slider(start, apply, config: dict[str, str] | None = None, **given: float):
    """A box on a slider along x, 0.2 m from its zero, with what is applied to the joint; and the joint."""
    stage = Stage(contact__enable=0, **(config or {}))
    post = stage.add("post", scaled(BOX, 0.1), [(0, 0, 0)], fixed=True)
    bob = stage.add("bob", scaled(BOX, 0.1), [(0.5, 0, 0)])
    joint = AffineBodyPrismaticJoint().create_geometry([[0, 0, 0]], [[1, 0, 0]], [post], [0], [bob], [0], [100.0])
    apply(joint)
    joint.edges["init_distance"] = 0.2
    for name, value in given.items():
        joint.edges[name.replace("__", "/")] = value
    made, _ = stage.scene.objects.create("joint").geometries.create(joint)
    return start(stage.scene), made.geometry.edges


def test_before_the_first_step_a_limit_knows_where_joints_begin(start):
    """It was taken as if they began at 0: 0.1 within the bounds."""
    world, edges = slider(start, lambda joint: AffineBodyPrismaticJointLimit().apply_to(joint, -0.1, 0.1, 3.0))
    world.retrieve()
    assert edges["limit/violation"][0] == pytest.approx(0.1, rel=1e-12)
    assert world.energies()["joint"] == pytest.approx(3.0 * (0.1 / 0.2) ** 3 / H**2, rel=1e-12)


@pytest.mark.parametrize("is_on", [0, 1])
def test_before_the_first_step_a_drive_knows_where_joints_begin_and_whether_it_is_on(start, is_on):
    given = {"driving__is_constrained": is_on, "aim_distance": 0.5}
    world, edges = slider(start, lambda joint: AffineBodyDrivingPrismaticJoint().apply_to(joint, 10.0), **given)
    mass = 2 * 1000.0 * 0.1**3
    expected = is_on * 2 * 10.0 * mass * (0.5 - 0.2) ** 2 / (2 * H**2)  # of both bodies' distances
    assert world.energies()["joint"] == pytest.approx(expected, rel=1e-12)
    before = edges["distance"][0], world.energies()
    assert (edges["distance"][0], world.energies()) == before, "to look changes nothing"


@pytest.mark.parametrize("given", [{"aim_distance": 0.2}, {"is_passive": 1, "aim_distance": 0.5}])
def test_a_drive_that_holds_where_a_joint_begins_moves_nothing(start, given):
    """Its target came from where the zero is, in one step: 9.97 rad/s of a hinge at 0.2 rad."""
    given = {"driving__is_constrained": 1, **given}
    config = {"integrator__type": "ctr"}
    world, edges = slider(
        start, lambda joint: AffineBodyDrivingPrismaticJoint().apply_to(joint, 100.0), config, **given
    )
    for _ in range(3):
        world.advance()
        world.retrieve()
        assert edges["distance"][0] == pytest.approx(0.2, abs=1e-12) and abs(edges["velocity"][0]) < 1e-10


def test_before_the_first_step_a_spring_has_the_energy_of_its_stretch(start):
    def apply(joint) -> None:
        AffineBodyJointSpring().apply_to(joint, 50.0)

    world, _ = slider(start, apply, spring__rest=0.5)
    assert world.energies()["joint"] == pytest.approx(50.0 * 0.3**2 / 2, rel=1e-12)


@pytest.mark.parametrize(("cap", "stored"), [(np.inf, 50.0 * 0.3**2 / 2), (9.0, 9.0 * 0.3 - 9.0**2 / 100.0)])
def test_a_drive_with_gains_stores_what_its_stiffness_does_up_to_its_largest_effort(start, cap, stored):
    def apply(joint) -> None:
        AffineBodyJointDrive().apply_to(joint, 50.0, 2.0, cap)

    world, edges = slider(start, apply, drive__target=0.5)
    assert world.energies()["joint"] == pytest.approx(stored, rel=1e-12)
    for _ in range(10):
        world.advance()
    world.retrieve()
    k, way = 50.0, abs(0.5 - edges["distance"][0])
    within = min(way, cap / k)
    # and the gap of the slider, by which it turns with the load
    assert world.energies()["joint"] == pytest.approx(k * within * (way - within / 2), rel=1e-6)
