"""Scenes whose numbers would lead a kernel beside its arrays, or to a division by nothing: refused in a sentence."""

from __future__ import annotations

import numpy as np
import pytest
from scenes import add_boxes, new_scene

from dovetail.errors import ConstitutionError, DovetailError, SceneError
from dovetail.geometry import ground
from dovetail.io import SceneIO


@pytest.mark.parametrize("name", ["contact_element_id", "subscene_element_id"])
@pytest.mark.parametrize("number", [1, 7, -1, -(2**31), 2**31 - 1])
@pytest.mark.parametrize("of", ["box", "floor"])
def test_elements_that_a_scene_does_not_have_are_refused(name, number, of, start):
    scene = new_scene(contact__enable=1)
    box = add_boxes(scene, [(0, 1, 0)], name="box")
    floor, _ = scene.objects.create("floor").geometries.create(ground(0.0))
    meta = {"box": box, "floor": floor}[of].geometry.meta
    if name not in meta:
        meta.create(name, 0)
    meta[name] = number
    with pytest.raises(
        ConstitutionError, match=rf"'{of}' has {name} = {number}, and the scene has the elements 0 to 0"
    ):
        start(scene)


def test_a_painted_element_that_a_scene_does_not_have_is_refused(start):
    scene = new_scene(contact__enable=1)
    box = add_boxes(scene, [(0, 1, 0)], name="box")
    box.geometry.vertices.create("contact_element_id", 0)
    box.geometry.vertices["contact_element_id"][3] = 9
    with pytest.raises(ConstitutionError, match="'box' has contact_element_id = 9"):
        start(scene)


@pytest.mark.parametrize("moment", [0.0, -1.0])
def test_a_body_without_inertia_is_refused(moment, start):
    scene = new_scene()
    box = add_boxes(scene, name="box")
    box.geometry.meta["abd_mass"] = moment
    with pytest.raises(ConstitutionError, match=r"the mass moments of .*box.* are singular or negative"):
        start(scene)


@pytest.mark.parametrize("dt", [5e-324, 1e-200])
def test_a_step_too_short_to_be_squared_is_refused(dt, start):
    with pytest.raises(DovetailError, match="dt"):
        scene = new_scene(contact__enable=1, dt=dt)
        add_boxes(scene)
        start(scene).advance()


@pytest.mark.parametrize(("kind", "value"), [("VectorXu64", [-1]), ("VectorXu64", ["x"]), ("F64", 10**400)])
def test_numbers_that_an_attribute_cannot_hold_are_refused(kind, value):
    scene = new_scene()
    box = add_boxes(scene)
    box.geometry.meta.create_uid_list("more_uids").insert(5)
    document = SceneIO(scene).to_json()
    attributes = document["__data__"]["geometry_atlas"]["attributes"]
    chosen = next(each for each in attributes if each["type"] == kind and np.size(each["attribute"]["values"]))
    chosen["attribute"]["values"][0] = value
    with pytest.raises(SceneError, match=r"cannot be read as|cannot hold"):
        SceneIO.from_json(document)
