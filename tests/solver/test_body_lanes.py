"""Eight bodies at once: guesses, energies and starts against the loops over single bodies that define them."""

from __future__ import annotations

import numpy as np
import pytest
from plain_bodies import plain_bodies

from dovetail.solver.assembly.bodies import Weights, add_body_energies
from dovetail.solver.assembly.start import aim_at_start, aim_of_one, turn_of_one, turn_to_acceleration
from dovetail.solver.bodies import ARAP, ORTHO
from dovetail.solver.energy.arap import arap_energy
from dovetail.solver.energy.kinetic import kinetic_energy
from dovetail.solver.energy.ortho import ortho_energy
from dovetail.solver.predict import first_guess, guess_of_one

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
    expected[:] = Q
    for b in np.flatnonzero(is_free):
        guess_of_one(1e-4 / weight, Q, Q_tilde, A, b, np.empty((3, 3)), expected)
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
        if b not in (3, 18):
            alone = kinetic_energy(mass, c[b], Q, Q_tilde, b) + ortho_energy(w[b], Q, b)
            np.testing.assert_allclose(E[b], alone, rtol=1e-13)
    assert E[3] == np.inf
    np.testing.assert_allclose(
        E[18], kinetic_energy(mass, c[18], Q, Q_tilde, 18) + arap_energy(w[18], Q, 18, np.empty((3, 3))), rtol=1e-13
    )


def test_the_starts_of_eight_bodies_are_those_of_each():
    rng = np.random.default_rng(7)
    Q, V, a = states(rng, 0.05), *rng.normal(size=(2, N, 4, 3))
    rows = rng.normal(size=(N, 6, 4))
    mass, w = np.einsum("bri,brj->bij", rows, rows), rng.uniform(1.0, 9.0, N)
    active = np.ones(N, np.int64)
    active[18] = 0
    aims, push = np.empty_like(Q), np.zeros_like(Q)
    weights = Weights(bodies=plain_bodies(mass), c=np.ones(N), w=w)
    aim_at_start(weights, active, 0.1, 1e6, a, Q, V, aims, push)
    bodies, aim, alone = weights.bodies, np.empty_like(Q), np.zeros_like(Q)
    for b in np.flatnonzero(active):
        k = 4.0 * w[b]
        filtered = k * 2.0 * k / (bodies.largest_moment[b] + 2.0 * k)
        aim_of_one(bodies, k, filtered, 0.1, 1e6, a, Q, V, b, aim, alone)
        # sums of some twenty terms of 1 … 1e2, in another order
        np.testing.assert_allclose(aims[b], aim[b], rtol=1e-12, atol=1e-12 * np.abs(aim[b]).max())
        np.testing.assert_allclose(push[b], alone[b], rtol=1e-12, atol=1e-12 * np.abs(alone[b]).max())
    assert (aims[18] == Q[18]).all()


def test_the_accelerations_of_eight_bodies_are_those_of_each():
    rng = np.random.default_rng(9)
    Q, V, a = states(rng, 0.05), *rng.normal(size=(2, N, 4, 3))
    rows = rng.normal(size=(N, 6, 4))
    mass, filtered, active = np.einsum("bri,brj->bij", rows, rows), rng.uniform(1.0, 9.0, N), np.ones(N, np.int64)
    active[18] = 0
    before, alone = rng.normal(size=(N, 12)), np.zeros((N, 12))
    g = before.copy()
    turn_to_acceleration(mass, active, filtered, 0.1, a, Q, V, g)
    for b in np.flatnonzero(active):
        turn_of_one(mass, filtered[b], 0.1, a, Q, V, b, alone)
        # sums of some twenty terms of 1 … 1e2, in another order
        np.testing.assert_allclose(g[b], before[b] + alone[b], rtol=1e-12, atol=1e-12 * np.abs(alone[b]).max())
    assert (g[18] == before[18]).all()


@pytest.mark.parametrize("many", [1, 3, 8, 13])
def test_a_body_has_the_same_bits_whatever_its_neighbours_are(many):
    rng = np.random.default_rng(8)
    Q, Q_tilde, V, a = states(rng, 1e-3), states(rng, 1e-3), *rng.normal(size=(2, N, 4, 3))
    rows = rng.normal(size=(N, 6, 4))
    mass, w, free = np.einsum("bri,brj->bij", rows, rows), rng.uniform(1.0, 9.0, N), np.ones(N, np.int64)

    def computed(some: slice) -> list[np.ndarray]:
        n = len(Q[some])
        weights = Weights(bodies=plain_bodies(mass[some]), c=np.ones(n), w=w[some])
        out, aims, push, E = np.empty((n, 4, 3)), np.empty((n, 4, 3)), np.empty((n, 4, 3)), np.zeros(n)
        g = np.zeros((n, 12))
        first_guess(np.full(n, 1e-4), free[some], Q[some], Q_tilde[some], a[some], out)
        aim_at_start(weights, free[some], 0.1, 1e6, a[some], Q[some], V[some], aims, push)
        add_body_energies(weights, None, Q[some], Q_tilde[some], np.arange(n), E)
        turn_to_acceleration(mass[some], free[some], w[some], 0.1, a[some], Q[some], V[some], g)
        return [out, aims, push, E, g]

    for whole, part in zip(computed(slice(0, N)), computed(slice(5, 5 + many)), strict=True):
        np.testing.assert_array_equal(whole[5 : 5 + many], part)
