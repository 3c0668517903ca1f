"""What contact tells: forces, points, and the counts in the step report."""

from __future__ import annotations

import numpy as np
import pytest
from contact_readback import D_HAT, TIGHTLY, G, H, heap, resting
from contact_scenes import BOX, Stage, box, scaled
from scenes import pose, read_state, write_state

from dovetail.core import ContactSystemFeature
from dovetail.errors import WorldError
from dovetail.geometry import Geometry
from dovetail.solver.contact.barrier import barrier


def moments(slot) -> np.ndarray:
    """M̂ (4, 4) of the bodies of a geometry."""
    meta = slot.geometry.meta
    M = np.empty((4, 4))
    M[0, 0], M[1:, 1:] = meta["abd_mass"][0], meta["abd_mass_x_bar_x_bar"][0]
    M[0, 1:] = M[1:, 0] = meta["abd_mass_x_bar"][0]
    return M


def rows(T: np.ndarray) -> np.ndarray:
    """Transforms or their rates (n, 4, 4) as Q (n, 4, 3)."""
    return np.concatenate([T[:, None, :3, 3], T[:, :3, :3].swapaxes(1, 2)], axis=1)


def test_a_cube_at_rest_is_carried_by_its_four_corners():
    stage, slot = resting()
    contacts = stage.world.contacts()
    weight = slot.geometry.meta["mass"][0] * G
    assert len(contacts) == 4
    np.testing.assert_allclose(contacts.normal_force, weight / 4, rtol=1e-6)
    np.testing.assert_allclose(contacts.normal, [[0, 0, 1]] * 4, atol=1e-15)
    np.testing.assert_allclose(contacts.friction_force, 0, atol=1e-6)
    np.testing.assert_array_equal(contacts.bodies, [[0, -1]] * 4)
    np.testing.assert_array_equal(contacts.plane, 0)
    assert ((contacts.gap > 0) & (contacts.gap < D_HAT)).all()
    # midway between the corner and the ground
    np.testing.assert_allclose(contacts.point[:, 2], contacts.gap / 2, rtol=1e-12)
    np.testing.assert_allclose(np.abs(contacts.point[:, :2]), 0.05, atol=1e-4)
    assert contacts.names(0) == ("instance 0 of 'cube' (geometry 1)", "half-plane 'ground'")
    instances = slot.geometry.instances
    np.testing.assert_allclose(instances["contact/force"], [[0, 0, weight]], atol=1e-6 * weight)
    np.testing.assert_allclose(instances["contact/torque"], np.zeros((1, 3)), atol=1e-7 * weight)


def test_contact_is_what_changes_the_momentum_of_every_body_in_every_step(rng):
    """The balance of the step: M(V₁ − V₀)/h = gravity + contact, and the same about the centre of mass.

    Both come from the solved equations, so they hold to Newton's tolerance however violent the collision.
    """
    stage = heap(rng, **TIGHTLY)
    slots = [slot for slot, _ in stage.scene.geometries if slot.object_name != "ground"]
    M = np.concatenate([[moments(slot)] * slot.geometry.instances.size() for slot in slots])
    before = rows(read_state(stage.world)[1])
    pushed = turned = friction = 0
    for _ in range(40):
        stage.run(1)
        T, V = (rows(x) for x in read_state(stage.world))
        change = np.einsum("nij,njx->nix", M, V - before) / H
        before = V
        force, torque = (
            np.concatenate([slot.geometry.instances[f"contact/{name}"] for slot in slots])
            for name in ("force", "torque")
        )
        mass, centre = M[:, 0, 0], M[:, 0, 1:] / M[:, 0, :1]
        weight = mass[:, None] * (0, 0, -G)
        # 1e-11 m of a last Newton step are 1e-7 of g h² in each of some hundred iterations
        np.testing.assert_allclose(change[:, 0], weight + force, atol=1e-4 * mass.max() * G)
        about = change[:, 1:] - centre[:, :, None] * change[:, :1]
        expected = np.cross(T[:, 1:], about).sum(axis=1)
        np.testing.assert_allclose(torque, expected, atol=1e-5 * mass.max() * G)
        contacts = stage.world.contacts()
        total = contacts.normal_force[:, None] * contacts.normal + contacts.friction_force
        summed = np.zeros_like(force)
        np.add.at(summed, contacts.bodies[:, 0], total)
        hit = contacts.bodies[:, 1] >= 0
        np.add.at(summed, contacts.bodies[hit, 1], -total[hit])
        np.testing.assert_allclose(summed, force, atol=1e-12 * (1 + np.abs(total).sum()))
        pushed = max(pushed, np.abs(force).max() / (mass.max() * G))
        turned = max(turned, np.abs(torque).max())
        friction = max(friction, np.abs(contacts.friction_force).max(initial=0.0))
    assert pushed > 10 and turned > 0.1 and friction > 1  # it was violent


