"""What moves, as it is now: read from the solver's arrays, without attributes in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.geometry import SimplicialComplexSlot
from dovetail.geometry.rows import rows_to_transforms
from dovetail.typing import Array, Indices
from dovetail.world.mechanism_state import MechanismState
from dovetail.world_lock import at_any_time, lock_public

if TYPE_CHECKING:
    from dovetail.world.joint_coordinates import JointCoordinates
    from dovetail.world.simulation import Simulation

__all__ = ["Live"]


@lock_public
class Live:
    """States of bodies by their number, and coordinates of joints, at any time.

    Bodies are numbered as in `AffineBodyStateAccessorFeature`.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation, self._lock = simulation, simulation.scene._lock

    @property
    @at_any_time
    def version(self) -> int:
        """Another number whenever something may have moved: after a step, a restored state, a body put elsewhere."""
        return self._simulation.version

    def arrays(self) -> dict[str, Array]:
        """Copies of all that a `WorldState` is made of."""
        return {name: array.copy() for name, array in self._simulation.arrays().items()}

    @at_any_time
    def position(self, body: int) -> Array:
        """Where the origin of a body is [m]."""
        return np.array(self._simulation.state.Q[body, 0])

    @at_any_time
    def velocity(self, body: int) -> Array:
        """Velocity of the origin of a body [m/s]."""
        return np.array(self._simulation.velocity[body, 0])

    @at_any_time
    def transform(self, body: int) -> Array:
        """The 4×4 transform of a body."""
        transform: Array = rows_to_transforms(self._simulation.state.Q[body : body + 1])[0]
        return transform

    @at_any_time
    def transforms(self) -> Array:
        """The transforms of all bodies, (n, 4, 4)."""
        return rows_to_transforms(self._simulation.state.Q)

    @at_any_time
    def transform_rate(self, body: int) -> Array:
        """The rate of the 4×4 transform of a body."""
        rate: Array = rows_to_transforms(self._simulation.velocity[body : body + 1], 0.0)[0]
        return rate

    def coordinate(self, joint: SimplicialComplexSlot, attribute: str) -> int:
        """The place in `values` and `rates` of a coordinate of the first joint of a geometry; −1 if it is not there."""
        return self._reported.where.get((joint.id(), attribute), -1)

    def mechanism(self, places: Indices) -> MechanismState:
        """The coordinates at some places, to be set, and what depends on them."""
        return MechanismState(self._simulation, places)

    def values(self) -> Array:
        """All coordinates of all joints [rad or m], angles over turns; copied."""
        return self._reported.values()

    def rates(self) -> Array:
        """Their rates [rad/s or m/s]; copied."""
        return self._reported.rates()

    def joint(self, joint: SimplicialComplexSlot) -> int:
        """The row in `exerted` of the first joint of a geometry."""
        return self._simulation.joints.number(joint)

    def exerted(self) -> tuple[Array, Array]:
        """Force [N] and torque about the anchor [N·m] (k, 3) that drives, limits, dampers and friction of all joints
        exerted on the right bodies in the last step.
        """
        return self._simulation.joints.exerted(self._simulation.state)

    @property
    def _reported(self) -> JointCoordinates:
        return self._simulation.joints.reported(self._simulation.state)
