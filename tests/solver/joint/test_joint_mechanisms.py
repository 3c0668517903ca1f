"""Random trees and loops of all joints with drives and limits: derivatives of the whole incremental potential."""

from __future__ import annotations

import numpy as np
import pytest
from dense_blocks import assemble, energies, gradient, hessian
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
    bench = Bench({"newton/direction": "factor"})
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
    free = simulation.model.bodies.is_free != 0
    Q_tilde = Q + 0.03 * rng.normal(size=Q.shape)
    stretched = Q * np.array([1.0, 1.1, 1.1, 1.1])[:, None] + 0.03 * rng.normal(size=Q.shape)
    Q = np.where(free[:, None, None], stretched, Q)
    return simulation.model, Q, Q_tilde, rng


def energy(model, Q, Q_tilde):
    return energies(model, Q, Q_tilde).sum()


def slope(model, Q, Q_tilde):
    """∂E/∂Q (n, 4, 3), zero for fixed bodies."""
    return gradient(assemble(model, Q, Q_tilde, True)).reshape(BODIES, 4, 3)


def hessian_times(model, Q, Q_tilde, d):
    """H d (n, 4, 3) from the assembled blocks."""
    return (hessian(assemble(model, Q, Q_tilde, True)) @ d.ravel()).reshape(BODIES, 4, 3)


@pytest.mark.parametrize("seed", range(12))
def test_the_assembled_gradient_is_the_derivative_of_the_energy(seed):
    model, Q, Q_tilde, _ = mechanism(seed)
    g = slope(model, Q, Q_tilde)
    differences = np.zeros_like(g)
    for place in np.ndindex(g.shape):
        if model.bodies.is_free[place[0]]:
            e = np.zeros_like(Q)
            e[place] = STEP
            differences[place] = (energy(model, Q + e, Q_tilde) - energy(model, Q - e, Q_tilde)) / (2 * STEP)
    # round-off 1e-16·E/STEP with E some ten times the gradient, truncation STEP² times third derivatives
    assert np.abs(g - differences).max() <= 1e-7 * np.abs(g).max()


@pytest.mark.parametrize("seed", range(12))
def test_the_assembled_hessian_is_the_derivative_of_the_gradient(seed):
    model, Q, Q_tilde, rng = mechanism(seed)
    for batch in model.potential.laws.batches:
        if batch.law.name == "servo":  # near its strongest a drive tells Newton of more than its own curvature,
            batch.p[:, batch.law.parameters.index("I [kg or kg·m²]")] = 1e12  # but not of what is too heavy for it
    for _ in range(6):
        d = rng.normal(size=Q.shape) * model.bodies.is_free[:, None, None]
        ahead, behind = (slope(model, Q + s * STEP * d, Q_tilde) for s in (1, -1))
        differences = (ahead - behind) / (2 * STEP)
        # as above, for the differences of gradients
        assert np.abs(hessian_times(model, Q, Q_tilde, d) - differences).max() <= 1e-7 * np.abs(differences).max()


@pytest.mark.parametrize("seed", range(12))
def test_the_safe_system_of_a_mechanism_can_always_be_factored(seed):
    """Far from equilibrium, where the exact Hessian may be indefinite, the safe one is positive definite."""
    model, Q, Q_tilde, rng = mechanism(seed)
    free = model.bodies.is_free[:, None, None]
    for size in (0.1, 0.3):
        blocks = assemble(model, Q + size * rng.normal(size=Q.shape) * free, Q_tilde, False)
        assert blocks.factor(model.bodies.is_free) == -1
