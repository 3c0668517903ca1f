"""The module `uipc.profile`: libuipc's profiling of GPU kernels."""

from __future__ import annotations

from typing import Any, NoReturn

from dovetail.errors import WorldError

__all__ = ["profile"]


def profile(*given: Any, **named: Any) -> NoReturn:
    """There is no GPU to profile: raises WorldError."""
    raise WorldError("uipc.profile: there is no GPU to profile; use Timer.report() or uipc.stats.SimulationStats.")
