"""The control panel, without a browser."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from robots import ARM

from dovetail import Sim
from dovetail.cli.load import load
from dovetail.viewer import Viewer
from dovetail.viewer.body_panel import BodyPanel
from dovetail.viewer.joint_panel import JointPanel
from dovetail.viewer.plot_panel import PlotPanel

pytest.importorskip("viser", reason="viser is missing; pip install 'dovetail[viewer]'")


@pytest.fixture
def viewer(running):
    with Viewer(running, playing=False) as opened:
        yield opened


def panel(viewer, kind):
    return next(p for p in viewer._panels if isinstance(p, kind))


def test_a_chosen_body_is_marked_painted_and_hidden_and_its_numbers_are_told(viewer):
    stage, bodies = viewer._stage, panel(viewer, BodyPanel)
    arm = [body.name for body in stage.cast.bodies].index("arm")
    (batch,) = [b for b in stage.batches if arm in b.numbers]
    plain = batch.handle.batched_colors.copy()
    bodies.choose(arm)
    assert stage.selected == arm and (batch.handle.batched_colors != plain).any()
    bodies._paint((255, 0, 0))
    np.testing.assert_allclose(stage.colours[arm], [1, 0, 0])
    bodies._hide(False)
    assert not batch.handle.batched_scales.any()
    bodies._hide(True)
    bodies._others(False)
    assert stage.visible.sum() == 1
    bodies._others(True)
    assert stage.visible.all()
    viewer.step()
    told = bodies._numbers.content
    assert "**arm**" in told and "mass 1 kg" in told and "speed" in told


def test_a_moved_body_that_is_hidden_stays_hidden(viewer):
    stage = viewer._stage
    stage.visible[:] = False
    stage.restyle()
    viewer.step()
    assert not any(batch.handle.batched_scales.any() for batch in stage.batches)


def test_a_body_that_stretches_is_seen_to(viewer):
    stage = viewer._stage
    transforms = viewer._source.moment().transforms
    batch = stage.batches[1]
    sent = batch.handle.batched_scales.copy()
    transforms[batch.numbers, :3, 1] *= 1.25
    stage.show(transforms)
    np.testing.assert_allclose(batch.handle.batched_scales, sent * [1, 1.25, 1], rtol=1e-6)


def test_plots_follow_the_chosen_joint_and_energies_add_up(viewer, running):
    plots = panel(viewer, PlotPanel)
    for _ in range(5):
        viewer.step()
    plots._list.value = "2 rail"
    viewer.refresh()
    chart = plots._charts["coordinate"]
    assert chart.title == "rail: distance [m]"
    times, distances = chart.data
    np.testing.assert_allclose(times, 0.01 * np.arange(6), atol=1e-12)
    running.retrieve()
    edges = next(iter(running.scene.objects.find("rail")[0].geometries)).geometry.edges
    assert distances[-1] == pytest.approx(edges["distance"][0], abs=1e-7)  # kept in single precision
    _, kinetic, potential, friction = (curve[-1] for curve in plots._charts["energy"].data)
    assert kinetic + potential + friction == pytest.approx(sum(running.energies().values()))
    assert "| gap |" in plots._table.content
    plots._list.value = "3 weld"
    viewer.refresh()
    assert chart.title == "weld: gap [m]"


def test_a_joint_has_the_controls_that_do_something_in_words_of_the_user():
    sim = Sim(dt=0.01, contact=False)
    boxes = [sim.box(0.1, pos=(k, 0, 0)) for k in range(3)]
    free, held, turning = (sim.revolute(None, box, pos=box.pos, axis=(0, 1, 0), name=name, drive=name != "free")
                           for box, name in zip(boxes, ("free", "held", "turning"), strict=True))  # fmt: skip
    held.drive.target, turning.drive.target_velocity = 0.2, 1.0
    with Viewer(sim.world, playing=False) as viewer:
        joints = panel(viewer, JointPanel)

        def seen():
            viewer.refresh()
            found = {}
            for folder, widgets in joints._folders:
                assert all(box is None for _, box, _ in widgets)  # nothing is switched
                found[folder.label] = [slider.label for _, _, slider in widgets if slider.visible]
            return found

        assert seen() == {"free": ["torque [N·m]"], "held": ["target [rad]"], "turning": ["speed [rad/s]"]}
        turning.drive.target = 0.0
        held.drive.on = False
        assert seen() == {"free": ["torque [N·m]"], "held": ["torque [N·m]"], "turning": ["target [rad]"]}
    assert free.torque == 0.0


def test_names_are_put_where_bodies_and_joints_are_on_demand(viewer):
    stage = viewer._stage
    assert not stage._names
    stage.switch("joint names", True)
    viewer.step()
    labels = {label.text: label.position for label, _, _ in stage._names["joint names"]}
    assert labels.keys() == {"hinge", "ball", "rail", "weld"}
    np.testing.assert_allclose(labels["hinge"], [0.05, -0.1, 0.9], atol=1e-6)  # where the fixed post has it
    stage.switch("body names", True)
    viewer.step()
    box = next(label for label, _, _ in stage._names["body names"] if label.text == "boxes[0]")
    transforms = viewer._source.moment().transforms
    np.testing.assert_allclose(box.position, transforms[5, :3, 3], atol=1e-6)
    stage.switch("joint names", False)
    assert stage._names.keys() == {"body names"}


def test_cameras_go_along_with_the_body_that_they_follow(viewer, monkeypatch):
    stage, bodies = viewer._stage, panel(viewer, BodyPanel)
    camera = SimpleNamespace(position=np.array([0.0, -5.0, 1.0]))
    client = SimpleNamespace(camera=camera, atomic=nullcontext)
    monkeypatch.setattr(stage._server, "get_clients", lambda: {0: client})
    bodies.choose(5)
    bodies._go_along(True)
    start = viewer._source.moment().transforms[5, :3, 3]
    for _ in range(10):
        viewer.step()
    fallen = viewer._source.moment().transforms[5, :3, 3] - start
    assert fallen[2] < -0.04
    # cameras are moved when it has moved by a thousandth of the scene
    np.testing.assert_allclose(camera.position, np.array([0, -5, 1]) + fallen, atol=1e-3 * stage.bounds.size)
    bodies._go_along(False)
    before = camera.position.copy()
    viewer.step()
    assert (camera.position == before).all()


def test_contacts_are_drawn_where_the_world_has_them_and_hidden_by_their_box(viewer, running):
    stage = viewer._stage
    stage.switch("contacts", True)
    while not len(running.contacts()):
        viewer.step()
    dots, lines = stage._contacts
    found = running.contacts()
    np.testing.assert_allclose(dots.points, found.point, atol=1e-6)
    along = lines.points[:, 1] - lines.points[:, 0]
    np.testing.assert_allclose(np.cross(along, found.normal), 0, atol=1e-6)
    assert (np.einsum("ki,ki->k", along, found.normal) > 0).all()
    stage.switch("contacts", False)
    assert not dots.visible and not lines.visible


def test_a_robot_has_a_slider_for_every_joint(tmp_path):
    """Of its file, but for those that follow others: within the limits, at the posture it starts in."""
    (tmp_path / "arm.urdf").write_text(ARM)
    with Viewer(load(tmp_path / "arm.urdf"), playing=False) as viewer:
        viewer.refresh()
        sliders = {
            folder.label: [slider for _, _, slider in widgets if slider.visible and "target" in slider.label]
            for folder, widgets in panel(viewer, JointPanel)._folders
        }
        found = {name.rpartition("/")[2]: each for name, each in sliders.items() if each}
        assert {name: len(each) for name, each in found.items()} == {"shoulder": 1, "lift": 1, "wrist": 1}
        assert (found["shoulder"][0].min, found["shoulder"][0].max) == (-1.5, 2.0)
