"""Coordinates that bring a body to a place: damped least squares within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.errors import SceneError
from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.world.mechanism_state import MechanismState

__all__ = ["inverse_kinematics"]

_TURN = 0.3  # [rad or m] the most that a coordinate changes in a step


def inverse_kinematics(
    state: MechanismState,
    tip: tuple[int, Array],
    pos: Array,
    rot: Array | None,
    limits: Array,
    tolerance: float,
    steps: int,
) -> Array:
    """q (n,) with a frame of a body, `tip` its number and the pose in it, at `pos` [m], and turned to `rot` if given.

    Each step minimises ‖J δ − e‖² + λ²‖δ‖² with λ² in proportion to ‖e‖² (Levenberg–Marquardt): coordinates that would
    leave their limits are put on them and left out. A step that comes no nearer is repeated with more damping.
    """
    q = np.clip(state.q, limits[:, 0], limits[:, 1])
    Q, values, q = state.reach(q)
    body, frame = tip
    here = _placed(Q[body], frame)
    error = _error(here, pos, rot)
    damping = 1e-3
    for _ in range(steps):
        near = float(np.abs(error).max())
        if near < tolerance:
            return np.clip(q, limits[:, 0], limits[:, 1])  # which round-off may have left
        J = state.jacobian(body, here[0], Q)[: len(error)]
        wanted = _step(J, error, damping * float(error @ error), q, limits)
        trial = state.reach(q + wanted, (Q, values))
        there = _placed(trial[0][body], frame)
        ahead = _error(there, pos, rot)
        if np.isfinite(trial[2]).all() and ahead @ ahead < error @ error:
            Q, values, q = trial
            here = there
            error, damping = ahead, max(1e-9, 0.3 * damping)
        else:
            damping *= 10.0
        if damping > 1e12:
            break
    missed = f"{float(np.linalg.norm(error[:3])):.3g} m"
    missed += "" if rot is None else f" and {float(np.linalg.norm(error[3:])):.3g} rad"
    raise SceneError(
        f"Mechanism.inverse_kinematics: the body comes no nearer to {pos.tolist()} than {missed}; give a place within "
        "its reach and limits, or begin in another state."
    )


def _step(J: Array, error: Array, damping: float, q: Array, limits: Array) -> Array:
    """The change of q, within limits: those that reach one stay on it, and the others make up for it."""
    step, free = np.zeros(len(q)), np.ones(len(q), np.bool_)
    for _ in range(len(q) + 1):
        A = J[:, free]
        step[free] = A.T @ np.linalg.solve(A @ A.T + damping * np.eye(len(A)), error - J[:, ~free] @ step[~free])
        step[free] *= min(1.0, _TURN / max(1e-300, float(np.abs(step[free]).max(initial=0.0))))
        low, high = limits[:, 0] - q, limits[:, 1] - q
        beyond = free & ((step < low) | (step > high))
        if not beyond.any():
            break
        step[beyond] = np.clip(step, low, high)[beyond]
        free &= ~beyond
    return step


def _placed(Q: Array, frame: Array) -> Array:
    """Origin and axes (4, 3) in the world of a frame that has this pose (4, 4) in a body at Q."""
    return np.concatenate([(Q[0] + frame[:3, 3] @ Q[1:])[None], frame[:3, :3].T @ Q[1:]])


def _error(Q: Array, pos: Array, rot: Array | None) -> Array:
    """How far the body has to go [m], and about which axis it has to turn [rad]."""
    if rot is None:
        return np.asarray(pos - Q[0])
    R = rot @ np.linalg.inv(Q[1:].T)
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2.0
    sine, cosine = float(np.linalg.norm(axis)), (float(np.trace(R)) - 1.0) / 2.0
    angle = float(np.arctan2(sine, cosine))
    if sine < 1e-9 and cosine < 0.0:  # half a turn: any axis that R leaves alone
        axis, sine = np.linalg.eigh(R + R.T)[1][:, 2], 1.0
    return np.concatenate([pos - Q[0], axis * (angle / sine if sine > 1e-9 else 1.0)])
