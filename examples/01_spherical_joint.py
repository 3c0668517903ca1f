"""A conical pendulum: a cube on a ball joint that circles at constant height.

A cube whose centre is L from the joint circles at the angle α from the vertical if ω² = g/(L cos α); the joint then
pulls with m g/cos α.
"""

from __future__ import annotations

import math

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import AffineBodyConstitution, AffineBodySphericalJoint

GRAVITY, LENGTH, SLANT = 9.8, 1.0, math.radians(30)
OMEGA = math.sqrt(GRAVITY / (LENGTH * math.cos(SLANT)))
START = LENGTH * np.array([math.sin(SLANT), 0.0, -math.cos(SLANT)])


def cube(name, scene, position, fixed=False):
    """A cube of 0.1 m and 1 kg; its slot in the scene."""
    box = trimesh.creation.box((0.1, 0.1, 0.1))
    sc = geometry.trimesh(box.vertices, box.faces)
    AffineBodyConstitution().apply_to(sc, kappa=1e8, mass_density=1000.0)
    sc.instances["transform"][0, :3, 3] = position
    sc.instances["is_fixed"] = int(fixed)
    slot, _ = scene.objects.create(name).geometries.create(sc)
    return slot


def build():
    """The scene, the slot of the cube and the slot of the joint."""
    scene = Scene({"dt": 0.005, "gravity": [0, 0, -GRAVITY], "contact/enable": 0})
    scene.config["integrator/type"] = "bdf2"
    scene.config["integrator/bdf2_start"] = "bdf1"
    hook = cube("hook", scene, (0, 0, 0), fixed=True)
    bob = cube("bob", scene, START)
    # the whole body turns about the vertical: rate of A is [ω]×, and its origin moves with ω × r
    rate = bob.geometry.instances["velocity"][0]
    rate[:3, :3] = [[0, -OMEGA, 0], [OMEGA, 0, 0], [0, 0, 0]]
    rate[:3, 3] = np.cross((0, 0, OMEGA), START)
    joint = AffineBodySphericalJoint().create_geometry([[0, 0, 0]], [hook], [0], [bob], [0], [1e3])
    socket, _ = scene.objects.create("socket").geometries.create(joint)
    return scene, bob, socket


def check():
    scene, bob, socket = build()
    world = World(Engine("cpu"))
    world.init(scene)
    frames = 400
    heights = []
    for _ in range(frames):
        world.advance()
        world.retrieve()
        heights.append(bob.geometry.transforms.values[0, 2, 3])
    x, y, _ = bob.geometry.transforms.values[0, :3, 3]
    turned = math.atan2(y, x) % (2 * math.pi)
    expected = (OMEGA * frames * 0.005) % (2 * math.pi)
    pull = np.linalg.norm(socket.geometry.vertices["reaction/force"][0])
    print(f"height {min(heights):.4f} to {max(heights):.4f} m (closed form {START[2]:.4f} m)")
    print(f"turned by {turned:.3f} rad (closed form {expected:.3f} rad), joint pulls with {pull:.3f} N")
    # second order in ω h = 0.017: the lag in two seconds is some 1e-3
    assert np.abs(np.array(heights) - START[2]).max() < 2e-3
    assert abs(turned - expected) < 5e-3
    assert abs(pull / (GRAVITY / math.cos(SLANT)) - 1) < 5e-3
    assert socket.geometry.vertices["gap"][0] < 1e-6


if __name__ == "__main__":
    check()
