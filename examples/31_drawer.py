"""A drawer pulled too hard: it slides out until the catch at its back hits the front rail of the cabinet.

The slider has no limit; contact ends the motion. What the drawer loses in momentum is the impulse of the contact, read
back frame by frame:  m (v_before − v_after) = Σ F dt.
"""

from __future__ import annotations

import trimesh
from trimesh.transformations import translation_matrix

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import AffineBodyConstitution, AffineBodyPrismaticJoint

DT, D_HAT = 0.005, 1e-3
SPEED = 1.2  # [m/s], towards −y
# size and place [m] of the boxes that a body consists of; y is the way in, z is up
CABINET = [
    ((0.50, 0.40, 0.02), (0.00, 0.00, 0.00)),  # floor
    ((0.02, 0.40, 0.30), (-0.27, 0.00, 0.14)),  # sides
    ((0.02, 0.40, 0.30), (0.27, 0.00, 0.14)),
    ((0.44, 0.02, 0.06), (0.00, -0.19, 0.05)),  # front rail
]
DRAWER = [
    ((0.40, 0.30, 0.02), (0.00, 0.00, 0.10)),  # bottom
    ((0.40, 0.02, 0.10), (0.00, -0.14, 0.17)),  # front and back
    ((0.40, 0.02, 0.10), (0.00, 0.14, 0.17)),
    ((0.02, 0.24, 0.10), (-0.19, 0.00, 0.17)),  # sides
    ((0.02, 0.24, 0.10), (0.19, 0.00, 0.17)),
    ((0.36, 0.02, 0.05), (0.00, 0.14, 0.06)),  # catch, below the bottom and behind the rail
]
FREE_WAY = (0.14 - 0.01) - (-0.19 + 0.01)  # from the catch to the rail


def body(scene, name, parts):
    """One body from several boxes: they move together, with or without space between them."""
    boxes = [trimesh.creation.box(size, translation_matrix(place)) for size, place in parts]
    mesh = trimesh.util.concatenate(boxes)
    sc = geometry.trimesh(mesh.vertices, mesh.faces)
    geometry.label_surface(sc)
    AffineBodyConstitution().apply_to(sc, kappa=1e8, mass_density=500.0)
    slot, _ = scene.objects.create(name).geometries.create(sc)
    return slot


def build():
    """The scene, and the slots of the cabinet, the drawer and the slider."""
    scene = Scene({"dt": DT, "gravity": [0, 0, -9.8], "contact/d_hat": D_HAT})
    cabinet, drawer = body(scene, "cabinet", CABINET), body(scene, "drawer", DRAWER)
    cabinet.geometry.instances["is_fixed"] = 1
    drawer.geometry.instances["velocity"][0, 1, 3] = -SPEED
    joint = AffineBodyPrismaticJoint().create_geometry(
        [[0, 0, 0.1]], [[0, -1, 0.1]], [cabinet], [0], [drawer], [0], strength_ratios=[1e3]
    )
    slider, _ = scene.objects.create("slider").geometries.create(joint)
    return scene, cabinet, drawer, slider


def check():
    scene, _, drawer, slider = build()
    mass = float(drawer.geometry.meta["mass"][0])
    world = World(Engine("cpu"))
    world.init(scene)
    farthest = impulse = 0.0
    hit = 0
    for frame in range(1, 121):
        world.advance()
        world.retrieve()
        impulse += drawer.geometry.instances["contact/force"][0, 1] * DT
        farthest = max(farthest, float(slider.geometry.edges["distance"][0]))
        if not hit and impulse:
            hit = frame
            assert world.sanity_checker().check() == 0
    rebound = -float(slider.geometry.edges["velocity"][0])
    print(f"hit the rail in frame {hit} after {farthest:.4f} m of {FREE_WAY:.4f} m, went back at {rebound:.4f} m/s")
    print(f"impulse of the contact {impulse:.5f} N·s, change of momentum {mass * (SPEED + rebound):.5f} N·s")
    assert FREE_WAY - D_HAT < farthest < FREE_WAY
    assert abs(impulse / (mass * (SPEED + rebound)) - 1) < 1e-3
    assert 0 <= rebound < SPEED  # bdf1 takes energy out of the bounce


if __name__ == "__main__":
    check()
