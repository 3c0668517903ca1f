"""The engines of the comparison, by the names that reports use."""

from __future__ import annotations

from dovetail.bench.engines.engine import ENGINES, Engine, Entry, find

__all__ = ["ENGINES", "Engine", "Entry", "find"]
