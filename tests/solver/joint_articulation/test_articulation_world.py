"""External articulations in a running world: joints move as they are told, and as inertia lets them."""

from __future__ import annotations

import numpy as np
import pytest
from scenes import TIGHT, add_boxes, new_scene, rate, run

from dovetail.constitution import (
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    ExternalArticulationConstraint,
)
from dovetail.geometry.affine_body import transform_to_q

H = 0.01


def place(scene, geometry, name):
    return scene.objects.create(name).geometries.create(geometry)[0]


def articulate(scene, joints, mass, target=0.0, indices=0, name="model"):
    """Put an articulation on joints (slots); its slot."""
    geometry = ExternalArticulationConstraint().create_geometry(joints, indices)
    geometry["joint_joint"]["mass"] = np.ravel(mass)
    geometry["joint"]["delta_theta_tilde"] = target
    return place(scene, geometry, name)


def arm(mass=((2.0, 0.5), (0.5, 1.0)), target=(0.1, 0.02), massless=True, **config):
    """A turning and then sliding arm on a fixed base: scene, hinge, slider, model, links."""
    scene = new_scene(dt=H, gravity=[0, -9.8, 0], **{k.replace("/", "__"): v for k, v in TIGHT.items()}, **config)
    base = add_boxes(scene, name="base", fixed=[0])
    links = add_boxes(
        scene, [(0.5, 0, 0), (1.0, 0, 0)], name="links", instances={"external_kinetic": [int(massless)] * 2}
    )
    hinge = AffineBodyRevoluteJoint().create_geometry(
        [[0.25, 0, -0.1]], [[0.25, 0, 0.1]], [base], [0], [links], [0], [100.0]
    )
    slider = AffineBodyPrismaticJoint().create_geometry(
        [[0.75, 0, 0]], [[1.0, 0.2, 0]], [links], [0], [links], [1], [100.0]
    )
    hinge.edges["init_angle"] = 0.7
    hinge, slider = place(scene, hinge, "hinge"), place(scene, slider, "slider")
    model = articulate(scene, [hinge, slider], mass, target)
    return scene, hinge, slider, model, links


def reported(hinge, slider):
    return np.array([hinge.geometry.edges["angle/multi_turn"][0] - 0.7, slider.geometry.edges["distance"][0]])


def sliders(masses_of, accelerations, scene=None, count=2):
    """Boxes that slide up and down on a fixed base, each about its own centre, with their own gravity."""
    scene = scene or new_scene(dt=H, gravity=[0, 0, 0], **{k.replace("/", "__"): v for k, v in TIGHT.items()})
    base = add_boxes(scene, name="base", fixed=[0])
    gravity = np.zeros((count, 3))
    gravity[:, 1] = accelerations
    at = np.stack([1.0 + np.arange(count), np.zeros(count), np.zeros(count)], axis=1)
    boxes = add_boxes(
        scene, at, (0.1, 0.1, 0.1), name="boxes", density=masses_of / 1e-3, instances={"gravity": gravity}
    )
    joints = AffineBodyPrismaticJoint().create_geometry(
        at, at + np.array([0, 1, 0]), [base] * count, [0] * count, [boxes] * count, np.arange(count), [100.0] * count
    )
    return scene, place(scene, joints, "sliders")


# A last Newton step below 1e-9 m/s · h is followed by an error of its square.
EXACT = 1e-11


@pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])
def test_links_without_inertia_move_by_exactly_what_is_asked(integrator, start):
    scene, hinge, slider, model, _ = arm(integrator__type=integrator)
    world = start(scene)
    for frame in range(1, 4):
        run(world, 1)
        assert model.geometry["joint"]["delta_theta"] == pytest.approx([0.1, 0.02], abs=EXACT)
        assert reported(hinge, slider) == pytest.approx([0.1 * frame, 0.02 * frame], abs=frame * EXACT)
        assert hinge.geometry.edges["gap"][0] < EXACT


def test_targets_are_read_every_frame(start):
    scene, hinge, slider, model, _ = arm()
    world = start(scene)
    run(world, 1)
    model.geometry["joint"]["delta_theta_tilde"] = [-0.3, 0.05]
    run(world, 1)
    assert reported(hinge, slider) == pytest.approx([-0.2, 0.07], abs=2 * EXACT)


def test_a_body_without_inertia_stays_where_no_energy_moves_it(start):
    """Neither gravity nor the velocity that it is given at the start count."""
    scene = new_scene(dt=H, gravity=[0, -9.8, 0])
    velocity = rate(np.eye(4), (1.0, 0, 0))
    box = add_boxes(scene, velocities=[velocity], instances={"external_kinetic": [1]})
    run(start(scene), 5)
    np.testing.assert_array_equal(box.geometry.transforms.values[0], np.eye(4))


def test_turns_add_up_beyond_half_a_turn(start):
    scene, hinge, slider, _, _ = arm(target=(1.5, 0.0))
    world = start(scene)
    run(world, 5)
    # each of the five steps leaves its own small error
    assert reported(hinge, slider) == pytest.approx([7.5, 0.0], abs=5 * EXACT)


