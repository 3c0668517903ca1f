"""Scene files: round trips bit by bit, damaged and foreign files, and never half a file."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

from dovetail.errors import SceneError
from dovetail.geometry import SimplicialComplex, ground, label_surface, linemesh, tetmesh, trimesh, view
from dovetail.io import SceneIO
from dovetail.scene import Scene
from dovetail.scene.scene_factory import SceneFactory
from dovetail.scene.snapshot import SceneSnapshot


def awkward_mesh() -> SimplicialComplex:
    """A mesh with an attribute of every type, and numbers that do not survive careless writing."""
    rng = np.random.default_rng(0)
    mesh = tetmesh(rng.normal(size=(4, 3)), [[0, 1, 2, 3]])
    label_surface(mesh)
    mesh.instances.resize(3)
    view(mesh.transforms)[:] = rng.normal(size=(3, 4, 4))
    mesh.vertices.create("awkward", math.inf)
    mesh.vertices["awkward"] = [math.nan, -math.inf, -0.0, 5e-324]
    mesh.vertices.create("pi", 0.0)
    mesh.vertices["pi"] = math.pi
    mesh.meta.create("large", 2**40)
    mesh.meta.create("uid", np.uint64(2**63 + 1))
    mesh.meta.create("small", np.uint32(7))
    mesh.instances.create("label", 'Tür "1"\n')
    mesh.instances.create("pair", np.array([1, -2], np.int32))
    mesh.instances.create("force", rng.normal(size=12))
    mesh.instances.create("mass", rng.normal(size=(12, 12)))
    mesh.meta.create_uid_list("constraint_uids").insert(2**40)
    mesh["joint"].resize(2)
    mesh["joint"].create("index", 3)
    return mesh


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


def assert_equal_scenes(a: Scene, b: Scene) -> None:
    """Every array equal bit by bit, every name, number and flag equal."""

    def assert_equal_collections(one, two):
        assert one.size() == two.size() and list(one) == list(two)
        for name in one:
            x, y = one.slot(name), two.slot(name)
            assert (x.type_name(), x.allow_destroy()) == (y.type_name(), y.allow_destroy())
            assert x.values.dtype == y.values.dtype and x.values.strides == y.values.strides, name
            if x.values.dtype == object:
                assert [np.asarray(v).tolist() for v in x.values] == [np.asarray(v).tolist() for v in y.values]
            else:
                assert x.values.tobytes() == y.values.tobytes(), name
        if one.size() != 1:  # defaults appear in new elements
            one_more, two_more = one.copy(), two.copy()
            for more in (one_more, two_more):
                more.resize(one.size() + 1)
            assert str(one_more.to_json()) == str(two_more.to_json())

    assert_equal_collections(a.config.attributes, b.config.attributes)
    for table in ("contact_tabular", "subscene_tabular"):
        one, two = getattr(a, table), getattr(b, table)
        assert [e.name() for e in one.elements] == [e.name() for e in two.elements]
        assert_equal_collections(one.attributes, two.attributes)
    assert a.contact_tabular.default_is_users == b.contact_tabular.default_is_users
    assert [(o.id(), o.name(), o.geometries.ids().tolist()) for o in a.objects] == [
        (o.id(), o.name(), o.geometries.ids().tolist()) for o in b.objects
    ]
    assert a.objects.created_count() == b.objects.created_count()
    assert a.geometries.created_count() == b.geometries.created_count()
    assert len(a.geometries) == len(b.geometries)
    for pair, other_pair in zip(a.geometries, b.geometries, strict=True):
        for slot, other in zip(pair, other_pair, strict=True):
            assert type(slot) is type(other)
            assert (slot.id(), slot.object_name) == (other.id(), other.object_name)
            collections = dict(slot.geometry.collections()), dict(other.geometry.collections())
            assert list(collections[0]) == list(collections[1])
            for name in collections[0]:
                assert_equal_collections(collections[0][name], collections[1][name])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


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
