"""Sanity checks of surfaces: what they find, and what they say."""

from __future__ import annotations

import re

import numpy as np
import pytest
from contact_scenes import BOX, L_SHAPE, MESHES, STAR, TORUS, Stage, box, random_rotation
from intersection import crossings, surfaces
from sanity import findings, pair
from scenes import pose

from dovetail.constitution import AffineBodyRod, AffineBodyShell
from dovetail.geometry import linemesh, tetmesh, trimesh
from dovetail.solver.contact.inside import holds
from dovetail.solver.contact.intersection import find_meetings
from dovetail.world.simulation import Simulation

# ---- what is found ---------------------------------------------------------------------------------------------


def test_surfaces_that_intersect_are_named_with_the_edge_and_the_triangle_that_cross(start):
    text = findings(start(pair().scene))[1]
    found = re.fullmatch(
        r"instance 0 of 'left' \(geometry 0\) and instance 1 of 'right' \(geometry 1\) intersect: "
        r"edge \((\d), (\d)\) of the (first|second) crosses triangle (\d+) \((\d), (\d), (\d)\) of the (first|second) "
        r"at \((.*)\) m, one of \d+ crossings; move one of them, or let them pass .* "
        r"contact_tabular\.insert\(L, R, 0, 1e9, enable=False\) .*\.",
        text,
    )
    assert found, text
    p, q, first, number, a, b, c, second, point = found.groups()
    assert {first, second} == {"first", "second"}
    shift = {"first": np.zeros(3), "second": np.array([0.8, 0.1, 0.2])}
    edge = BOX[0][[int(p), int(q)]] + shift[first]
    triangle = BOX[0][[int(a), int(b), int(c)]] + shift[second]
    assert sorted(BOX[1][int(number)]) == sorted(map(int, (a, b, c)))
    # the point named lies on the edge and in the plane of the triangle, to the four digits that are printed
    x = np.array([float(value) for value in point.split(", ")])
    along = edge[1] - edge[0]
    assert np.linalg.norm(np.cross(x - edge[0], along)) < 1e-3
    assert abs(np.dot(np.cross(triangle[1] - triangle[0], triangle[2] - triangle[0]), x - triangle[0])) < 1e-3


@pytest.mark.parametrize("where", [(1, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 1), (0, 0, 0), (0.5, 0, 0), (0.3, 0.4, 1)])
def test_surfaces_that_only_share_points_are_too_near(start, where):
    """Faces, edges, corners that coincide, and aligned cubes of which no edge crosses an inner point of a triangle."""
    texts = findings(start(pair(where).scene))
    assert list(texts) == [3]
    assert "instance 0 of 'left' (geometry 0) and instance 1 of 'right' (geometry 1) touch or overlap" in texts[3]


def test_a_gap_of_a_few_digits_of_round_off_is_none_and_a_larger_one_is(start):
    # 16 digits of round-off at coordinates up to 9.5 m are 3.4e-14 m
    assert list(findings(start(pair((1 + 2e-15, 0, 0)).scene))) == [3]
    assert findings(start(pair((1 + 1e-12, 0, 0)).scene)) == {}


@pytest.mark.parametrize("name", MESHES)
def test_the_check_agrees_with_an_exact_one_of_every_edge_and_triangle(start, name, rng):
    """Forty bodies at random, large and small ones, many of which overlap."""
    stage = Stage()
    poses = [pose(rng.uniform(-1.6, 1.6, 3), random_rotation(rng)) for _ in range(20)]
    stage.add("one", MESHES[name], poses)
    stage.add("other", (0.4 * L_SHAPE[0], L_SHAPE[1]), [pose(rng.uniform(-1.6, 1.6, 3)) for _ in range(20)])
    assert not start(stage.scene).is_valid()
    expected = crossings(surfaces(stage.scene))
    assert 5 < len(expected) < 300
    lowered = Simulation(stage.scene)
    names = [f"one[{k}]" for k in range(20)] + [f"other[{k}]" for k in range(20)]
    meetings = find_meetings(lowered.contact.scene, lowered.state.Q)
    assert sorted((names[m.a], names[m.b]) for m in meetings if m.holder < 0) == expected


def test_fixed_bodies_may_intersect_each_other_but_nothing_that_moves(start):
    stage = Stage()
    stage.add("wall", BOX, [(0, 0, 0), (0.7, 0.2, 0.1)], fixed=True)
    assert findings(start(stage.scene)) == {}
    stage = Stage()
    stage.add("wall", BOX, [(0, 0, 0), (0.7, 0.2, 0.1)], fixed=True)
    stage.add("free", BOX, [(1.4, 0.4, 0.2)])
    assert list(findings(start(stage.scene))) == [1]


def test_the_boundary_of_tetrahedra_is_their_surface(start):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], float)
    stage = Stage()
    stage.add("tets", tetmesh(corners, [[0, 1, 2, 3], [1, 2, 3, 4]]))
    stage.add("dart", (0.1 * STAR[0] + (0.3, 0.3, -0.04), STAR[1]))
    text = findings(start(stage.scene))[1]
    number, corner = re.search(r"triangle (\d+) \((\d, \d, \d)\) of the first", text).groups()
    topo = stage.scene.geometries.find(0)[0].geometry.triangles.topo.values
    assert sorted(topo[int(number)]) == sorted(int(x) for x in corner.split(", ")) == [0, 1, 2]


