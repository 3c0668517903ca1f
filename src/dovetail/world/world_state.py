"""The state of a world between two frames, kept in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail.typing import Array

__all__ = ["WorldState"]


@dataclass(frozen=True)
class WorldState:
    """Everything the next step depends on besides the scene's attributes; made by `World.state`.

    frame       the frame it is the state of
    scene       fingerprint of the scene; only a world with the same one takes the state
    arrays      copies of the solver's arrays by name
    """

    frame: int
    scene: str = field(repr=False)
    arrays: dict[str, Array] = field(repr=False)
