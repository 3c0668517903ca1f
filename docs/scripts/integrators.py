"""Measures the integrators on four problems; the table of docs/integrators.md.

    python docs/scripts/integrators.py

All with dt = 0.01 s. The truth about the chain was computed with rigid links on exact hinges at a small step; the other
three have closed forms.
"""

from __future__ import annotations

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
)

__all__ = ["METHODS", "chain_error", "pendulum_loss", "render", "spin_left", "torque_error"]

METHODS = (("bdf1", "bdf1"), ("bdf2", "libuipc"), ("bdf2", "bdf1"), ("ctr", "bdf1"))
_TRUE_TIP = (-0.2631696, 0.0, -0.8619318)
_GRAVITY = 9.8


def _scene(method: tuple[str, str], gravity: float = 0.0) -> Scene:
    config = {"dt": 0.01, "gravity": [0.0, 0.0, -gravity], "contact": {"enable": 0}}
    return Scene({**config, "integrator": {"type": method[0], "bdf2_start": method[1]}})


def _boxes(scene: Scene, size, centres, name: str, fixed: bool = False):
    box = trimesh.creation.box(size)
    mesh = geometry.trimesh(box.vertices, box.faces)
    AffineBodyConstitution().apply_to(mesh, kappa=1e8)
    mesh.instances.resize(len(centres))
    mesh.instances["transform"][:, :3, 3] = centres
    mesh.instances["is_fixed"] = int(fixed)
    return scene.objects.create(name).geometries.create(mesh)[0]


def _hinge_about_y(scene: Scene, left, right, points, gamma: float):
    """Hinges between bodies (slot, instance) at points, with ends 1 cm to both sides."""
    ends = np.asarray(points, float)
    half = np.array([0.0, 0.01, 0.0])
    slots = [slot for slot, _ in left], [slot for slot, _ in right]
    which = [k for _, k in left], [k for _, k in right]
    joint = AffineBodyRevoluteJoint().create_geometry(
        ends - half, ends + half, slots[0], which[0], slots[1], which[1], np.full(len(ends), gamma)
    )
    return joint


def _start(scene: Scene) -> World:
    world = World(Engine("cpu"))
    world.init(scene)
    return world


def chain_error(method: tuple[str, str]) -> float:
    """Distance [m] of the tip of ten falling links from the truth, after 0.5 s."""
    scene, size = _scene(method, _GRAVITY), (0.1, 0.02, 0.02)
    base = _boxes(scene, size, [(-0.05, 0, 0)], "base", fixed=True)
    links = _boxes(scene, size, [(0.1 * k + 0.05, 0, 0) for k in range(10)], "links")
    bodies = [(links, k) for k in range(10)]
    pins = [(0.1 * k, 0, 0) for k in range(10)]
    scene.objects.create("hinges").geometries.create(
        _hinge_about_y(scene, [(base, 0), *bodies[:-1]], bodies, pins, np.inf)
    )
    world = _start(scene)
    for _ in range(50):
        world.advance()
    world.retrieve()
    T = links.geometry.instances["transform"][9]
    return float(np.linalg.norm(T[:3, :3] @ (0.05, 0, 0) + T[:3, 3] - _TRUE_TIP))


def spin_left(method: tuple[str, str]) -> float:
    """Share of its energy that a free box at 5 rad/s has after 5 s."""
    scene = _scene(method)
    box = _boxes(scene, (0.5, 0.2, 0.3), [(0, 0, 0)], "box")
    box.geometry.instances["velocity"][0, :3, :3] = [[0, 0, 5.0], [0, 0, 0], [-5.0, 0, 0]]
    world = _start(scene)
    begun = world.energies()["kinetic"]
    for _ in range(500):
        world.advance()
    return world.energies()["kinetic"] / begun


def pendulum_loss(method: tuple[str, str]) -> float:
    """Share of its energy that a rod of 1 m, let go horizontally, has lost after 20 s."""
    scene = _scene(method, _GRAVITY)
    base = _boxes(scene, (0.1, 0.1, 0.1), [(-0.05, 0, 0)], "base", fixed=True)
    rod = _boxes(scene, (1.0, 0.05, 0.05), [(0.5, 0, 0)], "rod")
    scene.objects.create("hinge").geometries.create(
        _hinge_about_y(scene, [(base, 0)], [(rod, 0)], [(0, 0, 0)], np.inf)
    )
    world = _start(scene)
    for _ in range(2000):
        world.advance()
    found = world.energies()
    depth = 2.5 * _GRAVITY * 0.5  # 2.5 kg, from horizontal to the lowest point
    return -(found["kinetic"] + found["gravity"]) / depth


def torque_error(method: tuple[str, str]) -> float:
    """Error [rad] of a wheel of 2 kg·m² after half a second of +20 N·m and half a second of −20 N·m, 2.5 rad in all."""
    scene = _scene(method)
    base = _boxes(scene, (0.1, 0.1, 0.1), [(0, 0, 0)], "base", fixed=True)
    wheel = AffineBodyConstitution().create_proxy(1e9, 1.0, np.zeros(3), 2.0 * np.eye(3), 1.0)
    right, _ = scene.objects.create("wheel").geometries.create(wheel)
    joint = _hinge_about_y(scene, [(base, 0)], [(right, 0)], [(0, 0, 0)], np.inf)
    AffineBodyRevoluteJointExternalForce().apply_to(joint, 20.0)
    joint.edges["external_torque/is_constrained"] = 1
    hinge, _ = scene.objects.create("hinge").geometries.create(joint)
    world = _start(scene)
    for frame in range(100):
        hinge.geometry.edges["external_torque"] = 20.0 if frame < 50 else -20.0
        world.advance()
    world.retrieve()
    return abs(float(hinge.geometry.edges["angle/multi_turn"][0]) - 2.5)


def render() -> str:
    """The measurements as a Markdown table."""
    lines = [
        "| integrator | tip of ten falling links, 0.5 s: error | spin of a free box, 5 s: energy left | "
        "swinging rod, 20 s: energy lost | torque of ±20 N·m: error |",
        "|---|---|---|---|---|",
    ]
    for method in METHODS:
        name = f"`{method[0]}`" + (f", `bdf2_start` = {method[1]}" if method[0] == "bdf2" else "")
        lines.append(
            f"| {name} | {1e3 * chain_error(method):.0f} mm | {100 * spin_left(method):.1f} % | "
            f"{100 * pendulum_loss(method):.1f} % | {torque_error(method):.1g} rad |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(render())
