"""A thread beside the window whose exceptions count as errors of the script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.resident_thread import ResidentThread as PlainResidentThread
from dovetail.uipc.session import session

__all__ = ["ResidentThread"]


class ResidentThread(PlainResidentThread):
    """Runs one function at a time; an exception in it is logged, and the exit code of the script says so."""

    def __init__(self) -> None:
        super().__init__()
        session.workers.add(self)

    def post(self, func: Callable[[], Any]) -> bool:
        def noted() -> None:
            try:
                func()
            except Exception as error:
                session.errors.append(f"ResidentThread: {error}")
                raise

        return super().post(noted if callable(func) else func)
