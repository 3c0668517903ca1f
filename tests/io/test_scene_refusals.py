"""Scene files that are damaged, foreign or make no sense are refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scene_files import assert_equal_scenes, names

from dovetail.errors import SceneError
from dovetail.geometry import linemesh, trimesh, view
from dovetail.io import SceneIO
from dovetail.scene import Scene
from dovetail.scene.snapshot import SceneSnapshot


def test_what_cannot_be_written_or_read_is_said_in_one_sentence(scene, tmp_path):
    io = SceneIO(scene)
    cases = [
        (lambda: io.save(tmp_path / "s.txt"), "scene files end in .json or .bson, use one of them"),
        (lambda: SceneIO.load(tmp_path / "none.bson"), "cannot read"),
        (lambda: io.save(tmp_path / "no" / "s.json"), "cannot write"),
        (lambda: SceneIO.load(tmp_path / "none.json"), "cannot read"),
        (lambda: io.update(tmp_path / "none.json"), "cannot read"),
        (lambda: io.write_surface(tmp_path / "s.ply"), "only .obj files can be written"),
        (lambda: io.write_surface(tmp_path / "no" / "s.obj"), "the folder does not exist"),
        (lambda: io.simplicial_surface(3), "dim = 3; give 0, 1, 2, or -1 for all"),
        (lambda: SceneIO("scene"), "expected a Scene, got str"),
    ]
    for attempt, says in cases:
        with pytest.raises(SceneError) as failure:
            attempt()
        assert says in str(failure.value) and "\n" not in str(failure.value)
    assert names(tmp_path) == []


def saved(scene: Scene, path: Path) -> str:
    SceneIO(scene).save(path)
    return path.read_text()


def test_truncated_files_are_refused_wherever_they_end(scene, tmp_path):
    path = tmp_path / "s.json"
    text = saved(scene, path).rstrip()
    for length in np.linspace(0, len(text) - 1, 40).astype(int):
        path.write_text(text[:length])
        with pytest.raises(SceneError, match=r"SceneIO\.load: '.*s\.json' is damaged or not a scene file"):
            SceneIO.load(path)


def test_a_changed_digit_is_noticed_and_can_be_intended(scene, tmp_path):
    path = tmp_path / "s.json"
    text = saved(scene, path)
    assert "9.81" in text
    path.write_text(text.replace("9.81", "9.82"))
    with pytest.raises(SceneError, match="was changed after it was written"):
        SceneIO.load(path)
    document = json.loads(path.read_text())
    del document["__meta__"]["crc32"]
    path.write_text(json.dumps(document, indent=2))
    assert SceneIO.load(path).config["gravity"][2] == -9.82


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is damaged or not a scene file"),
        ("solid cube", "is damaged or not a scene file"),
        ("[" * 100_000, "is damaged or not a scene file"),
        ("[1, 2]", "this is not a scene"),
        ("{}", "this is not a scene"),
        ('{"__meta__": {"type": "Mesh"}}', "this is not a scene"),
        ('{"__meta__": {"type": "SceneSnapshot"}, "__data__": {}}', "was written by another program"),
        (
            '{"__meta__": {"type": "SceneSnapshot", "format": "dovetail", "version": 99}, "__data__": {}}',
            "has format version 99, this dovetail reads up to 1; update dovetail",
        ),
        (
            '{"__meta__": {"type": "SceneSnapshotCommit", "format": "dovetail", "version": 1}}',
            "this is a SceneSnapshotCommit, not a SceneSnapshot; load the scene first, then update() it",
        ),
        (
            '{"__meta__": {"type": "SceneSnapshot", "format": "dovetail", "version": 1}}',
            "damaged: '__data__' is missing",
        ),
        (
            '{"__meta__": {"type": "SceneSnapshot", "format": "dovetail", "version": 1}, "__data__": {}}',
            "damaged: an entry is missing or wrong (KeyError('geometry_atlas'))",
        ),
    ],
)
def test_foreign_newer_and_empty_files_are_refused(tmp_path, text, says):
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(SceneError) as failure:
        SceneIO.load(path)
    assert says in str(failure.value) and "s.json" in str(failure.value)
    assert len(str(failure.value).splitlines()) == 1


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "s.json"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(SceneError, match="is damaged or not a scene file"):
        SceneIO.load(path)


def test_updating_with_a_whole_scene_says_what_to_do(scene, tmp_path):
    SceneIO(scene).save(tmp_path / "s.json")
    with pytest.raises(SceneError, match=r"this is a SceneSnapshot, not a SceneSnapshotCommit; load\(\) it instead"):
        SceneIO(scene).update(tmp_path / "s.json")


def test_an_update_that_does_not_fit_names_the_file_and_changes_nothing(scene, tmp_path):
    last = SceneSnapshot(scene)
    view(scene.geometries[1][0].geometry.transforms)[:] = 2
    view(scene.config.find("dt"))[:] = -1
    SceneIO(scene).commit(last, tmp_path / "bad.json")
    copy = last.build()
    with pytest.raises(SceneError, match=r"SceneIO\.update: '.*bad\.json': Scene config: 'dt' = -1\.0"):
        SceneIO(copy).update(tmp_path / "bad.json")
    assert_equal_scenes(copy, last.build())


def edited(document, path: str, value):
    """The document with one entry replaced (or removed, for None); numbers index lists."""
    copy = json.loads(json.dumps(document))
    place, *rest = copy, *path.split("/")
    for part in rest[:-1]:
        place = place[int(part)] if isinstance(place, list) else place[part]
    last = int(rest[-1]) if isinstance(place, list) else rest[-1]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return copy


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("object_collection", None),
        ("object_collection/objects/0/id", -1),
        ("object_collection/objects/0/id", "0"),
        ("object_collection/objects/0/name", 5),
        ("object_collection/objects/0/geometries", [0, 0]),
        ("object_collection/objects/0/geometries", [99]),
        ("object_collection/objects/1/id", 1),
        ("object_collection/next_id", "many"),
        ("geometry_slots/0/index", 99),
        ("geometry_slots/0", None),
        ("rest_geometry_slots", {}),
        ("contact_tabular/contact_elements", []),
        ("contact_tabular/contact_elements/0/name", None),
        ("subscene_tabular/resized", None),
        ("config", []),
        ("geometry_atlas/attributes", []),
        ("geometry_atlas/attributes/0/attribute/values", [1, 2]),
        ("geometry_atlas/attributes/0/type", "Vector5"),
        ("geometry_atlas/geometries/0/type", "Sphere"),
        ("geometry_atlas/geometries/0/collections/vertices/size", 2),
        ("geometry_atlas/geometries/0/collections/vertices/size", "x"),
        ("geometry_atlas/attribute_collections/config", None),
        ("geometry_atlas/attribute_collections/contact_models/attributes/topo", None),
    ],
)
def test_inconsistent_scenes_are_refused_in_one_sentence(scene, path, value):
    document = edited(SceneIO(scene).to_json(), "__data__/" + path, value)
    with pytest.raises(SceneError) as failure:
        SceneIO.from_json(document)
    assert len(str(failure.value).splitlines()) == 1 and len(str(failure.value)) < 400


def test_simplices_that_refer_to_missing_vertices_are_refused():
    scene = Scene()
    slot, _ = scene.objects.create("plate").geometries.create(trimesh(np.eye(3), [[0, 1, 2]]))
    slot.geometry.triangles["topo"] = [0, 1, 3]
    with pytest.raises(SceneError, match=r"geometry 0 of 'plate' has 3 vertices, but its Vector3i refer to .* 0..3"):
        SceneIO.from_json(SceneIO(scene).to_json())


def test_a_wrong_config_value_in_a_file_is_named(scene):
    document = SceneIO(scene).to_json()
    atlas = document["__data__"]["geometry_atlas"]
    index = atlas["attribute_collections"]["config"]["attributes"]["dt"]["index"]
    atlas["attributes"][index]["attribute"]["values"] = [-1.0]
    with pytest.raises(SceneError, match=r"'dt' = .*-1\.0"):
        SceneIO.from_json(document)


def test_lines_survive_too(tmp_path):
    scene = Scene()
    scene.objects.create("rope").geometries.create(linemesh(np.eye(3), [[0, 1], [1, 2]]))
    SceneIO(scene).save(tmp_path / "s.json")
    assert_equal_scenes(scene, SceneIO.load(tmp_path / "s.json"))
