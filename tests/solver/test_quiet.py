"""Steps in one call have the bits of the general way, and are given up where they have to be."""

from __future__ import annotations

import numpy as np
import pytest
from scenes import add_chain, new_scene

from dovetail import Engine, Sim, World
from dovetail.kernel.kernel import jit_enabled
from dovetail.solver.course import take

pytestmark = pytest.mark.skipif(not jit_enabled, reason="steps in one call are for compiled kernels")


def arm(**options):
    """Six links with drives and limits, above a ground."""
    sim = Sim(**options)
    sim.ground()
    below = None
    for k in range(6):
        link = sim.box((0.3, 0.05, 0.05), pos=(0.3 * k + 0.15, 0.0, 2.0))
        axis = (0, 1, 0) if k % 2 == 0 else (0, 0, 1)
        sim.revolute(below, link, pos=(0.3 * k, 0.0, 2.0), axis=axis, limit=(-3.0, 3.0), drive=0.2)
        below = link
    return started(sim)


def pendulum(**options):
    """Three links that swing past nothing, and then onto the ground, which ends it."""
    sim = Sim(**options)
    sim.ground()
    below = None
    for k in range(3):
        link = sim.box((0.2, 0.04, 0.04), pos=(0.1 + 0.2 * k, 0.0, 0.4))
        sim.revolute(below, link, pos=(0.2 * k, 0.0, 0.4), axis=(0, 1, 0))
        below = link
    return started(sim)


def started(sim):
    sim.step()
    return sim.world


def chain(integrator, path):
    scene = new_scene(**{"integrator/type": integrator, "contact/enable": 0})
    add_chain(scene, 6)
    world = World(Engine(workspace=path))
    world.init(scene)
    return world


SCENES = {
    "penalty chain, bdf1": lambda path: chain("bdf1", path),
    "penalty chain, bdf2": lambda path: chain("bdf2", path),
    "driven arm": lambda path: arm(),
    "driven arm, bdf1": lambda path: arm(integrator="bdf1"),
    "driven arm, no contact": lambda path: arm(contact=False),
    "pendulum onto the ground": lambda path: pendulum(),
}


def simulation(world):
    return world._simulation


def watched(world):
    """Results of quiet steps of a world, as they come: whole ones, and Newton's method alone."""
    quiet, found = simulation(world).model.quiet, []

    def telling(ask):
        def told(*args):
            found.append(ask(*args))
            return found[-1]

        return told

    quiet.step, quiet.minimise = telling(quiet.step), telling(quiet.minimise)
    return found


@pytest.mark.parametrize("scene", SCENES)
def test_the_bits_are_those_of_the_general_way(scene, tmp_path):
    one, other = SCENES[scene](str(tmp_path / "one")), SCENES[scene](str(tmp_path / "other"))
    found = watched(one)
    simulation(other).model.quiet.is_possible = False
    reports = []
    for _ in range(60):
        one.advance()
        other.advance()
        reports.append(one.report)
        assert one.report == other.report
        for name, array in simulation(one).arrays().items():
            np.testing.assert_array_equal(array, simulation(other).arrays()[name], err_msg=name)
    taken = sum(step is not None for step in found)
    assert taken >= (10 if "onto" in scene else 50)
    if "onto" in scene:  # it lies on the ground in the end, where no step is quiet
        assert any(report.contacts for report in reports)
        assert found[-1] is None


def test_changes_between_steps_are_seen(tmp_path):
    """The length of steps, a force, a state that is written, a target: what was bound is bound anew."""
    worlds = [arm(), arm()]
    simulation(worlds[1]).model.quiet.is_possible = False
    found = watched(worlds[0])
    for k in range(60):
        for world in worlds:
            if k == 10:
                world.scene.config["dt"] = 0.004
            if k == 20:
                world.scene.config["dt"] = 0.01
            if k == 40:
                state = simulation(world).state
                simulation(world).write_state("test", np.array([2]), None, state.V[[2]] + 0.1)
            world.advance()
        a, b = (simulation(world).arrays() for world in worlds)
        for name in a:
            np.testing.assert_array_equal(a[name], b[name], err_msg=f"{name}, step {k}")
    assert sum(step is not None for step in found) > 40


def test_steps_go_on_while_the_program_is_compiled(monkeypatch):
    """By another process: as long as that is so, no step is quiet, and none differs."""
    one, other = arm(contact=False), arm(contact=False)
    found = watched(one)
    for k in range(6):
        monkeypatch.setattr(take, "awaited", lambda: k < 3)  # noqa: B023
        one.advance()
        monkeypatch.setattr(take, "awaited", None)
        other.advance()
        for name, array in simulation(one).arrays().items():
            np.testing.assert_array_equal(array, simulation(other).arrays()[name], err_msg=name)
        if k == 2:
            assert found and all(step is None for step in found)
    assert found[-1] is not None
