"""dovetail as libuipc's scripts use it: a Scene with the defaults that it has there."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

from dovetail import Engine, Scene, World, geometry
from dovetail.bench.scene import DENSITY, GRAVITY, BenchScene
from dovetail.constitution import AffineBodyConstitution, AffineBodyRevoluteJoint, AffineBodySphericalJoint
from dovetail.typing import Array, Indices

__all__ = ["Adapter", "describe"]

_D_HAT = 1e-3  # m


def describe(bench: BenchScene, strength_ratio: float = 100.0) -> tuple[Scene, list[Any]]:
    """The scene in dovetail's terms, and the slots of its shapes."""
    scene = Scene(
        {
            "dt": bench.dt,
            "gravity": [0.0, 0.0, -GRAVITY],
            "contact/enable": int(bench.contact),
            "contact/d_hat": _D_HAT,
            "threads/count": 1,
        }
    )
    scene.contact_tabular.default_model(bench.friction, 1e10)
    slots, place = [], np.zeros(bench.count, np.int64)
    for s, shape in enumerate(bench.shapes):
        bodies = np.flatnonzero(bench.shape_of == s)
        place[bodies] = np.arange(len(bodies))
        mesh = geometry.trimesh(shape.vertices, shape.triangles)
        geometry.label_surface(mesh)
        AffineBodyConstitution().apply_to(mesh, 1e8, DENSITY)
        mesh.instances.resize(len(bodies))
        mesh.instances["transform"] = bench.transform[bodies]
        mesh.instances["is_fixed"] = bench.fixed[bodies]
        slots.append(scene.objects.create(f"{shape.name} {s}").geometries.create(mesh)[0])
    if bench.joints is not None:
        _join(scene, bench, slots, place, strength_ratio)
    if bench.contact:
        scene.objects.create("ground").geometries.create(geometry.ground(0.0, [0.0, 0.0, 1.0]))
    return scene, slots


def _join(scene: Scene, bench: BenchScene, slots: list[Any], place: Indices, strength_ratio: float) -> None:
    joints = bench.joints
    assert joints is not None
    held = [(slots[bench.shape_of[b]], int(place[b])) if b >= 0 else None for b in joints.left]
    if None in held:
        # the world as a body: what a joint hangs on must be one
        box = geometry.trimesh(bench.shapes[0].vertices, bench.shapes[0].triangles)
        AffineBodyConstitution().apply_to(box, 1e8, DENSITY)
        box.instances["is_fixed"] = 1
        anchor, _ = scene.objects.create("world").geometries.create(box)
        held = [(anchor, 0) if entry is None else entry for entry in held]
    left = [entry for entry in held if entry is not None]
    right = [(slots[bench.shape_of[b]], int(place[b])) for b in joints.right]
    ends = (
        [slot for slot, _ in left], [k for _, k in left], [slot for slot, _ in right], [k for _, k in right],
        np.full(len(right), strength_ratio),
    )  # fmt: skip
    if joints.kind == "spherical":
        sc = AffineBodySphericalJoint().create_geometry(joints.point, *ends)
    else:
        shift = joints.half * joints.axis
        sc = AffineBodyRevoluteJoint().create_geometry(joints.point - shift, joints.point + shift, *ends)
    scene.objects.create("joints").geometries.create(sc)


class Adapter:
    """A world; `step` is advance and retrieve."""

    def __init__(self, scene: BenchScene) -> None:
        self._bench = scene
        described, self._slots = describe(scene)
        self._folder = tempfile.TemporaryDirectory()
        self._world = World(Engine("cpu", self._folder.name))
        self._world.init(described)

    def step(self) -> None:
        self._world.advance()
        self._world.retrieve()

    def poses(self) -> Array:
        out = np.empty((self._bench.count, 3, 4))
        for s, slot in enumerate(self._slots):
            out[self._bench.shape_of == s] = slot.geometry.transforms.values[:, :3]
        return out
