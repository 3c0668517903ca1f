"""Kinds of candidates, and which features each is made of."""

from __future__ import annotations

__all__ = ["EDGE_EDGE", "POINT_EDGE", "POINT_PLANE", "POINT_TRIANGLE"]

POINT_TRIANGLE = 0  # x0 of body a, triangle x1 x2 x3 of body b
EDGE_EDGE = 1  # edge x0 x1 of a, edge x2 x3 of b
POINT_EDGE = 2  # x0 of a, single edge x1 x2 of b
POINT_PLANE = 3  # x0 of a, half-plane x1; there is no body b
