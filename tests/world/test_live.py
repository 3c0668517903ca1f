"""Attributes of many geometries in one go, what moves without attributes, and what that must not cost."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from dovetail import Sim, geometry, view
from dovetail.errors import WorldError
from dovetail.geometry.attribute import moved
from dovetail.kernel.kernel import jit_enabled
from dovetail.world.attribute_reader import AttributeReader
from dovetail.world.attribute_writer import AttributeWriter


def chain(links: int = 3, **options) -> Sim:
    sim = Sim(dt=0.01, contact=False)
    parent = None
    for k in range(links):
        link = sim.box((0.1, 0.02, 0.02), pos=(0.1 * k + 0.05, 0, 0))
        sim.revolute(parent, link, pos=(0.1 * k, 0, 0), axis=(0, 1, 0), **options)
        parent = link
    return sim


def test_a_writer_and_a_reader_are_each_others_inverse_whatever_the_shapes():
    meshes = [geometry.pointcloud(np.zeros((n, 3))) for n in (1, 4, 2)]
    writer, reader = AttributeWriter(), AttributeReader()
    collections = [mesh.vertices for mesh in meshes]
    for name, default in (("scalar", 0.0), ("vector", np.zeros(3)), ("matrix", np.zeros((4, 4)))):
        for collection in collections:
            collection.create(name, default)
        at = writer.ask(collections, name)
        rows = np.concatenate([reader.ask(collection, name) for collection in collections])
        assert len(at) == 7 * np.size(default) and np.array_equal(np.sort(rows), rows)
    kept = collections[1].copy()
    writer.values[:] = np.arange(len(writer.values))
    writer.write()
    assert reader.read() and not reader.read()
    assert sorted(reader.values) == sorted(writer.values)
    # by hand: the matrices of the second mesh come after 7 scalars, 7 vectors and one matrix, column by column
    first = 7 + 21 + 16
    matrices = np.arange(first, first + 64).reshape(4, 4, 4).swapaxes(1, 2)
    assert np.array_equal(collections[1].slot("matrix").values, matrices)
    assert not kept.slot("matrix").values.any(), "storage that another collection shares was written"


@pytest.mark.skipif(not jit_enabled, reason="there are no addresses without the compiler")
def test_only_attributes_that_are_looked_at_are_looked_for_again():
    sim = chain()
    sim.step()
    sim.sync()
    before = moved.count
    other = geometry.pointcloud(np.zeros((2, 3)))
    other.vertices.resize(5)
    other.vertices.destroy("is_facet")
    sim.bodies[0].velocity, sim.bodies[1].spin, sim.bodies[1].transform
    assert moved.count == before
    sim.bodies[0].slot.geometry.copy()
    assert moved.count > before, "a copy shares storage that the world writes"


def test_a_view_that_was_kept_steers_at_any_time():
    sim = chain()
    joint = sim.joints[2]
    torque = view(joint.attributes.find("external_torque"))
    sim.step()
    torque[:] = 0.02
    sim.step(20)
    still = chain()
    still.step(21)
    assert joint.angle > still.joints[2].angle + 0.1
    # a copy shares the values from now on: who has an old view writes to neither, as documented, and retrieve to one
    snapshot = joint.slot.geometry.copy()
    angle = snapshot.edges.slot("angle").values.copy()
    sim.step()
    sim.sync()
    assert np.array_equal(snapshot.edges.slot("angle").values, angle)
    assert joint.attributes.slot("angle").values != angle


def test_an_attribute_that_changed_its_size_is_refused_before_memory_is_read():
    sim = chain()
    sim.step()
    sim.joints[1].slot.geometry.edges.resize(0)
    with pytest.raises(WorldError, match="has 0 numbers of float64, and had 1 when the world was made"):
        sim.step()


def test_handles_are_read_without_writing_attributes(monkeypatch):
    sim = chain()
    sim.step(5)
    sim.sync()
    expected = [[float(j.attributes.slot(name).first) for name in ("angle", "velocity")] for j in sim.joints]
    places = [np.array(b.slot.geometry.transforms.first) for b in sim.bodies]
    sim.step(0)
    monkeypatch.setattr(type(sim.world), "retrieve", lambda _: pytest.fail("retrieve was called"))
    assert np.allclose([(j.angle, j.velocity) for j in sim.joints], expected, rtol=0, atol=1e-15)
    for body, T in zip(sim.bodies, places, strict=True):
        assert np.array_equal(body.transform, T) and np.array_equal(body.pos, T[:3, 3])
    before = sim.joints[0].angle
    sim.step()
    assert sim.joints[0].angle > before
    state = sim.state
    sim.step(3)
    sim.state = state
    assert sim.joints[0].angle == sim.world.live.values()[0] and sim.joints[0].angle < before + 0.1


def test_each_joint_gets_its_own_results_and_looking_changes_nothing():
    sims = [chain(4, limit=(-0.02, 0.02), damping=1e-4, friction=1e-5, drive=True) for _ in range(2)]
    for sim in sims:
        for k, joint in enumerate(sim.joints):
            joint.drive.stiffness = 1e-3 * (k + 1)
            joint.torque = 1e-4 * k
    sims[0].step(10)
    efforts = np.zeros(4)
    for _ in range(10):
        before = np.array([joint.angle for joint in sims[1].joints])
        sims[1].step()
        sims[1].sync()
        efforts = np.array([joint.drive.effort for joint in sims[1].joints])
    middle = np.array([0.5 * (joint.angle + old) for joint, old in zip(sims[1].joints, before, strict=True)])
    # the mean over the step, by trapezoids but for what its filter takes out: ω²h² = 1e-3
    assert efforts == pytest.approx(-1e-3 * np.arange(1, 5) * middle, rel=1e-3)
    assert [joint.drive.effort for joint in sims[0].joints] == efforts.tolist()
    for a, b in zip(sims[0].joints, sims[1].joints, strict=True):
        assert a.angle == b.angle and a.violation == b.violation and np.array_equal(*(j.reaction.force for j in (a, b)))
    assert max(j.violation for j in sims[0].joints) > 0


def test_copies_that_nobody_looks_into_share_without_slots_and_own_their_part():
    mesh = geometry.pointcloud(np.zeros((2, 3)))
    buffer = mesh.positions.buffer
    twin = mesh.copy()
    third = twin.copy()
    assert buffer.owners == 2, "the two without slots have one part together"
    del third
    assert buffer.owners == 2
    mesh.vertices["position"] = 1.0
    assert not twin.positions.values.any() and buffer.owners == 1
    for again in (pickle.loads(pickle.dumps(twin.copy())), copy.deepcopy(twin.copy())):
        again.vertices["position"] = 2.0
        assert not twin.positions.values.any() and (again.positions.values == 2.0).all()
    with pytest.raises(AttributeError, match="nothing"):
        twin.vertices.nothing
