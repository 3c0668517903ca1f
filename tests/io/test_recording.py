"""Recordings: what is written is read back exactly."""

from __future__ import annotations

import numpy as np
import pytest
from recorded_mechanism import CORNERS, running

from dovetail import Scene
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyRod,
)
from dovetail.errors import RecordingError
from dovetail.geometry import label_surface, linemesh, tetmesh
from dovetail.io import Recorder, Recording


def test_every_frame_is_read_back_as_the_world_said_it(recorded):
    path, said = recorded
    with Recording(path) as recording:
        assert len(recording) == 8
        assert recording.frames.tolist() == list(range(8))
        np.testing.assert_allclose(recording.times, 0.01 * np.arange(8), rtol=1e-14)  # sums of 0.01
        for frame in (7, 0, 3, -1):  # in any order
            transforms, gaps, energies, contacts = said[frame]
            np.testing.assert_array_equal(recording.transforms(frame), transforms)
            assert [state["gap"] for state in recording.joint_states(frame)] == gaps
            assert recording.energies(frame) == energies
            found = recording.contacts(frame)
            assert len(found) == len(contacts)
            for name in ("point", "normal", "gap", "normal_force", "friction_force", "bodies", "plane"):
                np.testing.assert_array_equal(getattr(found, name), getattr(contacts, name))
        assert len(recording.contacts(0)) == 4  # the cube on the ground begins within d_hat
        assert recording.iterations[0] == 0 and recording.iterations[-1] > 0


def test_bodies_planes_and_settings_are_told_once(recorded):
    with Recording(recorded[0]) as recording:
        assert [body.name for body in recording.bodies] == [f"cubes[{k}]" for k in range(6)]
        assert [body.fixed for body in recording.bodies] == [True] + 5 * [False]
        assert {body.color for body in recording.bodies} == {(0.25, 0.5, 0.75)}
        assert len(recording.shapes) == 1
        np.testing.assert_array_equal(recording.bodies[2].vertices, CORNERS)
        assert recording.bodies[2].triangles.shape == (12, 3)
        assert recording.bodies[2].edges.shape == (0, 2)  # triangles have them
        assert np.isclose(recording.bodies[1].mass, 8.0)
        assert [(plane.name, plane.normal.tolist()) for plane in recording.planes] == [("floor", [0, 1, 0])]
        assert (recording.dt, recording.gravity.tolist(), recording.d_hat) == (0.01, [0, -9.8, 0], 0.01)


def test_a_joint_says_where_it_sits_on_its_bodies(recorded):
    path, said = recorded
    with Recording(path) as recording:
        kinds = {joint.name: joint.kind for joint in recording.joints}
        assert kinds == {"hinge": "revolute", "slider": "prismatic", "ball": "spherical", "weld": "fixed"}
        hinge, slider, ball, _ = recording.joints
        assert (hinge.left, hinge.right, hinge.limit) == (0, 1, (-0.5, 0.75))
        assert slider.limit is None and (slider.coordinate, slider.unit) == ("distance", "m")
        assert ball.coordinate == "" and not ball.has_axis and hinge.has_axis
        np.testing.assert_allclose(hinge.left_frame[0], [0, 0, 1], atol=1e-15)
        for k, joint in enumerate(recording.joints):
            for frame in (0, 7):
                T = recording.transforms(frame)
                left = T[joint.left, :3, :3] @ joint.left_anchor + T[joint.left, :3, 3]
                right = T[joint.right, :3, :3] @ joint.right_anchor + T[joint.right, :3, 3]
                apart = right - left
                if joint.kind == "prismatic":  # free along the axis
                    axis = T[joint.left, :3, :3] @ joint.left_frame[0]
                    apart = apart - apart @ axis * axis
                # the world's gap takes the larger of both bodies' views; bodies stretch by 1e-6
                assert abs(np.linalg.norm(apart) - said[frame][1][k]) < 1e-6


def test_a_recording_that_begins_late_has_the_same_joints(world, tmp_path):
    paths = tmp_path / "early.dove", tmp_path / "late.dove"
    Recorder(paths[0], world).close()
    for _ in range(10):
        world.advance()
    world.retrieve()
    Recorder(paths[1], world).close()
    assert Recording(paths[0]).head == Recording(paths[1]).head


def test_the_history_of_a_joint_is_one_number_per_frame(recorded):
    with Recording(recorded[0]) as recording:
        angles = recording.history("hinge", "angle")
        assert angles.shape == (8,)
        assert angles[0] == 0 and angles[-1] < 0  # it falls
        assert angles[-1] == recording.joint_states(-1)[0]["angle"]
        assert recording.history("ball", "reaction/force").shape == (8, 3)
        with pytest.raises(RecordingError, match=r"joint 'hinge' of .* has no 'distance'; it has: .*angle"):
            recording.history("hinge", "distance")
        with pytest.raises(RecordingError, match="has no joint 'knee'; there are: 'hinge', 'slider', 'ball', 'weld'"):
            recording.history("knee", "angle")
        with pytest.raises(RecordingError, match="has 8 frames, there is no frame 8"):
            recording.transforms(8)


def test_only_every_so_many_frames_are_kept_when_asked(world, tmp_path):
    with Recorder(tmp_path / "thin.dove", world, every=3) as recorder:
        kept = [recorder.write()]
        for _ in range(7):
            world.advance()
            kept.append(recorder.write())
    assert kept == [True, False, False, True, False, False, True, False]
    assert Recording(tmp_path / "thin.dove").frames.tolist() == [0, 3, 6]


def test_the_surface_of_tetrahedra_and_the_lines_of_rods_are_recorded(tmp_path):
    scene = Scene({"dt": 0.01})
    tet = tetmesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
    AffineBodyConstitution().apply_to(tet, kappa=1e8)
    rod = linemesh([[0.0, 3, 0], [1, 3, 0]], [[0, 1]])
    AffineBodyRod().apply_to(rod, kappa=1e8, thickness=0.02)
    for name, mesh in (("tet", tet), ("rod", rod)):
        label_surface(mesh)
        scene.objects.create(name).geometries.create(mesh)
    Recorder(tmp_path / "shapes.dove", running(scene, tmp_path)).close()
    with Recording(tmp_path / "shapes.dove") as recording:
        tet_body, rod_body = recording.bodies
        assert tet_body.triangles.shape == (4, 3) and tet_body.shape.thickness == 0
        assert rod_body.edges.tolist() == [[0, 1]] and rod_body.shape.thickness == 0.02
        a, b, c = (tet_body.vertices[tet_body.triangles[:, k]] for k in range(3))
        outward = np.einsum("ti,ti->t", np.cross(b - a, c - a), a - tet_body.mass_center)
        assert (outward > 0).all()
        assert tet_body.color != rod_body.color
