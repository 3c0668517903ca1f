"""Free bodies against the closed-form solutions of the discrete scheme."""

from __future__ import annotations

import numpy as np
import pytest
from scenes import TIGHT, add_boxes, angular_velocity, box_mesh, new_scene, pose, rate, read_state, rotation, run

from dovetail import Scene
from dovetail.constitution import AffineBodyConstitution, AffineBodyExternalBodyForce
from dovetail.errors import ConfigError
from dovetail.geometry import SimplicialComplex, pointcloud
from dovetail.geometry.affine_body import from_rigid_body
from dovetail.solver.integrator import INTEGRATORS

POTENTIALS = ("OrthoPotential", "ARAP")
G = 9.8
STILL = [0.0, 0.0, 0.0]


def tight(**config: object) -> Scene:
    return new_scene(**{name.replace("/", "__"): value for name, value in TIGHT.items()}, **config)


def discrete_motion(method: str, a: float, v: float, h: float, frames: int) -> np.ndarray:
    """Positions of a point under a constant acceleration, step by step from the integrator's table."""
    table = INTEGRATORS[method]
    (a0, a1), (b0, b1), (d, d0, d1, carry, _) = table.position, table.velocity, table.rates
    ends = 2 if table.is_consistent else 1  # at which the acceleration counts
    x, x_before, v_before = [0.0], 0.0, v
    for _ in range(frames):
        new = a0 * x[-1] + a1 * x_before + h * (b0 * v + b1 * v_before) + table.acceleration * h * h * ends * a
        v, v_before = (d * new + d0 * x[-1] + d1 * x_before) / h + carry * v, v
        x_before = x[-1]
        x.append(new)
    return np.array(x)


def test_a_body_of_mass_alone_falls_like_any_other(start):
    scene = Scene({"dt": 0.01})
    alone = pointcloud(np.zeros((0, 3)))
    M = from_rigid_body(2.0, [0.1, 0.2, 0.3], np.eye(3))
    AffineBodyConstitution().apply_to(alone, 1e8, mass=M, volume=1.0)
    slot, _ = scene.objects.create("alone").geometries.create(alone)
    world = start(scene)
    run(world, 10)
    world.retrieve()
    assert slot.geometry.transforms.values[0, 1, 3] == pytest.approx(-G * 1e-4 * 55, rel=1e-12)


@pytest.mark.parametrize("potential", POTENTIALS)
def test_implicit_euler_falls_by_half_g_h_squared_n_times_n_plus_one(potential, start):
    scene, h = new_scene(dt=0.01), 0.01
    box = add_boxes(scene, velocities=[rate(np.eye(4), (0.5, 2.0, 0.0))], potential=potential)
    world = start(scene)
    for n in range(1, 101):
        run(world, 1)
        expected = [0.5 * n * h, 2.0 * n * h - G * h * h * n * (n + 1) / 2, 0.0]
        # sums of a hundred terms of order one
        np.testing.assert_allclose(box.geometry.transforms.values[0, :3, 3], expected, atol=1e-14)
        np.testing.assert_allclose(box.geometry.transforms.values[0, :3, :3], np.eye(3), atol=1e-14)


@pytest.mark.parametrize("method", sorted(INTEGRATORS))
def test_free_fall_follows_the_table_of_the_integrator(method, start):
    scene = new_scene(integrator__type=method, dt=0.02)
    box = add_boxes(scene, velocities=[rate(np.eye(4), (0.0, 1.5, 0.0))])
    world = start(scene)
    for height in discrete_motion(method, -G, 1.5, 0.02, 60)[1:]:
        run(world, 1)
        assert box.geometry.transforms.values[0, 1, 3] == pytest.approx(height, abs=1e-13)  # round-off of 60 steps


def test_with_a_bdf1_start_bdf2_falls_exactly_but_for_the_first_step(start):
    """Bdf2 is exact for parabolas. The first step leaves an error of g h²/2; the next ones add ½(1 − 3⁻ⁿ) of it."""
    scene, h = new_scene(integrator__type="bdf2", integrator__bdf2_start="bdf1", dt=0.01), 0.01
    box = add_boxes(scene)
    world = start(scene)
    for n in range(1, 201):
        run(world, 1)
        error = box.geometry.transforms.values[0, 1, 3] + 0.5 * G * (n * h) ** 2
        # heights of 20 m, and velocities that are differences over h: round-off of 1e-13 per step adds up
        assert error == pytest.approx(-0.25 * G * h * h * (3 - 3.0 ** (1 - n)), abs=1e-10)


