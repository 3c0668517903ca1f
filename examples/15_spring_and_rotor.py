"""A carriage on a D6 joint swings on a spring with a motor's rotor geared to it, and carries a welded block along.

The joint leaves x free and locks the other five axes. With masses m of carriage and block, the rotor's inertia a at the
coordinate, and stiffness k of the spring, the carriage swings about its rest with

    ω² = k/(m + a)        x = x₀ cos ωt
"""

from __future__ import annotations

import math

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyD6Joint,
    AffineBodyJointArmature,
    AffineBodyJointSpring,
)

DT, STEPS = 0.005, 200
STIFFNESS, ROTOR, REST = 800.0, 6.0, 0.05  # [N/m], [kg], [m] from where it starts


def build():
    """The scene, the slots of the joint and of the weld."""
    scene = Scene({"dt": DT, "gravity": [0, 0, -9.8], "contact/enable": 0, "joint/exact": 1, "integrator/type": "ctr"})
    slots = {}
    for name, size, place in (
        ("rail", (0.8, 0.05, 0.05), (0, 0, -0.1)), ("carriage", (0.2, 0.2, 0.1), (0, 0, 0)),
        ("block", (0.1, 0.1, 0.1), (0, 0, 0.1)),
    ):  # fmt: skip
        box = trimesh.creation.box(size)
        sc = geometry.trimesh(box.vertices, box.faces)
        AffineBodyConstitution().apply_to(sc, kappa=1e9)
        sc.instances["transform"][0, :3, 3] = place
        sc.instances["is_fixed"] = int(name == "rail")
        slots[name], _ = scene.objects.create(name).geometries.create(sc)

    def ends(left, right):
        return [[0, 0, 0]], [[1, 0, 0]], [slots[left]], [0], [slots[right]], [0], [100.0]

    along = AffineBodyD6Joint.with_free("x")().create_geometry(*ends("rail", "carriage"))
    AffineBodyJointSpring().apply_to(along, STIFFNESS, REST, coordinate="x")
    AffineBodyJointArmature().apply_to(along, ROTOR, coordinate="x")
    along, _ = scene.objects.create("along").geometries.create(along)
    weld = AffineBodyD6Joint().create_geometry(*ends("carriage", "block"))
    weld, _ = scene.objects.create("weld").geometries.create(weld)
    return scene, along, weld


def check():
    scene, along, weld = build()
    world = World(Engine())
    world.init(scene)
    mass = 1000.0 * (0.2 * 0.2 * 0.1 + 0.1**3)
    omega, places, gap = math.sqrt(STIFFNESS / (mass + ROTOR)), [], 0.0
    for _ in range(STEPS):
        world.advance()
        world.retrieve()
        places.append(float(along.geometry.edges["x"][0]))
        gap = max(gap, float(weld.geometry.edges["gap"][0]))
    times = DT * np.arange(1, STEPS + 1)
    off = np.abs(np.array(places) - REST * (1.0 - np.cos(omega * times))).max()
    print(f"swings with ω = {omega:.3f} rad/s; within {1e3 * off:.3f} mm of the law in {STEPS * DT:g} s")
    print(f"the weld opens by at most {gap:.1e} m")
    # ctr is off by (ωh)²/12 of the angle, 1.3e-3 of 8.5 rad; times the amplitude, and twice that
    assert off < 2.0 * REST * omega * times[-1] * (omega * DT) ** 2 / 12.0
    assert gap < 1e-9


if __name__ == "__main__":
    check()
