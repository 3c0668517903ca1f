"""States of a world kept in memory."""

from __future__ import annotations

import pytest
from scenes import assert_same_arrays, mixed_scene, run, small_scene

from dovetail.errors import WorldError


def test_what_follows_a_restored_state_is_bit_identical(start):
    world = start(mixed_scene())
    run(world, 4)
    state = world.state()
    run(world, 4)
    once = world.state()
    world.restore(state)
    assert world.frame() == state.frame == 4
    assert_same_arrays(world.state().arrays, state.arrays)
    run(world, 4)
    assert_same_arrays(world.state().arrays, once.arrays)


def test_a_state_is_not_changed_by_the_steps_that_follow_it_or_by_being_restored(start):
    world = start(small_scene())
    run(world, 2)
    state = world.state()
    kept = {name: array.copy() for name, array in state.arrays.items()}
    run(world, 2)
    world.restore(state)
    run(world, 2)
    assert_same_arrays(state.arrays, kept)


def test_a_state_of_another_scene_is_refused_and_nothing_changes(start):
    world, other = start(small_scene()), start(mixed_scene())
    run(world, 2)
    before = world.state()
    with pytest.raises(WorldError, match="frame 0 is of another scene"):
        world.restore(other.state())
    assert_same_arrays(world.state().arrays, before.arrays)
    assert world.frame() == 2
