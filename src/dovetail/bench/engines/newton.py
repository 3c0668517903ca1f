"""Newton on Warp's CPU device, with its XPBD solver: bodies in maximal coordinates, joints and contacts iterated."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.bench.engines.quaternion import matrices, xyzw
from dovetail.bench.scene import DENSITY, GRAVITY, BenchScene
from dovetail.typing import Array

__all__ = ["Adapter"]


class Adapter:
    """Joints that close loops need nothing special here."""

    def __init__(self, scene: BenchScene, substeps: int = 1, iterations: int = 10) -> None:
        import newton
        import warp

        warp.config.quiet = True
        self._scene, self._substeps, self._warp = scene, substeps, warp
        builder = newton.ModelBuilder(up_axis=newton.Axis.Z, gravity=(0.0, 0.0, -GRAVITY))
        self._links = []
        for b in range(scene.count):
            T, moves = scene.transform[b], float(scene.fixed[b] == 0)
            link = builder.add_link(
                xform=warp.transform(T[:3, 3].tolist(), xyzw(T[:3, :3])), mass=moves * scene.mass[b],
                inertia=warp.mat33(*(moves * scene.inertia[b]).reshape(-1).tolist()), lock_inertia=True,
                is_kinematic=bool(scene.fixed[b]),
            )  # fmt: skip
            self._links.append(link)
        self._joints(builder, warp)
        if scene.contact:
            self._shapes(builder, newton)
        self._model = builder.finalize(device="cpu", skip_all_validations=True)
        self._solver = newton.solvers.SolverXPBD(self._model, iterations=iterations)
        self._now, self._next = self._model.state(), self._model.state()
        self._control = self._model.control()
        self._pipeline = newton.CollisionPipeline(self._model) if scene.contact else None
        self._contacts = None if self._pipeline is None else self._pipeline.contacts()

    def _joints(self, builder: Any, warp: Any) -> None:
        scene, joints = self._scene, self._scene.joints
        held: set[int] = set()
        if joints is not None:
            for k in range(len(joints.left)):
                left, right = int(joints.left[k]), int(joints.right[k])
                frames = []
                for b in (left, right):
                    T = scene.transform[b] if b >= 0 else np.eye(4)
                    place = T[:3, :3].T @ (joints.point[k] - T[:3, 3])
                    frames.append(warp.transform(place.tolist(), xyzw(T[:3, :3].T)))
                parent = self._links[left] if left >= 0 else -1
                where = {"parent_xform": frames[0], "child_xform": frames[1]}
                if joints.kind == "revolute":
                    builder.add_joint_revolute(parent, self._links[right], axis=joints.axis.tolist(), **where)
                else:
                    builder.add_joint_ball(parent, self._links[right], **where)
                held |= {left, right}
        for b in range(scene.count):
            if b not in held and not scene.fixed[b]:
                builder.add_joint_free(self._links[b])

    def _shapes(self, builder: Any, newton: Any) -> None:
        scene = self._scene
        config = newton.ModelBuilder.ShapeConfig(density=DENSITY, mu=scene.friction)
        for b in range(scene.count):
            shape = scene.shapes[scene.shape_of[b]]
            if shape.box is not None:
                hx, hy, hz = (0.5 * shape.box).tolist()
                builder.add_shape_box(self._links[b], hx=hx, hy=hy, hz=hz, cfg=config)
                continue
            for piece in shape.pieces:
                mesh = newton.Mesh(*_hull(shape.vertices[piece]))
                builder.add_shape_convex_hull(self._links[b], mesh=mesh, cfg=config)
        builder.add_ground_plane(cfg=config)

    def step(self) -> None:
        for _ in range(self._substeps):
            self._now.clear_forces()
            if self._pipeline is not None:
                self._pipeline.collide(self._now, self._contacts)
            self._solver.step(self._now, self._next, self._control, self._contacts, self._scene.dt / self._substeps)
            self._now, self._next = self._next, self._now

    def poses(self) -> Array:
        found = self._now.body_q.numpy()[self._links]
        return np.concatenate([matrices(found[:, 3:]), found[:, :3, None].astype(float)], axis=2)


def _hull(points: Array) -> tuple[Array, Array]:
    """Vertices and outward triangles, one flat list, of a convex piece."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    centre = points.mean(axis=0)
    triangles = []
    for a, b, c in hull.simplices.tolist():
        normal = np.cross(points[b] - points[a], points[c] - points[a])
        triangles += [a, b, c] if normal @ (points[a] - centre) > 0 else [a, c, b]
    return points.astype(np.float32), np.array(triangles, np.int32)
