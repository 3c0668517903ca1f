"""UIDs, names and types; attribute names; units."""

from __future__ import annotations

import math

import pytest

from dovetail import builtin, constitution, unit
from dovetail.builtin import ConstitutionUIDCollection, ImplicitGeometryUIDCollection
from dovetail.constitution import EdgeJoint, IConstitution, class_of, constitution_classes
from dovetail.constitution.terms import Coincide, Projection
from dovetail.errors import ConstitutionError

SPECIFIED = {uid: cls for uid, cls in constitution_classes().items() if uid < builtin.first_user_uid}


def test_an_attribute_constant_is_its_own_name():
    constants = {n: v for n, v in vars(builtin).items() if n in builtin.__all__ and isinstance(v, str)}
    assert {"is_fixed", "aim_transform", "l_geo_id", "init_distance", "d_hat"} <= constants.keys()
    for name, value in constants.items():
        assert value == name
    assert builtin.adaptive == -1.0


def test_units_are_factors_to_si():
    assert (unit.s, unit.m, unit.mm, unit.km, unit.N) == (1, 1, 1e-3, 1e3, 1)
    assert (unit.Pa, unit.kPa, unit.MPa, unit.GPa) == (1, 1e3, 1e6, 1e9)
    assert 180 * unit.deg == pytest.approx(math.pi, rel=1e-15)  # one rounding
    assert (unit.rad, unit.kg, unit.gram, unit.J, unit.W) == (1, 1, 1e-3, 1, 1)


@pytest.mark.parametrize(("uid", "cls"), SPECIFIED.items())
def test_every_class_answers_to_its_registered_uid_name_and_type(uid, cls):
    entry = ConstitutionUIDCollection.instance().find(uid)
    assert uid in cls.uids
    assert class_of(uid) is cls
    instance = cls()
    registered = ConstitutionUIDCollection.instance().find(instance.uid())
    assert (instance.name(), instance.type()) == (registered.name, registered.type)
    assert ConstitutionUIDCollection.instance().find(entry.name) == entry


def test_every_registered_uid_has_a_class():
    specified = [e.uid for e in ConstitutionUIDCollection.instance() if e.uid < builtin.first_user_uid]
    assert specified == list(SPECIFIED)


@pytest.mark.parametrize(
    ("base", "uids"),
    [
        (constitution.Constraint, {16, 24, 667, 668}),
        (constitution.InterAffineBodyConstitution, {18, 20, 25, 26, 28}),
        (constitution.InterAffineBodyExtraConstitution, {669, 670}),
    ],
)
def test_base_classes_are_libuipcs(base, uids):
    libuipcs = {uid: cls for uid, cls in SPECIFIED.items() if uid < 1000}
    assert {cls().uid() for cls in libuipcs.values() if issubclass(cls, base)} == uids


def test_the_register_lists_uids_in_order_as_json():
    listed = ConstitutionUIDCollection.instance().to_json()
    assert listed[0] == {"uid": 1, "name": "OrthoPotential", "type": "AffineBody"}
    assert [e["uid"] for e in listed] == sorted(e["uid"] for e in listed)
    assert len(listed) == len(ConstitutionUIDCollection.instance())
    half_plane = ImplicitGeometryUIDCollection.instance().find("HalfPlane")
    assert (half_plane.uid, half_plane.type) == (1, "ImplicitGeometry")
    assert not ImplicitGeometryUIDCollection.instance().exists(666)


@pytest.mark.parametrize("key", [999, "NoSuchJoint"])
def test_an_unknown_uid_or_name_is_an_error_that_lists_the_known_ones(key):
    with pytest.raises(ConstitutionError, match=rf"{key}.*26 AffineBodySphericalJoint"):
        ConstitutionUIDCollection.instance().find(key)


def test_a_users_joint_claims_a_uid_of_its_own():
    class Screw(EdgeJoint, uid=2**32 + 11):
        terms = (Coincide("n"),)
        coordinate = Projection()

    assert class_of(2**32 + 11) is Screw
    assert (Screw().uid(), Screw().name(), Screw().type()) == (2**32 + 11, "Screw", "InterAffineBody")


def test_defining_the_same_class_again_replaces_it():
    def define():
        class Twice(EdgeJoint, uid=2**32 + 12):
            terms = (Coincide("n"),)

        return Twice

    first, second = define(), define()
    assert class_of(2**32 + 12) is second is not first


@pytest.mark.parametrize(
    ("uid", "message"),
    [
        (18, r"uid 18 already belongs to AffineBodyRevoluteJoint"),
        (700, r"uid 700 is reserved for the specification; choose one of your own, ≥ 2\*\*32"),
    ],
)
def test_a_uid_of_the_specification_cannot_be_claimed(uid, message):
    with pytest.raises(ConstitutionError, match=message):
        type("Mine", (EdgeJoint,), {"terms": (Coincide("c"),)}, uid=uid)
    assert class_of(18).__name__ == "AffineBodyRevoluteJoint"


def test_an_unclaimed_uid_has_no_class():
    with pytest.raises(ConstitutionError, match=r"no constitution has uid 4294967999"):
        class_of(2**32 + 703)


def test_a_users_uid_is_not_shared_by_two_names():
    registry = ConstitutionUIDCollection.instance()
    registry.register(2**32 + 13, "Damper", "Constraint")
    registry.register(2**32 + 13, "Damper", "Constraint")
    with pytest.raises(ConstitutionError, match=r"Spring2: uid 4294967309 already belongs to Damper"):
        registry.register(2**32 + 13, "Spring2", "Constraint")


def test_a_row_that_the_frame_lacks_is_refused_where_the_joint_is_defined():
    with pytest.raises(TypeError, match=r"Mine: row 'x2' is not one of c, x0, x1, t, n, b"):
        type("Mine", (EdgeJoint,), {"terms": (Coincide("x2"),)}, uid=2**32 + 14)


def test_base_classes_cannot_be_applied():
    with pytest.raises(TypeError, match="base class"):
        IConstitution()


@pytest.mark.parametrize("cls", dict.fromkeys(SPECIFIED.values()))
def test_an_unknown_config_key_is_an_error(cls):
    with pytest.raises(ConstitutionError, match=rf"{cls.__name__}: unknown config key 'nmae'"):
        cls({"nmae": "ARAP"})
    assert cls(cls.default_config()).uid() == cls().uid()
