"""Steps of many worlds in one call: who takes part, who falls back, and that nobody could tell by the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from world_machines import Y, alone, arm, chain, mixed, require_equal

from dovetail import Sim, Worlds
from dovetail.errors import ConstitutionError, SolverError
from dovetail.kernel import threads as pool
from dovetail.kernel.team import _SHARES as SHARES
from dovetail.solver.march import CHANGED, GIVEN_UP, STRAINED
from dovetail.world import marcher
from dovetail.world.attribute_writer import AttributeWriter
from dovetail.world.marcher import Marcher
from dovetail.world.push import AffineBodyPushFeature


def table(sim, rng):
    """A plate that stands on two legs."""
    sim.ground()
    plate = sim.box((0.5, 0.3, 0.05), pos=(0, 0, 0.26), mass=rng.uniform(2.0, 3.0))
    for x in (-0.2, 0.2):
        leg = sim.box((0.04, 0.3, 0.2), pos=(x, 0, 0.111), mass=0.5)
        sim.revolute(plate, leg, pos=(x, 0, 0.22), axis=Y, drive=0.0)


def taking_part(worlds):
    return [sim.world.marcher.march is not None for sim in worlds]


@pytest.mark.parametrize(("build", "contact"), [(chain, False), (arm, True)])
def test_marches_of_any_length_leave_everything_as_single_steps_do(build, contact):
    worlds = Worlds(build, 5, threads=2, contact=contact)
    worlds.step(3)
    assert all(taking_part(worlds))
    for steps in (1, 7, 30):
        worlds.step(steps)
    for number in (0, 4):
        sim = alone(build, number, contact=contact)
        for _ in range(41):
            sim.step()
        require_equal(worlds[number], sim)


def test_two_threads_share_worlds_that_march():
    worlds = Worlds(chain, 40, threads=2, contact=False)
    worlds.step(2)
    assert all(taking_part(worlds))

    worlds.step(5)
    assert pool._team.words[0][SHARES] == 2  # whether the other one has found a processor is up to the machine
    assert not worlds.failed


def test_worlds_that_come_to_touch_fall_back_one_by_one_and_the_others_march_on():
    worlds = Worlds(mixed, 6)
    worlds.step(10)
    assert all(taking_part(worlds))
    worlds.step(42)
    touching = [len(contacts) > 0 for contacts in worlds.contacts]
    assert any(touching) and not all(touching)
    assert not np.any(np.array(touching) & taking_part(worlds))
    for number in (touching.index(True), touching.index(False)):
        sim = alone(mixed, number)
        sim.step(52)
        require_equal(worlds[number], sim)


def test_a_step_that_is_given_up_in_the_middle_of_a_march_is_taken_by_itself(monkeypatch):
    reasons, goes_on = [], Marcher.goes_on
    monkeypatch.setattr(Marcher, "goes_on", lambda self, why: (reasons.append(why), goes_on(self, why))[1])
    worlds = Worlds(arm, 2)
    worlds.step(4)
    worlds.target = 1.0
    worlds.step(30)  # budgets of motion are used up on the way
    assert CHANGED in reasons and GIVEN_UP in reasons
    sim = alone(arm, 1)
    sim.step(4)
    sim.mechanism().target = np.ones(3)
    sim.step(30)
    require_equal(worlds[1], sim)


def test_targets_of_every_step_are_followed_as_alone():
    worlds, sim = Worlds(arm, 3), alone(arm, 2)
    mechanism = sim.mechanism()
    for k in range(12):
        mechanism.target = worlds.target = np.full(3, 0.02 * (k // 2))
        if k == 6:
            mechanism.coordinates[1].drive.damping = worlds.mechanisms[2].coordinates[1].drive.damping = 3.0
        worlds.step()
        sim.step()
        require_equal(worlds[2], sim)
    assert all(taking_part(worlds))


def test_machines_that_stand_march_and_what_is_read_and_done_in_between_is_as_alone():
    worlds, sim = Worlds(table, 3, threads=2), alone(table, 1)
    sim.world._simulation.model.still.is_possible = False  # the general way
    for steps in (30, 1, 7, 33):
        worlds.step(steps)
        sim.step(steps)
        require_equal(worlds[1], sim)
        rubbed = worlds[1].contacts.friction_force
        assert np.abs(rubbed).max() > 0.0 and np.array_equal(rubbed, sim.contacts.friction_force)
        assert worlds[1].world.energies() == sim.world.energies()
    assert all(taking_part(worlds))
    for change in (
        lambda one: setattr(one.bodies[0], "velocity", (0, 0, 0.2)),
        lambda one: setattr(one.joints[0], "torque", 0.5),
        lambda one: setattr(one.joints[0], "torque", 0.0),
        lambda one: setattr(one.joints[1].drive, "target", 0.02),
        lambda one: pushing(one).set([one.bodies[0].number], [[0, 0, -1e-6]], [[0, 0, 0]]),
        lambda one: pushing(one).clear(),
        look_elsewhere,
        lambda one: one.reset(),
    ):
        for one in (worlds[1], sim):
            change(one)
        worlds.step(28)
        sim.step(28)
        require_equal(worlds[1], sim)
    assert all(taking_part(worlds))


def pushing(sim):
    return sim.world.features().find(AffineBodyPushFeature)


def look_elsewhere(sim):
    """Have contacts be looked for in another state, which is hardly another one."""
    simulation = sim.world._simulation
    Q = simulation.state.Q + np.eye(4)[0][:, None] * (0.0, 0.0, 1e-9)
    simulation.contact.survey(Q, simulation.state.Q, simulation.dt)


def test_attributes_that_move_while_another_world_joins_are_found_again(monkeypatch):
    """A march knows where attributes lie. One that moves while another world steps and joins is found."""
    worlds, sim, shared, step = Worlds(arm, 2), alone(arm, 0), [], Sim.step
    worlds.step(3)
    worlds[1].state = worlds[1].state  # so that its next step is its own

    def while_it_steps(self):
        if self is worlds[1] and not shared:
            hinge = worlds[0].joints[0]
            shared.append(hinge.slot.geometry.clone())
            hinge.drive.target = 0.3  # into memory of its own
        step(self)

    monkeypatch.setattr(Sim, "step", while_it_steps)
    worlds.step()
    monkeypatch.undo()
    assert shared and all(taking_part(worlds))
    worlds.step(5)
    sim.step(4)
    sim.joints[0].drive.target = 0.3
    sim.step(5)
    require_equal(worlds[0], sim)


def test_what_happens_to_one_world_between_steps_ends_its_march_and_nothing_is_lost():
    worlds, sim = Worlds(chain, 3, contact=False), alone(chain, 1, contact=False)
    worlds.step(4)
    sim.step(4)
    for one in (worlds[1], sim):
        one.state = one.home
        one.step(2)
        one.dt = 0.005
    worlds.step(3)
    sim.step(3)
    require_equal(worlds[1], sim)
    for one in (worlds[1], sim):
        one.bodies[0].velocity = (0, 0, 0)
        one.joints[2].torque = 0.01
    worlds.step(3)
    sim.step(3)
    require_equal(worlds[1], sim)
    assert all(taking_part(worlds))
    sim.box((0.1, 0.1, 0.1), pos=(0, 3, 0), mass=1.0)
    worlds[1].box((0.1, 0.1, 0.1), pos=(0, 3, 0), mass=1.0)
    worlds.step(2)
    sim.step(2)
    assert np.array_equal(sim.state.arrays["state/Q"], worlds[1].state.arrays["state/Q"])


def test_callbacks_and_recordings_are_served_in_every_step(tmp_path):
    worlds, calls = Worlds(chain, 2, contact=False), []
    worlds.step(3)
    worlds[0].before_step(lambda: calls.append(worlds[0].frame))
    worlds.step(4)
    assert calls == [3, 4, 5, 6] and worlds.frame.tolist() == [7, 7]
    with worlds[1].record(tmp_path / "one.dovetail"):
        worlds.step(3)
    assert worlds.frame.tolist() == [10, 10]


def test_a_world_that_fails_is_frozen_and_the_others_march_on(monkeypatch):
    worlds = Worlds(chain, 4, contact=False)
    worlds.step(3)
    worlds[2].bodies[0].velocity = (0, 0, 1.0)
    before = worlds[2].state.arrays["state/Q"].copy()

    def fails(*_):
        raise SolverError("no")

    monkeypatch.setattr(worlds[2].world._simulation.model.directions, "prepare", fails)
    worlds.step(5)
    assert list(worlds.failed) == [2] and worlds.frame.tolist() == [8, 8, 3, 8]
    assert np.array_equal(worlds[2].state.arrays["state/Q"], before)


def test_a_bad_target_is_refused_as_alone_and_can_be_corrected():
    worlds = Worlds(arm, 2)
    worlds.step(4)
    at = worlds.mechanisms[1].coordinates[0]
    writer = AttributeWriter()
    where = writer.ask([at.joint.attributes], at.named("drive/target"))
    writer.put(where, np.array([np.nan]))
    writer.write()
    with pytest.raises(ConstitutionError, match="give a finite number"):
        worlds.step()
    assert worlds[1].frame == 4
    writer.put(where, np.array([0.0]))
    writer.write()
    worlds.step()
    assert worlds[1].frame == 5


def test_bodies_are_looked_at_for_strain_in_the_same_frames_as_alone(monkeypatch):
    reasons, frames, goes_on = [], [], Marcher.goes_on
    monkeypatch.setattr(Marcher, "goes_on", lambda self, why: (reasons.append(why), goes_on(self, why))[1])
    monkeypatch.setattr(marcher, "_NEARLY", 0.0)  # as if all were strained
    worlds = Worlds(chain, 1, contact=False)
    worlds.step(60)
    watch = worlds[0].world.marcher._strain
    monkeypatch.setattr(watch, "look", lambda frame, Q: frames.append(frame))
    worlds.step(80)
    assert reasons == [STRAINED] * 2 and frames == [64, 128] and worlds.frame.tolist() == [140]
