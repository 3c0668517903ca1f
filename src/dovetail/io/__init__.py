"""Files: saving and loading scenes, writing their surfaces, recording what a world does."""

from __future__ import annotations

from dovetail.io.recorder import Recorder
from dovetail.io.recording import Recording
from dovetail.io.scene_io import SceneIO

__all__ = ["Recorder", "Recording", "SceneIO"]
