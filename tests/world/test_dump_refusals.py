"""Dumps that cannot be read or written: refused with the reason, and nothing changes."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scenes import add_boxes, assert_same_arrays, dump_file, dumped, new_scene, rate, run, small_scene

from dovetail import Scene


def spinning() -> Scene:
    scene = new_scene()
    add_boxes(scene, velocities=[rate(np.eye(4), (1, 2, 3), (4, 5, 6))])
    return scene


def other_scene(path: Path) -> None:
    rewrite(path, lambda header, arrays: header.update(scene="0" * 64))


def rewrite(path: Path, change: Callable[[dict, dict], None]) -> None:
    """Write the file again with another header or other arrays."""
    with np.load(path, allow_pickle=False) as found:
        arrays = {name: found[name] for name in found.files}
    header = json.loads(arrays.pop("header").tobytes())
    change(header, arrays)
    content = io.BytesIO()
    np.savez(content, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)
    path.write_bytes(content.getvalue())


def replace_header(path: Path, text: bytes) -> None:
    with np.load(path, allow_pickle=False) as found:
        arrays = {name: found[name] for name in found.files if name != "header"}
    content = io.BytesIO()
    np.savez(content, header=np.frombuffer(text, np.uint8), **arrays)
    path.write_bytes(content.getvalue())


def single_array() -> bytes:
    content = io.BytesIO()
    np.save(content, np.zeros(3))
    return content.getvalue()


FLAWS: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:-700]), "is damaged"),
    "empty": (lambda path: path.write_bytes(b""), "is damaged"),
    "text": (lambda path: path.write_text("state"), "is damaged"),
    "a single array": (lambda path: path.write_bytes(single_array()), "is damaged"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "is damaged"),
    "no header": (lambda path: np.savez(path, Q=np.zeros(3)), "is damaged"),
    "header not JSON": (lambda path: replace_header(path, b"{"), "is damaged"),
    "header not a table": (lambda path: replace_header(path, b"[1]"), "is damaged"),
    "newer version": (
        lambda path: rewrite(path, lambda header, arrays: header.update(version=99)),
        "has version 99 of the format, this program reads version 2",
    ),
    "other format": (lambda path: rewrite(path, lambda header, arrays: header.update(format="x")), "of the format"),
    "other frame": (lambda path: rewrite(path, lambda header, arrays: header.update(frame=7)), "it is frame 7"),
    "other scene": (other_scene, "is of another scene"),
    "array missing": (lambda path: rewrite(path, lambda header, arrays: arrays.pop("state/V")), "holds other arrays"),
    "array too much": (
        lambda path: rewrite(path, lambda header, arrays: arrays.update(more=np.zeros(1))),
        "holds other arrays",
    ),
    "other shape": (
        lambda path: rewrite(path, lambda header, arrays: arrays.update({"state/V": np.zeros((2, 4, 3))})),
        "holds other arrays",
    ),
    "other type": (
        lambda path: rewrite(path, lambda header, arrays: arrays.update({"state/V": np.full((1, 4, 3), "x")})),
        "holds other arrays",
    ),
}


@pytest.mark.parametrize("flaw", sorted(FLAWS))
def test_a_bad_file_is_refused_and_nothing_changes(flaw, start, tmp_path, caplog):
    spoil, reason = FLAWS[flaw]
    world = start(spinning())
    run(world, 3)
    world.dump()
    run(world, 2)
    before = dumped(world)
    dump_file(tmp_path, 5).unlink()
    spoil(dump_file(tmp_path, 3))
    with caplog.at_level(logging.ERROR, "dovetail"):
        assert world.recover(3) is False
    (record,) = caplog.records
    assert reason in record.getMessage() and "nothing was changed" in record.getMessage()
    assert world.frame() == 5
    assert_same_arrays(dumped(world), before)
    world.advance()


def test_no_damage_by_single_bytes_gets_through(start, tmp_path, rng, caplog):
    """Whatever byte is hit: the file is refused, or (in a field that zip does not use) it reads as it was."""
    world = start(small_scene(integrator__type="bdf2"))
    run(world, 3)
    saved = dumped(world)
    path = dump_file(tmp_path, 3)
    content = path.read_bytes()
    run(world, 1)
    now = dumped(world)
    caplog.set_level(logging.CRITICAL, "dovetail")
    refused = 0
    for place in rng.integers(len(content), size=150):
        broken = bytearray(content)
        broken[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(broken)
        if world.recover(3):
            assert_same_arrays(dumped(world), saved)
            world.recover(4)
        else:
            refused += 1
        assert world.frame() == 4
    assert refused > 100
    assert_same_arrays(dumped(world), now)


def test_a_dump_of_another_scene_is_refused(start, caplog):
    first = start(spinning())
    run(first, 2)
    first.dump()
    heavier = new_scene()
    add_boxes(heavier, density=1001.0)
    second = start(heavier)
    with caplog.at_level(logging.ERROR, "dovetail"):
        assert second.recover(2) is False
    assert "is of another scene: bodies, masses, joints, surfaces" in caplog.text


def test_a_workspace_that_vanished_makes_dump_fail_softly(start, tmp_path, caplog):
    (tmp_path / "gone").mkdir()
    world = start(spinning(), tmp_path / "gone")
    run(world, 1)
    (tmp_path / "gone").rmdir()
    with caplog.at_level(logging.ERROR, "dovetail"):
        assert world.dump() is False
    assert "World.dump: frame 1 could not be saved in" in caplog.text
    run(world, 1)


def test_a_full_disk_leaves_the_old_dump_and_no_scraps(start, tmp_path, monkeypatch, caplog):
    world = start(spinning())
    run(world, 1)
    world.dump()
    old = dump_file(tmp_path, 1).read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with caplog.at_level(logging.ERROR, "dovetail"):
        assert world.dump() is False
    assert "No space left on device" in caplog.text
    assert dump_file(tmp_path, 1).read_bytes() == old
    assert [path.name for path in (tmp_path / "dump").iterdir()] == ["state.1.npz"]
