"""What a script does while it runs: how far its worlds got, how long that took, and what went wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from dovetail.resident_thread import ResidentThread

__all__ = ["Session", "session"]

_SPARE_CALLS = 50
"""So many calls beyond the frames asked for, for scripts that do not advance at every call."""


@dataclass
class Session:
    """The record of one script; there is one per process, `session`."""

    limit: int | None = None
    """Frames after which a headless run ends; None with a window."""
    frames: int = 0
    """The highest frame that any world has reached."""
    steps: int = 0
    seconds: float = 0.0
    """Spent in the steps after the first, which may have to compile kernels."""
    worlds: int = 0
    """Worlds that were initialised."""
    failure: str = ""
    """Why the first world that became invalid did."""
    errors: list[str] = field(default_factory=list)
    """Exceptions that libuipc logs without stopping: those of animations and resident threads."""
    workers: WeakSet[ResidentThread] = field(default_factory=WeakSet)
    """Threads that compute beside a window; one without pictures to draw waits for them instead."""
    idle: int = 0
    """Calls of `advance` on worlds that are invalid."""

    @property
    def most_calls(self) -> int:
        """How often a headless window calls back, and waits for a world that will not move."""
        assert self.limit is not None
        return self.limit + _SPARE_CALLS

    @property
    def is_done(self) -> bool:
        """Whether a headless run has advanced as far as it was asked to."""
        return self.limit is not None and self.frames >= self.limit

    @property
    def is_stuck(self) -> bool:
        """Whether a headless script keeps advancing a world that is invalid, which would never end."""
        return self.limit is not None and self.idle > self.most_calls

    def reached(self, frame: int) -> None:
        self.frames = max(self.frames, frame)

    def stepped(self, frame: int, seconds: float) -> None:
        self.seconds += seconds if self.steps else 0.0
        self.steps += 1
        self.reached(frame)

    def failed(self, why: str) -> None:
        self.failure = self.failure or why

    @property
    def rate(self) -> float:
        """Steps per second, after the first."""
        return (self.steps - 1) / self.seconds if self.seconds > 0.0 else 0.0

    def summary(self) -> str:
        """Frames, steps per second and validity in one line."""
        state = "world valid" if self.worlds else "no world"
        if self.failure:
            state = f"world invalid ({self.failure})"
        return f"headless: {self.frames} frames, {self.rate:.1f} steps per second, {state}"


session = Session()
