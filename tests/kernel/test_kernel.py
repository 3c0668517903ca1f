"""Where compiled kernels are kept."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from numba import config

from dovetail.kernel import kernel
from dovetail.kernel.files import forget_old_versions
from dovetail.kernel.machine import user_cache


def test_the_cache_directory_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("DOVETAIL_CACHE_DIR", str(tmp_path))
    assert user_cache() == tmp_path


@pytest.mark.skipif(os.name != "posix", reason="XDG is for Unix")
def test_otherwise_it_is_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("DOVETAIL_CACHE_DIR", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_cache() == tmp_path / "dovetail"
    monkeypatch.setenv("XDG_CACHE_HOME", "")  # as good as none
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_cache() == tmp_path / ".cache" / "dovetail"


def package(folder: Path, sources: dict[str, str]) -> Path:
    for name, text in sources.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_its_name_changes_with_every_edit_that_the_module_can_see(tmp_path):
    sources = {
        "solver/top.py": "from dovetail.solver.middle import f",
        "solver/middle.py": "def f():\n    from dovetail.solver.deep import low\n",
        "solver/deep/low.py": "a = 1",
        "solver/deep/__init__.py": "",
        "solver/other.py": "b = 1",
    }
    before = package(tmp_path / "0", sources)
    top = kernel._digest(before, "solver.top")
    assert kernel._digest(package(tmp_path / "1", sources), "solver.top") == top
    for changed in list(sources)[:4]:
        after = package(tmp_path / changed, {**sources, changed: sources[changed] + "\nc = 2"})
        assert kernel._digest(after, "solver.top") != top, changed
    elsewhere = package(tmp_path / "2", {**sources, "solver/other.py": "b = 2"})
    assert kernel._digest(elsewhere, "solver.top") == top
    assert kernel._digest(elsewhere, "solver.other") != kernel._digest(before, "solver.other")


def test_a_kernel_is_kept_apart_by_all_that_it_calls():
    seen = {"solver.contact.contact"}
    for _ in range(4):
        seen |= {name for module in seen for name in kernel._imports(kernel._PACKAGE, module)}
    assert {"solver.contact.distance", "kernel.kernel", "solver.contact.barrier"} <= seen


def test_what_was_not_used_for_a_month_is_forgotten(tmp_path):
    now = time.time()
    for days in (0, 29, 31, 400):
        folder = tmp_path / f"kernels-{days}"
        folder.mkdir()
        (folder / "x.nbc").write_text("code")
        os.utime(folder, (now - 86400 * days, now - 86400 * days))
    (tmp_path / "mine").mkdir()
    os.utime(tmp_path / "mine", (0, 0))
    forget_old_versions(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kernels-0", "kernels-29", "mine"]


def test_a_cache_in_use_counts_as_new(monkeypatch, tmp_path):
    monkeypatch.setattr(kernel, "user_cache", lambda: tmp_path)
    find = kernel.cache_directory.__wrapped__
    directory = find("dovetail.solver.assembly.bodies")
    directory.mkdir()
    os.utime(directory, (0, 0))
    assert find("dovetail.solver.assembly.bodies") == directory
    assert directory.stat().st_mtime > time.time() - 60


def test_the_users_own_compiled_functions_keep_their_cache():
    before = config.CACHE_DIR
    made: Any = kernel.kernel(package)
    assert made._cache.cache_path == str(kernel.cache_directory(__name__)) if kernel.jit_enabled else made is package
    assert before == config.CACHE_DIR