def test_every_instance_falls_with_its_own_gravity(start):
    scene = new_scene(dt=0.01)
    own = np.array([[0.0, -9.8, 0.0], [1.62, 0.0, 0.0], [0.0, 0.0, 0.0]])
    boxes = add_boxes(scene, [(k, 0, 0) for k in range(3)], instances={"gravity": own})
    plain = add_boxes(scene, [(0, 5, 0)], name="plain")
    run(start(scene), 10)
    moved = boxes.geometry.transforms.values[:, :3, 3] - [[k, 0, 0] for k in range(3)]
    np.testing.assert_allclose(moved, own * 1e-4 * 55, atol=1e-14)  # round-off of ten steps
    assert plain.geometry.transforms.values[0, 1, 3] == pytest.approx(5 - 9.8 * 1e-4 * 55, abs=1e-13)


def test_implicit_euler_with_changing_steps_sums_them_exactly(start, rng):
    scene = new_scene()
    box = add_boxes(scene)
    world = start(scene)
    y = v = 0.0
    for h in rng.uniform(0.001, 0.05, 50):
        scene.config["dt"] = h
        run(world, 1)
        v -= G * h
        y += h * v
        assert world.report.dt == h
        assert box.geometry.transforms.values[0, 1, 3] == pytest.approx(y, abs=1e-13)  # round-off of 50 steps


def test_a_step_length_that_makes_no_sense_is_refused_and_nothing_moves(start):
    scene = new_scene()
    add_boxes(scene)
    world = start(scene)
    run(world, 3)
    before = read_state(world)
    for wrong in (0.0, -0.01, np.nan, np.inf):
        scene.config.find("dt").edit()[0] = wrong
        with pytest.raises(ConfigError, match="'dt'"):
            world.advance()
    assert world.frame() == 3
    np.testing.assert_array_equal(read_state(world)[0], before[0])
    scene.config["dt"] = 0.01
    run(world, 1)
    assert world.frame() == 4


@pytest.mark.parametrize("method", sorted(INTEGRATORS))
@pytest.mark.parametrize("potential", POTENTIALS)
def test_a_force_on_the_centre_of_mass_gives_f_over_m(method, potential, start):
    F = np.array([30.0, -12.0, 5.0])
    scene = new_scene(integrator__type=method, gravity=STILL)
    box = add_boxes(scene, potential=potential, applied=[lambda mesh: AffineBodyExternalBodyForce().apply_to(mesh, F)])
    mass = 0.5 * 0.2 * 0.3 * 1000.0
    world = start(scene)
    for n, travelled in enumerate(discrete_motion(method, 1.0, 0.0, 0.01, 40)[1:], 1):
        run(world, 1)
        np.testing.assert_allclose(
            box.geometry.transforms.values[0, :3, 3], travelled * F / mass, rtol=1e-11, err_msg=f"frame {n}"
        )


OFFSET = np.array([0.3, -0.2, 0.5])


def turned_box(size: object, turn: np.ndarray, density: float) -> SimplicialComplex:
    """A box whose centre is not the origin of its frame, and whose edges are not along its axes."""
    mesh = box_mesh(size)
    mesh.vertices["position"] = mesh.vertices["position"] @ turn.T + OFFSET
    AffineBodyConstitution().apply_to(mesh, 1e9, density)
    return mesh


def test_mass_properties_reach_the_motion_to_ten_digits(start, rng):
    """A force at the local origin of an off-centre, turned box: its centre of mass feels F/m, however it turns."""
    size, density, h = (0.4, 0.3, 0.7), 730.0, 0.01
    F = np.array([3.0, -1.0, 2.0])
    mesh = turned_box(size, rotation(rng.normal(size=3), 1.1), density)
    AffineBodyExternalBodyForce().apply_to(mesh, F)
    scene = tight(gravity=STILL)
    scene.objects.create("box").geometries.create(mesh)
    world = start(scene)
    for n in range(1, 31):
        world.advance()
        T = read_state(world)[0][0]
        moved = T[:3, :3] @ OFFSET + T[:3, 3] - OFFSET
        np.testing.assert_allclose(moved, F / (density * np.prod(size)) * h * h * n * (n + 1) / 2, rtol=1e-10)


