"""A lift with a swivelling arm: a driven slider raises it, a driven hinge turns it, then both hold what they have.

An animation moves the targets. A drive follows like a stiff spring, so it sags under a load f by f h²/K_d (half of
that on a slider), K_d = driving/strength_ratio·(m_i + m_j).
"""

from __future__ import annotations

import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyDrivingPrismaticJoint,
    AffineBodyDrivingRevoluteJoint,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
)

GRAVITY, DT = 9.8, 0.01
MOVE, HOLD = 100, 100  # frames
LIFT, SWING = 0.5, 1.2  # targets [m], [rad]


def body(scene, name, size, position, fixed=False):
    box = trimesh.creation.box(size)
    sc = geometry.trimesh(box.vertices, box.faces)
    AffineBodyConstitution().apply_to(sc, kappa=1e8, mass_density=500.0)
    sc.instances["transform"][0, :3, 3] = position
    sc.instances["is_fixed"] = int(fixed)
    slot, _ = scene.objects.create(name).geometries.create(sc)
    return slot


def animate(info):
    """Ramp the targets up, then let the drives hold; `aim_…` is no longer looked at when a drive is passive."""
    progress = min(info.frame() / MOVE, 1.0)
    for slot, aim, target in zip(info.geo_slots(), ("aim_distance", "aim_angle"), (LIFT, SWING), strict=True):
        edges = slot.geometry.edges
        edges["driving/is_constrained"] = 1
        edges["is_passive"] = int(info.frame() > MOVE + 20)
        edges[aim] = target * progress


def build():
    """The scene, and the slots of the slider, the hinge, the carriage and the arm."""
    scene = Scene({"dt": DT, "gravity": [0, 0, -GRAVITY], "contact/enable": 0})
    column = body(scene, "column", (0.1, 0.1, 2.0), (0, 0, 0), fixed=True)
    carriage = body(scene, "carriage", (0.2, 0.2, 0.2), (0.2, 0, 0))
    arm = body(scene, "arm", (0.6, 0.1, 0.1), (0.65, 0, 0))
    slide = AffineBodyPrismaticJoint().create_geometry(
        [[0.1, 0, 0]], [[0.1, 0, 1]], [column], [0], [carriage], [0], strength_ratios=[1e3]
    )
    AffineBodyDrivingPrismaticJoint().apply_to(slide, strength_ratio=10.0)
    swing = AffineBodyRevoluteJoint().create_geometry(
        [[0.3, 0, -0.1]], [[0.3, 0, 0.1]], [carriage], [0], [arm], [0], strength_ratios=[1e3]
    )
    AffineBodyDrivingRevoluteJoint().apply_to(swing, strength_ratio=10.0)
    machine = scene.objects.create("machine")
    slider, _ = machine.geometries.create(slide)
    hinge, _ = machine.geometries.create(swing)
    scene.animator.insert(machine, animate)
    return scene, slider, hinge, carriage, arm


def check():
    scene, slider, hinge, carriage, arm = build()
    world = World(Engine("cpu"))
    world.init(scene)
    latched = 0.0
    for frame in range(1, MOVE + HOLD + 1):
        world.advance()
        world.retrieve()
        if frame == MOVE + 20:
            latched = float(slider.geometry.edges["distance"][0])
    distance, angle = float(slider.geometry.edges["distance"][0]), float(hinge.geometry.edges["angle"][0])
    effort = float(slider.geometry.edges["driving/effort"][0])
    masses = [float(slot.geometry.meta["mass"][0]) for slot in (scene.geometries[0][0], carriage, arm)]
    load = GRAVITY * (masses[1] + masses[2])
    sag = load * DT**2 / (2 * 10.0 * (masses[0] + masses[1]))
    print(f"lifted by {distance:.6f} m, turned by {angle:.6f} rad; the lift pushes with {effort:.3f} N")
    print(f"sag of the lift {1e6 * (latched - distance):.2f} µm (closed form {1e6 * sag:.2f} µm)")
    assert abs(distance - LIFT) < 1e-3
    assert abs(angle - SWING) < 1e-3
    assert abs(effort / load - 1) < 1e-4
    assert abs((latched - distance) / sag - 1) < 1e-2


if __name__ == "__main__":
    check()
