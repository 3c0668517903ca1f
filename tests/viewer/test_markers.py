"""Joints as things to look at."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import Quaternion
from dovetail.io import Recording
from dovetail.viewer.markers import JointDrawing, joint_frames, joint_markers, limit_sectors
from dovetail.viewer.pose import split
from dovetail.viewer.source import joint_offsets


@pytest.fixture
def recording(recorded):
    with Recording(recorded) as opened:
        yield opened


def placed(markers, transforms):
    """Where a set of markers draws the vertices of its mesh: (n, v, 3)."""
    wxyz, at = markers.placed(transforms, split(transforms))
    R = np.stack([Quaternion(q).matrix() for q in wxyz])
    return np.einsum("nij,nvj->nvi", R, markers.scales[:, None] * markers.mesh.vertices) + at[:, None]


def made(recording, make, offsets=None, seen_from=(0.0, -5.0, 0.0)):
    offsets = joint_offsets(recording.joint_states(0)) if offsets is None else offsets
    T, bodies = recording.transforms(0), recording.bodies
    joints = zip(recording.joints, offsets, strict=True)
    return make([JointDrawing(joint, bodies, T, offset, np.array(seen_from)) for joint, offset in joints])


def test_every_kind_of_joint_gets_its_markers(recording):
    bars, balls, blocks = made(recording, joint_markers)
    # the hinge's axis and pointer, the rail; the ball; two stops, the runner and the weld
    assert [len(m.owners) for m in (bars, balls, blocks)] == [3, 1, 4]
    (sectors,) = made(recording, limit_sectors)
    assert len(sectors.owners) == 1


def test_the_bar_of_a_hinge_lies_on_its_axis_in_every_frame_and_sticks_out_of_the_arm(recording):
    bars = made(recording, joint_markers)[0]
    for frame in (0, 30, -1):
        points = placed(bars, recording.transforms(frame))
        axis = next(p for p in points if np.ptp(p[:, 1]) > 0.05)
        # (0.05, y, 0.9) on the fixed post, within the radius of the bar
        assert np.linalg.norm(axis[:, [0, 2]] - [0.05, 0.9], axis=1).max() < 0.01
        assert axis[:, 1].min() < -0.03 and axis[:, 1].max() > 0.03


def test_the_pointer_of_a_limit_shows_the_angle_on_the_ring(recording):
    bars, (sectors,) = made(recording, joint_markers)[0], made(recording, limit_sectors)
    arm = recording.body("arm")
    (pointer,) = np.flatnonzero(bars.owners == arm)
    for frame in (0, -1):
        T = recording.transforms(frame)
        tip = placed(bars, T)[pointer]
        wxyz, at = sectors.placed(T, split(T))
        R = Quaternion(wxyz[0]).matrix()
        local = (tip - at[0]) @ R
        direction = local[np.argmax(np.linalg.norm(local, axis=1))]
        shown = np.arctan2(direction[1], direction[0])
        # a bar as thin as 5 % of its length, whose rim is up to 3° beside its middle line
        assert shown == pytest.approx(recording.history("hinge", "angle")[frame], abs=0.06)


def test_the_stops_of_a_rail_stand_at_its_limits_and_the_runner_where_it_is(recording):
    blocks = made(recording, joint_markers)[2]
    owners = [recording.cast.bodies[k].name for k in blocks.owners]
    centres = placed(blocks, recording.transforms(-1)).mean(axis=1)
    stops = sorted(
        x for x, name, z in zip(centres[:, 0], owners, centres[:, 2], strict=True) if name == "post" and z < 0.6
    )
    np.testing.assert_allclose(stops, [-0.6, -0.2], atol=1e-3)
    distance = recording.history("rail", "distance")[-1]
    assert centres[owners.index("cart"), 0] == pytest.approx(-0.2 - distance, abs=1e-3)


@pytest.mark.parametrize("side", [-1, 1])
def test_the_ring_of_a_limit_is_on_the_side_that_is_seen(recording, side):
    (sectors,) = made(recording, limit_sectors, seen_from=(0.0, 5.0 * side, 0.0))
    assert side * placed(sectors, recording.transforms(0))[0, :, 1].mean() > 0.025  # half the width of the arm


def test_limits_count_from_the_initial_angle(recording):
    (shifted,) = made(recording, limit_sectors, offsets=[0.25, 0, 0, 0])
    corners = shifted.mesh.vertices
    angles = np.arctan2(corners[:, 1], corners[:, 0])
    assert angles.min() == pytest.approx(-1.25) and angles.max() == pytest.approx(1.25)


def test_frames_of_joints_sit_at_their_anchors(recording):
    markers = joint_frames(recording.cast.joints)
    T = recording.transforms(-1)
    _, at = markers.placed(T, split(T))
    np.testing.assert_allclose(at[0], [0.05, -0.1, 0.9], atol=1e-6)
    assert joint_frames([]) is None
