"""A lid falls shut on its box: the hinge holds one side of it, contact with the rim the other.

Lid and box share a joint and still collide, which is the default (contact/joint_neighbours = 1). At rest the weight W
of the lid, at the arm c from the hinge, is carried by the rim at the arm b and by the hinge:

    N b = W c,        hinge force + N = W
"""

from __future__ import annotations

import math

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import AffineBodyConstitution, AffineBodyRevoluteJoint

GRAVITY = 9.8
INNER, OUTER = np.array([0.36, 0.26, 0.18]), np.array([0.40, 0.30, 0.20])  # [m] of the box, which is open at the top
LID = np.array([0.42, 0.32, 0.02])
HINGE = np.array([0.0, -0.15, 0.202])  # at the lower back edge of the lid
OPEN = math.radians(60)


def open_box():
    """A closed surface: outer walls and floor, rim, inner walls and floor."""
    x, y = np.array([-1, 1, 1, -1]) / 2, np.array([-1, -1, 1, 1]) / 2
    rings = [  # corner loops from the outer floor up to the rim, and down again inside
        np.stack([x * size[0], y * size[1], np.full(4, z)], axis=1)
        for size, z in ((OUTER, 0.0), (OUTER, OUTER[2]), (INNER, OUTER[2]), (INNER, OUTER[2] - INNER[2]))
    ]
    sides = [(4 * r + k, 4 * r + (k + 1) % 4) for r in range(3) for k in range(4)]
    walls = [[i, j, j + 4, i + 4] for i, j in sides]
    return geometry.trimesh(np.concatenate(rings), [*walls, [3, 2, 1, 0], [12, 13, 14, 15]])


def build():
    """The scene, and the slots of the box, the lid and the hinge."""
    scene = Scene({"gravity": [0, 0, -GRAVITY], "contact/d_hat": 1e-3})
    solid = trimesh.creation.box(LID)
    meshes = {"box": open_box(), "lid": geometry.trimesh(solid.vertices, solid.faces)}
    slots = []
    for name, mesh in meshes.items():
        geometry.label_surface(mesh)
        AffineBodyConstitution().apply_to(mesh, kappa=1e8, mass_density=600.0)
        mesh.instances["is_fixed"] = int(name == "box")
        slots.append(scene.objects.create(name).geometries.create(mesh)[0])
    box, lid = slots
    c, s = math.cos(OPEN), math.sin(OPEN)
    T = lid.geometry.instances["transform"][0]
    T[:3, :3] = [[1, 0, 0], [0, c, -s], [0, s, c]]
    T[:3, 3] = HINGE + T[:3, :3] @ [0, LID[1] / 2, LID[2] / 2]
    half = np.array([LID[0] / 2, 0, 0])
    joint = AffineBodyRevoluteJoint().create_geometry([HINGE - half], [HINGE + half], [box], [0], [lid], [0], [1e3])
    hinge, _ = scene.objects.create("hinge").geometries.create(joint)
    return scene, box, lid, hinge


def check():
    scene, _, lid, hinge = build()
    world = World(Engine("cpu"))
    world.init(scene)
    iterations = 0
    for frame in range(150):
        world.advance()
        iterations += world.report.iterations
        if frame % 10 == 9:
            world.retrieve()
            assert world.sanity_checker().check() == 0
    weight = GRAVITY * float(lid.geometry.meta["mass"][0])
    rim = lid.geometry.instances["contact/force"][0, 2]
    held = hinge.geometry.edges["reaction/force"][0, 2]
    arms = LID[1] / 2, OUTER[1]  # of the weight and of the rim's outer edge
    contacts = world.contacts()
    print(f"shut after {world.frame()} frames, {iterations / world.frame():.1f} Newton iterations each")
    one, other = contacts.names(0)
    print(f"{len(contacts)} contacts of {one} and {other}, smallest gap {1e3 * contacts.gap.min():.3f} mm")
    print(f"the rim carries {rim:.3f} N, the hinge {held:.3f} N of the {weight:.3f} N")
    # the lid leans by 1/300: its centre of mass is 0.01 m · 1/300 nearer to the rim, a part in 5000 of its arm
    assert abs(rim / (weight * arms[0] / arms[1]) - 1) < 0.01
    assert abs((rim + held) / weight - 1) < 1e-3
    assert 0 < contacts.gap.min() < 1e-3


if __name__ == "__main__":
    check()
