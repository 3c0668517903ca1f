"""The module `uipc.adapter.warp`: device buffers as arrays of warp, of which there are none on a CPU."""

from __future__ import annotations

from typing import Any, NoReturn

from dovetail.errors import WorldError

__all__ = ["buffer_view"]


def buffer_view(*given: Any, **named: Any) -> NoReturn:
    """There are no device buffers: raises WorldError."""
    raise WorldError("uipc.adapter.warp: there are no device buffers on a CPU; copy_to gives NumPy arrays.")
