"""The solver's layout of an affine body, Q (4×3) = [p; A e₁; A e₂; A e₃], to and from what users see.

libuipc's q = [p, rows of A] and 4×4 transforms are converted here and nowhere else. A generalised force on q has the
layout of q, so the same shuffle serves forces.
"""

from __future__ import annotations

import numpy as np

from dovetail.typing import Array

__all__ = ["q_to_rows", "rows_to_transforms", "transforms_to_rows", "write_transforms"]


def transforms_to_rows(transforms: Array) -> Array:
    """(n, 4, 4) → (n, 4, 3); also for rates, whose last row is not read."""
    rows = np.empty((len(transforms), 4, 3))
    rows[:, 0] = transforms[:, :3, 3]
    rows[:, 1:] = transforms[:, :3, :3].swapaxes(1, 2)
    return rows


def write_transforms(rows: Array, transforms: Array) -> None:
    """Write (n, 4, 3) into the first three rows of (n, 4, 4); the last row is left alone."""
    transforms[:, :3, 3] = rows[:, 0]
    transforms[:, :3, :3] = rows[:, 1:].swapaxes(1, 2)


def rows_to_transforms(rows: Array, corner: float = 1.0) -> Array:
    """(n, 4, 3) → (n, 4, 4) with last row (0, 0, 0, corner): 1 for transforms, 0 for their rates."""
    transforms = np.zeros((len(rows), 4, 4))
    write_transforms(rows, transforms)
    transforms[:, 3, 3] = corner
    return transforms


def q_to_rows(q: Array) -> Array:
    """(n, 12) over [p, A row 0, A row 1, A row 2] → (n, 4, 3)."""
    rows = np.empty((len(q), 4, 3))
    rows[:, 0] = q[:, :3]
    rows[:, 1:] = q[:, 3:].reshape(-1, 3, 3).swapaxes(1, 2)
    return rows
