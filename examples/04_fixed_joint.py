"""Three blocks welded to a wall, one after the other, make a cantilever.

The weld at the wall carries the weight of all three and its moment; the others carry what hangs on them.
"""

from __future__ import annotations

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import AffineBodyConstitution, AffineBodyFixedJoint

GRAVITY = 9.8


def build():
    """The scene, the slot of the blocks (the first is the wall) and the slot of the welds."""
    scene = Scene({"gravity": [0, 0, -GRAVITY], "contact/enable": 0})
    box = trimesh.creation.box((0.2, 0.2, 0.2))
    sc = geometry.trimesh(box.vertices, box.faces)
    AffineBodyConstitution().apply_to(sc, kappa=1e8, mass_density=1000.0)
    sc.instances.resize(4)
    sc.instances["transform"][:, 0, 3] = [0.0, 0.25, 0.5, 0.75]
    sc.instances["is_fixed"] = [1, 0, 0, 0]
    blocks, _ = scene.objects.create("blocks").geometries.create(sc)
    # each weld sits half-way between the origins of its bodies
    joint = AffineBodyFixedJoint().create_geometry([blocks] * 3, [0, 1, 2], [blocks] * 3, [1, 2, 3], [1e4] * 3)
    welds, _ = scene.objects.create("welds").geometries.create(joint)
    return scene, blocks, welds


def check():
    scene, blocks, welds = build()
    world = World(Engine("cpu"))
    world.init(scene)
    for _ in range(100):
        world.advance()
    world.retrieve()
    weight = GRAVITY * float(blocks.geometry.meta["mass"][0])
    force = welds.geometry.vertices["reaction/force"]
    torque = welds.geometry.vertices["reaction/torque"]
    sag = -float(blocks.geometry.transforms.values[3, 2, 3])
    print(f"welds lift with {np.round(force[:, 2], 3)} N and turn by {np.round(torque[:, 1], 3)} N·m")
    print(f"the tip sags by {1e6 * sag:.1f} µm")
    assert np.abs(force[:, 2] / weight - [3, 2, 1]).max() < 1e-5
    # weights at their distances from each weld, 0.125 m, 0.375 m, 0.625 m
    lever = np.array([0.125 + 0.375 + 0.625, 0.125 + 0.375, 0.125])
    assert np.abs(-torque[:, 1] / weight / lever - 1).max() < 1e-4
    assert 0 < sag < 1e-4


if __name__ == "__main__":
    check()
