"""Adaptive contacts that are squeezed become firmer, within a step and over steps."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import BOX, Stage, box, scaled
from scenes import read_state

from dovetail import Engine, Sim, World
from dovetail.constitution import SoftTransformConstraint
from dovetail.errors import GradientError
from dovetail.solver.contact.barrier import adaptive
from dovetail.solver.contact.firmness import MOST


def squeeze():
    """A stiff cube between two plates that are pulled into it by far more than what the contact is made for."""
    stage = Stage()

    def pulled(sc):
        SoftTransformConstraint().apply_to(sc, 1e4)
        sc.instances["is_constrained"] = 1
        sc.instances["aim_transform"][:, 2, 3] = (0.05, -0.05)

    plates = stage.add("plates", box(0.5, 0.5, 0.05), [(0, 0, -0.14), (0, 0, 0.14)], applied=[pulled], kappa=1e11)
    stage.add("cube", scaled(BOX, 0.2), kappa=1e11)
    return stage, plates


def contact_of(world):
    return world._simulation.contact


def test_a_squeeze_makes_contacts_firmer_until_they_hold():
    stage, _ = squeeze()
    stage.run(2)
    assert stage.world.report.converged
    contact = contact_of(stage.world)
    assert 1.0 < contact.firmness.of.max() <= MOST and contact.firmness.of.min() >= 1.0
    np.testing.assert_array_equal(contact.stiffness, adaptive(contact.borne_by, 0.01) * contact.firmness.of)


def test_contacts_that_open_are_as_before():
    """f falls to a quarter with each step in which the gap is wide, and to 1 where nothing is touched."""
    stage, plates = squeeze()
    stage.run(2)
    assert contact_of(stage.world).firmness.some
    plates.geometry().instances["aim_transform"][:, 2, 3] = (-0.3, 0.3)
    stage.run(20)
    assert contact_of(stage.world).is_clear and not contact_of(stage.world).firmness.some


def test_no_contact_of_an_ordinary_blow_becomes_firmer():
    stage = Stage(gravity=(0, 0, -9.81))
    stage.ground()
    stage.add("cubes", scaled(BOX, 0.2), [(0, 0, 0.12), (0.05, 0, 0.36)], velocity=(0.3, 0, -3.0))
    some = stage.run(30, lambda: contact_of(stage.world).firmness.some)
    assert not any(some)


def test_a_run_that_is_resumed_has_the_same_firmness(tmp_path):
    stage, _ = squeeze()
    world = World(Engine("cpu", tmp_path))
    world.init(stage.scene)
    for _ in range(2):
        world.advance()
    kept = contact_of(world).firmness.of.copy()
    assert kept.max() > 1.0 and world.dump()
    for _ in range(3):
        world.advance()
    there = read_state(world)
    assert world.recover(2)
    np.testing.assert_array_equal(contact_of(world).firmness.of, kept)
    for _ in range(3):
        world.advance()
    for one, other in zip(there, read_state(world), strict=True):
        np.testing.assert_array_equal(one, other)


def test_bodies_keep_it_when_others_come():
    sim = Sim()
    sim.ground()
    low, _ = sim.box(0.2, pos=(0, 0, 0.1005)), sim.box(0.2, pos=(0, 0, 0.3015))
    sim.step(2)
    contact_of(sim.world).firmness.of[:] = 3.0, 5.0
    sim.remove(low)
    sim.box(0.2, pos=(3, 0, 0.5))
    firmness = contact_of(sim.world).firmness.of
    assert sorted(firmness.tolist()) == [1.0, 5.0]


def test_gradients_refuse_firm_contacts():
    sim = Sim()
    sim.ground()
    sim.box(0.2, pos=(0, 0, 0.1005))
    sim.step(2)
    contact_of(sim.world).firmness.of[:] = 64.0
    with pytest.raises(GradientError, match="step 0 has contacts that are firmer than usual"):
        sim.rollout(2)
