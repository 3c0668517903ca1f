"""Films, .mp4 and .gif, of the pictures of `dovetail.picture`: neither a window nor a graphics card is needed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import MissingExtra, RecordingError
from dovetail.export.looks import bounds_of
from dovetail.export.timeline import evenly
from dovetail.io.recording import Recording
from dovetail.picture.camera import Camera, frame, up_of
from dovetail.picture.studio import Studio

__all__ = ["write"]

_SIZES = {".mp4": (1280, 720), ".gif": (640, 360)}
_FASTEST_GIF = 50.0  # pictures a second; what is faster, browsers play at 10
_COLOURS = 256  # of a .gif


def write(
    recording: Recording,
    path: Path,
    *,
    fps: float,
    speed: float,
    width: int | None = None,
    height: int | None = None,
    camera: Camera | None = None,
    follow: str | None = None,
    progress: bool = False,
) -> None:
    """A film of the whole recording; a .gif is smaller, with at most 50 frames per second.

    camera        where it is taken from; by default from where everything is seen all the time
    follow        name of a body that the default camera goes along with
    progress      show a bar with frames per second
    """
    ending = path.suffix.lower()
    wide, high = _size(ending, width, height)
    rate = min(fps, _FASTEST_GIF) if ending == ".gif" else fps
    frames = evenly(recording.times, rate, speed)
    bounds = bounds_of(recording, frames)
    studio = Studio(recording.cast, bounds)
    if camera is None:
        first = bounds if follow is None else bounds_of(recording, frames[:1])
        camera = frame(first, up_of(recording.gravity), wide / high)
        if follow is not None:
            offset = np.asarray(camera.pos) - np.asarray(camera.look_at)
            camera = replace(camera, pos=offset, look_at=np.zeros(3), follow=follow)
    elif follow is not None:
        raise RecordingError("export: both camera and follow were given; use Camera(…, follow=…) alone.")

    def picture(number: int) -> NDArray[np.uint8]:
        return studio.picture(recording.transforms(number), camera, wide, high)

    target = path.resolve()
    draft = target.with_name(f".{target.stem}.{os.urandom(6).hex()}{target.suffix}")
    pictures = (picture(number) for number in frames.tolist())
    shown = _with_progress(pictures, len(frames), path.name) if progress else pictures
    try:
        if ending == ".gif":
            chosen = frames[np.linspace(0, len(frames) - 1, min(4, len(frames))).astype(int)].tolist()
            _write_gif(draft, shown, len(frames), rate, np.concatenate([picture(number) for number in chosen]))
        else:
            _write_mp4(draft, shown, rate)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _write_mp4(path: Path, pictures: Iterator[NDArray[np.uint8]], rate: float) -> None:
    imageio = _imported("imageio.v2")
    with imageio.get_writer(
        path, fps=rate, codec="libx264", quality=8, macro_block_size=2, ffmpeg_log_level="error",
        ffmpeg_params=["-preset", "veryfast"],
    ) as film:  # fmt: skip
        for picture in pictures:
            film.append_data(picture)


def _write_gif(
    path: Path, pictures: Iterator[NDArray[np.uint8]], count: int, rate: float, sample: NDArray[np.uint8]
) -> None:
    """All pictures with the colours of a sample of them.

    A .gif counts time in hundredths of a second: pictures last so many of them that they begin when they should.
    """
    image = _imported("PIL.Image")
    palette = image.fromarray(sample).quantize(_COLOURS)
    reduced = (image.fromarray(picture).quantize(palette=palette, dither=image.Dither.NONE) for picture in pictures)
    lasts = 10 * np.diff(np.round(100 / rate * np.arange(count + 1))).astype(int)
    first = next(reduced)
    first.save(path, "GIF", save_all=True, append_images=reduced, duration=lasts.tolist(), loop=0, optimize=False)


def _size(ending: str, width: int | None, height: int | None) -> tuple[int, int]:
    wide, high = _SIZES[ending]
    wide, high = width or wide, height or high
    if not (16 <= wide <= 4096 and 16 <= high <= 4096):
        raise RecordingError(f"export: a film of {wide} × {high} pixels; give 16 to 4096 each way.")
    return wide + wide % 2, high + high % 2  # which codecs want


def _with_progress(pictures: Iterator[NDArray[np.uint8]], count: int, name: str) -> Iterator[NDArray[np.uint8]]:
    """The same, with a bar; the clock starts when the first picture, for which kernels may be compiled, is there."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[pace]}"),
    )
    began = 0.0
    with Progress(*columns) as bars:
        bar = bars.add_task(name, total=count, pace="")
        for k, picture in enumerate(pictures):
            now = time.perf_counter()
            began = began or now
            pace = f"{k / (now - began):.0f} frames/s" if k else ""
            bars.update(bar, completed=k + 1, pace=pace)
            yield picture


def _imported(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        package = {"PIL.Image": "pillow"}.get(name, name.split(".")[0])
        raise MissingExtra(
            f"export of films: the package {package} is missing; pip install 'dovetail[render]'."
        ) from None
