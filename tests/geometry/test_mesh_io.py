from __future__ import annotations

import numpy as np
import pytest

from dovetail.errors import GeometryError
from dovetail.geometry import (
    AngleAxis,
    SimplicialComplexIO,
    SpreadSheetIO,
    Transform,
    is_trimesh_closed,
    linemesh,
    pointcloud,
    view,
)
from dovetail.geometry.mass import moments

FORMATS = [".obj", ".msh", ".ply", ".stl", ".glb"]
ROTATION = AngleAxis(0.7, [1, 2, 3]).matrix()
# .obj has 17 decimals, .msh 17 digits, .ply doubles; .stl and .glb have single precision
TOLERANCE = {".obj": 1e-16, ".msh": 0.0, ".ply": 0.0, ".stl": 1e-6, ".glb": 1e-6}


@pytest.mark.parametrize("extension", FORMATS)
def test_a_surface_is_read_back_as_it_was_written(tmp_path, surface_box, extension):
    box = surface_box((0.1, 2, 3), (4, 5, -6), ROTATION)
    file = tmp_path / f"box{extension}"
    SimplicialComplexIO().write(file, box)
    back = SimplicialComplexIO().read(str(file))
    assert back.dim() == 2 and back.instances.size() == 1
    corners, expected = (m.positions.values[m.triangles.topo.values] for m in (back, box))
    np.testing.assert_allclose(corners, expected, rtol=0, atol=TOLERANCE[extension])
    assert back.vertices.size() == 8 and is_trimesh_closed(back)
    assert list(tmp_path.iterdir()) == [file]


def test_a_solid_is_read_back_from_msh(tmp_path, solid_box):
    box = solid_box((0.1, 2, 3), (4, 5, -6), ROTATION)
    SimplicialComplexIO().write(tmp_path / "box.msh", box)
    back = SimplicialComplexIO().read(tmp_path / "box.msh")
    np.testing.assert_array_equal(back.positions.values, box.positions.values)
    np.testing.assert_array_equal(back.tetrahedra.topo.values, box.tetrahedra.topo.values)


@pytest.mark.parametrize("extension", [".obj", ".ply", ".stl", ".glb"])
def test_other_formats_hold_the_surface_of_a_solid(tmp_path, solid_box, extension):
    SimplicialComplexIO().write(tmp_path / f"box{extension}", solid_box((1, 2, 3)))
    back = SimplicialComplexIO().read(tmp_path / f"box{extension}")
    assert moments(back, 1.0)[1] == pytest.approx(6.0, rel=1e-6)


@pytest.mark.parametrize("extension", [".obj", ".msh"])
def test_lines_are_read_back(tmp_path, extension):
    lines = linemesh(np.random.default_rng(0).normal(size=(4, 3)), [[2, 0], [0, 1], [1, 3]])
    SimplicialComplexIO().write(tmp_path / f"lines{extension}", lines)
    back = SimplicialComplexIO().read(tmp_path / f"lines{extension}")
    assert back.dim() == 1
    np.testing.assert_array_equal(back.edges.topo.values, lines.edges.topo.values)
    np.testing.assert_allclose(back.positions.values, lines.positions.values, rtol=0, atol=1e-16)


@pytest.mark.parametrize("extension", [".obj", ".msh", ".ply"])
def test_points_are_read_back(tmp_path, extension):
    points = np.random.default_rng(0).normal(size=(4, 3))
    SimplicialComplexIO().write(tmp_path / f"points{extension}", pointcloud(points))
    back = SimplicialComplexIO().read(tmp_path / f"points{extension}")
    assert back.dim() == 0
    np.testing.assert_allclose(back.positions.values, points, rtol=0, atol=1e-16)


def test_the_pre_transform_moves_what_is_read(tmp_path, surface_box):
    box = surface_box()
    SimplicialComplexIO().write(tmp_path / "box.obj", box)
    transform = Transform.Identity().translate([1, 2, 3]).scale(2.0)
    expected = transform.apply_to(box.positions.values.copy())
    for given in (transform, transform.matrix()):
        back = SimplicialComplexIO(given).read(tmp_path / "box.obj")
        np.testing.assert_array_equal(back.positions.values, expected)
        np.testing.assert_array_equal(back.transforms.values, [np.eye(4)])
    with pytest.raises(GeometryError, match="not finite"):
        SimplicialComplexIO(np.full((4, 4), np.nan))


def test_texture_seams_groups_and_quads_do_not_tear_an_obj_apart(tmp_path):
    text = """mtllib none.mtl
o part
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
vt 0 0
vt 1 0
vt 1 1
vn 0 0 1
usemtl red
f 1/1/1 2/2/1 3/3/1
usemtl blue
f 1/3 3/1 -1/2
l 1 2 \\
3
"""
    (tmp_path / "mesh.obj").write_text(text)
    mesh = SimplicialComplexIO().read(tmp_path / "mesh.obj")
    assert mesh.vertices.size() == 4
    np.testing.assert_array_equal(mesh.triangles.topo.values, [[0, 1, 2], [0, 2, 3]])
    assert sorted(map(sorted, mesh.edges.topo.values.tolist())) == [[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]]


