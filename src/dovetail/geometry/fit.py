"""The rigid motion that brings one set of points nearest to another."""

from __future__ import annotations

import numpy as np

from dovetail.checked import checked
from dovetail.errors import GeometryError
from dovetail.geometry.check import checked_positions
from dovetail.geometry.simplicial_complex import SimplicialComplex
from dovetail.typing import Array, ArrayLike

__all__ = ["optimal_transform"]


@checked(GeometryError)
def optimal_transform(src: ArrayLike | SimplicialComplex, dst: ArrayLike | SimplicialComplex) -> Array:
    """T (4, 4), a rotation and a translation, that minimises Σᵢ ‖T srcᵢ − dstᵢ‖².

    Points (n, 3) or (n, 3, 1), or meshes whose vertices correspond by number; instance transforms are not applied.
    """
    S, D = _points("src", src), _points("dst", dst)
    if S.shape != D.shape or not len(S):
        raise GeometryError(f"optimal_transform: src has {len(S)} points and dst {len(D)}; give as many, at least one.")
    s, d = S.mean(axis=0), D.mean(axis=0)
    U, _, Vt = np.linalg.svd((D - d).T @ (S - s))
    flip = np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))])  # mirrored points: the nearest proper rotation
    transform = np.eye(4)
    transform[:3, :3] = U @ flip @ Vt
    transform[:3, 3] = d - transform[:3, :3] @ s
    return transform


def _points(name: str, given: ArrayLike | SimplicialComplex) -> Array:
    if isinstance(given, SimplicialComplex):
        return given.positions.values
    return checked_positions(f"optimal_transform, {name}", given)
