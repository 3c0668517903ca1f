"""Files: saving and loading scenes, and writing their surfaces."""

from __future__ import annotations

from dovetail.io.scene_io import SceneIO

__all__ = ["SceneIO"]
