"""Joint gaps and energies from poses alone: one measure for all engines."""

from __future__ import annotations

import numpy as np

from dovetail.bench.scene import GRAVITY, BenchScene
from dovetail.typing import Array

__all__ = ["energies", "joint_gaps"]


def joint_gaps(scene: BenchScene, poses: Array) -> Array:
    """Largest distance [m] between points that a joint holds together, in every frame of poses (f, n, 3, 4).

    Of a ball joint that is its centre, of a hinge both ends of its pin.
    """
    joints = scene.joints
    if joints is None:
        return np.zeros(len(poses))
    shift = joints.half * joints.axis
    ends = [joints.point] if joints.kind == "spherical" else [joints.point - shift, joints.point + shift]
    world = np.tile(np.eye(4)[:3], (len(poses), 1, 1, 1))
    largest = np.zeros(len(poses))
    for end in ends:
        places = []
        for body in (joints.left, joints.right):
            start = np.where((body >= 0)[:, None, None], scene.transform[body], np.eye(4))
            local = np.einsum("kji,kj->ki", start[:, :3, :3], end - start[:, :3, 3])
            now = np.where((body >= 0)[None, :, None, None], poses[:, body], world)
            places.append(np.einsum("fkij,kj->fki", now[..., :3], local) + now[..., 3])
        largest = np.maximum(largest, np.linalg.norm(places[0] - places[1], axis=2).max(axis=1))
    return largest


def energies(scene: BenchScene, poses: Array) -> Array:
    """Kinetic plus potential energy [J] half a step before every frame but the first, of poses (f, n, 3, 4).

    Speeds are differences of poses over the step: ω of R₁R₀ᵀ = exp(h[ω]), heights are means.
    """
    poses = poses[:, scene.free]
    mass, inertia = scene.mass[scene.free], scene.inertia[scene.free]
    v = np.diff(poses[..., 3], axis=0) / scene.dt
    height = 0.5 * (poses[1:, :, 2, 3] + poses[:-1, :, 2, 3])
    R = poses[..., :3]
    # in the body's axes: R₀ᵀR₁
    turn = np.einsum("fnji,fnjk->fnik", R[:-1], R[1:])
    axial = 0.5 * np.stack(
        [turn[..., 2, 1] - turn[..., 1, 2], turn[..., 0, 2] - turn[..., 2, 0], turn[..., 1, 0] - turn[..., 0, 1]],
        axis=-1,
    )
    sine = np.linalg.norm(axial, axis=-1)
    cosine = 0.5 * (np.trace(turn, axis1=-2, axis2=-1) - 1.0)
    angle = np.arctan2(sine, cosine)
    factor = np.where(sine > 1e-12, angle / np.where(sine > 1e-12, sine, 1.0), 1.0)
    w = factor[..., None] * axial / scene.dt
    kinetic = 0.5 * (np.einsum("n,fni,fni->f", mass, v, v) + np.einsum("nij,fni,fnj->f", inertia, w, w))
    return np.asarray(kinetic + GRAVITY * height @ mass)
