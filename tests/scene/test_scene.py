"""Scenes: objects, geometries, and what a running world forbids."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from dovetail.errors import SceneError
from dovetail.geometry import (
    Geometry,
    GeometrySlot,
    ImplicitGeometry,
    ImplicitGeometrySlot,
    SimplicialComplex,
    SimplicialComplexSlot,
    pointcloud,
    view,
)
from dovetail.scene import Scene


def triangle() -> SimplicialComplex:
    geometry = SimplicialComplex()
    geometry.vertices.resize(3)
    view(geometry.vertices.create("position", np.zeros(3)))[:] = np.eye(3)[..., None]
    geometry.instances.create("transform", np.eye(4))
    geometry.triangles.resize(1)
    geometry.triangles["topo"] = [0, 1, 2]
    return geometry


def test_parts_of_a_scene_return_themselves_when_called():
    scene = Scene()
    tables = ("contact_tabular", "subscene_tabular", "constitution_tabular")
    for name in ("objects", "geometries", "animator", "config", *tables):
        assert getattr(scene, name)() is getattr(scene, name)


def test_objects_are_found_by_number_and_by_name():
    scene = Scene()
    arm, leg, other_arm = (scene.objects.create(name) for name in ("arm", "leg", "arm"))
    assert [o.id() for o in (arm, leg, other_arm)] == [0, 1, 2]
    assert scene.objects.find(1) is leg
    assert scene.objects().find("arm") == [arm, other_arm]
    assert scene.objects.find(7) is None and scene.objects.find("head") == []
    assert list(scene.objects) == [arm, leg, other_arm]
    assert scene.objects.size() == len(scene.objects) == 3


def test_destroying_an_object_removes_its_geometries_and_animation_and_frees_no_number():
    scene = Scene()
    first, second = scene.objects.create("first"), scene.objects.create("second")
    first.geometries().create(triangle())
    kept, _ = second.geometries().create(triangle())
    scene.animator.insert(first, lambda info: None)
    scene.objects.destroy(0)
    assert scene.objects.size() == 1 and scene.objects.created_count() == 2
    assert [slot for slot, _ in scene.geometries] == [kept]
    assert scene.geometries.find(0) == (None, None) and scene.geometries.find(1)[0] is kept
    assert scene.animator.animation_count() == 0
    assert scene.objects.create("third").id() == 2
    assert scene.geometries.created_count() == 2


def test_destroying_what_is_not_there_only_warns(caplog):
    with caplog.at_level(logging.WARNING, "dovetail"):
        Scene().objects.destroy(3)
    assert "there is no object 3" in caplog.text


def test_a_geometry_is_copied_into_the_scene_with_a_rest_shape():
    scene = Scene()
    geometry = triangle()
    slot, rest = scene.objects.create("plate").geometries.create(geometry)
    assert isinstance(slot, SimplicialComplexSlot) and isinstance(rest, SimplicialComplexSlot)
    assert slot.id() == rest.id() == 0
    assert slot.object_name == rest.object_name == "plate"
    assert slot.geometry() is slot.geometry and slot.geometry is not geometry
    view(slot.geometry().positions())[:] = 7
    assert (geometry.positions.values == np.eye(3)).all()
    assert (rest.geometry.positions.values == np.eye(3)).all()
    assert (slot.geometry.positions.values == 7).all()


def test_a_rest_shape_can_be_given_and_must_be_the_same_mesh():
    scene = Scene()
    geometries = scene.objects.create("plate").geometries
    bent = triangle()
    view(bent.positions)[:] = 5
    slot, rest = geometries.create(triangle(), bent)
    assert (rest.geometry.positions.values == 5).all() and (slot.geometry.positions.values == np.eye(3)).all()
    bent.vertices.resize(4)
    with pytest.raises(SceneError, match="Object 'plate': the geometry has 3 vertices but its rest shape 4"):
        geometries.create(triangle(), bent)
    with pytest.raises(SceneError, match="is a SimplicialComplex but its rest shape a ImplicitGeometry"):
        geometries.create(triangle(), ImplicitGeometry())
    assert len(scene.geometries) == 1


def test_every_kind_of_geometry_gets_its_kind_of_slot():
    geometries = Scene().objects.create("any").geometries
    assert type(geometries.create(ImplicitGeometry())[0]) is ImplicitGeometrySlot
    assert type(geometries.create(Geometry())[0]) is GeometrySlot
    assert geometries.ids().tolist() == [0, 1] and geometries.ids().dtype == np.int32
    assert [slot.id() for slot in geometries] == [0, 1] and len(geometries) == 2


def test_a_slot_or_anything_else_is_not_a_geometry():
    geometries = Scene().objects.create("arm").geometries
    slot, _ = geometries.create(triangle())
    with pytest.raises(SceneError, match=r"Object 'arm': .* got SimplicialComplexSlot; .*slot.geometry\(\)"):
        geometries.create(slot)
    with pytest.raises(SceneError, match="got NoneType"):
        geometries.create(None)
    with pytest.raises(SceneError, match="there is no geometry 4; there are \\[0\\]"):
        geometries._owner.scene.geometries[4]


def test_names_must_be_text():
    with pytest.raises(SceneError, match="name must be a str, got 3"):
        Scene().objects.create(3)


def test_a_frozen_scene_refuses_new_and_removed_geometries_but_lets_values_change():
    scene = Scene()
    arm = scene.objects.create("arm")
    slot, _ = arm.geometries.create(triangle())
    assert not scene.is_frozen
    scene.freeze("world 'main'")
    assert scene.is_frozen
    with pytest.raises(SceneError, match="cannot add a geometry to object 'arm', because world 'main' has"):
        arm.geometries.create(triangle())
    with pytest.raises(SceneError, match="cannot remove object 'arm'"):
        scene.objects.destroy(arm.id())
    with pytest.raises(SceneError, match="cannot be given to another world"):
        scene.freeze("world 'second'")
    assert arm.geometries.ids().tolist() == [0] and scene.objects.find(0) is arm
    view(slot.geometry().positions())[:] = 1
    scene.animator.insert(arm, lambda info: None)


def test_differentiable_simulation_is_refused_in_one_sentence():
    with pytest.raises(SceneError, match="differentiable simulation is not available"):
        Scene().diff_sim()


def test_a_scene_and_its_parts_show_what_they_hold():
    scene = Scene()
    arm = scene.objects.create("arm")
    arm.geometries.create(triangle())
    scene.animator.insert(arm, print)
    assert "1 objects: 'arm'" in repr(scene) and "1 geometries" in repr(scene)
    assert "Animation of 'arm'" in repr(scene)
    assert repr(arm) == "<Object 0 'arm' with geometries [0]>"


def test_libuipcs_nested_class_names_exist():
    scene = Scene()
    assert isinstance(scene.objects, Scene.Objects)
    assert isinstance(scene.geometries, Scene.Geometries)
    assert isinstance(scene.config, Scene.ConfigAttributes)


def test_the_rest_shape_of_an_adopted_geometry_is_a_copy_made_when_it_is_asked_for():
    scene = Scene()
    shape = pointcloud([[0.0, 0, 0]])
    slot = scene.objects.create("dot").geometries.adopt(shape)
    assert slot.geometry is shape
    rest = scene.geometries[slot.id()][1]
    assert rest.geometry is rest.geometry is not shape
    slot.geometry.vertices["position"] = [[1.0, 0, 0]]
    assert rest.geometry.positions.values.tolist() == [[0, 0, 0]]
