"""Contact and subscene tables: pairs, defaults, and elements of other scenes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail import builtin
from dovetail.errors import SceneError
from dovetail.geometry import ImplicitGeometry, SimplicialComplex, view
from dovetail.scene import (
    ConstitutionTabular,
    ContactElement,
    ContactTabular,
    Scene,
    SubsceneElement,
    SubsceneTabular,
)


def test_a_new_contact_table_has_the_default_element_and_model():
    table = Scene().contact_tabular()
    assert table.element_count() == 1
    assert (table.default_element().id(), table.default_element().name()) == (0, "default")
    model = table.default_model()
    assert (model.friction_rate(), model.resistance(), model.is_enabled()) == (0.5, 1e9, True)
    assert model.topo().tolist() == [[0], [0]] and model.config() == {}


def test_undefined_pairs_follow_the_default_model_also_when_it_changes():
    table = ContactTabular()
    table.create("a")
    table.create("b")
    table.default_model(0.1, 1e7, False)
    assert table.at(1, 2).friction_rate() == 0.1
    assert not table.at(1, 2).is_enabled()
    mu, kappa, enabled = table.table()
    assert (mu == 0.1).all() and (kappa == 1e7).all() and not enabled.any()


def test_insert_is_symmetric_and_replaces_the_row():
    table = ContactTabular()
    a, b = table.create("a"), table.create("b")
    assert table.insert(b, a, 0.2, 1e8) == 1
    assert table.insert(a, b, 0.3, 2e8, enable=False) == 1
    for i, j in ((1, 2), (2, 1)):
        model = table.at(i, j)
        assert (model.friction_rate(), model.resistance(), model.is_enabled()) == (0.3, 2e8, False)
        assert model.topo().ravel().tolist() == [1, 2]


def test_the_arrays_of_the_table_agree_with_at():
    table = ContactTabular()
    elements = [table.default_element()] + [table.create(str(i)) for i in range(4)]
    rng = np.random.default_rng(0)
    for _ in range(8):
        i, j = rng.integers(0, 5, 2)
        enable = bool(rng.integers(2))
        table.insert(elements[i], elements[j], float(rng.random()), float(rng.random()) + 1, enable, {})
    mu, kappa, enabled = table.table()
    assert mu.shape == kappa.shape == enabled.shape == (5, 5)
    assert (mu.dtype, kappa.dtype, enabled.dtype) == (np.float64, np.float64, np.bool_)
    for i in range(5):
        for j in range(5):
            model = table.at(i, j)
            assert (mu[i, j], kappa[i, j], enabled[i, j]) == (
                model.friction_rate(),
                model.resistance(),
                model.is_enabled(),
            )


def test_whether_the_user_set_the_default_model_is_known():
    table = ContactTabular()
    a = table.create("a")
    table.insert(a, a, 0.1, 1e8)
    table.default_model()
    assert not table.default_is_users
    table.default_model(0.1, 1e8)
    assert table.default_is_users


def test_rows_can_be_edited_as_attributes_and_are_checked_when_the_solver_asks():
    table = ContactTabular()
    a = table.create("a")
    row = table.insert(a, table.default_element(), 0.1, 1e8)
    models = table.contact_models()
    view(models.find("resistance"))[row] = 5e8
    assert table.at(0, 1).resistance() == 5e8
    models.create("colour", 1.0)
    assert "colour" in models and len(models) == 2 and "resistance" in repr(models)
    view(models.find("friction_rate"))[row] = math.nan
    with pytest.raises(SceneError, match=r"between ContactElement\(0, 'default'\) and .* friction_rate = nan"):
        table.table()


def test_adaptive_resistance_is_negative_and_allowed():
    table = ContactTabular()
    table.default_model(0.5, builtin.adaptive)
    assert table.at(0, 0).resistance() == -1.0


@pytest.mark.parametrize(
    ("mu", "kappa", "says"),
    [
        (-0.1, 1e9, "friction_rate = -0.1 is not a friction coefficient; give a number >= 0"),
        (math.inf, 1e9, "friction_rate = inf"),
        (
            0.5,
            0,
            "resistance = 0 [Pa] is not a stiffness; give a number > 0, builtin.adaptive, or enable=False",
        ),
        (0.5, math.nan, "resistance = nan"),
        ("high", 1e9, "friction_rate = 'high'"),
        (0.5, None, "give both friction_rate and resistance"),
    ],
)
def test_nonsense_contact_values_are_refused(mu, kappa, says):
    table = ContactTabular()
    with pytest.raises(SceneError) as failure:
        table.default_model(mu, kappa)
    assert says in str(failure.value)
    assert not table.default_is_users and table.default_model().friction_rate() == 0.5


def test_elements_of_another_scene_are_refused():
    ours, theirs = ContactTabular(), ContactTabular()
    ours.create("a")
    foreign = theirs.create("a")
    with pytest.raises(SceneError, match=r"ContactElement\(1, 'a'\) belongs to another scene"):
        ours.insert(ours.default_element(), foreign, 0.1, 1e8)
    with pytest.raises(SceneError, match=r"ContactElement\(7, 'x'\) belongs to another scene"):
        ours.insert(ContactElement(7, "x"), ours.default_element(), 0.1, 1e8)
    with pytest.raises(SceneError, match=r"L = SubsceneElement.*; give a ContactElement"):
        ours.insert(SubsceneElement(0, "default"), ours.default_element(), 0.1, 1e8)
    assert ours.insert(ContactElement(1, "a"), ours.default_element(), 0.1, 1e8) == 1
    with pytest.raises(SceneError, match=r"there is no element 5; the numbers are 0..1"):
        ours.at(0, 5)
    with pytest.raises(SceneError, match="name must be a str, got 3"):
        ours.create(3)


@pytest.mark.parametrize("geometry_class", [SimplicialComplex, ImplicitGeometry])
def test_apply_to_writes_the_element_of_a_geometry(geometry_class):
    geometry = geometry_class()
    scene = Scene()
    soft, rubber = scene.contact_tabular.create("soft"), scene.contact_tabular.create("rubber")
    slot = soft.apply_to(geometry)
    assert slot.name() == builtin.contact_element_id and slot.type_name() == "I32"
    rubber.apply_to(geometry)
    assert geometry.meta["contact_element_id"].tolist() == [2]
    scene.subscene_tabular.create("room").apply_to(geometry)
    assert geometry.meta["subscene_element_id"].tolist() == [1]
    with pytest.raises(SceneError, match="apply_to needs a geometry, got str"):
        soft.apply_to("box")


def test_subscenes_collide_within_but_not_between_unless_said_otherwise():
    table = SubsceneTabular()
    a, b = table.create("a"), table.create("b")
    assert table.table().tolist() == np.eye(3, dtype=bool).tolist()
    assert table.insert(b, a, True) == 1
    table.insert(a, a, False)
    table.insert(a, table.default_element())
    expected = [[True, False, False], [False, False, True], [False, True, True]]
    assert table.table().tolist() == expected
    assert [[table.at(i, j).is_enabled() for j in range(3)] for i in range(3)] == expected
    assert table.at(2, 1).topo().tolist() == [[1], [2]] and table.at(2, 1).config() == {}
    assert len(table.subscene_models()) == 4
    with pytest.raises(SceneError, match="belongs to another scene"):
        table.insert(SubsceneTabular().create("a"), a)


def test_constitutions_are_listed_once_with_their_types():
    class Constitution:
        def __init__(self, uid):
            self._uid = uid

        def uid(self):
            return self._uid

    table = ConstitutionTabular()
    for uid in (18, 1, 18):
        table().insert(Constitution(uid))
    assert table.uids().tolist() == [1, 18] and table.uids().dtype == np.uint64
    assert table.types() == {"AffineBody", "InterAffineBody"}
    assert list(table) == [1, 18] and len(table) == 2
    with pytest.raises(SceneError, match="5 is not a constitution"):
        table.insert(5)
