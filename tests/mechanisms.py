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

from dovetail.constitution import (
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
    EdgeJoint,
)
from dovetail.extend import Compose, Length, Servo

__all__ = [
    "SpringDamper",
    "bricard",
    "bricard_place",
    "governor",
    "governor_place",
    "slider_crank",
    "slider_crank_place",
    "squeezer",
    "squeezer_place",
]

G = 9.81


def _config(dt: float, method: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"dt": dt, "integrator/type": method, "integrator/bdf2_start": "bdf1", **config}


class SpringDamper(EdgeJoint, uid=2**32 + 7101):
    """A spring and a damper side by side between a point of the left body, P0, and one of the right, P1."""

    terms = (Compose(Servo(), Length()),)
    coordinate = Length()
    attributes = {  # noqa: RUF012
        "drive/stiffness": 0.0, "drive/damping": 0.0, "drive/target": 0.0, "drive/target_velocity": 0.0,
        "drive/max_effort": np.inf, "drive/effort": 0.0,
    }  # fmt: skip


def _spring(bench, left, right, start, end, stiffness, length, damping=0.0):
    def apply(sc):
        for name, value in (("stiffness", stiffness), ("damping", damping), ("target", length)):
            sc.edges[f"drive/{name}"] = value

    return bench.join(SpringDamper, [left], [right], start, end, extras=[apply], name="spring")


# ---- A03: Andrews' squeezing mechanism ---------------------------------------------------------------------------

_STEEL = 7800.0  # [kg/m³]
_A, _B, _C = np.array([-0.06934, -0.00227]), np.array([-0.03635, 0.03273]), np.array([0.014, 0.072])
_MASSES = np.array([0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498])
_INERTIAS = np.array([2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5])
_SQUEEZER_START = np.array(
    [
        -0.0617138900142764496358948458001, 0.0, 0.455279819163070380255912382449, 0.222668390165885884674473185609,
        0.487364979543842550225598953530, -0.222668390165885884674473185609, 1.23054744454982119249735015568,
    ]
)  # fmt: skip
_TORQUE, _SPRING, _REST = 0.033, 4530.0, 0.07785


def _unit(angle):
    return np.array([np.cos(angle), np.sin(angle)])


def _across(angle):
    return np.array([np.sin(angle), -np.cos(angle)])


def _squeezer(q):
    """Centres (7, 2) and angles (7,) of the bodies, points E, F, H, G, D, and F on K3, K4, K6, at angles q (7,)."""
    beta, theta, gamma, phi, delta, omega, epsilon = q
    E = 0.007 * _unit(beta)
    H, G = _A + 0.04 * _unit(delta), _A + 0.04 * _across(epsilon)
    centres = [
        0.00092 * _unit(beta),
        E - 0.0115 * _unit(beta + theta),
        _B + 0.01874 * _across(gamma) + 0.01043 * _unit(gamma),
        H + (0.02 - 0.01421) * _across(phi + delta),
        _A + 0.02308 * _unit(delta) - 0.00916 * _across(delta),
        G + (0.02 - 0.01421) * _unit(omega + epsilon),
        _A + 0.01228 * _across(epsilon) - 0.00449 * _unit(epsilon),
    ]
    F = E - 0.028 * _unit(beta + theta)
    ends = [
        _B + 0.035 * _across(gamma), H + 0.02 * _across(phi + delta), G + 0.02 * _unit(omega + epsilon),
    ]  # fmt: skip
    D = _B + 0.02 * _unit(gamma) + 0.018 * _across(gamma)
    angles = np.array([beta, beta + theta, gamma, phi + delta, delta, omega + epsilon, epsilon])
    return np.array(centres), angles, (E, F, H, G, D), ends


def squeezer(dt, method="ctr", kappa=1e8, gamma=np.inf, **config):
    """Seven steel bars of some centimetres in a plane, a motor's torque on the first and a spring on the third.

    It turns ever faster, through three turns in 0.03 s. The place is the angle of the first bar [rad].
    """
    bench = Bench(_config(dt, method, config))
    centres, angles, (E, F, H, G_, D), _ = _squeezer(_SQUEEZER_START)
    base = bench.rigid("base", fixed=True)
    bars = [
        bench.rigid(
            f"K{k + 1}", m, (inertia,) * 3, at=(*centre, 0.0), rotation=turn((0, 0, 1), angle),
            stiffness=kappa * m / _STEEL,
        )
        for k, (m, inertia, centre, angle) in enumerate(zip(_MASSES, _INERTIAS, centres, angles, strict=True))
    ]  # fmt: skip
    k1, k2, k3, k4, k5, k6, k7 = bars
    half = np.array([0.0, 0.0, 0.005])

    def pin(points, left, right, extras=()):
        at = np.array([[*p, 0.0] for p in points])
        return bench.join(AffineBodyRevoluteJoint, left, right, at - half, at + half, strength=gamma, extras=extras)

    def torque(sc):
        AffineBodyRevoluteJointExternalForce().apply_to(sc, _TORQUE)
        sc.edges["external_torque/is_constrained"] = 1

    crank = pin([(0.0, 0.0)], [base], [k1], [torque])
    pin(
        [_B, _A, _A, E, F, F, F, H, G_],
        [base, base, base, k1, k2, k2, k2, k4, k6],
        [k3, k5, k7, k2, k3, k4, k6, k5, k7],
    )
    _spring(bench, base, k3, (*_C, 0.0), (*D, 0.0), _SPRING, _REST)
    return bench, lambda: np.array([crank["angle/multi_turn"][0]])


