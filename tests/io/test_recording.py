"""Recordings: what is written is read back exactly, and a torn, damaged or foreign file never misleads."""

from __future__ import annotations

import json
import logging
import os
import signal
import struct
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from dovetail import Engine, Scene, World
from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyDrivingRevoluteJoint,
    AffineBodyFixedJoint,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointLimit,
    AffineBodyRod,
    AffineBodySphericalJoint,
)
from dovetail.errors import RecordingError, WorldError
from dovetail.geometry import ground, label_surface, linemesh, tetmesh, trimesh
from dovetail.io import Recorder, Recording
from dovetail.io.chunks import MAGIC, chunk_bytes

CORNERS = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
SIDES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
PLACES = [(0, 1.0, 0), (0.3, 1.0, 0), (0.6, 1.0, 0), (0.9, 1.0, 0), (1.2, 1.0, 0), (0, 0.105, 0)]


def mechanism() -> Scene:
    """A chain that hangs from a fixed cube by one joint of each kind, and a cube on the ground."""
    scene = Scene({"dt": 0.01})
    cubes = trimesh(CORNERS, SIDES)
    label_surface(cubes)
    AffineBodyConstitution().apply_to(cubes, kappa=1e8)
    cubes.instances.resize(6)
    cubes.instances["transform"][:, :3, 3] = PLACES
    cubes.instances["is_fixed"] = [1, 0, 0, 0, 0, 0]
    cubes.instances.create("color", np.array([0.25, 0.5, 0.75]))
    slot, _ = scene.objects.create("cubes").geometries.create(cubes)
    ends = lambda k: ([slot], [k], [slot], [k + 1], [100.0])  # noqa: E731
    hinge = AffineBodyRevoluteJoint().create_geometry([[0.15, 1, 0]], [[0.15, 1, 1]], *ends(0))
    AffineBodyRevoluteJointLimit().apply_to(hinge, -0.5, 0.75)
    AffineBodyDrivingRevoluteJoint().apply_to(hinge)
    scene.objects.create("hinge").geometries.create(hinge)
    slider = AffineBodyPrismaticJoint().create_geometry([[0.45, 1, 0]], [[1.45, 1, 0]], *ends(1))
    scene.objects.create("slider").geometries.create(slider)
    scene.objects.create("ball").geometries.create(AffineBodySphericalJoint().create_geometry([[0.75, 1, 0]], *ends(2)))
    scene.objects.create("weld").geometries.create(AffineBodyFixedJoint().create_geometry(*ends(3)))
    scene.objects.create("floor").geometries.create(ground(0.0))
    return scene


def running(scene: Scene, tmp_path) -> World:
    world = World(Engine("cpu", tmp_path))
    world.init(scene)
    return world


@pytest.fixture
def world(tmp_path) -> World:
    return running(mechanism(), tmp_path)


@pytest.fixture
def recorded(world, tmp_path):
    """A recording of eight frames and what the world said in each."""
    path = tmp_path / "run.dove"
    said = []
    joints = [slot for slot, _ in world.scene.geometries][1:5]
    with Recorder(path, world) as recorder:
        for frame in range(8):
            if frame:
                world.advance()
            assert recorder.write()
            cubes = world.scene.objects.find("cubes")[0]
            transforms = next(iter(cubes.geometries)).geometry.transforms.values.copy()
            gaps = [
                float((s.geometry.edges if s.geometry.edges.size() else s.geometry.vertices)["gap"][0]) for s in joints
            ]
            said.append((transforms, gaps, world.energies(), world.contacts()))
    return path, said


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


# --- files that exist, end early or are damaged -----------------------------------------------------------------


def test_an_existing_file_is_refused_replaced_or_continued_as_asked(world, recorded, tmp_path):
    path, _ = recorded
    before = path.read_bytes()
    with pytest.raises(RecordingError, match=r"exists already; .* overwrite=True .* append=True"):
        Recorder(path, world)
    assert path.read_bytes() == before
    with Recorder(path, world, append=True) as recorder:
        world.advance()
        recorder.write()
    recording = Recording(path)
    assert recording.frames.tolist() == [*range(8), 8]
    assert np.isclose(recording.times[-1], 0.08)
    Recorder(path, world, overwrite=True).close()
    assert len(Recording(path)) == 0


