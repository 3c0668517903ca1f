"""Ragdolls fall on a heap: balls that reach so far in neck, shoulders and hips, hinges with limits in elbows and knees.

Limbs that share a joint do not collide (contact/joint_neighbours = 0); all others do, of one doll and of several.
"""

from __future__ import annotations

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointLimit,
    AffineBodySphericalJoint,
    AffineBodySphericalJointResistance,
)

GRAVITY, DT, D_HAT = 9.8, 0.01, 2e-3
DOLLS, FRAMES = 3, 250
BEND = -0.1, 2.4  # [rad] of elbows and knees
REACH, LIMP = 1.8, 0.5  # of necks, shoulders and hips: how far [rad] they turn, and what that takes [N·m·s/rad]
# size and centre [m] of the limbs of a doll with stretched arms, seen from its own middle; z is up
LIMBS = {
    "torso": ((0.30, 0.16, 0.50), (0.00, 0, 0.00)),
    "head": ((0.16, 0.16, 0.20), (0.00, 0, 0.38)),
    "left upper arm": ((0.26, 0.08, 0.08), (-0.34, 0, 0.20)),
    "right upper arm": ((0.26, 0.08, 0.08), (0.34, 0, 0.20)),
    "left forearm": ((0.26, 0.07, 0.07), (-0.62, 0, 0.20)),
    "right forearm": ((0.26, 0.07, 0.07), (0.62, 0, 0.20)),
    "left thigh": ((0.11, 0.11, 0.36), (-0.09, 0, -0.47)),
    "right thigh": ((0.11, 0.11, 0.36), (0.09, 0, -0.47)),
    "left shin": ((0.09, 0.09, 0.36), (-0.09, 0, -0.87)),
    "right shin": ((0.09, 0.09, 0.36), (0.09, 0, -0.87)),
}
BALLS = [
    ("torso", "head", (0, 0, 0.265)),
    ("torso", "left upper arm", (-0.18, 0, 0.20)),
    ("torso", "right upper arm", (0.18, 0, 0.20)),
    ("torso", "left thigh", (-0.09, 0, -0.27)),
    ("torso", "right thigh", (0.09, 0, -0.27)),
]
HINGES = [  # the axis is chosen so that the joint bends forward (to −y) or back with a growing angle
    ("left upper arm", "left forearm", (-0.48, 0, 0.20), (0, 0, 1)),
    ("right upper arm", "right forearm", (0.48, 0, 0.20), (0, 0, -1)),
    ("left thigh", "left shin", (-0.09, 0, -0.67), (-1, 0, 0)),
    ("right thigh", "right shin", (0.09, 0, -0.67), (-1, 0, 0)),
]


def poses():
    """One transform (4, 4) for each doll: lying across each other, one above the other."""
    rng = np.random.default_rng(7)
    for k in range(DOLLS):
        T = trimesh.transformations.euler_matrix(1.2 + 0.3 * rng.normal(), 0.3 * rng.normal(), 2.1 * k)
        T[:3, 3] = 0.05 * rng.normal(), 0.05 * rng.normal(), 0.8 + 0.9 * k
        yield T


def build():
    """The scene, and the slots of the torsos, of the balls and of the hinges."""
    scene = Scene({"dt": DT, "gravity": [0, 0, -GRAVITY], "contact/d_hat": D_HAT, "contact/joint_neighbours": 0})
    scene.objects.create("ground").geometries.create(geometry.ground(0.0, (0, 0, 1)))
    placed = list(poses())
    slots = {}
    for name, (size, centre) in LIMBS.items():
        box = trimesh.creation.box(size)
        sc = geometry.trimesh(box.vertices, box.faces)
        geometry.label_surface(sc)
        AffineBodyConstitution().apply_to(sc, kappa=1e7, mass_density=1000.0)
        sc.instances.resize(DOLLS)
        sc.instances["transform"] = np.array([T @ trimesh.transformations.translation_matrix(centre) for T in placed])
        slots[name], _ = scene.objects.create(name).geometries.create(sc)
    doll = list(range(DOLLS))
    joints = scene.objects.create("joints")

    def ends(joint):
        return [[slots[name]] * DOLLS for name in joint[:2]]

    found = []
    for joint in BALLS:
        at = [T[:3, :3] @ joint[2] + T[:3, 3] for T in placed]
        left, right = ends(joint)
        ball = AffineBodySphericalJoint().create_geometry(at, left, doll, right, doll, [100.0] * DOLLS)
        AffineBodySphericalJointResistance().apply_to(ball, damping=LIMP, max_angle=REACH)
        found.append(joints.geometries.create(ball)[0])
    for joint in HINGES:
        at = np.array([T[:3, :3] @ joint[2] + T[:3, 3] for T in placed])
        axis = np.array([T[:3, :3] @ joint[3] for T in placed])
        left, right = ends(joint)
        hinge = AffineBodyRevoluteJoint().create_geometry(
            at - 0.03 * axis, at + 0.03 * axis, left, doll, right, doll, [100.0] * DOLLS
        )
        AffineBodyRevoluteJointLimit().apply_to(hinge, *BEND, 100.0)
        found.append(joints.geometries.create(hinge)[0])
    return scene, slots["torso"], *found


def _edge_or_vertex(joint):
    """Where a joint keeps its state: a hinge on its edge, a ball on its vertex."""
    return joint.geometry.edges if joint.geometry.edges.size() else joint.geometry.vertices


def check():
    scene, torsos, *joints = build()
    world = World(Engine("cpu"))
    world.init(scene)
    limbs = [slot for slot, _ in scene.geometries if slot.object_name in LIMBS]
    iterations = gap = 0
    push = []
    for frame in range(1, FRAMES + 1):
        world.advance()
        iterations += world.report.iterations
        if frame % 10 == 0:
            world.retrieve()
            assert world.sanity_checker().check() == 0
            gap = max(gap, *(_edge_or_vertex(joint)["gap"].max() for joint in joints))
        if frame > FRAMES - 50:
            world.retrieve()
            push.append(sum(limb.geometry.instances["contact/force"].sum(axis=0) for limb in limbs))
    weight = GRAVITY * DOLLS * sum(float(limb.geometry.meta["mass"][0]) for limb in limbs)
    angles = np.concatenate([joint.geometry.edges["angle"] for joint in joints[len(BALLS) :]])
    height = torsos.geometry.transforms.values[:, 2, 3]
    carried = np.mean(push, axis=0)[2]
    print(f"{DOLLS} dolls, {world.report.contacts} contacts, {iterations / FRAMES:.1f} Newton iterations a frame")
    print(
        f"the ground carries {carried:.1f} N, they weigh {weight:.1f} N; torsos {np.round(height, 2).tolist()} m high"
    )
    print(f"largest joint gap {1e3 * gap:.3f} mm, elbows and knees at {angles.min():.2f} to {angles.max():.2f} rad")
    assert abs(carried / weight - 1) < 0.02  # they still settle
    assert gap < 1e-3
    # a limit gives way like a cubic spring: 0.01 rad under the weight of a limb
    assert angles.min() > BEND[0] - 0.02
    assert angles.max() < BEND[1] + 0.02


if __name__ == "__main__":
    check()
