"""Snapshots: the state of a scene at one moment, the difference of two, and going from one to the other.

    before = SceneSnapshot(scene)
    ...
    commit = SceneSnapshot(scene) - before     # what changed
    commit.apply_to(copy_of_scene)

A snapshot shares its values with the scene until the scene writes, so taking one is cheap. Animations are
functions and are not part of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.checked import checked
from dovetail.errors import SceneError
from dovetail.geometry.collection import AttributeCollection
from dovetail.geometry.geometry import Geometry
from dovetail.scene.commit import CollectionCommit, GeometryCommit
from dovetail.scene.config import ConfigAttributes
from dovetail.scene.config_schema import KEYS
from dovetail.scene.scene import Scene

__all__ = ["ObjectRecord", "SceneSnapshot", "SceneSnapshotCommit", "TableCommit", "TableRecord"]


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """Name and geometry numbers of an object."""

    name: str
    geometries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TableRecord:
    """Element names and rows of a contact or subscene table."""

    elements: tuple[str, ...]
    models: AttributeCollection


@dataclass(frozen=True, slots=True)
class TableCommit:
    """All element names and the changed rows of a contact or subscene table."""

    elements: tuple[str, ...]
    models: CollectionCommit

    @classmethod
    def between(cls, new: TableRecord, old: TableRecord | None) -> TableCommit:
        return cls(new.elements, CollectionCommit.between(new.models, None if old is None else old.models))


class SceneSnapshot:
    """Configuration, tables, objects and geometries of a scene at the moment it was made."""

    config: AttributeCollection
    contact: TableRecord
    contact_default_is_users: bool
    subscene: TableRecord
    objects: dict[int, ObjectRecord]
    object_next_id: int
    geometries: dict[int, Geometry]
    rest_geometries: dict[int, Geometry]
    geometry_next_id: int

    @checked(SceneError)
    def __init__(self, scene: Scene) -> None:
        self.config = scene.config.attributes.copy()
        self.contact, self.subscene = (
            TableRecord(tuple(element.name() for element in table.elements), table.attributes.copy())
            for table in (scene.contact_tabular, scene.subscene_tabular)
        )
        self.contact_default_is_users = scene.contact_tabular.default_is_users
        self.objects = {
            each.id(): ObjectRecord(each.name(), tuple(each.geometries.ids().tolist())) for each in scene.objects
        }
        self.object_next_id = scene.objects.created_count()
        self.geometries = {slot.id(): slot.geometry.copy() for slot, _ in scene.geometries}
        self.rest_geometries = {rest.id(): rest.geometry.copy() for _, rest in scene.geometries}
        self.geometry_next_id = scene.geometries.created_count()

    @checked(SceneError)
    def __sub__(self, old: SceneSnapshot) -> SceneSnapshotCommit:
        """What leads from `old` to this snapshot."""
        return SceneSnapshotCommit.between(self, old)

    def build(self) -> Scene:
        """A new scene in this state."""
        scene = Scene()
        SceneSnapshotCommit.between(self, None).apply_to(scene)
        return scene


@dataclass(frozen=True, slots=True)
class SceneSnapshotCommit:
    """What changed in a scene: single attributes of the configuration, tables and geometries; all objects.

    `geometries` holds changed and new ones, `rest_geometries` likewise; a geometry that no object lists any
    more is gone.
    """

    config: CollectionCommit
    contact: TableCommit
    contact_default_is_users: bool
    subscene: TableCommit
    objects: dict[int, ObjectRecord]
    object_next_id: int
    geometries: dict[int, GeometryCommit]
    rest_geometries: dict[int, GeometryCommit]
    geometry_next_id: int

    @classmethod
    @checked(SceneError)
    def between(cls, new: SceneSnapshot, old: SceneSnapshot | None) -> SceneSnapshotCommit:
        """What leads from `old` (None: any scene without objects) to `new`."""
        return cls(
            CollectionCommit.between(new.config, None if old is None else old.config),
            TableCommit.between(new.contact, None if old is None else old.contact),
            new.contact_default_is_users,
            TableCommit.between(new.subscene, None if old is None else old.subscene),
            dict(new.objects),
            new.object_next_id,
            _changed(new.geometries, {} if old is None else old.geometries),
            _changed(new.rest_geometries, {} if old is None else old.rest_geometries),
            new.geometry_next_id,
        )

    def apply_to(self, scene: Scene) -> None:
        """Bring a scene from the old state to the new one. If it cannot be done, nothing is changed."""
        self._check(scene)
        self.config.apply_to(scene.config.attributes)
        scene.contact_tabular.restore(self.contact.elements, self.contact.models)
        scene.contact_tabular.default_is_users = self.contact_default_is_users
        scene.subscene_tabular.restore(self.subscene.elements, self.subscene.models)
        for present in scene.objects:
            if self.objects.get(present.id()) is None:
                scene.objects.destroy(present.id())
        for id, record in sorted(self.objects.items()):
            owner = scene.objects.find(id) or scene.objects.restore(id, record.name)
            for geometry_id in record.geometries:
                if geometry_id in scene.geometries:
                    self._update(scene, geometry_id)
                else:
                    geometry, rest = self.geometries[geometry_id], self.rest_geometries[geometry_id]
                    scene.geometries.add(owner, geometry.build(), rest.build(), geometry_id)
        scene.objects.count_from(self.object_next_id)
        scene.geometries.count_from(self.geometry_next_id)

    def _update(self, scene: Scene, id: int) -> None:
        for commits, slot in zip((self.geometries, self.rest_geometries), scene.geometries[id], strict=True):
            if id in commits:
                commits[id].apply_to(slot.geometry)

    def _check(self, scene: Scene) -> None:
        """Raise SceneError, or ConfigError, if this commit does not fit the scene."""
        candidate = ConfigAttributes()
        CollectionCommit.between(scene.config.attributes, None).apply_to(candidate.attributes)
        self.config.apply_to(candidate.attributes)
        candidate.validate()
        if any(KEYS[name].effect == "at init" for name in self.config.changed):
            scene.require_changeable("change the configuration")
        scene.contact_tabular.check(self.contact.elements, self.contact.models)
        scene.subscene_tabular.check(self.subscene.elements, self.subscene.models)
        names = {id: record.name for record in self.objects.values() for id in record.geometries}
        listed = set(names)
        present = {slot.id() for slot, _ in scene.geometries}
        if listed != present or {each.id() for each in scene.objects} - set(self.objects):
            scene.require_changeable("add or remove geometries")
        for id, record in self.objects.items():
            known = scene.objects.find(id)
            if known is not None and (
                known.name() != record.name or set(known.geometries.ids().tolist()) - set(record.geometries)
            ):
                raise SceneError(
                    f"the commit knows object {id} as '{record.name}' with geometries "
                    f"{list(record.geometries)}, the scene as '{known.name()}' with "
                    f"{known.geometries.ids().tolist()}; it belongs to another scene."
                )
        for id in sorted(listed):
            for commits, which in ((self.geometries, 0), (self.rest_geometries, 1)):
                target = scene.geometries[id][which].geometry if id in present else None
                if target is None and (id not in commits or not commits[id].is_complete()):
                    raise SceneError(
                        f"the commit changes geometry {id}, which this scene does not have; apply the "
                        "earlier commits first."
                    )
                if id in commits:
                    commits[id].check(target, f"geometry {id} of '{names[id]}'")


def _changed(new: dict[int, Geometry], old: dict[int, Geometry]) -> dict[int, GeometryCommit]:
    commits = {id: GeometryCommit.between(geometry, old.get(id)) for id, geometry in new.items()}
    return {id: commit for id, commit in commits.items() if not commit.is_empty()}