def test_against_inertia_the_result_is_the_weighted_mean(start):
    """½ m (δ − h² a)² + ½ M (δ − δ̃)² is least at δ = (m h² a + M δ̃)/(m + M)."""
    m, M, target, a = 2.0, 5.0, 3e-3, -9.8
    scene, joints = sliders(m, a, count=1)
    model = articulate(scene, [joints], M, target)
    world = start(scene)
    run(world, 1)
    expected = (m * H**2 * a + M * target) / (m + M)
    # pulling at the far end of r = d t stretches the body by M d²/(4 κ V h²), of order 1e-7 of d
    assert joints.geometry.edges["distance"][0] == pytest.approx(expected, rel=1e-6)
    assert model.geometry["joint"]["delta_theta"][0] == pytest.approx(expected, rel=1e-6)


def test_masses_are_read_every_frame(start):
    """Without a mass the joint is free: δ = h v + h² a."""
    scene, joints = sliders(2.0, -9.8, count=1)
    model = articulate(scene, [joints], 5.0, 3e-3)
    world = start(scene)
    run(world, 1)
    first = joints.geometry.edges["distance"][0]
    model.geometry["joint_joint"]["mass"] = 0.0
    run(world, 1)
    second = joints.geometry.edges["distance"][0] - first
    # bdf1: the velocity is first/h; the tolerance is that of the first step, see above
    assert second == pytest.approx(first - 9.8 * H**2, rel=1e-6)


def test_a_dense_mass_matrix_couples_joints_that_share_no_moving_body(start, rng):
    """With D = diag(m): (D + M) δ = D h² a + M δ̃."""
    root = rng.normal(size=(3, 3))
    M = root @ root.T + np.eye(3)
    m, a, target = 2.0, np.array([-9.8, 0.0, 4.0]), np.array([3e-3, 1e-3, -2e-3])
    scene, joints = sliders(m, a, count=3)
    articulate(scene, [joints] * 3, M, target, indices=[0, 1, 2])
    world = start(scene)
    run(world, 1)
    expected = np.linalg.solve(m * np.eye(3) + M, m * H**2 * a + M @ target)
    uncoupled = (m * H**2 * a + np.diag(M) * target) / (m + np.diag(M))
    assert joints.geometry.edges["distance"] == pytest.approx(expected, rel=1e-6)  # see above
    assert np.abs(uncoupled - expected).min() > 1e-4


def test_articulations_of_one_scene_do_not_disturb_each_other(start):
    m, a = 2.0, np.array([-9.8, 3.0, 4.0])
    scene, joints = sliders(m, a, count=3)
    articulate(scene, [joints], 5.0, 1e-3, indices=2)
    articulate(scene, [joints], 7.0, 2e-3, indices=0)
    world = start(scene)
    run(world, 1)
    M, target = np.array([7.0, 0.0, 5.0]), np.array([2e-3, 0.0, 1e-3])
    expected = (m * H**2 * a + M * target) / (m + M)
    assert joints.geometry.edges["distance"] == pytest.approx(expected, rel=1e-6)  # see above


def test_a_reference_state_replaces_the_start_of_the_step(start):
    """δθ̃ counts from an earlier pose of the links, to which they are thus brought back."""
    scene, hinge, slider, model, links = arm()
    world = start(scene)
    run(world, 1)
    earlier = links.geometry.transforms.values.copy()
    before = reported(hinge, slider)
    for _ in range(2):
        run(world, 1)
    links.geometry.instances.create("ref_dof_prev", np.zeros(12))
    links.geometry.instances["ref_dof_prev"] = transform_to_q(earlier)[..., 0]
    run(world, 1)
    assert reported(hinge, slider) == pytest.approx(before + np.array([0.1, 0.02]), abs=4 * EXACT)
    assert model.geometry["joint"]["delta_theta"] == pytest.approx([0.1, 0.02], abs=EXACT)
    # read every frame: nothing changes while reference and target stay
    run(world, 1)
    assert reported(hinge, slider) == pytest.approx(before + np.array([0.1, 0.02]), abs=4 * EXACT)


def test_a_reference_equal_to_the_state_changes_nothing(start):
    scene, hinge, slider, _, links = arm()
    world = start(scene)
    run(world, 2)
    links.geometry.instances.create("ref_dof_prev", np.zeros(12))
    links.geometry.instances["ref_dof_prev"] = transform_to_q(links.geometry.transforms.values)[..., 0]
    run(world, 1)
    assert reported(hinge, slider) == pytest.approx([0.3, 0.06], abs=3 * EXACT)


def test_the_change_is_saved_with_a_dump_and_the_run_goes_on_as_before(start):
    scene, hinge, slider, model, _ = arm(massless=False)
    world = start(scene)
    run(world, 2)
    at_dump = model.geometry["joint"]["delta_theta"].copy()
    assert world.dump()
    run(world, 3)
    later = np.concatenate([reported(hinge, slider), model.geometry["joint"]["delta_theta"]])
    assert world.recover(2)
    world.retrieve()
    np.testing.assert_array_equal(model.geometry["joint"]["delta_theta"], at_dump)
    assert np.abs(at_dump - later[2:]).max() > 1e-6
    run(world, 3)
    np.testing.assert_array_equal(
        np.concatenate([reported(hinge, slider), model.geometry["joint"]["delta_theta"]]), later
    )


def test_a_dump_of_other_articulations_is_refused(start, tmp_path, caplog):
    scene, joints = sliders(2.0, [0.0, 0.0], count=2)
    articulate(scene, [joints], 1.0, indices=0)
    assert start(scene, tmp_path).dump()
    scene, joints = sliders(2.0, [0.0, 0.0], count=2)
    articulate(scene, [joints], 1.0, indices=1)
    assert not start(scene, tmp_path).recover(0)
    assert "another scene" in caplog.text
