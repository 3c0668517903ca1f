"""Temporary."""
from __future__ import annotations

from dovetail.errors import DovetailError

__all__ = ["GradientError"]


class GradientError(DovetailError):
    """temp"""


def refuse_scene(simulation):
    pass


def refuse_step(simulation, k, frame, last):
    pass
