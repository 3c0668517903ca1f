"""Measures how far joints open under a weight, for several time steps and strengths; the table of docs/concepts.md.

    python docs/scripts/joint_gap.py

Each mechanism is a fixed cube and a second cube of the same mass m that hangs on it by one joint. With K = 2γm the gap
of a joint that resists with K is m g h²/K = g h²/(2γ), and half of that where two terms share the load.
"""

from __future__ import annotations

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyFixedJoint,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodySphericalJoint,
)

__all__ = ["measure", "render"]

STEPS = (0.02, 0.01, 0.004, 0.001)  # s
STRENGTHS = (100.0, 1e4)
_G = 9.8
_KINDS = ("spherical", "fixed", "revolute", "prismatic")


def measure(dt: float, strengths: tuple[float, ...] = STRENGTHS) -> dict[tuple[str, float], float]:
    """Gap [m] of every kind of joint with every strength after the weight has settled."""
    scene = Scene(
        {
            "dt": dt,
            "gravity": [0.0, -_G, 0.0],
            "newton": {"velocity_tol": 1e-7, "transrate_tol": 1e-6},
            "contact": {"enable": 0},
        }
    )
    cube = trimesh.creation.box((0.2, 0.2, 0.2))
    found = {}
    for k, (kind, gamma) in enumerate((kind, gamma) for kind in _KINDS for gamma in strengths):
        shape = geometry.trimesh(cube.vertices, cube.faces)
        AffineBodyConstitution().apply_to(shape, kappa=1e8)
        shape.instances.resize(2)
        shape.instances["transform"][:, :3, 3] = (k, 0.3, 0.0), (k, 0.0, 0.0)
        shape.instances["is_fixed"][0] = 1
        bodies, _ = scene.objects.create("cubes").geometries.create(shape)
        ends = [bodies], [0], [bodies], [1], [gamma]
        joint = {
            "spherical": lambda k=k, ends=ends: AffineBodySphericalJoint().create_geometry([[k, 0.0, 0.0]], *ends),
            "fixed": lambda ends=ends: AffineBodyFixedJoint().create_geometry(*ends),
            "revolute": lambda k=k, ends=ends: AffineBodyRevoluteJoint().create_geometry(
                [[k, 0.0, -0.1]], [[k, 0.0, 0.1]], *ends
            ),
            "prismatic": lambda k=k, ends=ends: AffineBodyPrismaticJoint().create_geometry(
                [[k, 0.0, 0.0]], [[k, 0.0, 1.0]], *ends
            ),
        }[kind]()
        slot, _ = scene.objects.create(kind).geometries.create(joint)
        found[kind, gamma] = slot.geometry
    world = World(Engine("cpu"))
    world.init(scene)
    for _ in range(60):
        world.advance()
    world.retrieve()
    gaps = {}
    for key, joint in found.items():
        elements = joint.edges if joint.edges.size() else joint.vertices
        gaps[key] = float(np.max(elements["gap"]))
    return gaps


def render() -> str:
    """The measurements as a Markdown table."""
    lines = [
        "| dt [s] | γ | g h²/(2γ) [m] | spherical | fixed | revolute | prismatic |",
        "|---|---|---|---|---|---|---|",
    ]
    for dt in STEPS:
        gaps = measure(dt)
        for gamma in STRENGTHS:
            numbers = " | ".join(f"{gaps[kind, gamma]:.2e}" for kind in _KINDS)
            lines.append(f"| {dt:g} | {gamma:g} | {_G * dt * dt / (2 * gamma):.2e} | {numbers} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(render())
