"""A reaction wheel turns a satellite: the torque of a hinge spins the wheel one way and the satellite the other.

Both start at rest, so their angular momenta stay opposite. When the torque is reversed for as long as it acted, both
stop, and the satellite has turned by an angle that the ratio of the inertias sets.
"""

from __future__ import annotations

import math

import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
)

DT, TORQUE = 0.005, 0.01
FRAMES = 200  # with each sign of the torque


def animate(info):
    edges = info.geo_slots()[0].geometry.edges
    edges["external_torque/is_constrained"] = int(info.frame() <= 2 * FRAMES)
    edges["external_torque"] = TORQUE if info.frame() <= FRAMES else -TORQUE


def build():
    """The scene, the slots of satellite and wheel, and the slot of the hinge."""
    scene = Scene({"dt": DT, "gravity": [0, 0, 0], "contact/enable": 0})
    scene.config["integrator/type"] = "bdf2"
    slots = []
    for name, size, z in (("satellite", (0.3, 0.3, 0.3), 0.0), ("wheel", (0.2, 0.2, 0.05), 0.2)):
        box = trimesh.creation.box(size)
        sc = geometry.trimesh(box.vertices, box.faces)
        AffineBodyConstitution().apply_to(sc, kappa=1e8, mass_density=100.0)
        sc.instances["transform"][0, 2, 3] = z
        slots.append(scene.objects.create(name).geometries.create(sc)[0])
    satellite, wheel = slots
    joint = AffineBodyRevoluteJoint().create_geometry(
        [[0, 0, 0.1]], [[0, 0, 0.2]], [satellite], [0], [wheel], [0], strength_ratios=[1e3]
    )
    AffineBodyRevoluteJointExternalForce().apply_to(joint)
    motor = scene.objects.create("motor")
    hinge, _ = motor.geometries.create(joint)
    scene.animator.insert(motor, animate)
    return scene, satellite, wheel, hinge


def check():
    scene, satellite, wheel, hinge = build()
    world = World(Engine("cpu"))
    world.init(scene)
    for _ in range(2 * FRAMES + 20):
        world.advance()
    world.retrieve()
    about_z = [float(slot.geometry.meta["inertia"][0, 2, 2]) for slot in (satellite, wheel)]
    T = satellite.geometry.transforms.values[0]
    turned = math.atan2(T[1, 0], T[0, 0])
    angle, velocity = (float(hinge.geometry.edges[name][0]) for name in ("angle/multi_turn", "velocity"))
    # up and down again with ±τ: t² τ/I, t the time of each
    time = FRAMES * DT
    print(f"the wheel turned by {angle:.4f} rad against the satellite, which turned by {turned:.5f} rad")
    print(f"relative velocity at the end {velocity:.1e} rad/s")
    assert abs(turned / (-(time**2) * TORQUE / about_z[0]) - 1) < 0.01
    assert abs((angle + turned) / (time**2 * TORQUE / about_z[1]) - 1) < 0.01
    assert abs(velocity) < 1e-3


if __name__ == "__main__":
    check()
