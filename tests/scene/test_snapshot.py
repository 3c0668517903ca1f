"""Snapshots and commits: what changed, and only that, goes from one scene to another."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail.errors import ConfigError, SceneError
from dovetail.geometry import ImplicitGeometry, SimplicialComplex, view
from dovetail.geometry.create import trimesh
from dovetail.scene import Scene
from dovetail.scene.snapshot import SceneSnapshot, SceneSnapshotCommit


def plate(name_value: str = "steel") -> SimplicialComplex:
    geometry = trimesh(np.eye(3), [[0, 1, 2]])
    geometry.instances.resize(2)
    geometry.meta.create("material", name_value)
    geometry.vertices.create("temperature", math.nan)
    geometry.meta.create_uid_list("extra_constitution_uids").insert(7)
    return geometry


def small_scene() -> Scene:
    scene = Scene({"dt": 0.02, "gravity": [0, 0, -9.8]})
    scene.objects.create("removed later")
    door = scene.objects.create("door")
    door.geometries.create(plate())
    door.geometries.create(ImplicitGeometry())
    scene.objects.create("empty")
    scene.objects.destroy(0)
    rubber = scene.contact_tabular.create("rubber")
    scene.contact_tabular.insert(rubber, scene.contact_tabular.default_element(), 0.9, 1e7)
    scene.subscene_tabular.insert(scene.subscene_tabular.create("left"), scene.subscene_tabular.create("right"))
    return scene


def everything(scene: Scene) -> dict:
    """All a scene holds, as plain values (text keeps NaN comparable)."""
    return {
        "config": scene.config.to_json(),
        "contact": (
            [e.name() for e in scene.contact_tabular.elements],
            scene.contact_tabular.attributes.to_json(),
        ),
        "users": scene.contact_tabular.default_is_users,
        "subscene": (
            [e.name() for e in scene.subscene_tabular.elements],
            scene.subscene_tabular.attributes.to_json(),
        ),
        "objects": [(o.id(), o.name(), o.geometries.ids().tolist()) for o in scene.objects],
        "geometries": [
            (slot.id(), slot.object_name, slot.geometry.to_json(), rest.geometry.to_json())
            for slot, rest in scene.geometries
        ],
        "counts": (scene.objects.created_count(), scene.geometries.created_count()),
    }


def test_a_snapshot_builds_an_equal_scene():
    scene = small_scene()
    assert everything(SceneSnapshot(scene).build()) == everything(scene)


def test_a_snapshot_does_not_follow_the_scene():
    scene = small_scene()
    snapshot, before = SceneSnapshot(scene), everything(scene)
    scene.config["dt"] = 0.5
    view(scene.geometries[0][0].geometry.transforms)[:] = 3
    scene.contact_tabular.default_model(0.1, 1e5)
    scene.objects.destroy(1)
    assert everything(snapshot.build()) == before


def test_nothing_changed_means_an_empty_commit():
    scene = small_scene()
    commit = SceneSnapshot(scene) - SceneSnapshot(scene)
    assert commit.config.is_empty() and commit.contact.models.is_empty() and commit.subscene.models.is_empty()
    assert commit.geometries == {} and commit.rest_geometries == {}


def test_writing_the_same_values_again_is_no_change():
    scene = small_scene()
    before = SceneSnapshot(scene)
    transforms = view(scene.geometries[0][0].geometry.transforms)
    transforms[:] = transforms.copy()
    assert (SceneSnapshot(scene) - before).geometries == {}


def test_a_commit_holds_only_the_attributes_that_changed():
    scene = small_scene()
    before = SceneSnapshot(scene)
    geometry = scene.geometries[0][0].geometry
    view(geometry.transforms)[1] = 2 * np.eye(4)
    geometry.vertices.destroy("temperature")
    geometry.triangles.create("is_surf", 1)
    scene.config["newton/max_iter"] = 9
    commit = SceneSnapshot(scene) - before
    assert list(commit.config.changed) == ["newton/max_iter"]
    assert list(commit.geometries) == [0] and commit.rest_geometries == {}
    changed = {name: list(c.changed) for name, c in commit.geometries[0].collections.items()}
    assert changed == {"instances": ["transform"], "vertices": [], "triangles": ["is_surf"]}
    assert commit.geometries[0].collections["vertices"].removed == ("temperature",)


def test_a_commit_brings_a_copy_to_the_new_state_and_keeps_its_slots():
    scene = small_scene()
    before = SceneSnapshot(scene)
    copy = before.build()
    slot, _ = copy.geometries[0]
    attribute = slot.geometry.transforms
    geometry = scene.geometries[0][0].geometry
    geometry.instances.resize(3)
    view(geometry.transforms)[2] = 5
    geometry.meta.destroy("material")
    geometry.meta.create("material", 4)
    view(scene.geometries[0][1].geometry.positions)[0] = 8
    scene.objects.find(2).geometries.create(plate("wood"))
    scene.objects.create("new").geometries.create(plate("glass"))
    scene.objects.create("late")
    scene.contact_tabular.default_model(0.1, builtin_adaptive := -1.0)
    scene.contact_tabular.create("ice")
    scene.config["gravity"] = [1, 2, 3]
    (SceneSnapshot(scene) - before).apply_to(copy)
    assert everything(copy) == everything(scene)
    assert copy.geometries[0][0] is slot and slot.geometry.transforms is attribute
    assert attribute.size() == 3 and copy.contact_tabular.at(0, 0).resistance() == builtin_adaptive
    assert copy.contact_tabular.default_is_users


def test_removed_objects_go_with_their_geometries():
    scene = small_scene()
    before = SceneSnapshot(scene)
    copy = before.build()
    scene.objects.destroy(1)
    (SceneSnapshot(scene) - before).apply_to(copy)
    assert everything(copy) == everything(scene) and len(copy.geometries) == 0


def moved_door() -> SceneSnapshotCommit:
    """A commit that moves the first geometry of object 1, 'door', which has two."""
    geometry = trimesh(np.eye(3), [[0, 1, 2]])
    geometry.instances.resize(2)
    scene = with_door(geometry, ImplicitGeometry())
    before = SceneSnapshot(scene)
    view(scene.geometries[0][0].geometry.transforms)[:] = 2
    return SceneSnapshot(scene) - before


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (lambda: Scene(), "the commit changes geometry 0, which this scene does not have; apply the earlier"),
        (
            lambda: with_door(ImplicitGeometry(), ImplicitGeometry()),
            "geometry 0 of 'door' is a ImplicitGeometry",
        ),
        (
            lambda: with_door(plate_of_one(), ImplicitGeometry()),
            "instances has 1 elements, the commit was made for 2",
        ),
        (
            lambda: with_door(name="gate"),
            "knows object 1 as 'door' with geometries [0, 1], the scene as 'gate' with",
        ),
        (lambda: small_scene(), "ContactTabular has 2 elements, the commit was made for 1"),
    ],
)
def test_a_commit_for_another_scene_changes_nothing(other, says):
    scene = other()
    state = everything(scene)
    with pytest.raises(SceneError) as failure:
        moved_door().apply_to(scene)
    assert says in str(failure.value)
    assert everything(scene) == state


def plate_of_one() -> SimplicialComplex:
    return trimesh(np.eye(3), [[0, 1, 2]])


def with_door(*geometries, name: str = "door") -> Scene:
    scene = Scene()
    scene.objects.create("frame")
    door = scene.objects.create(name)
    for geometry in geometries:
        door.geometries.create(geometry)
    return scene


def test_a_running_scene_takes_new_values_but_no_new_geometries():
    scene = small_scene()
    before = SceneSnapshot(scene)
    copy = before.build()
    copy.freeze("the world")
    view(scene.geometries[0][0].geometry.transforms)[:] = 2
    scene.config["dt"] = 0.3
    moved = SceneSnapshot(scene)
    (moved - before).apply_to(copy)
    assert everything(copy) == everything(scene)
    scene.config["newton/max_iter"] = 3
    with pytest.raises(SceneError, match="cannot change the configuration, because the world has"):
        (SceneSnapshot(scene) - moved).apply_to(copy)
    scene.config["newton/max_iter"] = 1024
    scene.objects.create("new").geometries.create(plate())
    with pytest.raises(SceneError, match="cannot add or remove geometries, because the world has"):
        (SceneSnapshot(scene) - moved).apply_to(copy)


def test_a_commit_with_a_bad_configuration_is_refused_before_anything_changes():
    scene, copy = small_scene(), small_scene()
    before = SceneSnapshot(scene)
    view(scene.config.find("dt"))[:] = -1
    view(scene.geometries[0][0].geometry.transforms)[:] = 2
    state = everything(copy)
    with pytest.raises(ConfigError, match="'dt' = "):
        (SceneSnapshot(scene) - before).apply_to(copy)
    assert everything(copy) == state


def test_between_nothing_and_a_snapshot_is_everything():
    scene = small_scene()
    commit = SceneSnapshotCommit.between(SceneSnapshot(scene), None)
    assert commit.geometries[0].is_complete() and set(commit.config.changed) == set(scene.config)
