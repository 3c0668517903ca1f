"""The scene: everything a simulation is described by, before and while a world runs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, Self, TypeAlias, overload

from dovetail.checked import checked, shown, whole
from dovetail.errors import SceneError
from dovetail.geometry.geometry import Geometry
from dovetail.geometry.slot import GeometrySlot, make_slot
from dovetail.logger import Logger
from dovetail.scene.animator import Animator
from dovetail.scene.config import ConfigAttributes
from dovetail.scene.config_schema import config_schema, default_config
from dovetail.scene.constitution_tabular import ConstitutionTabular
from dovetail.scene.contact_tabular import ContactTabular
from dovetail.scene.object import Object
from dovetail.scene.subscene_tabular import SubsceneTabular
from dovetail.world_lock import WorldLock

__all__ = ["Scene", "SceneGeometries", "SceneObjects"]

_Config: TypeAlias = ConfigAttributes  # inside the class, the name means its attribute Scene.ConfigAttributes


class SceneObjects:
    """The objects of a scene; called, it returns itself. Iteration yields them in order of their numbers."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._objects: dict[int, Object] = {}
        self._named: dict[str, dict[int, Object]] = {}
        self._next_id = 0

    def __call__(self) -> Self:
        return self

    def create(self, name: str = "") -> Object:
        """A new, empty object. Names need not be unique; error messages show them."""
        if not isinstance(name, str):
            raise SceneError(f"Scene.objects.create: an object's name must be a str, got {shown(name)}.")
        return self.restore(self._next_id, name)

    def restore(self, id: int, name: str) -> Object:
        """An object under a given number, which must be free (for files and snapshots)."""
        if id in self._objects:
            raise SceneError(f"Scene.objects: there is already an object {id}, '{self._objects[id].name()}'.")
        made = self._objects[id] = self._named.setdefault(name, {})[id] = Object(self._scene, id, name)
        self._next_id = max(self._next_id, id + 1)
        return made

    @overload
    def find(self, key: int) -> Object | None: ...
    @overload
    def find(self, key: str) -> list[Object]: ...
    @checked(SceneError)
    def find(self, key: int | str) -> Object | list[Object] | None:
        """By number: the object or None. By name: the list of objects with that name."""
        if isinstance(key, str):
            return [found for _, found in sorted(self._named.get(key, {}).items())]
        return self._objects.get(key)

    @checked(SceneError)
    def destroy(self, id: int) -> None:
        """Remove an object with its geometries and its animation. Refused once a world runs the scene."""
        candidate = self._objects.get(id)
        if candidate is None:
            Logger.warn(f"Scene.objects.destroy: there is no object {id}; nothing to do.")
            return
        self._scene.require_changeable(f"remove object '{candidate.name()}'")
        for geometry_id in candidate.geometries.ids().tolist():
            self._scene.geometries.discard(geometry_id)
        if self._scene.animator.has_animation(id):
            self._scene.animator.erase(id)
        del self._objects[id], self._named[candidate.name()][id]

    def size(self) -> int:
        return len(self._objects)

    def __len__(self) -> int:
        return len(self._objects)

    def created_count(self) -> int:
        """How many objects were ever created; the next one gets this number."""
        return self._next_id

    def count_from(self, next_id: int) -> None:
        """Let the next object get at least this number (for files and snapshots)."""
        self._next_id = max(self._next_id, next_id)

    def __iter__(self) -> Iterator[Object]:
        return iter([self._objects[id] for id in sorted(self._objects)])

    def __repr__(self) -> str:
        return f"<{len(self)} objects: {', '.join(repr(o.name()) for o in self)}>"


