"""The module `uipc.cli`: libuipc's command line, for which dovetail has its own."""

from __future__ import annotations

from typing import Any, NoReturn

from dovetail.errors import WorldError

__all__ = ["main"]


def main(*given: Any, **named: Any) -> NoReturn:
    """Raises WorldError."""
    raise WorldError("uipc.cli: libuipc's command line is not part of dovetail; see `dovetail --help`.")
