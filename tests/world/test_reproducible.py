"""The same scene gives the same numbers: run after run, compiled or not, in whatever order bodies were added."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scenes import add_boxes, mixed_scene, new_scene, rate, read_state, run, small_scene

import dovetail
from dovetail import Scene, World
from dovetail.constitution import AffineBodySphericalJoint
from dovetail.kernel.kernel import jit_enabled

TESTS = Path(__file__).parents[1]
FRAMES = 5
SCRIPT = """
import json, sys, tempfile
import scenes
from dovetail import Engine, World
world = World(Engine("cpu", tempfile.mkdtemp()))
world.init(getattr(scenes, sys.argv[1])())
scenes.run(world, int(sys.argv[2]))
print(json.dumps([part.ravel().tolist() for part in scenes.read_state(world)]))
"""


def numbers(world: World) -> np.ndarray:
    return np.array([part.ravel() for part in read_state(world)])


def in_a_fresh_process(scene: Callable[[], Scene], **environment: str) -> tuple[np.ndarray, str]:
    """Numbers of a scene (JSON carries every bit of a double), and what was written to stderr."""
    paths = os.pathsep.join([str(Path(dovetail.__file__).parents[1]), str(TESTS)])
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT, scene.__name__, str(FRAMES)],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return np.array(json.loads(found.stdout)), found.stderr


def test_runs_in_one_process_are_bit_identical(start):
    found = []
    for _ in range(2):
        world = start(mixed_scene())
        run(world, 3 * FRAMES)
        found.append(numbers(world))
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.long
@pytest.mark.skipif(not jit_enabled, reason="nothing is compiled")
def test_a_run_that_compiles_says_so_and_gives_the_same_bits_as_one_that_does_not(start, tmp_path):
    """Kernels must not depend on whether, and in which order, they came from the cache."""
    cold, told = in_a_fresh_process(small_scene, DOVETAIL_CACHE_DIR=str(tmp_path / "cache"))
    assert told == "dovetail: compiling kernels (first run only) …\n"
    warm, silent = in_a_fresh_process(small_scene, DOVETAIL_CACHE_DIR=str(tmp_path / "cache"))
    assert silent == ""
    world = start(small_scene())
    run(world, FRAMES)
    assert cold.tobytes() == warm.tobytes() == numbers(world).tobytes()


def test_without_the_compiler_the_same_scene_runs_as_plain_python(start):
    plain, told = in_a_fresh_process(mixed_scene, NUMBA_DISABLE_JIT="1")
    assert told == ""
    world = start(mixed_scene())
    run(world, FRAMES)
    here = numbers(world)
    # vector code sums in another order: round-off, times 1/h in velocities and times the stiffness of joints
    np.testing.assert_allclose(plain[0], here[0], atol=1e-12)
    np.testing.assert_allclose(plain[1], here[1], atol=1e-9)


def test_bodies_that_do_not_touch_do_not_change_each_others_bits(start):
    """Islands: the box of the mixed scene moves as if it were alone."""
    crowd, alone = start(mixed_scene()), new_scene()
    add_boxes(alone, [(0, 3, 0)], velocities=[rate(np.eye(4), (1, 2, 3), (4, 5, 6))])
    single = start(alone)
    run(crowd, 10)
    run(single, 10)
    for left, right in zip(read_state(crowd), read_state(single), strict=True):
        assert left[0].tobytes() == right[0].tobytes()


def test_the_order_of_bodies_matters_only_to_round_off(start):
    """A ring of five boxes on ball joints, each added as an object of its own in different orders."""
    found = []
    angles = np.arange(5) * 2 * np.pi / 5
    for order in ([0, 1, 2, 3, 4], [3, 0, 4, 2, 1], [4, 3, 2, 1, 0]):
        scene = new_scene()
        boxes = {
            k: add_boxes(
                scene, [(np.cos(angles[k]), np.sin(angles[k]), 0.1 * k)], name=str(k),
                velocities=[rate(np.eye(4), (0, 0, k), (1, 0, 0))],
            )
            for k in order
        }  # fmt: skip
        for k in order:
            middle = angles[k] + np.pi / 5
            joint = AffineBodySphericalJoint().create_geometry(
                [[np.cos(middle), np.sin(middle), 0]], [boxes[k]], [0], [boxes[(k + 1) % 5]], [0], [100.0]
            )
            scene.objects.create(f"joint {k}").geometries.create(joint)
        run(start(scene), 20)
        found.append(np.array([boxes[k].geometry.transforms.values[0] for k in range(5)]))
    # 1e-16 amplified by the stiffness of shapes over inertia, 1e4, in each of 20 steps
    np.testing.assert_allclose(found[1], found[0], atol=1e-11)
    np.testing.assert_allclose(found[2], found[0], atol=1e-11)
