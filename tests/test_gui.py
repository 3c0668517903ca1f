"""SceneGUI in polyscope itself, with its backend that draws nothing."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scenes import box_mesh, pose

from dovetail import Scene, geometry
from dovetail.errors import MissingExtra, SceneError
from dovetail.gui import SceneGUI


@pytest.fixture
def ps():
    polyscope = pytest.importorskip("polyscope", reason="pip install polyscope to test SceneGUI in it")
    if not polyscope.is_initialized():  # once in a process
        polyscope.init("openGL_mock")
    polyscope.remove_all_structures()
    return polyscope


@pytest.fixture
def scene():
    scene = Scene()
    boxes = box_mesh()
    boxes.instances.resize(2)
    boxes.transforms.edit()[1] = pose((3.0, 0.0, 0.0))
    scene.objects.create("boxes").geometries.create(boxes)
    wire = geometry.linemesh([[0, 2, 0], [1, 2, 0]], [[0, 1]])
    wire.vertices.create("thickness", 0.1)
    dot = geometry.pointcloud([[0, 3, 0]])
    dot.vertices.create("thickness", 0.2)
    solid, _ = geometry.tetrahedralize(box_mesh())
    for mesh in (wire, dot, solid):
        geometry.label_surface(mesh)
        scene.objects.create("more").geometries.create(mesh)
    scene.objects.create("unlabelled").geometries.create(geometry.pointcloud([[9, 9, 9]]))
    scene.objects.create("ground").geometries.create(geometry.ground(-2.0))
    return scene


def test_a_merged_scene_is_three_structures_that_follow_it(ps, scene):
    gui = SceneGUI(scene)
    surface, lines, points = gui.register()
    assert (surface.n_vertices(), lines.n_nodes(), points.n_points()) == (8 * 3, 2, 1)
    assert lines.get_radius() == pytest.approx(0.1)
    gui.set_edge_width(2.0)
    assert surface.get_edge_width() == 2.0
    slot, _ = scene.geometries[0]
    slot.geometry.transforms.edit()[1] = pose((0.0, 7.0, 0.0))
    gui.update()
    top = ps.get_surface_mesh("trimesh").get_buffer("vertexPositions")
    heights = np.array([top.get_value(i).as_tuple()[1] for i in range(top.size())])
    assert heights.max() == pytest.approx(7.5)


def test_a_split_scene_has_a_structure_for_each_geometry_under_its_number(ps, scene):
    gui = SceneGUI(scene, "split")
    assert gui.register() is None
    assert ps.get_surface_mesh("0").n_vertices() == 16
    assert ps.has_curve_network("1") and ps.has_point_cloud("2") and ps.has_volume_mesh("3")
    assert not ps.has_point_cloud("4"), "it is not labelled"
    gui.set_edge_width(1.0)
    gui.update()


def test_an_empty_scene_shows_nothing(ps):
    assert SceneGUI(Scene()).register() == (None, None, None)


class Panel:
    """Notes what a panel draws, and edits the number of one name."""

    def __init__(self, edited: str = "") -> None:
        self.texts: list[str] = []
        self.edited = edited

    def TextUnformatted(self, text: str) -> None:
        self.texts.append(text)

    def InputFloat(self, name: str, value: float, *layout: object) -> tuple[bool, float]:
        return (True, 0.005) if name == self.edited else (False, value)

    def Button(self, label: str) -> bool:
        return True

    def CollapsingHeader(self, label: str) -> bool:
        return True

    def Separator(self) -> None:
        pass


def test_the_panel_tells_and_changes_what_may_change(scene):
    saved = []
    scene.contact_tabular.create("ice")
    scene.animator.insert(scene.objects.find("boxes")[0], print)
    panel = Panel(edited="dt")
    SceneGUI(scene).show(panel, current_name="test", scene_file="a.json", on_save_scene=lambda: saved.append(1))
    assert saved == [1] and scene.config["dt"] == 0.005
    for text in ("Scene: test", "File: a.json", "default and ice: friction 0.5, resistance 1e+09 Pa"):
        assert text in panel.texts
    assert any("boxes" in text for text in panel.texts)


def test_what_is_wrong_is_said(scene, monkeypatch):
    with pytest.raises(SceneError, match="'merge' or 'split'"):
        SceneGUI(scene, "both")
    monkeypatch.setitem(sys.modules, "polyscope", None)
    with pytest.raises(MissingExtra, match="pip install polyscope"):
        SceneGUI(scene).register()
