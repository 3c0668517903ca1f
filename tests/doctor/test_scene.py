"""The examination of scenes: what will go wrong at the start is told, what is sound is not."""

from __future__ import annotations

from dovetail import Sim
from dovetail.doctor import examine_scene


def warnings_of(sim):
    findings = examine_scene(sim.scene)
    assert not [finding for finding in findings if finding.kind == "problem"]
    return [finding.text for finding in findings if finding.kind == "warning"]


def test_a_sound_scene_gets_a_count_and_nothing_else():
    sim = Sim()
    sim.ground()
    rod = sim.box((0.6, 0.1, 0.1), pos=(0, 0, 1))
    sim.revolute(None, rod, pos=(0, 0, 1), axis=(0, 1, 0), limit=(-1, 1))
    (count,) = examine_scene(sim.scene)
    assert count.kind == "remark" and count.text == "2 bodies, 1 joint, dt 0.01 s, d_hat 1 mm"


def test_overlapping_bodies_are_a_problem_with_advice():
    sim = Sim()
    sim.box(0.2, name="one")
    sim.box(0.2, pos=(0.1, 0.02, 0.03), name="two")
    (found,) = examine_scene(sim.scene)
    assert found.kind == "problem" and "'one'" in found.text and "'two'" in found.text and "move one" in found.advice


def test_a_constitution_that_makes_no_sense_is_a_problem():
    sim = Sim()
    body = sim.box(0.2)
    body.slot.geometry.instances["kappa"] = -1.0
    (found,) = examine_scene(sim.scene)
    assert found.kind == "problem" and "kappa = -1" in found.text


def test_bodies_that_begin_too_near_are_told_once():
    sim = Sim(d_hat=1e-3)
    sim.ground()
    sim.box(0.2, pos=(0, 0, 0.1001), name="low")
    sim.box(0.2, pos=(1, 0, 0.1008), name="resting")
    (text,) = warnings_of(sim)
    assert "1 pair of bodies begins nearer than d_hat/2; 0.1 mm" in text and "'low'" in text


def test_joints_that_start_badly_are_told():
    sim = Sim(contact=False)
    light, heavy = sim.box(0.2, pos=(2, 0, 0), mass=1e-3), sim.box(0.2, pos=(3, 0, 0), mass=100)
    sim.spherical(light, heavy, pos=(2.5, 0, 0), name="unequal")
    sim.revolute(None, heavy, pos=(3, 0, 0), axis=(0, 0, 1), limit=(0.5, 1.0), name="outside")
    texts = " ".join(warnings_of(sim))
    assert "'unequal' connects 0.001 kg with 100 kg" in texts
    assert "'outside' begins 0.5 outside its limits" in texts


def test_thin_bodies_are_told_by_name():
    sim = Sim(d_hat=0.005)
    sim.box((0.2, 0.2, 0.01), name="plate")
    (text,) = warnings_of(sim)
    assert text.startswith("'plate': the thinnest wall is 10 mm")
