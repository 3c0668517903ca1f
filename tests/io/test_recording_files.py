"""A recording that exists, ends early, or is damaged or foreign never misleads."""

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
from recorded_mechanism import mechanism, running

from dovetail import Engine, World
from dovetail.errors import RecordingError, WorldError
from dovetail.io import Recorder, Recording
from dovetail.io.chunks import MAGIC, chunk_bytes

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
