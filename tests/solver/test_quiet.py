"""Steps in one call have the bits of the general way, and are given up where they have to be."""

from __future__ import annotations

import numpy as np
import pytest
from scenes import add_chain, new_scene

from dovetail import Engine, Sim, World
from dovetail.kernel.bounds import CHECKED
from dovetail.kernel.kernel import jit_enabled, kernel
from dovetail.kernel.program import Program
from dovetail.solver.course import take

pytestmark = pytest.mark.skipif(not jit_enabled, reason="steps in one call are for compiled kernels")


def arm(armature=0.0, **options):
    """Six links with drives and limits, above a ground."""
    sim = Sim(**options)
    sim.ground()
    below = None
    for k in range(6):
        link = sim.box((0.3, 0.05, 0.05), pos=(0.3 * k + 0.15, 0.0, 2.0))
        axis = (0, 1, 0) if k % 2 == 0 else (0, 0, 1)
        hinge = sim.revolute(below, link, pos=(0.3 * k, 0.0, 2.0), axis=axis, limit=(-3.0, 3.0), drive=0.2)
        if armature:
            hinge.armature = armature
        below = link
    return started(sim)


def pendulum(push=False, **options):
    """Three links that swing past nothing, and then onto the ground, which ends it."""
    sim = Sim(**options)
    sim.ground()
    below = None
    for k in range(3):
        link = sim.box((0.2, 0.04, 0.04), pos=(0.1 + 0.2 * k, 0.0, 0.4))
        sim.revolute(below, link, pos=(0.2 * k, 0.0, 0.4), axis=(0, 1, 0))
        below = link
    return started(sim, push)


def gripper(gap=0.02, push=False, **options):
    """A driven hand; of two fingers the second follows the first: blocks with sliders and a combined row.

    A thumb goes away from them: where it begins in touch, its blocks with the fingers are kept for twenty steps.
    """
    sim = Sim(**options)
    sim.ground()
    hand = sim.box((0.3, 0.05, 0.05), pos=(0.15, 0.0, 1.0))
    sim.revolute(None, hand, pos=(0.0, 0.0, 1.0), axis=(0, 1, 0), drive=0.2)
    thumb = sim.box((0.1, 0.06, 0.02), pos=(0.4, 0.0, 1.02 + gap))
    sim.prismatic(hand, thumb, pos=(0.3, 0.0, 1.0), axis=(0, 0, 1), drive=0.03)
    first, second = (
        sim.prismatic(hand, sim.box((0.1, 0.01, 0.02), pos=(0.4, 0.02 * y, 1.0)), pos=(0.3, 0.0, 1.0), axis=(0, y, 0))
        for y in (-1, 1)
    )
    first.drive.target = 0.02
    sim.couple(second, first, 1.0)
    return started(sim, push)


def cart(**options):
    """A pendulum on a cart: a sweep with a slider, which steps that turn it leave open."""
    sim = Sim(**options)
    sim.ground()
    body, bob = sim.box((0.2, 0.1, 0.1), pos=(0.0, 0.0, 2.0)), sim.box((0.05, 0.05, 0.6), pos=(0.2, 0.0, 1.6))
    sim.prismatic(None, body, pos=(0.0, 0.0, 2.0), axis=(1, 0, 0))
    sim.revolute(body, bob, pos=(0.0, 0.0, 1.9), axis=(0, 1, 0))
    return started(sim)


def loop(**options):
    """Four bars that fall: a loop, in blocks."""
    sim = Sim(**options)
    sim.ground()
    bars = [
        sim.box((0.05, 0.05, 0.4), pos=(0.1, 0.0, 2.25)),
        sim.box((1.0, 0.05, 0.05), pos=(0.7, 0.1, 2.5)),
        sim.box((0.05, 0.05, 0.4), pos=(1.1, 0.0, 2.25)),
    ]
    for left, right, x, z in ((None, 0, 0.0, 2.0), (0, 1, 0.2, 2.5), (1, 2, 1.2, 2.5), (None, 2, 1.0, 2.0)):
        sim.revolute(None if left is None else bars[left], bars[right], pos=(x, 0.0, z), axis=(0, 1, 0))
    return started(sim)


