"""Joints that users define: they run like the built-in ones, and mistakes are told in one paragraph."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scenes import TIGHT, add_boxes, new_scene, rate, run

from dovetail.constitution import (
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointLimit,
    ExternalArticulationConstraint,
    base,
)
from dovetail.errors import ConstitutionError
from dovetail.extend import (
    Angle,
    Coincide,
    Compose,
    EdgeJoint,
    Law,
    Parameter,
    Projection,
    Slide,
    Term,
    VertexJoint,
    check_derivatives,
    coordinate,
    energy,
    law,
)
from dovetail.solver.joint.function import COORDINATES, ENERGIES, LAWS

H = 0.01
G = 9.8
SIZE = np.array([0.5, 0.2, 0.3])
MASS = 1000 * SIZE.prod()
TIGHT_CONFIG = {key.replace("/", "__"): value for key, value in TIGHT.items()}
EXAMPLE = Path(__file__).parents[1] / "examples" / "20_screw_joint.py"


@pytest.fixture(scope="module", autouse=True)
def registries():
    """What is registered here is forgotten at the end, so that tests over all functions see the built-in ones."""
    kept = [(registry, dict(registry)) for registry in (ENERGIES, COORDINATES, LAWS, base._classes)]
    yield
    for registry, before in kept:
        registry.clear()
        registry.update(before)


@pytest.fixture(scope="module")
def damped_hinge():
    """The joint of the module's docstring."""

    @law(parameters=("c [N·m·s]", "θₙ [rad]", "h [s]"))
    def damper(x, p, d):
        d[0] = p[0] * p[2] * (x - p[1])
        d[1] = p[0] * p[2]
        return 0.5 * p[0] * p[2] * (x - p[1]) ** 2

    class Damper(Law):
        function = "damper"
        parameters = (Parameter("damping"), Parameter(start=True), Parameter(step=True))
        effort = "damping/effort"

    class DampedHinge(AffineBodyRevoluteJoint, uid=2**32 + 101):
        terms = (*AffineBodyRevoluteJoint.terms, Compose(Damper(), Angle()))
        attributes = {"damping": 0.0, "damping/effort": 0.0}  # noqa: RUF012

    return DampedHinge


@pytest.fixture(scope="module")
def elastic():
    """A linear spring between two anchors, ψ = h² k/2 ‖r‖² with k [N/m]."""

    @energy(rows=1, parameters=("k [N/m]", "h [s]"))
    def elastic_band(F, p, exact, g, H):
        k = p[0] * p[1] * p[1]
        total = 0.0
        for a in range(3):
            g[a] = k * F[a]
            H[3 * a + a] = k
            total += 0.5 * k * F[a] * F[a]
        return total

    class Elastic(Term):
        function = "elastic_band"
        stencil = (("c", -1, 1),)
        parameters = (Parameter("stiffness"), Parameter(step=True))

    class Band(VertexJoint, uid=2**32 + 102):
        terms = (Elastic(),)
        attributes = {"stiffness": 0.0}  # noqa: RUF012

    check_derivatives(elastic_band)
    return Band


def hang(kind, points, strength=100.0, velocities=None, **config):
    """A box at the origin held by a joint of that kind to a fixed one beside it: scene, joint's slot, box's slot."""
    scene = new_scene(dt=H, **TIGHT_CONFIG, **config)
    wall = add_boxes(scene, [(1.0, 0, 0)], name="wall", fixed=[0])
    box = add_boxes(scene, size=SIZE, velocities=velocities)
    joint = kind().create_geometry(*points, [wall], [0], [box], [0], [strength])
    return scene, scene.objects.create("joint").geometries.create(joint)[0], box


AXIS = ([[0, 0, -0.2]], [[0, 0, 0.2]])


def spinning_hinge(kind, spin=0.1, gravity=(0, 0, 0)):
    return hang(kind, AXIS, velocities=[rate(np.eye(4), angular=(0, 0, spin))], gravity=list(gravity))


# ---- they run ---------------------------------------------------------------------------------------------------


def test_a_damped_hinge_slows_down_as_the_discrete_equation_of_motion_says(damped_hinge, start):
    """J (ω' − ω)/h = −c ω', hence ω' = ω/(1 + c h/J)."""
    J, c, steps = MASS * (SIZE[0] ** 2 + SIZE[1] ** 2) / 12, 20.0, 5
    scene, slot, _ = spinning_hinge(damped_hinge)
    edges = slot.geometry.edges
    edges["damping"] = c
    run(start(scene), steps)
    expected = 0.1 / (1 + c * H / J) ** steps
    # a rotation by ω h = 1e-3 differs from the straight step of the integrator by (ω h)² = 1e-6
    assert edges["velocity"][0] == pytest.approx(expected, rel=1e-5)
    assert edges["damping/effort"][0] == pytest.approx(-c * expected, rel=1e-5)
    # the joint's own laws are part of its reaction
    assert edges["reaction/torque"][0] == pytest.approx([0, 0, -c * expected], rel=1e-5, abs=1e-9)


