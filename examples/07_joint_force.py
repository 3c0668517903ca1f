"""A spring gun in space: a force along a slider throws a small body and a heavy one apart.

The force acts on both, +f on the right body and −f on the left, so they part with the acceleration f/μ of their
reduced mass μ while their common centre of mass stays at rest. An animation switches the force off after half a second.
"""

from __future__ import annotations

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointExternalForce,
)

DT, FORCE = 0.01, 4.0
PUSH, COAST = 50, 50  # frames


def animate(info):
    info.geo_slots()[0].geometry.edges["external_force/is_constrained"] = int(info.frame() <= PUSH)


def build():
    """The scene, the slots of the two bodies and the slot of the slider."""
    scene = Scene({"dt": DT, "gravity": [0, 0, 0], "contact/enable": 0})
    slots = []
    for name, side, x in (("gun", 0.2, -0.11), ("shot", 0.1, 0.06)):
        box = trimesh.creation.box((side, side, side))
        sc = geometry.trimesh(box.vertices, box.faces)
        AffineBodyConstitution().apply_to(sc, kappa=1e8, mass_density=1000.0)
        sc.instances["transform"][0, 0, 3] = x
        slots.append(scene.objects.create(name).geometries.create(sc)[0])
    gun, shot = slots
    joint = AffineBodyPrismaticJoint().create_geometry([[0, 0, 0]], [[1, 0, 0]], [gun], [0], [shot], [0], [100.0])
    AffineBodyPrismaticJointExternalForce().apply_to(joint, FORCE)
    barrel = scene.objects.create("barrel")
    slider, _ = barrel.geometries.create(joint)
    scene.animator.insert(barrel, animate)
    return scene, gun, shot, slider


def check():
    scene, gun, shot, slider = build()
    masses = np.array([float(slot.geometry.meta["mass"][0]) for slot in (gun, shot)])
    start = np.array([slot.geometry.transforms.values[0, :3, 3] for slot in (gun, shot)])
    world = World(Engine("cpu"))
    world.init(scene)
    for _ in range(PUSH + COAST):
        world.advance()
    world.retrieve()
    distance, velocity = (float(slider.geometry.edges[name][0]) for name in ("distance", "velocity"))
    # bdf1: v grows by a h in each frame with the force, and the distance by v h in every frame
    a = FORCE * (1 / masses).sum()
    expected = a * DT**2 * (PUSH * (PUSH + 1) / 2 + PUSH * COAST)
    now = np.array([slot.geometry.transforms.values[0, :3, 3] for slot in (gun, shot)])
    drift = np.linalg.norm(masses @ (now - start)) / masses.sum()
    print(f"{distance:.6f} m apart (closed form {expected:.6f} m) at {velocity:.4f} m/s")
    print(f"the centre of mass moved by {drift:.1e} m")
    assert abs(distance / expected - 1) < 1e-9
    assert abs(velocity / (a * DT * PUSH) - 1) < 1e-9
    assert drift < 1e-12


if __name__ == "__main__":
    check()
