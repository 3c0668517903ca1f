"""Looking at simulations in a browser: live, and as replays that need nothing but the browser."""

from __future__ import annotations

from dovetail.viewer.replay import replay
from dovetail.viewer.view import view
from dovetail.viewer.viewer import Viewer

__all__ = ["Viewer", "replay", "view"]
