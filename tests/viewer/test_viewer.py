"""The viewer without a browser: what it does to a world, and what it listens to."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from urllib.request import urlopen

import numpy as np
import pytest
from joint_scenes import JOINTS, Bench, everything_on
from robots import ARM
from scenes import add_boxes, assert_same_arrays, new_scene

from dovetail import Engine, Sim, World
from dovetail.constitution import AffineBodyCylindricalJoint, AffineBodyJointDrive
from dovetail.errors import ViewerError
from dovetail.io import Recording
from dovetail.picture.camera import Bounds
from dovetail.viewer import Viewer, view
from dovetail.viewer.history import History
from dovetail.viewer.pull import Pull
from dovetail.viewer.source import Played, Running
from dovetail.viewer.stage import Stage, bounds_of
from dovetail.viewer.steering import Steering, controls

pytest.importorskip("viser", reason="viser is missing; pip install 'dovetail[viewer]'")


@pytest.fixture
def viewer(running):
    with Viewer(running, playing=False) as opened:
        yield opened


def edges(world, name):
    return next(iter(world.scene.objects.find(name)[0].geometries)).geometry.edges


def until(condition, seconds=20.0):
    """Wait for something that another thread does."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def test_it_listens_to_this_machine_alone(viewer):
    host, port = viewer._server.get_host(), viewer._server.get_port()
    assert host == "127.0.0.1" and viewer.url == f"http://127.0.0.1:{port}"
    # another address of this very machine
    with socket.socket() as other, pytest.raises(OSError):
        other.settimeout(1.0)
        other.connect(("127.0.0.2", port))


def test_a_second_viewer_takes_the_next_free_port(viewer, recorded):
    with Viewer(recorded, playing=False) as second:
        assert second.url != viewer.url


def test_a_paused_viewer_steps_one_frame_at_a_time_and_goes_back_to_the_start_bit_for_bit(running, viewer):
    start = running.state()
    for frame in (1, 2, 3):
        viewer.step()
        assert running.frame() == frame
    viewer.reset()
    assert running.frame() == 0
    assert_same_arrays(running.state().arrays, start.arrays)


def test_in_the_background_it_plays_about_as_fast_as_it_is_told(running):
    with Viewer(running, speed=2.0, wait=False) as viewer:
        viewer.start()
        assert until(lambda: running.frame() >= 20)
        before, start = running.frame(), time.monotonic()
        time.sleep(0.5)
        simulated, passed = 0.01 * (running.frame() - before), time.monotonic() - start
    # never faster than told, but for the tenth of a second that it may catch up; how fast at least depends on others
    assert simulated < 2.0 * (passed + 0.2)
    frame = running.frame()
    time.sleep(0.1)
    assert running.frame() == frame  # closed


