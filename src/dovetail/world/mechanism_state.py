"""Coordinates of a running world as one vector: read, set, and what the bodies' motion is in their terms."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dovetail.typing import Array, Indices
from dovetail.world.gauge import Gauge

if TYPE_CHECKING:
    from dovetail.gradient.screws import Screws
    from dovetail.world.kinematics import Kinematics
    from dovetail.world.simulation import Simulation
    from dovetail.world.world_state import WorldState

__all__ = ["MechanismState"]

_NEAR = 1e-9  # [m, rad] within which a coordinate, or a joint, counts as being where it should be


class MechanismState:
    """Reported coordinates at some places of `Live.values`, (k,) each."""

    def __init__(self, simulation: Simulation, places: Indices) -> None:
        self._simulation, self._places = simulation, places
        self._kinematics: Kinematics = simulation.joints.kinematics(simulation.model.bodies, simulation.state.Q, places)

    @property
    def simulation(self) -> Simulation:
        """What it is part of."""
        return self._simulation

    @property
    def gauge(self) -> Gauge:
        """Where the coordinates lie in memory."""
        return Gauge(self._simulation, self._places)

    @property
    def q(self) -> Array:
        """Values [rad or m], angles over turns."""
        q: Array = self._simulation.live.values()[self._places]
        return q

    def q_in(self, state: WorldState) -> Array:
        """Values in another state of this world."""
        values: Array = state.arrays["joints/value"][self._of] + self._offset()
        return values

    @property
    def v(self) -> Array:
        """Rates [rad/s or m/s]."""
        v: Array = self._simulation.live.rates()[self._places]
        return v

    def reach(self, q: Array, start: tuple[Array, Array] | None = None) -> tuple[Array, Array, Array]:
        """Q with the coordinates at q as nearly as joints allow, all of the solver's coordinates, and what q is there.

        Nothing is changed. The way begins in the present state, or at a Q with its coordinates. Where joints would stay
        open, what q is there is NaN.
        """
        offset = self._offset()
        Q, values = (self._simulation.state.Q, None) if start is None else start
        Q, values, opening = self._kinematics.move(Q, q - offset, values)
        reached = values[self._of] + offset
        return Q, values, reached if opening < _NEAR else np.full_like(q, np.nan)

    def misses(self, q: Array, reached: Array) -> Indices:
        """Which of the coordinates are not at q."""
        return np.flatnonzero(~(np.abs(reached - q) < _NEAR))

    def put(self, who: str, Q: Array, values: Array, v: Array | None = None) -> None:
        """Put the bodies where `reach` found them, with rates v; all others are kept, as far as joints allow."""
        simulation, bodies = self._simulation, self._kinematics.island.bodies
        rates = simulation.live.rates()  # also brings those of the solver up to date
        rates = rates[self._places] if v is None else v
        V = self._kinematics.rates(Q, rates, self._all_rates(), simulation.state.V)
        simulation.write_state(who, bodies, Q[bodies], V[bodies], values)

    def set_rates(self, who: str, v: Array) -> Array:
        """Give the bodies velocities with these rates, as nearly as joints allow; what the rates are then."""
        simulation, bodies = self._simulation, self._kinematics.island.bodies
        simulation.live.rates()
        V = self._kinematics.rates(simulation.state.Q, v, self._all_rates(), simulation.state.V)
        simulation.write_state(who, bodies, None, V[bodies])
        return self.v

    def mass_matrix(self) -> Array:
        """(k, k)"""
        return self._kinematics.mass_matrix(self._simulation.state.Q)

    def bias(self) -> Array:
        """(k,)"""
        return self._kinematics.bias(self._simulation.state.Q, self.v)

    def jacobian(self, body: int, point: Array, Q: Array | None = None) -> Array:
        """(6, k) of a point [m] in the world, at the present state or at Q."""
        return self._kinematics.jacobian(self._simulation.state.Q if Q is None else Q, body, point)

    @cached_property
    def screws(self) -> Screws | None:
        """The joints of a tree as screw motions, which they are at all times; None of other mechanisms."""
        return self._kinematics.screws(self._simulation.state.Q)

    @property
    def rows(self) -> Indices:
        """The coordinates among those of the solver."""
        return self._of

    def lifted(self, Q: Array, V: Array) -> tuple[Array, Array]:
        """How Q and V (k, n, 4, 3) change with each coordinate at Q, V; with its rate V does as Q does with it."""
        from dovetail.gradient.screws import lifted

        c = self._simulation.joints.coordinates
        if self.screws is not None:
            return lifted(self.screws, c, Q, V)
        return self._kinematics.lifted(Q, V, c.rates(Q, V))

    @property
    def _of(self) -> Indices:
        of: Indices = self._simulation.joints.reported(self._simulation.state).of[self._places]
        return of

    def _all_rates(self) -> Array:
        return self._simulation.joints.coordinates.rate

    def _offset(self) -> Array:
        offset: Array = self.q - self._simulation.joints.coordinates.value[self._of]
        return offset
