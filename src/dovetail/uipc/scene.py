"""Scenes as libuipc has them: joint angles count turns, animations that fail are logged and the frame goes on."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

from dovetail import builtin
from dovetail.geometry import Geometry
from dovetail.logger import Logger
from dovetail.scene import Animator as PlainAnimator
from dovetail.scene import Object
from dovetail.scene import Scene as PlainScene
from dovetail.scene.animator import Callback, UpdateInfo
from dovetail.uipc.session import session

__all__ = ["Animator", "Scene"]

_SOFT_TRANSFORM, _BODY_FORCE = 16, 666
_STORED = {"number": "Float", "integer": "IndexT", "vector3": "Vector3", "string": "String"}


class Scene(PlainScene):
    """A scene whose revolute joints count turns in `angle`.

    Numbers for whole-numbered keys are truncated as libuipc does, and its other contact model `al-ipc` means the
    barrier, which keeps bodies apart as well.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        super().__init__({"joint": {"angle": "multi_turn"}, **_translated(config or {})})
        self._lenient_animator = Animator(self)

    @staticmethod
    def default_config() -> dict[str, Any]:
        config = PlainScene.default_config()
        config["joint"]["angle"] = "multi_turn"
        return config

    @staticmethod
    def config_schema() -> dict[str, Any]:
        """Also says what libuipc does: when a key is read (lifecycle) and whether it has an effect (status)."""
        schema = PlainScene.config_schema()
        for entry in schema["entries"].values():
            entry["storageType"] = _STORED[entry["type"]]
            entry["consumers"] = [] if entry["effect"] == "none" else ["dovetail"]
            entry["lifecycle"] = entry["effect"]
            entry["status"] = "reserved" if entry["effect"] == "none" else "active"
            if entry["type"] == "vector3":
                entry["componentCount"] = 3
        return {"schemaVersion": 1, "strictUnknownKeys": True, **schema}

    @property
    def animator(self) -> Animator:
        return self._lenient_animator


def _translated(config: Mapping[str, Any], group: str = "") -> dict[str, Any]:
    entries = Scene.config_schema()["entries"]
    found: dict[str, Any] = {}
    for name, value in config.items():
        key = f"{group}{name}"
        if isinstance(value, Mapping):
            found[name] = _translated(value, f"{key}/")
        elif entries.get(key, {}).get("type") == "integer" and isinstance(value, float):
            found[name] = int(value)
        elif key == "contact/constitution" and value == "al-ipc":
            Logger.warn("Scene config: contact/constitution = 'al-ipc' is not part of dovetail; 'ipc' is used.")
            found[name] = "ipc"
        else:
            found[name] = value
    return found


class Animator(PlainAnimator):
    """Animations whose exceptions are logged; the step is computed all the same."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._forced: list[Geometry] | None = None
        self._steered: set[int] = set()

    def insert(self, object: Object, callback: Callback) -> None:
        super().insert(object, _logged(object, callback) if callable(callback) else callback)

    def run(self, frame: int, dt: float) -> None:
        super().run(frame, dt)
        self._follow_older_flag()

    def _follow_older_flag(self) -> None:
        """Scripts for libuipc before 0.0.29 switch body forces with the instance attribute `is_constrained`.

        Once one of them has set it, it is the one that counts. Where the same attribute switches a soft transform it
        is not meant for the force.
        """
        if self._forced is None:
            self._forced = [slot.geometry for slot, _ in self._scene.geometries if _has_force_alone(slot.geometry)]
        for geometry in self._forced:
            older = geometry.instances.find(builtin.is_constrained)
            if older is None:
                continue
            if older.values.any():
                self._steered.add(id(geometry))
            if id(geometry) in self._steered:
                geometry.instances["external_force/is_constrained"] = older.values


def _has_force_alone(geometry: Geometry) -> bool:
    uids = geometry.meta.find(builtin.constraint_uids)
    return uids is not None and _BODY_FORCE in uids.values[0] and _SOFT_TRANSFORM not in uids.values[0]


def _logged(object: Object, callback: Callback) -> Callback:
    def call(info: UpdateInfo) -> None:
        try:
            callback(info)
        except Exception as error:
            trace = error.__traceback__
            lines = traceback.format_exception(type(error), error, trace.tb_next if trace else None)
            message = f"animation of object '{object.name()}' failed in frame {info.frame()}"
            session.errors.append(f"{message}: {error}")
            Logger.error(f"{message}; the frame goes on.\n{''.join(lines).rstrip()}")

    return call
