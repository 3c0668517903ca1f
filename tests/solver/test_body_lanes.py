"""Eight bodies at once: guesses, energies and starts against the loops over single bodies that define them."""

from __future__ import annotations

import numpy as np
import pytest
from plain_bodies import plain_bodies

from dovetail.solver.assembly.bodies import Weights, add_body_energies
from dovetail.solver.assembly.start import aim_at_start
from dovetail.solver.bodies import ARAP, ORTHO
from dovetail.solver.predict import first_guess

N = 24


def states(rng: np.random.Generator, stretch: float) -> np.ndarray:
    rotation = np.linalg.qr(rng.normal(size=(N, 3, 3)))[0]
    rotation *= np.linalg.det(rotation)[:, None, None]
    A = rotation @ (np.eye(3) + stretch * rng.normal(size=(N, 3, 3)))
    return np.concatenate([rng.normal(size=(N, 1, 3)), A], axis=1)


@pytest.mark.parametrize("stretch", [1e-4, 0.2])
def test_the_guesses_of_eight_bodies_are_those_of_each(stretch):
    """With the larger stretch two polar sweeps are not enough, and single bodies are taken after all."""
    rng = np.random.default_rng(5)
    Q, Q_tilde, A = states(rng, stretch), states(rng, stretch), rng.normal(size=(N, 4, 3))
    is_free, weight = np.ones(N, np.int64), rng.uniform(0.5, 2.0, N)
    is_free[20] = 0
    out, expected = np.empty_like(Q), np.empty_like(Q)
    first_guess(1e-4 / weight, is_free, Q, Q_tilde, A, out)
    for b in range(N):
        one = slice(b, b + 1)
        first_guess(1e-4 / weight[one], is_free[one], Q[one], Q_tilde[one], A[one], expected[one])
    # a polar rotation is given to 1e-6, after which the next sweep would leave 1e-12
    np.testing.assert_allclose(out, expected, atol=1e-11)
    assert (out[20] == Q[20]).all()


def test_the_energies_of_eight_bodies_are_those_of_each():
    rng = np.random.default_rng(6)
    Q, Q_tilde = states(rng, 0.05), states(rng, 0.05)
    Q[3, 1] *= -1.0  # inside out
    rows = rng.normal(size=(N, 6, 4))
    mass, c, w = np.einsum("bri,brj->bij", rows, rows), rng.uniform(0.5, 2.0, N), rng.uniform(1.0, 9.0, N)
    model = np.full(N, ORTHO)
    model[18] = ARAP
    E = np.zeros(N)
    add_body_energies(Weights(bodies=plain_bodies(mass, model=model), c=c, w=w), 1, Q, Q_tilde, np.arange(N), E)
    for b in range(N):
        alone, one = np.zeros(1), slice(b, b + 1)
        single = Weights(bodies=plain_bodies(mass[one], model=model[one]), c=c[one], w=w[one])
        add_body_energies(single, 1, Q[one], Q_tilde[one], np.zeros(1, np.int64), alone)
        np.testing.assert_allclose(E[b], alone[0], rtol=1e-13)
    assert E[3] == np.inf


def test_the_starts_of_eight_bodies_are_those_of_each():
    rng = np.random.default_rng(7)
    Q, V, a = states(rng, 0.05), *rng.normal(size=(2, N, 4, 3))
    rows = rng.normal(size=(N, 6, 4))
    mass, w = np.einsum("bri,brj->bij", rows, rows), rng.uniform(1.0, 9.0, N)
    active = np.ones(N, np.int64)
    active[18] = 0
    aims, push = np.empty_like(Q), np.zeros_like(Q)
    weights = Weights(bodies=plain_bodies(mass), c=np.ones(N), w=w)
    fastest = aim_at_start(weights, active, 0.1, 1e6, a, Q, V, aims, push)
    assert fastest == np.abs(V[:, 1:]).max()
    for b in range(N):
        one, aim, alone = slice(b, b + 1), np.empty((1, 4, 3)), np.zeros((1, 4, 3))
        single = Weights(bodies=plain_bodies(mass[one]), c=np.ones(1), w=w[one])
        aim_at_start(single, active[one], 0.1, 1e6, a[one], Q[one], V[one], aim, alone)
        # sums of some twenty terms of 1 … 1e2, in another order
        np.testing.assert_allclose(aims[one], aim, rtol=1e-12, atol=1e-12 * np.abs(aim).max())
        np.testing.assert_allclose(push[one], alone, rtol=1e-12, atol=1e-12 * np.abs(alone).max())
    assert (aims[18] == Q[18]).all()
