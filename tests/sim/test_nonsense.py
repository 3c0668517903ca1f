"""Wrong arguments of a `Sim` and of what it is made of: one paragraph that says who, what, and what to do."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import Sim, geometry
from dovetail.errors import ConfigError, DovetailError, GeometryError, SceneError, WorldError

HUGE = 10**400


def body(**options):
    return Sim().box(1, **options)


def hinge():
    sim = Sim()
    return sim.revolute(None, sim.box(1), (0, 0, 0), (0, 0, 1), drive=True)


def assign(thing, name, value):
    setattr(thing, name, value)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: assign(Sim(), "state", 5), WorldError, "Sim.state: state = 5; give a WorldState"),
        (lambda: Sim().save(5), SceneError, "Sim.save: path = 5; give the path of a file"),
        (lambda: Sim().load(None), SceneError, "Sim.load: path = None; give the path of a file"),
        (lambda: Sim().step(2.0), SceneError, "Sim.step: steps = 2.0; give a whole number"),
        (lambda: Sim().record(5), SceneError, "Sim.record: path = 5; give the path of a file"),
        (lambda: Sim().record("x.dove", every="x"), SceneError, "Sim.record: every = 'x'; give a whole number"),
        (lambda: Sim().record("x.dove", every=0), SceneError, "Sim.record: every = 0; give 1"),
        (lambda: Sim().step(-1), SceneError, "Sim.step: steps = -1; give 0 or more"),
        (lambda: Sim().run(-2), SceneError, "Sim.run: steps = -2; give 0 or more"),
        (lambda: Sim().sphere([1]), SceneError, r"sphere 1': radius = \[1\] \[m\]; give a number > 0"),
        (lambda: body(fixed=np.array([1, 2])), SceneError, r"fixed = array\(\[1, 2\]\); give True or False"),
        (lambda: Sim(config="x"), SceneError, "Sim: config = 'x'; give a Mapping or None"),
        (lambda: Sim(friction=None), SceneError, "Sim: friction = None; give a number"),
        (lambda: geometry.ground("x"), GeometryError, "ground: height = 'x'; give a number"),
        (lambda: Sim().world.recover(np.nan), WorldError, "dst_frame = nan; give a whole number or None"),
        (lambda: Sim().box(1e300), SceneError, r"box 1': size = .*; give numbers up to 1e\+40"),
        (lambda: Sim(dt=1e-300), SceneError, "Sim: dt = 1e-300 .*; give a number from 1e-40 to 1e"),
        (lambda: Sim(dt=1e-30), ConfigError, r"no step can be computed with 'dt' = 1e-30 \[s\]; give a number in"),
        (lambda: assign(body(), "transform", np.zeros((4, 4))), SceneError, "mirrors or flattens it"),
        (lambda: Sim().box(HUGE), SceneError, "size = 10+.* give 3 finite numbers"),
        (lambda: Sim(dt=HUGE), SceneError, "dt = 10+.*give a number"),
        (lambda: body(pos=(HUGE, 0, 0)), SceneError, "pos = .*; give 3 finite numbers"),
        (lambda: body(density=HUGE), SceneError, "density = 10+.*; give a number > 0"),
        (lambda: assign(hinge().drive, "stiffness", HUGE), SceneError, "drive.stiffness = 10+.*; give a finite number"),
        (lambda: geometry.pointcloud([[HUGE, 0, 0]]), GeometryError, "positions are not numbers"),
        (lambda: geometry.AngleAxis(HUGE, (0, 0, 1)), GeometryError, "is no rotation"),
        (lambda: hinge().sim.step(10**5000), SceneError, "steps = a value of type int; give a whole number"),
    ],
)  # fmt: skip
def test_nonsense_is_told_in_one_paragraph(call, error, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message) as caught:
        call()
    assert isinstance(caught.value, DovetailError) and "\n" not in str(caught.value)


def test_a_body_that_attributes_have_flattened_can_be_shown():
    box = body()
    box.slot.geometry.instances["transform"] = np.diag([1.0, 1.0, 0.0, 1.0])
    assert "flattened by its transform" in repr(box)
    with pytest.raises(SceneError, match="flattens it"):
        _ = box.spin


def test_a_time_step_written_past_the_checks_is_refused_where_it_is_used():
    sim = Sim()
    sim.box(1)
    sim.step()
    sim.scene.config.find("dt").edit()[0] = 1e-300
    with pytest.raises(ConfigError, match="no step can be computed with 'dt' = 1e-300"):
        sim.step()
    with pytest.raises(ConfigError, match="no step can be computed"):
        _ = Sim(config={"dt": 1e-300}).energy


def test_a_long_text_is_cut_in_the_middle_of_a_message():
    with pytest.raises(SceneError) as caught:
        Sim()["x" * 10_000]
    text = str(caught.value)
    assert len(text) < 2000 and text.startswith("Sim: there is no 'xxx") and text.endswith("there is nothing yet.")


def test_a_joint_that_is_refused_leaves_nothing_behind():
    sim = Sim()
    box = sim.box(1)
    for _ in range(2):
        with pytest.raises(SceneError, match="limit = 'x'"):
            sim.revolute(None, box, (0, 0, 0), (0, 0, 1), name="hinge", limit="x")
    assert not sim.joints
    assert sim.revolute(None, box, (0, 0, 0), (0, 0, 1), name="hinge", limit=(0, 1)).limit == (0, 1)


def test_boxes_that_differ_in_the_ninth_digit_are_different_boxes():
    sim = Sim()
    a, b = (sim.box(np.array([x, 1.0, 1.0]), pos=(0, 0, 3 * x)) for x in (1.0, 1.0000000001))
    assert np.ptp(a.vertices[:, 0]) < np.ptp(b.vertices[:, 0])


def test_a_mesh_whose_vertices_are_gone_is_refused_before_a_kernel_sees_it():
    sim = Sim()
    box = sim.box(1)
    box.slot.geometry.vertices.resize(2)
    with pytest.raises(DovetailError, match=r"has edges with vertices 0 to 7, and there are 2"):
        sim.step()


def test_a_contact_element_of_another_scene_is_refused_before_a_kernel_sees_it():
    sim = Sim()
    box = sim.box(1)
    sim.ground(-5)
    box.slot.geometry.meta["contact_element_id"] = 7
    with pytest.raises(DovetailError, match=r"contact_element_id = 7, and the scene has the elements 0 to 0"):
        sim.step()
