"""Energies and laws of many joints, compiled: sums and derivatives against the plain functions."""

from __future__ import annotations

import numpy as np
import pytest
from dense_blocks import gradient, hessian
from joint_functions import energies, laws, over, phi, psi, x_of

from dovetail.solver.blocks import Blocks
from dovetail.solver.joint.coordinates import Coordinates
from dovetail.solver.joint.function import COORDINATES, LAWS
from dovetail.solver.joint.laws import LawBatch, Laws, assemble_laws, law_energies
from dovetail.solver.joint.stencil import Stencils
from dovetail.solver.joint.terms import Terms
from dovetail.world.lower import joints as _built_in  # noqa: F401  registers the functions

# ---- compiled batches ---------------------------------------------------------------------------------------


def random_batch(rows, count=5, seed=3):
    """Stencils over four bodies with random weights, and random states."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 4, count)
    right = (left + rng.integers(1, 4, count)) % 4
    stencils = Stencils(left, right, rng.normal(size=(count, rows, 8)), np.arange(count))
    Q = rng.normal(size=(4, 4, 3))
    return stencils, Q, [(W @ np.vstack([Q[i], Q[j]])).ravel() for W, i, j in zip(stencils.W, left, right, strict=True)]


@energies
def test_a_compiled_batch_of_energies_sums_the_plain_functions(function):
    stencils, Q, F = random_batch(function.rows)
    p = np.random.default_rng(5).uniform(0.5, 2, (len(F), len(function.parameters)))
    terms = Terms(function, stencils, p)
    expected = sum(psi(function, F_k, p_k)[0] for F_k, p_k in zip(F, p, strict=True))
    assert terms.energy(Q) == pytest.approx(expected, rel=1e-12)


@energies
@pytest.mark.parametrize("exact", [False, True])
def test_a_compiled_batch_pulls_derivatives_back_to_the_bodies(function, exact):
    stencils, Q, F = random_batch(function.rows)
    p = np.random.default_rng(5).uniform(0.5, 2, (len(F), len(function.parameters)))
    terms = Terms(function, stencils, p)
    blocks = Blocks(np.zeros(4, np.int64), terms.pairs())
    terms.add_constant(blocks)
    terms.assemble(Q, exact, blocks)
    expected_g, expected_H = np.zeros((4, 4, 3)), np.zeros((4, 4, 3, 4, 4, 3))
    for W, i, j, F_k, p_k in zip(stencils.W, stencils.left, stencils.right, F, p, strict=True):
        _, g, H = psi(function, F_k, p_k, float(exact))
        G = (W.T @ g.reshape(-1, 3)).reshape(2, 4, 3)
        full = np.einsum("ru,rasb,sv->uavb", W, H.reshape(function.rows, 3, function.rows, 3), W)
        full = full.reshape(2, 4, 3, 2, 4, 3)
        for s, body in enumerate((i, j)):
            expected_g[body] += G[s]
            for t, other in enumerate((i, j)):
                expected_H[body, :, :, other] += full[s, :, :, t]
    g, H = gradient(blocks).ravel(), hessian(blocks)
    assert np.abs(g - expected_g.reshape(-1)).max() <= 1e-12 * np.abs(expected_g).max()
    assert np.abs(H - expected_H.reshape(48, 48)).max() <= 1e-12 * np.abs(expected_H).max()


@over(COORDINATES, "coordinate")
@laws
def test_a_law_acts_on_the_chosen_coordinates_only(coordinate, function):
    stencils, Q, F = random_batch(coordinate.rows)
    chosen = np.array([3, 0])
    p = np.sort(np.random.default_rng(7).uniform(0.5, 2, (2, len(function.parameters))), axis=1)
    if function.name == "stop":
        p[:, :3] = -20.0, 20.0, np.inf
    x = np.array([x_of(coordinate, F[k])[0] for k in chosen])
    if coordinate.period:
        x -= coordinate.period * np.round(x / coordinate.period)  # nearest to the committed value, 0
    expected = sum(phi(function, x_k, p_k)[0] for x_k, p_k in zip(x, p, strict=True))
    found = np.zeros(1)
    law_energies(
        Laws(Coordinates([(coordinate, stencils)]), [LawBatch(function, chosen, p)]), Q, np.zeros(4, int), found
    )
    assert found[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("exact", [False, True])
def test_laws_on_several_kinds_of_coordinates_pull_their_derivatives_back_to_the_bodies(exact):
    """All coordinates in one table, some with two laws and some with none: g = φ′∇x, H = φ″∇x∇xᵀ + φ′∇²x."""
    kinds = sorted(
        (f for f in COORDINATES.values() if f.function.__module__.startswith("dovetail.")), key=lambda f: f.name
    )
    sets = [random_batch(kind.rows, seed=11 + k) for k, kind in enumerate(kinds)]
    Q = sets[0][1]
    table = Coordinates([(kind, stencils) for kind, (stencils, _, _) in zip(kinds, sets, strict=True)])
    rng = np.random.default_rng(9)
    batches = []
    for function in (LAWS["spring"], LAWS["limit"]):
        of = rng.permutation(table.count)[: table.count // 2 + 2]
        batches.append(
            LawBatch(function, of, np.sort(rng.uniform(0.5, 2, (len(of), len(function.parameters))), axis=1))
        )
    blocks = Blocks(np.zeros(4, np.int64), table.pairs)
    table.locate(blocks)
    all_laws = Laws(table, batches)
    assemble_laws(all_laws, exact, Q, blocks.g, blocks.D, blocks.U)
    expected_g, expected_H, expected_E = np.zeros((4, 4, 3)), np.zeros((4, 4, 3, 4, 4, 3)), 0.0
    flat = [
        (kind, stencils, k) for kind, (stencils, _, _) in zip(kinds, sets, strict=True) for k in range(stencils.count)
    ]
    for batch in batches:
        for number, p in zip(batch.of, batch.p, strict=True):
            kind, stencils, k = flat[number]
            W, bodies = stencils.W[k], (stencils.left[k], stencils.right[k])
            x, dx, d2x = x_of(kind, (W @ np.vstack([Q[b] for b in bodies])).ravel())
            if kind.period:
                x -= kind.period * np.round(x / kind.period)
            value, first, second = phi(batch.law, x, p)
            expected_E += value
            H = second * np.outer(dx, dx) + (first * d2x if exact else 0.0)
            G = first * (W.T @ dx.reshape(-1, 3)).reshape(2, 4, 3)
            full = np.einsum("ru,rasb,sv->uavb", W, H.reshape(kind.rows, 3, kind.rows, 3), W).reshape(2, 4, 3, 2, 4, 3)
            for s, body in enumerate(bodies):
                expected_g[body] += G[s]
                for t, other in enumerate(bodies):
                    expected_H[body, :, :, other] += full[s, :, :, t]
    E = np.zeros(1)
    law_energies(all_laws, Q, np.zeros(4, int), E)
    # sums of some ten terms, each with round-off of 1e-15
    assert E[0] == pytest.approx(expected_E, rel=1e-12)
    assert np.abs(gradient(blocks).ravel() - expected_g.ravel()).max() <= 1e-12 * np.abs(expected_g).max()
    assert np.abs(hessian(blocks) - expected_H.reshape(48, 48)).max() <= 1e-12 * np.abs(expected_H).max()