def test_a_body_wholly_inside_another_is_warned_of(start):
    """What is hollow and what is not cannot be told from a surface; nothing touches, so nothing need be wrong."""
    stage = Stage()
    stage.add("outer", BOX)
    stage.add("inner", box(0.5, 0.5, 0.5))
    world = start(stage.scene)
    assert world.is_valid() and list(world.sanity_checker().warns()) == [5]
    text = world.sanity_checker().warns()[5].message()
    assert "instance 0 of 'inner' (geometry 1) is inside instance 0 of 'outer' (geometry 0)" in text
    world.advance()
    assert world.is_valid()


def test_a_point_is_inside_a_closed_surface_that_looks_outward():
    X, triangles = BOX
    assert holds(X, triangles, X.mean(axis=0)) and not holds(X, triangles, X.max(axis=0) + 0.1)
    assert not holds(X, triangles[:, ::-1], X.mean(axis=0)), "a room looks inward"
    assert not holds(X, triangles[2:], X.mean(axis=0)), "what is open has no inside"


def test_rings_may_be_linked(start):
    stage = Stage()
    turned = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
    stage.add("rings", TORUS, [pose((0, 0, 0)), pose((0.4, 0, 0), turned)])
    assert findings(start(stage.scene)) == {}
    stage = Stage()
    stage.add("rings", TORUS, [pose((0, 0, 0)), pose((0.55, 0, 0), turned)])
    assert list(findings(start(stage.scene))) == [1]


# ---- thickness -------------------------------------------------------------------------------------------------

SHEET = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float), np.array([[0, 1, 2], [0, 2, 3]])


def shell(thickness):
    return lambda sc: AffineBodyShell().apply_to(sc, 1e8, 1000.0, thickness)


@pytest.mark.parametrize(("gap", "expected"), [(0.0299, [3]), (0.0301, [])])
def test_shells_must_be_farther_apart_than_both_their_thicknesses(start, gap, expected):
    stage = Stage()
    stage.add("one", trimesh(*SHEET), body=shell(0.01))
    stage.add("other", trimesh(*SHEET), [(0.2, 0.3, gap)], body=shell(0.02))
    texts = findings(start(stage.scene))
    assert list(texts) == expected
    if expected:
        assert "the distance is 0.0299 m, their thickness 0.03 m" in texts[3]


@pytest.mark.parametrize(("gap", "expected"), [(0.0199, [3]), (0.0201, [])])
def test_rods_must_be_farther_apart_than_both_their_radii(start, gap, expected):
    line = [[-1.0, 0, 0], [0, 0, 0], [1, 0.3, 0]]
    across = [[0.5, -1, gap], [0.5, 0.1, gap], [0.6, 1, gap]]

    def rod(sc):
        AffineBodyRod().apply_to(sc, 1e8, 1000.0, 0.01)

    stage = Stage()
    stage.add("one", linemesh(line, [[0, 1], [1, 2]]), body=rod)
    stage.add("other", linemesh(across, [[0, 1], [1, 2]]), body=rod)
    world = start(stage.scene)
    texts = findings(world)
    assert list(texts) == expected
    if expected:
        assert "at edge (1, 2) of the first and edge (1, 2) of the second" in texts[3]


def test_a_rod_through_a_face_crosses_it(start):
    stage = Stage()
    stage.add("cube", BOX)
    stage.add(
        "pin", linemesh([[0.1, 0.2, -2], [0.1, 0.2, 2.0]], [[0, 1]]),
        body=lambda sc: AffineBodyRod().apply_to(sc, 1e8, 1000.0, 0.01),
    )  # fmt: skip
    text = findings(start(stage.scene))[1]
    assert "edge (0, 1) of the second crosses triangle" in text


@pytest.mark.parametrize(
    ("height", "expected"), [(0.5, "0 m above"), (0.49, "0.01 m behind"), (0.5 + 1e-12, None), (0.6, None)]
)
def test_a_body_must_be_in_front_of_a_half_plane(start, height, expected):
    stage = Stage()
    stage.ground()
    stage.add("cube", BOX, [(5, 5, 5), (0, 0, height)])
    texts = findings(start(stage.scene))
    assert list(texts) == ([2] if expected else [])
    if expected:
        assert re.match(
            rf"vertex [0-3] of instance 1 of 'cube' \(geometry 1\) is {expected} half-plane 'ground'", texts[2]
        )


def test_the_thickness_of_a_shell_counts_above_a_half_plane(start):
    for height, expected in ((0.0099, [2]), (0.0101, [])):
        stage = Stage()
        stage.ground()
        stage.add("sheet", trimesh(*SHEET), [(0, 0, height)], body=shell(0.01))
        assert list(findings(start(stage.scene))) == expected


def test_a_surface_that_crosses_itself_matters_only_where_it_may_touch_itself(start):
    crossed = np.concatenate([BOX[0], 0.6 * BOX[0] + (0.4, 0.3, 0.2)]), np.concatenate([BOX[1], BOX[1] + 8])
    for flag, expected in ((0, []), (1, [1])):
        stage = Stage()
        stage.add("knot", crossed).geometry.meta["self_collision"] = flag
        texts = findings(start(stage.scene))
        assert list(texts) == expected
    assert "instance 0 of 'knot' (geometry 0) intersects itself" in texts[1]