def unused_port() -> int:
    """One that no page of another test still looks for."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_it_does_not_run_before_somebody_looks(running):
    with Viewer(running, port=unused_port()) as viewer:
        viewer.start()
        done = []
        viewer.post(lambda: done.append(running.frame()))
        assert until(lambda: done == [0])  # it is there,
        time.sleep(0.2)
        assert running.frame() == 0  # and waits


def test_what_is_posted_is_done_between_frames_by_the_thread_of_the_viewer(running):
    import threading

    with Viewer(running, playing=False) as viewer:
        viewer.start()
        done = []
        viewer.post(lambda: done.append(threading.current_thread().name))
        assert until(lambda: done == ["dovetail viewer"])


def test_an_error_of_the_world_pauses_the_viewer_and_is_told(running, caplog):
    with Viewer(running, playing=False) as viewer:
        edges(running, "hinge")["aim_angle"] = np.nan
        viewer.step()
        assert "aim_angle = nan" in viewer.complaint and not viewer.playing
        assert running.frame() == 0
        viewer.reset()
        edges(running, "hinge")["aim_angle"] = 0.0
        viewer.step()
        assert running.frame() == 1 and not viewer.complaint
    assert "viewer: paused" in caplog.text


def test_a_recording_is_played_to_its_end_and_then_paused(recorded):
    with Viewer(recorded, speed=50.0, wait=False) as viewer:
        viewer.start()
        assert until(lambda: not viewer.playing)
        assert viewer._source.at == 60
        assert "machine.dove" in repr(viewer)
    assert "closed" in repr(viewer)


def test_a_notebook_shows_the_page_in_a_frame(viewer):
    assert f'<iframe src="{viewer.url}"' in viewer._repr_html_()


def test_view_returns_at_once_where_it_need_not_block(recorded, capsys, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    viewer = view(recorded, block=False)
    try:
        assert capsys.readouterr().out == f"dovetail viewer: {viewer.url}\n"
    finally:
        viewer.close()


def test_in_a_notebook_view_returns_at_once_and_says_nothing(recorded, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    with view(recorded, wait=False) as viewer:
        assert until(lambda: viewer._source.at > 0)  # it plays
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("what", ["recording", "robot"])
def test_the_command_line_serves_a_recording_or_a_robot_until_ctrl_c(recorded, tmp_path, what):
    (tmp_path / "arm.urdf").write_text(ARM)
    file = recorded if what == "recording" else tmp_path / "arm.urdf"
    command = [sys.executable, "-m", "dovetail", "view", str(file), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        said = process.stdout.readline()
        assert said.startswith("dovetail viewer: http://127.0.0.1:"), process.stderr.read()
        with urlopen(said.split()[-1], timeout=30) as page:
            assert page.status == 200
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0 and "Traceback" not in complaints


def test_other_things_cannot_be_shown():
    with pytest.raises(ViewerError, match="expected a World, a Recording or the path of one, got int"):
        Viewer(3)


def test_a_world_without_bodies_with_surfaces_or_joints_can_be_looked_at(tmp_path):
    world = World(Engine("cpu", tmp_path))
    world.init(new_scene())
    with Viewer(world, playing=False) as viewer:
        viewer.step()


@pytest.mark.parametrize("kind", JOINTS.values(), ids=[cls.__name__ for cls in JOINTS.values()])
def test_every_joint_with_everything_on_it_can_be_looked_at(kind, rng):
    bench = Bench()
    left = bench.box("left", (0.3, 0.2, 0.4), fixed=True)
    right = bench.box("right", (0.2, 0.5, 0.3), at=(0.6, 0.0, 0.1))
    extras = everything_on(kind, rng)
    bench.join(kind, [left], [right], [(0.3, 0.0, 0.0)], [(0.3, 0.1, 0.2)], extras=extras)
    with Viewer(bench.world, playing=False) as viewer:
        viewer.step()
        stage, moment = viewer._stage, viewer._source.moment()
        for markers, handle in stage._markers:
            assert len(handle.batched_positions) == len(markers.owners) > 0
            assert np.isfinite(handle.batched_positions).all() and np.isfinite(handle.batched_wxyzs).all()
        shown = viewer._history.joint(0, "coordinate")
        assert np.isfinite(shown).all() == bool(viewer._source.cast.joints[0].coordinate)
        drives = [c.attribute for c in controls(viewer._source.cast, stage.bounds)]
        assert len(drives) == len(set(drives)) >= 2 * len(kind.coordinates())
        assert moment.frame == 1


# --- steering ---------------------------------------------------------------------------------------------------


@pytest.fixture
def steering(running):
    return Steering(running, Running(running).cast)


def test_drives_and_forces_can_be_set_within_limits_or_sensible_bounds(running, viewer):
    cast = Running(running).cast
    hinge, rail = controls(cast, viewer._stage.bounds)
    assert (hinge.attribute, hinge.lower, hinge.upper) == ("aim_angle", -1.0, 1.5)
    assert (rail.attribute, rail.unit) == ("external_force", "N")
    # ten times the weight of the cart, 1000 kg/m³ · (0.1 m)³ · 9.8 m/s², and the next round number
    assert rail.upper == -rail.lower == 100.0


def test_a_value_set_by_hand_is_held_against_an_animation_and_let_go_by_a_reset(running, steering):
    hinge = running.scene.objects.find("hinge")[0]

    def animate(info):
        info.geo_slots()[0].geometry.edges["aim_angle"] = 0.01 * info.frame()

    running.scene.animator.insert(hinge, animate)
    running.advance()
    assert edges(running, "hinge")["aim_angle"][0] == 0.01
    steering.hold(0, "aim_angle", -0.5)
    for _ in range(2):
        running.advance()
        assert edges(running, "hinge")["aim_angle"][0] == -0.5
    steering.reset()
    assert edges(running, "hinge")["aim_angle"][0] == 0.0
    running.advance()
    assert edges(running, "hinge")["aim_angle"][0] == 0.04
    assert running.scene.animator.find(hinge.id()).callback is animate


def test_a_value_set_by_hand_is_held_against_a_controller_of_a_sim_too():
    sim = Sim(dt=0.01, contact=False)
    rod = sim.box((0.6, 0.04, 0.04), pos=(0.3, 0, 1))
    hinge = sim.revolute(None, rod, pos=(0, 0, 1), axis=(0, 1, 0), drive=0.0)
    hinge.drive.stiffness = 1e6  # it is there at once
    sim.before_step(lambda: setattr(hinge.drive, "target", 0.3))
    steering = Steering(sim.world, Running(sim.world).cast)
    steering.hold(0, "drive/target", -0.2)
    sim.step(2)
    assert hinge.angle == pytest.approx(-0.2, abs=1e-3)
    steering.reset()
    sim.step(2)
    assert hinge.angle == pytest.approx(0.3, abs=1e-3)


def test_drives_with_gains_have_sliders_for_target_and_velocity_without_a_switch(start):
    scene = new_scene()
    base = add_boxes(scene, [(0, 0, 0)], name="base", fixed=[0])
    rod = add_boxes(scene, [(1, 0, 0)], name="rod")
    sleeve = AffineBodyCylindricalJoint().create_geometry([[0.5, 0, 0]], [[1, 0, 0]], [base], [0], [rod], [0], [100.0])
    AffineBodyJointDrive().apply_to(sleeve, stiffness=1e4, damping=1e3, coordinate="angle")
    scene.objects.create("sleeve").geometries.create(sleeve)
    world = start(scene)
    source = Running(world)
    found = {control.attribute: control for control in controls(source.cast, Bounds(np.zeros(3), np.ones(3)))}
    assert found.keys() == {"angle/drive/target", "angle/drive/target_velocity"}
    assert found["angle/drive/target_velocity"].unit == "rad/s" and not found["angle/drive/target"].switch
    Steering(world, source.cast).hold(0, "angle/drive/target", 0.7)
    for _ in range(100):
        world.advance()
    # k/c = 10/s: after 1 s what is missing is e⁻¹⁰ of it; the rod of 30 kg is light beside 1e3 N·m·s
    world.retrieve()
    assert edges(world, "sleeve")["angle"][0] == pytest.approx(0.7, abs=1e-3)


def test_a_force_set_by_hand_moves_the_cart(running, steering):
    steering.hold(2, "external_force/is_constrained", 1.0)
    steering.hold(2, "external_force", 10.0)
    for _ in range(10):
        running.advance()
    running.retrieve()
    # m = 1 kg: 10 N over 0.1 s give ½·10·0.1·0.11 m with bdf1
    assert edges(running, "rail")["distance"][0] == pytest.approx(0.055, rel=1e-3)


# --- pulling ----------------------------------------------------------------------------------------------------


def test_a_pulled_body_comes_to_the_mouse_and_falls_when_it_is_let_go(running):
    source = Running(running)
    body = [b.name for b in source.cast.bodies].index("boxes[0]")
    pull = Pull(source)
    pull.grab(body, np.array([0.8, 0.3, 0.25]))
    pull.move(np.array([0.8, 0.3, 1.0]))
    for _ in range(150):
        pull.apply()
        source.advance()
    x, mouse = pull.ends()
    # it hangs below the mouse by (1 + (2ωh + (ωh)²) m/μ) g/ω²; ω = 20/s, and at the middle of a face of a cube
    # m/μ = 1 + (a/2)²/(a²/6) = 2.5
    np.testing.assert_allclose(x, mouse - [0, 0, (1 + 0.44 * 2.5) * 9.8 / 20**2], atol=1e-4)
    pull.release()
    for _ in range(10):
        pull.apply()
        source.advance()
    assert source.velocities()[1][body, 2, 3] == pytest.approx(-0.98, abs=0.03)


def test_a_body_pulled_at_its_corner_by_large_steps_does_not_begin_to_shake(running):
    running.scene.config["dt"] = 0.05
    source = Running(running)
    body = [b.name for b in source.cast.bodies].index("boxes[0]")
    pull = Pull(source)
    pull.grab(body, np.array([0.85, 0.35, 0.25]))
    pull.move(np.array([0.8, 0.3, 0.8]))
    for _ in range(100):
        pull.apply()
        source.advance()
    assert np.abs(source.velocities()[1][body]).max() < 0.1


# --- sources and history ----------------------------------------------------------------------------------------


def test_history_holds_what_joints_said_and_forgets_when_time_runs_back(recorded):
    with Recording(recorded) as recording:
        source = Played(recording)
        history = History(recording.cast, length=30)
        for frame in range(50):
            source.seek(frame)
            history.add(source.moment())
            history.add(source.moment())  # the same frame twice counts once
        assert len(history.times) == 30 and history.times[-1] == pytest.approx(0.49)
        angles = recording.history("hinge", "angle")[20:50]
        np.testing.assert_allclose(history.joint(0, "coordinate"), angles, atol=1e-6)  # kept in single precision
        force = np.linalg.norm(recording.history("hinge", "reaction/force"), axis=1)[20:50]
        np.testing.assert_allclose(history.joint(0, "reaction"), force, rtol=1e-6)
        assert np.isnan(history.joint(1, "coordinate")).all()  # a ball has none
        assert history.energy("kinetic")[-1] == recording.energies(49)["kinetic"]
        source.reset()
        history.add(source.moment())
        assert len(history.times) == 1


def test_the_camera_is_framed_by_what_moves_where_a_fixed_body_is_much_larger():
    sim = Sim(contact=False)
    sim.box((100, 100, 1), pos=(0, 0, -1), fixed=True)
    sim.box(1.0, pos=(3, 0, 0.1))
    source = Running(sim.world)
    bounds = bounds_of(source.cast, source.moment().transforms)
    assert bounds.size < 10 and (bounds.lower <= [2.5, -0.5, -0.4]).all() and (bounds.upper >= [3.5, 0.5, 0.6]).all()


def test_bodies_of_one_shape_are_one_batch_and_hidden_ones_have_no_size(viewer):
    stage = viewer._stage
    assert isinstance(stage, Stage)
    names = [body.name for body in stage.cast.bodies]
    (batch,) = [b for b in stage.batches if len(b.numbers) == 2]
    assert [names[k] for k in batch.numbers] == ["boxes[0]", "boxes[1]"]
    stage.visible[batch.numbers[1]] = False
    stage.restyle()
    np.testing.assert_allclose(batch.handle.batched_scales, [[1, 1, 1], [0, 0, 0]], atol=1e-6)
    stage.switch("x-ray", True)
    assert 0 < batch.handle.opacity < 1


@pytest.mark.parametrize("port", ["x", -1, 70000, 1.5])
def test_a_port_that_is_none_is_refused(recorded, port):
    """It waited for ever for a server that could not start."""
    with pytest.raises(ViewerError, match=r"viewer: port = .*; give a whole number from 0 to 65535"):
        Viewer(recorded, port=port)
