"""Sums of what contacts add to blocks, in lanes against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.kernel.kernel import kernel
from dovetail.solver.contact.rows import between, own, put_own
from dovetail.solver.contact.rows_plain import between as between_plain
from dovetail.solver.contact.rows_plain import own as own_plain
from dovetail.solver.contact.rows_plain import put_own as put_own_plain


@kernel
def by_lanes(xi, bodies, S, force, last, b, T, D, U):
    own(xi, bodies, S, force, 1, last, b, T)
    put_own(T, D, 1)
    between(xi, bodies, S, 1, last, b, U, 1)


@kernel
def by_loops(xi, bodies, S, force, last, b, T, D, U):
    own_plain(xi, bodies, S, force, 1, last, b, T)
    put_own_plain(T, D, 1)
    between_plain(xi, bodies, S, 1, last, b, U, 1)


@pytest.mark.parametrize("last", [1, 2, 7])
def test_lanes_say_the_same_as_loops_whichever_side_a_body_is_on(rng, last):
    # two rows more than are used, which lanes may read
    xi, S, force = rng.standard_normal((8, 8)), rng.standard_normal((10, 6)), rng.standard_normal((10, 3))
    bodies = np.where(rng.random((8, 1)) < 0.5, [[3, 5]], [[5, 3]])
    for b in (3, 5):
        found = []
        for sums in (by_lanes, by_loops):
            T, D, U = np.ones((14, 8)), np.ones((2, 12, 12)), np.ones((2, 12, 12))
            sums(xi, bodies, S, force, last, b, T, D, U)
            np.testing.assert_array_equal([D[0], U[0]], np.ones((2, 12, 12)))
            found.append((T[:10, :6], T[10:, :3], D[1], U[1]))
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-14, rtol=1e-14)


@pytest.mark.parametrize("b", [0, 1])
def test_loops_are_the_products_with_the_stiffness(rng, b):
    """(ξ_a ⊗ 1, −ξ_b ⊗ 1) S (…)ᵀ of one contact."""
    xi, bodies, force = rng.standard_normal((2, 8)), np.array([[0, 1], [0, 1]]), rng.standard_normal((2, 3))
    half = rng.standard_normal((3, 3))
    full = half + half.T
    S = np.tile(full[np.triu_indices(3)], (2, 1))
    J = np.concatenate([np.kron(xi[1, :4], np.eye(3).reshape(3, 1, 3)).reshape(3, 12),
                        -np.kron(xi[1, 4:], np.eye(3).reshape(3, 1, 3)).reshape(3, 12)], axis=1)  # fmt: skip
    H, g = J.T @ full @ J, J.T @ force[1]
    T, D, U = np.zeros((14, 8)), np.zeros((2, 12, 12)), np.zeros((2, 12, 12))
    by_loops(xi, bodies, S, force, 2, b, T, D, U)
    mine, theirs = slice(12 * b, 12 * b + 12), slice(12 - 12 * b, 24 - 12 * b)
    np.testing.assert_allclose(D[1], H[mine, mine], atol=1e-13)
    np.testing.assert_allclose(U[1], H[mine, theirs], atol=1e-13)
    np.testing.assert_allclose(T[10:, :3].ravel(), g[mine], atol=1e-13)
