"""Rows of joints, points and slides, held by a stiffness or exactly: their derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest
from dense_blocks import gradient, hessian

from dovetail.solver.blocks import Blocks, set_to_base
from dovetail.solver.joint.row_algebra import (
    add_row_forces,
    apply_rows,
    bend_rows,
    curve_rows,
    measure_rows,
    pull_back_rows,
)
from dovetail.solver.joint.rows import Rows, assemble_rows, linearise_rows, row_energies, row_merits
from dovetail.solver.joint.stencil import Stencils

BODIES = 5
IS_FIXED = np.array([0, 0, 1, 0, 0])
ACTIVE = 1 - IS_FIXED
OWNER = np.zeros(BODIES, np.int64)

STEP = 1e-5
# central differences: truncation STEP² = 1e-10 times third derivatives, round-off 1e-16/STEP = 1e-11, both times values
# of order 1 to 100
FD_TOL = 1e-7

kinds = pytest.mark.parametrize("m", [1, 2], ids=["points", "slides"])
seeds = pytest.mark.parametrize("seed", range(4))


def stencils(m, count, rng):
    """Random rows on random pairs of bodies, the fixed one among them."""
    left = rng.integers(0, BODIES, count)
    right = (left + rng.integers(1, BODIES, count)) % BODIES
    return Stencils(left, right, rng.normal(size=(count, m, 8)), np.arange(count))


def rows_of(m, seed, penalties=4, exact=0):
    """Rows with random stiffness, a random state, and the generator used for them."""
    rng = np.random.default_rng(seed)
    rows = Rows(stencils(m, penalties, rng), rng.uniform(0.5, 2.0, penalties), stencils(m, exact, rng))
    rows.K[rows.exact :] = rng.uniform(0.5, 2.0, exact)
    return rows, rng.normal(size=(BODIES, 4, 3)), rng


def images(rows, Q):
    """W Q (k, m, 3)."""
    return np.einsum("krb,kbx->krx", rows.W, np.concatenate([Q[rows.left], Q[rows.right]], axis=1))


def values(rows, Q):
    """C (k, 3) at Q, by its definition."""
    F = images(rows, Q)
    return F[:, 0] if F.shape[1] == 1 else np.cross(F[:, 0], F[:, 1])


def across(rows, Q, C):
    """C without what is along v at Q."""
    if rows.W.shape[1] == 1:
        return C
    v = images(rows, Q)[:, 1]
    return C - np.einsum("kx,kx->k", C, v)[:, None] / np.einsum("kx,kx->k", v, v)[:, None] * v


def assembled(rows, Q, exact):
    """The blocks with these rows alone."""
    blocks = Blocks(IS_FIXED, rows.pairs)
    blocks.clear_base()
    rows.add_constant(blocks)
    blocks.D[:] = blocks.base_D
    set_to_base(blocks, 0, len(blocks.U))
    linearise_rows(rows, ACTIVE, Q)
    assemble_rows(rows, exact, False, blocks.g, blocks.D, blocks.U)
    return blocks


def free_entries():
    return [(b, i, a) for b in np.flatnonzero(ACTIVE) for i in range(4) for a in range(3)]


def slopes(f, Q):
    """Central differences of f by every entry of the free bodies, 0 for the others: (n, 4, 3, …)."""
    shape = np.shape(f(Q))
    out = np.zeros((*Q.shape, *shape))
    for place in free_entries():
        e = np.zeros_like(Q)
        e[place] = STEP
        out[place] = (np.asarray(f(Q + e)) - np.asarray(f(Q - e))) / (2 * STEP)
    return out


def close(found, expected):
    return np.abs(found - expected).max() <= FD_TOL * max(1.0, np.abs(expected).max())


def energy(rows, Q):
    E = np.zeros(1)
    row_energies(rows, Q, OWNER, E)
    return E[0]


# ---- penalties -----------------------------------------------------------------------------------------------


@kinds
@seeds
def test_the_energy_of_penalties_is_half_the_stiffness_times_the_square_of_the_gap(m, seed):
    rows, Q, _ = rows_of(m, seed, exact=2)
    held = rows.exact
    expected = 0.5 * rows.K[:held] @ (values(rows, Q)[:held] ** 2).sum(axis=1)
    assert energy(rows, Q) == pytest.approx(expected, rel=1e-13)  # the same sums


@kinds
@seeds
def test_an_energy_goes_to_the_larger_owner_of_a_pair(m, seed):
    rows, Q, _ = rows_of(m, seed)
    owner = np.where(ACTIVE != 0, np.arange(BODIES), -1)
    expected = np.zeros(BODIES)
    np.add.at(
        expected, np.maximum(owner[rows.left], owner[rows.right]), 0.5 * rows.K * (values(rows, Q) ** 2).sum(axis=1)
    )
    E = np.zeros(BODIES)
    row_energies(rows, Q, owner, E)
    np.testing.assert_allclose(E, expected, rtol=1e-13)


@kinds
@seeds
def test_the_gradient_of_penalties_is_the_derivative_of_their_energy(m, seed):
    rows, Q, _ = rows_of(m, seed)
    found = gradient(assembled(rows, Q, True)).reshape(Q.shape)
    assert close(found, slopes(lambda Q: energy(rows, Q), Q))


@kinds
@seeds
def test_the_exact_hessian_of_penalties_is_the_derivative_of_their_gradient(m, seed):
    rows, Q, _ = rows_of(m, seed)
    expected = slopes(lambda Q: gradient(assembled(rows, Q, True)).ravel(), Q).reshape(12 * BODIES, 12 * BODIES)
    assert close(hessian(assembled(rows, Q, True)), expected)


@kinds
@seeds
def test_the_safe_hessian_of_penalties_is_positive_semidefinite_with_the_same_gradient(m, seed):
    rows, Q, _ = rows_of(m, seed)
    safe, true = assembled(rows, Q, False), assembled(rows, Q, True)
    assert np.array_equal(gradient(safe), gradient(true))
    eigenvalues = np.linalg.eigvalsh(hessian(safe))
    # of a matrix with entries of order 10: round-off of some 1e-15
    assert eigenvalues[0] >= -1e-12 * eigenvalues[-1]
    # a point is linear, so there is nothing to leave out
    assert np.array_equal(hessian(safe), hessian(true)) == (m == 1)


@kinds
@seeds
def test_the_forces_of_penalties_are_those_of_the_gradient_on_the_right_body(m, seed):
    rows, Q, _ = rows_of(m, seed)
    h, found = 0.5, np.zeros((rows.count, 4, 3))
    add_row_forces(rows, h, Q, np.zeros((rows.count, 3)), found)
    for k in range(rows.count):
        alone = slice(k, k + 1)
        one = Stencils(rows.left[alone], rows.right[alone], rows.W[alone], np.zeros(1, int))
        G = assembled(Rows(one, rows.K[alone], Stencils.none(m)), Q, True).g[rows.right[k]].reshape(4, 3)
        np.testing.assert_allclose(found[k], -G / h**2, rtol=1e-13, atol=1e-13)  # the same sums


# ---- exact rows ----------------------------------------------------------------------------------------------


def measured(rows, Q, y=None):
    out = np.full((rows.count - rows.exact + 2, 3), np.nan)
    worst = measure_rows(rows, ACTIVE, Q, np.zeros((BODIES, 12)) if y is None else y, 2, out)
    assert np.isnan(out[:2]).all()  # rows begin where they are told to
    assert worst == np.abs(out[2:]).max()
    return out[2:]


def jacobian(rows):
    """J (3·rows, 12n) as last linearised."""
    columns = []
    for body in range(BODIES):
        for i in range(12):
            y, out = np.zeros((BODIES, 12)), np.empty((rows.count - rows.exact, 3))
            y[body, i] = ACTIVE[body]
            apply_rows(rows, ACTIVE, y, 0, out)
            columns.append(out.ravel())
    return np.array(columns).T


def held(m, seed, penalties=0):
    return rows_of(m, seed, penalties=penalties, exact=4)


@kinds
@seeds
def test_exact_rows_measure_what_is_across_where_they_were_linearised(m, seed):
    rows, Q, rng = held(m, seed, penalties=2)
    largest = linearise_rows(rows, ACTIVE, Q)
    np.testing.assert_allclose(rows.C[rows.exact :], across(rows, Q, values(rows, Q))[rows.exact :], atol=1e-13)
    assert largest == np.abs(rows.C[rows.exact :]).max()
    y = rng.normal(size=(BODIES, 12)) * ACTIVE[:, None]
    there = values(rows, Q - y.reshape(Q.shape))
    # values of order 10 with some ten roundings
    np.testing.assert_allclose(measured(rows, Q, y), across(rows, Q, there)[rows.exact :], atol=1e-13)


@kinds
@seeds
def test_rows_of_bodies_that_do_not_move_are_left_alone(m, seed):
    rows, Q, _ = held(m, seed)
    nobody = np.zeros(BODIES, np.int64)
    linearise_rows(rows, nobody, Q)
    out = np.full((rows.count, 3), np.nan)
    assert measure_rows(rows, nobody, Q, np.zeros((BODIES, 12)), 0, out) == 0.0
    assert not out.any() and not rows.C.any()
    out.fill(np.nan)
    apply_rows(rows, nobody, np.ones((BODIES, 12)), 0, out)
    assert not out.any()


@kinds
@seeds
def test_j_is_the_derivative_of_c_and_is_pulled_back_by_its_transpose(m, seed):
    rows, Q, rng = held(m, seed, penalties=2)
    linearise_rows(rows, ACTIVE, Q)
    J = jacobian(rows)
    for _ in range(3):
        step = rng.normal(size=Q.shape) * ACTIVE[:, None, None]
        # C is quadratic at most, so a central difference has no truncation error
        difference = (measured(rows, Q + step) - measured(rows, Q - step)).ravel() / 2
        np.testing.assert_allclose(J @ step.ravel(), difference, rtol=0, atol=1e-12)
        pull, g = rng.normal(size=(rows.count - rows.exact, 3)), np.zeros((BODIES, 12))
        pull_back_rows(rows, pull, 0, g)
        np.testing.assert_allclose((g * ACTIVE[:, None]).ravel(), J.T @ pull.ravel(), rtol=0, atol=1e-12)


@kinds
@seeds
def test_the_gradient_of_exact_rows_is_that_of_the_augmented_lagrangian(m, seed):
    """λ·C + K/2 ‖C‖² with λ across v, as it is where it was found."""
    rows, Q, rng = held(m, seed)
    rows.multiplier[:] = across(rows, Q, rng.normal(size=rows.multiplier.shape))

    def merit(Q):
        E = np.zeros(1)
        row_merits(rows, 1.0, Q, OWNER, E)
        return E[0]

    np.testing.assert_allclose(energy(rows, Q), 0.0)
    assert close(gradient(assembled(rows, Q, True)).reshape(Q.shape), slopes(merit, Q))


@kinds
@seeds
def test_the_hessian_of_exact_rows_is_that_of_weighted_rows_and_of_the_lagrangian(m, seed):
    rows, Q, rng = held(m, seed)
    rows.multiplier[:] = across(rows, Q, rng.normal(size=rows.multiplier.shape))
    safe = hessian(assembled(rows, Q, False))
    J = jacobian(rows)
    weighted = J.T @ (np.repeat(rows.K, 3)[:, None] * J)
    # sums of some ten products of order 1 to 100
    assert np.abs(safe - weighted).max() <= 1e-13 * np.abs(weighted).max()
    bend = hessian(assembled(rows, Q, True)) - safe
    e = rng.normal(size=Q.shape) * ACTIVE[:, None, None]
    second = values(rows, Q + e) - 2 * values(rows, Q) + values(rows, Q - e)  # C is quadratic at most: no truncation
    assert e.ravel() @ bend @ e.ravel() == pytest.approx((rows.multiplier * second).sum(), rel=1e-11, abs=1e-11)


@kinds
@seeds
def test_bend_is_the_second_derivative_of_c_along_a_velocity(m, seed):
    rows, Q, rng = held(m, seed, penalties=2)
    V = rng.normal(size=Q.shape)
    linearise_rows(rows, ACTIVE, Q)
    out = np.empty((rows.count - rows.exact, 3))
    bend_rows(rows, V, 0.25, 0, out)
    second = values(rows, Q + V) - 2 * values(rows, Q) + values(rows, Q - V)
    np.testing.assert_allclose(out, 0.25 * across(rows, Q, second)[rows.exact :], rtol=0, atol=1e-12)


# ---- the curvature of penalties at the start of a step ---------------------------------------------------------


@seeds
def test_the_curvature_of_a_closed_slide_is_the_second_derivative_of_its_gradient_along_what_it_does_not_resist(seed):
    rows, Q, rng = rows_of(2, seed)
    # u along v at Q: the least change of weights that makes it so
    F = images(rows, Q)
    ends = np.concatenate([Q[rows.left], Q[rows.right]], axis=1)
    for k in range(rows.count):
        wanted = rng.normal() * F[k, 1] - F[k, 0]
        rows.W[k, 0] += np.linalg.pinv(ends[k].T) @ wanted
    assert np.abs(values(rows, Q)).max() < 1e-12
    V, h = rng.normal(size=Q.shape), 0.3
    linearise_rows(rows, ACTIVE, Q)
    found = np.zeros((BODIES, 12))
    curve_rows(rows, V, h, found)
    F, dF = images(rows, Q), images(rows, V)
    expected = np.zeros((BODIES, 4, 3))
    for k in range(rows.count):
        u, v = F[k]
        J = np.vstack([np.cross(np.eye(3), v), np.cross(u, np.eye(3))]).T
        rate = h * (dF[k].ravel() - np.linalg.pinv(J, rcond=1e-9) @ (J @ dF[k].ravel()))

        def slope(F, K=rows.K[k]):
            u, v = F.reshape(2, 3)
            C = K * np.cross(u, v)
            return np.concatenate([np.cross(v, C), np.cross(C, u)])

        here = F[k].ravel()
        # a gradient of third degree: its second difference is exact
        second = (slope(here + rate) - 2 * slope(here) + slope(here - rate)).reshape(2, 3)
        G = (rows.W[k].T @ second).reshape(2, 4, 3)
        expected[rows.left[k]] += G[0]
        expected[rows.right[k]] += G[1]
    np.testing.assert_allclose(found.reshape(Q.shape), expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    points, Q, rng = rows_of(1, seed)
    linearise_rows(points, ACTIVE, Q)
    found.fill(0.0)
    curve_rows(points, V, h, found)
    assert not found.any()  # a point is linear
