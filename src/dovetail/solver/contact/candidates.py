"""Candidates: pairs of features that may come into contact.

A candidate is a row of integers (kind, a, b, x0, x1, x2, x3, body pair) with positions x in X, and of numbers
(κ, μ, d̂, ξ, ε or patch), kinds.py names the columns; and of what is known of its distance, see known.py. With a
half-plane, b and the body pair are −1.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.record import Record, f8, i8
from dovetail.kernel.threads import Span, chunks, map_chunks
from dovetail.solver.contact.kinds import KIND, X0, corners_of
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.natural import natural
from dovetail.typing import Array, Flags, Indices

__all__ = ["Candidates", "list_vertices", "move_vertices", "update_positions"]

_COST = 4.0  # [ns] to list the vertices of a candidate


class Candidates(Record):
    """A list: integers `pairs` (k, 8), `numbers` (k, 5) and `known` (k, 2).

    Those of half-planes come first, then those of one body pair after the other, in them those of one point and patch.
    """

    pairs: Indices = i8(2)
    numbers: Array = f8(2)
    known: Array = f8(2)

    def __init__(self, pairs: Indices, numbers: Array, known: Array) -> None:
        super().__init__(pairs=pairs, numbers=numbers, known=known)

    @classmethod
    def none(cls) -> Candidates:
        """An empty list."""
        return cls(np.zeros((0, 8), np.int64), np.zeros((0, 5)), np.zeros((0, 2)))

    @property
    def count(self) -> int:
        return len(self.pairs)


@mapped
def _mark_vertices(pairs: Indices, seen: Flags, span: Span) -> None:
    """seen[part] (x,) ← True for the vertices that some candidates speak of."""
    mine = seen[span[0]]
    for k in range(span[1], span[2]):
        k = natural(k)
        for i in range(corners_of(pairs[k, KIND])):
            mine[natural(pairs[k, X0 + i])] = True


def list_vertices(pairs: Indices, scene: ContactScene) -> Indices:
    """Rows (x, body, v) of the vertices that candidates speak of, each once."""
    spans = chunks(len(pairs), _COST)
    seen = np.zeros((len(spans), scene.x_count), np.bool_)
    map_chunks(_mark_vertices, spans, pairs, seen)
    x = np.flatnonzero(seen[0] if len(seen) == 1 else seen.any(axis=0))
    body = scene.body_of[x]
    return np.stack([x, body, x - scene.x_base[body]], axis=1)


@kernel
def move_vertices(vertices: Indices, V: Array, Q: Array, start: int, stop: int, X: Array) -> None:
    """X ← world positions of some of the listed vertices."""
    for k in range(start, min(stop, len(vertices))):
        k = natural(k)
        x, b, v = natural(vertices[k, 0]), natural(vertices[k, 1]), natural(vertices[k, 2])
        for a in range(3):
            X[x, a] = Q[b, 0, a] + V[v, 0] * Q[b, 1, a] + V[v, 1] * Q[b, 2, a] + V[v, 2] * Q[b, 3, a]


@kernel
def update_positions(vertices: Indices, V: Array, Q: Array, X: Array) -> None:
    """X ← world positions of the listed vertices."""
    move_vertices(vertices, V, Q, 0, len(vertices), X)