def test_damping_is_read_every_frame(damped_hinge, start):
    scene, slot, _ = spinning_hinge(damped_hinge)
    world = start(scene)
    run(world, 2)
    assert slot.geometry.edges["velocity"][0] == pytest.approx(0.1, rel=1e-5)  # see above
    slot.geometry.edges["damping"] = 1e12
    run(world, 1)
    assert slot.geometry.edges["velocity"][0] == pytest.approx(0.0, abs=1e-9)


def test_what_is_made_for_a_hinge_works_on_a_hinge_of_ones_own(damped_hinge, start):
    """A cubic limit that is hit at once: it pushes back, with the effort of the damper on top."""
    scene, slot, _ = spinning_hinge(damped_hinge, spin=3.0)
    AffineBodyRevoluteJointLimit().apply_to(slot.geometry, -0.01, 0.01, 100.0)
    slot.geometry.edges["damping"] = 1.0
    run(start(scene), 20)
    assert abs(slot.geometry.edges["angle"][0]) < 0.02
    assert slot.geometry.edges["velocity"][0] < 0.5


def test_an_energy_may_depend_on_the_length_of_the_step_and_on_attributes_of_the_frame(elastic, start):
    """From rest under gravity: m (y − h² g) + h² k y = 0, then with velocity, another k and another h."""
    scene, slot, box = hang(elastic, ([[0, 0, 0]],), gravity=[0, -G, 0])
    slot.geometry.vertices["stiffness"] = 5e4
    world = start(scene)
    run(world, 1)
    y1 = -MASS * H**2 * G / (MASS + 5e4 * H**2)
    assert box.geometry.transforms.values[0, 1, 3] == pytest.approx(y1, rel=1e-9)  # Newton is exact on a quadratic
    slot.geometry.vertices["stiffness"] = 2e5
    scene.config["dt"] = h = 0.02
    run(world, 1)
    predicted = y1 + h * y1 / H - h**2 * G
    assert box.geometry.transforms.values[0, 1, 3] == pytest.approx(MASS * predicted / (MASS + 2e5 * h**2), rel=1e-9)
    k_force = -2e5 * box.geometry.transforms.values[0, :3, 3]
    assert slot.geometry.vertices["reaction/force"][0] == pytest.approx(k_force, rel=1e-9, abs=1e-9)


def test_a_joint_without_a_coordinate_may_have_laws(start):
    """K/2 x² along the axis and nothing else: in the first step y = m h² g/(m + K)."""

    @law(parameters=("K [kg]",))
    def centre(x, p, d):
        d[0], d[1] = p[0] * x, p[0]
        return 0.5 * p[0] * x * x

    class Centre(Law):
        function = "centre"
        parameters = (Parameter("weight"),)

    class Bungee(EdgeJoint, uid=2**32 + 103):
        terms = (Compose(Centre(), Projection(owner="left")),)
        attributes = {"weight": 50.0}  # noqa: RUF012

    scene, slot, box = hang(Bungee, ([[0, 0, 0]], [[0, 1, 0]]), gravity=[0, -G, 0])
    assert "velocity" not in slot.geometry.edges
    run(start(scene), 1)
    y = -MASS * H**2 * G / (MASS + 50.0)
    assert box.geometry.transforms.values[0, 1, 3] == pytest.approx(y, rel=1e-9)  # a quadratic again
    assert slot.geometry.edges["reaction/force"][0] == pytest.approx([0, -50.0 * y / H**2, 0], rel=1e-9, abs=1e-9)


def test_a_coordinate_of_ones_own_can_be_articulated(start):
    """A point on a line along x, given as a vertex joint; the outside model moves it by 2 mm a step."""

    class Rail(VertexJoint, uid=2**32 + 104):
        terms = (Slide("c", "t", "left"), Coincide("n"), Coincide("b"))
        coordinate = Projection(owner="left")

    scene, slot, box = hang(Rail, ([[0, 0, 0]],), gravity=[0, 0, 0])
    box.geometry.instances["external_kinetic"] = 1
    model = ExternalArticulationConstraint().create_geometry([slot])
    model["joint_joint"]["mass"] = 1.0
    model["joint"]["delta_theta_tilde"] = 2e-3
    scene.objects.create("model").geometries.create(model)
    run(start(scene), 3)
    assert slot.geometry.vertices["distance"][0] == pytest.approx(6e-3, abs=1e-11)  # Newton's last step, squared
    assert box.geometry.transforms.values[0, 0, 3] == pytest.approx(6e-3, abs=1e-11)