def test_friction_holds_back_what_slides_and_turns_its_work_into_heat():
    """A cube thrown along the floor: the force is μN against the motion, the loss its work, both by closed forms."""
    stage = Stage((0, 0, -G), **TIGHTLY, contact__eps_velocity=1e-4)
    stage.material(0.3)
    stage.ground()
    slot = stage.add("cube", box(0.1, 0.1, 0.02), [(0, 0, 0.0109)], velocity=(2.0, 0, 0))
    stage.run(10)
    m = slot.geometry.meta["mass"][0]
    x, lost, dissipated = [], [], []
    for _ in range(20):
        (found,) = stage.run(1, stage.world.contacts)
        # friction is lagged by a step: μ times the weight to what the normal force changes from step to step
        np.testing.assert_allclose(found.friction_force.sum(axis=0), [-0.3 * m * G, 0, 0], atol=2e-3 * m * G)
        x.append(slot.geometry.transforms.values[0, 0, 3])
        lost.append(stage.world.report.friction_loss)
        dissipated.append(stage.world.energies()["friction_dissipated"])
    np.testing.assert_allclose(lost[1:], 0.3 * m * G * np.diff(x), rtol=5e-3)
    np.testing.assert_allclose(lost[1:], np.diff(dissipated), rtol=1e-9)


def test_contacts_that_have_parted_come_last_and_only_tell_their_friction():
    """A cube at rest is thrown up and sideways, out of the range of the barrier within a step."""
    stage = Stage((0, 0, -G))
    stage.ground()
    stage.add("cube", scaled(BOX, 0.1), [(0, 0, 0.0508)])
    stage.run(5)
    V = np.zeros((4, 4))
    V[:3, 3] = 0.5, 0.0, 0.4
    write_state(stage.world, velocities=[V])
    seen = []
    for _ in range(3):
        stage.run(1)
        seen.append(stage.world.contacts())
    parted = next(contacts for contacts in seen if (contacts.normal_force == 0).any())
    last = parted.normal_force == 0
    assert not last[: len(last) - last.sum()].any()
    assert (parted.gap[last] >= D_HAT).all()
    assert np.abs(parted.friction_force[last]).max() > 0
    np.testing.assert_allclose(parted.normal[last], [[0, 0, 1]] * last.sum(), atol=1e-15)
    np.testing.assert_allclose(parted.point[last, 2], parted.gap[last] / 2, rtol=1e-9)


