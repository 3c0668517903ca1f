"""Friction on a slope, against Coulomb's law and the discrete solution of uniformly accelerated sliding."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import BOX, Stage, box, scaled
from scenes import pose, rotation

G = 9.81
ANGLE = np.arctan(0.5)
NORMAL = np.array([np.sin(ANGLE), 0.0, np.cos(ANGLE)])
DOWNHILL = np.array([np.cos(ANGLE), 0.0, -np.sin(ANGLE)])
LEVEL = rotation((0, 1, 0), ANGLE)
DT = 0.01
EPS = 0.01  # [m/s], the default of contact/eps_velocity


def speeds(mu: float, frames: int, start: float = 0.0, on_body: bool = False, **config: object) -> np.ndarray:
    """Speed downhill in every frame of a cube put on a slope of tan α = 0.5: a half-plane, or a fixed body."""
    stage = Stage(gravity=(0, 0, -G), dt=DT, **config)
    stage.material(mu)
    if on_body:
        stage.add("slope", box(4, 1, 0.2), [pose(-0.1 * NORMAL, LEVEL)], fixed=True)
    else:
        stage.ground(0.0, NORMAL)
    cube = stage.add(
        "cube", scaled(BOX, 0.2), [pose(0.10091 * NORMAL - 0.5 * DOWNHILL, LEVEL)], velocity=start * DOWNHILL
    )
    where = [-0.5, *stage.run(frames, lambda: float(cube.geometry.transforms.values[0, :3, 3] @ DOWNHILL))]
    return np.diff(where) / DT


@pytest.mark.parametrize("on_body", [False, True], ids=["half-plane", "body"])
def test_a_cube_slides_where_friction_is_a_little_too_small(on_body):
    """μ = 0.49 on tan α = 0.5: it starts by itself and keeps accelerating, by g (sin α − μ cos α) to 1 %."""
    v = speeds(0.49, 80, on_body=on_body)
    expected = G * (np.sin(ANGLE) - 0.49 * np.cos(ANGLE))
    assert v[-1] > 5 * EPS
    assert (v[-1] - v[-31]) / (30 * DT) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("on_body", [False, True], ids=["half-plane", "body"])
def test_a_cube_sticks_where_friction_is_a_little_larger_than_needed(on_body):
    """μ = 0.51: smoothed friction lets it creep, at the speed below eps_velocity where it carries the load.

    Of the limit μ it needs the share s = 0.5/0.51 = y(2 − y), at y = 1 − √(1 − s) times eps_velocity.
    """
    v = speeds(0.51, 80, on_body=on_body)
    creep = EPS * (1 - np.sqrt(1 - 0.5 / 0.51))
    assert v[-1] == pytest.approx(creep, rel=1e-3)  # velocity_tol is 1e-3 m/s, and the last steps are far better
    assert v.max() < EPS


@pytest.mark.parametrize("mu", [0.0, 0.2, 0.4])
def test_a_sliding_cube_accelerates_as_coulomb_says(mu):
    v = speeds(mu, 40, start=0.5)
    acceleration = (v[-1] - v[9]) / (30 * DT)
    # backward Euler is exact for a constant acceleration; what is left is Newton's tolerance
    assert acceleration == pytest.approx(G * (np.sin(ANGLE) - mu * np.cos(ANGLE)), rel=1e-3)


def test_a_cube_pushed_up_the_slope_stops_and_stays():
    """With μ = 0.8 it decelerates by g (sin α + μ cos α), stops, and does not come back."""
    v = speeds(0.8, 40, start=-1.0)
    deceleration = G * (np.sin(ANGLE) + 0.8 * np.cos(ANGLE))
    assert (v[4] - v[1]) / (3 * DT) == pytest.approx(deceleration, rel=0.01)
    assert v[0] < v[3] < v[6] < 0
    assert np.abs(v[-10:]).max() < EPS


def test_a_smaller_eps_velocity_makes_it_creep_less():
    slow = speeds(0.51, 60, contact__eps_velocity=1e-3)
    assert slow[-1] == pytest.approx(1e-3 * (1 - np.sqrt(1 - 0.5 / 0.51)), rel=1e-2)


def test_friction_drags_the_lower_body_along():
    """A cube slides on a free plank on frictionless ground: both end at the speed of their common momentum."""
    stage = Stage(gravity=(0, 0, -G), dt=DT)
    table = stage.scene.contact_tabular
    table.default_model(0.0, -1.0)
    rough = table.create("rough")
    table.insert(rough, rough, 0.5, -1.0)
    stage.ground()
    plank = stage.add("plank", box(2, 0.5, 0.1), [(0, 0, 0.0509)], applied=[rough.apply_to])
    cube = stage.add("cube", scaled(BOX, 0.2), [(-0.5, 0, 0.2018)], velocity=(1, 0, 0), applied=[rough.apply_to])
    x = np.array(stage.run(60, lambda: [slot.geometry.transforms.values[0, 0, 3] for slot in (plank, cube)]))
    v = np.diff(x, axis=0) / DT
    mass = np.array([slot.geometry.meta["mass"][0] for slot in (plank, cube)])
    momentum = v @ mass
    np.testing.assert_allclose(momentum, mass[1] * 1.0, rtol=1e-3)  # velocity_tol of 1e-3 m/s
    np.testing.assert_allclose(v[-1], momentum[-1] / mass.sum(), atol=2e-3)
