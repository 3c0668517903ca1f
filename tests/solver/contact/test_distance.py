"""Closest points of points, triangles and edges: against exact arithmetic and ipctk, on and off region borders."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import sqrt
from typing import Any

import ipctk
import numpy as np
import pytest
from scenes import rotation

from dovetail.solver.contact.distance import edge_edge, point_edge, point_triangle

OFF = (0.0, 1e-12, -1e-12)
"""Distances from the border of a region that must not matter."""

# A weight is wrong by at most 1e-16 over the squared sine of an angle of the triangle, or of the two edges (here
# > 0.05 rad where not said otherwise); a distance of points about 1 m apart is then right to some 1e-16/0.05² m.
CLOSE = 1e-13


def frame(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A random rotation and a shift of about one metre."""
    return rotation(rng.normal(size=3), rng.uniform(0, 3)), rng.uniform(-1, 1, 3)


def placed(rng: np.random.Generator, points: Any) -> np.ndarray:
    R, p = frame(rng)
    return np.asarray(points, float) @ R.T + p


def point_triangle_cases(rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Points (4, 3) p, a, b, c: random, and p above (or on) corners and sides and a hair to either side of them."""
    for _ in range(100):
        yield rng.uniform(-1, 1, (4, 3))
    for _ in range(4):
        triangle = np.array(
            [[0, 0, 0], [rng.uniform(0.5, 1.5), 0, 0], [rng.uniform(-0.5, 1.5), rng.uniform(0.5, 1.5), 0]]
        )
        a, b, c = triangle
        middle = triangle.mean(axis=0)
        anchors = [a, b, c, (a + b) / 2, 0.3 * b + 0.7 * c, (a + c) / 2, middle]
        for anchor in anchors:
            for off in OFF:
                for height in (0.0, 1e-9, 1e-3, 1.0):
                    aside = anchor + off * (anchor - middle + np.array([0.1, 0.2, 0.0])) + [0, 0, height]
                    yield placed(rng, [aside, a, b, c])
        # the planes through a corner, perpendicular to a side, separate corners from sides
        u = (b - a) / np.linalg.norm(b - a)
        outward = np.array([u[1], -u[0], 0.0])
        for off in OFF:
            yield placed(rng, [a + 0.4 * outward + off * u + [0, 0, 0.2], a, b, c])


def edge_edge_cases(rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Points (4, 3) a, b, c, d of edges ab and cd at an angle: random, and with closest points a hair off an end."""
    for _ in range(100):
        yield rng.uniform(-1, 1, (4, 3))
    for _ in range(4):
        angle = rng.uniform(0.3, 2.8)
        u, v = np.array([1.0, 0.0, 0.0]), np.array([np.cos(angle), np.sin(angle), 0.0])
        for s in (0.0, 0.5, 1.0, -0.3, 1.4):
            for t in (0.0, 0.4, 1.0, -0.2, 1.3):
                for off in OFF:
                    for height in (0.0, 1e-9, 1e-3):
                        a, c = -(s + off) * u, -(t - off) * v + [0, 0, height]
                        yield placed(rng, [a, a + u, c, c + v])


def nearly_parallel_cases(rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Edges that are parallel, on one line, equal, or at angles from 1e-12 to 1e-3 rad."""
    for angle in (0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-3):
        for along in (-1.7, -1.0, -0.3, 0.0, 0.5, 1.0, 2.0):
            for height in (0.0, 1e-6, 1e-3, 0.1):
                for length in (1.0, 0.3):
                    u = np.array([1.0, 0.0, 0.0])
                    v = length * np.array([np.cos(angle), np.sin(angle), 0.0])
                    c = np.array([along, 0.0, height])
                    yield placed(rng, [0 * u, u, c, c + v])
                    yield placed(rng, [0 * u, u, c + v, c])


# ---- exact distances -------------------------------------------------------------------------------------------


def exact(points: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(float(x)) for x in p] for p in points]


def dot(u: Any, v: Any) -> Fraction:
    return sum((x * y for x, y in zip(u, v, strict=True)), Fraction(0))


def less(u: Any, v: Any) -> list[Fraction]:
    return [x - y for x, y in zip(u, v, strict=True)]


def plus(p: Any, *terms: tuple[Fraction, Any]) -> list[Fraction]:
    return [x + sum((k * u[i] for k, u in terms), Fraction(0)) for i, x in enumerate(p)]


def exact_point_edge(p: Any, a: Any, b: Any) -> Fraction:
    u = less(b, a)
    t = min(max(dot(u, less(p, a)) / dot(u, u), Fraction(0)), Fraction(1))
    r = less(p, plus(a, (t, u)))
    return dot(r, r)


def exact_point_triangle(X: np.ndarray) -> float:
    p, a, b, c = exact(X)
    squared = min(exact_point_edge(p, *side) for side in ((a, b), (b, c), (c, a)))
    u, w, q = less(b, a), less(c, a), less(p, a)
    uu, uw, ww, uq, wq = dot(u, u), dot(u, w), dot(w, w), dot(u, q), dot(w, q)
    det = uu * ww - uw * uw
    s, t = (ww * uq - uw * wq) / det, (uu * wq - uw * uq) / det
    if s >= 0 and t >= 0 and s + t <= 1:
        r = less(p, plus(a, (s, u), (t, w)))
        squared = min(squared, dot(r, r))
    return sqrt(squared)


def exact_edge_edge(X: np.ndarray) -> float:
    a, b, c, d = exact(X)
    ends = ((a, c, d), (b, c, d), (c, a, b), (d, a, b))
    squared = min(exact_point_edge(*end) for end in ends)
    u, v, r = less(b, a), less(d, c), less(a, c)
    uu, uv, vv, ur, vr = dot(u, u), dot(u, v), dot(v, v), dot(u, r), dot(v, r)
    det = uu * vv - uv * uv
    if det > 0:
        s, t = (uv * vr - ur * vv) / det, (uu * vr - uv * ur) / det
        if 0 <= s <= 1 and 0 <= t <= 1:
            gap = less(plus(a, (s, u)), plus(c, (t, v)))
            squared = min(squared, dot(gap, gap))
    return sqrt(squared)


# ---- tests -----------------------------------------------------------------------------------------------------


def test_a_point_and_a_triangle_are_as_far_apart_as_exact_arithmetic_says(rng):
    for X in point_triangle_cases(rng):
        v, w, *r = point_triangle(X, 0, 1, 2, 3)
        sharp = np.linalg.norm(np.cross(X[2] - X[1], X[3] - X[1])) ** 2
        assert min(v, w, 1 - v - w) >= -1e-15 / sharp
        assert abs(np.linalg.norm(r) - exact_point_triangle(X)) <= CLOSE * max(1.0, 1e-2 / sharp)
        closest = (1 - v - w) * X[1] + v * X[2] + w * X[3]
        np.testing.assert_allclose(r, X[0] - closest, atol=4e-16 * 8)  # eight roundings of numbers near 1


def test_two_edges_are_as_far_apart_as_exact_arithmetic_says(rng):
    for X in edge_edge_cases(rng):
        s, t, *r, cross = edge_edge(X, 0, 1, 2, 3)
        assert 0 <= s <= 1 and 0 <= t <= 1
        sharp = np.linalg.norm(np.cross(X[1] - X[0], X[3] - X[2])) ** 2
        assert abs(np.linalg.norm(r) - exact_edge_edge(X)) <= CLOSE * max(1.0, 1e-2 / sharp)
        assert cross == pytest.approx(sharp, rel=1e-12)


def test_parallel_edges_have_a_distance_that_is_right_to_round_off_of_their_length(rng):
    # Below an angle φ of 1e-8 the parameter s is lost to round-off; the distance then errs by at most φ times the
    # length, 1e-8 m, and only where the edges nearly touch: a gap of d errs by (1e-8)²/2d.
    for X in nearly_parallel_cases(rng):
        s, t, *r, _ = edge_edge(X, 0, 1, 2, 3)
        assert 0 <= s <= 1 and 0 <= t <= 1
        d = exact_edge_edge(X)
        assert d - 1e-15 <= np.linalg.norm(r) <= d + min(2e-8, 1e-14 + 2e-16 / max(d, 1e-300))


def test_a_point_and_an_edge_are_as_far_apart_as_exact_arithmetic_says(rng):
    for X in edge_edge_cases(rng):
        t, *r = point_edge(X, 0, 2, 3)
        p, _, a, b = exact(X)
        assert 0 <= t <= 1
        assert abs(np.linalg.norm(r) - sqrt(exact_point_edge(p, a, b))) <= CLOSE


def test_distances_and_gradients_agree_with_ipctk(rng):
    """The gradient of a squared distance is 2 r times the weights of the corners: their change does not count."""
    for X in point_triangle_cases(rng):
        if np.linalg.norm(np.cross(X[2] - X[1], X[3] - X[1])) < 0.1:
            continue
        v, w, *r = point_triangle(X, 0, 1, 2, 3)
        gradient = 2 * np.outer([1, v + w - 1, -v, -w], r).reshape(-1)
        assert ipctk.point_triangle_distance(*X) == pytest.approx(np.dot(r, r), rel=1e-9, abs=1e-22)
        # ipctk differentiates by the plane of the triangle: its digits are lost where the point is on it
        np.testing.assert_allclose(gradient, ipctk.point_triangle_distance_gradient(*X), atol=1e-11)
    for X in edge_edge_cases(rng):
        if np.linalg.norm(np.cross(X[1] - X[0], X[3] - X[2])) < 0.1:
            continue
        s, t, *r, _ = edge_edge(X, 0, 1, 2, 3)
        gradient = 2 * np.outer([1 - s, s, t - 1, -t], r).reshape(-1)
        assert ipctk.edge_edge_distance(*X) == pytest.approx(np.dot(r, r), rel=1e-9, abs=1e-22)
        np.testing.assert_allclose(gradient, ipctk.edge_edge_distance_gradient(*X), atol=1e-11)