def test_reading_contacts_does_not_change_what_comes_next(rng):
    seeds = rng.integers(1 << 30)
    quiet, curious = (heap(np.random.default_rng(seeds)) for _ in range(2))
    for _ in range(25):
        quiet.world.advance()
        curious.world.advance()
        curious.world.retrieve()
        curious.world.contacts()
        curious.world.energies()
        curious.world.sanity_checker().check()
    for one, other in zip(read_state(quiet.world), read_state(curious.world), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_step_that_was_broken_off_leaves_nothing_behind_that_the_next_one_relies_on(rng, monkeypatch):
    """Candidates that were looked for on the way belong to a state that was not taken."""
    stage = heap(rng, frames=8)
    before = read_state(stage.world)
    calls = []

    def interrupted(*_) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    for _ in range(4):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            calls.clear()
            patch.setattr("dovetail.solver.contact.contact.Contact.record_motion", interrupted)
            stage.world.advance()
        for now, then in zip(read_state(stage.world), before, strict=True):
            np.testing.assert_array_equal(now, then)
        assert not stage.world.contacts().friction_force.any()
        stage.run(5)  # every frame is checked for intersections
        before = read_state(stage.world)


def test_contacts_are_known_before_the_first_step_and_right_after_a_write():
    stage = Stage((0, 0, -G))
    stage.ground()
    slot = stage.add("cube", scaled(BOX, 0.1), [(0, 0, 0.0505), (1, 0, 5.0)])
    contacts = stage.world.contacts()
    assert contacts.bodies.tolist() == [[0, -1]] * 4
    np.testing.assert_allclose(contacts.gap, 0.5e-3, rtol=1e-10)
    assert not contacts.friction_force.any()
    stage.world.retrieve()
    assert not slot.geometry.instances["contact/force"].any()
    stage.run(3)
    write_state(stage.world, transforms=[pose((0, 0, 3.0)), pose((1, 0, 0.0502))])
    contacts = stage.world.contacts()
    assert contacts.bodies.tolist() == [[1, -1]] * 4
    np.testing.assert_allclose(contacts.gap, 0.2e-3, rtol=1e-10)
    assert not contacts.friction_force.any()


def test_a_world_without_contact_has_no_contacts_and_no_attributes(start):
    stage = Stage(contact__enable=0)
    slot = stage.add("cube", BOX)
    world = start(stage.scene)
    world.advance()
    world.retrieve()
    contacts = world.contacts()
    assert len(contacts) == 0 and contacts.point.shape == (0, 3) and contacts.bodies.shape == (0, 2)
    assert "contact/force" not in slot.geometry.instances
    assert world.report.contacts == world.report.candidates == world.report.detections == 0
    assert world.energies()["barrier"] == 0.0


@pytest.mark.parametrize("call", ["contacts", "energies"])
def test_there_is_nothing_to_tell_without_a_running_world(start, call):
    from dovetail import Engine, World

    with pytest.raises(WorldError, match=rf"World\.{call}: .* call World\.init"):
        getattr(World(Engine("cpu")), call)()
    stage = Stage()
    stage.add("cubes", BOX, [(0, 0, 0), (0.5, 0.2, 0.1)])
    with pytest.raises(WorldError, match=rf"World\.{call}: .* sanity checks"):
        getattr(start(stage.scene), call)()


# ---- primitives ------------------------------------------------------------------------------------------------


def test_gradients_by_primitive_add_up_to_the_forces_and_torques_on_the_bodies(rng):
    """Over all kinds: Σ grad = −h² force, Σ x × grad = −h² torque about the origin, Σ energy = h² barrier energy."""
    stage = heap(rng, frames=30)
    world = stage.world
    feature = world.features().find(ContactSystemFeature)
    slots = [slot for slot, _ in stage.scene.geometries if slot.object_name != "ground"]
    corners = [slot.geometry.positions.values @ T[:3, :3].T + T[:3, 3] for slot in slots for T in transforms_of(slot)]
    X = np.concatenate(corners)
    owner = np.repeat(np.arange(len(corners)), [len(x) for x in corners])
    g = np.zeros_like(X)
    energy = 0.0
    counts = {}
    for kind in feature.contact_primitive_types():
        found = Geometry()
        feature.contact_energy(kind, found)
        counts[kind] = found.instances.size()
        energy += found.instances["energy"].sum() if kind.endswith("N") else 0.0
        topo = found.instances["topo"]
        assert topo.shape == (counts[kind], {"PT": 4, "EE": 4, "PE": 3, "PP": 2, "PH": 2}[kind[:2]])
        feature.contact_gradient(kind, found)
        np.add.at(g, found.instances["i"], found.instances["grad"])
        if kind[:2] != "PH":
            np.testing.assert_array_equal(found.instances["i"].reshape(topo.shape), topo)
    assert counts["PT+N"] > 0 and counts["PH+F"] > 0 and counts["PE+N"] == counts["PP+N"] == 0
    assert (
        sum(count for kind, count in counts.items() if kind.endswith("N")) == (world.contacts().normal_force > 0).sum()
    )
    assert energy / H**2 == pytest.approx(world.energies()["barrier"], rel=1e-10)
    force, torque = np.zeros((2, len(corners), 3))
    np.add.at(force, owner, -g / H**2)
    np.add.at(torque, owner, np.cross(X, -g / H**2))
    net, about = (
        np.concatenate([slot.geometry.instances[f"contact/{name}"] for slot in slots]) for name in ("force", "torque")
    )
    centres = np.concatenate(
        [T[:3, :3] @ slot.geometry.meta["mass_center"][0] + T[:3, 3] for slot in slots for T in transforms_of(slot)]
    ).reshape(-1, 3)
    size = np.abs(g).sum() / H**2
    np.testing.assert_allclose(force, net, atol=1e-9 * size)
    np.testing.assert_allclose(torque, about + np.cross(centres, net), atol=1e-9 * size)


def transforms_of(slot) -> np.ndarray:
    return slot.geometry.transforms.values


def test_hessians_by_primitive_are_symmetric_and_never_negative(rng):
    """Every primitive pushes back or slides with resistance, in whatever direction it is pushed."""
    stage = heap(rng, frames=30)
    feature = stage.world.features().find(ContactSystemFeature)
    seen = 0
    for kind in feature.contact_primitive_types():
        found = Geometry()
        feature.contact_hessian(kind, found)
        i, j, blocks = (found.instances[name] for name in ("i", "j", "hess"))
        n = {"PT": 4, "EE": 4, "PE": 3, "PP": 2, "PH": 1}[kind[:2]]
        H_all = blocks.reshape(-1, n, n, 3, 3)
        numbers = i.reshape(-1, n, n), j.reshape(-1, n, n)
        np.testing.assert_array_equal(numbers[0], numbers[1].swapaxes(1, 2))
        for block in H_all.swapaxes(2, 3).reshape(-1, 3 * n, 3 * n):
            np.testing.assert_allclose(block, block.T, atol=1e-12 * np.abs(block).max())
            assert np.linalg.eigvalsh(block)[0] > -1e-12 * np.abs(block).max()
            seen += 1
    assert seen > 20


def test_a_primitive_of_a_vertex_above_a_half_plane_is_the_barrier_itself(start):
    stage = Stage()
    stage.material(0.5, 1e8)
    stage.ground()
    stage.add("far", BOX, [(5, 5, 5)])
    stage.add("cube", scaled(BOX, 0.1), [(9, 9, 9), (0, 0, 0.0504)])
    feature = start(stage.scene).features().find(ContactSystemFeature)
    found = Geometry()
    feature.contact_energy("PH+N", found)
    value, first, second = barrier((0.4e-3) ** 2, 0.0, D_HAT)
    # eight vertices of the first geometry, eight of the first cube; the lower four of the second
    assert sorted(found.instances["topo"].tolist()) == [[16 + k, 0] for k in range(4)]
    np.testing.assert_allclose(found.instances["energy"], H**2 * 1e8 * value, rtol=1e-10)
    feature.contact_gradient("PH+N", found)
    np.testing.assert_allclose(found.instances["grad"][:, 2], H**2 * 1e8 * 2 * 0.4e-3 * first, rtol=1e-10)
    feature.contact_hessian("PH+N", found)
    stiffness = H**2 * 1e8 * (4 * 0.4e-3**2 * second + 2 * first)
    np.testing.assert_allclose(found.instances["hess"][:, 2, 2], stiffness, rtol=1e-10)
    with pytest.raises(WorldError, match=r"there is no primitive type 'PX\+N'; there are PT\+N, EE\+N"):
        feature.contact_energy("PX+N", found)


def test_the_contact_system_is_there_where_contact_is(start):
    stage = Stage(contact__enable=0)
    stage.add("cube", BOX)
    assert start(stage.scene).features().find(ContactSystemFeature) is None


# ---- report ----------------------------------------------------------------------------------------------------


def test_the_step_report_counts_contacts_candidates_detections_and_islands():
    stage = Stage((0, 0, -G))
    stage.ground()
    stage.add("cube", scaled(BOX, 0.1), [(0, 0, 0.0505), (0.03, 0.02, 0.1515), (1, 0, 0.0505), (2, 0, 5)])
    stage.run(1)
    report = stage.world.report
    assert 8 < report.contacts <= report.candidates  # four corners on the ground, twice, and some between the cubes
    assert report.detections >= 1
    assert report.islands == 3  # the two that touch are one
    stage.run(40)
    assert stage.world.report.detections <= 1
    assert stage.world.engine.frame_stats()["islands"] == stage.world.report.islands
