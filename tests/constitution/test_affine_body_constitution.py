"""Solid bodies, shells and rods: masses, attributes, and meshes that cannot be bodies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.constitution import AffineBodyConstitution, AffineBodyRod, AffineBodyShell
from dovetail.errors import ConstitutionError
from dovetail.geometry.affine_body import build_abd_mass_matrix, from_rigid_body
from dovetail.geometry.create import linemesh, pointcloud, tetmesh, trimesh

CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
TET = np.array([[0, 1, 2, 3]])

ATTRIBUTES = {
    "meta": {
        "constitution_uid": "U64",
        "volume": "F64",
        "mass_density": "F64",
        "abd_mass": "F64",
        "abd_mass_x_bar": "Vector3",
        "abd_mass_x_bar_x_bar": "Matrix3x3",
        "mass": "F64",
        "mass_center": "Vector3",
        "inertia": "Matrix3x3",
        "dof_offset": "I32",
        "dof_count": "I32",
        "self_collision": "I32",
    },
    "instances": {
        "kappa": "F64",
        "is_fixed": "I32",
        "is_dynamic": "I32",
        "external_kinetic": "I32",
        "velocity": "Matrix4x4",
    },
}


def solid(box):
    return AffineBodyConstitution(), box()


def shell(box):
    return AffineBodyShell(), box()


def rod(box):
    return AffineBodyRod(), linemesh(CORNERS, [[0, 1], [1, 2]])


BODIES = [solid, shell, rod]


def value(collection, name):
    return collection.slot(name).values[0]


@pytest.mark.parametrize("build", BODIES)
def test_a_body_has_the_documented_attributes(build, box):
    constitution, sc = build(box)
    constitution.apply_to(sc, 2e8)
    for where, attributes in ATTRIBUTES.items():
        for name, type_name in attributes.items():
            assert sc[where].slot(name).type_name() == type_name
    assert value(sc.meta, "constitution_uid") == 1
    assert value(sc.meta, "mass_density") == pytest.approx(1000, rel=1e-14)
    assert (value(sc.meta, "dof_offset"), value(sc.meta, "dof_count")) == (-1, 0)
    assert value(sc.meta, "self_collision") == 0
    assert value(sc.instances, "kappa") == 2e8
    assert [value(sc.instances, n) for n in ("is_fixed", "is_dynamic", "external_kinetic")] == [0, 1, 0]
    assert (value(sc.instances, "velocity") == 0).all()


@pytest.mark.parametrize("build", BODIES)
def test_applying_again_overwrites_the_material_and_keeps_what_the_user_set(build, box):
    constitution, sc = build(box)
    constitution.apply_to(sc, 1e8, 1000.0)
    sc.instances["is_fixed"] = 1
    sc.instances["velocity"] = np.ones((4, 4))
    sc.meta["self_collision"] = 1
    mass = value(sc.meta, "mass")
    type(constitution)({"name": "ARAP"}).apply_to(sc, 3e8, 500.0)
    assert value(sc.meta, "constitution_uid") == 2
    assert value(sc.meta, "mass") == pytest.approx(mass / 2, rel=1e-14)
    assert value(sc.instances, "kappa") == 3e8
    assert value(sc.instances, "is_fixed") == 1
    assert value(sc.meta, "self_collision") == 1
    assert (value(sc.instances, "velocity") == 1).all()


@pytest.mark.parametrize("build", BODIES)
def test_instances_added_later_get_the_latest_stiffness(build, box):
    constitution, sc = build(box)
    constitution.apply_to(sc, 1e8)
    constitution.apply_to(sc, 3e8)
    sc.instances.resize(4)
    assert (sc.instances["kappa"] == 3e8).all()
    assert (sc.instances["is_dynamic"] == 1).all()


@pytest.mark.parametrize("center", [(0.0, 0.0, 0.0), (3.0, -2.0, 5.0)])
def test_a_box_has_the_moments_of_a_box(box, center):
    a, c, rho = np.array([0.5, 0.2, 0.3]), np.array(center), 800.0
    sc = box(a, center)
    AffineBodyConstitution().apply_to(sc, 1e8, rho)
    m = rho * a.prod()
    second = np.diag(m * a**2 / 12)
    # 1e-13: a few roundings of sums over 12 triangles, larger by (center/size)² for the moved box
    close = {"rel": 1e-12, "abs": 1e-12 * m}
    assert value(sc.meta, "volume") == pytest.approx(a.prod(), rel=1e-13)
    assert value(sc.meta, "abd_mass") == pytest.approx(m, rel=1e-13)
    assert value(sc.meta, "abd_mass_x_bar") == pytest.approx(m * c, **close)
    assert value(sc.meta, "abd_mass_x_bar_x_bar") == pytest.approx(second + m * np.outer(c, c), **close)
    assert value(sc.meta, "mass_center") == pytest.approx(c, **close)
    assert value(sc.meta, "inertia") == pytest.approx(np.trace(second) * np.eye(3) - second, **close)


def test_the_scale_of_an_instance_does_not_change_its_mass(box):
    sc = box()
    sc.instances["transform"] = np.diag([2.0, 2.0, 2.0, 1.0])
    AffineBodyConstitution().apply_to(sc, 1e8)
    assert value(sc.meta, "mass") == pytest.approx(1000, rel=1e-13)


def test_a_shell_and_a_rod_are_codimensional_and_thick(box):
    for build, volume in ((shell, 6 * 2 * 0.02), (rod, (1 + np.sqrt(2)) * np.pi * 0.02**2)):
        constitution, sc = build(box)
        constitution.apply_to(sc, 1e8, thickness=0.02)
        assert value(sc.meta, "is_codim") == 1
        assert (sc.vertices["thickness"] == 0.02).all()
        assert value(sc.meta, "volume") == pytest.approx(volume, rel=1e-13)


def test_the_potential_is_chosen_by_name_and_nothing_else():
    assert AffineBodyConstitution().uid() == 1
    assert AffineBodyConstitution({"name": "ARAP"}).uid() == 2
    assert AffineBodyConstitution({"name": "ARAP"}).name() == "ARAP"
    with pytest.raises(ConstitutionError, match=r"unknown potential 'arap'.*'OrthoPotential', 'ARAP'"):
        AffineBodyConstitution({"name": "arap"})


# ---- by mass matrix and by proxy ---------------------------------------------------------------------------


def rigid(mass=2.0, center=(0.1, -0.2, 0.3), inertia=(0.05, 0.06, 0.07)):
    return mass, np.array(center), np.diag(inertia)


def test_a_mass_matrix_stands_in_for_any_mesh():
    M = from_rigid_body(*rigid())
    for sc in (pointcloud(CORNERS), linemesh(CORNERS, [[0, 1]]), trimesh(CORNERS, [[0, 1, 2]])):
        AffineBodyConstitution().apply_to(sc, 1e8, M, 0.004)
        assert value(sc.meta, "mass") == 2.0
        assert value(sc.meta, "volume") == 0.004
        assert value(sc.meta, "mass_density") == pytest.approx(500, rel=1e-14)
        assert value(sc.meta, "mass_center") == pytest.approx([0.1, -0.2, 0.3], rel=1e-14)
        assert value(sc.meta, "inertia") == pytest.approx(np.diag([0.05, 0.06, 0.07]), abs=1e-15)


def test_a_mass_matrix_may_be_given_by_name(box):
    M = from_rigid_body(*rigid())
    sc = box()
    AffineBodyConstitution().apply_to(sc, 1e8, volume=0.004, mass=M)
    assert value(sc.meta, "mass") == 2.0


@settings(deadline=None, max_examples=50)
@given(
    mass=st.floats(1e-3, 1e3),
    center=st.lists(st.floats(-1, 1), min_size=3, max_size=3),
    size=st.lists(st.floats(0.1, 1), min_size=3, max_size=3),
)
def test_both_forms_of_a_proxy_are_the_same_body(mass, center, size):
    second = np.diag(mass * np.array(size) ** 2 / 12)
    inertia = np.trace(second) * np.eye(3) - second
    constitution = AffineBodyConstitution()
    by_inertia = constitution.create_proxy(1e7, mass, np.reshape(center, (3, 1)), inertia, 0.5)
    M = from_rigid_body(mass, center, inertia)
    by_matrix = constitution.create_proxy(1e7, M, volume=0.5)
    assert by_inertia.dim() == by_matrix.dim() == 0
    assert (by_inertia.positions.values == 0).all()
    for name in ATTRIBUTES["meta"]:
        assert np.array_equal(value(by_inertia.meta, name), value(by_matrix.meta, name))
    # S is ½ tr I − I + m c cᵀ and back: a few roundings of the larger terms
    scale = mass * (1 + np.dot(center, center))
    assert value(by_inertia.meta, "inertia") == pytest.approx(inertia, abs=1e-14 * scale)


def test_a_proxy_takes_two_forms_and_no_others():
    with pytest.raises(TypeError, match=r"create_proxy.*\(mass, mass_center, inertia, volume\) or \(abd_mass"):
        AffineBodyConstitution().create_proxy(1e8, 1.0)
    with pytest.raises(TypeError, match="abd_mass"):
        AffineBodyConstitution().create_proxy(1e8, np.eye(12), 1.0, volume=1.0)


# ---- what cannot be a body ---------------------------------------------------------------------------------


def cube(box, **edit):
    sc = box()
    if edit.get("open"):
        return trimesh(sc.positions.values, sc.triangles.topo.values[:-1])
    return trimesh(sc.positions.values, sc.triangles.topo.values[:, [0, 2, 1]])


def nan_mesh(box):
    sc = box()
    sc.vertices["position"][5, 1] = np.nan
    return sc


BAD_MESHES = [
    (lambda box: cube(box, open=True), r"open at 3 edges.*AffineBodyShell may be open"),
    (cube, r"volume is -1 m³; the triangles face inward.*flip_inward_triangles"),
    (nan_mesh, r"vertex 5 is at \[.*nan.*\]; give finite positions"),
    (lambda box: box((1, 1, 0)), r"flat.*AffineBodyShell or AffineBodyRod"),
    (lambda box: tetmesh(CORNERS, TET[:, [0, 2, 1, 3]]), r"tetrahedra are inverted"),
    (lambda box: linemesh(CORNERS, [[0, 1]]), r"a mesh of lines has no volume.*use AffineBodyRod"),
    (lambda box: pointcloud(CORNERS), r"a mesh of points has no volume.*create_proxy or a mass matrix"),
]


@pytest.mark.parametrize(("build", "message"), BAD_MESHES)
def test_a_bad_mesh_is_refused_with_advice_and_left_alone(build, message, box):
    sc = build(box)
    before = repr(sc)
    with pytest.raises(ConstitutionError, match="AffineBodyConstitution: .*" + message):
        AffineBodyConstitution().apply_to(sc, 1e8)
    assert repr(sc) == before


@pytest.mark.parametrize("kappa", [0.0, -1.0, np.nan, np.inf, "stiff", [1e8, 1e8]])
@pytest.mark.parametrize("build", BODIES)
def test_kappa_is_one_finite_number_above_zero(build, kappa, box):
    constitution, sc = build(box)
    with pytest.raises(ConstitutionError, match=r"kappa = "):
        constitution.apply_to(sc, kappa)
    assert "kappa" not in sc.instances


@pytest.mark.parametrize("density", [0.0, -5.0, np.nan])
@pytest.mark.parametrize("build", BODIES)
def test_density_is_above_zero(build, density, box):
    constitution, sc = build(box)
    with pytest.raises(ConstitutionError, match=r"mass_density = .*\[kg/m³\]"):
        constitution.apply_to(sc, 1e8, density)


@pytest.mark.parametrize("build", [shell, rod])
def test_thickness_is_above_zero_and_the_mesh_of_the_right_kind(build, box):
    constitution, sc = build(box)
    with pytest.raises(ConstitutionError, match=r"thickness = 0 \[m\]"):
        constitution.apply_to(sc, 1e8, thickness=0)
    with pytest.raises(ConstitutionError, match=r"one of tetrahedra; give a mesh of"):
        constitution.apply_to(tetmesh(CORNERS, TET), 1e8)


def test_a_shell_of_triangles_without_area_is_refused():
    flat = trimesh(np.zeros((3, 3)), [[0, 1, 2]])
    with pytest.raises(ConstitutionError, match=r"AffineBodyShell: .*no area"):
        AffineBodyShell().apply_to(flat, 1e8)


def broken(**entries):
    M = from_rigid_body(*rigid())
    for at, number in entries.values():
        M[at] = number
    return M


BAD_MATRICES = [
    (np.eye(6), r"shape \(6, 6\); give \(12, 12\)"),
    (broken(a=((3, 4), 0.5)), r"not symmetric: M − Mᵀ has an entry of 0\.\d+; use \(M \+ Mᵀ\)/2"),
    (broken(a=((7, 7), np.nan)), r"not finite"),
    (broken(a=((0, 0), -1.0)), r"mass M\[0, 0\] = -1 \[kg\]"),
    (
        broken(a=((2, 2), 5.0)),
        r"not that of an affine body: M\[2, 2\] = 5.*make it 2; .*build_abd_mass_matrix",
    ),
    (build_abd_mass_matrix(1.0, np.zeros(3), np.diag([1.0, 1, 0])), r"no mass; give the body extent"),
]


@pytest.mark.parametrize(("matrix", "message"), BAD_MATRICES)
def test_a_bad_mass_matrix_is_refused(matrix, message, box):
    with pytest.raises(ConstitutionError, match=message):
        AffineBodyConstitution().apply_to(box(), 1e8, matrix, 1.0)
    with pytest.raises(ConstitutionError, match=message):
        AffineBodyConstitution().create_proxy(1e8, matrix, 1.0)


BAD_RIGID = [
    (rigid(mass=0.0), r"mass = 0 \[kg\]; give a number > 0"),
    (rigid(center=(0.0, np.nan, 0.0)), r"mass_center = \[0.0, nan, 0.0\] \[m\]"),
    (rigid(inertia=(1.0, 1.0, 3.0)), r"triangle inequality"),
    ((1.0, np.zeros(3), np.eye(3) + np.eye(3, k=1)), r"inertia = .* is not symmetric"),
    ((1.0, np.zeros(3), np.eye(2)), r"inertia = .*give 9 finite numbers"),
]


@pytest.mark.parametrize(("body", "message"), BAD_RIGID)
def test_a_bad_rigid_body_is_no_proxy(body, message):
    with pytest.raises(ConstitutionError, match=message):
        AffineBodyConstitution().create_proxy(1e8, *body, 1.0)


@pytest.mark.parametrize("volume", [0.0, -1.0, np.nan])
def test_a_volume_is_above_zero(volume, box):
    M = from_rigid_body(*rigid())
    with pytest.raises(ConstitutionError, match=r"volume = .*\[m³\]"):
        AffineBodyConstitution().apply_to(box(), 1e8, M, volume)


def test_a_stiffness_edited_to_nonsense_is_found_by_the_check(box):
    sc = box()
    constitution = AffineBodyConstitution()
    constitution.apply_to(sc, 1e8)
    sc.instances.resize(3)
    constitution.check(sc, "crate")
    sc.instances["kappa"][1] = -2.0
    with pytest.raises(ConstitutionError, match=r"instance 1 of 'crate' has kappa = -2 \[Pa\]"):
        constitution.check(sc, "crate")
