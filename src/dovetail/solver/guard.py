"""Guards: what keeps every iterate of Newton's method allowed. Contact and hard limits are the two.

A guard says which bodies a step concerns, which of them it may bring together, and what share of it is free. An island
that no guard is concerned with in a step is solved as if there were none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dovetail.solver.islands import Islands
from dovetail.typing import Array, Flags, Indices

if TYPE_CHECKING:
    from dovetail.solver.potential import Evaluation

__all__ = ["Guard"]


class Guard(Protocol):
    """Steps are −y with y (n, 12) by body, 0 for bodies that do not move."""

    def cover(self, at: Evaluation, y: Array, islands: Islands, share: Array, commits: Indices | None = None) -> None:
        """Get ready to judge a share (n,) of the step −y, at least. Bodies that commit (n,) will take it whole."""

    def couple(self, at: Evaluation, y: Array, islands: Islands) -> None:
        """Unite bodies (`parent` of islands) that the step −y might bring together; `marks` of islands ← 1 for all that
        it might lead to what must not be.
        """

    def free_share(self, at: Evaluation, y: Array, islands: Islands) -> None:
        """islands.alpha ← at most the share of the step −y that each island may take."""

    def record_motion(self, islands: Islands) -> None:
        """The islands have moved by α of the step that was covered last."""

    def touched(self, Q: Array, h: float) -> Flags:
        """Bodies (n,) that it acts on at Q."""
