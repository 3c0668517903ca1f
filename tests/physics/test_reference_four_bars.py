"""Closed loops: IFToMM A02, which passes a singular position, and the kinematics of a four-bar (Freudenstein)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from exact_mechanisms import four_bars
from joint_scenes import Bench, image

from dovetail.constitution import AffineBodyDrivingRevoluteJoint, AffineBodyRevoluteJoint

ORDER = {"bdf1": 1, "bdf2": 2}
HALF = np.array([0.0, 0.0, 0.5])


# ---- IFToMM A02 with N = 2 --------------------------------------------------------------------------------

B0 = {1.0: (-0.195020301950, -0.980799205662), 2.0: (0.057815795768, 0.998327267863)}


@cache
def a02(dt, method, until=1.0, count=2):
    """Errors of B0 at the published times and the largest gap, for `count` four-bars in a row.

    Rods of 1 kg and 1 m: count + 1 upright ones on pins 1 m apart, joined by `count` level ones at the top, which
    starts at 1 m/s. When the uprights lie flat the mechanism could fold; inertia carries it through.
    """
    config = {"integrator/type": method, "integrator/bdf2_start": "bdf1"}
    bench, (hinges,), posts = four_bars(dt, count, 1e4, **config)
    errors, gap = [], 0.0
    for time, expected in B0.items():
        if time <= until:
            gaps = bench.run(round(time / dt) - bench.world.frame(), lambda: hinges["gap"].max())
            gap = max(gap, *gaps)
            errors.append(np.linalg.norm(image(posts[0], (0, 1, 0)) - [*expected, 0]))
    return errors, gap


@pytest.mark.parametrize("method", ORDER)
def test_iftomm_a02_is_approached_with_the_order_of_the_integrator(method):
    errors = np.array([a02(dt, method)[0][0] for dt in (2e-3, 1e-3, 5e-4)])
    # the next term of the expansion changes the ratio by some per cent at these steps
    assert np.log2(errors[:-1] / errors[1:]) == pytest.approx(ORDER[method], abs=0.1)


def test_iftomm_a02_with_bdf2_passes_the_singular_position_on_the_published_path():
    errors, gap = a02(1e-3, "bdf2", until=2.0)
    # measured 8.8e-5 m and 4.1e-5 m, after two passages; second order in dt
    assert max(errors) < 2e-4
    # loads of some 100 N, K = 2e4 kg: f h²/(2K) = 2.5e-9 m
    assert gap < 1e-8


# ---- Freudenstein -----------------------------------------------------------------------------------------

GROUND, CRANK, COUPLER, ROCKER = 2.0, 0.6, 1.8, 1.4


def rocker_angle(crank):
    """θ₄ of K₁ cos θ₄ − K₂ cos θ₂ + K₃ = cos(θ₂ − θ₄), the open branch, with the half-angle substitution."""
    K1, K2 = GROUND / CRANK, GROUND / ROCKER
    K3 = (CRANK**2 - COUPLER**2 + ROCKER**2 + GROUND**2) / (2 * CRANK * ROCKER)
    A = np.cos(crank) - K1 - K2 * np.cos(crank) + K3
    B = -2 * np.sin(crank)
    C = K1 - (K2 + 1) * np.cos(crank) + K3
    return 2 * np.arctan2(-B - np.sqrt(B * B - 4 * A * C), 2 * A)


def test_the_rocker_angle_satisfies_the_loop():
    crank = np.linspace(0, 2 * np.pi, 50)
    tip = CRANK * np.exp(1j * crank)
    end = GROUND + ROCKER * np.exp(1j * rocker_angle(crank))
    assert np.abs(end - tip) == pytest.approx(COUPLER, abs=1e-12)


def four_bar(gamma, frames=400):
    """A crank-rocker driven through one turn: (crank angle, rocker angle, largest gap) of every frame.

    Angles of the links in the world are read from their own poses, not from the joints.
    """
    start = 0.5
    tip = CRANK * np.exp(1j * start)
    end = GROUND + ROCKER * np.exp(1j * rocker_angle(start))
    points = np.array([[0, 0, 0], [tip.real, tip.imag, 0], [end.real, end.imag, 0], [GROUND, 0, 0]])
    bench = Bench()
    base = bench.rigid("base", fixed=True)
    links = []
    for name, p, q in zip(("crank", "coupler", "rocker"), points[[0, 1, 3]], points[[1, 2, 2]], strict=True):
        x = (q - p) / np.linalg.norm(q - p)
        rotation = np.stack([x, np.cross((0, 0, 1), x), (0, 0, 1)], axis=1)
        inertia = np.array([0.01, 1, 1]) * np.linalg.norm(q - p) ** 2 / 12
        links.append(bench.rigid(name, inertia=inertia, at=(p + q) / 2, rotation=rotation))
    crank, coupler, rocker = links

    def drive(sc):
        AffineBodyDrivingRevoluteJoint().apply_to(sc, 1e4)
        sc.edges["driving/is_constrained"][0] = 1

    hinges = bench.join(
        AffineBodyRevoluteJoint, [base, crank, coupler, rocker], [crank, coupler, rocker, base], points - HALF,
        points + HALF, strength=gamma, extras=[drive],
    )  # fmt: skip

    def state():
        x_axes = [link.geometry.transforms.values[0, :3, 0] for link in (crank, rocker)]
        return (*(np.arctan2(x[1], x[0]) for x in x_axes), hinges["gap"].max())

    seen = []
    for frame in range(1, frames + 1):
        hinges["aim_angle"][0] = 2 * np.pi * frame / frames
        seen += bench.run(1, state)
    return np.array(seen).T


@pytest.mark.parametrize("gamma", [100.0, 1e4])
def test_a_driven_four_bar_follows_freudenstein_through_a_turn(gamma):
    """At most 0.1° off, and loops closed to a millimetre; dt is 10 ms, a turn takes 4 s."""
    crank, rocker, gap = four_bar(gamma)
    assert np.ptp(np.unwrap(crank)) > 1.95 * np.pi
    error = np.angle(np.exp(1j * (rocker - rocker_angle(crank))))
    assert np.rad2deg(np.abs(error).max()) < 0.1
    assert gap.max() < 1e-3
