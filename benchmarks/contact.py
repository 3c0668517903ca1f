"""Contact: python benchmarks/contact.py

Piles of cubes (0.1 m, 0.12 m apart, μ = 0.5, d_hat = 1 mm, dt = 0.01 s), straight and each turned by 0.15 rad about a
random axis; a tumbling heap; and sparse fields of falling cubes, whose cost should grow little faster than they do.
One thread, mean over the frames, `advance` and `retrieve` included, compiled before.
"""

from __future__ import annotations

import tempfile
import time

import numpy as np
from scenes import CUBE_TRIANGLES, CUBE_VERTICES, start

from dovetail import AngleAxis, Scene, Transform, geometry
from dovetail.constitution import AffineBodyConstitution

SIDE = 0.1


def cubes(positions, turn: float = 0.0, gravity=(0.0, -9.8, 0.0), seed: int = 0) -> Scene:
    scene = Scene({"gravity": list(gravity), "contact/d_hat": 1e-3})
    scene.contact_tabular.default_model(0.5, 1e10)
    mesh = geometry.trimesh(CUBE_VERTICES * SIDE, CUBE_TRIANGLES)
    geometry.label_surface(mesh)
    AffineBodyConstitution().apply_to(mesh, 1e8)
    mesh.instances.resize(len(positions))
    rng = np.random.default_rng(seed)
    for transform, position in zip(mesh.instances["transform"], positions, strict=True):
        pose = Transform.Identity().translate(position)
        if turn:
            axis = rng.normal(size=3)
            pose.rotate(AngleAxis(turn, axis / np.linalg.norm(axis)))
        transform[:] = pose.matrix()
    scene.objects.create("cubes").geometries.create(mesh)
    scene.objects.create("ground").geometries.create(geometry.ground(0.0))
    return scene


def pile(n: int, turn: float = 0.0) -> Scene:
    grid = [(0.12 * x, 0.15 + 0.12 * y, 0.12 * z) for y in range(n) for x in range(n) for z in range(n)]
    return cubes(grid, turn)


def heap(n: int) -> Scene:
    """Cubes turned at random that fall from a loose grid and tumble."""
    grid = [(0.2 * x, 0.2 + 0.2 * y, 0.2 * z) for y in range(n) for x in range(n) for z in range(n)]
    return cubes(grid, turn=1.0)


def field(count: int) -> Scene:
    """Cubes that fall on a plane, far from each other."""
    side = int(np.ceil(np.sqrt(count)))
    return cubes([(0.5 * (k % side), 0.1 + 0.01 * (k % 7), 0.5 * (k // side)) for k in range(count)], turn=0.3)


def run(scene: Scene, frames: int, workspace: str) -> tuple[float, float, float]:
    """Mean and median milliseconds a step, Newton iterations a step."""
    world = start(scene, workspace)
    times, iterations = [], 0
    for _ in range(frames):
        begin = time.perf_counter()
        world.advance()
        world.retrieve()
        times.append(time.perf_counter() - begin)
        iterations += world.report.iterations
    return 1e3 * float(np.mean(times)), 1e3 * float(np.median(times)), iterations / frames


def main() -> None:
    with tempfile.TemporaryDirectory() as workspace:
        run(pile(2, 0.15), 60, workspace)  # compile
        print("scene           cubes  frames   ms/step mean   median   iterations")
        scenes = [
            ("pile 3", pile(3), 200),
            ("pile 3 turned", pile(3, 0.15), 200),
            ("pile 5", pile(5), 200),
            ("pile 5 turned", pile(5, 0.15), 200),
            ("pile 10", pile(10), 200),
            ("heap 5", heap(5), 200),
        ]
        for name, scene, frames in scenes:
            cubes_in = next(iter(scene.geometries))[0].geometry.instances.size()
            mean, median, iterations = run(scene, frames, workspace)
            print(f"{name:14s} {cubes_in:6d} {frames:7d} {mean:14.3f} {median:8.3f} {iterations:12.2f}", flush=True)
        counts, costs = (100, 1000, 10000), []
        for count in counts:
            mean, median, iterations = run(field(count), 40, workspace)
            costs.append(mean)
            print(f"{'field':14s} {count:6d} {40:7d} {mean:14.3f} {median:8.3f} {iterations:12.2f}", flush=True)
        exponent = np.polyfit(np.log(counts), np.log(costs), 1)[0]
        print(f"cost of a field grows like n^{exponent:.2f}")


if __name__ == "__main__":
    main()
