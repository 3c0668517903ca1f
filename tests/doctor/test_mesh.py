"""The examination of meshes: each flaw is found, named with its place, and a sound mesh has none."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh as tm

from dovetail.doctor import examine_mesh
from dovetail.doctor.surface import components, thinnest
from dovetail.geometry import linemesh, tetmesh, trimesh


def examined(mesh, **options):
    return examine_mesh(trimesh(mesh.vertices, mesh.faces), **options)


def of_kind(findings, kind):
    return [finding for finding in findings if finding.kind == kind]


def box(*size):
    return tm.creation.box(size)


@pytest.mark.parametrize(
    "mesh",
    [
        box(0.2, 0.1, 0.3),
        tm.creation.icosphere(2, 0.1),
        tm.creation.cylinder(0.1, 0.3),
        tm.creation.torus(0.2, 0.05),
        tm.creation.annulus(0.1, 0.2, 0.1),
    ],
)
def test_a_sound_mesh_has_no_problem_and_no_warning(mesh):
    findings = examined(mesh)
    assert {finding.kind for finding in findings} == {"remark"}
    assert f"{len(mesh.faces):,} triangles, 1 part," in findings[-1].text


def test_tetrahedra_are_examined_by_their_surface():
    findings = examine_mesh(tetmesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]]))
    assert not of_kind(findings, "problem") and "4 triangles" in findings[-1].text


def test_lines_are_not_examined():
    assert examine_mesh(linemesh([[0.0, 0, 0], [1, 0, 0]], [[0, 1]]))[0].kind == "remark"


def test_an_open_surface_is_told_with_a_place_and_the_fitting_advice():
    whole = box(1, 1, 1)
    (found,) = of_kind(examined(tm.Trimesh(whole.vertices, whole.faces[1:], process=False)), "problem")
    assert "open at 3 edges, for example at (" in found.text and "fill the holes" in found.advice
    split = tm.Trimesh(whole.triangles.reshape(-1, 3), np.arange(36).reshape(-1, 3), process=False)
    (found,) = of_kind(examined(split), "problem")
    assert "open at 36 edges" in found.text and "merge_vertices" in found.advice
    rng = np.random.default_rng(1)
    rough = tm.Trimesh(split.vertices + 1e-7 * rng.normal(size=(36, 3)), split.faces, process=False)
    problems = of_kind(examined(rough), "problem")
    assert any("weld them" in found.advice for found in problems)


def test_triangles_the_wrong_way_round_are_told():
    whole = box(1, 1, 1)
    faces = whole.faces.copy()
    faces[0] = faces[0][::-1]
    (found,) = of_kind(examined(tm.Trimesh(whole.vertices, faces, process=False)), "problem")
    assert "opposite senses at 3 edges" in found.text
    (found,) = of_kind(examined(tm.Trimesh(whole.vertices, whole.faces[:, ::-1], process=False)), "problem")
    assert "inside out: its volume is -1 m³" in found.text


def test_a_surface_through_itself_is_told():
    crossing = tm.util.concatenate([box(1, 1, 1), box(1, 1, 1).apply_translation((0.6, 0.31, 0.22))])
    problems = of_kind(examined(crossing), "problem")
    assert any("the mesh intersects itself: its edge" in found.text for found in problems)
    apart = tm.util.concatenate([box(1, 1, 1), box(1, 1, 1).apply_translation((1.6, 0.31, 0.22))])
    findings = examined(apart)
    assert not of_kind(findings, "problem") and "2 parts" in findings[-1].text


def test_flat_double_and_crowded_triangles_are_told():
    whole = box(1, 1, 1)
    edge = whole.edges[0]
    vertices = np.vstack([whole.vertices, whole.vertices[edge].mean(axis=0), [9, 9, 9]])
    faces = np.vstack([whole.faces, whole.faces[0], [edge[0], edge[1], 8]])
    texts = " ".join(finding.text for finding in examined(tm.Trimesh(vertices, faces, process=False)))
    assert "1 triangle has no area, the first is number 13" in texts
    assert "1 triangles are there twice" in texts
    assert "edges belong to more than two triangles" in texts
    assert "1 vertices belong to no triangle" in texts


def test_walls_and_slots_are_measured_and_compared_with_d_hat():
    plate = box(0.3, 0.2, 0.004)
    assert "the thinnest wall is 4 mm" in " ".join(finding.text for finding in examined(plate))
    (found,) = of_kind(examined(plate, d_hat=0.002), "warning")
    assert "4 mm" in found.text and "d_hat ≤ 0.001 m" in found.advice
    pair = tm.util.concatenate([box(0.1, 0.1, 0.1), box(0.1, 0.1, 0.1).apply_translation((0, 0, 0.1025))])
    (found,) = of_kind(examined(pair, d_hat=1e-3), "warning")
    assert "the narrowest slot is 2.5 mm" in found.text
    assert not of_kind(examined(pair, d_hat=1e-4), "warning")


@pytest.mark.parametrize(("outer", "inner"), [(0.1, 0.09), (0.1, 0.07)])
def test_the_wall_of_a_pipe_is_as_thick_as_its_radii_say(outer, inner):
    pipe = tm.creation.annulus(inner, outer, 0.2, sections=64)
    wall = thinnest(np.array(pipe.vertices), np.array(pipe.faces), outward=False)
    # sides of a 64-gon are off the circle by 1 − cos(π/64) = 0.12 % of the radius
    assert abs(wall.distance - (outer - inner)) < 2e-3 * outer


def test_sizes_that_look_like_other_units_and_many_triangles_are_told(monkeypatch):
    assert "millimetres" in of_kind(examined(box(200, 100, 50)), "warning")[0].advice
    assert "lengths are in m" in of_kind(examined(box(2e-4, 1e-4, 1e-4), d_hat=1e-6), "warning")[0].advice
    monkeypatch.setattr("dovetail.doctor.mesh._MANY", 1000)  # twenty times less, and faster
    assert any("simplify" in f.advice for f in of_kind(examined(tm.creation.icosphere(3, 1.0)), "warning"))


def test_parts_are_counted():
    many = tm.util.concatenate([box(1, 1, 1).apply_translation((2 * k, 0, 0)) for k in range(7)])
    assert components(len(many.vertices), np.array(many.faces)) == 7
