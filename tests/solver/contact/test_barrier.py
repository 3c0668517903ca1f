"""The barrier and the mollifier of parallel edges: against ipctk, and the limits that make them what they are."""

from __future__ import annotations

import ipctk
import numpy as np
import pytest

from dovetail.solver.contact.barrier import MOLLIFIER, barrier, mollifier

D_HAT = (1e-4, 1e-3, 0.02, 1.0)
THICKNESS = (0.0, 1e-3, 0.05)


def squared_distances(rng: np.random.Generator, thickness: float, d_hat: float) -> np.ndarray:
    """Squared distances within the range of a barrier, some very near its ends."""
    gap = d_hat * np.concatenate([rng.uniform(0, 1, 50), [1e-9, 1e-6, 1e-3, 0.5, 1 - 1e-6, 1 - 1e-12]])
    return (thickness + gap) ** 2


@pytest.mark.parametrize("thickness", THICKNESS)
@pytest.mark.parametrize("d_hat", D_HAT)
def test_barrier_and_derivatives_agree_with_ipctk(rng, thickness, d_hat):
    """ipctk's barrier of the squared distance beyond the thickness; near either end its own digits are the limit."""
    width = (thickness + d_hat) ** 2 - thickness**2
    for D in squared_distances(rng, thickness, d_hat):
        gap = D - thickness**2
        value, first, second = barrier(D, thickness, d_hat)
        # at x = 1 − gap/width, b is x³, b′ is x², b″ is x: what is lost in forming x is lost in them
        lost = 4e-16 * (D / gap + D / max(width - gap, 1e-300))
        assert value == pytest.approx(ipctk.barrier(gap, width), rel=1e-12 + 3 * lost)
        assert first == pytest.approx(ipctk.barrier_first_derivative(gap, width), rel=1e-12 + 2 * lost)
        assert second == pytest.approx(ipctk.barrier_second_derivative(gap, width), rel=1e-12 + 2 * lost)


@pytest.mark.parametrize("thickness", THICKNESS)
def test_the_barrier_pushes_apart_and_stiffens_as_a_gap_closes(thickness):
    d_hat = 1e-3
    gap = d_hat * np.geomspace(1e-8, 1 - 1e-6, 200)
    D = (thickness + gap) ** 2
    b, first, second = np.array([barrier(x, thickness, d_hat) for x in D]).T
    assert (np.diff(b) < 0).all() and (first < 0).all()
    # the second derivative by the distance, all that the Hessian keeps, is positive
    assert (4 * D * second + 2 * first > 0).all()
    # −b′ d̂² is some 1/gap: no finite force closes a gap
    assert first[0] < 1e3 * first[len(first) // 2]


@pytest.mark.parametrize("thickness", THICKNESS)
def test_the_barrier_fades_out_at_its_range(thickness):
    """Value, slope and curvature vanish there: nothing jumps when a contact becomes active."""
    d_hat = 1e-3
    inner = np.array(barrier((thickness + 0.5 * d_hat) ** 2, thickness, d_hat))
    edge = np.array(barrier((thickness + d_hat * (1 - 1e-9)) ** 2, thickness, d_hat))
    # b, b′, b″ fall with the third, second and first power of the 1e-9; some round-off of D adds to that
    assert (np.abs(edge) <= np.abs(inner) * [1e-20, 1e-14, 1e-7]).all()


def test_mollifier_agrees_with_ipctk(rng):
    for _ in range(100):
        edges = rng.uniform(-1, 1, (4, 3))
        if rng.uniform() < 0.8:
            edges[3] = edges[2] + (edges[1] - edges[0]) * rng.uniform(0.5, 2) + 0.03 * rng.normal(size=3)
        u, v = edges[1] - edges[0], edges[3] - edges[2]
        epsilon = MOLLIFIER * u @ u * v @ v
        assert epsilon == pytest.approx(ipctk.edge_edge_mollifier_threshold(*edges), rel=1e-12)
        cross = ipctk.edge_edge_cross_squarednorm(*edges)
        value, slope = mollifier(cross, epsilon)
        assert value == pytest.approx(ipctk.edge_edge_mollifier(cross, epsilon), rel=1e-12)
        assert slope == pytest.approx(ipctk.edge_edge_mollifier_gradient(cross, epsilon), rel=1e-12, abs=1e-12)


def test_the_mollifier_is_smooth_where_it_ends():
    below, above = mollifier(1 - 1e-9, 1.0), mollifier(1 + 1e-9, 1.0)
    np.testing.assert_allclose(below, above, atol=4e-9)
    assert mollifier(0.0, 1.0) == (0.0, 2.0)
