"""Contributions: energies beyond a body's own, added to the block system and to the energies of islands."""

from __future__ import annotations

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.typing import Array, Indices

__all__ = ["Contribution"]


class Contribution:
    """An energy of several bodies: soft transforms, joints, laws, articulations, contact."""

    def pairs(self) -> Indices:
        """Body pairs (k, 2) that its Hessian couples."""
        return np.zeros((0, 2), np.int64)

    def add_constant(self, blocks: Blocks) -> None:
        """Add what never changes to base_D and base_U; called once per structure and weight of the kinetic term."""

    def add_energy(self, Q: Array, owner: Indices, E: Array) -> None:
        """E[owner of the bodies concerned] += value at Q, which may be infinite where Q is not allowed.

        owner (n,) is −1 for fixed bodies; what belongs to a pair goes to the larger owner of the two.
        """
        raise NotImplementedError

    def assemble(self, Q: Array, exact: bool, blocks: Blocks) -> None:
        """Add derivatives at Q; without `exact` the Hessian must be positive semi-definite."""
        raise NotImplementedError

    def energy(self, Q: Array) -> float:
        """Sum over all bodies."""
        E = np.zeros(1)
        self.add_energy(Q, np.zeros(len(Q), np.int64), E)
        return float(E[0])
