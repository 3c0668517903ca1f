"""The control panel, without a browser."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.viewer import Viewer
from dovetail.viewer.body_panel import BodyPanel
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


def test_contacts_are_drawn_where_the_world_has_them_and_hidden_by_their_box(viewer, running):
    stage = viewer._stage
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
