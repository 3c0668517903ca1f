"""dovetail as one meets it first: a `Sim` with its defaults, exact joints and ctr."""

from __future__ import annotations

import numpy as np

from dovetail import Sim
from dovetail.bench.scene import DENSITY, GRAVITY, BenchScene
from dovetail.typing import Array

__all__ = ["Adapter"]


class Adapter:
    """A Sim on one thread, as all engines."""

    def __init__(self, scene: BenchScene) -> None:
        self._sim = sim = Sim(
            scene.dt, (0.0, 0.0, -GRAVITY), friction=scene.friction, contact=scene.contact, threads=1
        )  # fmt: skip
        self._bodies = []
        for s, T, fixed in zip(scene.shape_of.tolist(), scene.transform, scene.fixed.tolist(), strict=True):
            shape = scene.shapes[s]
            mesh = shape.vertices, shape.triangles
            body = sim.mesh(mesh, pos=T[:3, 3], rot=T[:3, :3], density=DENSITY, fixed=bool(fixed))
            self._bodies.append(body)
        if scene.contact:
            sim.ground()
        if scene.joints is not None:
            self._join(scene)
        assert sim.world.is_valid()

    def _join(self, scene: BenchScene) -> None:
        joints = scene.joints
        assert joints is not None
        for a, b, point in zip(joints.left.tolist(), joints.right.tolist(), joints.point, strict=True):
            left, right = self._bodies[a] if a >= 0 else None, self._bodies[b]
            if joints.kind == "spherical":
                self._sim.spherical(left, right, point)
            else:
                self._sim.revolute(left, right, point, joints.axis)

    def step(self) -> None:
        self._sim.step()

    def poses(self) -> Array:
        return np.stack([body.transform[:3] for body in self._bodies])
