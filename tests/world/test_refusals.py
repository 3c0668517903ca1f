"""Numbers that make no sense, at init, by an animator or by a state write: refused by name, nothing changes."""

from __future__ import annotations

import numpy as np
import pytest
from scenes import add_boxes, new_scene, pose, rate, read_state, run, write_state

from dovetail import World
from dovetail.constitution import AffineBodyExternalBodyForce, SoftTransformConstraint
from dovetail.errors import ConstitutionError, DovetailError, NotFinite, WorldError

BAD = [np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("attribute", ["transform", "velocity", "gravity"])
def test_entries_that_are_not_finite_are_refused_at_init(attribute, bad, start):
    scene = new_scene()
    boxes = add_boxes(scene, [(0, 0, 0), (1, 0, 0)], name="crates", instances={"gravity": np.zeros((2, 3))})
    boxes.geometry.instances[attribute][1, 0] = bad
    with pytest.raises(ConstitutionError, match=rf"the {attribute} of instance 1 of 'crates' \(geometry 0\)"):
        start(scene)


@pytest.mark.parametrize("scale", [(1, 1, -1), (1, 0, 1), (-1, -1, -1)])
def test_transforms_that_mirror_or_flatten_are_refused_at_init(scale, start):
    scene = new_scene()
    add_boxes(scene, [np.eye(4), pose((2, 0, 0), np.diag(scale))], name="crates")
    with pytest.raises(ConstitutionError, match=r"the transform of instance 1 of 'crates' .* has determinant -?\d"):
        start(scene)


def test_after_a_refusal_a_repaired_scene_starts(start):
    scene = new_scene()
    box = add_boxes(scene)
    box.geometry.instances["velocity"][0, 0, 3] = np.nan
    with pytest.raises(ConstitutionError):
        start(scene)
    box.geometry.instances["velocity"][0, 0, 3] = 1.0
    world = start(scene)
    run(world, 1)
    assert box.geometry.transforms.values[0, 0, 3] == pytest.approx(0.01, abs=1e-15)


@pytest.fixture
def running(start) -> tuple[World, list]:
    """Two crates in their fourth frame, pushed and pulled by attributes that tests may spoil."""
    scene = new_scene()
    boxes = add_boxes(
        scene, [(0, 0, 0), (1, 0, 0)], name="crates",
        applied=[
            lambda mesh: AffineBodyExternalBodyForce().apply_to(mesh, (1.0, 2.0, 3.0)),
            lambda mesh: SoftTransformConstraint().apply_to(mesh, 1.0),
        ],
        instances={"is_constrained": np.ones(2, np.int32)},
    )  # fmt: skip
    world = start(scene)
    run(world, 4)
    return world, boxes.geometry.instances


def refused(world: World, match: str, error: type[DovetailError] = ConstitutionError) -> None:
    """The next step raises, and leaves state and frame as they are."""
    before = read_state(world)
    with pytest.raises(error, match=match):
        world.advance()
    assert world.frame() == 4
    for left, right in zip(before, read_state(world), strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("bad", BAD)
def test_a_force_that_is_not_finite_is_refused_in_the_frame_it_acts(bad, running):
    world, instances = running
    instances["external_force"][1, 2] = bad
    refused(world, "instance 1 of 'crates' has the force")
    instances["external_force/is_constrained"][1] = 0  # switched off it does not matter
    run(world, 1)
    assert world.frame() == 5


@pytest.mark.parametrize("attribute", ["aim_transform", "strength_ratio"])
def test_an_aim_that_is_not_finite_is_refused_in_the_frame_it_acts(attribute, running):
    world, instances = running
    kept = instances[attribute].copy()
    instances[attribute][1, 0] = np.nan
    refused(world, rf"'crates'.*{attribute}|instance 1 of 'crates'")
    instances[attribute] = kept
    run(world, 1)


def test_a_negative_strength_is_refused(running):
    world, instances = running
    instances["strength_ratio"][0] = (-1.0, 1.0)
    refused(world, "strength_ratio")


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("what", ["transforms", "velocities"])
def test_a_state_write_that_is_not_finite_is_refused_whole(what, bad, running):
    world, _ = running
    before = read_state(world)
    given = {"transforms": np.tile(np.eye(4), (2, 1, 1)), "velocities": np.zeros((2, 4, 4))}
    given[what][1, 0, 0] = bad
    with pytest.raises(WorldError, match=r"for instance 1 of 'crates' .* not finite; nothing was changed"):
        write_state(world, **given)
    for left, right in zip(before, read_state(world), strict=True):
        np.testing.assert_array_equal(left, right)
    run(world, 1)


def test_a_state_write_that_mirrors_a_body_is_refused(running):
    world, _ = running
    before = read_state(world)
    with pytest.raises(WorldError, match=r"for instance 0 of 'crates' .* determinant -1, it mirrors or flattens"):
        write_state(world, [np.diag([1.0, 1.0, -1.0, 1.0]), np.eye(4)])
    np.testing.assert_array_equal(read_state(world)[0], before[0])


@pytest.mark.parametrize("speed", [1e160, 1e305])
def test_a_velocity_beyond_all_numbers_ends_in_a_clear_error_and_keeps_the_state(speed, start):
    """Finite, but its square is not: the energy overflows."""
    scene = new_scene()
    add_boxes(scene, [(0, 0, 0)], name="quiet")
    add_boxes(scene, [(5, 0, 0)], name="rocket", velocities=[rate(np.eye(4), (speed, 0, 0), (speed, 0, 0))])
    world = start(scene)
    before = read_state(world)
    with pytest.raises(NotFinite, match=r"World\.advance: frame 1: .*'rocket'"):
        world.advance()
    assert world.frame() == 0
    np.testing.assert_array_equal(read_state(world)[0], before[0])
    (status,) = world.engine.status()
    assert status.type() == "error" and "frame 1" in status.what()


def test_after_a_step_that_failed_the_world_goes_on_once_the_cause_is_gone(start):
    scene = new_scene()
    add_boxes(scene, velocities=[rate(np.eye(4), (1e200, 0, 0))])
    world = start(scene)
    with pytest.raises(NotFinite):
        world.advance()
    write_state(world, velocities=[np.zeros((4, 4))])
    run(world, 1)
    assert world.frame() == 1 and read_state(world)[0][0, 1, 3] == pytest.approx(-9.8e-4, rel=1e-12)
