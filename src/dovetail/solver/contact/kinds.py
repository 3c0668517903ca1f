"""Kinds of candidates, which features each is made of, and the columns of a candidate."""

from __future__ import annotations

__all__ = [
    "D_HAT",
    "EDGE_EDGE",
    "KAPPA",
    "KIND",
    "MU",
    "PAIR",
    "POINT_EDGE",
    "POINT_PLANE",
    "POINT_TRIANGLE",
    "SHAPE",
    "THICKNESS",
    "X0",
    "A",
    "B",
    "corners_of",
    "split_of",
]

from dovetail.kernel.kernel import kernel

POINT_TRIANGLE = 0  # x0 of body a, triangle x1 x2 x3 of body b
EDGE_EDGE = 1  # edge x0 x1 of a, edge x2 x3 of b
POINT_EDGE = 2  # x0 of a, single edge x1 x2 of b
POINT_PLANE = 3  # x0 of a, half-plane x1; there is no body b

# integers: kind, bodies, four vertices from X0 on (positions in X), number of the body pair
KIND, A, B, X0, PAIR = 0, 1, 2, 3, 7

# numbers: stiffness (< 0: adaptive, times that), friction, range and thickness of the pair; width of the mollifier for
# two edges, the patch for a point and a triangle
KAPPA, MU, D_HAT, THICKNESS, SHAPE = range(5)


@kernel
def corners_of(kind: int) -> int:
    """How many vertices a candidate has."""
    return 1 if kind == POINT_PLANE else 3 if kind == POINT_EDGE else 4


@kernel
def split_of(kind: int) -> int:
    """How many of them belong to body a."""
    return 2 if kind == EDGE_EDGE else 1
