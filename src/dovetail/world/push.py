"""Pushing bodies at a point from outside while a world runs: by a viewer's mouse, or a controller of yours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.checked import checked
from dovetail.errors import WorldError
from dovetail.typing import ArrayLike
from dovetail.world.features import Feature
from dovetail.world_lock import lock_public

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["AffineBodyPushFeature"]


@lock_public
class AffineBodyPushFeature(Feature):
    """Forces on single bodies, each at a point of the body, whatever constitutions the body has.

        push = world.features().find(AffineBodyPushFeature)
        push.set([3], [[0, 0, 5.0]], [[0.1, 0, 0]])      # 5 N upward on body 3, at the point x̄ = (0.1, 0, 0) of it
        push.clear()

    A force f at the material point x̄ is the generalised force (f, f ⊗ x̄); it has no energy. It acts in every step
    until it is changed, beside an `external_force` (666) that the body may have. Bodies are numbered as in
    `AffineBodyStateAccessorFeature`; fixed ones do not mind.
    """

    FeatureName = "dovetail/affine_body_push"

    def __init__(self, simulation: Simulation) -> None:
        self._simulation, self._lock = simulation, simulation.scene._lock

    @checked(WorldError)
    def set(self, bodies: ArrayLike, forces: ArrayLike, points: ArrayLike) -> None:
        """Replace all pushes: numbers of bodies (k,), forces (k, 3) [N], points (k, 3) in the bodies [m]."""
        numbers = np.array(bodies).reshape(-1)
        f, x = (np.array(given, float) for given in (forces, points))
        count = self._simulation.table.count
        if any(given.size % 3 for given in (f, x)):
            raise WorldError(f"AffineBodyPushFeature: forces of shape {f.shape}, points of {x.shape}; give (k, 3).")
        f, x = f.reshape(-1, 3), x.reshape(-1, 3)
        if not len(numbers) == len(f) == len(x):
            raise WorldError(
                f"AffineBodyPushFeature: {len(numbers)} bodies, {len(f)} forces and {len(x)} points were given; "
                "give one force and one point for each body."
            )
        if not np.isin(numbers, np.arange(count)).all():
            raise WorldError(
                f"AffineBodyPushFeature: bodies {numbers.tolist()} were given, there are 0 to {count - 1}."
            )
        bad = np.flatnonzero(~np.isfinite(np.hstack([f, x])).all(axis=1))
        if bad.size:
            at = int(bad[0])
            raise WorldError(
                f"AffineBodyPushFeature: body {numbers[at]} has the force {f[at].tolist()} [N] at "
                f"{x[at].tolist()} [m]; give finite numbers."
            )
        material = np.hstack([np.ones((len(x), 1)), x])
        self._simulation.pushes.set(numbers.astype(np.int64), material[:, :, None] * f[:, None, :])

    def clear(self) -> None:
        """Let go of all bodies."""
        self.set([], np.zeros((0, 3)), np.zeros((0, 3)))
