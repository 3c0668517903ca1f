"""What the sizes of Newton steps foretell: whether another one is needed.

Near the minimum each step is a small part of the one before, and ever smaller. Where steps of sizes s₁, s₂ would be
followed by one of at most s₂²/s₁, that is not taken if it is well within the tolerances.

A straight step that turns bodies stretches them (`move` in iterate.py), and the stress of that leads the next one
astray: after such a step nothing is foretold.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.typing import Array, Flags

__all__ = ["STRAIGHT", "Outlook"]

STRAIGHT = 1e-4  # turn [rad] of a body, below which the stretch by a straight step, 5e-9, does no harm
_SURE = 0.3  # tolerances, within which a step must be foretold to be left out
_NEAR = 10.0  # tolerances, above which nothing is foretold: steps may shrink more slowly in the end than at first


class Outlook:
    """Sizes of the last steps of some islands, in units of the tolerances."""

    def __init__(self, count: int) -> None:
        self._size = np.full(count, math.inf)

    def last(self, size: Array) -> Flags:
        """Whether steps of these sizes (m,), taken whole, are the last ones: within the tolerances, or the next is."""
        last: Flags = size <= 1.0
        if last.all():
            return last
        known = np.isfinite(self._size)
        foretold: Flags = known & (size <= _NEAR) & (size * size <= _SURE * np.where(known, self._size, 0.0))
        return last | foretold

    def follow(self, size: Array, turned: Flags | None, rate: float) -> None:
        """Steps of these sizes were taken, which turned bodies by at most `rate`; where `turned`, not straight."""
        self._size = size
        if rate > STRAIGHT:
            self._size = np.full_like(size, math.inf) if turned is None else np.where(turned, size, math.inf)

    def forget(self, some: Flags) -> None:
        """Some islands begin anew."""
        self._size[some] = math.inf
