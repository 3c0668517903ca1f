"""The surface of a scene: merged, in world coordinates, always up to date."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.geometry import (
    SimplicialComplex,
    SimplicialComplexIO,
    apply_transform,
    extract_surface,
    ground,
    label_surface,
    linemesh,
    merge,
    pointcloud,
    tetmesh,
    trimesh,
    view,
)
from dovetail.io import SceneIO
from dovetail.scene import Scene

TWO_TETS = (
    np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]),
    [[0, 1, 2, 3], [1, 2, 3, 4]],
)


def placed(mesh: SimplicialComplex, count: int, seed: int) -> SimplicialComplex:
    """The mesh labelled, with `count` instances somewhere, every second one mirrored."""
    label_surface(mesh)
    mesh.instances.resize(count)
    rng = np.random.default_rng(seed)
    transforms = view(mesh.transforms)
    transforms[:, :3, :3] = np.linalg.qr(rng.normal(size=(count, 3, 3)))[0]
    transforms[:, :3, :3] *= np.sign(np.linalg.det(transforms[:, :3, :3]))[:, None, None]
    transforms[1::2, :, 0] *= -1
    transforms[:, :3, 3] = rng.normal(size=(count, 3))
    return mesh


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    everything = scene.objects.create("everything").geometries
    everything.create(placed(tetmesh(*TWO_TETS), 3, 0))
    everything.create(ground())
    everything.create(placed(trimesh(np.eye(3), [[0, 1, 2]]), 2, 1))
    everything.create(placed(linemesh(np.eye(3), [[0, 1], [1, 2]]), 2, 2))
    everything.create(placed(pointcloud(np.eye(3)), 2, 3))
    everything.create(trimesh(np.eye(3) + 9, [[0, 1, 2]]))  # no label, no surface
    return scene


def counts(sc: SimplicialComplex) -> tuple[int, int, int, int]:
    return sc.vertices.size(), sc.edges.size(), sc.triangles.size(), sc.tetrahedra.size()


def test_all_labelled_meshes_are_merged_and_half_planes_left_out(scene):
    surface = SceneIO(scene).simplicial_surface()
    # tetmesh 5 vertices, 9 edges, 6 outer triangles (x3), triangle (x2), polyline (x2), points (x2)
    assert counts(surface) == (15 + 6 + 6 + 6, 27 + 6 + 4, 18 + 2, 0)
    assert surface.instances.size() == 1 and (surface.transforms.values == np.eye(4)).all()


@pytest.mark.parametrize(("dim", "expected"), [(2, (21, 33, 20, 0)), (1, (6, 4, 0, 0)), (0, (6, 0, 0, 0))])
def test_one_kind_of_mesh_can_be_asked_for(scene, dim, expected):
    assert counts(SceneIO(scene).simplicial_surface(dim)) == expected


def test_positions_and_winding_are_those_of_the_single_steps(scene):
    shown = [slot.geometry for slot, _ in scene.geometries if slot.id() in (0, 2, 3, 4)]
    expected = merge([extract_surface(part) for mesh in shown for part in apply_transform(mesh)])
    surface = SceneIO(scene).simplicial_surface()
    # the same products in another order of summation: a few ulp of coordinates below 4
    assert np.abs(surface.positions.values - expected.positions.values).max() < 1e-14
    assert (surface.edges.topo.values == expected.edges.topo.values).all()
    for one, two in zip(surface.triangles.topo.values, expected.triangles.topo.values, strict=True):
        assert two.tolist() in [np.roll(one, shift).tolist() for shift in range(3)]


def test_triangles_of_solids_face_outward_also_when_mirrored(scene):
    surface = SceneIO(scene).simplicial_surface(2)
    solid = surface.triangles.topo.values[:18].reshape(3, 6, 3)
    a, b, c = np.moveaxis(surface.positions.values[solid], 2, 0)
    volumes = np.einsum("tfi,tfi->t", a, np.cross(b, c)) / 6
    # one tetrahedron of 1/6 and one of 1/3, whatever the rigid or mirrored placement
    assert np.allclose(volumes, 0.5, rtol=1e-12)


def test_the_surface_follows_every_kind_of_change(scene):
    io = SceneIO(scene)
    io.simplicial_surface()

    def agrees() -> bool:
        old, new = io.simplicial_surface(), SceneIO(scene).simplicial_surface()
        return counts(old) == counts(new) and all(
            (one.values == two.values).all()
            for one, two in (
                (old.positions, new.positions),
                (old.edges.topo, new.edges.topo),
                (old.triangles.topo, new.triangles.topo),
            )
        )

    solid = scene.geometries[0][0].geometry
    view(solid.transforms)[0, :3, 3] += 1
    assert agrees()
    view(solid.transforms)[0, :3, 0] *= -1
    assert agrees()
    view(solid.positions)[0] -= 1
    assert agrees()
    solid.instances.resize(5)
    assert agrees()
    flat = scene.geometries[2][0].geometry
    flat.triangles["topo"] = [0, 2, 1]
    assert agrees()
    flat.triangles["is_surf"] = 0
    assert agrees()
    scene.objects.create("late").geometries.create(placed(trimesh(np.eye(3), [[0, 1, 2]]), 1, 5))
    assert agrees()
    scene.objects.destroy(0)
    assert agrees()
    assert io.simplicial_surface().triangles.size() == 1


def test_the_surface_can_be_changed_without_touching_the_scene_or_the_next_one(scene):
    io = SceneIO(scene)
    first = io.simplicial_surface()
    kept = first.positions.values.copy()
    view(first.positions)[:] = 0
    view(first.triangles.topo)[:] = 0
    assert (io.simplicial_surface().positions.values == kept).all()
    assert io.simplicial_surface().triangles.topo.values.any()


def test_attributes_of_the_same_name_may_differ_between_meshes(scene):
    scene.geometries[0][0].geometry.vertices.create("mark", 1)
    scene.geometries[2][0].geometry.vertices.create("mark", "text")
    assert "mark" not in SceneIO(scene).simplicial_surface().vertices


def test_an_empty_scene_has_an_empty_surface():
    assert counts(SceneIO(Scene()).simplicial_surface()) == (0, 0, 0, 0)


def test_no_instances_no_surface():
    scene = Scene()
    scene.objects.create("none").geometries.create(placed(trimesh(np.eye(3), [[0, 1, 2]]), 0, 0))
    assert counts(SceneIO(scene).simplicial_surface()) == (0, 0, 0, 0)


def test_the_written_surface_is_the_surface(scene, tmp_path):
    path = tmp_path / "surface.obj"
    SceneIO(scene).write_surface(str(path))
    surface, read = SceneIO(scene).simplicial_surface(), SimplicialComplexIO().read(path)
    # the file has 17 decimals
    assert np.abs(read.positions.values - surface.positions.values).max() < 1e-16
    assert sorted(map(sorted, read.edges.topo.values.tolist())) == sorted(
        map(sorted, surface.edges.topo.values.tolist())
    )
    assert (read.triangles.topo.values == surface.triangles.topo.values).all()
    assert [p.name for p in tmp_path.iterdir()] == ["surface.obj"]
