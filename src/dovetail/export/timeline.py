"""Which frames of a recording are shown when it is played."""

from __future__ import annotations

import numpy as np

from dovetail.typing import Array, Indices

__all__ = ["evenly", "thinned"]


def _played(times: Array, speed: float) -> tuple[int, Array]:
    """The first frame that is shown, and when each from it on is [s of playback].

    A recording that goes back in time, as after `World.recover`, is shown from its last beginning on.
    """
    back = np.flatnonzero(np.diff(times) <= 0.0)
    first = int(back[-1]) + 1 if len(back) else 0
    return first, (times[first:] - times[first]) / speed


def thinned(times: Array, fps: float, speed: float) -> tuple[Indices, Array]:
    """Numbers of frames, at most `fps` for each second of playback and the last one, and when each is shown."""
    first, shown = _played(times, speed)
    slot = np.floor(shown * fps + 1e-6).astype(np.int64)
    kept = np.flatnonzero(np.diff(slot, prepend=-1) > 0)
    if kept[-1] != len(shown) - 1:
        kept = np.append(kept, len(shown) - 1)
    return kept + first, shown[kept]


def evenly(times: Array, fps: float, speed: float) -> Indices:
    """The frame nearest to each of the moments 0, 1/fps, 2/fps, … of playback."""
    first, shown = _played(times, speed)
    ticks = np.arange(int(np.floor(shown[-1] * fps + 1e-6)) + 1) / fps
    between = (shown[1:] + shown[:-1]) / 2
    chosen: Indices = np.searchsorted(between, ticks) + first
    return chosen
