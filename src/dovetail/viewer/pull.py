"""A spring between the mouse and a point of a body, by which the body is pulled while a world runs."""

from __future__ import annotations

import numpy as np

from dovetail.core import AffineBodyPushFeature
from dovetail.errors import ViewerError
from dovetail.geometry import SimplicialComplexSlot
from dovetail.io.describe import body_slots
from dovetail.typing import Array
from dovetail.viewer.source import Running

__all__ = ["Pull"]

_RATE = 20.0  # rad/s; how fast a free body swings on the spring


class Pull:
    """Pulls one body at a point x̄ of it towards a target by a spring and a damper, k = mω², c = 2mω.

        f = (k (target − x) − (c + hk) ẋ) / (1 + (hc + h²k)/μ),   x = A x̄ + p

    m is the mass of the body, so that light and heavy ones follow alike, and μ the mass that the point resists with.
    That is the force at the end of the step of a body that moves freely, so a large step h does not make it shake.
    """

    def __init__(self, running: Running) -> None:
        feature = running.world.features().find(AffineBodyPushFeature)
        assert feature is not None
        self._push, self._running = feature, running
        self.body: int | None = None
        self._point: Array = np.zeros(3)
        self._inertia = 1.0
        self._target: Array = np.zeros(3)

    def grab(self, body: int, at: Array) -> None:
        """Take hold of a body at a point of the world [m]."""
        if not 0 <= body < len(self._running.cast.bodies):
            raise ViewerError(f"view: there is no body {body} to pull; there are {len(self._running.cast.bodies)}.")
        T, _ = self._running.velocities()
        self.body = body
        self._point = np.asarray(np.linalg.solve(T[body, :3, :3], np.asarray(at, float) - T[body, :3, 3]), float)
        self._inertia = self._resistance(body, self._point)
        self._target = np.array(at, float)

    def move(self, target: Array) -> None:
        """Move the end of the spring that the mouse holds [m]."""
        self._target = np.array(target, float)

    def release(self) -> None:
        """Let go."""
        self.body = None
        self._push.clear()

    def ends(self) -> Array:
        """Where the spring is held by the body and by the mouse, (2, 3)."""
        assert self.body is not None
        T, _ = self._running.velocities()
        return np.stack([T[self.body, :3, :3] @ self._point + T[self.body, :3, 3], self._target])

    def apply(self) -> None:
        """Set the force for the next step."""
        if self.body is None:
            return
        T, V = (rows[self.body] for rows in self._running.velocities())
        x = T[:3, :3] @ self._point + T[:3, 3]
        v = V[:3, :3] @ self._point + V[:3, 3]
        m, h = self._running.cast.bodies[self.body].mass, self._running.dt
        k, c = m * _RATE**2, 2 * m * _RATE
        force = (k * (self._target - x) - (c + h * k) * v) / (1 + (h * c + h * h * k) / self._inertia)
        self._push.set([self.body], force, self._point)

    def _resistance(self, body: int, point: Array) -> float:
        """The mass μ of a rigid body at a point, in the direction in which it gives way most.

        1/μ is the largest eigenvalue of 1/m + [r]×ᵀ I⁻¹ [r]×,   r = x̄ − c̄,   I = tr(S)·1 − S,   S = ∫ρ r̄ r̄ᵀ.
        """
        slot = next(s for s in body_slots(self._running.world.scene) if body in _numbers(s))
        meta = slot.geometry.meta
        m, first = float(meta["abd_mass"][0]), np.asarray(meta["abd_mass_x_bar"][0], float).ravel()
        centre = first / m
        S = np.asarray(meta["abd_mass_x_bar_x_bar"][0], float) - m * np.outer(centre, centre)
        r = np.cross(np.eye(3), point - centre)  # the matrix of v ↦ r × v, transposed
        compliance = np.eye(3) / m + r @ np.linalg.pinv(np.trace(S) * np.eye(3) - S) @ r.T
        return float(1.0 / np.linalg.eigvalsh(compliance).max())


def _numbers(slot: SimplicialComplexSlot) -> range:
    """Numbers of the bodies of a geometry."""
    first = int(slot.geometry.meta["backend_abd_body_offset"][0])
    return range(first, first + slot.geometry.instances.size())
