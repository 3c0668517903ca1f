"""A rod that swings for ten seconds under three integrators: how much of its energy each of them keeps.

Let go horizontally, the rod should come back to the horizontal every 0.967 s. Implicit Euler (bdf1) loses the motion
within seconds, the backward difference (bdf2) a per cent of it, the consistent trapezoidal rule (ctr) next to nothing,
at the same time step.
"""

from __future__ import annotations

import math

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import AffineBodyConstitution, AffineBodyRevoluteJoint

DT, DURATION, GRAVITY = 0.01, 10.0, 9.81


def build(integrator="ctr"):
    """The scene and the slots of the rod and its hinge."""
    settings = {"dt": DT, "gravity": [0, -GRAVITY, 0], "contact/enable": 0}  # the rod ends within the post
    scene = Scene({**settings, "integrator/type": integrator, "integrator/bdf2_start": "bdf1"})
    slots = []
    for name, size, x in (("post", (0.1, 0.1, 0.1), 0.0), ("rod", (1.0, 0.02, 0.02), 0.5)):
        box = trimesh.creation.box(size)
        sc = geometry.trimesh(box.vertices, box.faces)
        AffineBodyConstitution().apply_to(sc, kappa=1e9, mass_density=2700.0)
        sc.instances["transform"][0, 0, 3] = x
        sc.instances["is_fixed"] = int(name == "post")
        slots.append(scene.objects.create(name).geometries.create(sc)[0])
    joint = AffineBodyRevoluteJoint().create_geometry(
        [[0, 0, -0.05]], [[0, 0, 0.05]], slots[:1], [0], slots[1:], [0], [math.inf]
    )
    hinge, _ = scene.objects.create("hinge").geometries.create(joint)
    return scene, slots[1], hinge


def swing(integrator):
    """Angles of the rod [rad] in every frame, and the share of its energy that is left at the end."""
    scene, rod, hinge = build(integrator)
    world = World(Engine("cpu"))
    world.init(scene)
    angles = []
    for _ in range(round(DURATION / DT)):
        world.advance()
        world.retrieve()
        angles.append(float(hinge.geometry.edges["angle"][0]))
    found = world.energies()
    depth = float(rod.geometry.meta["mass"][0]) * GRAVITY * 0.5
    return np.array(angles), 1.0 + (found["kinetic"] + found["gravity"]) / depth


def check():
    left = {}
    for integrator in ("bdf1", "bdf2", "ctr"):
        angles, left[integrator] = swing(integrator)
        # turning points at the horizontal: where the angle is largest in size, 180° apart
        turns = np.flatnonzero(np.diff(np.sign(np.diff(angles)))) + 1
        half = DT * np.diff(turns[-3:]).mean()
        print(f"{integrator}: {100 * left[integrator]:6.2f} % of the energy, half a swing takes {half:.3f} s")
    assert left["bdf1"] < 0.2
    assert 0.97 < left["bdf2"] < 0.995
    assert abs(left["ctr"] - 1.0) < 1e-3
    assert abs(half - 1.933334854373 / 2) < DT  # of the uniform rod, from horizontal


if __name__ == "__main__":
    check()
