"""A mechanism with joints of all kinds, in a running world."""

from __future__ import annotations

import numpy as np

from dovetail import Engine, Scene, World
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyDrivingRevoluteJoint,
    AffineBodyFixedJoint,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointLimit,
    AffineBodySphericalJoint,
)
from dovetail.geometry import ground, label_surface, trimesh

__all__ = ["CORNERS", "PLACES", "SIDES", "mechanism", "running"]

CORNERS = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
SIDES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]

PLACES = [(0, 1.0, 0), (0.3, 1.0, 0), (0.6, 1.0, 0), (0.9, 1.0, 0), (1.2, 1.0, 0), (0, 0.105, 0)]


def mechanism() -> Scene:
    """A chain that hangs from a fixed cube by one joint of each kind, and a cube on the ground."""
    scene = Scene({"dt": 0.01})
    cubes = trimesh(CORNERS, SIDES)
    label_surface(cubes)
    AffineBodyConstitution().apply_to(cubes, kappa=1e8)
    cubes.instances.resize(6)
    cubes.instances["transform"][:, :3, 3] = PLACES
    cubes.instances["is_fixed"] = [1, 0, 0, 0, 0, 0]
    cubes.instances.create("color", np.array([0.25, 0.5, 0.75]))
    slot, _ = scene.objects.create("cubes").geometries.create(cubes)
    ends = lambda k: ([slot], [k], [slot], [k + 1], [100.0])  # noqa: E731
    hinge = AffineBodyRevoluteJoint().create_geometry([[0.15, 1, 0]], [[0.15, 1, 1]], *ends(0))
    AffineBodyRevoluteJointLimit().apply_to(hinge, -0.5, 0.75)
    AffineBodyDrivingRevoluteJoint().apply_to(hinge)
    scene.objects.create("hinge").geometries.create(hinge)
    slider = AffineBodyPrismaticJoint().create_geometry([[0.45, 1, 0]], [[1.45, 1, 0]], *ends(1))
    scene.objects.create("slider").geometries.create(slider)
    scene.objects.create("ball").geometries.create(AffineBodySphericalJoint().create_geometry([[0.75, 1, 0]], *ends(2)))
    scene.objects.create("weld").geometries.create(AffineBodyFixedJoint().create_geometry(*ends(3)))
    scene.objects.create("floor").geometries.create(ground(0.0))
    return scene


def running(scene: Scene, tmp_path) -> World:
    world = World(Engine("cpu", tmp_path))
    world.init(scene)
    return world
