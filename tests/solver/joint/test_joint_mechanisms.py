"""Random trees and loops of all joints with drives and limits: derivatives of the whole incremental potential."""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import JOINTS, Bench, everything_on, random_rotation

STEP = 1e-6
BODIES = 6


def mechanism(seed):
    """A random tree over six bodies, one of them fixed, with three edges more that close loops.

    Each edge is a random joint; the joints of a kind are spread over up to two geometries, of which the second has all
    extras. The bodies are soft, so that their shape energies do not drown the joints in the differences, and stretched:
    of a compressed body the assembled Hessian is not the exact one.
    """
    rng = np.random.default_rng(seed)
    bench = Bench()
    bodies = [
        bench.box(
            f"body {k}", rng.uniform(0.2, 0.6, 3), at=rng.normal(size=3), rotation=random_rotation(rng),
            fixed=k == seed % BODIES, kappa=1e4, potential=("OrthoPotential", "ARAP")[k % 2],
        )
        for k in range(BODIES)
    ]  # fmt: skip
    edges = [(int(rng.integers(k)), k) for k in range(1, BODIES)]
    while len(edges) < BODIES + 2:
        a, b = rng.permutation(BODIES)[:2].tolist()
        edges.append((a, b))
    kinds = list(JOINTS.values())
    chosen = rng.integers(len(kinds), size=len(edges))
    for extras in (False, True):
        for number, kind in enumerate(kinds):
            mine = [e for e, k in zip(edges, chosen, strict=True) if k == number][extras::2]
            if mine:
                left, right = ([bodies[e[side]] for e in mine] for side in (0, 1))
                points = rng.normal(size=(2, len(mine), 3))
                on = everything_on(kind, rng) if extras else ()
                bench.join(kind, left, right, *points, strength=rng.uniform(10, 100, len(mine)), extras=on)
    simulation = bench.lowered()
    Q = simulation.state.Q
    free = simulation.system.position >= 0
    Q_tilde = Q + 0.03 * rng.normal(size=Q.shape)
    stretched = Q * np.array([1.0, 1.1, 1.1, 1.1])[:, None] + 0.03 * rng.normal(size=Q.shape)
    Q = np.where(free[:, None, None], stretched, Q)
    return simulation.system, Q, Q_tilde, rng


def energy(system, Q, Q_tilde):
    return system.energies(Q, Q_tilde).sum()


def gradient(system, Q, Q_tilde):
    """∂E/∂Q (n, 4, 3), zero for fixed bodies."""
    system.assemble(Q, Q_tilde, True)
    g = np.zeros((BODIES, 12))
    free = system.position >= 0
    g[free] = system.blocks.g[system.position[free]]
    return g.reshape(BODIES, 4, 3)


def hessian_times(system, Q, Q_tilde, d):
    """H d (n, 4, 3) from the assembled blocks."""
    system.assemble(Q, Q_tilde, True)
    blocks, position = system.blocks, system.position
    free = position >= 0
    x = np.zeros((len(blocks.D), 12))
    x[position[free]] = d.reshape(BODIES, 12)[free]
    y = np.zeros_like(x)
    for row in range(len(x)):
        y[row] += (np.triu(blocks.D[row]) + np.triu(blocks.D[row], 1).T) @ x[row]
        for e in range(blocks.row_start[row], blocks.row_start[row + 1]):
            y[row] += blocks.U[e] @ x[blocks.column[e]]
            y[blocks.column[e]] += blocks.U[e].T @ x[row]
    out = np.zeros((BODIES, 12))
    out[free] = y[position[free]]
    return out.reshape(BODIES, 4, 3)


@pytest.mark.parametrize("seed", range(12))
def test_the_assembled_gradient_is_the_derivative_of_the_energy(seed):
    system, Q, Q_tilde, _ = mechanism(seed)
    g = gradient(system, Q, Q_tilde)
    differences = np.zeros_like(g)
    for place in np.ndindex(g.shape):
        if system.position[place[0]] >= 0:
            e = np.zeros_like(Q)
            e[place] = STEP
            differences[place] = (energy(system, Q + e, Q_tilde) - energy(system, Q - e, Q_tilde)) / (2 * STEP)
    # round-off 1e-16·E/STEP with E some ten times the gradient, truncation STEP² times third derivatives
    assert np.abs(g - differences).max() <= 1e-7 * np.abs(g).max()


@pytest.mark.parametrize("seed", range(12))
def test_the_assembled_hessian_is_the_derivative_of_the_gradient(seed):
    system, Q, Q_tilde, rng = mechanism(seed)
    for _ in range(6):
        d = rng.normal(size=Q.shape) * (system.position >= 0)[:, None, None]
        ahead, behind = (gradient(system, Q + s * STEP * d, Q_tilde) for s in (1, -1))
        differences = (ahead - behind) / (2 * STEP)
        # as above, for the differences of gradients
        assert np.abs(hessian_times(system, Q, Q_tilde, d) - differences).max() <= 1e-7 * np.abs(differences).max()


@pytest.mark.parametrize("seed", range(12))
def test_the_safe_system_of_a_mechanism_can_always_be_factored(seed):
    """Far from equilibrium, where the exact Hessian may be indefinite, the safe one is positive definite."""
    system, Q, Q_tilde, rng = mechanism(seed)
    free = (system.position >= 0)[:, None, None]
    for size in (0.1, 0.3):
        system.assemble(Q + size * rng.normal(size=Q.shape) * free, Q_tilde, False)
        assert system.blocks.factor() == -1
