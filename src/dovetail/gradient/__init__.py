"""Gradients of a rollout by the adjoint method: a linear solve a step, backwards in time; see docs/gradients.md."""

from __future__ import annotations

from dovetail.gradient.gradients import Gradients
from dovetail.gradient.tape import Tape

__all__ = ["Gradients", "Tape"]
