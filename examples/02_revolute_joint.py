"""A rod on a hinge swings from the horizontal to the other side and back, in the period of the textbook.

A thin uniform rod of 1 m released from the horizontal has the period 1.93333 s; where it hangs straight down the hinge
carries 5/2 of its weight.
"""

from __future__ import annotations

import math

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import AffineBodyConstitution, AffineBodyRevoluteJoint

PERIOD = 1.933335 * math.sqrt(9.81 / 9.8)
STEPS = 400


def build():
    """The scene, the slot of the rod and the slot of the hinge."""
    scene = Scene({"dt": PERIOD / STEPS, "gravity": [0, 0, -9.8], "contact/enable": 0})
    scene.config["integrator/type"] = "bdf2"
    scene.config["integrator/bdf2_start"] = "bdf1"
    box = trimesh.creation.box((1.0, 0.02, 0.02))
    sc = geometry.trimesh(box.vertices, box.faces)
    AffineBodyConstitution().apply_to(sc, kappa=1e9, mass_density=2500.0)
    sc.instances.resize(2)  # a fixed rod on the left, a free one on the right
    sc.instances["transform"][:, 0, 3] = -0.5, 0.5
    sc.instances["is_fixed"] = [1, 0]
    rods, _ = scene.objects.create("rods").geometries.create(sc)
    # the axis runs along +y from P0 to P1, about which the falling rod turns right-handed: its angle grows
    joint = AffineBodyRevoluteJoint().create_geometry([[0, -0.1, 0]], [[0, 0.1, 0]], [rods], [0], [rods], [1], [1e3])
    hinge, _ = scene.objects.create("hinge").geometries.create(joint)
    return scene, rods, hinge


def check():
    scene, rods, hinge = build()
    world = World(Engine("cpu"))
    world.init(scene)
    angle, force = [], []
    for _ in range(STEPS):
        world.advance()
        world.retrieve()
        angle.append(float(hinge.geometry.edges["angle/multi_turn"][0]))
        force.append(hinge.geometry.edges["reaction/force"][0].copy())
    weight = 9.8 * float(rods.geometry.meta["mass"][0])
    half, quarter = STEPS // 2 - 1, int(np.argmin(np.abs(np.array(angle[: STEPS // 2]) - math.pi / 2)))
    print(f"half a period: {math.degrees(angle[half]):.2f}°, a whole one: {math.degrees(angle[-1]):.2f}°")
    print(f"straight down the hinge lifts with {force[quarter][2] / weight:.3f} times the weight")
    # the rod is 2 cm thick, which lengthens its period by 0.02 %, and bdf2 lags by some 1e-3 rad
    assert abs(angle[half] - math.pi) < 0.01
    assert abs(angle[-1]) < 0.02
    assert abs(force[quarter][2] / weight - 2.5) < 0.01
    assert hinge.geometry.edges["gap"][0] < 1e-6


if __name__ == "__main__":
    check()
