"""Steps that do not end well: callbacks that raise, Newton that stalls, an interrupt. The last good frame stays."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scenes import add_boxes, add_chain, new_scene, rate, read_state, run

from dovetail import Scene, World
from dovetail.errors import AnimationError, NewtonStalled
from dovetail.solver.directions import Directions


def stiff(**config: object) -> Scene:
    """A chain that whips around: one Newton iteration is not enough for it."""
    scene = new_scene(dt=0.05, **config)
    add_chain(scene, 5)
    return scene


def assert_state(world: World, expected: tuple[np.ndarray, np.ndarray]) -> None:
    for left, right in zip(read_state(world), expected, strict=True):
        np.testing.assert_array_equal(left, right)


def test_an_exception_in_a_callback_names_the_object_and_undoes_the_frame(start):
    scene = new_scene()
    add_boxes(scene, name="crane", velocities=[rate(np.eye(4), (1, 0, 0), (0, 1, 0))])
    crane = scene.objects.find("crane")[0]

    def move(info) -> None:
        if info.frame() == 4:
            raise ZeroDivisionError("no load")

    scene.animator.insert(crane, move)
    world = start(scene)
    run(world, 3)
    before = read_state(world)
    with pytest.raises(
        AnimationError, match="animation of object 'crane' failed in frame 4: ZeroDivisionError: no load"
    ):
        world.advance()
    assert world.frame() == 3
    assert_state(world, before)
    assert "crane" in world.engine.status().to_json()[-1]["what"]
    scene.animator.erase(crane.id())
    run(world, 1)
    assert world.frame() == 4


def test_in_strict_mode_a_stalled_step_raises_and_keeps_the_last_frame(start):
    world = start(stiff(newton__max_iter=1, extras__strict_mode__enable=1))
    before = read_state(world)
    with pytest.raises(NewtonStalled) as failure:
        for _ in range(20):
            before = read_state(world)
            world.advance()
    frame = world.frame() + 1
    text = str(failure.value)
    assert text.startswith(f"World.advance: frame {frame}: Newton stopped after 1 iterations")
    assert "tolerance 0.001 m/s · dt" in text and "Try a smaller dt or a larger newton/max_iter" in text
    assert_state(world, before)
    assert world.engine.status().to_json()[-1] == {"type": "error", "what": text}


def test_otherwise_it_warns_and_takes_the_last_iterate(start, caplog):
    world = start(stiff(newton__max_iter=1))
    with caplog.at_level(logging.WARNING, "dovetail"):
        run(world, 5)
    assert world.frame() == 5
    assert any("Newton stopped after 1 iterations" in record.getMessage() for record in caplog.records)
    assert not all(np.allclose(T, np.eye(4)) for T in read_state(world)[0])
    assert not world.report.converged


def test_with_enough_iterations_the_same_scene_converges(start, caplog):
    world = start(stiff(extras__strict_mode__enable=1))
    with caplog.at_level(logging.WARNING, "dovetail"):
        for _ in range(20):
            world.advance()
            assert world.report.converged
            # the last step may be ten tolerances long if the next one is predicted to be far shorter
            assert world.report.step <= 10 * 1e-3 * 0.05 and world.report.rate <= 10 * 1e-2 * 0.05
    assert not caplog.records


def test_min_iter_asks_for_more_iterations(start):
    scene = new_scene(newton__min_iter=4)
    add_boxes(scene)
    world = start(scene)
    world.advance()
    assert world.report.iterations == 5


@pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])
def test_an_interrupt_in_the_middle_of_a_step_undoes_it(integrator, start, monkeypatch):
    """The step length changes in the interrupted frame, so that also the past of a two-step method is at stake."""
    worlds = []
    for _ in range(2):
        scene = stiff(integrator__type=integrator)
        worlds.append((scene, start(scene)))
        run(worlds[-1][1], 4)
        scene.config["dt"] = 0.02
    (_, interrupted), (_, undisturbed) = worlds
    before = read_state(interrupted)
    interrupted._simulation.model.quiet.is_possible = False  # compiled code is not interrupted
    original, calls = Directions.newton, []

    def newton(self, *given) -> np.ndarray:
        calls.append(1)
        found = original(self, *given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(Directions, "newton", newton)
    with pytest.raises(KeyboardInterrupt):
        interrupted.advance()
    monkeypatch.undo()
    assert interrupted.frame() == 4 and interrupted.is_valid()
    assert_state(interrupted, before)
    run(interrupted, 6)
    run(undisturbed, 6)
    assert_state(interrupted, read_state(undisturbed))


def test_a_body_flattened_along_one_axis_springs_back(start):
    """The shape energy is concave there; the Hessian must be made safe, not the user be told it is singular."""
    for potential in ("OrthoPotential", "ARAP"):
        scene = new_scene(extras__strict_mode__enable=1, gravity=[0, 0, 0])
        add_boxes(scene, [np.diag([0.2, 1, 1, 1]), np.diag([1, 0.05, 0.3, 1])], potential=potential)
        world = start(scene)
        run(world, 5)
        for T in read_state(world)[0]:
            np.testing.assert_allclose(np.linalg.svd(T[:3, :3])[1], 1.0, atol=1e-3)  # implicit Euler damps the rest