class SceneGeometries:
    """All geometries of a scene by number; called, it returns itself.

    Iteration yields (slot, rest slot) in order of numbers.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._slots: dict[int, tuple[GeometrySlot, GeometrySlot]] = {}
        self._next_id = 0

    def __call__(self) -> Self:
        return self

    @checked(SceneError)
    def find(self, id: int) -> tuple[GeometrySlot, GeometrySlot] | tuple[None, None]:
        """Slot of a geometry and of its rest shape, or (None, None)."""
        return self._slots.get(id, (None, None))

    @checked(SceneError)
    def __getitem__(self, id: int) -> tuple[GeometrySlot, GeometrySlot]:
        """Slot of a geometry that must be there and of its rest shape."""
        try:
            return self._slots[id]
        except KeyError:
            raise SceneError(f"Scene.geometries: there is no geometry {id}; there are {sorted(self._slots)}.") from None

    def __contains__(self, id: object) -> bool:
        return whole(id) in self._slots

    def __iter__(self) -> Iterator[tuple[GeometrySlot, GeometrySlot]]:
        return iter([self._slots[id] for id in sorted(self._slots)])

    def size(self) -> int:
        return len(self._slots)

    def __len__(self) -> int:
        return len(self._slots)

    def created_count(self) -> int:
        """How many geometries were ever created; the next one gets this number."""
        return self._next_id

    def count_from(self, next_id: int) -> None:
        """Let the next geometry get at least this number (for files and snapshots)."""
        self._next_id = max(self._next_id, next_id)

    def add(
        self, owner: Object, geometry: Geometry, rest: Geometry | None, id: int | None = None
    ) -> tuple[GeometrySlot, GeometrySlot]:
        """Store them for an object; `Object.geometries.create` is the public way."""
        self._scene.require_changeable(f"add a geometry to object '{owner.name()}'")
        id = self._next_id if id is None else id
        if id in self._slots:
            raise SceneError(f"Scene.geometries: there is already a geometry {id}.")
        name = owner.name()
        self._slots[id] = make_slot(id, geometry, name), make_slot(id, rest or geometry, name, later=rest is None)
        self._next_id = max(self._next_id, id + 1)
        owner._geometry_ids.append(id)
        return self._slots[id]

    def discard(self, id: int) -> None:
        """Forget a geometry; `Scene.objects.destroy` is the public way."""
        self._scene.require_changeable(f"remove geometry {id}")
        del self._slots[id]


class Scene:
    """Objects with their geometries, contact materials, subscenes, animations and the configuration.

    `config` overrides defaults leaf by leaf: nested as in `Scene.default_config()`, or flat as in
    `{"newton/max_iter": 50}`. All parts are properties that return themselves when called, so
    `scene.objects` and libuipc's `scene.objects()` are the same.
    """

    ConfigAttributes = ConfigAttributes
    Geometries = SceneGeometries
    Objects = SceneObjects

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self._config = ConfigAttributes(config)
        self._objects = SceneObjects(self)
        self._geometries = SceneGeometries(self)
        self._contact_tabular = ContactTabular()
        self._subscene_tabular = SubsceneTabular()
        self._constitution_tabular = ConstitutionTabular()
        self._animator = Animator(self)
        self._owner: str | None = None
        self._lock = WorldLock()

    @staticmethod
    def default_config() -> dict[str, Any]:
        """A fresh nested dictionary of all defaults."""
        return default_config()

    @staticmethod
    def config_schema() -> dict[str, Any]:
        """All keys with default, type, allowed values, unit, effect and meaning, as plain data."""
        return config_schema()

    @property
    def config(self) -> _Config:
        """`scene.config["dt"]` reads and writes values, `scene.config().find("dt")` gives the slot."""
        return self._config

    @property
    def objects(self) -> SceneObjects:
        return self._objects

    @property
    def geometries(self) -> SceneGeometries:
        return self._geometries

    @property
    def contact_tabular(self) -> ContactTabular:
        return self._contact_tabular

    @property
    def subscene_tabular(self) -> SubsceneTabular:
        return self._subscene_tabular

    @property
    def constitution_tabular(self) -> ConstitutionTabular:
        return self._constitution_tabular

    @property
    def animator(self) -> Animator:
        return self._animator

    def validate_config(self) -> None:
        """Check every configuration value again; raises ConfigError."""
        self._config.validate()

    def diff_sim(self) -> NoReturn:
        """Differentiable simulation is not part of dovetail: raises SceneError."""
        raise SceneError("Scene.diff_sim: differentiable simulation is not available in dovetail.")

    def freeze(self, owner: str) -> None:
        """Called by a world at init: from now on no geometry can be added or removed.

        `owner` names the world in error messages. A scene belongs to one world.
        """
        self.require_changeable("be given to another world")
        self._config.freeze(owner)
        self._owner = owner

    def thaw(self) -> None:
        """Called by a world that takes changes: geometries can be added and removed until it freezes the scene."""
        self._owner = None

    @property
    def is_frozen(self) -> bool:
        """Whether a world runs this scene."""
        return self._owner is not None

    def require_changeable(self, intent: str) -> None:
        """Raise SceneError that `intent` is too late, if a world runs this scene."""
        if self._owner is not None:
            raise SceneError(
                f"Scene: cannot {intent}, because {self._owner} has already been initialised with it; "
                "do it before World.init, or build a new Scene and World."
            )

    def __repr__(self) -> str:
        return f"<Scene: {self._objects!r}, {len(self._geometries)} geometries, {self._animator!r}>"
