"""What the tests of the viewer share: a small machine with every kind of joint, and its recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scenes import add_boxes, new_scene

from dovetail import Engine, Scene, World
from dovetail.constitution import (
    AffineBodyDrivingRevoluteJoint,
    AffineBodyFixedJoint,
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointExternalForce,
    AffineBodyPrismaticJointLimit,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointLimit,
    AffineBodySphericalJoint,
)
from dovetail.geometry import ground
from dovetail.io import Recorder


def machine() -> Scene:
    """A post with a driven arm, a pendulum, a cart on a rail and a lamp; and a box that falls on the ground."""
    scene = new_scene(contact__enable=1, contact__joint_neighbours=0, contact__d_hat=2e-3, gravity=[0, 0, -9.8])
    scene.objects.create("ground").geometries.create(ground(0.0, (0, 0, 1)))
    post = add_boxes(scene, [(0, 0, 0.51)], (0.1, 0.1, 1.0), name="post", fixed=[0])
    arm = add_boxes(scene, [(0.3, 0, 0.9)], (0.4, 0.05, 0.05), name="arm")
    bob = add_boxes(scene, [(0.53, 0, 0.8)], (0.05, 0.05, 0.2), name="bob")
    cart = add_boxes(scene, [(-0.2, 0, 0.5)], (0.1, 0.1, 0.1), name="cart")
    lamp = add_boxes(scene, [(0, 0, 1.05)], (0.05, 0.05, 0.05), name="lamp")
    boxes = add_boxes(scene, [(0.8, 0.3, 0.2), (1.2, 0.3, 0.2)], (0.1, 0.1, 0.1), name="boxes")
    # so that a test finds them in a picture
    arm.geometry.meta.create("color", np.array([0.1, 0.8, 0.1]))
    boxes.geometry.instances.create("color", np.zeros(3)).edit()[:] = [[0.1, 0.2, 0.9], [0.8, 0.8, 0.8]]
    hinge = AffineBodyRevoluteJoint().create_geometry(
        [[0.05, -0.1, 0.9]], [[0.05, 0.1, 0.9]], [post], [0], [arm], [0], [1e3]
    )
    AffineBodyRevoluteJointLimit().apply_to(hinge, -1.0, 1.5)
    AffineBodyDrivingRevoluteJoint().apply_to(hinge, 1e3)
    hinge.edges["driving/is_constrained"] = 1
    ball = AffineBodySphericalJoint().create_geometry([[0.53, 0, 0.9]], [arm], [0], [bob], [0], [1e3])
    rail = AffineBodyPrismaticJoint().create_geometry(
        [[-0.2, 0, 0.5]], [[-0.3, 0, 0.5]], [post], [0], [cart], [0], [1e3]
    )
    AffineBodyPrismaticJointLimit().apply_to(rail, 0.0, 0.4)
    AffineBodyPrismaticJointExternalForce().apply_to(rail, 0.0)
    weld = AffineBodyFixedJoint().create_geometry([post], [0], [lamp], [0], [1e3])
    for name, joint in (("hinge", hinge), ("ball", ball), ("rail", rail), ("weld", weld)):
        scene.objects.create(name).geometries.create(joint)
    return scene


@pytest.fixture
def running(tmp_path: Path) -> World:
    """A world that runs the machine."""
    world = World(Engine("cpu", tmp_path))
    world.init(machine())
    return world


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of 0.6 s of the machine, in which the arm is lifted and the boxes land."""
    folder = tmp_path_factory.mktemp("recorded")
    world = World(Engine("cpu", folder))
    scene = machine()
    world.init(scene)
    hinge = scene.objects.find("hinge")[0].geometries
    with Recorder(folder / "machine.dove", world) as recorder:
        recorder.write()
        for _ in range(60):
            next(iter(hinge)).geometry.edges["aim_angle"] = -0.02 * world.frame()
            world.advance()
            recorder.write()
    return folder / "machine.dove"
