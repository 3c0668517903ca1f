"""The energy of articulations, ½ dᵀ M d with d = δθ − δθ̃, and its derivatives, on angles and projections mixed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from dense_blocks import gradient, hessian
from scenes import rotation

from dovetail.solver.blocks import Blocks
from dovetail.solver.coordinate import angle, projection
from dovetail.solver.joint.articulation import Articulations
from dovetail.solver.joint.coordinates import Coordinates
from dovetail.solver.joint.stencil import Stencils

# Two articulations on seven bodies: joints 0 to 3 and joints 4 to 5; body 6 has none. An angle and a projection may
# join the same pair, and body 1 is in three joints.
ANGLES = np.array([[0, 1], [3, 1], [4, 5]])
PROJECTIONS = np.array([[1, 2], [0, 1], [5, 4]])
OF = np.array([0, 3, 1, 4, 2, 5])  # coordinate of every entry: angles come first, then projections
START = np.array([0, 4, 6])
BODIES = 7


def stencils(pairs, rows, rng):
    """Random rows; directions for an angle, n_i, b_i, n_j, b_j; a gap and a mean direction for a projection."""
    W = np.zeros((len(pairs), rows, 8))
    material = rng.normal(size=(len(pairs), rows, 8))
    if rows == 4:
        W[:, :2, 1:4], W[:, 2:, 5:] = material[:, :2, 1:4], material[:, 2:, 5:]
    else:
        W[:, 0], W[:, 1, 1:4], W[:, 1, 5:] = material[:, 0], material[:, 1, 1:4], material[:, 1, 5:]
        W[:, 0, 0], W[:, 0, 4] = -1, 1
    return Stencils(pairs[:, 0], pairs[:, 1], W, np.arange(len(pairs)))


@pytest.fixture
def system(rng):
    """Articulations with random mass matrices, targets and states, and the blocks of all bodies."""
    coordinates = Coordinates([(angle, stencils(ANGLES, 4, rng)), (projection, stencils(PROJECTIONS, 2, rng))])
    articulations = Articulations(coordinates, OF, START)
    for a in range(2):
        root = rng.normal(size=articulations.matrix(a).shape)
        articulations.matrix(a)[:] = root @ root.T
    Q = np.concatenate([rng.normal(size=(BODIES, 1, 3)), np.tile(np.eye(3), (BODIES, 1, 1))], axis=1)
    Q += 0.2 * rng.normal(size=Q.shape)
    articulations.previous[:] = articulations.values(Q, np.zeros(6)) + 0.1 * rng.normal(size=6)
    articulations.target[:] = 0.3 * rng.normal(size=6)
    return articulations, Q


def derivatives(articulations, Q, exact, fixed=()):
    """Dense gradient (n, 12) and Hessian (n, 12, n, 12) as assembled; zero for fixed bodies."""
    is_fixed = np.zeros(BODIES, np.int64)
    is_fixed[list(fixed)] = 1
    blocks = Blocks(is_fixed, articulations.pairs())
    articulations.add_constant(blocks)
    articulations.assemble(Q, exact, blocks)
    return gradient(blocks), hessian(blocks).reshape(BODIES, 12, BODIES, 12)


def differences(function, Q):
    """Central differences by every entry of Q; exact to 1e-9 of quantities of order one."""
    step = 1e-5
    columns = []
    for k in range(Q.size):
        moved = np.zeros(Q.size)
        moved[k] = step
        plus, minus = function(Q + moved.reshape(Q.shape)), function(Q - moved.reshape(Q.shape))
        columns.append((np.asarray(plus) - np.asarray(minus)) / (2 * step))
    return np.stack(columns, axis=-1)


def test_the_gradient_is_the_derivative_of_the_energy(system):
    articulations, Q = system
    g, _ = derivatives(articulations, Q, exact=True)
    expected = differences(articulations.energy, Q).reshape(BODIES, 12)
    assert np.abs(g - expected).max() < 1e-8 * np.abs(g).max()


def test_the_exact_hessian_is_the_derivative_of_the_gradient(system):
    articulations, Q = system
    _, H = derivatives(articulations, Q, exact=True)
    expected = differences(lambda q: derivatives(articulations, q, exact=True)[0].ravel(), Q)
    assert np.abs(H.reshape(expected.shape) - expected).max() < 1e-8 * np.abs(H).max()


def test_the_safe_hessian_has_no_negative_eigenvalue_and_the_exact_one_does(system):
    articulations, Q = system
    size = 12 * BODIES
    safe, exact = (derivatives(articulations, Q, exact=e)[1].reshape(size, size) for e in (False, True))
    # six coordinates: a rank of six at most, the rest is round-off
    eigenvalues = np.linalg.eigvalsh(safe)
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]
    assert (eigenvalues > 1e-9 * eigenvalues[-1]).sum() == 6
    assert np.linalg.eigvalsh(exact)[0] < -1e-3


def test_the_energy_is_a_quadratic_form_of_what_is_missing(system):
    articulations, Q = system
    missing = articulations.change(Q) - articulations.target
    expected = sum(
        0.5 * missing[s:e] @ articulations.matrix(a) @ missing[s:e] for a, (s, e) in enumerate(pairwise(START))
    )
    assert articulations.energy(Q) == pytest.approx(expected, rel=1e-14)


def test_every_two_bodies_of_an_articulation_are_neighbours_and_no_others(system):
    articulations, _ = system
    expected = {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (4, 5)}
    assert {tuple(sorted(pair)) for pair in articulations.pairs().tolist()} == expected


def test_each_articulation_counts_in_its_own_island(system):
    articulations, Q = system
    E = np.zeros(3)
    articulations.add_energy(Q, np.array([-1, 0, 0, 0, 2, 2, 1]), E)
    assert E[1] == 0.0
    assert min(E[0], E[2]) > 0.0
    assert E.sum() == pytest.approx(articulations.energy(Q), rel=1e-14)


def test_a_fixed_body_drops_out_and_leaves_the_others_alone(system):
    articulations, Q = system
    g, H = derivatives(articulations, Q, exact=True)
    g_fixed, H_fixed = derivatives(articulations, Q, exact=True, fixed=[1])
    free = [0, 2, 3, 4, 5, 6]
    np.testing.assert_array_equal(g_fixed[free], g[free])
    # the order of elimination differs, and with it the order in which terms are summed
    np.testing.assert_allclose(H_fixed[np.ix_(free, range(12), free)], H[np.ix_(free, range(12), free)], atol=1e-12)


def test_moving_all_bodies_together_costs_nothing(system, rng):
    articulations, Q = system
    R = rotation(rng.normal(size=3), 1.2)
    moved = Q @ R.T
    moved[:, 0] += rng.normal(size=3)
    assert articulations.energy(moved) == pytest.approx(articulations.energy(Q), rel=1e-12)


def test_an_angle_that_passes_half_a_turn_has_changed_by_little():
    W = np.zeros((1, 4, 8))
    W[0, [0, 1, 2, 3], [2, 3, 6, 7]] = 1.0
    hinge = Coordinates([(angle, Stencils(np.array([0]), np.array([1]), W, np.array([0])))])
    articulations = Articulations(hinge, np.array([0]), np.array([0, 1]))

    def turned(by):
        Q = np.concatenate([np.zeros((2, 1, 3)), np.tile(np.eye(3), (2, 1, 1))], axis=1)
        Q[1, 1:] = Q[1, 1:] @ rotation((1, 0, 0), by).T
        return Q

    articulations.previous[:] = articulations.values(turned(3.1), np.zeros(1))
    assert articulations.change(turned(3.2)) == pytest.approx(0.1, abs=1e-14)
    assert articulations.change(turned(3.0)) == pytest.approx(-0.1, abs=1e-14)