def test_a_recording_of_another_scene_is_not_continued(recorded, tmp_path):
    path, _ = recorded
    before = path.read_bytes()
    other = mechanism()
    other.config["gravity"] = [0, 0, 0]
    with pytest.raises(RecordingError, match="other bodies or joints"):
        Recorder(path, running(other, tmp_path), append=True)
    assert path.read_bytes() == before


def test_a_file_cut_anywhere_gives_the_frames_before_the_cut(recorded, tmp_path, caplog):
    path, said = recorded
    content = path.read_bytes()
    with Recording(path) as whole:
        ends = [chunk.end for chunk in whole._chunks]
    cut = tmp_path / "cut.dove"
    rng = np.random.default_rng(3)
    for length in [*rng.integers(ends[0], len(content), 12).tolist(), ends[4], ends[4] + 1, ends[4] + 20]:
        cut.write_bytes(content[:length])
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="dovetail"), Recording(cut) as recording:
            assert len(recording) == sum(end <= length for end in ends)
            np.testing.assert_array_equal(recording.transforms(-1), said[len(recording) - 1][0])
        assert bool(caplog.messages) == (length not in ends)


def test_a_torn_tail_is_removed_before_a_recording_is_continued(world, recorded, caplog):
    path, _ = recorded
    content = path.read_bytes()
    path.write_bytes(content[:-100])
    with caplog.at_level(logging.WARNING, logger="dovetail"), Recorder(path, world, append=True) as recorder:
        recorder.write()
    assert "killed" in caplog.text
    assert Recording(path).frames.tolist() == [*range(7), 7]


def test_a_zero_filled_tail_is_not_taken_for_a_frame(recorded, caplog):
    """After a power cut the length may be right and the content missing."""
    path, _ = recorded
    content = bytearray(path.read_bytes())
    content[-500:] = bytes(500)
    path.write_bytes(content)
    with caplog.at_level(logging.WARNING, logger="dovetail"):
        assert len(Recording(path)) == 7


def test_a_damaged_frame_is_refused_and_the_others_are_read(recorded):
    path, said = recorded
    content = bytearray(path.read_bytes())
    with Recording(path) as whole:
        content[whole._chunks[3].start + 100] ^= 1
    path.write_bytes(content)
    with Recording(path) as recording:
        with pytest.raises(RecordingError, match=r"frame 3 of .* is damaged .*; the other frames can be read"):
            recording.transforms(3)
        np.testing.assert_array_equal(recording.transforms(4), said[4][0])


def test_a_frame_whose_beginning_is_damaged_is_told_and_the_others_are_read(recorded, caplog):
    """Its length is not to be believed then: the frames behind it are looked for."""
    path, said = recorded
    whole = path.read_bytes()
    with Recording(path) as recording:
        third = recording._chunks[3]
    for place in (third.begin, third.begin + 9, third.begin + 17, third.start + 10):  # tag, length, checksum, time
        content = bytearray(whole)
        content[place] ^= 1
        path.write_bytes(content)
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="dovetail"), Recording(path) as recording:
            assert recording.frames.tolist() == [0, 1, 2, 4, 5, 6, 7]
            np.testing.assert_array_equal(recording.transforms(3), said[4][0])
        (message,) = caplog.messages
        assert f"the bytes {third.begin} to {third.end} of" in message
        assert "one frame or more behind the first 3 is lost; 7 frames are read" in message


def test_a_recording_of_the_earlier_format_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "old.dove"
    path.write_bytes(b"\x89DVT\r\n\x1a\n" + bytes(100))
    with pytest.raises(RecordingError, match=r"has version 1 of the format, .*; this program reads version 2"):
        Recording(path)


def test_frames_written_meanwhile_are_found(world, tmp_path):
    path = tmp_path / "live.dove"
    with Recorder(path, world) as recorder:
        recorder.write()
        with Recording(path) as recording:
            assert len(recording) == 1
            world.advance()
            recorder.write()
            assert recording.refresh() == 2
            assert recording.times.tolist() == [0.0, 0.01]


