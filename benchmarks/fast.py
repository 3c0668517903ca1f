"""Fast bodies: python benchmarks/fast.py [--triangles 12000 25000] [--speeds 30 100] [--steps 12]

Ten concave meshes, knobbly tori and stars about 0.5 m across, that fly at each other's middle and tumble: in a step
(dt = 0.01 s) they move by as much as they measure, or twice that. Candidates of contact, and with them memory, must
stay in proportion to the triangles, and no step may take for ever. One thread, compiled before.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time

import numpy as np
from scenes import start

from dovetail import Scene, geometry
from dovetail.constitution import AffineBodyConstitution


def grid(nu: int, nv: int) -> np.ndarray:
    """Triangles over a closed grid of nu × nv vertices."""
    i, j = (x.reshape(-1) for x in np.meshgrid(np.arange(nu), np.arange(nv), indexing="ij"))
    a, b, c, d = (((i + di) % nu) * nv + (j + dj) % nv for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1)))
    return np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def knobbly_torus(triangles: int, arms: int) -> tuple[np.ndarray, np.ndarray]:
    """A torus with knobs inside and outside; its ring swings in and out `arms` times, like a star."""
    nv = int(np.sqrt(triangles / 6))
    nu = triangles // (2 * nv)
    u, v = np.meshgrid(2 * np.pi * np.arange(nu) / nu, 2 * np.pi * np.arange(nv) / nv, indexing="ij")
    ring = 0.17 * (1.0 + 0.25 * np.cos(arms * u))
    tube = 0.055 * (1.0 + 0.3 * np.cos(4 * arms * u) * np.cos(5 * v))
    points = [(ring + tube * np.cos(v)) * np.cos(u), (ring + tube * np.cos(v)) * np.sin(u), tube * np.sin(v)]
    return np.stack(points, axis=2).reshape(-1, 3), grid(nu, nv)


def swarm(triangles: tuple[int, int], speed: float, seed: int = 0) -> Scene:
    """Ten of them on a sphere of 1 m, at most a little off their way to its middle."""
    rng = np.random.default_rng(seed)
    scene = Scene({"dt": 0.01, "gravity": [0.0, 0.0, 0.0], "contact/d_hat": 1e-3})
    scene.contact_tabular.default_model(0.3, -1.0)
    for k in range(10):
        height = 0.9 - 0.2 * k
        turn = k * np.pi * (3.0 - np.sqrt(5.0))
        place = np.array([np.sqrt(1 - height**2) * np.cos(turn), height, np.sqrt(1 - height**2) * np.sin(turn)])
        mesh = geometry.trimesh(*knobbly_torus(int(np.linspace(*triangles, 10)[k]), 3 + k % 4))
        geometry.label_surface(mesh)
        AffineBodyConstitution().apply_to(mesh, 1e8)
        R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        R *= np.sign(np.linalg.det(R))
        w = 10.0 * rng.normal(size=3)
        rate = np.zeros((4, 4))
        rate[:3, :3] = np.cross(w, R.T).T
        rate[:3, 3] = -speed * (place + 0.05 * rng.normal(size=3))
        mesh.instances["transform"][0, :3, :3], mesh.instances["transform"][0, :3, 3] = R, place
        mesh.instances["velocity"] = rate[None]
        scene.objects.create(f"body {k}").geometries.create(mesh)
    return scene


def run(triangles: tuple[int, int], speed: float, steps: int, workspace: str) -> None:
    """Print what some steps of a swarm take."""
    begin = time.perf_counter()
    world = start(swarm(triangles, speed), workspace)
    ready = time.perf_counter() - begin
    times, reports = [], []
    for _ in range(steps):
        begin = time.perf_counter()
        world.advance()
        times.append(time.perf_counter() - begin)
        reports.append(world.report)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{speed:5.0f} m/s {triangles[0]:6d} – {triangles[1]:<6d} {ready:7.1f} {np.mean(times):8.2f} {max(times):8.2f} "
        f"{max(r.iterations for r in reports):6d} {max(r.detections for r in reports):6d} "
        f"{max(r.candidates for r in reports):11d} {sum(not r.converged for r in reports):5d} {memory:8.0f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--triangles", type=int, nargs=2, default=(12000, 25000))
    parser.add_argument("--speeds", type=float, nargs="+", default=(30.0, 100.0))
    parser.add_argument("--steps", type=int, default=12)
    given = parser.parse_args()
    print("speed       triangles each   init s   s/step      max  iter.  looks  candidates  open  peak MB")
    with tempfile.TemporaryDirectory() as workspace:
        for speed in given.speeds:
            run(tuple(given.triangles), speed, given.steps, workspace)


if __name__ == "__main__":
    main()
