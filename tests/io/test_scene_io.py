"""Scene files: round trips bit by bit, commits, and never half a file."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from scene_files import assert_equal_scenes, awkward_mesh, names

from dovetail.errors import SceneError
from dovetail.geometry import ground, view
from dovetail.io import SceneIO
from dovetail.scene.scene_factory import SceneFactory
from dovetail.scene.snapshot import SceneSnapshot


def test_a_saved_scene_comes_back_bit_by_bit(scene, tmp_path):
    path = tmp_path / "scene.json"
    SceneIO(scene).save(path)
    loaded = SceneIO.load(str(path))
    assert_equal_scenes(scene, loaded)
    assert names(tmp_path) == ["scene.json"]
    SceneIO(loaded).save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_json_values_come_back_bit_by_bit_and_through_text(scene):
    document = SceneIO(scene).to_json()
    assert_equal_scenes(scene, SceneIO.from_json(document))
    assert_equal_scenes(scene, SceneIO.from_json(json.loads(json.dumps(document, allow_nan=False))))


def test_the_layout_is_libuipcs(scene):
    document = SceneIO(scene).to_json()
    assert document["__meta__"]["type"] == "SceneSnapshot"
    data = document["__data__"]
    assert {
        "contact_tabular",
        "subscene_tabular",
        "geometry_atlas",
        "geometry_slots",
        "rest_geometry_slots",
        "geometry_slots_next_id",
        "rest_geometry_slots_next_id",
        "object_collection",
    } <= set(data)
    atlas = data["geometry_atlas"]
    assert {"geometries", "attributes", "attribute_collections"} <= set(atlas)
    assert set(atlas["attribute_collections"]) == {"config", "contact_models", "subscene_models"}


def test_shared_meshes_are_written_once_and_shared_again(scene):
    document = SceneIO(scene).to_json()
    positions = [
        geometry["collections"]["vertices"]["attributes"]["position"]["index"]
        for geometry in document["__data__"]["geometry_atlas"]["geometries"]
        if geometry["type"] == "SimplicialComplex"
    ]
    assert len(positions) == 8 and len(set(positions)) == 2
    loaded = SceneIO.from_json(document)
    slots = [slot.geometry.positions for slot, _ in loaded.geometries if slot.object_name == "body"]
    assert slots[0].is_shared()
    view(slots[0])[:] = 1
    assert not (slots[1].values == 1).any()


def test_a_loaded_scene_can_be_changed_like_any_other(scene, tmp_path):
    SceneIO(scene).save(tmp_path / "s.json")
    loaded = SceneIO.load(tmp_path / "s.json")
    slot, _ = loaded.objects.create("new").geometries.create(ground())
    assert slot.id() == scene.geometries.created_count()
    assert loaded.contact_tabular.insert(loaded.contact_tabular.create("x"), loaded.contact_tabular.elements[1], 1, 1)
    loaded.config["dt"] = 0.1
    loaded.validate_config()


def test_a_commit_file_brings_another_scene_up_to_date(scene, tmp_path):
    io = SceneIO(scene)
    io.save(tmp_path / "start.json")
    viewer = SceneIO.load(tmp_path / "start.json")
    last = SceneSnapshot(scene)
    view(scene.geometries[1][0].geometry.transforms)[:] = np.arange(16.0).reshape(4, 4)
    scene.geometries[1][0].geometry.vertices.destroy("pi")
    scene.objects.find(3).geometries.create(awkward_mesh())
    scene.config["dt"] = 0.25
    io.commit(last, tmp_path / "change.json")
    SceneIO(viewer).update(tmp_path / "change.json")
    assert_equal_scenes(scene, viewer)
    assert (tmp_path / "change.json").stat().st_size < (tmp_path / "start.json").stat().st_size
    view(scene.geometries[1][0].geometry.transforms)[:] = 5
    SceneIO(viewer).update_from_json(io.commit_to_json(SceneSnapshot(viewer)))
    assert_equal_scenes(scene, viewer)


def test_moving_one_body_makes_a_commit_of_one_attribute(scene):
    last = SceneSnapshot(scene)
    view(scene.geometries[1][0].geometry.transforms)[:] = 2
    document = SceneIO(scene).commit_to_json(last)
    assert document["__meta__"]["type"] == "SceneSnapshotCommit"
    assert len(document["__data__"]["geometry_atlas"]["attributes"]) == 1


def test_the_factory_goes_back_and_forth(scene):
    factory = SceneFactory()
    snapshot = SceneSnapshot(scene)
    again = factory.from_json(factory.to_json(snapshot))
    assert_equal_scenes(factory.from_snapshot(again), scene)
    scene.config["dt"] = 0.125
    commit = factory.commit_from_json(factory.commit_to_json(SceneSnapshot(scene) - snapshot))
    copy = factory.from_snapshot(snapshot)
    commit.apply_to(copy)
    assert_equal_scenes(copy, scene)


@pytest.mark.parametrize("write", ["save", "commit", "write_surface"])
def test_a_failure_while_writing_leaves_the_old_file_and_no_other(scene, tmp_path, monkeypatch, write):
    path = tmp_path / ("out.obj" if write == "write_surface" else "out.json")
    path.write_text("old")

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    arguments = (SceneSnapshot(scene),) if write == "commit" else ()
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(SceneError, match="No space left on device"):
        getattr(SceneIO(scene), write)(*arguments, path)
    assert path.read_text() == "old" and len(names(tmp_path)) == 1
