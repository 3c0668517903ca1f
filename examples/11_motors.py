"""Three arms with the same motor and different gains lift a load against gravity; a fourth one falls into a damper.

stiff     PD control, cap far away: stands k⁻¹ τ below its target
weak      the same with a cap below the gravity torque: it never gets up
speed     velocity control: turns with its target velocity less τ/c
damped    no motor, a damper: sinks with about τ/c, and dry friction holds it where |τ| < f
"""

from __future__ import annotations

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyJointDamper,
    AffineBodyJointDrive,
    AffineBodyJointFriction,
    AffineBodyRevoluteJoint,
)

DT, STEPS, LENGTH = 0.005, 800, 0.5
NAMES = ("stiff", "weak", "speed", "damped")
STIFFNESS = np.array([4e3, 4e3, 0.0, 0.0])
DAMPING = np.array([2e2, 2e2, 4e3, 0.0])
CAP = np.array([np.inf, 1.0, np.inf, np.inf])
TARGET, SPEED, FRICTION = 0.5, 0.1, 1.5


def build():
    """The scene, the slot of the arms and the slot of their hinges."""
    scene = Scene({"dt": DT, "gravity": [0, 0, -9.8], "contact/enable": 0})
    slots = []
    for name in ("posts", "arms"):
        box = trimesh.creation.box((LENGTH, 0.05, 0.05))
        sc = geometry.trimesh(box.vertices, box.faces)
        AffineBodyConstitution().apply_to(sc, kappa=1e9)
        sc.instances.resize(4)
        sc.instances["transform"][:, 1, 3] = 0.3 * np.arange(4)
        sc.instances["is_fixed"] = int(name == "posts")
        slots.append(scene.objects.create(name).geometries.create(sc)[0])
    posts, arms = slots
    posts.geometry.instances["transform"][:, 0, 3] = -LENGTH
    # about −y: a positive angle lifts the arm
    start = np.array([[-LENGTH / 2, 0.3 * k + 0.05, 0.0] for k in range(4)])
    joint = AffineBodyRevoluteJoint().create_geometry(
        start, start - [0, 0.1, 0], [posts] * 4, np.arange(4), [arms] * 4, np.arange(4), strength_ratios=[1e3] * 4
    )
    AffineBodyJointDrive().apply_to(joint, STIFFNESS, DAMPING, CAP)
    joint.edges["drive/target"] = TARGET
    joint.edges["drive/target_velocity"] = 0.0, 0.0, SPEED, 0.0
    AffineBodyJointDamper().apply_to(joint, [0.0, 0.0, 0.0, 1.0])
    AffineBodyJointFriction().apply_to(joint, [0.0, 0.0, 0.0, FRICTION])
    hinges, _ = scene.objects.create("hinges").geometries.create(joint)
    return scene, arms, hinges


def check():
    scene, arms, hinges = build()
    world = World(Engine("cpu"))
    world.init(scene)
    for _ in range(STEPS):
        world.advance()
    world.retrieve()
    edges = hinges.geometry.edges
    angle, velocity, effort = edges["angle"], edges["velocity"], edges["drive/effort"]
    torque = 9.8 * float(arms.geometry.meta["mass"][0]) * LENGTH / 2 * np.cos(angle)  # of gravity, along −θ
    for name, *numbers in zip(NAMES, angle, velocity, effort, torque, strict=True):
        values = "angle {:7.4f} rad, velocity {:7.4f} rad/s, motor {:7.4f} N·m, gravity {:6.4f} N·m".format(*numbers)
        print(f"{name:7s} {values}")
    assert abs(TARGET - angle[0] - torque[0] / STIFFNESS[0]) < 1e-5
    assert abs(effort[1] - CAP[1]) < 1e-9 and angle[1] < -0.5
    assert abs(velocity[2] - (SPEED - torque[2] / DAMPING[2])) < 1e-4
    assert abs(velocity[3]) < 1e-3 and abs(torque[3] - FRICTION) < 0.01 * FRICTION


if __name__ == "__main__":
    check()