def test_a_dump_restores_efforts_and_goes_on_bit_by_bit(damped_hinge, elastic, start):
    scene, slot, box = spinning_hinge(damped_hinge, gravity=(0, -1, 0))
    band = elastic().create_geometry([[0.2, 0, 0]], [scene.geometries[0][0]], [0], [box], [0], [100.0])
    band.vertices["stiffness"] = 100.0
    scene.objects.create("band").geometries.create(band)
    edges = slot.geometry.edges
    edges["damping"] = 2.0
    world = start(scene)
    run(world, 2)
    assert world.dump()
    effort, torque = edges["damping/effort"].copy(), edges["reaction/torque"].copy()
    run(world, 2)
    later = edges["angle"].copy(), edges["damping/effort"].copy()
    assert world.recover(2)
    world.retrieve()
    np.testing.assert_array_equal(edges["damping/effort"], effort)
    np.testing.assert_array_equal(edges["reaction/torque"], torque)
    run(world, 2)
    np.testing.assert_array_equal((edges["angle"], edges["damping/effort"]), later)


def test_the_screw_joint_of_the_examples_takes_at_most_forty_lines():
    text = EXAMPLE.read_text(encoding="utf-8")
    joint = text[text.index("# ---- the joint") : text.index("# ---- a scene")].splitlines()[1:]
    assert 20 < sum(bool(line.strip()) for line in joint) <= 40


# ---- derivatives ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [*ENERGIES.values(), *COORDINATES.values(), *LAWS.values()], ids=lambda f: f.name)
def test_built_in_functions_pass_the_check(function, capsys):
    # a stop is infinite outside, and a parabola of 1e-4 m inside would be all step: see test_joint_functions.py
    parameters = [-10.0, 10.0, np.inf, 1.0] if function.name == "stop" else None
    check_derivatives(function, parameters=parameters)
    assert f"{function.name}: at 16 points the first derivative agrees" in capsys.readouterr().out


@pytest.fixture(scope="module")
def wrong():
    """Functions with one mistake each, and what is said about them."""

    @coordinate(rows=1)
    def first_wrong(F, exact, dx, d2x):
        dx[0], dx[1], dx[2] = F[0], F[1], 2.0 * F[2]
        for a in range(3):
            d2x[4 * a] = 1.0
        return 0.5 * (F[0] * F[0] + F[1] * F[1] + F[2] * F[2])

    @coordinate(rows=1)
    def second_wrong(F, exact, dx, d2x):
        for a in range(3):
            dx[a] = F[a]
            d2x[4 * a] = 1.0
        d2x[1] = 0.25
        return 0.5 * (F[0] * F[0] + F[1] * F[1] + F[2] * F[2])

    @law(parameters=("k",))
    def concave(x, p, d):
        d[0], d[1] = -p[0] * x, -p[0]
        return -0.5 * p[0] * x * x

    @energy(rows=1, parameters=())
    def saddle(F, p, exact, g, H):
        g[0], g[1] = F[1], F[0]
        H[1] = H[3] = 1.0
        return F[0] * F[1]

    @energy(rows=1, parameters=())
    def fickle(F, p, exact, g, H):
        g[0] = 1.0 + exact
        return F[0] * (1.0 + exact)

    @law(parameters=())
    def nowhere(x, p, d):
        return math.sqrt(-1.0 - x * x)

    return {
        first_wrong: r"has a wrong derivative: the first derivative\[2\] = .* at point \d+, differences give",
        second_wrong: r"has a wrong derivative: the second derivative\[0, 1\] = 0.25 at point \d+, differences give",
        concave: r"is not convex at point 0: φ″ = -",
        saddle: r"is not convex at point 0: H with exact = 0 has the eigenvalue -1",
        fickle: r"gives another value or gradient with exact = 0 than with 1",
        nowhere: r"gives nan at point 0, or a derivative that is not a finite number; choose points `at`",
    }


@pytest.mark.parametrize("name", ["first_wrong", "second_wrong", "concave", "saddle", "fickle", "nowhere"])
def test_the_check_shows_the_worst_entry(name, wrong):
    function, message = next((f, m) for f, m in wrong.items() if f.name == name)
    with pytest.raises(ConstitutionError, match=rf"^{name}: the function in line \d+ of .*test_extend.py {message}"):
        check_derivatives(function)


def test_the_check_takes_points_and_parameters(damped_hinge, capsys):
    damper = LAWS["damper"]
    check_derivatives(damper, at=[-0.1, 0.0, 0.3], parameters=[2.0, 0.1, 0.01])
    assert "at 3 points" in capsys.readouterr().out
    with pytest.raises(ConstitutionError, match=r"takes 3 parameters .*; parameters has shape \(2,\)"):
        check_derivatives(damper, parameters=[1.0, 2.0])
    with pytest.raises(ConstitutionError, match=r"got <function .*; give a function decorated with @energy"):
        check_derivatives(damper.function)