@cache
def squeezer_place(time):
    def poses(q):
        centres, angles, _, _ = _squeezer(q)
        return np.array([np.vstack([[*c, 0.0], turn((0, 0, 1), a).T]) for c, a in zip(centres, angles, strict=True)])

    def closure(q):
        _, _, points, ends = _squeezer(q)
        return np.concatenate([end - points[1] for end in ends])

    def energy(q):
        away = _squeezer(q)[2][4] - _C
        return _SPRING / 2 * (np.sqrt(away @ away) - _REST) ** 2

    mass = np.array([np.diag([m, *(3 * [inertia / 2])]) for m, inertia in zip(_MASSES, _INERTIAS, strict=True)])
    reduced = Reduced(poses, mass, lambda q, v: _TORQUE * np.eye(7)[0] - slope(energy, q)[0], closure)
    q = reduced.run(_SQUEEZER_START, np.zeros(7), [time])[-1]
    assert np.abs(closure(q)).max() < 1e-9
    return q[:1] - _SQUEEZER_START[0]


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


# ---- A05: a stiff flyball governor -------------------------------------------------------------------------------

_SPIN, _ARM, _SLOPE = 2 * np.pi, 0.3, np.deg2rad(30.0)
_BALL, _SLIDER = 5.0, 3.0
_STIFF, _DAMPING, _LENGTH = 8e5, 4e4, 0.5
_ARM_CENTRE = (_ARM * 0.5 + _BALL * 1.0) / (_ARM + _BALL)
_ARM_INERTIA = _ARM / 12 + _ARM * (_ARM_CENTRE - 0.5) ** 2 + _BALL * (1.0 - _ARM_CENTRE) ** 2
_THIN = _ARM * 0.01**2 / 12 + 1e-3  # of the arms about themselves, with a ball of some centimetres


def governor(dt, method="ctr", kappa=1e10, gamma=np.inf, **config):
    """A shaft that spins freely about y with two arms, 1 m long with 5 kg at their ends, hinged to its top.

    Springs with dampers in the place of rods hold a slider on the shaft to the middles of the arms; these start 30°
    below the horizontal, with the springs at rest. The place is the height of the slider [m].
    """
    bench = Bench(_config(dt, method, config), gravity=(0, -G, 0))
    spin = {"spin": (0, _SPIN, 0)}
    base = bench.rigid("base", fixed=True)
    shaft = bench.rigid("shaft", 0.3, (0.025, 5e-4, 0.025), at=(0, 0.5, 0), stiffness=kappa * 1e-4, **spin)
    slider = bench.rigid("slider", _SLIDER, (5e-3,) * 3, at=(0, 0.5, 0), stiffness=kappa * 1e-3, **spin)
    top, arms = np.array([0.0, 1.0, 0.0]), []
    for side in (1.0, -1.0):
        x = np.array([side * np.cos(_SLOPE), -np.sin(_SLOPE), 0.0])
        rotation = np.stack([x, np.cross((0, 0, 1), x), (0, 0, 1)], axis=1)
        centre = top + _ARM_CENTRE * x
        arm = bench.rigid(
            f"arm {len(arms)}", _ARM + _BALL, (_THIN, _ARM_INERTIA, _ARM_INERTIA), at=centre, rotation=rotation,
            stiffness=kappa * 1e-4, velocity=np.cross((0, _SPIN, 0), centre), **spin,
        )  # fmt: skip
        arms.append((arm, top + 0.5 * x))
    up, out = np.array([0.0, 0.05, 0.0]), np.array([0.0, 0.0, 0.05])
    bench.join(AffineBodyRevoluteJoint, [base], [shaft], -up, up, strength=gamma)
    bench.join(AffineBodyRevoluteJoint, [shaft] * 2, [arm for arm, _ in arms], top - out, top + out, strength=gamma)
    bench.join(AffineBodyPrismaticJoint, [shaft], [slider], (0, 0.45, 0), (0, 0.55, 0), strength=gamma)
    for arm, middle in arms:
        _spring(bench, arm, slider, middle, (0, 0.5, 0), _STIFF, _LENGTH, _DAMPING)
    return bench, lambda: image(slider, (0, 0, 0))[1:2]


