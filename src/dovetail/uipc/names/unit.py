"""The module `uipc.unit`: factors to SI."""

from __future__ import annotations

from dovetail.unit import GPa, MPa, N, Pa, km, kPa, m, mm, s

__all__ = ["GPa", "MPa", "N", "Pa", "kPa", "km", "m", "mm", "s"]
