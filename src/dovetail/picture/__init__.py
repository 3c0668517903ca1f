"""Pictures of bodies as arrays, drawn on the processor: no window, no browser, no graphics card."""

from __future__ import annotations

from dovetail.picture.camera import Camera

__all__ = ["Camera"]
