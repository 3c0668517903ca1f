"""Combinatorics of simplices given as rows of vertex indices: faces, uniqueness, lookup."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rows", "faces", "group_simplices", "locate_simplices", "unique_simplices"]

Rows = NDArray[np.integer[Any]]


def faces(simplices: Rows, corners: int) -> Rows:
    """All faces with that many corners, (·, corners): those of the first simplex, then of the second, ..."""
    choices = list(combinations(range(simplices.shape[1]), corners))
    return simplices[:, choices].reshape(-1, corners)


def group_simplices(simplices: Rows) -> tuple[Rows, NDArray[np.intp], NDArray[np.intp]]:
    """(unique, inverse, counts): simplices that differ only by the order of their vertices are one.

    `unique` has increasing vertices in each row, and its rows are in lexicographic order;
    `unique[inverse[i]]` is row i, and `counts` says how often each unique one occurs.
    """
    rows = np.sort(simplices, axis=1).astype(np.int64)
    if len(rows) == 0:
        nothing = np.zeros(0, np.intp)
        return rows.astype(np.int32), nothing, nothing
    # two int32 columns make one int64 key: fewer passes for the sort
    stride = rows.max() + 1
    keys = [rows[:, 0]] if rows.shape[1] == 1 else [rows[:, 0] * stride + rows[:, 1], *rows.T[2:]]
    order = np.lexsort(keys[::-1]) if len(keys) > 1 else np.argsort(keys[0], kind="stable")
    changed = np.zeros(len(rows), bool)
    changed[0] = True
    for key in keys:
        ordered = key[order]
        changed[1:] |= ordered[1:] != ordered[:-1]
    inverse = np.empty(len(rows), np.intp)
    inverse[order] = np.cumsum(changed) - 1
    return rows[order[changed]].astype(np.int32), inverse, np.bincount(inverse)


def unique_simplices(simplices: Rows) -> Rows:
    """Each simplex once, its vertices increasing, in lexicographic order."""
    return group_simplices(simplices)[0]


def locate_simplices(simplices: Rows, wanted: Rows) -> NDArray[np.intp]:
    """Where each wanted simplex is among `simplices`, whatever the order of its vertices; -1 if absent."""
    unique, inverse, _ = group_simplices(np.concatenate([simplices, wanted]))
    place = np.full(len(unique), -1, np.intp)
    place[inverse[: len(simplices)]] = np.arange(len(simplices))
    return place[inverse[len(simplices) :]]
