"""Bodies that touch where they are put are set a hair apart; what overlaps or has no room is refused as ever."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import Part, Sim
from dovetail.errors import SceneError, WorldError

DELTA = 1e-4  # a tenth of the d_hat of Sim [m]


def started(sim: Sim) -> Sim:
    """Made into a world, without a step."""
    assert sim.world.is_valid()
    return sim


def heights(bodies: list) -> np.ndarray:
    return np.array([body.pos[2] for body in bodies])


@pytest.mark.parametrize("height", [0.05, 0.05 - 1e-7, 0.05 - 0.99 * DELTA])
def test_a_box_on_the_ground_is_lifted_and_stays_calm(height):
    sim = Sim()
    sim.ground()
    box = sim.box(0.1, pos=(0, 0, height))
    started(sim)
    np.testing.assert_allclose(box.pos, (0, 0, 0.05 + DELTA), atol=1e-9)
    for _ in range(50):
        sim.step()
        # it rests at most d_hat above the ground, and eases there without a leap
        assert 0.05 < box.pos[2] < 0.0511
    assert np.linalg.norm(box.velocity) < 0.01


def test_a_stack_and_a_row_of_boxes_part_along_their_faces():
    sim = Sim()
    sim.ground()
    stack = [sim.box(0.1, pos=(0, 0, 0.05 + 0.1 * k)) for k in range(6)]
    row = [sim.box(0.1, pos=(1 + 0.1 * k, 0, 0.5)) for k in range(4)]
    started(sim)
    np.testing.assert_allclose(heights(stack), 0.05 + 0.1 * np.arange(6) + DELTA * np.arange(1, 7), atol=1e-9)
    gaps = np.diff([body.pos[0] for body in row]) - 0.1
    np.testing.assert_allclose(gaps, DELTA, atol=1e-9)
    np.testing.assert_array_equal(heights(row), 0.5)


def test_bodies_of_a_mechanism_move_together_and_its_joints_stay_closed():
    sim = Sim()
    sim.ground()
    low = sim.box(0.1, pos=(0, 0, 0.05))
    high = sim.box(0.1, pos=(0.2, 0, 0.15))
    hinge = sim.revolute(low, high, pos=(0.1, 0, 0.1), axis=(0, 1, 0))
    started(sim)
    np.testing.assert_allclose(heights([low, high]), [0.05 + DELTA, 0.15 + DELTA], atol=1e-9)
    sim.step()
    assert hinge.gap < 1e-12


def test_a_box_parts_from_what_is_under_it_of_a_concave_body():
    sim = Sim()
    back = Part.box((0.1, 1, 1), pos=(-0.55, 0, 0.45))
    bench = sim.compound([Part.box((1, 1, 0.1)), back], fixed=True)
    box = sim.box(0.2, pos=(0.3, 0.2, 0.15))
    field = sim.terrain(np.zeros((5, 5)), (2, 2), pos=(5, 0, 0))
    other = sim.box(0.2, pos=(5.1, 0.2, 0.1))
    started(sim)
    np.testing.assert_allclose(box.pos, (0.3, 0.2, 0.15 + DELTA), atol=1e-9)
    np.testing.assert_allclose(other.pos, (5.1, 0.2, 0.1 + DELTA), atol=1e-9)
    np.testing.assert_array_equal([bench.pos[2], field.pos[2]], 0)


def test_what_is_added_later_gives_way_and_what_runs_does_not():
    sim = Sim(gravity=(0, 0, 0))
    first = sim.box(0.1)
    sim.step()
    second = sim.box(0.1, pos=(0, 0, 0.1))
    started(sim)
    np.testing.assert_array_equal(first.pos, 0)
    np.testing.assert_allclose(second.pos, (0, 0, 0.1 + DELTA), atol=1e-9)


def test_what_is_moved_on_top_of_something_is_set_apart_from_it_alone():
    sim = Sim()
    sim.ground()
    table, box = sim.box(0.4, pos=(0, 0, 0.21)), sim.box(0.1, pos=(2, 0, 1))
    sim.step(5)
    top = table.pos[2] + 0.2
    box.pos = (0, 0, top + 0.05 - 1e-5)
    assert box.pos[2] == pytest.approx(top + 0.05 + DELTA, abs=1e-5)  # its weight presses the table by 6 µm
    with pytest.raises(WorldError, match="nothing was changed"):
        box.pos = (0, 0, top)
    sim.step()


def between_walls() -> Sim:
    sim = Sim()
    for x in (-0.1, 0.1):
        sim.box(0.1, pos=(x, 0, 0), fixed=True)
    sim.box(0.1)
    return sim


def overlapping() -> Sim:
    sim = Sim()
    sim.box(0.1)
    sim.box(0.1, pos=(0, 0, 0.1 - 1.1 * DELTA))
    return sim


def without_it() -> Sim:
    sim = Sim(config={"contact/set_apart": 0})
    sim.ground()
    sim.box(0.1, pos=(0, 0, 0.05))
    return sim


def hung_on_the_world() -> Sim:
    sim = Sim()
    sim.ground()
    box = sim.box(0.1, pos=(0, 0, 0.05))
    sim.revolute(None, box, pos=(0, 0, 0.05), axis=(0, 1, 0))
    return sim


@pytest.mark.parametrize("build", [between_walls, overlapping, without_it, hung_on_the_world])
def test_what_has_no_room_or_overlaps_is_refused(build):
    with pytest.raises(SceneError, match="cannot start"):
        build().step()
