"""Bodies of a Sim: sizes, masses, poses and velocities are what was asked for, before the first step and after it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from dovetail import AngleAxis, Quaternion, Sim
from dovetail.errors import ConstitutionError, SceneError

G = 9.81


def test_primitives_have_the_mass_of_their_shape():
    sim = Sim()
    assert np.isclose(sim.box((0.1, 0.2, 0.3)).mass, 6.0, rtol=1e-12)
    assert np.isclose(sim.box(0.1, density=500).mass, 0.5, rtol=1e-12)
    for detail in (0, 3):  # of the shape, not of the polyhedron that is drawn
        assert np.isclose(sim.sphere(0.1, detail=detail).mass, 1000 * 4 / 3 * math.pi * 1e-3, rtol=1e-12)
        assert np.isclose(sim.cylinder(0.1, 0.5, detail=detail).mass, 1000 * math.pi * 0.01 * 0.5, rtol=1e-12)
        capsule = 1000 * (math.pi * 0.01 * 0.5 + 4 / 3 * math.pi * 1e-3)
        assert np.isclose(sim.capsule(0.1, 0.5, detail=detail).mass, capsule, rtol=1e-12)
    for body in (sim.box(0.2, mass=3.0), sim.sphere(0.1, mass=3.0), sim.capsule(0.1, 0.2, mass=3.0)):
        assert np.isclose(body.mass, 3.0, rtol=1e-12)


def test_primitives_are_centred_and_lie_along_z():
    sim = Sim()
    for body, half in (
        (sim.box((0.2, 0.4, 0.6)), (0.1, 0.2, 0.3)),
        (sim.cylinder(0.1, 0.6), (0.1, 0.1, 0.3)),
        (sim.capsule(0.1, 0.4), (0.1, 0.1, 0.3)),
        (sim.sphere(0.1), (0.1, 0.1, 0.1)),
    ):
        np.testing.assert_allclose(
            body.vertices.max(axis=0), half, rtol=1e-9, atol=3e-3
        )  # corners need not be at ±x, ±y
        np.testing.assert_allclose(body.vertices.min(axis=0), -np.array(half), rtol=1e-9, atol=3e-3)
        np.testing.assert_allclose(body.center, 0, atol=1e-12)


def test_meshes_come_from_files_libraries_and_arrays(tmp_path):
    sim = Sim()
    box = trimesh.creation.box((0.2, 0.2, 0.2))
    box.export(tmp_path / "box.stl")
    bodies = [sim.mesh(tmp_path / "box.stl"), sim.mesh(box), sim.mesh((box.vertices, box.faces))]
    assert np.allclose([body.mass for body in bodies], 8.0, rtol=1e-6)  # .stl has float32
    assert np.isclose(sim.mesh(box, scale=0.5).mass, 1.0)
    assert np.isclose(sim.mesh(box, scale=(1, 1, 2)).mass, 16.0)
    lidless = trimesh.Trimesh(box.vertices, box.faces[2:], process=False)
    shell = sim.mesh(lidless, thickness=0.001)
    assert np.isclose(shell.mass, 1000 * 5 * 0.04 * 0.002, rtol=1e-3)  # the thickness counts at the rims
    with pytest.raises(ConstitutionError, match="or give it a thickness: shells may be open"):
        sim.mesh(lidless)


@pytest.mark.parametrize("integrator", ["ctr", "bdf1"])
def test_a_body_falls_from_where_it_was_put_as_its_integrator_says(integrator):
    sim = Sim(dt=0.02, integrator=integrator)
    ball = sim.sphere(0.1, pos=(1, 2, 3), velocity=(0.5, 0, 1))
    sim.step(10)
    h, n = 0.02, 10
    fallen = G * h * h * n * (n if integrator == "ctr" else n + 1) / 2  # ctr is exact here
    np.testing.assert_allclose(ball.pos, [1 + 0.5 * n * h, 2, 3 + n * h - fallen], rtol=1e-9)
    np.testing.assert_allclose(ball.velocity, [0.5, 0, 1 - G * n * h], rtol=1e-9, atol=1e-12)
    assert (sim.frame, np.isclose(sim.time, 0.2)) == (10, True)


@pytest.mark.parametrize(
    "rot",
    [
        (math.cos(0.3), 0, 0, math.sin(0.3)),
        Rotation.from_rotvec([0, 0, 0.6]),
        Rotation.from_rotvec([0, 0, 0.6]).as_matrix(),
        AngleAxis(0.6, [0, 0, 1]),
        Quaternion(AngleAxis(0.6, [0, 0, 1])),
        np.round(Rotation.from_rotvec([0, 0, 0.6]).as_matrix(), 7),
    ],
)
def test_rotations_are_taken_as_people_write_them(rot):
    body = Sim().box(0.1, rot=rot)
    np.testing.assert_allclose(body.rot, [math.cos(0.3), 0, 0, math.sin(0.3)], atol=1e-6)
    np.testing.assert_allclose(body.point((1, 0, 0)), [math.cos(0.6), math.sin(0.6), 0], atol=1e-6)
    np.testing.assert_allclose(body.local(body.point((1, 2, 3))), (1, 2, 3), rtol=1e-12)


def test_quaternions_survive_any_rotation():
    rng = np.random.default_rng(2)
    body = Sim().box(0.1)
    special = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
    for q in [*special, *rng.normal(size=(50, 4))]:
        body.rot = q
        unit = np.array(q) / np.linalg.norm(q)
        assert np.isclose(abs(body.rot @ unit), 1, rtol=1e-12)
        assert body.rot[0] >= 0


def test_pose_and_velocity_can_be_set_before_and_after_the_first_step():
    sim = Sim(gravity=(0, 0, 0), config={"newton/velocity_tol": 1e-9, "newton/transrate_tol": 1e-9})
    box = sim.box((0.1, 0.2, 0.3))
    for started in (False, True):
        box.pos, box.velocity, box.spin = (1, 2, 3), (0.1, 0.2, 0.3), (0, 0, 0.5)
        np.testing.assert_allclose(box.pos, (1, 2, 3))
        np.testing.assert_allclose(box.velocity, (0.1, 0.2, 0.3))
        np.testing.assert_allclose(box.spin, (0, 0, 0.5), atol=1e-12)
        assert sim.started == started
        sim.step(10)
        np.testing.assert_allclose(box.pos, (1.01, 2.02, 3.03), rtol=1e-6)
        np.testing.assert_allclose(box.spin, (0, 0, 0.5), rtol=1e-4, atol=1e-6)  # (ωh)² = 2.5e-5
    with pytest.raises(SceneError, match="mirrors or flattens"):
        box.transform = np.diag([1, 1, -1, 1])


def test_a_force_acts_at_the_centre_of_mass():
    sim = Sim(gravity=(0, 0, 0))
    triangle = trimesh.creation.extrude_triangulation([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]], 0.3)
    body = sim.mesh(triangle, density=100)
    body.force = (0, 0, 6.0)
    sim.step(20)
    np.testing.assert_allclose(body.velocity, [0, 0, 6.0 * 0.2 / body.mass], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(body.spin, 0, atol=1e-8)
    body.force = (0, 0, -6.0)
    sim.step(20)
    np.testing.assert_allclose(body.velocity, 0, atol=1e-8)
    late = sim.bodies[0]
    assert late.force.tolist() == [0, 0, -6]


def test_fixed_bodies_stay_and_contact_carries_what_rests_on_them():
    sim = Sim(dt=0.01)
    table = sim.box((1, 1, 0.1), pos=(0, 0, 0.5), fixed=True)
    parcel = sim.box(0.2, pos=(0, 0, 0.6512))
    sim.step(60)
    np.testing.assert_allclose(table.pos, (0, 0, 0.5), rtol=0)
    weight = parcel.mass * G
    np.testing.assert_allclose(parcel.contact_force, (0, 0, weight), rtol=1e-3, atol=1e-3 * weight)
    np.testing.assert_allclose(table.contact_force, (0, 0, -weight), rtol=1e-3, atol=1e-3 * weight)
    np.testing.assert_allclose(parcel.contact_torque, 0, atol=1e-3 * weight)
    assert len(sim.contacts) == 4
    assert 0.65 < parcel.pos[2] < 0.652


def test_nothing_touches_a_body_without_contact():
    sim = Sim()
    sim.ground()
    ghost, solid = sim.box(0.2, pos=(0, 0, 0.15), contact=False), sim.box(0.2, pos=(1, 0, 0.15))
    sim.step(50)
    assert ghost.pos[2] < -0.5
    assert solid.pos[2] > 0.1


@pytest.mark.parametrize(("mu_box", "slides"), [(0.9, False), (0.3, True)])
def test_two_bodies_rub_with_the_geometric_mean_of_their_coefficients(mu_box, slides):
    """On a slope of 27° a block slides where μ = √(0.4 μ_box) < tan 27° = 0.51: at 0.3 (μ 0.35), not at 0.9 (0.6)."""
    slope = math.radians(27)
    sim = Sim(gravity=(G * math.sin(slope), 0, -G * math.cos(slope)), config={"contact/eps_velocity": 1e-3})
    sim.ground(normal=(0, 0, 1), friction=0.4)
    box = sim.box(0.2, pos=(0, 0, 0.1008), friction=mu_box)
    sim.step(100)
    acceleration = G * (math.sin(slope) - math.sqrt(0.4 * mu_box) * math.cos(slope))
    expected = acceleration * 0.5 if slides else 0.0
    # the contact settles during the first steps; what is held creeps by less than eps_velocity
    assert abs(box.velocity[0] / 2 - expected) < (0.05 * expected if slides else 1e-3)


def test_equal_primitives_share_their_arrays():
    sim = Sim()
    a, b, c = sim.sphere(0.1), sim.sphere(0.1, pos=(1, 0, 0)), sim.sphere(0.2, pos=(2, 0, 0))
    buffers = [body.slot.geometry.positions.buffer for body in (a, b, c)]
    assert buffers[0] is buffers[1] and buffers[0] is not buffers[2]


def test_colours_are_given_as_numbers_codes_or_names():
    sim = Sim()
    body = sim.box(0.1)
    assert body.color is None
    body.color = "#ff8000"
    np.testing.assert_allclose(body.color, [1, 128 / 255, 0])
    body.color = (0, 0.5, 1)
    np.testing.assert_allclose(body.color, [0, 0.5, 1])
    np.testing.assert_allclose(sim.box(0.1, color="white").color, 0.949, atol=1e-3)
    for bad, message in (("crimson-ish", "give '#rrggbb'"), ((0, 0, 2), "from 0 to 1"), ((1, 2), "3 finite numbers")):
        with pytest.raises(SceneError, match=message):
            body.color = bad


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda sim: sim.box((0, 1, 1), name="lid"),
            r"box 'lid': size = \[0.0, 1.0, 1.0\] \[m\]; give lengths from",
        ),
        (lambda sim: sim.box((1, 1)), "give 3 finite numbers"),
        (lambda sim: sim.sphere(-1), r"sphere 1': radius = -1 \[m\]; give a number > 0"),
        (lambda sim: sim.sphere(1, detail=9), "detail = 9; give 0"),
        (lambda sim: sim.cylinder(1, 1, detail=-1), "detail = -1; give 0"),
        (lambda sim: sim.box(1, mass=1, density=1), "both mass and density"),
        (lambda sim: sim.box(1, mass=0), r"mass = 0 \[kg\]; give a number > 0"),
        (lambda sim: sim.box(1, pos=(0, np.nan, 0)), r"pos = .*nan.* \[m\]; give 3 finite numbers"),
        (lambda sim: sim.box(1, rot=(0, 0, 0, 0)), "has no length"),
        (lambda sim: sim.box(1, rot=np.ones((3, 3))), "not orthonormal"),
        (lambda sim: sim.box(1, rot=90), "is no rotation; give a quaternion"),
        (lambda sim: sim.box(1, colour="red"), "there is no option 'colour'; it takes pos, rot, density"),
        (lambda sim: sim.box(1, friction=-0.1), "friction = -0.1; give a coefficient ≥ 0"),
        (lambda sim: sim.mesh(42), "int is no mesh; give the path"),
        (lambda sim: [sim.box(1, name="a"), sim.box(1, name="a")], "already something called 'a'"),
        (lambda sim: sim["nobody"], "there is no 'nobody'; there is nothing yet"),
        (lambda sim: Sim(dt=0), r"Sim: dt = 0 \[s\]; give a number > 0"),
        (lambda sim: Sim(gravity=-9.81), "gravity = -9.81 .*; give 3 finite numbers"),
    ],
)
def test_mistakes_are_told_in_one_paragraph(make, message):
    with pytest.raises(SceneError, match=message) as caught:
        make(Sim())
    assert "\n" not in str(caught.value)


def test_handles_say_what_they_are():
    sim = Sim()
    wall, ball = sim.box(1, fixed=True, name="wall"), sim.sphere(0.1, pos=(1, 0, 0), mass=2)
    assert repr(wall) == "<box 'wall': mass 1000 kg, pos (0, 0, 0) m, fixed>"
    assert repr(ball) == "<sphere 'sphere 1': mass 2 kg, pos (1, 0, 0) m, velocity (0, 0, 0) m/s, spin (0, 0, 0) rad/s>"
    assert "<td>2 kg</td>" in ball._repr_html_() and "sphere &#x27;sphere 1&#x27;" in ball._repr_html_()
    assert sim["wall"] is wall