def started(sim, push=False):
    """The world of a simulation after a step; `push` it: the last body and the first joint, most of the time."""

    def change():
        sim.bodies[-1].force = (0.0, np.sin(sim.frame), 0.0) if sim.frame % 9 else (0.0, 0.0, 0.0)
        sim.joints[0].torque = 0.02 * np.cos(sim.frame) if sim.frame % 7 else 0.0

    if push:
        sim.before_step(change)
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
    "driven arm with rotors": lambda path: arm(0.1),
    "driven arm with rotors, bdf2": lambda path: arm(0.1, integrator="bdf2", contact=False),
    "pendulum onto the ground": lambda path: pendulum(),
    "gripper": lambda path: gripper(),
    "cart, no contact": lambda path: cart(contact=False),
    "loop": lambda path: loop(contact=False),
    "gripper in touch at first": lambda path: gripper(0.0004),
    "gripper, pushed": lambda path: gripper(push=True),
    "pendulum, pushed": lambda path: pendulum(push=True, contact=False),
    "pendulum, pushed, bdf1": lambda path: pendulum(push=True, contact=False, integrator="bdf1"),
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
    if "onto" not in scene:
        assert 2 * len(reports) - len(found) >= 50  # whole steps: of the others Newton's method is asked for, too
    else:  # it lies on the ground in the end, where no step is quiet
        assert sum(step is not None for step in found) >= 10
        assert any(report.contacts for report in reports)
        assert found[-1] is None


def test_what_moves_well_above_the_ground_is_taken_in_one_call():
    """Its budgets of motion end before the ground, so that nothing of it is a candidate, and looks are few."""
    sim = Sim()
    sim.ground()
    below, hinges = None, []
    for k in range(3):
        link = sim.box((0.2, 0.05, 0.05), pos=(0.2 * k + 0.1, 0.0, 0.3))
        hinges.append(sim.revolute(below, link, pos=(0.2 * k, 0.0, 0.3), axis=(0, 0, 1), drive=0.0))
        below = link
    robot = sim.mechanism(*hinges)
    sim.before_step(lambda: setattr(robot, "target", np.full(3, 0.5 * np.sin(3.0 * sim.time))))
    sim.step(20)  # drives take some to follow, and budgets to grow
    found, reports = watched(sim.world), []
    for _ in range(80):
        sim.step()
        reports.append(sim.world.report)
    assert len(found) == 80 and all(step is not None for step in found)
    assert {report.candidates for report in reports} == {0}
    assert sum(report.detections for report in reports) <= 16  # a fifth; it moves by millimetres, 0.3 m above it


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


@kernel
def refuse():
    raise ValueError("no")


@pytest.mark.skipif(CHECKED, reason="where bounds are checked, a kernel that fails is an error at once")
@pytest.mark.parametrize("part", ["course", "descent"])
def test_a_kernel_that_fails_leaves_the_step_to_the_general_way(part):
    """Which would raise what there is to be raised."""
    worlds = [arm(contact=False), arm(contact=False)]
    quiet, program = simulation(worlds[0]).model.quiet, Program()
    for world in worlds:
        world.advance()
    place = program.add(refuse)
    made = quiet._course if part == "course" else quiet._descent
    at = made.commit if part == "course" else made.at_start
    kept, failing = made.words[at : at + 2].copy(), program.words()[place : place + 2]
    found = watched(worlds[0])
    for words in (failing, kept):
        made.words[at : at + 2] = words
        if part == "course":
            made.words[made.other : made.other + 2] = words
        for world in worlds:
            world.advance()
        for name, array in simulation(worlds[0]).arrays().items():
            np.testing.assert_array_equal(array, simulation(worlds[1]).arrays()[name], err_msg=name)
    assert [step is not None for step in found] == [False, False, True]


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