@pytest.mark.parametrize("axis", range(3))
def test_a_spin_about_a_principal_axis_stays_there(axis, start, rng):
    """A wrong product of inertia would make the axis wander. Spin about x, y or z of a box turned in its frame."""
    turn = rotation(rng.normal(size=3), 0.8)
    mesh = turned_box((0.2, 0.3, 0.7), turn, 1000.0)
    spin = turn[:, axis] * 3.0
    T = pose((1.0, 2.0, 3.0), rotation(rng.normal(size=3), 0.5))
    world_spin = T[:3, :3] @ spin
    centre = T[:3, :3] @ OFFSET
    V = rate(T, linear=-np.cross(world_spin, centre), angular=world_spin)
    mesh.instances["transform"], mesh.instances["velocity"] = T, V
    scene = tight(gravity=STILL)
    scene.objects.create("box").geometries.create(mesh)
    world = start(scene)
    for _ in range(60):
        world.advance()
        now, speed = (part[0] for part in read_state(world))
        np.testing.assert_allclose(now[:3, :3] @ OFFSET + now[:3, 3], centre + T[:3, 3], atol=1e-10)
        found = angular_velocity(now, speed)
        np.testing.assert_allclose(found / np.linalg.norm(found), world_spin / 3.0, atol=1e-10)


def test_a_generalised_force_gives_the_angular_momentum_of_the_exact_moments(start, rng):
    """From rest, L = Σ M̂_ij Q_i × V_j after a step is h Σ Q_i × F_i: inner forces have no moment where it ends."""
    size, h, density = np.array([0.4, 0.3, 0.7]), 0.01, 500.0
    turn = rotation(rng.normal(size=3), 1.1)
    m = density * np.prod(size)
    M = np.zeros((4, 4))
    M[0, 0], M[0, 1:], M[1:, 0] = m, m * OFFSET, m * OFFSET
    M[1:, 1:] = m * (turn @ np.diag(size**2 / 12) @ turn.T + np.outer(OFFSET, OFFSET))
    F = rng.normal(size=12)
    mesh = turned_box(size, turn, density)
    AffineBodyExternalBodyForce().apply_to(mesh, F)
    scene = tight(gravity=STILL)
    scene.objects.create("box").geometries.create(mesh)
    world = start(scene)
    world.advance()
    T, V = (part[0] for part in read_state(world))
    Q, W = (np.concatenate([X[:3, 3:].T, X[:3, :3].T]) for X in (T, V))
    forces = np.concatenate([F[None, :3], F[3:].reshape(3, 3).T])
    L = np.cross(Q, M @ W).sum(axis=0)
    # velocities of 1e-3 are differences of ones over h: 1e-16/1e-5
    np.testing.assert_allclose(L, h * np.cross(Q, forces).sum(axis=0), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose((M @ W)[0], h * forces[0], rtol=1e-10)


@pytest.mark.parametrize("potential", POTENTIALS)
def test_a_planar_spin_slows_down_as_implicit_euler_says(potential, start):
    """In the rigid limit R_{n+1} is the polar rotation of 2R_n − R_{n−1}: tan φ' = sin φ / (2 − cos φ)."""
    omega, h = 4.0, 0.01
    scene = tight(gravity=STILL, dt=h)
    # strains of about ρω²L²/κ = 1e-8 make the body heavier to turn by as much
    box = add_boxes(scene, velocities=[rate(np.eye(4), angular=(0, 0, omega))], kappa=1e11, potential=potential)
    world = start(scene)
    angle, step = 0.0, np.arctan(omega * h)
    for n in range(80):
        run(world, 1)
        angle += step
        np.testing.assert_allclose(
            box.geometry.transforms.values[0, :3, :3], rotation([0, 0, 1], angle), atol=2e-8, err_msg=f"step {n}"
        )
        step = np.arctan(np.sin(step) / (2 - np.cos(step)))
