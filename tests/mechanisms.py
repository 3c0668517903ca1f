"""Mechanisms of the IFToMM library of multibody benchmarks, and a slider-crank: as scenes, and in reduced coordinates.

A scene is (bench, where): the bench, and a function for the place that is compared; the function beside it gives that
place for rigid bodies and exact joints.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from joint_scenes import Bench, image
from reduced import Reduced, slope, turn

from dovetail.constitution import AffineBodyRevoluteJoint

__all__ = ["bricard", "bricard_place"]

G = 9.81


def _config(dt: float, method: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"dt": dt, "integrator/type": method, "integrator/bdf2_start": "bdf1", **config}


# ---- A04: Bricard's mechanism ----------------------------------------------------------------------------------

_CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1.0]])
_AXES = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0.0]])
_BARS = np.diff(_CORNERS, axis=0)
_SIZES = 0.9 * np.abs(_BARS) + 0.1


def bricard(dt, method="ctr", kappa=1e8, gamma=np.inf, at=(0.0, 0.0, 0.0), **config):
    """Five bars of 1 kg, 1 m × 0.1 m × 0.1 m, along edges of a cube, on six hinges, that fall from rest along −y.

    By a count of constraints it cannot move. The place is that of the hinge P3.
    """
    bench = Bench(_config(dt, method, config), gravity=(0, -G, 0))
    corners = _CORNERS + at
    base = bench.box("base", (0.1, 0.1, 1.0), corners[5] - (0, 0, 0.5), fixed=True)
    bars = [
        bench.box(f"bar {k}", size, corners[k] + _BARS[k] / 2, density=1.0 / np.prod(size), kappa=kappa)
        for k, size in enumerate(_SIZES)
    ]
    bench.join(
        AffineBodyRevoluteJoint, [base, *bars], [*bars, base], corners - 0.1 * _AXES, corners + 0.1 * _AXES,
        strength=gamma,
    )  # fmt: skip
    return bench, lambda: image(bars[2], _BARS[2] / 2)


def _bricard_poses(q):
    """Bodies (5, 4, 3), the last hinge and the rotation of the last bar, with the angles q (5,) of the first hinges."""
    R, p, Q = np.eye(3), _CORNERS[0], []
    for axis, angle, bar in zip(_AXES, q, _BARS, strict=False):
        R = R @ turn(axis, angle)
        Q.append(np.vstack([p + R @ bar / 2, R.T]))
        p = p + R @ bar
    return np.array(Q), p, R


@cache
def bricard_place(time):
    def closure(q):
        _, p, R = _bricard_poses(q)
        return np.concatenate([p - _CORNERS[5], R @ _AXES[5] - _AXES[5]])

    reduced = Reduced(
        lambda q: _bricard_poses(q)[0], np.array([np.diag([1.0, *size**2 / 12]) for size in _SIZES]),
        lambda q, v: -G * slope(lambda q: _bricard_poses(q)[0][:, 0, 1].sum(), q)[0], closure,
    )  # fmt: skip
    q = reduced.run(np.zeros(5), np.zeros(5), [time])[-1]
    assert np.abs(closure(q)).max() < 1e-9
    Q = _bricard_poses(q)[0][2]
    return Q[0] + _BARS[2] / 2 @ Q[1:]
