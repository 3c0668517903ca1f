"""Where compiled kernels are kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from numba import config

from dovetail.solver import kernel


def test_the_cache_directory_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("DOVETAIL_CACHE_DIR", str(tmp_path))
    assert kernel._user_cache() == tmp_path


@pytest.mark.skipif(os.name != "posix", reason="XDG is for Unix")
def test_otherwise_it_is_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("DOVETAIL_CACHE_DIR", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kernel._user_cache() == tmp_path / "dovetail"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert kernel._user_cache() == tmp_path / ".cache" / "dovetail"


def test_its_name_changes_with_every_edit_of_the_solver(monkeypatch, tmp_path):
    solver = tmp_path / "solver"
    solver.mkdir()
    source = solver / "kernel.py"
    source.write_text("a = 1")
    monkeypatch.setattr(kernel, "__file__", str(source))
    first = kernel._digest()
    assert kernel._digest() == first
    source.write_text("a = 2")
    second = kernel._digest()
    (solver / "energy").mkdir()
    (solver / "energy" / "more.py").write_text("")
    assert len({first, second, kernel._digest()}) == 3


def test_the_running_cache_is_named_by_the_present_sources():
    assert kernel.cache_directory.name == f"kernels-{kernel._digest()}"


def test_only_the_newest_caches_are_kept(monkeypatch, tmp_path):
    for age in range(5):
        folder = tmp_path / f"kernels-{age}"
        folder.mkdir()
        (folder / "x.nbc").write_text("code")
        os.utime(folder, (1000 * age, 1000 * age))
    other = tmp_path / "mine"
    other.mkdir()
    monkeypatch.setattr(kernel, "cache_directory", tmp_path / "kernels-new")
    assert kernel.cold()
    kernel._forget_old_versions()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kernels-3", "kernels-4", "mine"]
    monkeypatch.setattr(kernel, "cache_directory", tmp_path / "kernels-4")
    assert not kernel.cold()
    kernel._forget_old_versions()
    assert (tmp_path / "kernels-3").exists(), "nothing is deleted while the present version has its cache"


def test_the_users_own_compiled_functions_keep_their_cache(tmp_path):
    before = config.CACHE_DIR
    seen = kernel._with_cache(lambda: config.CACHE_DIR)
    assert Path(seen) == kernel.cache_directory
    assert before == config.CACHE_DIR
