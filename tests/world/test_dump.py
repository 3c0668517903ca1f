"""Dump and recover: bit-exact, and never harmed by a bad file."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scenes import add_boxes, add_chain, new_scene, rate, run

from dovetail import Scene, World
from dovetail.constitution import AffineBodyDrivingRevoluteJoint, AffineBodyRevoluteJoint


def spinning(integrator: str) -> Scene:
    scene = new_scene(integrator__type=integrator)
    add_boxes(scene, velocities=[rate(np.eye(4), (1, 2, 3), (4, 5, 6))])
    return scene


def chained(integrator: str) -> Scene:
    scene = new_scene(integrator__type=integrator)
    add_chain(scene, 4)
    return scene


def driven(integrator: str) -> Scene:
    """A bar on a hinge, driven for three frames and then held where it is: joints have a state of their own."""
    scene = new_scene(integrator__type=integrator)
    base = add_boxes(scene, [(0, 0, 0)], name="base", fixed=[0])
    bar = add_boxes(scene, [(0.5, 0, 0)], name="bar")
    hinge = AffineBodyRevoluteJoint().create_geometry([[0.25, 0, -1]], [[0.25, 0, 1]], [base], [0], [bar], [0], [100.0])
    AffineBodyDrivingRevoluteJoint().apply_to(hinge, 10.0)
    hinge.edges["driving/is_constrained"] = 1
    hinge.edges["aim_angle"] = 0.4
    owner = scene.objects.create("hinge")
    owner.geometries.create(hinge)

    def hold(info) -> None:
        info.geo_slots()[0].geometry.edges["is_passive"] = int(info.frame() > 3)

    scene.animator.insert(owner, hold)
    return scene


def dump_file(workspace: Path, frame: int) -> Path:
    return workspace / "dump" / f"state.{frame}.npz"


def arrays_of(world: World) -> dict[str, np.ndarray]:
    """Every array of the present frame, read from a dump of it."""
    assert world.dump()
    with np.load(dump_file(Path(world.engine.workspace()), world.frame()), allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def assert_same(left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> None:
    assert left.keys() == right.keys()
    for name, array in left.items():
        assert array.tobytes() == right[name].tobytes(), name


@pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])
@pytest.mark.parametrize("build", [spinning, chained, driven])
def test_a_recovered_run_goes_on_as_if_nothing_had_happened(build, integrator, start, tmp_path):
    (tmp_path / "first").mkdir()
    first = start(build(integrator), tmp_path / "first")
    run(first, 6)
    assert first.dump()
    run(first, 6)
    second = start(build(integrator), tmp_path / "first")
    assert second.recover(6) and second.frame() == 6
    run(second, 6)
    assert second.frame() == 12
    one, two = arrays_of(first), arrays_of(second)
    assert {"state/Q", "state/V", "state/Q_before", "state/V_before", "state/A", "state/dt_before"} <= one.keys()
    assert_same(one, two)


def test_one_world_can_go_back_and_repeat_itself(start):
    world = start(driven("bdf2"))
    run(world, 5)
    world.dump()
    run(world, 5)
    once = arrays_of(world)
    assert world.recover(5) and world.frame() == 5
    run(world, 5)
    assert_same(arrays_of(world), once)


def test_attributes_follow_at_the_next_retrieve(start):
    scene = new_scene()
    box = add_boxes(scene)
    world = start(scene)
    run(world, 2)
    world.dump()
    there = box.geometry.transforms.values.copy()
    run(world, 3)
    later = box.geometry.transforms.values.copy()
    world.recover(2)
    np.testing.assert_array_equal(box.geometry.transforms.values, later)
    world.retrieve()
    np.testing.assert_array_equal(box.geometry.transforms.values, there)


def test_without_a_number_the_last_frame_is_recovered(start):
    world = start(spinning("bdf1"))
    for _ in range(12):
        world.advance()
        if world.frame() in (2, 9, 11):
            world.dump()
    assert world.recover() and world.frame() == 11, "as a number: 9 comes before 11"
    assert world.recover(2) and world.frame() == 2


def test_a_frame_that_was_never_dumped_is_no_error(start, caplog):
    """Scripts ask for the next frame to see whether it is there."""
    world = start(spinning("bdf1"))
    with caplog.at_level(logging.WARNING, "dovetail"):
        assert world.recover(1) is False
        assert world.recover() is False
    assert not caplog.records


def test_frames_of_an_earlier_run_are_replayed(start):
    first = start(spinning("bdf1"))
    for _ in range(4):
        first.advance()
        first.dump()
    second = start(spinning("bdf1"))
    replayed = 0
    while second.frame() < 6:
        if second.recover(second.frame() + 1):
            replayed += 1
        else:
            second.advance()
    run(first, 2)
    assert replayed == 4
    assert_same(arrays_of(second), arrays_of(first))


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
        "has version 99 of the format, this program reads version 1",
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
    world = start(spinning("bdf1"))
    run(world, 3)
    world.dump()
    run(world, 2)
    before = arrays_of(world)
    dump_file(tmp_path, 5).unlink()
    spoil(dump_file(tmp_path, 3))
    with caplog.at_level(logging.ERROR, "dovetail"):
        assert world.recover(3) is False
    (record,) = caplog.records
    assert reason in record.getMessage() and "nothing was changed" in record.getMessage()
    assert world.frame() == 5
    assert_same(arrays_of(world), before)
    world.advance()


def test_no_damage_by_single_bytes_gets_through(start, tmp_path, rng, caplog):
    """Whatever byte is hit: the file is refused, or (in a field that zip does not use) it reads as it was."""
    world = start(chained("bdf2"))
    run(world, 3)
    saved = arrays_of(world)
    path = dump_file(tmp_path, 3)
    content = path.read_bytes()
    run(world, 1)
    now = arrays_of(world)
    caplog.set_level(logging.CRITICAL, "dovetail")
    refused = 0
    for place in rng.integers(len(content), size=150):
        broken = bytearray(content)
        broken[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(broken)
        if world.recover(3):
            assert_same(arrays_of(world), saved)
            world.recover(4)
        else:
            refused += 1
        assert world.frame() == 4
    assert refused > 100
    assert_same(arrays_of(world), now)


def test_a_dump_of_another_scene_is_refused(start, caplog):
    first = start(spinning("bdf1"))
    run(first, 2)
    first.dump()
    heavier = new_scene()
    add_boxes(heavier, density=1001.0)
    second = start(heavier)
    with caplog.at_level(logging.ERROR, "dovetail"):
        assert second.recover(2) is False
    assert "is of another scene: bodies, masses or joints differ" in caplog.text


def test_a_workspace_that_vanished_makes_dump_fail_softly(start, tmp_path, caplog):
    (tmp_path / "gone").mkdir()
    world = start(spinning("bdf1"), tmp_path / "gone")
    run(world, 1)
    (tmp_path / "gone").rmdir()
    with caplog.at_level(logging.ERROR, "dovetail"):
        assert world.dump() is False
    assert "World.dump: frame 1 could not be saved in" in caplog.text
    run(world, 1)


def test_a_full_disk_leaves_the_old_dump_and_no_scraps(start, tmp_path, monkeypatch, caplog):
    world = start(spinning("bdf1"))
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
