"""A gripper closes its fingers on a cube, lifts it by friction alone and holds it.

The fingers slide on the palm, pressed by a joint force of N each; the palm is raised by a driven slider. Friction grows
smoothly with the sliding speed up to μN at eps_velocity, so that a held body creeps. Each finger carries W/2 where

    W/2 = μN (2s − s²),   s = creep / eps_velocity
"""

from __future__ import annotations

import math

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyDrivingPrismaticJoint,
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointExternalForce,
)

GRAVITY, DT, D_HAT = 9.8, 0.01, 1e-3
FRICTION, EPS_VELOCITY = 0.5, 1e-3
GRIP = 10.0  # [N] of each finger
CUBE, LIFT = 0.06, 0.2  # [m]
CLOSE, RAISE, HOLD = 40, 100, 60  # frames


def body(scene, name, size, places, fixed=False):
    box = trimesh.creation.box(size)
    sc = geometry.trimesh(box.vertices, box.faces)
    geometry.label_surface(sc)
    AffineBodyConstitution().apply_to(sc, kappa=1e8, mass_density=1000.0)
    sc.instances.resize(len(places))
    sc.instances["transform"][:, :3, 3] = places
    sc.instances["is_fixed"] = int(fixed)
    slot, _ = scene.objects.create(name).geometries.create(sc)
    return slot


def raise_palm(info):
    """A smooth way up: no jerk at either end."""
    t = min(max((info.frame() - CLOSE) / RAISE, 0.0), 1.0)
    info.geo_slots()[0].geometry.edges["aim_distance"] = LIFT * t * t * (3 - 2 * t)


def build():
    """The scene, and the slots of the cube, the palm, the fingers and the lift."""
    scene = Scene({"dt": DT, "gravity": [0, 0, -GRAVITY], "contact/d_hat": D_HAT, "contact/eps_velocity": EPS_VELOCITY})
    scene.contact_tabular.default_model(FRICTION, 1e9)
    scene.objects.create("ground").geometries.create(geometry.ground(0.0, (0, 0, 1)))
    column = body(scene, "column", (0.04, 0.04, 0.6), [(0, 0.2, 0.35)], fixed=True)
    cube = body(scene, "cube", (CUBE, CUBE, CUBE), [(0, 0, CUBE / 2 + D_HAT)])
    palm = body(scene, "palm", (0.24, 0.08, 0.03), [(0, 0, 0.20)])
    fingers = body(scene, "fingers", (0.02, 0.05, 0.14), [(-0.08, 0, 0.10), (0.08, 0, 0.10)])
    lift = AffineBodyPrismaticJoint().create_geometry(
        [[0, 0.1, 0.2]], [[0, 0.1, 1.2]], [column], [0], [palm], [0], strength_ratios=[1e3]
    )
    AffineBodyDrivingPrismaticJoint().apply_to(lift, 100.0)
    lift.edges["driving/is_constrained"] = 1
    owner = scene.objects.create("lift")
    lifted, _ = owner.geometries.create(lift)
    scene.animator.insert(owner, raise_palm)
    at = np.array([[-0.08, 0, 0.18], [0.08, 0, 0.18]])
    inward = np.array([[1.0, 0, 0], [-1.0, 0, 0]])
    slides = AffineBodyPrismaticJoint().create_geometry(
        at, at + inward, [palm] * 2, [0, 0], [fingers] * 2, [0, 1], strength_ratios=[1e3] * 2
    )
    AffineBodyPrismaticJointExternalForce().apply_to(slides, GRIP)
    slides.edges["external_force/is_constrained"] = 1
    scene.objects.create("slides").geometries.create(slides)
    return scene, cube, palm, fingers, lifted


def check():
    scene, cube, _, fingers, _ = build()
    world = World(Engine("cpu"))
    world.init(scene)
    weight = GRAVITY * float(cube.geometry.meta["mass"][0])
    height = {}
    iterations = 0
    for frame in range(1, CLOSE + RAISE + 2 * HOLD + 1):
        world.advance()
        iterations += world.report.iterations
        if frame % 20 == 0:
            world.retrieve()
            height[frame] = cube.geometry.transforms.values[0, 2, 3]
            assert world.sanity_checker().check() == 0
    last = world.frame()
    raised = height[last] - height[CLOSE]
    creep = (height[last - HOLD] - height[last]) / (HOLD * DT)
    expected = EPS_VELOCITY * (1 - math.sqrt(1 - weight / 2 / (FRICTION * GRIP)))
    force = cube.geometry.instances["contact/force"][0]
    pressed = fingers.geometry.instances["contact/force"][:, 0]
    print(f"raised by {raised:.4f} m, creeps by {1e6 * creep:.2f} µm/s (closed form {1e6 * expected:.2f} µm/s)")
    print(f"the fingers press with {-pressed[0]:.4f} N and {pressed[1]:.4f} N, friction carries {force[2]:.4f} N")
    print(f"{iterations / last:.1f} Newton iterations a frame")
    assert abs(raised - LIFT) < 1e-3
    assert abs(creep / expected - 1) < 0.01
    assert abs(force[2] / weight - 1) < 1e-3
    np.testing.assert_allclose(pressed, [-GRIP, GRIP], rtol=1e-3)


if __name__ == "__main__":
    check()
