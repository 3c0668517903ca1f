"""The module `uipc.stats`."""

from __future__ import annotations

from dovetail.stats import SimulationStats

__all__ = ["SimulationStats"]
