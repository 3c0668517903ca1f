"""A scene with something of everything, and a mechanism that is recorded."""

from __future__ import annotations

import pytest
from recorded_mechanism import mechanism, running
from scene_files import awkward_mesh

from dovetail import World
from dovetail.geometry import ground, view
from dovetail.io import Recorder
from dovetail.scene import Scene


@pytest.fixture
def scene() -> Scene:
    scene = Scene({"gravity": [0, 0, -9.81], "dt": 1 / 3, "integrator": {"type": "bdf2"}})
    for name in ("gone", "body", "ground", "empty"):
        scene.objects.create(name)
    mesh = awkward_mesh()
    for _ in range(3):
        scene.objects.find(1).geometries.create(mesh)
    rest = mesh.copy()
    view(rest.positions)[:] = 7
    scene.objects.find(1).geometries.create(mesh, rest)
    scene.objects.find(2).geometries.create(ground(0.5))
    scene.objects.find(0).geometries.create(mesh)
    scene.objects.destroy(0)
    rubber = scene.contact_tabular.create("rubber")
    scene.contact_tabular.insert(rubber, rubber, 0.9, 1e7, False)
    scene.contact_tabular.default_model(0.1, 1 / 7)
    scene.subscene_tabular.insert(scene.subscene_tabular.create("a"), scene.subscene_tabular.create("b"), True)
    return scene


@pytest.fixture
def world(tmp_path) -> World:
    return running(mechanism(), tmp_path)


@pytest.fixture
def recorded(world, tmp_path):
    """A recording of eight frames and what the world said in each."""
    path = tmp_path / "run.dove"
    said = []
    joints = [slot for slot, _ in world.scene.geometries][1:5]
    with Recorder(path, world) as recorder:
        for frame in range(8):
            if frame:
                world.advance()
            assert recorder.write()
            cubes = world.scene.objects.find("cubes")[0]
            transforms = next(iter(cubes.geometries)).geometry.transforms.values.copy()
            gaps = [
                float((s.geometry.edges if s.geometry.edges.size() else s.geometry.vertices)["gap"][0]) for s in joints
            ]
            said.append((transforms, gaps, world.energies(), world.contacts()))
    return path, said
