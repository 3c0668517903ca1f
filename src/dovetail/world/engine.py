"""The engine: where a world computes, and where it keeps its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dovetail.checked import checked
from dovetail.errors import WorldError
from dovetail.logger import Logger
from dovetail.world.features import FeatureCollection

__all__ = ["Engine", "EngineStatus", "EngineStatusCollection"]

_BACKENDS = ("cpu", "cuda", "none")
_warned = False


class EngineStatus:
    """Something that happened in a step: type "error", "warning" or "info", and the message."""

    @checked(WorldError)
    def __init__(self, type: str, what: str) -> None:
        self._type, self._what = type, what

    def type(self) -> str:
        return self._type

    def what(self) -> str:
        return self._what

    @classmethod
    def info(cls, msg: str) -> EngineStatus:
        return cls("info", msg)

    @classmethod
    def warning(cls, msg: str) -> EngineStatus:
        return cls("warning", msg)

    @classmethod
    def error(cls, msg: str) -> EngineStatus:
        return cls("error", msg)

    def __repr__(self) -> str:
        return f"<{self._type}: {self._what}>"


class EngineStatusCollection:
    """What went wrong so far, oldest first."""

    def __init__(self) -> None:
        self._entries: list[EngineStatus] = []

    @checked(WorldError)
    def push_back(self, status: EngineStatus) -> None:
        self._entries.append(status)

    def has_error(self) -> bool:
        return any(entry.type() == "error" for entry in self._entries)

    def clear(self) -> None:
        self._entries.clear()

    def to_json(self) -> list[dict[str, str]]:
        return [{"type": entry.type(), "what": entry.what()} for entry in self._entries]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Any:
        return iter(self._entries)


class Engine:
    """A place to compute: `Engine("cpu")`, with a folder for dumps.

    "cuda" and "none" are accepted so that libuipc scripts run; for "cuda" there is one warning that the CPU does the
    work. The workspace is created if its parent exists.
    """

    @checked(WorldError)
    def __init__(
        self, backend_name: str = "cpu", workspace: str | Path = "./", config: Mapping[str, Any] | None = None
    ) -> None:
        global _warned
        name = str(backend_name).lower()
        if name not in _BACKENDS:
            raise WorldError(
                f"Engine: there is no backend '{backend_name}'; use 'cpu' ('cuda' and 'none' also mean the CPU here)."
            )
        if name == "cuda" and not _warned:
            _warned = True
            Logger.warn("Engine: 'cuda' runs on the CPU here; no GPU is needed. Use 'cpu' to silence this.")
        folder = Path(workspace)
        if not folder.parent.exists():
            raise WorldError(
                f"Engine: cannot make the workspace '{folder}', its parent folder does not exist; create it."
            )
        try:
            folder.mkdir(exist_ok=True)
        except (OSError, ValueError) as error:  # a name with a null byte is a ValueError
            why = getattr(error, "strerror", None) or error
            raise WorldError(
                f"Engine: cannot make the workspace '{folder}' ({why}); give a folder you may write to."
            ) from None
        self._name = name
        self._workspace = folder.resolve()
        self._config = {**self.default_config(), **(config or {})}
        self._status = EngineStatusCollection()
        self.last_step: Callable[[], tuple[int, Any]] = lambda: (0, None)
        """Frame and report of the last step; set by the world."""
        self.offered = FeatureCollection([])
        """What the world that uses this engine can do; set by it at init."""

    @staticmethod
    def default_config() -> dict[str, Any]:
        """libuipc's engine config; nothing in it concerns a CPU."""
        return {"gpu": {"device": 0}, "extras": {"gui": {"enable": True}}}

    def backend_name(self) -> str:
        return self._name

    def workspace(self) -> str:
        return str(self._workspace)

    def features(self) -> FeatureCollection:
        """Those of the world that uses this engine; none before its init."""
        return self.offered

    def status(self) -> EngineStatusCollection:
        return self._status

    def to_json(self) -> dict[str, Any]:
        return {"backend_name": self._name, "workspace": str(self._workspace), "config": self._config}

    def frame_stats(self) -> dict[str, Any]:
        """The last step's report as plain data; empty before the first."""
        frame, report = self.last_step()
        return {} if report is None else {"frame": frame, **asdict(report)}

    def __repr__(self) -> str:
        return f"<Engine '{self._name}' in {self._workspace}>"
