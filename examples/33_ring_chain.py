"""A chain of rigid rings: no joint holds it together, each ring hangs in the one above by contact.

Every second ring is turned by a quarter, the top one is fixed. The chain falls into tension, swings and calms down;
then the top ring carries the weight of all others, and the centres are 2(R − r) apart, less the gaps.
"""

from __future__ import annotations

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import AffineBodyConstitution

GRAVITY, DT, D_HAT = 9.8, 0.01, 1e-3
RINGS, R, r = 6, 0.04, 0.008  # rings, radius of a ring and of its wire [m]


def build():
    """The scene, and the slot of the rings."""
    scene = Scene({"dt": DT, "gravity": [0, 0, -GRAVITY], "contact/d_hat": D_HAT})
    torus = trimesh.creation.torus(R, r, major_sections=24, minor_sections=8)
    sc = geometry.trimesh(torus.vertices, torus.faces)
    geometry.label_surface(sc)
    AffineBodyConstitution().apply_to(sc, kappa=1e8, mass_density=2000.0)
    sc.instances.resize(RINGS)
    upright = {0: [[1, 0, 0], [0, 0, -1], [0, 1, 0]], 1: [[0, 0, 1], [1, 0, 0], [0, 1, 0]]}
    for k in range(RINGS):
        T = sc.instances["transform"][k]
        T[:3, :3] = upright[k % 2]
        T[2, 3] = -k * (2 * (R - r) - 0.008)  # slack
        T[0, 3] = 0.003 * k
    sc.instances["is_fixed"][0] = 1
    slot, _ = scene.objects.create("rings").geometries.create(sc)
    return scene, slot


def check():
    scene, rings = build()
    world = World(Engine("cpu"))
    world.init(scene)
    iterations = 0
    for frame in range(1, 301):
        world.advance()
        iterations += world.report.iterations
        if frame % 30 == 0:
            world.retrieve()
            assert world.sanity_checker().check() == 0
    weight = GRAVITY * float(rings.geometry.meta["mass"][0])
    pull = -rings.geometry.instances["contact/force"][0, 2]
    apart = -np.diff(rings.geometry.transforms.values[:, 2, 3])
    contacts = world.contacts()
    energies = world.energies()
    print(f"{len(contacts)} contacts hold {RINGS} rings, {iterations / world.frame():.1f} Newton iterations a frame")
    print(f"the chain pulls the top ring with {pull:.4f} N, {pull / weight:.4f} times the weight of a ring")
    print(f"centres {1e3 * apart.min():.2f} to {1e3 * apart.max():.2f} mm apart, {2e3 * (R - r):.2f} mm if in touch")
    print(f"friction has turned {1e3 * energies['friction_dissipated']:.2f} mJ into heat")
    # it still swings: 0.05 m/s at 0.3 m from the top add v²/(g l) = 1e-3 of the weight
    assert abs(pull / (weight * (RINGS - 1)) - 1) < 5e-3
    # the wire is an octagonal prism, up to 1 − cos(π/8) thinner than its radius r where two of them meet
    assert (apart < 2 * (R - r) + 2 * r * (1 - np.cos(np.pi / 8))).all()
    assert (apart > 2 * (R - r) - 2 * D_HAT).all()
    assert contacts.gap.min() > 0


if __name__ == "__main__":
    check()
