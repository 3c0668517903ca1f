"""A motor turns a pinion, which meshes with a wheel, which turns a lead screw, which lifts a weight up to a hard stop.

    pinion → wheel       ratio −1/4, exact
    wheel → spindle      ratio 1: both sit on one shaft
    spindle → carriage   a nut on a thread of 20 mm pitch, which does not turn: rack-like, 0.02/2π m/rad

Until it gets to the stop the motor sees J = J_p + (1/4)²(J_w + J_s + m l²), l = 0.02/2π, and the weight as the torque
m g l/4; at the stop it presses with what its cap allows, as a force 4τ/l on the stop.
"""

from __future__ import annotations

import math

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyJointCoupling,
    AffineBodyJointDrive,
    AffineBodyJointLimit,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
)

DT, G = 0.002, 9.8
RATIO, LEAD = -1 / 4, 0.02 / (2 * math.pi)
SIZES = {"frame": (0.1, 0.1, 0.1), "pinion": (0.1, 0.1, 0.05), "wheel": (0.3, 0.3, 0.05), "spindle": (0.05, 0.05, 0.6)}
PLACES = {"frame": (0, 0, -0.5), "pinion": (-0.3, 0, 0), "wheel": (0, 0, 0), "spindle": (0, 0, 0.4)}
TORQUE, STOP = 0.2, 0.02


def build():
    """The scene, the slots of the hinges, the slider and the couplings."""
    scene = Scene({"dt": DT, "gravity": [0, 0, -G], "contact/enable": 0, "joint/exact": 1})
    slots = {}
    for name, size in {**SIZES, "carriage": (0.3, 0.3, 0.1)}.items():
        box = trimesh.creation.box(size)
        sc = geometry.trimesh(box.vertices, box.faces)
        AffineBodyConstitution().apply_to(sc, kappa=1e9)
        sc.instances["transform"][0, :3, 3] = PLACES.get(name, (0.5, 0, 0.3))
        sc.instances["is_fixed"] = int(name == "frame")
        slots[name], _ = scene.objects.create(name).geometries.create(sc)
    turning = ("pinion", "wheel", "spindle")
    at = np.array([PLACES[name] for name in turning], float)
    hinges = AffineBodyRevoluteJoint().create_geometry(
        at,
        at + np.array([0, 0, 1]),
        [slots["frame"]] * 3,
        [0] * 3,
        [slots[name] for name in turning],
        [0] * 3,
        [100.0] * 3,
    )
    AffineBodyJointDrive().apply_to(hinges, damping=[10.0, 0.0, 0.0], max_effort=TORQUE)
    hinges.edges["drive/target_velocity"] = -100.0, 0.0, 0.0
    hinges, _ = scene.objects.create("hinges").geometries.create(hinges)
    slider = AffineBodyPrismaticJoint().create_geometry(
        [[0.5, 0, 0.3]], [[0.5, 0, 1.3]], [slots["frame"]], [0], [slots["carriage"]], [0], [100.0]
    )
    AffineBodyJointLimit().apply_to(slider, -0.01, STOP, np.inf)
    slider, _ = scene.objects.create("slider").geometries.create(slider)
    gears = AffineBodyJointCoupling().create_geometry(
        [hinges, hinges, hinges], [hinges, hinges, slider], [RATIO, 1.0, LEAD],
        leader_indices=[0, 1, 2], follower_indices=[1, 2, 0],
    )  # fmt: skip
    gears, _ = scene.objects.create("gears").geometries.create(gears)
    return scene, hinges, slider, gears


def check():
    scene, hinges, slider, gears = build()
    world = World(Engine("cpu"))
    world.init(scene)
    steps = 100
    for _ in range(steps):
        world.advance()
    world.retrieve()
    density = 1000.0
    m = density * 0.3 * 0.3 * 0.1
    J_p, J_w, J_s = (density * np.prod(SIZES[n]) * SIZES[n][0] ** 2 / 6 for n in ("pinion", "wheel", "spindle"))
    inertia = J_p + RATIO**2 * (J_w + J_s + m * LEAD**2)
    alpha = -(TORQUE - m * G * LEAD * abs(RATIO)) / inertia
    speed = float(hinges.geometry.edges["velocity"][0])
    print(f"pinion after {steps * DT:.1f} s: {speed:.4f} rad/s (closed form {alpha * steps * DT:.4f} rad/s)")
    assert abs(speed / (alpha * steps * DT) - 1) < 0.02  # bdf1 takes some of the spin
    worst, highest = 0.0, 0.0
    for _ in range(900):
        world.advance()
        world.retrieve()
        angles = hinges.geometry.edges["angle/multi_turn"]
        d = float(slider.geometry.edges["distance"][0])
        chain = np.array([angles[1] - RATIO * angles[0], angles[2] - angles[1], d - LEAD * angles[2]])
        worst, highest = max(worst, float(np.abs(chain).max())), max(highest, d)
    force = float(gears.geometry["coupling"]["effort"][2])
    print(f"carriage at {d:.6f} m, highest {highest:.6f} m, gears open by {worst:.1e} at most")
    print(
        f"the spindle lifts with {force:.1f} N (closed form {TORQUE / abs(RATIO) / LEAD:.1f} N, weight {m * G:.1f} N)"
    )
    assert worst < 1e-9
    assert highest < STOP and d > STOP - 1e-5
    assert abs(force / (TORQUE / abs(RATIO) / LEAD) - 1) < 1e-3


if __name__ == "__main__":
    check()
