"""Measures how much spin the integrators lose in a second; the table of docs/choosing.md.

    python docs/scripts/spin_decay.py

A cube spins freely about an axis through its centre, at ω₀ in the beginning. One step of bdf1 turns an angle α = ωh
into α − α³ + …, hence dω/dt = −ω³h and ω(t) = ω₀/√(1 + 2ω₀²ht).
"""

from __future__ import annotations

import math

import numpy as np
import trimesh

from dovetail import Engine, Scene, World, geometry
from dovetail.constitution import AffineBodyConstitution

__all__ = ["measure", "render"]

_CASES = ((2.0, 0.01), (10.0, 0.01), (10.0, 0.001))
_DURATION = 1.0  # s


def measure(integrator: str, speed: float, dt: float) -> float:
    """Speed [rad/s] over the last step of a second, for a cube that starts with `speed`."""
    scene = Scene(
        {
            "dt": dt,
            "gravity": [0.0, 0.0, 0.0],
            "integrator": {"type": integrator, "bdf2_start": "bdf1"},
            "newton": {"velocity_tol": 1e-7, "transrate_tol": 1e-6},
            "contact": {"enable": 0},
        }
    )
    box = trimesh.creation.box((0.2, 0.2, 0.2))
    cube = geometry.trimesh(box.vertices, box.faces)
    AffineBodyConstitution().apply_to(cube, kappa=1e8)
    cube.instances["velocity"][0, :2, :2] = [[0.0, -speed], [speed, 0.0]]
    slot, _ = scene.objects.create("cube").geometries.create(cube)
    world = World(Engine("cpu"))
    world.init(scene)
    frames = round(_DURATION / dt)
    angles = []
    for frame in range(frames):
        world.advance()
        if frame >= frames - 2:
            world.retrieve()
            A = slot.geometry.instances["transform"][0]
            angles.append(math.atan2(A[1, 0], A[0, 0]))
    turned = np.mod(angles[1] - angles[0] + math.pi, 2 * math.pi) - math.pi
    return float(turned / dt)


def render() -> str:
    """The measurements as a Markdown table."""
    lines = ["| ω₀ [rad/s] | dt [s] | bdf1 | ω₀/√(1 + 2ω₀²h·1 s) | bdf2 | ctr |", "|---|---|---|---|---|---|"]
    for speed, dt in _CASES:
        closed = speed / math.sqrt(1.0 + 2.0 * speed * speed * dt * _DURATION)
        first, second, third = (measure(method, speed, dt) for method in ("bdf1", "bdf2", "ctr"))
        lines.append(f"| {speed:g} | {dt:g} | {first:.2f} | {closed:.2f} | {second:.2f} | {third:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(render())
