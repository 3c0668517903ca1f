"""ctr and bdf2 with contact: what touches something takes its steps as held, or as bdf1; all else goes on as before."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import BOX, MESHES, Stage, random_rotation, scaled
from scenes import pose, read_state

from dovetail import Engine, World
from dovetail.constitution import AffineBodySphericalJoint

G = 9.81
D_HAT = 1e-3  # [m], that of the stage
ENERGIES = ("kinetic", "gravity", "shape", "joint", "barrier")
SMALL_BOX = scaled(BOX, 0.2)


def total(stage: Stage) -> float:
    found = stage.world.energies()
    return sum(found[name] for name in ENERGIES)


def dropped(seed: int, method: str = "ctr", **config: str) -> Stage:
    """One body, or two joined by a ball joint, thrown and spinning above rough ground."""
    rng = np.random.default_rng(seed)
    stage = Stage((0, 0, -G), integrator__type=method, integrator__bdf2_start="bdf1", **config)
    stage.material(rng.uniform(0.0, 0.8))
    stage.ground()
    mesh = scaled(MESHES[sorted(MESHES)[seed % len(MESHES)]], 0.2)
    height = rng.uniform(0.3, 0.5)
    throw, spin = rng.normal(size=3) * (2, 2, 0), rng.normal(size=3) * 5
    slots = [stage.add("first", mesh, [pose((0, 0, height), random_rotation(rng))], velocity=throw, spin=spin)]
    if seed % 2:
        slots.append(stage.add("second", mesh, [pose((0.5, 0, height), random_rotation(rng))], velocity=throw))
        joint = AffineBodySphericalJoint().create_geometry(
            np.array([[0.25, 0, height]]), slots[:1], [0], slots[1:], [0], [100.0]
        )
        stage.scene.objects.create("joint").geometries.create(joint)
    return stage


@pytest.mark.parametrize("method", ["ctr", "bdf2"])
@pytest.mark.parametrize("first", range(0, 50, 10))
def test_no_random_drop_gains_energy(first, method):
    """Energies of motion, height, shapes, joints and barriers together; joints begin with velocities that misfit."""
    for seed in range(first, first + 10):
        stage = dropped(seed, method)
        begun = total(stage)
        seen = []
        touched = 0
        for _ in range(60):
            stage.world.advance()
            seen.append(total(stage))
            touched += stage.world.report.contacts > 0
        assert touched > 5, "it has come down"
        lost = begun - seen[-1]
        assert lost > 0.0
        # in flight the rule keeps energies to its error of order (ωh)⁴ ~ 1e-6, no sum of which may look like a gain
        assert max(seen) < begun + 1e-6 * lost, seed


def test_a_contact_in_one_corner_does_not_damp_the_rest():
    """A box lies on the ground while another one spins far above it: the spin is kept as if it were alone."""
    stage = Stage((0, 0, -G), integrator__type="ctr")
    stage.ground()
    stage.add("lying", SMALL_BOX, [(0, 0, 0.1005)])
    stage.add("spinning", SMALL_BOX, [(0, 0, 3.0)], spin=(0.0, 0.0, 5.0))
    before = read_state(stage.world)[1][1, :3, :3]
    stage.run(20)
    assert stage.world.report.contacts > 0
    after = read_state(stage.world)[1][1, :3, :3]
    # bdf1 would lose ω²h = 25 % of it per second
    assert np.linalg.norm(after) == pytest.approx(np.linalg.norm(before), rel=1e-6)


def test_a_body_comes_to_rest_where_it_does_with_bdf1():
    """Barriers and friction are the same; a box that slides to a halt stands still and says so."""
    heights = []
    for method in ("bdf1", "ctr"):
        stage = Stage((0, 0, -G), integrator__type=method)
        stage.material(0.5)
        stage.ground()
        box = stage.add("box", SMALL_BOX, [(0, 0, 0.101)], velocity=(0.4, 0, 0))
        stage.run(60)
        _, velocity = read_state(stage.world)
        assert np.abs(velocity).max() < 1e-9  # round-off over the step
        heights.append(box.geometry.transforms.values[0, 2, 3])
    assert heights[0] == pytest.approx(heights[1], abs=1e-9)


def test_flight_is_exact_up_to_the_impact():
    """The step that meets the ground begins as ctr and ends in touch; no step is taken twice."""
    stage = Stage((0, 0, -G), integrator__type="ctr")
    stage.ground()
    box = stage.add("box", SMALL_BOX, [(0, 0, 0.3)])
    for n in range(1, 40):
        stage.run()
        height = box.geometry.transforms.values[0, 2, 3]
        exact = 0.3 - 0.5 * G * (0.01 * n) ** 2
        if exact < 0.1 + 1e-3:  # within d̂ of the ground
            break
        assert height == pytest.approx(exact, abs=1e-12)  # round-off of twenty steps
    assert 15 < n < 25 and height > 0.1
    stage.run(30)
    assert box.geometry.transforms.values[0, 2, 3] == pytest.approx(0.1, abs=2e-3), "it comes to rest within d̂"


def rebound(height: float, dt: float, **config: str) -> tuple[float, int]:
    """The height [m] to which a box on a face comes back from a fall, and its steps as bdf1."""
    stage = Stage((0, 0, -G), integrator__type="bdf2", integrator__bdf2_start="libuipc", dt=dt, **config)
    stage.material(0.0)
    stage.ground()
    box = stage.add("box", SMALL_BOX, [pose((0, 0, 0.1 + height))])
    heights, begun = [height], 0
    for _ in range(int(2.0 / dt)):
        stage.world.advance()
        stage.world.retrieve()
        begun += stage.world.report.bdf1_bodies
        heights.append(box.geometry.transforms.values[0, 2, 3] - 0.1)
    lowest = next(k for k in range(1, len(heights)) if heights[k] > heights[k - 1])
    return max(heights[lowest:]), begun


@pytest.mark.parametrize("dt", [0.01, 0.02])
def test_a_box_that_falls_with_bdf2_does_not_come_back(dt):
    """An impact is plastic, as with bdf1: what is left of a fall of 15 or 30 cm is the gap that it rests on."""
    for height in (0.15, 0.3):
        back, steps = rebound(height, dt)
        assert back < D_HAT
        assert steps > 0


def test_libuipc_s_bdf2_in_contact_is_there_for_who_asks():
    """Its past, drawn on across the impact, throws the box higher than it fell from."""
    back, steps = rebound(0.15, 0.01, integrator__bdf2_contact="libuipc")
    assert back > 0.15
    assert steps == 0


@pytest.mark.parametrize("method", ["ctr", "bdf2"])
def test_a_recovered_impact_goes_on_as_if_nothing_had_happened(method, tmp_path):
    states = []
    for resumed in (False, True):
        stage = dropped(7, method)
        world = World(Engine("cpu", tmp_path))
        world.init(stage.scene)
        if resumed:
            assert world.recover(15)
        for frame in range(world.frame(), 40):
            world.advance()
            if frame + 1 == 15 and not resumed:
                world.dump()
        states.append(read_state(world))
    for one, two in zip(*states, strict=True):
        np.testing.assert_array_equal(one, two)
