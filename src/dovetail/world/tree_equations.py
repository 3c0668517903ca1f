"""Linear equations of the joints of a tree, solved from the root on.

What a joint holds and what it reports, J_c and J_x over twists ξ, are six rows that concern its parent and its child
alone, if its coordinates are all that it leaves free: ξ_child = A⁻¹(b − P ξ_parent), joint by joint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.typing import Array, Indices
from dovetail.world.posture import Island, Posture

__all__ = ["TreeEquations"]

_SINGULAR = 1e8  # condition beyond which a joint does not say how its child moves, as at half a turn of a ball


class _Branch(NamedTuple):
    """A joint: its rows in J_c and J_x, where the twists of its bodies are, P, None on a fixed body, and A⁻¹."""

    held: Indices
    measured: Indices
    child: slice
    parent: slice
    of_parent: Array | None
    inverse: Array


class TreeEquations:
    """J_c and J_x of a posture, joint by joint."""

    def __init__(self, island: Island, branches: list[_Branch]) -> None:
        self._island, self._branches = island, branches

    @classmethod
    def of(cls, island: Island, at: Posture) -> TreeEquations | None:
        """None where joints form loops, leave more free than they report, or report nothing definite."""
        of, scale = island.joints_of_rows(), np.array([1.0] * 3 + [1.0 / island.size] * 3)
        found, blocks, end = [], np.zeros((len(island.branches or ()), 6, 6)), 6 * len(island.bodies)
        for A, (joint, parent, child) in zip(blocks, island.branches or (), strict=True):
            held, measured = np.flatnonzero(at.joint == joint), np.flatnonzero(of == joint)
            if len(held) + len(measured) != 6:
                return None
            J = np.concatenate([at.J_c[held], at.J_x[measured]])
            here, there = island.columns(child), island.columns(parent)
            A[...] = J[:, here] * scale
            found.append((held, measured, here, there, J[:, there] if there.start < end else None))
        size = np.linalg.norm(blocks, axis=2, keepdims=True)
        if not found or not size.all() or not np.linalg.cond(blocks / size).max() < _SINGULAR:
            return None
        inverses = np.linalg.inv(blocks) * scale[:, None]
        return cls(island, [_Branch(*part, inverse) for part, inverse in zip(found, inverses, strict=True)])

    def solve(self, c: Array, x: Array, root: Array | float) -> Array:
        """ξ (6n, k) with J_c ξ = c (r, k), of the joints' own rows, J_x ξ = x (m, k), and the root's twist (6, k)."""
        out = np.zeros((6 * len(self._island.bodies), x.shape[1]))
        if self._island.root >= 0:
            out[self._island.columns(self._island.root)] = root
        for held, measured, child, parent, of_parent, inverse in self._branches:
            b = np.concatenate([c[held], x[measured]])
            out[child] = inverse @ (b if of_parent is None else b - of_parent @ out[parent])
        return out
