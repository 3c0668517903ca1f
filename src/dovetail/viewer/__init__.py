"""Looking at simulations in a browser: live, and as replays that need nothing but the browser."""

from __future__ import annotations

from dovetail.viewer.replay import replay

__all__ = ["replay"]
