"""Reading and writing transforms and velocities of bodies directly."""

from __future__ import annotations

import numpy as np
import pytest
from scenes import add_boxes, new_scene, pose, rate, read_state, rotation, run, write_state

from dovetail import World
from dovetail.core import AffineBodyStateAccessorFeature
from dovetail.errors import WorldError
from dovetail.geometry import SimplicialComplex


@pytest.fixture
def world(start) -> World:
    """Bodies 0, 1 (falling, with velocities) and 2 (fixed)."""
    scene = new_scene()
    add_boxes(scene, [pose((0, 0, 0)), pose((1, 0, 0), rotation([0, 0, 1], 0.3))], name="pair",
              velocities=[rate(np.eye(4), (1, 0, 0)), rate(np.eye(4), (0, 0, 2), (0, 1, 0))])  # fmt: skip
    add_boxes(scene, [pose((5, 0, 0))], name="post", fixed=[0])
    return start(scene)


@pytest.fixture
def accessor(world) -> AffineBodyStateAccessorFeature:
    return world.features().find(AffineBodyStateAccessorFeature)


def test_it_is_found_by_class_and_by_name(world, accessor):
    assert accessor.name() == "core/affine_body_state_accessor"
    assert isinstance(world.features().find("core/affine_body_state_accessor"), AffineBodyStateAccessorFeature)
    assert world.features()().find("core/contact") is None
    assert accessor.body_count() == 3


def test_it_reads_what_retrieve_writes(world):
    run(world, 3)
    transforms, _ = read_state(world)
    np.testing.assert_array_equal(transforms[2], pose((5, 0, 0)))
    assert transforms[0, 0, 3] == pytest.approx(0.03, abs=1e-15)
    assert (transforms[:, 3] == [0, 0, 0, 1]).all()


def test_velocities_are_rates_of_the_transform(world):
    before, _ = read_state(world)
    run(world, 1)
    after, velocities = read_state(world)
    np.testing.assert_allclose(velocities, (after - before) / 0.01, atol=1e-12)  # a difference over h
    assert (velocities[:, 3] == 0).all() and not velocities[2].any()


def test_only_selected_attributes_are_copied(world, accessor):
    state = accessor.create_geometry()
    state.instances.create("velocity", np.ones((4, 4)))
    accessor.copy_to(state)
    assert "transform" not in state.instances
    np.testing.assert_array_equal(state.instances["velocity"][0, :3, 3], [1, 0, 0])


def test_a_range_of_bodies_can_be_asked_for(world, accessor):
    state = accessor.create_geometry(1, 2)
    assert state.meta["backend_abd_body_offset"][0] == 1 and state.instances.size() == 2
    state.instances.create("transform", np.eye(4))
    accessor.copy_to(state)
    np.testing.assert_array_equal(state.instances["transform"][:, 0, 3], [1, 5])


@pytest.mark.parametrize(("offset", "count"), [(-1, None), (0, 4), (3, 1), (4, None), (1, -1)])
def test_bodies_that_are_not_there_are_refused(offset, count, accessor):
    with pytest.raises(WorldError, match="were asked for, there are 0 to 2"):
        accessor.create_geometry(offset, count)


def test_a_geometry_made_otherwise_is_refused(accessor):
    with pytest.raises(WorldError, match=r"has no meta 'backend_abd_body_offset'; make it with create_geometry"):
        accessor.copy_to(SimplicialComplex())
    state = accessor.create_geometry(2)
    state.instances.resize(2)
    with pytest.raises(WorldError, match="has 2 instances from body 2 on, there are bodies 0 to 2"):
        accessor.copy_from(state)


def test_a_written_state_is_where_the_next_step_begins(world):
    T = pose((0, 10, 0), rotation([1, 0, 0], 1.0))
    write_state(world, [T], [rate(T, (0, 3, 0))])
    transforms, _ = read_state(world)
    np.testing.assert_array_equal(transforms[0], T)
    np.testing.assert_array_equal(transforms[1, :3, 3], [1, 0, 0])
    run(world, 1)
    # 10 + h (3 − g h): round-off of ten
    assert read_state(world)[0][0, 1, 3] == pytest.approx(10 + 0.01 * (3 - 9.8 * 0.01), abs=1e-14)


def test_a_velocity_alone_leaves_the_pose(world):
    before = read_state(world)[0]
    write_state(world, velocities=[np.zeros((4, 4))], first=1)
    transforms, velocities = read_state(world)
    np.testing.assert_array_equal(transforms, before)
    assert not velocities[1].any() and velocities[0].any()


def test_a_fixed_body_goes_where_it_is_written_and_stays(world):
    write_state(world, [pose((7, 7, 7))], first=2)
    run(world, 3)
    np.testing.assert_array_equal(read_state(world)[0][2], pose((7, 7, 7)))


def test_a_written_body_forgets_its_past(start):
    """With bdf2 the next step must not remember where the body came from."""
    worlds = []
    for _ in range(2):
        scene = new_scene(integrator__type="bdf2")
        add_boxes(scene, velocities=[rate(np.eye(4), (1, 2, 3), (4, 5, 6))])
        worlds.append(start(scene))
    used, fresh = worlds
    run(used, 5)
    T, V = pose((1, 1, 1)), rate(pose(), (0, 1, 0))
    for world in worlds:
        write_state(world, [T], [V])
        run(world, 2)
    np.testing.assert_allclose(read_state(used)[0], read_state(fresh)[0], atol=1e-13)  # the first guesses may differ
