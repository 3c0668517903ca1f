"""Sanity checks of surfaces: what may overlap, when they look, and states that are written."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from contact_scenes import BOX, Stage, random_rotation
from intersection import crossings, surfaces
from sanity import Error, Success, findings, pair
from scenes import pose, read_state, write_state

from dovetail import Engine, World
from dovetail.constitution import AffineBodySphericalJoint
from dovetail.errors import WorldError
from dovetail.geometry import SimplicialComplexIO
from dovetail.solver.contact.intersection import _crosses_exactly

# ---- what may overlap ------------------------------------------------------------------------------------------


def disable_pair(stage) -> None:
    tabular = stage.scene.contact_tabular
    ghost = tabular.create("ghost")
    ghost.apply_to(stage.scene.geometries.find(1)[0].geometry)
    tabular.insert(ghost, tabular.default_element(), 0.0, 1e9, False)


def disable_by_default(stage) -> None:
    stage.scene.contact_tabular.default_model(0.5, 1e9, False)


def disable_all_vertices(stage) -> None:
    tabular = stage.scene.contact_tabular
    ghost = tabular.create("ghost")
    geometry = stage.scene.geometries.find(1)[0].geometry
    geometry.vertices.create("contact_element_id", ghost.id())
    tabular.insert(ghost, tabular.default_element(), 0.0, 1e9, False)


def part_subscenes(stage) -> None:
    other = stage.scene.subscene_tabular.create("other")
    other.apply_to(stage.scene.geometries.find(1)[0].geometry)


def mask_joint_neighbours(stage) -> None:
    stage.scene.config["contact/joint_neighbours"] = 0
    left, right = (stage.scene.geometries.find(k)[0] for k in (0, 1))
    joint = AffineBodySphericalJoint().create_geometry([[0.5, 0, 0]], [left], [0], [right], [1], [100.0])
    stage.scene.objects.create("joint").geometries.create(joint)


def switch_contact_off(stage) -> None:
    stage.scene.config["contact/enable"] = 0


@pytest.mark.parametrize(
    "allow",
    [disable_pair, disable_by_default, disable_all_vertices, part_subscenes, mask_joint_neighbours, switch_contact_off],
)
def test_bodies_that_may_pass_through_each_other_may_overlap(start, allow):
    stage = pair()
    allow(stage)
    world = start(stage.scene)
    assert findings(world) == {}
    world.advance()


def test_a_body_falls_through_the_half_plane_of_another_subscene(start):
    stage = Stage((0, 0, -10))
    stage.ground()
    cube = stage.add("cube", BOX, [(0, 0, 0.5)])
    elsewhere = stage.scene.subscene_tabular.create("elsewhere")
    elsewhere.apply_to(cube.geometry)
    world = start(stage.scene)
    assert findings(world) == {}
    for _ in range(10):
        world.advance()
    # bdf1: g h² n(n + 1)/2
    assert read_state(world)[0][0, 2, 3] == pytest.approx(0.5 - 10 * 1e-4 * 55, abs=1e-12)


def test_a_hint_about_joint_neighbours_is_given_where_a_joint_connects_the_two(start):
    stage = pair()
    mask_joint_neighbours(stage)
    stage.scene.config["contact/joint_neighbours"] = 1
    assert "contact/joint_neighbours = 0 (they share a joint)" in findings(start(stage.scene))[1]


def test_one_vertex_that_may_not_touch_frees_the_triangles_at_it_only(start):
    """A cube that dips its lower side into another may do so when the four vertices there are ghosts."""
    for ghosts, expected in (([0, 1, 2, 3], []), ([4, 5, 6, 7], [1])):
        stage = pair((0.1, 0.2, 0.9))
        tabular = stage.scene.contact_tabular
        ghost = tabular.create("ghost")
        geometry = stage.scene.geometries.find(1)[0].geometry
        geometry.vertices.create("contact_element_id", 0)
        geometry.vertices["contact_element_id"][ghosts] = ghost.id()
        tabular.insert(ghost, tabular.default_element(), 0.0, 1e9, False)
        assert list(findings(start(stage.scene))) == expected


def test_without_sanity_checks_a_scene_is_taken_as_it_is(start):
    world = start(pair(sanity_check__enable=0).scene)
    assert world.is_valid()
    with pytest.raises(WorldError, match="no check was made"):
        world.sanity_checker()


# ---- the checker -----------------------------------------------------------------------------------------------


def test_a_check_looks_at_the_transforms_as_they_are_now(start):
    stage = pair((1.5, 0, 0))
    world = start(stage.scene)
    checker = world.sanity_checker()
    transforms = stage.scene.geometries.find(1)[0].geometry.instances["transform"]
    assert checker.check() is Success
    transforms[1, 0, 3] = 0.9
    assert checker.check() is Error and list(checker.errors()) == [3]  # aligned cubes
    transforms[1, 1, 3] = 0.1
    assert checker.check() is Error and list(checker.errors()) == [3]
    transforms[1, 2, 3] = 0.2
    assert checker.check() is Error and list(checker.errors()) == [1]
    world.retrieve()
    assert checker.check() is Success and checker.errors() == {}


def test_a_refused_scene_can_be_mended_and_started(start, caplog):
    stage = pair()
    with caplog.at_level(logging.ERROR, "dovetail"):
        world = start(stage.scene)
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
    assert "sanity check 1 (surface intersection): instance 0 of 'left'" in caplog.records[0].getMessage()
    stage.scene.geometries.find(1)[0].geometry.instances["transform"][1, 0, 3] = 1.1
    assert world.sanity_checker().check() is Success
    world.init(stage.scene)
    assert world.is_valid()
    world.advance()


def test_a_refused_scene_is_checked_with_its_present_materials(start):
    stage = pair()
    world = start(stage.scene)
    disable_pair(stage)
    assert world.sanity_checker().check() is Success


def test_a_transform_that_is_not_finite_is_refused(start):
    stage = pair((1.5, 0, 0))
    world = start(stage.scene)
    stage.scene.geometries.find(1)[0].geometry.instances["transform"][0, 0, 3] = np.nan
    with pytest.raises(WorldError, match="transform of instance 0 of 'right'"):
        world.sanity_checker().check()


def test_many_findings_are_summed_up_and_found_fast(start):
    """Three thousand cubes, each too near to its neighbours: one line for each of the first five pairs, and a count."""
    grid = np.stack(np.meshgrid(*[np.arange(15.0)] * 3), axis=-1).reshape(-1, 3)[:3000]
    stage = Stage()
    stage.add("cubes", BOX, grid)
    lines = findings(start(stage.scene))[3].splitlines()
    assert len(lines) == 6
    neighbours = sum(int((np.abs(np.abs(grid - x).max(axis=1) - 1.0) < 0.5).sum()) for x in grid) // 2
    assert lines[5] == f"… and {neighbours - 5} more of this kind."


@pytest.mark.parametrize(("mode", "expected"), [("normal", True), ("quiet", False)])
def test_the_surfaces_concerned_are_handed_out_and_written_in_normal_mode(start, tmp_path, mode, expected):
    world = start(pair(sanity_check__mode=mode).scene)
    message = world.sanity_checker().errors()[1]
    placed = message.geometries()
    assert list(placed) == ["instance 0 of 'left' (geometry 0)", "instance 1 of 'right' (geometry 1)"]
    right = placed["instance 1 of 'right' (geometry 1)"]
    np.testing.assert_allclose(right.positions.values, BOX[0] + (0.8, 0.1, 0.2), atol=1e-15)
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.obj"))
    assert files == (["sanity_check/1/0.obj", "sanity_check/1/1.obj"] if expected else [])
    if expected:
        read = SimplicialComplexIO().read(str(tmp_path / files[1]))
        np.testing.assert_allclose(read.positions.values, right.positions.values, atol=1e-6)  # digits of the file


# ---- writing states --------------------------------------------------------------------------------------------


def test_a_write_that_makes_surfaces_intersect_is_refused_and_changes_nothing(start):
    stage = pair((1.5, 0, 0), gravity=(0, 0, -10))
    world = start(stage.scene)
    world.advance()
    before = read_state(world)
    for bad, word in (((0.8, 0.1, 0.2), "intersect"), ((1.0, 0.0, before[0][0, 2, 3]), "touch or overlap")):
        with pytest.raises(WorldError) as refused:
            write_state(world, transforms=[pose(bad)], velocities=[np.ones((4, 4))], first=2)
        text = str(refused.value)
        assert text.startswith("AffineBodyStateAccessorFeature: nothing was changed, since instance 0 of 'left'")
        assert word in text and "instance 1 of 'right' (geometry 1)" in text
    for now, then in zip(read_state(world), before, strict=True):
        np.testing.assert_array_equal(now, then)
    write_state(world, transforms=[pose((1.2, 0.0, 0.0))], first=2)
    assert read_state(world)[0][2, 0, 3] == 1.2
    world.advance()


def test_a_write_behind_a_half_plane_is_refused(start):
    stage = Stage()
    stage.ground()
    stage.add("cube", BOX, [(0, 0, 1), (2, 0, 1)])
    world = start(stage.scene)
    with pytest.raises(
        WorldError, match=r"vertex [0-3] of instance 1 of 'cube' .* is 0\.1 m behind half-plane 'ground'"
    ):
        write_state(world, transforms=[pose((2, 0, 0.4))], first=1)
    assert read_state(world)[0][1, 2, 3] == 1.0


def test_only_what_is_written_is_looked_at(start):
    """Two bodies overlap from the start, unchecked; a third may be moved, but not into them."""
    stage = pair(sanity_check__enable=0)
    stage.add("third", BOX, [(5, 0, 0)])
    world = start(stage.scene)
    write_state(world, transforms=[pose((4, 0, 0))], first=3)
    with pytest.raises(WorldError, match="'third'"):
        write_state(world, transforms=[pose((1.1, 0.3, 0.2))], first=3)


def test_velocities_and_scenes_without_contact_are_written_unchecked(start):
    world = start(pair((1.5, 0, 0), contact__enable=0).scene)
    write_state(world, transforms=[pose((0.8, 0.1, 0.2))], first=2)
    world = start(pair(sanity_check__enable=0).scene)
    write_state(world, velocities=[np.zeros((4, 4))], first=2)


# ---- exact arithmetic ------------------------------------------------------------------------------------------


def test_signs_that_round_off_hides_are_found_exactly():
    """An edge through a triangle near one of its sides: 2⁻⁵² inside, on the side, 2⁻⁵² outside; and ending in it."""
    triangle = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], float)
    ulp = 2.0**-52
    for inside, expected in ((ulp, True), (0.0, False), (-ulp, False)):
        edge = np.array([[0.5, inside, -1], [0.5, inside, 1]])
        assert _crosses_exactly(np.concatenate([edge, triangle])) is expected
        assert _crosses_exactly(np.concatenate([edge[::-1], triangle[[1, 0, 2]]])) is expected
    for end, expected in ((-ulp, True), (0.0, False), (ulp, False)):
        edge = np.array([[0.2, 0.3, end], [0.2, 0.3, 1]])
        assert _crosses_exactly(np.concatenate([edge, triangle])) is expected


@pytest.mark.parametrize("depth", [1e-9, -1e-9])
def test_a_needle_is_crossed_although_round_off_hides_it(start, depth, rng):
    """A needle of 1.3 m is 2e-6 m thick: turned about, the determinants of its faces cancel all their digits."""
    w = 1e-6
    needle = np.array([[0.3, 0, 0], [-1, w, -w], [-1, -w, -w], [-1, 0, w]])
    low = needle[1] + (1.0 / 1.3 * 0.5) * (needle[0] - needle[1])  # the middle of the lower face
    tip = [low[0], 0.0, low[2] + depth]
    below = np.array([tip, [low[0] - 0.1, -0.1, -0.3], [low[0] + 0.1, -0.1, -0.3], [low[0], 0.2, -0.3]])
    turned = pose((0.1, 0.2, 0.3), random_rotation(rng))
    stage = Stage()
    stage.add("needle", (needle, np.array([[1, 2, 3], [0, 2, 1], [0, 3, 2], [0, 1, 3]])), [turned])
    stage.add("tip", (below, np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])), [turned])
    world = start(stage.scene)
    assert bool(crossings(surfaces(stage.scene))) is (depth > 0)
    assert list(findings(world)) == ([1] if depth > 0 else [])


# ---- far from the origin ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_bodies_so_far_away_that_contact_is_not_safe_are_refused(scale, tmp_path):
    """Beyond 1e7 sizes of a body positions are rounded to 1e-9 of it."""
    near, far = Stage(), Stage()
    for stage, distance in ((near, 0.9e7), (far, 1.1e7)):
        vertices, faces = BOX
        stage.add("box", (scale * np.asarray(vertices), faces), [(0, distance * scale, 0)])
    worlds = [World(Engine("cpu", tmp_path)) for _ in range(2)]
    for world, stage in zip(worlds, (near, far), strict=True):
        world.init(stage.scene)
    assert not findings(worlds[0])
    found = findings(worlds[1])
    assert list(found) == [6] and "times its size: positions are rounded to" in found[6]


def test_a_state_so_far_away_is_refused_and_nothing_changes():
    stage = Stage()
    stage.add("box", BOX)
    T, _ = read_state(stage.world)
    with pytest.raises(WorldError, match=r"box.* is 2e\+07 m from the origin, 2e\+07 times its size"):
        write_state(stage.world, pose((2e7, 0, 0))[None], np.zeros((1, 4, 4)))
    np.testing.assert_array_equal(read_state(stage.world)[0], T)


def test_without_contact_no_place_is_too_far():
    stage = Stage(contact__enable=0)
    stage.add("box", BOX, [(0, 1e8, 0)])
    assert stage.world.is_valid()
