"""Friction energies of rows by run: contacts of two bodies follow each other, and either body may be the first."""

from __future__ import annotations

import numpy as np

from dovetail.solver.contact.friction import Frictions, energies, slips
from dovetail.solver.contact.runs import list_runs, note_run


def test_energies_and_work_are_those_of_each_row_by_itself(rng):
    rows, bodies = 6, np.array([[0, 1], [1, 0], [0, 1], [1, -1], [2, 0], [2, 0]])
    f = Frictions(np.ones(3))
    f.make_room(rows)
    f.count, f.epsilon, f.bodies[:rows] = rows, 0.5, bodies
    for array in (f.xi, f.tangent, f.roll, f.carried):
        array[:rows] = rng.standard_normal(array[:rows].shape)
    f.load[:rows] = rng.random(rows)
    f.pieces.make_room(rows)
    for k, (a, b) in enumerate(f.bodies[:rows]):
        note_run(f.pieces, k, k, a, b)
    f.pieces.span[:] = 0, rows
    list_runs(f.pieces, rows, f.runs)
    Q_start, Q = rng.standard_normal((2, 3, 4, 3))
    u = np.empty((rows, 2))
    for k, (a, b) in enumerate(bodies):
        gone = f.xi[k, :4] @ (Q - Q_start)[a] - (f.xi[k, 4:] @ (Q - Q_start)[b] if b >= 0 else 0.0)
        u[k] = f.tangent[k] @ gone - f.roll[k]
    y = np.linalg.norm(u + f.carried[:rows], axis=1)
    f0 = np.where(y >= 0.5, y, y**2 * (0.5 - y / 3.0) / 0.25 + 0.5 / 3.0)
    owner, E, expected = np.arange(3), np.zeros(3), np.zeros(3)
    energies(f, Q_start, Q, np.ones(3, np.int64), owner, E, (0, 0, 3))
    first = np.where(bodies.min(axis=1) >= 0, bodies.min(axis=1), bodies.max(axis=1))
    np.add.at(expected, first, f.load[:rows] * f0)
    np.testing.assert_allclose(E, expected, rtol=1e-13)
    force, f1 = np.empty((rows, 3)), np.where(y >= 0.5, 1.0 / y, (2.0 - y / 0.5) / 0.5)
    lost = slips(f, Q_start, Q, force, (0, 0, rows))
    pull = -(f.load[:rows] * f1)[:, None] * (u + f.carried[:rows])
    np.testing.assert_allclose(force, np.einsum("kt,ktx->kx", pull, f.tangent[:rows]), rtol=1e-12)
    np.testing.assert_allclose(lost, -(pull * u).sum(), rtol=1e-12)
