"""Films, .mp4 and .gif, drawn off-screen: neither a window nor a graphics card is needed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.errors import MissingExtra, RecordingError
from dovetail.export.looks import bounds_of, shapes_of, up_of
from dovetail.export.timeline import evenly
from dovetail.io.recording import Recording
from dovetail.typing import Array
from dovetail.viewer.camera import FIELD_OF_VIEW, frame

__all__ = ["write"]

_SIZES = {".mp4": (1280, 720), ".gif": (640, 360)}
_BLOCK = 16  # video codecs want widths and heights in multiples of it


def write(
    recording: Recording, path: Path, *, fps: float, speed: float, width: int | None = None, height: int | None = None
) -> None:
    """A film of the whole recording from one place; a .gif is smaller, with at most 50 frames per second."""
    imageio = _imported("imageio.v2")
    ending = path.suffix.lower()
    size = _size(ending, width, height)
    rate = min(fps, 50.0) if ending == ".gif" else fps
    numbers = evenly(recording.times, rate, speed)
    target = path.resolve()
    draft = target.with_name(f".{target.stem}.{os.urandom(6).hex()}{target.suffix}")
    options: dict[str, Any] = {"loop": 0, "duration": 1000.0 / rate} if ending == ".gif" else {
        "fps": rate, "codec": "libx264", "quality": 8, "macro_block_size": _BLOCK, "ffmpeg_log_level": "error",
    }  # fmt: skip
    studio = _Studio(recording, size)
    try:
        with imageio.get_writer(draft, **options) as film:
            for number in numbers.tolist():
                film.append_data(studio.picture(recording.transforms(number)))
        draft.replace(target)
    finally:
        studio.close()
        draft.unlink(missing_ok=True)


def _size(ending: str, width: int | None, height: int | None) -> tuple[int, int]:
    wide, high = _SIZES[ending]
    wide, high = width or wide, height or high
    if not (_BLOCK <= wide <= 8192 and _BLOCK <= high <= 8192):
        raise RecordingError(f"export: a film of {wide} × {high} pixels; give {_BLOCK} to 8192 each way.")
    return -(-wide // _BLOCK) * _BLOCK, -(-high // _BLOCK) * _BLOCK


def _imported(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        package = name.split(".")[0]
        raise MissingExtra(
            f"export of films: the package {package} is missing; pip install 'dovetail[render]'."
        ) from None


class _Studio:
    """Polyscope, which draws on the processor where there is no graphics card, with the recording's bodies in it."""

    _PREFIX = "dovetail film: "

    def __init__(self, recording: Recording, size: tuple[int, int]) -> None:
        ps = self._ps = _imported("polyscope")
        if not ps.is_initialized():
            ps.set_verbosity(0)
            ps.set_use_prefs_file(False)
            ps.set_allow_headless_backends(True)
            ps.init("openGL3_egl" if sys.platform == "linux" and not os.environ.get("DISPLAY") else "auto")
        ps.set_window_size(*size)
        ps.set_SSAA_factor(2)
        self._look(recording)
        shapes = shapes_of(recording)
        self._bodies = []
        for k, body in enumerate(recording.bodies):
            shape = shapes[next(i for i, known in enumerate(recording.shapes) if known is body.shape)]
            if shape is not None:
                mesh = ps.register_surface_mesh(f"{self._PREFIX}{k}", shape.vertices, shape.triangles, color=body.color)
                mesh.set_smooth_shade(True)
                self._bodies.append((k, mesh))

    def _look(self, recording: Recording) -> None:
        ps = self._ps
        bounds = bounds_of(recording, np.arange(len(recording)))
        up = up_of(recording)
        axis = int(np.argmax(np.abs(up)))
        ps.set_up_dir(f"{'neg_' if up[axis] < 0 else ''}{'xyz'[axis]}_up")
        level = [plane for plane in recording.planes if abs(plane.normal[axis]) > 0.999]
        ps.set_automatically_compute_scene_extents(False)
        ps.set_length_scale(bounds.size)
        ps.set_bounding_box(bounds.lower, bounds.upper)
        ps.set_ground_plane_mode("shadow_only" if level else "none")
        if level:
            ps.set_ground_plane_height_mode("manual")
            ps.set_ground_plane_height(float(level[0].point[axis]))
        camera = frame(bounds, up)
        ps.set_vertical_fov_degrees(float(np.rad2deg(FIELD_OF_VIEW)))
        ps.look_at_dir(camera.position, camera.look_at, camera.up)

    def picture(self, transforms: Array) -> Any:
        """The bodies at these transforms, as an image (height, width, 3) of bytes."""
        for k, mesh in self._bodies:
            mesh.set_transform(transforms[k])
        return np.ascontiguousarray(self._ps.screenshot_to_buffer(False)[:, :, :3])

    def close(self) -> None:
        """Leave nothing of it behind in polyscope."""
        for k, _ in self._bodies:
            self._ps.remove_surface_mesh(f"{self._PREFIX}{k}")
