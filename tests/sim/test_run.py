"""Running a Sim: loops, progress, states, recordings, energies, callbacks."""

from __future__ import annotations

import gc
import logging

import numpy as np
import pytest

from dovetail import Sim
from dovetail.errors import AnimationError, RecordingError, SceneError, WorldError
from dovetail.io import Recording
from dovetail.world.world_state import WorldState


def pendulum(**options):
    sim = Sim(**{"dt": 0.01, "contact": False, **options})
    rod = sim.box((0.6, 0.05, 0.05), pos=(0.3, 0, 1), name="rod")
    hinge = sim.revolute(None, rod, pos=(0, 0, 1), axis=(0, 1, 0), name="hinge")
    return sim, rod, hinge


def test_a_run_computes_a_step_each_time_round():
    sim, _, hinge = pendulum()
    angles = [hinge.angle for frame in sim.run(5) if frame]
    assert sim.frame == 5 and sorted(set(angles)) == angles and angles[0] > 0
    for frame in sim.run():
        if frame == 8:
            break
    assert sim.frame == 8


def test_a_run_that_nobody_loops_over_warns(caplog):
    sim, *_ = pendulum()
    with caplog.at_level(logging.WARNING, logger="dovetail"):
        sim.run(100)
        gc.collect()
    assert "Sim.run(100): nothing was computed" in caplog.text and "sim.step(100)" in caplog.text


def test_progress_shows_pace_iterations_and_gap(capsys):
    sim, *_ = pendulum()
    assert len(list(sim.run(20, progress=True))) == 20
    shown = capsys.readouterr().out
    assert "20/20" in shown and "steps/s" in shown and "iterations" in shown and "gap" in shown


def test_the_time_step_may_change_and_time_adds_up():
    sim, *_ = pendulum()
    sim.step(3)
    sim.dt = 0.005
    sim.step(2)
    assert np.isclose(sim.time, 0.04) and sim.dt == 0.005


def test_a_state_brings_everything_back_bit_for_bit(tmp_path):
    sim, rod, hinge = pendulum()
    sim.step(5)
    before, time = sim.state, sim.time
    sim.save(tmp_path / "five.state")
    sim.step(5)
    after, angle = rod.transform, hinge.angle
    sim.state = before
    assert (sim.frame, sim.time) == (5, time)
    assert hinge.angle < angle
    sim.step(5)
    np.testing.assert_array_equal(rod.transform, after)
    sim.load(tmp_path / "five.state")
    assert (sim.frame, sim.time) == (5, time)
    sim.step(5)
    np.testing.assert_array_equal(rod.transform, after)
    fresh, rod, _ = pendulum()
    fresh.load(tmp_path / "five.state")
    fresh.step(5)
    np.testing.assert_array_equal(rod.transform, after)


def test_states_of_others_and_damaged_files_are_refused(tmp_path):
    sim, *_ = pendulum()
    other = Sim()
    other.box(1)
    with pytest.raises(WorldError, match="of another scene"):
        sim.state = other.state
    sim.save(tmp_path / "a.state")
    content = (tmp_path / "a.state").read_bytes()
    (tmp_path / "a.state").write_bytes(content[:-200])
    with pytest.raises(WorldError, match=r"a.state' is damaged or not a saved state"):
        sim.load(tmp_path / "a.state")
    with pytest.raises(WorldError, match=r"cannot read .*No such file"):
        sim.load(tmp_path / "b.state")
    with pytest.raises(WorldError, match=r"cannot write .*the folder does not exist"):
        sim.save(tmp_path / "no" / "a.state")
    wrong = sim.state
    arrays = {**wrong.arrays, "time": np.zeros(3)}
    with pytest.raises(WorldError, match="holds other arrays"):
        sim.state = WorldState(wrong.frame, wrong.scene, arrays)


def test_a_recording_asked_for_early_begins_with_the_start(tmp_path):
    sim, *_ = pendulum()
    recording = sim.record(tmp_path / "run.dove")
    sim.box(0.1, pos=(0, 0, 3))  # things may still be added
    assert not (tmp_path / "run.dove").exists()
    sim.step(3)
    recording.close()
    sim.step(3)
    found = Recording(tmp_path / "run.dove")
    assert found.frames.tolist() == [0, 1, 2, 3]
    assert {body.name for body in found.bodies} == {"rod", "box 1", "world"}
    assert np.isclose(found.times[-1], 0.03)


def test_a_recording_of_a_part_holds_that_part(tmp_path):
    sim, _, hinge = pendulum()
    sim.step(2)
    with sim.record(tmp_path / "part.dove", every=2):
        sim.step(4)
        angle = hinge.angle
    sim.step()
    found = Recording(tmp_path / "part.dove")
    assert found.frames.tolist() == [2, 4, 6]
    assert found.history("hinge", "angle/multi_turn")[-1] == angle
    with pytest.raises(RecordingError, match="exists already"):
        sim.record(tmp_path / "part.dove")
    sim.record(tmp_path / "part.dove", overwrite=True).close()
    assert len(Recording(tmp_path / "part.dove")) == 1


def test_energy_has_parts_and_sums():
    sim, rod, _ = pendulum(integrator="bdf2", dt=0.002)
    start = sim.energy
    assert start.kinetic == 0 and np.isclose(start["gravity"], rod.mass * 9.81)
    sim.step(100)
    now = sim.energy
    assert now.kinetic > 0.5
    assert now.total == now.kinetic + now.potential
    # bdf2 at ωh < 0.02 loses parts of 1e-4 of what moves
    assert abs(now.total - start.total) < 1e-3 * now.kinetic


def test_a_function_before_each_step_steers_whoever_runs():
    sim, _, hinge = pendulum()
    seen = []

    @sim.before_step
    def control():
        seen.append(hinge.angle)
        hinge.torque = -50 * hinge.angle - 5 * hinge.velocity

    sim.step(50)
    sim.world.advance()
    assert len(seen) == 51 and abs(hinge.angle) < 0.5
    assert callable(control)


def test_an_error_in_a_function_before_a_step_reaches_the_user():
    sim, *_ = pendulum()
    sim.before_step(lambda: 1 / 0)
    with pytest.raises(AnimationError, match=r"before_step 1.*ZeroDivisionError"):
        sim.step()


def test_overlapping_bodies_are_refused_by_name_and_can_be_moved_apart():
    sim = Sim()
    sim.box(0.2, name="left box")
    right = sim.box(0.2, pos=(0.1, 0.01, 0.02), name="right box")
    with pytest.raises(SceneError, match=r"the scene cannot start as it is: .*left box.*right box") as caught:
        sim.step()
    assert "\n" not in str(caught.value)
    assert not sim.started
    right.pos = (1, 0, 0)
    sim.step()
    assert sim.frame == 1


def test_a_sim_says_what_it_is():
    sim, *_ = pendulum()
    sim.step(2)
    assert repr(sim) == "<Sim: 1 body, 1 joint, dt 0.01 s, time 0.02 s, frame 2>"
    assert "<td>1 joint</td><td>hinge</td>" in sim._repr_html_()
    assert [body.name for body in sim.bodies] == ["rod"] and [joint.name for joint in sim.joints] == ["hinge"]


def test_time_is_that_of_its_steps_and_gathers_no_rounding():
    """Added up one by one, 250 steps of 0.01 s would be 2.4999999999999907 s."""
    sim = Sim(contact=False)
    sim.box(0.1)
    times = []
    sim.before_step(lambda: times.append(sim.time))
    sim.step(300)
    assert times[250] == 2.5
    assert sum(1.5 <= t < 2.5 for t in times) == 100
