"""The command line: `dovetail demo`, `run`, `view`, `export`, `check`, `uipc`, `bench`, `info`, `warmup`."""

from __future__ import annotations

from dovetail.cli.main import main

__all__ = ["main"]
