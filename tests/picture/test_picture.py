"""Pictures as arrays: what is seen where, how far it is, and where its shadow falls."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import Camera, Sim
from dovetail.errors import SceneError, ViewerError
from dovetail.picture.raster import draw
from dovetail.picture.studio import SUN


def test_triangles_cover_the_samples_inside_them_and_the_nearest_is_kept():
    """Against the definition, sample by sample."""
    rng = np.random.default_rng(4)
    corners = np.concatenate([rng.uniform(-10, 40, (60, 2)), rng.uniform(0.5, 3, (60, 1)), np.ones((60, 1))], axis=1)
    corners[:, :2] *= corners[:, 2:3]
    corners[5::9, 2] *= -1  # behind the camera: such a triangle is seen in part
    triangles = np.arange(60).reshape(20, 3)
    depth, numbers = np.zeros((24, 31), np.float32), np.full((24, 31), -1, np.int32)
    draw(corners, triangles, np.zeros(20, np.bool_), depth, numbers)
    expected, nearest = np.zeros((24, 31)), np.full((24, 31), -1)
    y, x = np.mgrid[:24, :31] + 0.5
    for t, corner in enumerate(corners.reshape(20, 3, 4)):
        weights = np.einsum("kj,jhw->khw", np.linalg.inv(corner[:, :3].T), np.stack([x, y, np.ones_like(x)]))
        d = weights.sum(axis=0)
        closer = (weights >= 0).all(axis=0) & (d > expected)
        expected[closer], nearest[closer] = d[closer], t
    assert len(np.unique(nearest)) > 10
    assert (numbers == nearest).all()
    np.testing.assert_allclose(depth, expected, rtol=1e-6)  # kept in single precision


def test_samples_on_a_common_edge_are_covered():
    """Also where rounding puts them beyond it for both: the diagonal of a square seen from many distances."""
    for k in range(200):
        w = 1.0 + 0.037 * k
        square = np.array([[-9.0, -9], [9, -9], [9, 9], [-9, 9]]) + 10
        corners = np.column_stack([square * w, np.full(4, w), np.ones(4)])
        depth, numbers = np.zeros((20, 20), np.float32), np.full((20, 20), -1, np.int32)
        draw(corners, np.array([[0, 1, 2], [0, 2, 3]]), np.zeros(2, np.bool_), depth, numbers)
        assert (numbers[1:19, 1:19] >= 0).all()


def test_backs_of_closed_bodies_are_left_out():
    corners = np.array([[0.0, 0, 1, 1], [8, 0, 1, 1], [0, 8, 1, 1]])
    for order, seen in (((0, 1, 2), False), ((0, 2, 1), True)):
        depth, numbers = np.zeros((8, 8), np.float32), np.full((8, 8), -1, np.int32)
        draw(corners, np.array([order]), np.ones(1, np.bool_), depth, numbers)
        assert (numbers >= 0).any() == seen


@pytest.fixture(scope="module")
def sim():
    sim = Sim(dt=0.01)
    sim.ground()
    sim.box((1.0, 1.0, 0.2), pos=(0, 0, 1), color="red", fixed=True, name="table")
    sim.sphere(0.3, pos=(2, 0, 1), color="green", detail=4, name="ball")
    return sim


ABOVE = Camera((0, 0, 5), (0, 0, 0), up=(0, 1, 0))


def test_depth_is_the_distance_ahead_and_bodies_are_told_apart(sim):
    depth, which = (sim.picture(200, 160, ABOVE, kind=kind) for kind in ("depth", "bodies"))
    assert depth.shape == which.shape == (160, 200) and depth.dtype == np.float32 and which.dtype == np.int32
    assert depth[80, 100] == pytest.approx(3.9, rel=1e-6) and which[80, 100] == 0  # the top of the table
    assert depth[0, 0] == pytest.approx(5.0, rel=1e-6) and which[0, 0] == -1  # the ground
    # an edge of 1 m at 3.9 m, with a focus of 80 pixels / tan(35°/2): 32.53 pixels to each side,
    # in which there are the middles of 33
    assert (which == 0).sum() == 66**2
    side = Camera((2, -4, 1), (2, 0, 1))
    depth = sim.picture(101, 101, side, kind="depth")
    assert depth[50, 50] == pytest.approx(3.7, abs=2e-3)  # the ball is made of triangles
    assert np.isinf(depth[0]).all()  # the sky


def test_x_is_to_the_right_and_y_is_up(sim):
    which = sim.picture(200, 160, Camera((1, 0, 8), (1, 0, 0), up=(0, 1, 0)), kind="bodies")
    columns = [np.nonzero(which == k)[1].mean() for k in (0, 1)]
    assert columns[0] < 100 < columns[1]
    lower = sim.picture(200, 160, Camera((1, -8, 4), (1, 0, 3)), kind="bodies")
    assert np.nonzero(lower >= 0)[0].mean() > 80  # below the middle


def test_a_picture_has_the_colours_of_the_bodies_in_the_light_and_their_shadow_on_the_ground(sim):
    image = sim.picture(400, 320, ABOVE)
    assert image.shape == (320, 400, 3) and image.dtype == np.uint8
    red, green, blue = image[160, 200].astype(int)
    assert red > 2 * green and red > 2 * blue and red > 180
    focus = 160 / np.tan(np.deg2rad(35.0) / 2)

    def at(x, y):
        return image[round(160 - focus * y / 5), round(200 + focus * x / 5)].astype(float).mean()

    # the corner (−½, −½) of the table at 0.9 to 1.1 m casts its shadow against the sun
    shift = -np.array(SUN[:2]) / SUN[2]
    inside = np.array([0.5, 0.5]) + shift - 0.06
    assert at(*inside) < at(*(inside + 0.25)) - 25
    assert at(-0.9, -0.9) == pytest.approx(at(*(inside + 0.25)), abs=12)  # but for the lines of the grid


def test_the_second_picture_from_a_place_is_the_first_one(sim):
    """From the second on the ground is not drawn anew."""
    first, second, third = (sim.picture(120, 90, Camera((3, -4, 3), (0.5, 0, 0.5))) for _ in range(3))
    assert (first == second).all() and (second == third).all()
    assert len(np.unique(first.reshape(-1, 3), axis=0)) > 100


def test_a_colour_that_is_changed_is_seen():
    sim = Sim(contact=False)
    box = sim.box(1.0, color="red")
    before = sim.picture(40, 30)
    box.color = "blue"
    after = sim.picture(40, 30)
    assert before[15, 20, 0] > before[15, 20, 2] and after[15, 20, 2] > after[15, 20, 0]
    assert (before[0, 0] == after[0, 0]).all()


def test_cameras_go_along_with_bodies():
    sim = Sim(dt=0.1, contact=False, gravity=(0, 0, 0))
    box = sim.box(1.0, velocity=(3, 0, 0), spin=(0, 0, 1.0), name="box")
    views = {
        "on": Camera((0, -4, 0), (0, 0, 0), on=box),
        "follow": Camera((0, -4, 0), (0, 0, 0), follow="box"),
        "still": Camera((0, -4, 0), (0, 0, 0)),
    }
    before = {name: sim.picture(80, 60, view, kind="depth") for name, view in views.items()}
    sim.step(10)
    after = {name: sim.picture(80, 60, view, kind="depth") for name, view in views.items()}
    # it turns with the body and sees the same side, which spinning stretches by ρω²L²/κ = 1e-5
    np.testing.assert_allclose(after["on"][20:40, 30:50], before["on"][20:40, 30:50], rtol=1e-4)
    assert after["follow"][30, 40] < before["follow"][30, 40] - 0.05  # an edge of the turned box is nearer than a side
    assert np.isinf(after["still"][30, 40])  # it has gone


def test_what_is_partly_behind_the_camera_is_seen():
    sim = Sim(contact=False)
    sim.box((20, 20, 1), pos=(0, 0, -0.5), fixed=True)
    depth = sim.picture(60, 60, Camera((0, 0, 1), (1, 0, 1)), kind="depth")
    # rows below the middle look down by atan(tan(17.5°)·(row − 29.5)/30): the distance ahead is 1/slope, up to 10 m
    slope = np.tan(np.deg2rad(17.5)) * (np.arange(60) - 29.5) / 30
    near = slope > 0.11
    np.testing.assert_allclose(depth[near, 30], 1 / slope[near], rtol=1e-5)
    assert np.isinf(depth[:30]).all()


def test_a_camera_may_stand_in_a_face_and_on_a_corner():
    """Where corners of triangles are seen at infinity, or nowhere."""
    sim = Sim(contact=False)
    box = sim.box((0.4, 0.2, 0.1))
    for pos in ((0.2, 0, 0.05), (0.2, 0, 0), (0.2, 0.1, 0.05), (0, 0, 0)):
        for look_at in ((1, 0, 0.05), (-1, 0, 0), (0.2, 0.1, 1)):
            camera = Camera(pos, look_at, on=box)
            assert sim.picture(40, 30, camera).shape == (30, 40, 3)
            assert (sim.picture(40, 30, camera, kind="depth") >= 0).all()


def test_what_makes_no_sense_is_refused(sim):
    with pytest.raises(ViewerError, match="0 × 10 pixels; give 1 to 4096"):
        sim.picture(0, 10)
    with pytest.raises(SceneError, match="kind = 'normals'; give one of 'color', 'depth', 'bodies'"):
        sim.picture(10, 10, kind="normals")
    for camera, message in (
        (Camera((0, 0, 0), (0, 0, 0)), "looks at the place where it stands"),
        (Camera((0, 0, np.nan)), "pos = .*; give three finite numbers"),
        (Camera((0, 0, 1), follow="bal"), "no body 'bal'; give a handle or one of 'table', 'ball'"),
        (Camera((0, 0, 1), on="ball", follow="ball"), "give `on` or `follow`"),
        (Camera((0, 0, 1), field_of_view=35), "field_of_view = 35 rad; give 0.01 to 3"),
        (Camera((0, 0, 1), field_of_view="wide"), "field_of_view = 'wide' rad"),
    ):
        with pytest.raises(ViewerError, match=message):
            sim.picture(10, 10, camera)
