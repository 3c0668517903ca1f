"""Formulas that have derivatives: every operation forwards and backwards, beside differences."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.gradient import formulas as f
from dovetail.gradient.rigid import Moments, axes_of, inverse_of
from dovetail.solver.assembly.start import spin_of
from dovetail.solver.rigid import rigid, rows_of

AT = np.array([[1, -1], [0, 2]])
FORMULAS = {
    "sum": lambda a, b: (1.0 + a) + (b - 2.0) - (3.0 - a),
    "product": lambda a, b: 2.0 * a * b * a[:, :1],
    "quotient": lambda a, b: a / (b * b + 1.0) + 1.0 / (a * a + 1.0),
    "parts": lambda a, b: f.joined([a[:, 1:], -b, np.ones((3, 1))]),
    "matrices": lambda a, b: a[:, None] @ b[:, :, None] + np.ones((3, 1, 3)) @ b[:, :, None],
    "dot": lambda a, b: f.dot(a, b) * f.dot(a, a),
    "cross": lambda a, b: f.cross(a, f.cross(b, np.array([1.0, 2.0, 3.0]))),
    "root": lambda a, b: f.root(f.dot(a, a) + f.dot(b, b)),
    "sums": lambda a, b: f.summed(a[:, :, None] * b[:, None], 1),
    "gathered": lambda a, b: f.gathered(a, AT) * f.gathered(b, AT),
    "added up": lambda a, b: f.add_up(f.gathered(a * b, np.array([0, 1, 2, 0])), np.array([1, -1, 1, 0]), 2),
    "where": lambda a, b: f.where(a.value > 0.0, a * b, b),
    "divided": lambda a, b: f.divided(a, b[:, :, None] * b[:, None] + np.eye(3)),
    "axes": lambda a, b: axes_of(f.joined([a[:, None], a[:, None], b[:, None], a[:, None] * b[:, None]], 1), np.eye(3)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_derivatives_of_formulas_are_those_of_differences(name):
    rng = np.random.default_rng(0)
    a, b, da, db = rng.normal(size=(4, 3, 3))

    def at(s):
        graph = f.Graph()
        leaves = graph.of(a + s * da), graph.of(b + s * db)
        return graph, leaves, FORMULAS[name](*leaves)

    graph, leaves, y = at(0.0)
    graph.push((leaves[0], da), (leaves[1], db))
    h = 1e-4  # of differences at four points: what they leave out is of the order of h⁴
    expected = (8.0 * (at(h)[2].value - at(-h)[2].value) - (at(2 * h)[2].value - at(-2 * h)[2].value)) / (12.0 * h)
    assert np.allclose(y.change, expected, rtol=1e-9, atol=1e-10)
    by = rng.normal(size=y.value.shape)
    graph.pull((y, by))
    back = (leaves[0].slope * da).sum() + (leaves[1].slope * db).sum()
    assert back == pytest.approx((by * expected).sum(), rel=1e-9, abs=1e-9)


def test_rigid_motions_are_those_of_the_solver():
    """Twins of the kernels, and derivatives by moments, places and motions."""
    rng, n = np.random.default_rng(1), 3
    X = np.concatenate([np.ones((n, 10, 1)), rng.normal(size=(n, 10, 3))], axis=2)
    given = [X.swapaxes(1, 2) @ X, rng.normal(0, 0.1, (n, 4, 3)), rng.normal(size=(n, 4, 3))]
    given[1][:, 1:] += np.eye(3)
    along = [rng.normal(size=each.shape) for each in given]
    along[0] += along[0].swapaxes(1, 2)

    def at(s):
        graph = f.Graph()
        mass, Q, A = leaves = [graph.of(each + s * way) for each, way in zip(given, along, strict=True)]
        moments = Moments(mass, Q)
        w = moments.rigid(A)
        found = f.joined([w, moments.spin_of(A), moments.carried(moments.rows_of(w)), moments.norm(mass, A)[:, None]])
        return graph, leaves, found, (w, moments.rows_of(w), inverse_of(mass))

    graph, leaves, y, (w, rows, inverse) = at(0.0)
    motion, back, S, spin = np.empty((n, 6)), np.empty((n, 4, 3)), np.empty((3, 3)), np.empty((n, 3))
    rigid(*given, motion)
    rows_of(*given[:2], motion, back)
    for b in range(n):
        spin_of(*given, b, S, spin[b])
    # the same sums in another order
    for found, expected in ((w.value, motion), (rows.value, back), (y.value[:, 6:9], spin)):
        assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)
    by, h = (rng.normal(size=y.value.shape), rng.normal(size=(n, 4, 4))), 1e-4

    def loss(s):
        _, _, y, (_, _, inverse) = at(s)
        return (by[0] * y.value).sum() + (by[1] * inverse.value).sum()

    graph.pull((y, by[0]), (inverse, by[1]))
    slope = (8.0 * (loss(h) - loss(-h)) - (loss(2 * h) - loss(-2 * h))) / (12.0 * h)
    found = sum((leaf.slope * way).sum() for leaf, way in zip(leaves, along, strict=True))
    assert found == pytest.approx(slope, rel=1e-8)
