"""Pushing bodies at a point while the world runs."""

from __future__ import annotations

import numpy as np
import pytest
from scenes import add_boxes, angular_velocity, new_scene, pose, read_state, run

from dovetail import World
from dovetail.core import AffineBodyPushFeature
from dovetail.errors import WorldError

SIZE = np.array([0.5, 0.2, 0.3])
MASS = 1000.0 * SIZE.prod()


@pytest.fixture
def world(start) -> World:
    """Two weightless boxes and a fixed one."""
    scene = new_scene(gravity=[0, 0, 0])
    add_boxes(scene, [pose((0, 0, 0)), pose((2, 0, 0)), pose((4, 0, 0))], SIZE, fixed=[2])
    return start(scene)


@pytest.fixture
def push(world) -> AffineBodyPushFeature:
    return world.features().find(AffineBodyPushFeature)


def test_a_push_at_the_centre_accelerates_only_that_body_until_it_is_cleared(world, push):
    push.set([1], [[0, 0, 6.0]], [[0, 0, 0]])
    run(world, 5)
    _, velocity = read_state(world)
    # bdf1: five steps of h f/m; the shape energy has no part in it
    assert velocity[1, 2, 3] == pytest.approx(5 * 0.01 * 6.0 / MASS, rel=1e-9)
    assert not velocity[[0, 2]].any()
    push.clear()
    run(world, 5)
    assert read_state(world)[1][1, 2, 3] == pytest.approx(velocity[1, 2, 3], rel=1e-9)


def test_a_push_off_the_centre_turns_the_body_about_it(world, push):
    push.set([0], [[0, 3.0, 0]], [[0.25, 0, 0]])
    run(world, 1)
    transform, velocity = read_state(world)
    spin = angular_velocity(transform[0], velocity[0])
    inertia = MASS * (SIZE[0] ** 2 + SIZE[1] ** 2) / 12
    assert velocity[0, 1, 3] == pytest.approx(0.01 * 3.0 / MASS, rel=1e-6)
    # ω = h τ/I in one step; an affine body is sheared by the force until its stiffness answers, a part in 1e3 here
    assert spin[2] == pytest.approx(0.01 * 0.25 * 3.0 / inertia, rel=5e-3)


def test_a_fixed_body_does_not_mind(world, push):
    push.set([2], [[0, 0, 1e3]], [[0, 0, 0]])
    run(world, 2)
    np.testing.assert_array_equal(read_state(world)[0][2], pose((4, 0, 0)))


@pytest.mark.parametrize(
    ("bodies", "forces", "points", "complaint"),
    [
        ([3], [[0, 0, 1]], [[0, 0, 0]], "bodies .3. were given, there are 0 to 2"),
        ([0, 1], [[0, 0, 1]], [[0, 0, 0]], "2 bodies, 1 forces and 1 points"),
        ([0], [[0, 0, np.nan]], [[0, 0, 0]], "body 0 has the force"),
    ],
)
def test_pushes_that_make_no_sense_are_refused_and_the_old_ones_stay(world, push, bodies, forces, points, complaint):
    push.set([1], [[0, 0, 6.0]], [[0, 0, 0]])
    with pytest.raises(WorldError, match=complaint):
        push.set(bodies, forces, points)
    run(world, 1)
    assert read_state(world)[1][1, 2, 3] > 0
