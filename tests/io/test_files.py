"""Atomic writes: the old file or the new one, never half of either."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from dovetail.files import atomic_write


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_text_and_bytes_arrive_unchanged(tmp_path):
    path = tmp_path / "a.txt"
    atomic_write(path, "κ = 1\r\n")
    assert path.read_bytes() == "κ = 1\r\n".encode()
    atomic_write(path, b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("moment", ["fsync", "replace"])
@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, moment, failure):
    path = tmp_path / "state.json"
    path.write_text("old")

    def fail(*args):
        raise failure

    monkeypatch.setattr(*((os, "fsync") if moment == "fsync" else (Path, "replace")), fail)
    with pytest.raises(type(failure)):
        atomic_write(path, "new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["state.json"]


def test_a_failure_creates_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        atomic_write(tmp_path / "new.json", "half")
    assert names(tmp_path) == []


def test_a_missing_folder_or_a_folder_in_the_way_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder does not exist.*nowhere"):
        atomic_write(tmp_path / "nowhere" / "a.txt", "x")
    with pytest.raises(IsADirectoryError, match="this is a folder"):
        atomic_write(tmp_path, "x")
    assert names(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="permission bits and links as on POSIX systems")
def test_links_and_permissions_survive(tmp_path):
    path, link = tmp_path / "real", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    atomic_write(link, "new")
    assert link.is_symlink() and path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
