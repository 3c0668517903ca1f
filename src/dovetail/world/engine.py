"""The engine: where a world computes, and where it keeps its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dovetail.errors import WorldError
from dovetail.logger import Logger

__all__ = ["Engine", "EngineStatus", "EngineStatusCollection"]

_BACKENDS = ("cpu", "cuda")
_warned = False


class EngineStatus:
    """Something that went wrong in a step: type "error" or "warning", and the message."""

    def __init__(self, type: str, what: str) -> None:
        self._type, self._what = type, what

    def type(self) -> str:
        return self._type

    def what(self) -> str:
        return self._what

    def __repr__(self) -> str:
        return f"<{self._type}: {self._what}>"


class EngineStatusCollection:
    """What went wrong so far, oldest first."""

    def __init__(self) -> None:
        self._entries: list[EngineStatus] = []

    def push(self, status: EngineStatus) -> None:
        self._entries.append(status)

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

    "cuda" is accepted so that libuipc scripts run; there is one warning that the CPU does the work. The workspace
    is created if its parent exists.
    """

    def __init__(
        self, backend_name: str = "cpu", workspace: str | Path = "./", config: Mapping[str, Any] | None = None
    ) -> None:
        global _warned
        name = str(backend_name).lower()
        if name not in _BACKENDS:
            raise WorldError(
                f"Engine: there is no backend '{backend_name}'; use 'cpu' ('cuda' also means the CPU here)."
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
        except OSError as error:
            raise WorldError(
                f"Engine: cannot make the workspace '{folder}' ({error.strerror}); give a folder you may write to."
            ) from None
        self._name = name
        self._workspace = folder.resolve()
        self._config = {**self.default_config(), **(config or {})}
        self._status = EngineStatusCollection()
        self.last_step: tuple[int, Any] | None = None
        """Frame and report of the last step; set by the world."""

    @staticmethod
    def default_config() -> dict[str, Any]:
        """libuipc's engine config; nothing in it concerns a CPU."""
        return {"gpu": {"device": 0}, "extras": {"gui": {"enable": True}}}

    def backend_name(self) -> str:
        return self._name

    def workspace(self) -> str:
        return str(self._workspace)

    def status(self) -> EngineStatusCollection:
        return self._status

    def to_json(self) -> dict[str, Any]:
        return {"backend_name": self._name, "workspace": str(self._workspace), "config": self._config}

    def frame_stats(self) -> dict[str, Any]:
        """The last step's report as plain data; empty before the first."""
        if self.last_step is None:
            return {}
        frame, report = self.last_step
        return {"frame": frame, **asdict(report)}

    def __repr__(self) -> str:
        return f"<Engine '{self._name}' in {self._workspace}>"
