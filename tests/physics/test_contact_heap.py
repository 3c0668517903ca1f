"""Many bodies: tumbling heaps, checked in every frame, that repeat to the last bit and fall into islands."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import BOX, MESHES, Stage, random_rotation, scaled
from scenes import pose, read_state, write_state

from dovetail import Engine, World

G = 9.81


def heap(seed: int, count: int = 20, speed: float = 3.0, **config: object) -> Stage:
    """Bodies of all shapes, 0.11 m wide, that fall onto each other with some spin."""
    rng = np.random.default_rng(seed)
    stage = Stage(gravity=(0, 0, -G), **config)
    stage.ground()
    places = np.array([(x, y, z) for z in range(-(-count // 4)) for x in range(2) for y in range(2)])[:count]
    for k, name in enumerate(MESHES):
        poses = [
            pose(0.2 * place + (0, 0, 0.15) + rng.uniform(-0.01, 0.01, 3), random_rotation(rng))
            for place in places[k :: len(MESHES)]
        ]
        if poses:
            stage.add(name, scaled(MESHES[name], 0.11), poses, spin=rng.normal(size=3), velocity=(0, 0, -speed))
    return stage


@pytest.mark.parametrize("config", [{}, {"d_hat": 0.01}, {"integrator__type": "bdf2"}], ids=["1 mm", "1 cm", "bdf2"])
def test_a_tumbling_heap_never_intersects(config):
    stage = heap(1, **config)
    stage.run(60)
    T, _ = read_state(stage.world)
    assert T[:, 2, 3].max() < 1.0  # what was a tower of 1.1 m has fallen
    # shapes are stiff: no column of A is stretched by more than 1 %
    np.testing.assert_allclose(np.linalg.norm(T[:, :3, :3], axis=1), 1.0, atol=0.01)


def test_a_heap_in_long_steps_never_intersects():
    """dt = 0.03 and 6 m/s: almost a body's width and a half in a step; where Newton is stopped early, too."""
    stage = heap(2, speed=6.0, dt=0.03, newton__max_iter=40)
    stage.run(20)


def wild(seed: int) -> Stage:
    """Anything goes: shapes, steps and ranges, speeds of 30 m/s and more, soft and stiff, light and heavy."""
    rng = np.random.default_rng(seed)
    settings = {
        "dt": float(rng.choice([0.002, 0.01, 0.03])),
        "d_hat": float(rng.choice([1e-4, 1e-3, 1e-2])),
        "newton__max_iter": int(rng.choice([5, 30, 100])),
        "integrator__type": str(rng.choice(["bdf1", "bdf2"])),
    }
    speed, count = float(rng.choice([3, 10, 30])), int(rng.integers(4, 20))
    stage = Stage(gravity=(0, 0, -G), **settings)
    stage.material(float(rng.choice([0, 0.5, 1])), rng.choice([None, 1e8, 1e10]))
    stage.ground()
    cells = rng.permutation([(x, y, z) for x in range(3) for y in range(3) for z in range(3)])[:count]
    shapes = rng.integers(len(MESHES), size=count)
    for k in np.unique(shapes):
        poses = [pose(0.21 * cell + (0, 0, 0.15), random_rotation(rng)) for cell in cells[shapes == k]]
        stage.add(
            f"shape {k}",
            scaled(list(MESHES.values())[k], 0.11),
            poses,
            velocity=speed * rng.normal(size=(len(poses), 3)),
            spin=(0, 0, speed) * rng.normal(size=3),
            density=float(rng.choice([100, 1000, 8000])),
            kappa=float(rng.choice([1e6, 1e8])),
        )
    return stage


@pytest.mark.parametrize("seed", [1, 3, 5, 8, 27, 57, 69, 77, 111])
def test_wild_scenes_never_intersect_even_where_newton_is_stopped_early(seed):
    """No body meets another one, and none is turned inside out, in any state that is accepted."""
    wild(seed).run(10)


@pytest.mark.parametrize("seed", [1220, 1568])
def test_bodies_that_turn_down_the_guess_of_their_neighbours_stay_apart(seed):
    """Boxes that cross each other's ways in long steps: some go on as they did, others next to them stay."""
    rng = np.random.default_rng(seed)
    stage = Stage(gravity=(0, 0, -G), dt=0.03, d_hat=1e-4, newton__max_iter=30)
    stage.ground()
    cells = rng.permutation([(x, y, z) for x in range(3) for y in range(3) for z in range(2)])[:14]
    poses = [pose(0.18 * cell + (0, 0, 0.15), random_rotation(rng)) for cell in cells]
    velocity = 4 * rng.normal(size=(len(poses), 3))
    stage.add("box", scaled(BOX, 0.1), poses, velocity=velocity, spin=(0, 0, 10.0))
    stage.run(4)


def test_a_run_repeats_to_the_last_bit():
    first, second = ([read_state(stage.world) for _ in _frames(stage, 40)] for stage in (heap(3, 12), heap(3, 12)))
    for (T, V), (T_again, V_again) in zip(first, second, strict=True):
        np.testing.assert_array_equal(T, T_again)
        np.testing.assert_array_equal(V, V_again)


