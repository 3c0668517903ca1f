"""Engines as libuipc has them: 'cuda' and 'none' by their names, and engines written in Python."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.constitution.arguments import bind
from dovetail.errors import WorldError
from dovetail.world.engine import Engine as PlainEngine
from dovetail.world.engine import EngineStatusCollection
from dovetail.world.features import FeatureCollection

if TYPE_CHECKING:
    from dovetail.uipc.world import World

__all__ = ["Engine", "IEngine", "PyIEngine"]

_VARIABLE = "UIPC_ENGINE_DEFAULT_CONFIG"
_FORMS = (("workspace", "config"), ("overrider", "workspace", "config"))


class IEngine:
    """What computes; the base of engines written in Python."""


class PyIEngine(IEngine):
    """An engine of the script's own: override the `do_…` methods and `get_frame`.

    `world()` is the world that uses it, from `do_init` on.
    """

    def __init__(self) -> None:
        self._world: World | None = None
        self._status = EngineStatusCollection()
        self._features = FeatureCollection([])

    def do_init(self) -> None:
        raise NotImplementedError(f"{type(self).__name__}.do_init: write it; it prepares the scene of world().")

    def do_advance(self) -> None:
        raise NotImplementedError(f"{type(self).__name__}.do_advance: write it; it computes the next frame.")

    def do_sync(self) -> None:
        """Wait until the frame is computed."""

    def do_retrieve(self) -> None:
        """Write the frame into the scene."""

    def do_to_json(self) -> dict[str, Any]:
        return {}

    def do_dump(self) -> bool:
        return False

    def do_recover(self, dst_frame: int) -> bool:
        return False

    def get_frame(self) -> int:
        raise NotImplementedError(f"{type(self).__name__}.get_frame: write it; it returns the number of the frame.")

    def status(self) -> EngineStatusCollection:
        return self._status

    def features(self) -> FeatureCollection:
        return self._features

    def world(self) -> World | None:
        return self._world

    def attach(self, world: World) -> None:
        """Called by the world before `do_init`."""
        self._world = world


class Engine(PlainEngine):
    """`Engine(backend_name, workspace, config)` or `Engine(backend_name, overrider, workspace, config)`.

    Whatever the name, the CPU computes. A JSON file named by the environment variable UIPC_ENGINE_DEFAULT_CONFIG
    replaces the default config.
    """

    def __init__(self, backend_name: str, *given: Any, **named: Any) -> None:
        form = _FORMS[int("overrider" in named or (bool(given) and isinstance(given[0], IEngine)))]
        arguments = bind("Engine", [form], given, named, optional=(2,))
        self.overrider: PyIEngine | None = arguments.get("overrider")
        known = "cpu" if self.overrider is not None or str(backend_name).lower() == "cuda" else backend_name
        super().__init__(known, arguments.get("workspace", "./"), arguments.get("config"))
        self._script_name = str(backend_name).lower()

    @staticmethod
    def default_config() -> dict[str, Any]:
        file = os.environ.get(_VARIABLE)
        if not file:
            return PlainEngine.default_config()
        try:
            config = json.loads(Path(file).read_bytes())
        except (OSError, ValueError) as error:
            raise WorldError(f"Engine: {_VARIABLE} = '{file}' cannot be read as JSON ({error}).") from None
        if not isinstance(config, Mapping):
            raise WorldError(f"Engine: {_VARIABLE} = '{file}' holds no JSON object.")
        return dict(config)

    def backend_name(self) -> str:
        return self._script_name

    def status(self) -> EngineStatusCollection:
        return super().status() if self.overrider is None else self.overrider.status()

    def features(self) -> FeatureCollection:
        return super().features() if self.overrider is None else self.overrider.features()

    def to_json(self) -> dict[str, Any]:
        if self.overrider is not None:
            return self.overrider.do_to_json()
        return {**super().to_json(), "backend_name": self._script_name}