@cache
def governor_place(time):
    top = np.array([0.0, 1.0, 0.0])

    def poses(q):
        psi, alpha, s = q
        R = turn((0, 1, 0), psi)
        found = [np.vstack([R @ [0, 0.5, 0], R.T]), np.vstack([R @ np.array([0, s, 0]), R.T])]
        for side in (1.0, -1.0):
            x = np.array([side * np.cos(alpha), -np.sin(alpha), 0.0 * alpha])
            y = np.array([np.sin(alpha), side * np.cos(alpha), 0.0 * alpha])
            own = R @ np.stack([x, y, np.array([0, 0, 1.0])], axis=1)
            found.append(np.vstack([R @ (top + _ARM_CENTRE * x), own.T]))
        return np.array(found)

    def length(q):
        _, alpha, s = q
        x, y = 0.5 * np.cos(alpha), 1.0 - 0.5 * np.sin(alpha) - s
        return np.sqrt(x * x + y * y)

    def force(q, v):
        along = slope(length, q)[0]
        pull = _STIFF * (length(q) - _LENGTH) + _DAMPING * along @ v
        heights = slope(lambda q: _SLIDER * q[2] - 2 * (_ARM + _BALL) * _ARM_CENTRE * np.sin(q[1]), q)[0]
        return -2 * pull * along - G * heights

    def second(inertia):
        return np.sum(inertia) / 2 - np.asarray(inertia)

    mass = np.array(
        [
            np.diag([0.3, *second((0.025, 5e-4, 0.025))]), np.diag([_SLIDER, *second((5e-3,) * 3)]),
            *2 * [np.diag([_ARM + _BALL, *second((_THIN, _ARM_INERTIA, _ARM_INERTIA))])],
        ]
    )  # fmt: skip
    q = Reduced(poses, mass, force).run([0.0, _SLOPE, 0.5], [_SPIN, 0.0, 0.0], [time], "Radau")[-1]
    return q[2:]


# ---- a slider-crank ----------------------------------------------------------------------------------------------

_CRANK, _ROD, _PHASE = 0.15, 0.5, np.deg2rad(60.0)


def _crank_poses(q):
    """Crank, rod and piston (3, 4, 3) at the crank angle q (1,), measured from the slider's axis x upwards."""
    theta = q[0]
    psi = -np.arcsin(_CRANK / _ROD * np.sin(theta))
    pin, zero = np.array([np.cos(theta), np.sin(theta), 0.0 * theta]) * _CRANK, 0.0 * theta
    along = np.array([np.cos(psi), np.sin(psi), zero])
    turned = [turn((0, 0, 1), angle).T for angle in (theta, psi, zero)]
    return np.array(
        [np.vstack([p, A]) for p, A in zip((pin / 2, pin + _ROD / 2 * along, pin + _ROD * along), turned, strict=True)]
    )


_CRANK_BOXES = ((_CRANK, 0.04, 0.04), (_ROD, 0.03, 0.03), (0.12, 0.1, 0.1))


def slider_crank(dt, method="ctr", kappa=1e10, gamma=np.inf, **config):
    """A crank, a rod and a piston of density 1000 kg/m³, let go at 60°. The place is that of the piston along x [m]."""
    bench = Bench(_config(dt, method, config), gravity=(0, -G, 0))
    base = bench.box("base", fixed=True)
    bodies = []
    for name, size, pose in zip(
        ("crank", "rod", "piston"), _CRANK_BOXES, _crank_poses(np.array([_PHASE])), strict=True
    ):
        bodies.append(bench.box(name, size, pose[0], pose[1:].T, kappa=kappa))
    crank, rod, piston = bodies
    pin = _CRANK * np.array([np.cos(_PHASE), np.sin(_PHASE), 0.0])
    end = image(piston, (0, 0, 0))
    pins, half = np.array([(0, 0, 0), pin, end]), np.array([0, 0, 0.02])
    bench.join(AffineBodyRevoluteJoint, [base, crank, rod], bodies, pins - half, pins + half, strength=gamma)
    x = np.array([0.05, 0, 0])
    bench.join(AffineBodyPrismaticJoint, [base], [piston], end - x, end + x, strength=gamma)
    return bench, lambda: image(piston, (0, 0, 0))[:1]


@cache
def slider_crank_place(time):
    masses = [1000.0 * np.prod(size) for size in _CRANK_BOXES]
    mass = np.array([m * np.diag([1.0, *np.square(size) / 12]) for m, size in zip(masses, _CRANK_BOXES, strict=True)])
    weights = -G * np.array(masses)
    reduced = Reduced(_crank_poses, mass, lambda q, v: slope(lambda q: weights @ _crank_poses(q)[:, 0, 1], q)[0])
    return _crank_poses(reduced.run([_PHASE], [0.0], [time])[-1])[2, 0, :1]
