"""Replays: a recording as one HTML file that plays in any browser, without a network and without dovetail."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from dovetail.errors import ViewerError
from dovetail.files import atomic_write
from dovetail.io.recording import Recording
from dovetail.typing import Array, Indices
from dovetail.viewer.server import close_server, open_server, with_title
from dovetail.viewer.source import joint_offsets
from dovetail.viewer.stage import Stage, bounds_of

__all__ = ["replay"]

_SAMPLES = 12  # frames that the camera is framed by


def replay(
    recording: Recording | str | PathLike[str],
    path: str | PathLike[str],
    *,
    fps: float = 30.0,
    speed: float = 1.0,
    overwrite: bool = False,
) -> Path:
    """Write a recording as a self-contained HTML page with a timeline; returns its path.

    Of the frames at most `fps` are kept for each second of playback, and `speed` is how much faster than real time it
    plays (0.1: ten times slower). A file that exists already is refused unless `overwrite` is set.

        replay("press.dove", "press.html")
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise ViewerError(
            f"replay: '{target}' exists already; choose another name, or pass overwrite=True to replace it."
        )
    if not (fps > 0.0 and speed > 0.0):
        raise ViewerError(f"replay: fps = {fps:g} [1/s], speed = {speed:g}; give numbers above 0.")
    if not isinstance(recording, Recording):
        with Recording(recording) as opened:
            return replay(opened, target, fps=fps, speed=speed, overwrite=overwrite)
    if len(recording) == 0:
        raise ViewerError(f"replay: '{recording.path}' has no frames; record some first.")
    page = _page(recording, fps, speed)
    try:
        atomic_write(target, page)
    except OSError as error:
        raise ViewerError(f"replay: cannot write '{target}': {error.strerror or error}.") from error
    return target


def _kept(times: Array, step: float) -> Indices:
    """Numbers of the frames to show: the first, and each one that is a step after the last kept, or about to be."""
    kept = [0]
    for k in range(1, len(times)):
        if times[k] - times[kept[-1]] >= step * (1 - 1e-6):
            kept.append(k)
    return np.array(kept)


def _page(recording: Recording, fps: float, speed: float) -> str:
    times = recording.times
    frames = _kept(times, speed / fps)
    server = open_server()
    try:
        bounds = bounds_of(recording.cast, recording.transforms(0))
        for frame in frames[:: max(1, len(frames) // _SAMPLES)].tolist():
            bounds = bounds.joined(bounds_of(recording.cast, recording.transforms(frame)))
        offsets = joint_offsets(recording.joint_states(0))
        stage = Stage(server, recording.cast, recording.transforms(0), offsets, bounds)
        stage.aim()
        player = server.get_scene_serializer()
        shown = times[0]
        for frame in frames.tolist():
            player.insert_sleep(float(times[frame] - shown) / speed)
            shown = times[frame]
            stage.show(recording.transforms(frame), recording.contacts(frame))
        player.insert_sleep(1.0 / fps)
        page: str = player.as_html()
    finally:
        close_server(server)
    return with_title(page, f"{recording.path.stem} · dovetail")
