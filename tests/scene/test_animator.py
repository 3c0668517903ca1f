"""Animations: order, what callbacks are told, and failures in them."""

from __future__ import annotations

import functools
import logging

import pytest

from dovetail.errors import AnimationError, SceneError
from dovetail.geometry import ImplicitGeometry
from dovetail.scene import Animation, Scene


def scene_with(*names: str) -> Scene:
    scene = Scene()
    for name in names:
        scene.objects.create(name)
    return scene


def test_callbacks_run_in_order_of_object_numbers():
    scene = scene_with("a", "b", "c")
    called = []
    for id in (2, 0, 1):
        scene.animator.insert(scene.objects.find(id), lambda info: called.append(info.object().name()))
    scene.animator().run(1, 0.01)
    assert called == ["a", "b", "c"]
    assert scene.animator.animation_ids() == [0, 1, 2] and scene.animator.animation_count() == 3


def test_a_callback_is_told_its_object_slots_frame_and_time_step():
    scene = scene_with("other", "door")
    scene.objects.find(0).geometries.create(ImplicitGeometry())
    door = scene.objects.find(1)
    pairs = [door.geometries.create(ImplicitGeometry()) for _ in range(2)]
    told = []
    scene.animator.insert(door, told.append)
    scene.animator.run(7, 0.02)
    (info,) = told
    assert isinstance(info, Animation.UpdateInfo)
    assert info.object() is door
    assert info.geo_slots() == [slot for slot, _ in pairs]
    assert info.rest_geo_slots() == [rest for _, rest in pairs]
    assert (info.frame(), info.dt()) == (7, 0.02)
    assert isinstance(info.hint(), Animation.UpdateHint)


def test_any_callable_will_do():
    scene = scene_with("a", "b", "c")
    called = []

    class Mover:
        def __call__(self, info):
            called.append("instance")

        def method(self, info):
            called.append("method")

    scene.animator.insert(scene.objects.find(0), Mover())
    scene.animator.insert(scene.objects.find(1), Mover().method)
    scene.animator.insert(scene.objects.find(2), functools.partial(lambda word, info: called.append(word), "p"))
    scene.animator.run(1, 0.01)
    assert called == ["instance", "method", "p"]


def test_an_exception_names_object_and_frame_keeps_its_cause_and_stops_the_rest():
    scene = scene_with("first", "knee", "last")
    called = []
    original = ValueError("no such pose")

    def fail(info):
        raise original

    scene.animator.insert(scene.objects.find(0), lambda info: called.append(0))
    scene.animator.insert(scene.objects.find(1), fail)
    scene.animator.insert(scene.objects.find(2), lambda info: called.append(2))
    with pytest.raises(AnimationError) as failure:
        scene.animator.run(41, 0.01)
    assert str(failure.value) == "animation of object 'knee' failed in frame 41: ValueError: no such pose"
    assert failure.value.__cause__ is original
    assert called == [0]


@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_interrupts_pass_through_unchanged(signal):
    scene = scene_with("a")

    def interrupt(info):
        raise signal

    scene.animator.insert(scene.objects.find(0), interrupt)
    with pytest.raises(signal):
        scene.animator.run(1, 0.01)


def test_a_callback_may_erase_a_later_animation():
    scene = scene_with("a", "b")
    called = []
    scene.animator.insert(scene.objects.find(0), lambda info: scene.animator.erase(1))
    scene.animator.insert(scene.objects.find(1), called.append)
    scene.animator.run(1, 0.01)
    assert called == [] and not scene.animator.has_animation(1)


def test_an_object_has_one_animation_until_it_is_erased():
    scene = scene_with("door")
    door = scene.objects.find(0)
    scene.animator.insert(door, print)
    with pytest.raises(SceneError, match="object 'door' already has an animation"):
        scene.animator.insert(door, print)
    scene.animator.erase(0)
    scene.animator.insert(door, print)
    assert scene.animator.has_animation(0)


def test_erasing_nothing_only_warns(caplog):
    with caplog.at_level(logging.WARNING, "dovetail"):
        Scene().animator.erase(5)
    assert "object 5 has no animation" in caplog.text


def test_foreign_objects_and_things_that_cannot_be_called_are_refused():
    scene = scene_with("door")
    with pytest.raises(SceneError, match="object 'door' is not in this scene"):
        scene.animator.insert(scene_with("door").objects.find(0), print)
    with pytest.raises(SceneError, match="animation of object 'door' must be a function of one argument, got int"):
        scene.animator.insert(scene.objects.find(0), 3)
    with pytest.raises(SceneError, match="expected an Object, got str"):
        scene.animator.insert("door", print)


def test_substeps_are_whole_and_positive():
    animator = Scene().animator
    assert animator.substep() == 1
    animator.substep(4)
    assert animator.substep() == 4
    for wrong in (0, -1, 1.5, "2"):
        with pytest.raises(SceneError, match=r"is not a number of substeps; give an integer >= 1"):
            animator.substep(wrong)
    assert animator.substep() == 4


def test_an_animation_can_be_found_and_its_function_called_from_another_one():
    scene = scene_with("door")
    door = scene.objects.find(0)
    called = []
    assert scene.animator.find(0) is None
    scene.animator.insert(door, lambda info: called.append("first"))
    callback = scene.animator.find(0).callback
    scene.animator.erase(0)

    def both(info):
        callback(info)
        called.append("second")

    scene.animator.insert(door, both)
    scene.animator.run(1, 0.01)
    assert called == ["first", "second"]
