"""A carriage slides down a rail that is inclined by 30°.

Its distance grows as ½ g sin α t², and the rail holds it with m g cos α across the slope.
"""

from __future__ import annotations

import math

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import AffineBodyConstitution, AffineBodyPrismaticJoint

SLOPE = math.radians(30)
DOWN = np.array([math.cos(SLOPE), 0.0, -math.sin(SLOPE)])
TURN = np.array([[DOWN[0], 0, -DOWN[2]], [0, 1, 0], [DOWN[2], 0, DOWN[0]]])  # x along the slope
DT, STEPS = 0.01, 60


def build():
    """The scene, the slot of the carriage and the slot of the joint."""
    scene = Scene({"dt": DT, "gravity": [0, 0, -9.8], "contact/enable": 0})
    slots = []
    for name, size, offset in (("rail", (2.0, 0.1, 0.1), 0.0), ("carriage", (0.2, 0.2, 0.1), 0.15)):
        box = trimesh.creation.box(size)
        sc = geometry.trimesh(box.vertices, box.faces)
        AffineBodyConstitution().apply_to(sc, kappa=1e8, mass_density=500.0)
        sc.instances["transform"][0, :3, :3] = TURN
        sc.instances["transform"][0, :3, 3] = TURN @ (0, 0, offset)
        sc.instances["is_fixed"] = int(name == "rail")
        slots.append(scene.objects.create(name).geometries.create(sc)[0])
    rail, carriage = slots
    anchor = TURN @ (0, 0, 0.1)
    joint = AffineBodyPrismaticJoint().create_geometry(
        [anchor], [anchor + DOWN], [rail], [0], [carriage], [0], strength_ratios=[100.0]
    )
    slider, _ = scene.objects.create("slider").geometries.create(joint)
    return scene, carriage, slider


def check():
    scene, carriage, slider = build()
    world = World(Engine("cpu"))
    world.init(scene)
    for _ in range(STEPS):
        world.advance()
    world.retrieve()
    edges = slider.geometry.edges
    distance, velocity, force = float(edges["distance"][0]), float(edges["velocity"][0]), edges["reaction/force"][0]
    # bdf1 under a constant acceleration: d = a h² n(n + 1)/2
    acceleration = 9.8 * math.sin(SLOPE)
    expected = acceleration * DT**2 * STEPS * (STEPS + 1) / 2
    weight = 9.8 * float(carriage.geometry.meta["mass"][0])
    print(f"distance {distance:.5f} m (closed form {expected:.5f} m), velocity {velocity:.4f} m/s")
    print(f"the rail carries {np.linalg.norm(force):.4f} N of {weight:.4f} N")
    assert abs(distance - expected) < 1e-6
    assert abs(velocity - acceleration * DT * STEPS) < 1e-5
    assert abs(np.linalg.norm(force) - weight * math.cos(SLOPE)) < 1e-3 * weight
    assert abs(force @ DOWN) < 1e-3 * weight
    assert edges["misalignment"][0] < 1e-3


if __name__ == "__main__":
    check()
