"""Attributes read back from tables, geometries, arrays and meshes."""

from __future__ import annotations

import meshio
import numpy as np
import pytest

from dovetail.errors import GeometryError
from dovetail.geometry import AttributeIO, SpreadSheetIO, trimesh

CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 1 / 3]])


@pytest.fixture
def mesh(rng):
    sc = trimesh(CORNERS, [[0, 1, 2]])
    sc.vertices.create("heat", 0.0)
    sc.vertices["heat"] = rng.normal(size=3)
    sc.vertices.create("frame", np.eye(3))
    sc.vertices["frame"] = rng.normal(size=(3, 3, 3))
    return sc


@pytest.mark.parametrize("name", ["position", "heat", "frame"])
@pytest.mark.parametrize("kind", ["csv", "json"])
def test_what_a_sheet_wrote_is_read_bit_by_bit(mesh, tmp_path, name, kind):
    getattr(SpreadSheetIO(tmp_path), f"write_{kind}")("m", mesh)
    file = tmp_path / ("m.vertices.csv" if kind == "csv" else "m.json")
    blank = trimesh(np.zeros((3, 3)), [[0, 1, 2]])
    slot = blank.vertices.find(name) or blank.vertices.create(name, np.zeros(mesh.vertices[name].shape[1:]))
    AttributeIO(file).read(name, slot)
    np.testing.assert_array_equal(slot.values, mesh.vertices[name])


def test_arrays_and_data_on_meshes_are_read(mesh, tmp_path):
    np.savez(tmp_path / "a.npz", heat=np.arange(3.0))
    meshio.Mesh(CORNERS, [("triangle", [[0, 1, 2]])], point_data={"heat": np.arange(3.0)}).write(tmp_path / "a.vtk")
    for file in ("a.npz", "a.vtk"):
        mesh.vertices["heat"] = 0.0
        AttributeIO(tmp_path / file).read("heat", mesh.vertices.slot("heat"))
        np.testing.assert_array_equal(mesh.vertices["heat"], [0, 1, 2])


def test_what_does_not_fit_is_refused_and_nothing_is_written(mesh, tmp_path):
    np.savez(tmp_path / "a.npz", heat=np.arange(4.0))
    (tmp_path / "bad.csv").write_text("heat\nwarm\n")
    before = mesh.vertices["heat"].copy()
    slot = mesh.vertices.slot("heat")
    for file, name, match in (
        ("a.npz", "heat", "has shape"),
        ("a.npz", "cold", "has no attribute 'cold'"),
        ("bad.csv", "heat", "cannot be read"),
    ):
        with pytest.raises(GeometryError, match=match):
            AttributeIO(tmp_path / file).read(name, slot)
    with pytest.raises(GeometryError, match="there is no file"):
        AttributeIO(tmp_path / "none.csv")
    np.testing.assert_array_equal(mesh.vertices["heat"], before)
