"""The block system of a model as dense arrays by body, for comparison with plain linear algebra."""

from __future__ import annotations

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.model import Model

__all__ = ["assemble", "energies", "gradient", "hessian"]


def energies(model: Model, Q: np.ndarray, Q_tilde: np.ndarray) -> np.ndarray:
    """Energies (n,) by body at Q, a copy."""
    model.potential.Q_tilde[:] = Q_tilde
    return model.potential.at(Q).E.copy()


def assemble(model: Model, Q: np.ndarray, Q_tilde: np.ndarray, exact: bool) -> Blocks:
    """The blocks with gradient and Hessian of all free bodies at Q, without contact."""
    directions = model.directions
    directions.need_blocks()
    model.potential.Q_tilde[:] = Q_tilde
    at = model.potential.bare(Q)
    model.potential.assemble(at, exact, model.bodies.is_free, directions.blocks, with_contact=False)
    return directions.blocks


def gradient(blocks: Blocks) -> np.ndarray:
    """g (n, 12), zero for fixed bodies."""
    return np.where((blocks.position >= 0)[:, None], blocks.g, 0.0)


def hessian(blocks: Blocks) -> np.ndarray:
    """The matrix (12n, 12n) that is about to be factored; rows and columns of fixed bodies are zero."""
    n, order = len(blocks.position), blocks.order
    H = np.zeros((n, 12, n, 12))
    for place, body in enumerate(order):
        H[body, :, body] = np.triu(blocks.D[body]) + np.triu(blocks.D[body], 1).T
        for s in range(blocks.row_start[place], blocks.row_start[place + 1]):
            other = order[blocks.column[s]]
            H[body, :, other], H[other, :, body] = blocks.U[s], blocks.U[s].T
    return H.reshape(12 * n, 12 * n)