def _frames(stage: Stage, frames: int) -> object:
    for _ in range(frames):
        stage.run(1)
        yield None


def test_a_run_resumed_from_a_dump_repeats_to_the_last_bit(tmp_path):
    stage = heap(4, 12)
    world = World(Engine("cpu", tmp_path))
    world.init(stage.scene)
    for frame in range(40):
        world.advance()
        if frame == 20:
            assert world.dump()
    there = read_state(world)
    assert world.recover(21)
    for _ in range(19):
        world.advance()
    again = read_state(world)
    np.testing.assert_array_equal(there[0], again[0])
    np.testing.assert_array_equal(there[1], again[1])


def test_bodies_moved_from_outside_are_seen_where_they_are():
    """A cube is put right above another one by the state accessor: contacts are looked for afresh."""
    stage = Stage(gravity=(0, 0, -G))
    stage.ground()
    stage.add("cubes", scaled(BOX, 0.1), [(0, 0, 0.0509), (3, 0, 0.0509)])
    stage.run(10)
    T, _ = read_state(stage.world)
    T[1] = pose((0.02, 0.01, 0.18))
    write_state(stage.world, T[1:], np.zeros((1, 4, 4)), first=1)
    stage.run(40)
    assert read_state(stage.world)[0][1, 2, 3] == pytest.approx(0.15, abs=3e-3)


def test_a_heap_in_long_steps_converges():
    """Bodies slide while surfaces turn: without inertia added to blocked steps Newton's method stalls in frame 6."""
    rng = np.random.default_rng(1)
    stage = Stage(gravity=(0, 0, -G), dt=0.03)
    stage.ground()
    places = np.array([(x, y, z) for z in range(5) for x in range(2) for y in range(2)])
    for k, name in enumerate(MESHES):
        poses = [
            pose(0.2 * place + (0, 0, 0.15) + rng.uniform(-0.01, 0.01, 3), random_rotation(rng))
            for place in places[k :: len(MESHES)]
        ]
        stage.add(name, scaled(MESHES[name], 0.11), poses, spin=rng.normal(size=3), velocity=(0, 0, -3))
    assert all(stage.run(12, lambda: stage.world.report.converged))


# ---- islands ---------------------------------------------------------------------------------------------------


def islands(stage: Stage) -> list[set[int]]:
    """Groups of bodies that the last Newton iteration stepped together."""
    of = stage.world._simulation.model.islands.of  # type: ignore[union-attr]
    return [set(np.flatnonzero(of == m).tolist()) for m in range(of.max() + 1)]


def test_towers_that_do_not_touch_are_islands_of_their_own():
    stage = Stage(gravity=(0, 0, -G))
    stage.ground()
    cube = scaled(BOX, 0.1)
    poses = [(x, 0, 0.0509 + 0.1009 * k) for x in (0.0, 0.5, 1.0) for k in range(3)]
    stage.add("towers", cube, poses)
    stage.add("base", cube, [(2.0, 0, 0.0509)], fixed=True)
    stage.add("on base", cube, [(1.99, 0.01, 0.1518), (2.02, 0.2, 0.0509)])
    stage.run(20)
    assert islands(stage) == [{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {10}, {11}]


def test_two_bodies_that_only_share_a_fixed_one_do_not_wait_for_each_other():
    stage = Stage(gravity=(0, 0, -G))
    stage.add("table", scaled(BOX, (3, 1, 0.2)), [(0, 0, -0.1)], fixed=True)
    stage.add("cubes", scaled(BOX, 0.1), [(-0.5, 0, 0.0509), (0.5, 0, 0.0509)])
    stage.run(5)
    assert islands(stage) == [{1}, {2}]


def test_a_pile_does_not_notice_another_one_far_away():
    """Each pile alone, and both in one scene: the same motion, up to what Newton's tolerance leaves open."""

    def pile(stage: Stage, name: str, x: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        poses = [pose((x + 0.02 * k, 0, 0.1 + 0.18 * k), random_rotation(rng)) for k in range(3)]
        stage.add(name, scaled(BOX, 0.1), poses)

    alone, both = Stage(gravity=(0, 0, -G)), Stage(gravity=(0, 0, -G))
    for stage in (alone, both):
        stage.ground()
        pile(stage, "here", 0.0, 1)
    pile(both, "there", 50.0, 2)
    for _ in range(25):
        alone.run(1)
        both.run(1)
    ours, theirs = read_state(alone.world)[0], read_state(both.world)[0][:3]
    # 25 steps whose last Newton step may be 1e-3 m/s · dt long, and tumbling bodies that multiply differences
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_a_body_that_hits_a_settled_pile_wakes_it():
    stage = Stage(gravity=(0, 0, -G))
    stage.ground()
    cube = scaled(BOX, 0.1)
    stage.add("pile", cube, [(0, 0, 0.0509), (0, 0, 0.1518)])
    stage.add("ball", cube, [pose((-0.6, 0, 0.16))], velocity=(6, 0, 0.5))
    stage.run(30)
    assert read_state(stage.world)[0][1, 0, 3] > 0.05
