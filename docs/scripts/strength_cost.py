"""Prints Newton iterations a step and the largest gap of a falling chain for several joint strengths and stiffnesses.

python docs/scripts/strength_cost.py
"""

from __future__ import annotations

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import AffineBodyConstitution, AffineBodyRevoluteJoint

__all__ = ["fall"]


def fall(gamma: float, kappa: float, links: int = 10, frames: int = 100) -> tuple[float, float]:
    """Mean Newton iterations a step, and largest gap [m], of ten hinged links that fall from the horizontal."""
    scene = Scene({"dt": 0.01, "gravity": [0.0, 0.0, -9.8], "contact": {"enable": 0}})  # links touch
    box = trimesh.creation.box((0.1, 0.02, 0.02))
    link = geometry.trimesh(box.vertices, box.faces)
    AffineBodyConstitution().apply_to(link, kappa=kappa)
    link.instances.resize(links + 1)
    link.instances["transform"][:, 0, 3] = 0.1 * np.arange(-1, links) + 0.05
    link.instances["is_fixed"][0] = 1
    slot, _ = scene.objects.create("links").geometries.create(link)
    ends = np.zeros((2, links, 3))
    ends[:, :, 0] = 0.1 * np.arange(links)
    ends[0, :, 1], ends[1, :, 1] = -0.01, 0.01
    left = np.arange(links)
    joint = AffineBodyRevoluteJoint().create_geometry(
        ends[0], ends[1], [slot] * links, left, [slot] * links, left + 1, gamma
    )
    hinges, _ = scene.objects.create("hinges").geometries.create(joint)
    world = World(Engine("cpu"))
    world.init(scene)
    iterations, gap = 0, 0.0
    for _ in range(frames):
        world.advance()
        world.retrieve()
        assert world.report is not None
        iterations += world.report.iterations
        gap = max(gap, float(hinges.geometry.edges["gap"].max()))
    return iterations / frames, gap


if __name__ == "__main__":
    for gamma, kappa in ((1e2, 1e8), (1e3, 1e8), (1e4, 1e8), (1e6, 1e8), (1e2, 1e6), (1e2, 1e10)):
        iterations, gap = fall(gamma, kappa)
        print(f"γ = {gamma:.0e}, κ = {kappa:.0e}: {iterations:.1f} iterations a step, largest gap {gap:.1e} m")
