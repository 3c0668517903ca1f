"""Scenes, snapshots and commits as JSON values.

    __meta__   type (SceneSnapshot or SceneSnapshotCommit), format "dovetail", version
    __data__   contact_tabular, subscene_tabular: their elements
               object_collection: objects with the numbers of their geometries
               geometry_slots, rest_geometry_slots: number of each geometry and its place in the atlas
               geometry_atlas: attributes (each once), geometries, and the collections config,
               contact_models, subscene_models; in a commit also those of changed geometries

Reading never runs code, and refuses what is incomplete, contradictory, foreign or newer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dovetail.checked import checked, shown
from dovetail.errors import DovetailError, SceneError
from dovetail.geometry.atlas import GeometryAtlas
from dovetail.geometry.collection import AttributeCollection
from dovetail.scene.commit import CollectionCommit, GeometryCommit
from dovetail.scene.scene import Scene
from dovetail.scene.snapshot import ObjectRecord, SceneSnapshot, SceneSnapshotCommit, TableCommit

__all__ = ["SceneFactory", "commit_from_json", "commit_to_json", "scene_from_json", "snapshot_to_json"]

_FORMAT, _VERSION = "dovetail", 1
_SNAPSHOT, _COMMIT = "SceneSnapshot", "SceneSnapshotCommit"
_TABLES = ("contact", "subscene")

Json = dict[str, Any]
T = TypeVar("T")


class SceneFactory:
    """Turns snapshots and commits into JSON values and back."""

    @checked(SceneError)
    def to_json(self, snapshot: SceneSnapshot) -> Json:
        return snapshot_to_json(snapshot)

    @checked(SceneError)
    def from_json(self, json: Json) -> SceneSnapshot:
        return SceneSnapshot(scene_from_json(json))

    @checked(SceneError)
    def from_snapshot(self, snapshot: SceneSnapshot) -> Scene:
        """A new scene in the state of the snapshot."""
        return snapshot.build()

    def commit_to_json(self, commit: SceneSnapshotCommit) -> Json:
        return commit_to_json(commit)

    def commit_from_json(self, json: Json) -> SceneSnapshotCommit:
        return commit_from_json(json)


def snapshot_to_json(snapshot: SceneSnapshot) -> Json:
    """The whole snapshot; `scene_from_json` makes a scene of it, every attribute equal bit by bit."""
    atlas = GeometryAtlas()
    slots = {
        kind: [{"id": id, "index": atlas.create(geometry)} for id, geometry in sorted(geometries.items())]
        for kind, geometries in (
            ("geometry_slots", snapshot.geometries),
            ("rest_geometry_slots", snapshot.rest_geometries),
        )
    }
    return _written(_SNAPSHOT, SceneSnapshotCommit.between(snapshot, None), atlas, slots)


@checked(SceneError)
def commit_to_json(commit: SceneSnapshotCommit) -> Json:
    """What changed; `commit_from_json` reads it."""
    atlas = GeometryAtlas()
    slots: Json = {}
    for kind, commits in _slots_of(commit).items():
        slots[kind] = []
        for id, geometry in sorted(commits.items()):
            for name, part in geometry.collections.items():
                atlas.create(f"{kind}/{id}/{name}", part.changed)
            collections = {name: _commit_json(part) for name, part in geometry.collections.items()}
            slots[kind].append({"id": id, "type": geometry.kind, "collections": collections})
    return _written(_COMMIT, commit, atlas, slots)


def scene_from_json(json: Json) -> Scene:
    """The scene of a snapshot's JSON; raises SceneError."""
    return _guarded(lambda: _scene(_data(json, _SNAPSHOT)))


@checked(SceneError)
def commit_from_json(json: Json) -> SceneSnapshotCommit:
    """The commit of a commit's JSON; raises SceneError."""
    return _guarded(lambda: _commit(_data(json, _COMMIT)))


# --- writing ----------------------------------------------------------------------------------------------


def _written(kind: str, commit: SceneSnapshotCommit, atlas: GeometryAtlas, slots: Json) -> Json:
    data: Json = {"object_collection": {"next_id": commit.object_next_id, "objects": []}}
    for id, record in sorted(commit.objects.items()):
        entry = {"id": id, "name": record.name, "geometries": list(record.geometries)}
        data["object_collection"]["objects"].append(entry)
    for name, table in zip(_TABLES, (commit.contact, commit.subscene), strict=True):
        elements = [{"id": i, "name": element} for i, element in enumerate(table.elements)]
        atlas.create(f"{name}_models", table.models.changed)
        data[f"{name}_tabular"] = {f"{name}_elements": elements, **_commit_json(table.models)}
    data["contact_tabular"]["default_is_users"] = commit.contact_default_is_users
    atlas.create("config", commit.config.changed)
    data["config"] = _commit_json(commit.config)
    for name, entries in slots.items():
        data[name] = entries
        data[f"{name}_next_id"] = commit.geometry_next_id
    data["geometry_atlas"] = atlas.to_json()
    return {"__meta__": {"type": kind, "format": _FORMAT, "version": _VERSION}, "__data__": data}


def _commit_json(commit: CollectionCommit) -> Json:
    return {"removed": list(commit.removed), "resized": commit.resized}


