"""Affine transforms as a browser can draw them."""

from __future__ import annotations

import numpy as np
from scenes import pose, rotation

from dovetail import Quaternion
from dovetail.viewer.pose import quaternions, split


def rotations(rng, count):
    Q, _ = np.linalg.qr(rng.normal(size=(count, 3, 3)))
    return Q * np.sign(np.linalg.det(Q))[:, None, None]


def test_quaternions_turn_as_their_matrices_do_also_by_half_turns(rng):
    half_turns = np.stack([np.diag(d) for d in ([1.0, -1, -1], [-1.0, 1, -1], [-1.0, -1, 1], [1.0, 1, 1])])
    R = np.concatenate([rotations(rng, 50), half_turns])
    back = np.stack([Quaternion(q).matrix() for q in quaternions(R)])
    np.testing.assert_allclose(back, R, atol=1e-14)  # round-off


def test_a_rotated_and_stretched_body_is_drawn_exactly():
    R = rotation([1, 2, 3], 2.5)
    T = pose((4.0, 5.0, 6.0), R)
    T[:3, :3] = R @ np.diag([1.0, 2.0, 0.5])
    found = split(T[None])
    np.testing.assert_allclose(found.rotations[0], R, atol=1e-14)
    np.testing.assert_allclose(found.scales[0], [1.0, 2.0, 0.5], atol=1e-14)
    np.testing.assert_array_equal(found.positions[0], [4.0, 5.0, 6.0])


def test_of_a_slightly_sheared_body_the_nearest_rotation_is_drawn(rng):
    R = rotations(rng, 20)
    T = np.tile(np.eye(4), (20, 1, 1))
    T[:, :3, :3] = R + 1e-4 * rng.normal(size=R.shape)
    found = split(T)
    assert np.allclose(np.linalg.det(found.rotations), 1.0)
    # the nearest rotation is not farther than R itself: √Σ (1e-4)², nine entries
    assert (np.linalg.norm(found.rotations - T[:, :3, :3], axis=(1, 2)) < 1e-3).all()


def test_a_mirrored_body_stays_mirrored():
    T = np.diag([1.0, 1.0, -1.0, 1.0])
    found = split(T[None])
    assert np.linalg.det(found.rotations[0]) > 0
    np.testing.assert_allclose(found.rotations[0] @ np.diag(found.scales[0]), T[:3, :3], atol=1e-14)
