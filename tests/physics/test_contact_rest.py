"""Bodies at rest: what the barrier carries is their weight, whatever the stiffness, mass ratio or integrator."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import BOX, MESHES, Stage, random_rotation, scaled
from scenes import pose

G = 9.81


def contact_force(stage: Stage) -> np.ndarray:
    """Force of all contacts on each body (n, 3) [N] in the present state: −gradient of the barrier over h²."""
    probe = stage.probe()
    g, _ = probe.derivatives(probe.Q)
    return -g.reshape(-1, 4, 3)[:, 0] / probe.h**2


@pytest.mark.parametrize("kappa", [None, 1e9], ids=["adaptive", "given"])
@pytest.mark.parametrize("name", MESHES)
def test_the_ground_carries_the_weight(name, kappa):
    stage = Stage(gravity=(0, 0, -G))
    stage.material(0.5, kappa)
    stage.ground()
    body = stage.add(name, scaled(MESHES[name], 0.2), [(0, 0, 0.15)])
    stage.run(80)
    assert contact_force(stage)[0, 2] == pytest.approx(body.geometry.meta["mass"][0] * G, rel=1e-3)


def test_every_floor_of_a_tower_carries_what_is_above_it():
    stage = Stage(gravity=(0, 0, -G))
    stage.ground()
    tower = stage.add("tower", scaled(BOX, 0.1), [(0, 0, 0.051 + 0.101 * k) for k in range(5)])
    stage.run(60)
    weight = tower.geometry.meta["mass"][0] * G
    np.testing.assert_allclose(contact_force(stage)[:, 2], weight, rtol=1e-3)
    z = tower.geometry.transforms.values[:, 2, 3]
    gaps = np.diff(z, prepend=-0.05) - 0.1
    # the lower, the more load, the smaller the gap
    assert (np.diff(gaps) > 0).all() and gaps[0] > 0 and gaps[-1] < 1e-3


@pytest.mark.parametrize("ratio", [10, 1000])
@pytest.mark.parametrize("kappa", [None, 1e10], ids=["adaptive", "given"])
def test_a_heavy_body_rests_on_a_light_one(ratio, kappa):
    stage = Stage(gravity=(0, 0, -G))
    stage.material(0.5, kappa)
    stage.ground()
    cube = scaled(BOX, 0.1)
    light = stage.add("light", cube, [(0, 0, 0.0508)], density=100)
    heavy = stage.add("heavy", cube, [(0.004, 0.002, 0.1516)], density=100 * ratio)

    def state() -> tuple[list[float], bool]:
        report = stage.world.report
        assert report is not None
        return [slot.geometry.transforms.values[0, 2, 3] for slot in (light, heavy)], report.converged

    seen = stage.run(80, state)
    assert all(converged for _, converged in seen)
    z = np.array([heights for heights, _ in seen])
    np.testing.assert_allclose(z[-1], z[-20], atol=1e-6)
    gaps = np.diff(z[-1], prepend=-0.05) - 0.1
    assert (gaps > 0).all() and (gaps < 1e-3).all()
    weights = np.array([slot.geometry.meta["mass"][0] * G for slot in (light, heavy)])
    np.testing.assert_allclose(contact_force(stage)[:, 2], weights, rtol=1e-3)


@pytest.mark.parametrize("dt", [1e-3, 0.03])
@pytest.mark.parametrize("density", [1.0, 1e3, 1e5])
def test_an_adaptive_stiffness_keeps_the_gap_in_the_middle_of_its_range(density, dt):
    """By mass and dt: the same share of d̂ for a body of 8 g and of 800 kg; only the load per inertia, g h², matters."""
    stage = Stage(gravity=(0, 0, -G), dt=dt)
    stage.ground()
    cube = stage.add("cube", scaled(BOX, 0.2), [(0, 0, 0.1009)], density=density)
    stage.run(30)
    gap = cube.geometry.transforms.values[0, 2, 3] - 0.1
    assert 0.3e-3 < gap < 1e-3


@pytest.mark.parametrize("kappa", [1e8, 1e9, 1e10, 1e11])
def test_a_given_stiffness_is_used_as_given(kappa):
    """The gap at rest is where the four corners' barrier of just that κ carries the weight: −4κ b′(d) 2d = m g."""
    stage = Stage(gravity=(0, 0, -G))
    stage.material(0.5, kappa)
    stage.ground()
    cube = stage.add("cube", scaled(BOX, 0.2), [(0, 0, 0.1009)])
    stage.run(60)
    weight = cube.geometry.meta["mass"][0] * G
    d_hat = 1e-3

    def force(d: float) -> float:
        D, O = d * d, d_hat * d_hat  # noqa: E741
        return 4 * kappa * 2 * d * (D - O) * (2 * np.log(D / O) + (D - O) / D)

    low, high = 1e-9, d_hat
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if force(middle) > weight else (low, middle)
    lowest = (BOX[0] * 0.2 @ cube.geometry.transforms.values[0, :3, :3].T)[:, 2].min()
    gap = cube.geometry.transforms.values[0, 2, 3] + lowest
    assert gap == pytest.approx(low, rel=1e-3)


@pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])
def test_a_dropped_body_comes_to_rest(rng, integrator):
    """From 0.2 m at a random attitude; contact loses energy, so it lies still after a while."""
    stage = Stage(gravity=(0, 0, -G), integrator__type=integrator)
    stage.ground()
    body = stage.add("box", scaled(MESHES["L_shape"], 0.3), [pose((0, 0, 0.4), random_rotation(rng))])
    seen = np.array(stage.run(150, lambda: body.geometry.transforms.values[0].copy()))
    assert np.abs(np.diff(seen[-10:], axis=0)).max() < 1e-5  # 1e-3 m/s
    assert contact_force(stage)[0, 2] == pytest.approx(body.geometry.meta["mass"][0] * G, rel=1e-3)


@pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])
def test_the_step_length_may_change_at_random(rng, integrator):
    stage = Stage(gravity=(0, 0, -G), integrator__type=integrator)
    stage.ground()
    cubes = stage.add(
        "cubes", scaled(BOX, 0.1), [pose((0.03 * k, 0, 0.12 + 0.16 * k), random_rotation(rng)) for k in range(3)]
    )
    for _ in range(80):
        stage.scene.config["dt"] = float(10 ** rng.uniform(-3, np.log10(0.03)))
        stage.run(1)
    z = cubes.geometry.transforms.values[:, 2, 3]
    assert (z > 0.05).all() and (z < 1.0).all()  # bdf2 at steps that vary thirtyfold may bounce, but does not blow up


def test_a_soft_and_a_stiff_body_rest_on_each_other():
    stage = Stage(gravity=(0, 0, -G))
    stage.ground()
    soft = stage.add("soft", scaled(BOX, 0.1), [(0, 0, 0.0509)], kappa=1e4)
    stiff = stage.add("stiff", scaled(BOX, 0.1), [(0, 0, 0.1518)], kappa=1e9)
    stage.run(80)
    height = soft.geometry.transforms.values[0, 2, 2]
    assert 0.9 < height < 0.999 < stiff.geometry.transforms.values[0, 2, 2]
    weights = [slot.geometry.meta["mass"][0] * G for slot in (soft, stiff)]
    np.testing.assert_allclose(contact_force(stage)[:, 2], weights, rtol=1e-3)
