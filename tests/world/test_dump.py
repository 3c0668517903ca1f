"""Dump and recover: a recovered run goes on as if nothing had happened, to the last bit."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scenes import add_boxes, add_chain, assert_same_arrays, dumped, new_scene, rate, run

from dovetail import Scene
from dovetail.constitution import AffineBodyDrivingRevoluteJoint, AffineBodyPrismaticJoint, AffineBodyRevoluteJoint


def spinning(integrator: str) -> Scene:
    scene = new_scene(integrator__type=integrator)
    add_boxes(scene, velocities=[rate(np.eye(4), (1, 2, 3), (4, 5, 6))])
    return scene


def chained(integrator: str) -> Scene:
    scene = new_scene(integrator__type=integrator)
    add_chain(scene, 4)
    return scene


def driven(integrator: str) -> Scene:
    """A bar on a hinge, driven for three frames and then held where it is: joints have a state of their own."""
    scene = new_scene(integrator__type=integrator)
    base = add_boxes(scene, [(0, 0, 0)], name="base", fixed=[0])
    bar = add_boxes(scene, [(0.5, 0, 0)], name="bar")
    hinge = AffineBodyRevoluteJoint().create_geometry([[0.25, 0, -1]], [[0.25, 0, 1]], [base], [0], [bar], [0], [100.0])
    AffineBodyDrivingRevoluteJoint().apply_to(hinge, 10.0)
    hinge.edges["driving/is_constrained"] = 1
    hinge.edges["aim_angle"] = 0.4
    owner = scene.objects.create("hinge")
    owner.geometries.create(hinge)

    def hold(info) -> None:
        info.geo_slots()[0].geometry.edges["is_passive"] = int(info.frame() > 3)

    scene.animator.insert(owner, hold)
    return scene


def exact(integrator: str) -> Scene:
    """A bar that slides on a bar on a hinge, held by multipliers."""
    scene = new_scene(integrator__type=integrator)
    base = add_boxes(scene, [(0, 0, 0)], name="base", fixed=[0])
    bars = add_boxes(scene, [(0.5, 0, 0), (1.0, 0, 0)], name="bars")
    hinge = AffineBodyRevoluteJoint().create_geometry([[0.25, 0, -1]], [[0.25, 0, 1]], [base], [0], [bars], [0], np.inf)
    slider = AffineBodyPrismaticJoint().create_geometry([[1, 0, 0]], [[1, 1, 0]], [bars], [0], [bars], [1], np.inf)
    scene.objects.create("joints").geometries.create(hinge)
    scene.objects.create("joints").geometries.create(slider)
    return scene


@pytest.mark.parametrize("integrator", ["bdf1", "bdf2", "ctr"])
@pytest.mark.parametrize("build", [spinning, chained, driven, exact])
def test_a_recovered_run_goes_on_as_if_nothing_had_happened(build, integrator, start, tmp_path):
    (tmp_path / "first").mkdir()
    first = start(build(integrator), tmp_path / "first")
    run(first, 6)
    assert first.dump()
    run(first, 6)
    second = start(build(integrator), tmp_path / "first")
    assert second.recover(6) and second.frame() == 6
    run(second, 6)
    assert second.frame() == 12
    one, two = dumped(first), dumped(second)
    assert {"state/Q", "state/V", "state/Q_before", "state/V_before", "state/A", "state/dt_before"} <= one.keys()
    assert_same_arrays(one, two)


def test_one_world_can_go_back_and_repeat_itself(start):
    world = start(driven("bdf2"))
    run(world, 5)
    world.dump()
    run(world, 5)
    once = dumped(world)
    assert world.recover(5) and world.frame() == 5
    run(world, 5)
    assert_same_arrays(dumped(world), once)


def test_attributes_follow_at_the_next_retrieve(start):
    scene = new_scene()
    box = add_boxes(scene)
    world = start(scene)
    run(world, 2)
    world.dump()
    there = box.geometry.transforms.values.copy()
    run(world, 3)
    later = box.geometry.transforms.values.copy()
    world.recover(2)
    np.testing.assert_array_equal(box.geometry.transforms.values, later)
    world.retrieve()
    np.testing.assert_array_equal(box.geometry.transforms.values, there)


def test_speeds_of_joints_are_those_of_the_recovered_frame(start):
    scene = driven("bdf1")
    hinge = next(slot.geometry for slot, _ in scene.geometries if slot.object_name == "hinge")
    world = start(scene)
    run(world, 3)
    world.dump()
    there = hinge.edges["velocity"].copy()
    run(world, 3)
    assert world.recover(3)
    world.retrieve()
    np.testing.assert_array_equal(hinge.edges["velocity"], there)
    assert abs(there[0]) > 0.1


def test_without_a_number_the_last_frame_is_recovered(start):
    world = start(spinning("bdf1"))
    for _ in range(12):
        world.advance()
        if world.frame() in (2, 9, 11):
            world.dump()
    assert world.recover() and world.frame() == 11, "as a number: 9 comes before 11"
    assert world.recover(2) and world.frame() == 2


def test_a_frame_that_was_never_dumped_is_no_error(start, caplog):
    """Scripts ask for the next frame to see whether it is there."""
    world = start(spinning("bdf1"))
    with caplog.at_level(logging.WARNING, "dovetail"):
        assert world.recover(1) is False
        assert world.recover() is False
    assert not caplog.records


def test_frames_of_an_earlier_run_are_replayed(start):
    first = start(spinning("bdf1"))
    for _ in range(4):
        first.advance()
        first.dump()
    second = start(spinning("bdf1"))
    replayed = 0
    while second.frame() < 6:
        if second.recover(second.frame() + 1):
            replayed += 1
        else:
            second.advance()
    run(first, 2)
    assert replayed == 4
    assert_same_arrays(dumped(second), dumped(first))