def test_polygons_of_an_obj_are_split(tmp_path):
    (tmp_path / "quad.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 5 5 5\nf 1 2 3 4\nf 1 2 5\n")
    mesh = SimplicialComplexIO().read(tmp_path / "quad.obj")
    assert mesh.triangles.size() == 3 and mesh.vertices.size() == 5


def test_only_the_highest_simplices_of_a_msh_count(tmp_path):
    (tmp_path / "mixed.msh").write_text(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
        "$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n"
        "$Elements\n2\n1 2 2 0 1 1 2 3\n2 4 2 0 1 1 2 3 4\n$EndElements\n"
    )
    mesh = SimplicialComplexIO().read(tmp_path / "mixed.msh")
    assert (mesh.tetrahedra.size(), mesh.triangles.size()) == (1, 4)


NOT_MESHES = {
    "text.obj": b"hello\n",
    "letters.obj": b"v 0 0 x\nf 1 2 3\n",
    "range.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n",
    "nan.obj": b"v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "half.stl": b"solid x\nfacet",
    "zeros.stl": b"\0" * 90,
    "half.ply": b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nend_header\n1\n",
    "text.ply": b"nonsense",
    "half.glb": b"glTF1234",
    "text.glb": b"xx",
    "half.msh": b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n3\n1 0 0 0\n",
    "text.msh": b"garbage",
    **{f"empty{extension}": b"" for extension in FORMATS},
}


@pytest.mark.parametrize("name", NOT_MESHES)
def test_damaged_files_are_refused_by_name(tmp_path, capsys, name):
    (tmp_path / name).write_bytes(NOT_MESHES[name])
    with pytest.raises(GeometryError, match=f"reading '.*{name}': "):
        SimplicialComplexIO().read(tmp_path / name)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("extension", [".msh", ".ply", ".stl", ".glb"])  # the rest of an .obj is an .obj
def test_a_truncated_file_is_refused(tmp_path, surface_box, extension):
    file = tmp_path / f"box{extension}"
    SimplicialComplexIO().write(file, surface_box((1, 2, 3), (0.3, 0.1, 0.2), ROTATION))
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * 0.6)])
    with pytest.raises(GeometryError, match="reading"):
        SimplicialComplexIO().read(file)


def test_missing_files_and_unknown_extensions_are_refused(tmp_path, surface_box):
    with pytest.raises(GeometryError, match=r"nothing\.obj': No such file"):
        SimplicialComplexIO().read(tmp_path / "nothing.obj")
    with pytest.raises(GeometryError, match=r"unknown extension '\.xyz'; use \.obj, \.msh"):
        SimplicialComplexIO().read(tmp_path / "mesh.xyz")
    with pytest.raises(GeometryError, match=r"unknown extension '\.xyz'"):
        SimplicialComplexIO().write(tmp_path / "mesh.xyz", surface_box())
    with pytest.raises(GeometryError, match=r"writing '.*folder"):
        SimplicialComplexIO().write(tmp_path / "no folder" / "mesh.obj", surface_box())


@pytest.mark.parametrize("extension", [".stl", ".glb", ".ply"])
def test_a_format_that_cannot_hold_lines_leaves_the_old_file(tmp_path, extension):
    file = tmp_path / f"mesh{extension}"
    file.write_text("old")
    with pytest.raises(GeometryError, match=r"use \.obj or \.msh"):
        SimplicialComplexIO().write(file, linemesh(np.eye(3), [[0, 1]]))
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_spreadsheets_have_a_line_per_element(tmp_path):
    lines = linemesh(np.arange(9.0).reshape(3, 3) / 7, [[0, 1], [1, 2]])
    view(lines.edges.create("name", "a"))[1] = "b, with comma"
    lines.meta.create_uid_list("constraint_uids").insert(19)
    SpreadSheetIO(tmp_path).write_csv("rope", lines)
    assert (tmp_path / "rope.edges.csv").read_text().splitlines() == [
        "topo[0],topo[1],is_facet,name",
        "0,1,1,a",
        '1,2,1,"b, with comma"',
    ]
    assert (tmp_path / "rope.vertices.csv").read_text().splitlines()[2].startswith(f"{3 / 7!r},{4 / 7!r}")
    assert (tmp_path / "rope.meta.csv").read_text() == "constraint_uids\n19\n"
    SpreadSheetIO(tmp_path).write_json(lines)
    assert (tmp_path / "geometry.json").exists()
    with pytest.raises(GeometryError, match="no geometry was given"):
        SpreadSheetIO(tmp_path).write_json("rope")
    with pytest.raises(GeometryError, match="writing"):
        SpreadSheetIO(tmp_path / "none").write_json(lines)
