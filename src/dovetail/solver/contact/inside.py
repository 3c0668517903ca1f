"""Whether a closed surface holds a point inside: where it is seen all around, under the solid angle 4π.

The angle of a triangle abc, seen from the origin, is

    2 atan2(a · (b × c), |a||b||c| + (a · b)|c| + (a · c)|b| + (b · c)|a|),

positive where its outer side faces away (van Oosterom and Strackee).
"""

from __future__ import annotations

import numpy as np

from dovetail.typing import Array, Indices

__all__ = ["holds"]


def holds(X: Array, triangles: Indices, point: Array) -> bool:
    """Whether triangles (k, 3) of vertices X, outward, close a volume that the point is in."""
    sides = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    if not len(triangles) or (np.unique(sides, axis=0, return_counts=True)[1] % 2).any():
        return False
    a, b, c = (X[triangles[:, k]] - point for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    over = np.einsum("ki,ki->k", a, np.cross(b, c))
    under = la * lb * lc + lc * np.einsum("ki,ki->k", a, b)
    under += lb * np.einsum("ki,ki->k", a, c) + la * np.einsum("ki,ki->k", b, c)
    return bool(2.0 * np.arctan2(over, under).sum() > 2.0 * np.pi)
