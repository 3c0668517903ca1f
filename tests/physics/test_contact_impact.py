"""Impacts: momentum, the hardest features, fast bodies, impossible squeezes; nothing ever passes through."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import BOX, MESHES, TETRAHEDRON, Stage, box, random_rotation, scaled
from scenes import pose, read_state, rotation

from dovetail.constitution import AffineBodyShell, SoftTransformConstraint
from dovetail.errors import NewtonStalled
from dovetail.geometry import SimplicialComplex, trimesh

G = 9.81
ON_EDGE = rotation((1, 0, 0), np.pi / 4)
ON_CORNER = rotation(np.cross((1, 1, 1), (0, 0, 1)), np.arccos(1 / np.sqrt(3)))


# ---- momentum --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("names", [("box", "box"), ("star", "L_shape"), ("torus", "tetrahedron")], ids="-".join)
def test_free_bodies_exchange_momentum_and_lose_none(rng, names, mu):
    stage = Stage()
    stage.material(mu)
    slots = [
        stage.add(
            name,
            scaled(MESHES[name], 0.2),
            [pose((0.35 * k, 0.02 * k, 0.01), random_rotation(rng))],
            velocity=(1 - 3 * k, 0, 0),
            density=1000 + 2000 * k,
        )
        for k, name in enumerate(names)
    ]
    mass = np.array([slot.geometry.meta["mass"][0] for slot in slots])
    first = np.array([slot.geometry.meta["abd_mass_x_bar"][0] for slot in slots])
    moments = [slot.geometry.meta["abd_mass_x_bar_x_bar"][0] for slot in slots]

    def momentum_and_energy() -> tuple[np.ndarray, float]:
        _, V = read_state(stage.world)
        momentum = mass @ V[:, :3, 3] + np.einsum("nxi,ni->x", V[:, :3, :3], first)
        energy = sum(
            0.5 * (m * v[:3, 3] @ v[:3, 3] + 2 * v[:3, 3] @ v[:3, :3] @ c + np.trace(v[:3, :3] @ S @ v[:3, :3].T))
            for m, c, S, v in zip(mass, first, moments, V, strict=True)
        )
        return momentum, energy

    seen = stage.run(50, momentum_and_energy)
    momenta, energies = np.array([p for p, _ in seen]), np.array([e for _, e in seen])
    # contact pushes both with the same force to round-off, and Newton's steps keep the sum of linear terms exactly
    np.testing.assert_allclose(momenta, [momenta[0]] * 50, atol=1e-9 * np.abs(momenta[0]).max())
    _, V = read_state(stage.world)
    assert V[0, 0, 3] < 0.9, "the bodies did not meet"
    assert energies[-1] < energies[0] * (1 + 1e-9)


def test_a_moving_body_stops_against_an_equal_one_and_sets_it_off():
    """Head on, the common motion takes half of the speed, what the barrier gives back goes to either side equally."""
    stage = Stage()
    stage.material(0.0)
    cubes = stage.add("cubes", scaled(BOX, 0.2), [(0, 0, 0), (0.25, 0, 0)], velocity=[(1, 0, 0), (0, 0, 0)])
    stage.run(40)
    _, V = read_state(stage.world)
    left, right = V[:, 0, 3]
    assert left + right == pytest.approx(1.0, abs=1e-9)
    assert right >= 0.5 >= left
    assert cubes.geometry.transforms.values[1, 0, 3] > 0.3


# ---- the hardest features --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lower", "upper", "height"),
    [
        pytest.param(ON_EDGE, rotation((0, 0, 1), np.pi / 2) @ ON_EDGE, 0.5**0.5, id="edge across edge"),
        pytest.param(ON_EDGE, rotation((0, 0, 1), 1e-9) @ ON_EDGE, 0.5**0.5, id="edge along edge"),
        pytest.param(ON_EDGE, rotation((0, 0, 1), 0.01) @ ON_EDGE, 0.5**0.5, id="edge nearly along edge"),
        pytest.param(ON_CORNER, ON_CORNER, 0.75**0.5, id="vertex on vertex"),
        pytest.param(ON_CORNER, rotation((0, 0, 1), 0.3) @ ON_CORNER, 0.75**0.5, id="vertex on turned vertex"),
    ],
)
@pytest.mark.parametrize("speed", [0.0, 3.0])
def test_a_cube_dropped_on_an_edge_or_a_corner_of_another_does_not_pass(lower, upper, height, speed):
    stage = Stage(gravity=(0, 0, -G))
    stage.add("lower", BOX, [pose((0, 0, 0), lower)], fixed=True)
    falling = stage.add("upper", BOX, [pose((0, 0, 2 * height + 0.05), upper)], velocity=(0, 0, -speed))
    stage.ground(-2.0)
    seen = stage.run(30, lambda: (falling.geometry.transforms.values[0, :3, 3].copy(), stage.world.report.converged))
    assert all(converged for _, converged in seen)
    x, y, z = seen[12][0]
    if speed > 0:  # it would be 0.4 m lower by now, unless it lies on a face already or has slid off
        assert z > height + 0.5 - 0.05 or np.hypot(x, y) > 0.1, "it was neither stopped nor turned aside"


# ---- fast bodies -----------------------------------------------------------------------------------------------


def sheet() -> SimplicialComplex:
    corners = np.array([[-0.5, -0.5, 0], [0.5, -0.5, 0], [0.5, 0.5, 0], [-0.5, 0.5, 0]])
    return trimesh(corners, np.array([[0, 1, 2], [0, 2, 3]]))


@pytest.mark.parametrize("dt", [0.01, 0.03])
@pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "free"])
def test_a_fast_bullet_does_not_tunnel_through_a_thin_shell(fixed, dt):
    """50 m/s: half a metre and more a step, against a shell of 1 mm; it stays on its side of it."""
    stage = Stage(dt=dt)
    shell = stage.add("shell", sheet(), body=lambda sc: AffineBodyShell().apply_to(sc, 1e8, 1000.0, 5e-4), fixed=fixed)
    bullet = stage.add("bullet", scaled(TETRAHEDRON, 0.02), [(0.1, 0.05, 0.6)], velocity=(3, 1, -50), density=8000)

    def lowest_corner() -> float:
        """Height of the bullet over the shell, in the frame of the shell."""
        T = np.linalg.inv(shell.geometry.transforms.values[0]) @ bullet.geometry.transforms.values[0]
        return float((bullet.geometry.positions.values @ T[:3, :3].T + T[:3, 3])[:, 2].min())

    heights = stage.run(12, lowest_corner)
    assert min(heights) > 0
    assert min(heights) < 0.02  # it did get there


def test_fast_bodies_do_not_pass_through_each_other(rng):
    """Two swarms of small bodies that meet at 40 m/s; every frame is checked, and one stays left of the other.

    Steps are shorter than the bodies: in a longer one, a way around each other is as good as any to Newton.
    """
    stage = Stage(dt=1e-3)
    cube = scaled(BOX, 0.05)
    grid = np.array([(0.0, 0.08 * j, 0.08 * k) for j in range(2) for k in range(2)])
    slots = []
    for name, shift, speed in (("left", (0, 0, 0), 20), ("right", (0.2, 0.001, 0.002), -20)):
        poses = [pose(p + shift, random_rotation(rng)) for p in grid]
        slots.append(stage.add(name, cube, poses, velocity=(speed, 0, 0)))
    stage.run(20)
    left, right = (slot.geometry.transforms.values[:, 0, 3].mean() for slot in slots)
    assert left < right


# ---- squeezes --------------------------------------------------------------------------------------------------


def press(strength: float, kappa: float, **config: object) -> Stage:
    """Two plates that are pulled to and beyond each other with a cube between them."""
    stage = Stage(**config)

    def pulled(sc: SimplicialComplex) -> None:
        SoftTransformConstraint().apply_to(sc, strength)
        sc.instances["is_constrained"] = 1
        sc.instances["aim_transform"][:, 2, 3] = (0.05, -0.05)

    stage.add("plates", box(0.5, 0.5, 0.05), [(0, 0, -0.14), (0, 0, 0.14)], applied=[pulled], kappa=kappa)
    stage.add("cube", scaled(BOX, 0.2), kappa=kappa)
    return stage


def test_a_squeeze_that_stiff_bodies_resist_ends_in_balance():
    stage = press(100.0, 1e9)
    reports = stage.run(5, lambda: stage.world.report)
    assert all(report.converged for report in reports)


def test_a_squeeze_that_cannot_be_satisfied_is_reported_and_nothing_intersects(caplog):
    stage = press(1e4, 1e11, newton__max_iter=8)
    (first, *_) = stage.run(3, lambda: stage.world.report)
    assert not first.converged and first.iterations == 8
    assert any("Newton stopped after 8 iterations" in record.message for record in caplog.records)


def test_in_strict_mode_such_a_squeeze_is_an_error_and_the_state_stays():
    stage = press(1e4, 1e11, newton__max_iter=8, extras__strict_mode__enable=1)
    before = read_state(stage.world)[0]
    with pytest.raises(NewtonStalled, match="frame 1"):
        stage.run(1)
    np.testing.assert_array_equal(read_state(stage.world)[0], before)
    assert stage.world.frame() == 0