KILLED = """
    import os, signal, sys
    sys.path[:0] = {path!r}
    from io_test_recording import Recorder, World, Engine, mechanism
    world = World(Engine("cpu", {workspace!r}))
    world.init(mechanism())
    recorder = Recorder({file!r}, world)
    for _ in range(5):
        world.advance()
        recorder.write()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_all_frames_it_wrote(tmp_path):
    file = tmp_path / "killed.dove"
    code = textwrap.dedent(KILLED).format(path=[str(tmp_path)], workspace=str(tmp_path), file=str(file))
    (tmp_path / "io_test_recording.py").symlink_to(__file__)
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == -signal.SIGKILL
    assert Recording(file).frames.tolist() == [1, 2, 3, 4, 5]


def header(recorded) -> tuple[dict, bytes]:
    content = recorded[0].read_bytes()
    length = struct.unpack_from("<Q", content, 16)[0]
    return json.loads(content[28 : 28 + length]), content[28 + length :]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 99}, "version 99 of the format, written by dovetail .*; this one reads up to 2, update it"),
        ({"format": "song"}, "it calls itself 'song'"),
        ({"bodies": 3}, "header does not make sense"),
        ({"bodies": []}, "connects bodies 0 and 1 of 0"),
        ({"shapes": []}, "header does not make sense"),
        ({"gravity": [1, 2]}, "not 3 numbers"),
        ({"groups": [{"joints": -4, "columns": []}]}, "negative size"),
        ({"groups": [{"joints": 10**15, "columns": []}]}, "do not have 4 joints together"),
        ({"groups": [{"joints": float("inf"), "columns": []}]}, "header does not make sense .OverflowError"),
        ({"joints": [{}, {}, {}, {}]}, "header does not make sense .KeyError"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused_in_one_paragraph(recorded, tmp_path, change, message):
    document, rest = header(recorded)
    bad = tmp_path / "bad.dove"
    bad.write_bytes(MAGIC + chunk_bytes(b"HEAD", json.dumps({**document, **change}).encode()) + rest)
    with pytest.raises(RecordingError, match=message) as caught:
        Recording(bad)
    assert "\n" not in str(caught.value) and str(bad) in str(caught.value)


def test_frames_that_do_not_fit_the_header_are_refused(recorded, tmp_path):
    document, rest = header(recorded)
    bad = tmp_path / "bad.dove"
    bad.write_bytes(MAGIC + chunk_bytes(b"HEAD", json.dumps({**document, "energies": ["one"]}).encode()) + rest)
    with pytest.raises(RecordingError, match="does not fit the header"):
        Recording(bad).read(0)


def test_random_bytes_never_cause_anything_but_a_clear_error(recorded, tmp_path, caplog):
    content = recorded[0].read_bytes()
    rng = np.random.default_rng(11)
    bad = tmp_path / "bad.dove"
    with caplog.at_level(logging.CRITICAL, logger="dovetail"):
        for _ in range(150):
            noisy = bytearray(content)
            for place in rng.integers(0, len(noisy), 3):
                noisy[place] = rng.integers(256)
            if rng.random() < 0.5:  # a valid checksum over a changed header
                length = struct.unpack_from("<Q", content, 16)[0]
                text = bytearray(content[28 : 28 + length])
                text[rng.integers(0, length)] = rng.integers(32, 127)
                noisy[: 28 + length] = MAGIC + chunk_bytes(b"HEAD", bytes(text))
            bad.write_bytes(noisy)
            try:
                with Recording(bad) as recording:
                    for frame in range(len(recording)):
                        recording.joint_states(frame)
            except RecordingError:
                pass


def test_files_that_are_no_recordings_are_refused(tmp_path):
    for content in (b"", b"hello", MAGIC, MAGIC + chunk_bytes(b"FRAM", b"")):
        path = tmp_path / "song.mp3"
        path.write_bytes(content)
        with pytest.raises(RecordingError, match=r"is not a recording|header is missing"):
            Recording(path)
    with pytest.raises(RecordingError, match=r"cannot read .*nowhere.*No such file"):
        Recording(tmp_path / "nowhere.dove")


def test_a_recorder_needs_a_running_world_a_folder_and_a_sensible_rate(world, tmp_path):
    with pytest.raises(WorldError, match=r"call World.init"):
        Recorder(tmp_path / "a.dove", World(Engine("cpu", tmp_path)))
    with pytest.raises(RecordingError, match="every = 0; give 1"):
        Recorder(tmp_path / "a.dove", world, every=0)
    with pytest.raises(RecordingError, match=r"cannot write .*the folder does not exist"):
        Recorder(tmp_path / "no" / "a.dove", world)
    recorder = Recorder(tmp_path / "a.dove", world)
    recorder.close()
    recorder.close()
    with pytest.raises(RecordingError, match="is closed; make a new Recorder with append=True"):
        recorder.write()
