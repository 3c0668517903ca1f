"""Adjoint of everything in a step's equations but inertia: shapes, joints, laws, couplings, users' energies.

The equations g(Q; θ) = 0 of a step have the adjoint x; every parameter θ gets −x·∂g/∂θ. What depends on the state at
the start of the step, such as xₙ of a damper, goes to that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from dovetail.gradient.bodies import shape_gradients
from dovetail.gradient.laws import law_adjoints, steps_of, value_adjoints
from dovetail.gradient.rows import row_adjoints
from dovetail.gradient.sums import Sums
from dovetail.gradient.terms import term_adjoints
from dovetail.solver.bodies import ORTHO
from dovetail.solver.joint.entries import Entries
from dovetail.solver.model import Model
from dovetail.typing import Array, Flags

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["PotentialAdjoint", "entry_rates"]


_places: WeakKeyDictionary[Model, Flags] = WeakKeyDictionary()  # asking all laws takes as long as some steps


class PotentialAdjoint:
    """The part of adjoints that is the same for all integrators; by_laws are those of parameters of laws in a step."""

    def __init__(self, simulation: Simulation) -> None:
        self._bodies, self._potential = simulation.model.bodies, simulation.model.potential
        self._lowered = simulation.joints.lowered
        self._arap = np.flatnonzero(self._bodies.model != ORTHO)
        if simulation.model not in _places:
            _places[simulation.model] = _places_of(simulation)
        self.is_place = _places[simulation.model]

    def run(self, k: int, h: float, Q: Array, x: Array, nu: Array, sums: Sums) -> Array:
        """Add the gradients of step k, of length h, at its end Q; the adjoint (c,) of what laws take for xₙ."""
        potential, lowered, constant, steps = self._potential, self._lowered, sums.constant, sums.steps
        if len(self._arap):
            shapes = x * shape_gradients(self._bodies, Q)
            constant["stiffness"][self._arap] -= h * h * shapes[self._arap].sum(axis=(1, 2))
        first = 0
        for name, rows in (("points", potential.points), ("slides", potential.slides)):
            if rows.count:
                row_adjoints(rows, nu, first, Q, x, constant[f"{name}/W"], constant[f"{name}/K"])
                first += rows.count - rows.exact
        start_bar = np.zeros(lowered.coordinates.count)
        if (laws := potential.laws) is not None:
            p_bar = np.zeros_like(laws.p)
            law_adjoints(laws, steps_of(laws.p, self.is_place), Q, x, p_bar, constant["coordinates/W"])
            rates = np.flatnonzero(laws.start >= 0)
            np.add.at(start_bar, laws.of[rates], p_bar[laws.start[rates]])
            steps["laws"][k] += p_bar
            self.by_laws = p_bar
        for n, terms in enumerate(lowered.terms):
            s, W_bar = terms.stencils, np.zeros_like(terms.stencils.W)
            term_adjoints(terms.function.address, s.left, s.right, s.W, terms.p, Q, x, steps[f"terms {n}"][k], W_bar)
            constant[f"terms {n}/W"] += W_bar
        self._couplings(k, Q, x, nu[first:, 0], sums)
        soft = potential.soft_transforms
        if soft.count:
            pull, left = soft.pull(x[soft.bodies]), Q[soft.bodies] - soft.aim
            steps["soft transform/aim"][k, soft.bodies] += pull
            constant["soft transform/B"][soft.bodies] -= x[soft.bodies] @ left.swapaxes(1, 2)
            sums.log_pull[soft.bodies] -= (pull * left).sum(axis=(1, 2))
        return start_bar

    def exerted_bar(self, smooth: Flags) -> Array:
        """Adjoints (m,) of what laws with caps have exerted before the end of the step at hand."""
        laws = self._potential.laws
        if laws is None:
            return np.zeros(0)
        found, c, some = np.zeros(laws.count), laws.coordinates, laws.capped
        of = laws.of[some]
        starts = smooth[c.left[of]] & smooth[c.right[of]]
        found[some] = np.where(starts, self.by_laws[laws.exerted[some]], 0.0)
        return found

    def _couplings(self, k: int, Q: Array, x: Array, nu: Array, sums: Sums) -> None:
        """Rows on coordinates, and couplings that are energies K/2 (w·x − c)²."""
        exact, lowered = self._potential.exact, self._lowered
        if exact is not None and exact.combined.count:
            rows = exact.combined
            e = rows.entries
            rate = entry_rates(e, x)
            held, pull = nu[e.group], rows.multiplier[e.group, 0]
            sums.steps["combined/weight"][k] -= pull * rate + held * e.x
            sums.steps["combined/target"][k] += nu
            self._weights(e, Q, x, -held * rows.weight, -pull * rows.weight, sums)
        soft = None if lowered.couplings is None else lowered.couplings.soft
        if soft is not None:
            e = soft.entries
            M = e.M.reshape(-1, 2, 2)
            w = M[:, 0] / M[:, 0, :1]  # (1, −ratio)
            K, rate = M[:, 0, 0], entry_rates(e, x).reshape(-1, 2)
            gap = (w * (e.x - soft.previous - soft.target).reshape(-1, 2)).sum(axis=1)
            moved = (w * rate).sum(axis=1)
            sums.steps["soft/strength"][k] -= gap * moved
            sums.steps["soft/offset"][k] += K * moved
            sums.steps["soft/ratio"][k] += K * (e.x.reshape(-1, 2)[:, 1] * moved + gap * rate[:, 1])
            self._weights(e, Q, x, (-(K * moved)[:, None] * w).ravel(), (-(K * gap)[:, None] * w).ravel(), sums)

    def _weights(self, e: Entries, Q: Array, x: Array, value_bar: Array, rate_bar: Array, sums: Sums) -> None:
        """Gradients by the weights of the coordinates of entries whose values and rates along x have these adjoints."""
        c = self._lowered.coordinates
        values, rates, unused = np.zeros(c.count), np.zeros(c.count), np.zeros((2, *Q.shape))
        np.add.at(values, e.of, value_bar)
        np.add.at(rates, e.of, rate_bar)
        value_adjoints(c, Q, x, values, rates, unused[0], unused[1], sums.constant["coordinates/W"])


def _places_of(simulation: Simulation) -> Flags:
    """Which parameters of laws are values of their coordinate."""
    laws, lowered = simulation.model.potential.laws, simulation.joints.lowered
    found = np.zeros(0 if laws is None else len(laws.p), np.bool_)
    for use in lowered.law_uses:
        assert laws is not None
        columns = [part.reported or part.start for part in use.word.parameters]
        at = laws.at[use.laws.rows][use.rows]
        found[at[:, None] + np.flatnonzero(columns)] = True
    return found


def entry_rates(e: Entries, x: Array) -> Array:
    """∇x·x of all entries, as last linearised."""
    c, flat = e.coordinates, x.reshape(-1, 12)
    rates: Array = (e.J[:, 0] * flat[c.left[e.of]]).sum(axis=1) + (e.J[:, 1] * flat[c.right[e.of]]).sum(axis=1)
    return rates
