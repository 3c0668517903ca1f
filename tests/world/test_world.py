"""The life of a world: before init, init, refusals, and scenes that cannot be run."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scenes import add_boxes, box_mesh, new_scene, pose, read_state, run

from dovetail import Engine, World, view
from dovetail.core import SanityCheckResult
from dovetail.errors import ConfigError, ConstitutionError, SceneError, WorldError

CALLS = ("advance", "sync", "retrieve", "dump", "recover")


@pytest.fixture
def world(tmp_path) -> World:
    return World(Engine("cpu", tmp_path))


@pytest.mark.parametrize("call", CALLS)
def test_a_call_before_init_says_what_to_do(call, world):
    with pytest.raises(WorldError, match=rf"World\.{call}: call World\.init\(scene\) first"):
        getattr(world, call)()
    assert not world.is_valid() and world.frame() == 0 and world.report is None


def test_before_init_there_are_no_features_and_no_checks(world):
    assert world.features().to_json() == []
    with pytest.raises(WorldError, match=r"World\.sanity_checker: no check was made"):
        world.sanity_checker()
    assert repr(world) == "<World, not initialised>"


def test_other_things_than_engines_and_scenes_are_refused(world):
    with pytest.raises(WorldError, match=r"expected an Engine, got str; use World\(Engine\('cpu'\)\)"):
        World("cpu")
    with pytest.raises(WorldError, match="expected a Scene, got dict"):
        world.init({})


def test_frames_are_counted_from_init_on(world):
    scene = new_scene()
    add_boxes(scene)
    world.init(scene)
    assert world.is_valid() and world.frame() == 0
    run(world, 3)
    world.sync()
    assert world.frame() == 3 and repr(world) == "<World, frame 3>"
    assert world.features().to_json() == ["core/affine_body_state_accessor", "dovetail/affine_body_push"]


def test_a_second_init_warns_and_changes_nothing(world, caplog):
    scene, other = new_scene(), new_scene()
    add_boxes(scene)
    world.init(scene)
    run(world, 2)
    with caplog.at_level(logging.WARNING, "dovetail"):
        world.init(other)
    assert "World.init: this world is initialised already; nothing to do" in caplog.text
    assert world.frame() == 2
    add_boxes(other)  # it is still free to change


def test_a_scene_belongs_to_one_world(world, tmp_path):
    scene = new_scene()
    add_boxes(scene)
    world.init(scene)
    second = World(Engine("cpu", tmp_path))
    with pytest.raises(SceneError, match="cannot be given to another world"):
        second.init(scene)
    assert not second.is_valid()
    other = new_scene()
    add_boxes(other)
    second.init(other)
    assert second.is_valid(), "a refused scene leaves the world free for another one"


def test_a_running_scene_cannot_grow(world):
    scene = new_scene()
    add_boxes(scene)
    world.init(scene)
    with pytest.raises(SceneError, match="cannot add a geometry"):
        add_boxes(scene, name="late")


def test_config_that_was_edited_through_views_is_checked_at_init(world):
    scene = new_scene()
    add_boxes(scene)
    view(scene.config().find("newton/velocity_tol"))[:] = -1.0
    with pytest.raises(ConfigError, match="newton/velocity_tol"):
        world.init(scene)
    assert not world.is_valid()
    scene.config["newton/velocity_tol"] = 1e-3
    world.init(scene)
    assert world.is_valid()


def test_deformable_bodies_are_refused_by_name(world):
    scene = new_scene()
    cloth = add_boxes(scene, name="cloth")
    cloth.geometry.meta["constitution_uid"] = 10  # a neo-Hookean shell in libuipc
    with pytest.raises(
        ConstitutionError, match=r"geometry 0 of 'cloth' has constitution 10, .* deformable bodies are not simulated"
    ):
        world.init(scene)
    assert not world.is_valid()


def test_values_edited_after_apply_to_are_checked_at_init(world):
    scene = new_scene()
    box = add_boxes(scene, [(0, 0, 0), (1, 0, 0)], name="crate")
    box.geometry.instances["kappa"][1] = np.nan
    with pytest.raises(ConstitutionError, match=r"instance 1 of 'crate'.*kappa"):
        world.init(scene)


def test_geometries_without_a_constitution_only_decorate(world):
    scene = new_scene()
    box = add_boxes(scene)
    scene.objects.create("scenery").geometries.create(box_mesh())
    world.init(scene)
    run(world, 2)
    assert len(read_state(world)[0]) == 1
    assert box.geometry.transforms.values[0, 1, 3] < 0


def test_an_empty_scene_runs(world):
    world.init(new_scene())
    run(world, 3)
    assert world.frame() == 3 and world.report.converged
    assert len(read_state(world)[0]) == 0
    assert world.dump() and world.recover(3)


def test_a_scene_of_fixed_bodies_runs(world):
    scene = new_scene()
    box = add_boxes(scene, [pose((1, 2, 3))], fixed=[0])
    world.init(scene)
    run(world, 3)
    np.testing.assert_array_equal(box.geometry.transforms.values[0], pose((1, 2, 3)))
    assert world.report.iterations == 0


def test_a_geometry_without_instances_is_no_body(world):
    scene = new_scene()
    add_boxes(scene, [], name="none")
    box = add_boxes(scene, name="one")
    world.init(scene)
    run(world, 1)
    assert len(read_state(world)[0]) == 1
    assert box.geometry.meta["backend_abd_body_offset"][0] == 0


def test_bodies_of_both_potentials_are_numbered_ortho_first(world):
    scene = new_scene()
    arap = add_boxes(scene, [(0, 0, 0)] * 2, potential="ARAP", name="arap")
    ortho = add_boxes(scene, [(5, 0, 0)] * 3, name="ortho")
    world.init(scene)
    assert ortho.geometry.meta["backend_abd_body_offset"][0] == 0
    assert arap.geometry.meta["backend_abd_body_offset"][0] == 3
    assert (ortho.geometry.meta["dof_offset"][0], ortho.geometry.meta["dof_count"][0]) == (0, 36)
    np.testing.assert_array_equal(read_state(world)[0][:, 0, 3], [5, 5, 5, 0, 0])


def inside_out(scene) -> None:
    add_boxes(scene, name="inverted").geometry.meta["volume"] = -0.03


def test_a_scene_that_fails_its_sanity_checks_makes_the_world_invalid_without_raising(world, caplog):
    scene = new_scene()
    inside_out(scene)
    with caplog.at_level(logging.ERROR, "dovetail"):
        world.init(scene)
        assert not world.is_valid() and world.frame() == 0
        caplog.clear()
        for call in ("advance", "sync", "retrieve"):
            getattr(world, call)()
        assert world.dump() is False and world.recover() is False
    assert len(caplog.records) == 5
    checker = world.sanity_checker()
    (message,) = checker.errors().values()
    assert message.id() == 4 and "'inverted' has the volume -0.03 m³" in message.message()
    assert list(message.geometries()) == ["inverted"] and not message.is_empty()
    assert checker.warns() == checker.infos() == {}
    assert checker.check() is SanityCheckResult.Error
    checker.clear()
    assert checker.errors() == {}


def test_sanity_checks_can_be_switched_off(world):
    scene = new_scene(sanity_check__enable=0)
    add_boxes(scene)
    world.init(scene)
    assert world.is_valid()
    with pytest.raises(WorldError, match="no check was made"):
        world.sanity_checker()
