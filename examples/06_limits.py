"""A drawer and a door with stops: both are pushed open by a constant load and rest against the upper limit.

Outside its range a limit is a cubic penalty. A load f comes to rest where it balances, beyond the stop by
w·√(f h² w/(3 s)), with w the width of the range and s the strength.
"""

from __future__ import annotations

import math

import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointExternalForce,
    AffineBodyPrismaticJointLimit,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
    AffineBodyRevoluteJointLimit,
)

DT = 0.01
PULL, PUSH = 5.0, 2.0  # [N], [N·m]
DRAWER, DOOR = (0.0, 0.4), (-0.1, math.radians(100))  # ranges [m], [rad]
STRENGTH = 10.0


def body(scene, name, size, position, fixed=False):
    box = trimesh.creation.box(size)
    sc = geometry.trimesh(box.vertices, box.faces)
    AffineBodyConstitution().apply_to(sc, kappa=1e8, mass_density=500.0)
    sc.instances["transform"][0, :3, 3] = position
    sc.instances["is_fixed"] = int(fixed)
    slot, _ = scene.objects.create(name).geometries.create(sc)
    return slot


def build():
    """The scene, and the slots of the drawer's slider and of the door's hinge."""
    scene = Scene({"dt": DT, "gravity": [0, 0, 0], "contact/enable": 0})
    frame = body(scene, "frame", (0.5, 0.1, 0.5), (0, 0.5, 0), fixed=True)
    drawer = body(scene, "drawer", (0.3, 0.2, 0.1), (0, 0.2, -0.1))
    door = body(scene, "door", (0.3, 0.02, 0.2), (-0.05, 0.35, 0.15))
    slide = AffineBodyPrismaticJoint().create_geometry(
        [[0, 0.2, -0.1]], [[0, -0.8, -0.1]], [frame], [0], [drawer], [0], strength_ratios=[1e3]
    )
    AffineBodyPrismaticJointLimit().apply_to(slide, *DRAWER, STRENGTH)
    AffineBodyPrismaticJointExternalForce().apply_to(slide, PULL)
    slide.edges["external_force/is_constrained"] = 1
    # hinged at its left edge about −z, so that it opens towards −y with a growing angle
    swing = AffineBodyRevoluteJoint().create_geometry(
        [[-0.2, 0.35, 0.25]], [[-0.2, 0.35, 0.05]], [frame], [0], [door], [0], strength_ratios=[1e3]
    )
    AffineBodyRevoluteJointLimit().apply_to(swing, *DOOR, STRENGTH)
    AffineBodyRevoluteJointExternalForce().apply_to(swing, PUSH)
    swing.edges["external_torque/is_constrained"] = 1
    slider, _ = scene.objects.create("slider").geometries.create(slide)
    hinge, _ = scene.objects.create("hinge").geometries.create(swing)
    return scene, slider, hinge


def overshoot(load, limits):
    width = limits[1] - limits[0]
    return width * math.sqrt(load * DT**2 * width / (3 * STRENGTH))


def check():
    scene, slider, hinge = build()
    world = World(Engine("cpu"))
    world.init(scene)
    for _ in range(400):
        world.advance()
    world.retrieve()
    for name, edges, value, load, limits in (
        ("drawer", slider.geometry.edges, "distance", PULL, DRAWER),
        ("door", hinge.geometry.edges, "angle", PUSH, DOOR),
    ):
        found, beyond = float(edges[value][0]), float(edges["limit/violation"][0])
        print(f"{name}: {value} {found:.5f}, beyond the stop {beyond:.6f} (closed form {overshoot(load, limits):.6f})")
        assert abs(found - limits[1] - beyond) < 1e-12
        assert abs(beyond / overshoot(load, limits) - 1) < 1e-3
        assert abs(edges["velocity"][0]) < 1e-3


if __name__ == "__main__":
    check()