def _slots_of(commit: SceneSnapshotCommit) -> dict[str, dict[int, GeometryCommit]]:
    return {"geometry_slots": commit.geometries, "rest_geometry_slots": commit.rest_geometries}


# --- reading ----------------------------------------------------------------------------------------------


def _guarded(read: Callable[[], T]) -> T:
    try:
        return read()
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise SceneError(f"the scene is damaged: an entry is missing or wrong ({error!r}).") from None
    except SceneError:
        raise
    except DovetailError as error:
        raise SceneError(f"the scene is damaged: {error}") from None


def _data(json: Any, kind: str) -> Json:
    meta = json.get("__meta__") if isinstance(json, dict) else None
    if not isinstance(meta, dict) or meta.get("type") not in (_SNAPSHOT, _COMMIT):
        raise SceneError("this is not a scene: '__meta__' does not say so.")
    if meta.get("format") != _FORMAT:
        raise SceneError(
            "this scene was written by another program, not by dovetail; run the script that builds it "
            "with dovetail and save it again."
        )
    if not isinstance(meta.get("version"), int) or meta["version"] > _VERSION:
        raise SceneError(
            f"this scene has format version {meta.get('version')!r}, this dovetail reads up to {_VERSION}; "
            "update dovetail."
        )
    if meta["type"] != kind:
        advice = "load the scene first, then update() it" if kind == _SNAPSHOT else "load() it instead"
        raise SceneError(f"this is a {meta['type']}, not a {kind}; {advice}.")
    if not isinstance(json.get("__data__"), dict):
        raise SceneError("the scene is damaged: '__data__' is missing.")
    return dict(json["__data__"])


def _scene(data: Json) -> Scene:
    atlas = _atlas(data)
    geometries: dict[str, dict[int, GeometryCommit]] = {}
    for kind in ("geometry_slots", "rest_geometry_slots"):
        geometries[kind] = {}
        for slot in data[kind]:
            geometry = atlas.find(_number(slot["index"]))
            if geometry is None:
                raise SceneError(f"the scene is damaged: there is no geometry {slot['index']} in its atlas.")
            geometries[kind][_number(slot["id"])] = GeometryCommit.between(geometry, None)
    scene = Scene()
    _assembled(data, atlas, *geometries.values()).apply_to(scene)
    return scene


def _commit(data: Json) -> SceneSnapshotCommit:
    atlas = _atlas(data)
    geometries: dict[str, dict[int, GeometryCommit]] = {}
    for kind in ("geometry_slots", "rest_geometry_slots"):
        geometries[kind] = {}
        for slot in data[kind]:
            id = _number(slot["id"])
            parts = {
                name: _collection_commit(entry, atlas, f"{kind}/{id}/{name}")
                for name, entry in slot["collections"].items()
            }
            geometries[kind][id] = GeometryCommit(str(slot["type"]), parts)
    return _assembled(data, atlas, *geometries.values())


def _assembled(
    data: Json, atlas: GeometryAtlas, geometries: dict[int, GeometryCommit], rest: dict[int, GeometryCommit]
) -> SceneSnapshotCommit:
    contact, subscene = (_table(data[f"{name}_tabular"], atlas, name) for name in _TABLES)
    return SceneSnapshotCommit(
        _collection_commit(data["config"], atlas, "config"),
        contact,
        bool(data["contact_tabular"]["default_is_users"]),
        subscene,
        _objects(data["object_collection"]),
        _number(data["object_collection"]["next_id"]),
        geometries,
        rest,
        _number(data["geometry_slots_next_id"]),
    )


def _atlas(data: Json) -> GeometryAtlas:
    atlas = GeometryAtlas()
    atlas.from_json(data["geometry_atlas"])
    return atlas


def _objects(written: Json) -> dict[int, ObjectRecord]:
    records: dict[int, ObjectRecord] = {}
    taken: set[int] = set()
    for entry in written["objects"]:
        id, ids = _number(entry["id"]), [_number(geometry) for geometry in entry["geometries"]]
        if id in records or len(set(ids) - taken) != len(ids):
            raise SceneError(f"the scene is damaged: object {id} or one of its geometries occurs twice.")
        taken.update(ids)
        records[id] = ObjectRecord(_text(entry["name"]), tuple(ids))
    return records


def _table(written: Json, atlas: GeometryAtlas, name: str) -> TableCommit:
    elements = tuple(_text(element["name"]) for element in written[f"{name}_elements"])
    return TableCommit(elements, _collection_commit(written, atlas, f"{name}_models"))


def _collection_commit(written: Json, atlas: GeometryAtlas, name: str) -> CollectionCommit:
    changed = atlas.find(name)
    if not isinstance(changed, AttributeCollection):
        raise SceneError(f"the scene is damaged: its atlas has no collection '{name}'.")
    return CollectionCommit(changed, tuple(_text(n) for n in written["removed"]), bool(written["resized"]))


def _number(value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise SceneError(f"the scene is damaged: {shown(value)} is not a number of an object or geometry.")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise SceneError(f"the scene is damaged: {shown(value)} is not a name.")
    return value
