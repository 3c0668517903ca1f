"""Adjoint of what is done to islands that are struck (solver/struck.py): a turn back, and a cut of energy.

Which islands are turned, and which are cut, is as it was, no part of a derivative.
"""

from __future__ import annotations

import numpy as np

from dovetail.gradient.bodies import shape_gradients
from dovetail.gradient.closest import Closest
from dovetail.gradient.formulas import Node, add_up, cross, custom, divided, gathered, joined, root, summed, where
from dovetail.gradient.rigid import Moments
from dovetail.solver.bodies import Bodies
from dovetail.solver.struck import strains_of
from dovetail.typing import Flags, Indices

__all__ = ["IslandAdjoint"]


class IslandAdjoint:
    """Islands (c,) of bodies (n,), −1 for none and what is fixed, between Q_before and Q.

    mass (n, 4, 4), stiffness (n,)     nodes, those of fixed bodies without a meaning
    """

    def __init__(self, of: Indices, count: int, Q_before: Node, Q: Node, mass: Node, stiffness: Node) -> None:
        self._of, self._count, self._Q_before, self._Q = of, count, Q_before, Q
        self._mass, self._stiffness = mass, stiffness

    def _total(self, values: Node) -> Node:
        """Sums (c, …) of values by body (n, …)."""
        return add_up(values, self._of, self._count)

    def _momenta(self, Q: Node, V: Node) -> tuple[Node, Node, Moments]:
        """Angular momentum (c, 3) about centres of mass; centres of bodies from these (n, 3)."""
        moments = Moments(self._mass, Q)
        w, centre, m = moments.rigid(V), moments.carried(Q), moments.m
        r = centre - gathered(self._total(m * centre) / where(self._has_bodies, self._total(m), 1.0), self._of)
        return self._total(w[:, 3:] + m * cross(r, w[:, :3])), r, moments

    @property
    def _has_bodies(self) -> Flags:
        return (np.bincount(self._of[self._of >= 0], minlength=self._count) > 0)[:, None]

    def turned_back(self, turned: Flags, V_before: Node, V: Node) -> Node:
        """V (n, 4, 3) where some islands (c,) are turned so that they have the angular momentum of V_before."""
        if not turned.any():
            return V
        wanted, _, _ = self._momenta(self._Q_before, V_before)
        present, r, moments = self._momenta(self._Q, V)
        eye, along = np.eye(3), r[:, :, None] * r[:, None]
        square = summed(r * r, 1)[:, None, None]
        inertia = self._total(moments.inertia + moments.m[:, :, None] * (square * eye - along))
        inertia = where(turned[:, None, None], inertia, eye)
        spin = turned[:, None] * divided(wanted - present, inertia)
        arms = joined([(self._Q[:, 0] + r - moments.carried(self._Q))[:, None], self._Q[:, 1:]], axis=1)
        return V + cross(gathered(spin, self._of)[:, None], arms)

    def _work(self, one: Node, other: Node) -> Node:
        return self._total(summed(summed(one * (self._mass @ other), 1), 1))

    def stored(self, bodies: Bodies, Q: Node) -> Node:
        """Energy (c,) of shapes."""
        slopes = shape_gradients(bodies, Q.value)
        strains = custom(
            (Q,), strains_of(bodies, Q.value), lambda bar: (bar[:, None, None] * slopes,),
            lambda dQ: (dQ * slopes).sum(axis=(1, 2)),
        )  # fmt: skip
        return self._total(self._stiffness * strains)

    def held(self, closest: Closest, kept: Flags, island: Indices) -> Node:
        """Energy · h² (c,) of some of all contacts (k,), each in one island, −1 for none."""
        energy = (closest.scale * closest.slope_of_barrier(0))[:, 0]
        return add_up(energy * kept, island, self._count)

    def energy(self, V: Node) -> Node:
        """Kinetic energy (c,)."""
        return 0.5 * self._work(V, V)

    def shares(self, cut: Flags, most: Node, start: Node, change: Node) -> Node:
        """Shares (c,) of a change of velocities with which cut islands have the energy that they may have."""
        quadratic, linear = self.energy(change), self._work(start, change)
        left = most - self.energy(start)
        left = where(left.value > 0.0, left, 0.0)
        square = linear * linear + 4.0 * quadratic * left
        share = (root(where(cut, square, 1.0)) - linear) / where(cut, 2.0 * quadratic, 1.0)
        return where(cut, share, 1.0)

    def slowed(self, slow: Flags, most: Node, V: Node) -> Node:
        """V (n, 4, 3) where some islands (c,) are slowed, about their centres of mass, to the energy they may have."""
        m = self._mass[:, 0, :1]
        momentum = (self._mass[:, :1] @ V)[:, 0]
        centre = gathered(self._total(momentum) / where(self._has_bodies, self._total(m), 1.0), self._of)
        centre = centre[:, None] * np.array([1.0, 0.0, 0.0, 0.0])[:, None]
        about = V - centre
        share = 1.0 - (self.energy(V) - most) / where(slow, self.energy(about), 1.0)
        share = where(slow, root(where(slow, share, 1.0)), 1.0)
        return centre + gathered(share, self._of)[:, None, None] * about

    def given(self, a: Node, moved: Node) -> Node:
        """What loads have given (c,) on the way."""
        return self._work(a, moved)
