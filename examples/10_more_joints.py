"""Six joints side by side under gravity, each with a cube on a fixed base: what is free falls, what is held stays.

cylindrical     the axis is upright: the cube falls as if there were nothing
planar          the plane is level: the cube stays at its height
universal       the cube is held at its centre and stays there
distance        the rod is upright, the cube hangs on it
point on line   the line falls by 3 m on 4 m: a = 3/5 g
screw           a steep thread: d̈ = −g/(1 + J/(m l²)), l = pitch/2π
"""

from __future__ import annotations

import math

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyCylindricalJoint,
    AffineBodyDistanceJoint,
    AffineBodyPlanarJoint,
    AffineBodyPointOnLineJoint,
    AffineBodyScrewJoint,
    AffineBodyUniversalJoint,
)

DT, STEPS, G = 0.002, 150, 9.8
EDGE, PITCH = 0.2, 0.5
UP, SLOPE = np.array([0.0, 0.0, 1.0]), np.array([0.8, 0.0, -0.6])
JOINTS = (
    (AffineBodyCylindricalJoint(), UP),
    (AffineBodyPlanarJoint(), UP),
    (AffineBodyUniversalJoint(), UP),
    (AffineBodyDistanceJoint(), UP),
    (AffineBodyPointOnLineJoint(), SLOPE),
    (AffineBodyScrewJoint(), UP),
)


def build():
    """The scene, the slot of the cubes and the slots of the joints."""
    scene = Scene({"dt": DT, "gravity": [0, 0, -G], "contact/enable": 0})
    box = trimesh.creation.box((EDGE, EDGE, EDGE))
    slots = []
    for name in ("bases", "cubes"):
        sc = geometry.trimesh(box.vertices, box.faces)
        AffineBodyConstitution().apply_to(sc, kappa=1e9)
        sc.instances.resize(len(JOINTS))
        sc.instances["transform"][:, 0, 3] = np.arange(len(JOINTS))
        sc.instances["is_fixed"] = int(name == "bases")
        slots.append(scene.objects.create(name).geometries.create(sc)[0])
    bases, cubes = slots
    bases.geometry.instances["transform"][:, 2, 3] = 1.0
    joints = []
    for k, (joint, axis) in enumerate(JOINTS):
        at = np.array([[k, 0.0, 0.0]])
        # the rod hangs from the base; all others have their anchor in the middle of the cube
        ends = (at + UP, at) if isinstance(joint, AffineBodyDistanceJoint) else (at, at + axis)
        sc = joint.create_geometry(*ends, [bases], [k], [cubes], [k], strength_ratios=[1e4])
        if isinstance(joint, AffineBodyScrewJoint):
            sc.edges["pitch"] = PITCH
        joints.append(scene.objects.create(type(joint).__name__).geometries.create(sc)[0])
    return scene, cubes, *joints


def check():
    scene, cubes, *joints = build()
    world = World(Engine("cpu"))
    world.init(scene)
    for _ in range(STEPS):
        world.advance()
    world.retrieve()
    fallen = cubes.geometry.transforms.values[:, 2, 3]
    lead = PITCH / (2 * math.pi)
    share = np.array([1.0, 0.0, 0.0, 0.0, 0.6**2, 1 / (1 + EDGE**2 / 6 / lead**2)])
    expected = -share * G * DT**2 * STEPS * (STEPS + 1) / 2  # bdf1 under a constant acceleration
    for slot, height, closed_form in zip(joints, fallen, expected, strict=True):
        print(f"{slot.object_name:28s} {height:8.5f} m (closed form {closed_form:8.5f} m)")
    # what is held gives way by g h²/γ; bdf1 slows the spin of the nut by a share of order ω h
    assert np.allclose(fallen[:5], expected[:5], atol=1e-6)
    assert abs(fallen[5] / expected[5] - 1) < 0.02


if __name__ == "__main__":
    check()
