"""Recordings for other programs: animated .glb, .usd time samples, .obj sequences, .csv tables, .mp4 and .gif films."""

from __future__ import annotations

from dovetail.export.export import ENDINGS, export

__all__ = ["ENDINGS", "export"]
