"""Room that looks for candidates work in: it grows as needed, and nothing in it outlives a look but the order."""

from __future__ import annotations

import math
import os

import numpy as np

from dovetail.kernel.buffers import Pool
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.features import Found
from dovetail.solver.contact.scene import ContactScene
from dovetail.typing import Indices

__all__ = ["Room"]

_BYTES = 600  # of a feature: its row, twice, and the copies of it in old and new lists of candidates
_MEMORY: float = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else math.inf


def _check(features: int) -> None:
    """Raise MemoryError before the system ends the process for having taken all of it."""
    if features * _BYTES > _MEMORY:
        raise MemoryError


class Room:
    """Arrays of a look.

    found (·, 3)      near elements, see near.py
    box               world boxes of the trees of all bodies
    features          those that near elements own, see features.py
    order             bodies along a space-filling curve, and how old that is in looks
    """

    def __init__(self, scene: ContactScene) -> None:
        self.found = np.empty((4096, 3), np.int64)
        self.box = np.empty((scene.box_start[-1], 2, 3))
        self.order: Indices = np.zeros(0, np.int64)
        self.order_age = 0
        self.features = Found(512)
        self._pool = Pool()

    def candidates_of(self, size: int) -> Candidates:
        """A list of so many candidates, to be filled."""
        return Candidates(*self._pool.rows(size, (8, np.int64), (5, np.float64), (2, np.float64)))

    def grow_found(self, count: int) -> None:
        """Room for so many near elements, and as many more; about so many features are near then."""
        _check(count)
        self.found = np.empty((2 * count, 3), np.int64)

    def features_of(self, parts: int, count: int) -> Found:
        """Room for the features of so many chunks; where one has had more than there was, for twice as many."""
        if count > self.features.share:
            _check(parts * count)
            self.features = Found(2 * parts * count)
        self.features.share = len(self.features.rows) // parts
        return self.features
