"""Articulations that make no sense are refused with one sentence, at init or in the frame in which they are edited."""

from __future__ import annotations

import numpy as np
import pytest
from scenes import add_boxes, new_scene

from dovetail.constitution import (
    AffineBodyRevoluteJoint,
    AffineBodySphericalJoint,
    ExternalArticulationConstraint,
)
from dovetail.errors import ConstitutionError


@pytest.fixture
def built():
    """A chain of three links with two hinges and an articulation on both: scene, links' slot, model's slot."""
    scene = new_scene()
    links = add_boxes(scene, [(0.5 * k, 0, 0) for k in range(3)], name="links", fixed=[0])
    ends = np.array([[0.25, 0, -0.1], [0.75, 0, -0.1]])
    joints = AffineBodyRevoluteJoint().create_geometry(
        ends, ends + np.array([0, 0, 0.2]), [links] * 2, [0, 1], [links] * 2, [1, 2], [100.0] * 2
    )
    hinges, _ = scene.objects.create("hinges").geometries.create(joints)
    model = ExternalArticulationConstraint().create_geometry([hinges, hinges], [0, 1])
    model["joint_joint"]["mass"] = [1.0, 0.0, 0.0, 1.0]
    slot, _ = scene.objects.create("model").geometries.create(model)
    return scene, links, slot


BAD = {
    "not a number": ("joint", "delta_theta_tilde", [0.0, np.nan], r"joint 1 of 'model' has delta_theta_tilde = nan"),
    "half a turn": (
        "joint",
        "delta_theta_tilde",
        [0.0, -3.2],
        r"joint 1 of 'model' has delta_theta_tilde = -3.2 \[rad\], half a turn or more in a step.*smaller dt",
    ),
    "asymmetric": (
        "joint_joint",
        "mass",
        [1.0, 0.5, 0.0, 1.0],
        r"'model' the mass matrix .* symmetric; use \(M \+ Mᵀ\)/2",
    ),
    "infinite": ("joint_joint", "mass", [1.0, 0.0, 0.0, np.inf], r"'model' the mass matrix .* not finite"),
    "indefinite": (
        "joint_joint",
        "mass",
        [1.0, 2.0, 2.0, 1.0],
        r"'model' the mass matrix in joint_joint has the eigenvalue -1,.* positive semi-definite",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_edit_stops_its_frame_and_a_good_one_lets_it_go_on(case, built, start):
    scene, _, model = built
    collection, attribute, values, message = BAD[case]
    world = start(scene)
    world.advance()
    good = model.geometry[collection][attribute].copy()
    model.geometry[collection][attribute] = values
    with pytest.raises(ConstitutionError, match=message):
        world.advance()
    assert world.frame() == 1
    model.geometry[collection][attribute] = good
    world.advance()
    assert world.frame() == 2


@pytest.mark.parametrize(
    ("attribute", "values", "message"),
    [
        (
            "geo_id",
            [1, 77],
            r"joint 1 of 'model' names geometry 77, which holds no joint with a coordinate; there are \[1\]",
        ),
        ("index", [0, 2], r"joint 1 of 'model' is joint 2 of 'hinges', which has 2 \(0\.\.1\)"),
        ("index", [-1, 0], r"joint 0 of 'model' is joint -1 of 'hinges'"),
    ],
)
def test_joints_that_do_not_exist_are_refused_at_init(attribute, values, message, built, start):
    scene, _, model = built
    model.geometry["joint"][attribute] = values
    with pytest.raises(ConstitutionError, match=message):
        start(scene)


@pytest.mark.parametrize(
    ("default", "message"),
    [
        (0.0, r"'links' ref_dof_prev is of type .*; create it with Vector12"),
        (np.zeros(12), r"instance 0 of 'links' has ref_dof_prev = \[0.0, .*which is no pose; .*transform_to_q"),
        (np.full(12, np.nan), r"instance 0 of 'links' has ref_dof_prev = \[nan"),
    ],
)
def test_a_reference_that_is_no_pose_is_refused(default, message, built, start):
    scene, links, _ = built
    world = start(scene)
    links.geometry.instances.create("ref_dof_prev", default)
    with pytest.raises(ConstitutionError, match=message):
        world.advance()
    assert world.frame() == 0


def test_a_joint_without_a_coordinate_cannot_be_articulated(built):
    scene, links, _ = built
    ball = AffineBodySphericalJoint().create_geometry([[0.25, 0, 0]], [links], [0], [links], [1], [100.0])
    slot, _ = scene.objects.create("ball").geometries.create(ball)
    with pytest.raises(ConstitutionError, match=r"joint 0 is .*holds no joint with a coordinate"):
        ExternalArticulationConstraint().create_geometry([slot])
