"""Terrains: bodies lie on the surface over the heights, and roll and slide down it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail import Sim
from dovetail.errors import SceneError


def test_heights_are_at_the_places_of_the_grid():
    heights = np.array([[0, 1, 2], [3, 4, 7]], np.uint8)
    terrain = Sim().terrain(heights, (2.0, 4.0), scale=0.1, pos=(10, 0, 0))
    expected = [(9 + 2 * i, 2 * j - 2, 0.1 * heights[i, j]) for i in range(2) for j in range(3)]
    np.testing.assert_allclose(terrain.vertices, expected, atol=1e-12)
    assert terrain.fixed
    by_function = Sim().terrain(lambda x, y: x + 2 * y, (2.0, 4.0), cells=(1, 2))
    np.testing.assert_allclose(by_function.vertices[:, 2], [-5, -1, 3, -3, 1, 5], atol=1e-12)


def test_a_ball_rolls_down_a_slope():
    slope = 0.3
    sim = Sim(friction=0.5)
    hill = sim.terrain(lambda x, y: -slope * x, (10.0, 2.0), cells=(40, 8))
    c = 1 / math.hypot(1, slope)
    radius, gap = 0.1, 5e-4
    ball = sim.sphere(radius, pos=(-4 + (radius + gap) * slope * c, 0.1, slope * 4 + (radius + gap) * c))
    start = ball.pos
    sim.step(100)
    way = float((ball.pos - start) @ (c, 0, -slope * c))
    rolling = 5 / 7 * 9.81 * slope * c / 2  # ½at², t = 1 s, of a ball that does not slip
    # while it settles on the surface, within some steps, it rolls less: 2 % of 100 steps
    assert abs(way / rolling - 1) < 5e-3
    assert np.isclose(ball.spin[1], ball.velocity @ (c, 0, -slope * c) / radius, rtol=5e-3)
    assert ball.touches(hill)
    assert abs(ball.pos[1] - 0.1) < 1e-6


def test_things_come_to_rest_in_a_valley_and_on_a_ridge():
    sim = Sim(integrator="bdf1")
    sim.terrain(lambda x, y: 0.5 * abs(x) if x < 1 else 1.0 - 0.5 * x, (4.0, 2.0), cells=(16, 8))
    ball = sim.sphere(0.1, pos=(0.05, 0, 0.3))
    plank = sim.box((0.8, 0.1, 0.05), pos=(1.0, 0.05, 0.56), friction=1.0)
    sim.step(200)
    assert abs(ball.pos[0]) < 1e-2  # in the middle of the valley, touching both sides
    assert np.isclose(ball.pos[2], 0.1 * math.hypot(1, 0.5), atol=2e-3)
    assert plank.pos[2] > 0.5  # across the ridge, whose edge carries it


def test_bad_heights_are_refused():
    sim = Sim()
    for heights, size, message in (
        ([1, 2, 3], (1, 1), r"are no table of finite numbers; give heights\[i, j\]"),
        ([[1, 2], [3, math.nan]], (1, 1), r"are no table of finite numbers"),
        ([[1, 2]], (1, 1), r"there are 1 × 2 heights"),
        (lambda x, y: "high", (1, 1), r"the function's values are no table"),
        ([[1, 2], [3, 4]], (1, 0), r"size = \(1, 0\) \[m\]; give lengths > 0"),
        ([[1, 2], [3, 4]], 3.0, r"give 2 finite numbers"),
    ):
        with pytest.raises(SceneError, match=message):
            sim.terrain(heights, size)
    with pytest.raises(SceneError, match=r"cells = 0; give whole numbers"):
        sim.terrain(lambda x, y: 0.0, (1, 1), cells=0)
    with pytest.raises(SceneError, match=r"there is no option 'mass'"):
        sim.terrain([[1, 2], [3, 4]], (1, 1), mass=1.0)
    assert sim.bodies == []
