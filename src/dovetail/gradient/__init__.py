"""Gradients of a rollout by the adjoint method: one linear solve a step, backwards through time. See docs/gradients.md."""

from __future__ import annotations

from dovetail.gradient.gradients import Gradients
from dovetail.gradient.tape import Tape

__all__ = ["Gradients", "Tape"]
