"""Compiled kernels on disk: whatever happens to the files, results stay right and the process stays alive."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail.kernel.kernel import jit_enabled

pytestmark = pytest.mark.skipif(not jit_enabled, reason="nothing is compiled")

TINY = """
import numpy as np

from dovetail.kernel.kernel import cached_callback, kernel


def total(x):
    s = 0.0
    for v in x:
        s += v
    return s


def square(x, p):
    return x * x


def run():
    '''Results, and how many functions had to be compiled.'''
    sums, callback = kernel(total), cached_callback(square, (False, True))
    found = [float(sums(np.arange(4.0))), float(sums(np.arange(5)))]
    found.append(callback.ctypes(3.0, None))
    return found, sum(sums.stats.cache_misses.values()) + 1 - callback.cache_hits
"""
RIGHT = [6.0, 10.0, 9.0]

# Has the compiler loaded and used once. Told a script it becomes another process that runs it, and has no kernel yet;
# told the number of such a process it waits for its end.
PARENT = """
import json, os, sys, traceback
import numba
import dovetail.kernel.kernel
numba.njit(lambda x: x + 1.0)(1.0)
def tell(*found): print(json.dumps(found), flush=True)
for asked in map(json.loads, sys.stdin):
    if isinstance(asked, int):
        tell(os.waitstatus_to_exitcode(os.waitpid(asked, 0)[1]))
    elif child := os.fork():
        tell(child)
    else:
        script, arguments, environment, files = asked
        for stream, name in enumerate(files, 1):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), stream)
        os.environ.update(environment)
        sys.path.append(os.path.dirname(files[0]))
        sys.argv[1:], sys.dont_write_bytecode = arguments, True  # a module may be changed within a second
        try:
            exec(script, {"tell": tell, "os": os, "sys": sys})
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
"""


@pytest.fixture(scope="module")
def parent():
    """A function that asks the parent."""
    paths, pipe = {"PYTHONPATH": str(Path(dovetail.__file__).parents[1])}, subprocess.PIPE
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(
        command, env={**os.environ, **paths}, stdin=pipe, stdout=pipe, text=True, bufsize=1
    ) as process:

        def ask(*what: Any) -> int:
            print(json.dumps(what[0] if len(what) == 1 else what), file=process.stdin)
            return json.loads(process.stdout.readline())[0]

        yield ask
        process.stdin.close()


@pytest.fixture
def begin(tmp_path, parent):
    """Start a script that has `tiny`, numbers `argv` and a function `tell`, in a process of its own.

    What comes back waits for it, and returns what it has told and what it wrote to stderr.
    """
    (tmp_path / "tiny.py").write_text(TINY)
    numbers = count()

    def begin(script: str, *arguments: str, **environment: str) -> Callable[[], tuple[Any, str]]:
        cache, number = {"DOVETAIL_CACHE_DIR": str(tmp_path / "cache")}, next(numbers)
        written = [tmp_path / f"{stream}{number}" for stream in ("stdout", "stderr")]
        child = parent(textwrap.dedent(script), arguments, {**cache, **environment}, list(map(str, written)))

        def end() -> tuple[Any, str]:
            code = parent(child)
            told, said = (path.read_text() for path in written)
            assert code == 0, said
            return json.loads(told), said

        return end

    return begin


RUN = "import tiny; tell(*tiny.run())"


def files(folder: Path) -> list[Path]:
    """All but the secret."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "secret")


def test_the_second_process_compiles_nothing(begin, tmp_path):
    assert begin(RUN)() == ([RIGHT, 3], "")
    assert begin(RUN)() == ([RIGHT, 0], "")
    assert len(files(tmp_path / "cache")) == 3


def test_kernels_of_a_module_that_was_changed_are_compiled_again(begin, tmp_path):
    """Also where no line has moved."""
    begin(RUN)()
    changed = TINY.replace("s += v", "s -= v")
    (tmp_path / "tiny.py").write_text(changed)
    (found, misses), _ = begin(RUN)()
    assert found != RIGHT and misses == 3


def test_damaged_files_are_compiled_again_with_one_line_of_log(begin, tmp_path):
    """Bytes flipped, cut off, filled with zeros as after a crash, exchanged with each other: at seeded places."""
    begin(RUN)()
    kept = files(tmp_path / "cache")
    found, said = begin(
        """
        import random, tiny
        from pathlib import Path
        choose, wrong = random.Random(5), []
        kept = [(Path(name), Path(name).read_bytes()) for name in sys.argv[1:]]
        for turn in range(10):
            for n, (path, content) in enumerate(kept):
                at, flipped = choose.randrange(len(content)), bytearray(content)
                flipped[at] ^= 1 << choose.randrange(8)
                other = kept[n - 1][1]
                path.write_bytes([bytes(flipped), content[:at], bytes(len(content)), other, b""][turn % 5])
            found, misses = tiny.run()
            if found != [6.0, 10.0, 9.0] or misses != 3:
                wrong.append((turn, found, misses))
        tell(wrong)
        """,
        *map(str, kept),
    )()
    assert found == [[]]
    assert said.count("\n") == 1 and "is damaged; it is compiled again" in said
    assert begin(RUN)() == ([RIGHT, 0], ""), "what was compiled again has replaced what was damaged"
    assert files(tmp_path / "cache") == kept


@pytest.mark.skipif(os.name != "posix", reason="limits of file sizes are for Unix")
def test_on_a_full_disk_kernels_run_without_being_kept(begin, tmp_path):
    found, said = begin("import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (999, 999))\n" + RUN)()
    assert found == [RIGHT, 3]
    assert said.count("\n") == 1 and "cannot be kept" in said and str(tmp_path / "cache") in said
    assert not files(tmp_path / "cache"), "nothing half-written stays behind"


@pytest.mark.skipif(os.name != "posix", reason="permissions are for Unix")
def test_a_folder_that_must_not_be_written_is_left_alone(begin, tmp_path):
    (tmp_path / "cache").mkdir(mode=0o555)
    as_user = """
    import numba, tiny
    if os.geteuid() == 0:  # who may write anywhere; all else is read before that is given up
        numba.njit(tiny.total)(tiny.np.arange(3))
        tiny.kernel(tiny.total)  # sources, which only root may be able to read
        os.seteuid(65534)
    tell(*tiny.run())
    """
    found, said = begin(as_user)()
    assert found == [RIGHT, 3]
    assert said.count("\n") == 1 and "Permission denied" in said


def test_where_a_file_is_in_the_way_of_the_folder_there_is_no_cache(begin, tmp_path):
    (tmp_path / "note").write_text("mine")
    found, said = begin(RUN, DOVETAIL_CACHE_DIR=str(tmp_path / "note" / "cache"))()
    assert found == [RIGHT, 3]
    assert said.count("\n") == 1 and "cannot be kept" in said
    assert (tmp_path / "note").read_text() == "mine"


def test_without_a_home_there_is_no_cache(begin, tmp_path):
    homeless = """
    from pathlib import Path
    def home(): raise RuntimeError("Could not determine home directory.")
    Path.home = home
    """
    environment = {"DOVETAIL_CACHE_DIR": "", "XDG_CACHE_HOME": "", "LOCALAPPDATA": ""}
    found, said = begin(textwrap.dedent(homeless) + RUN, **environment)()
    assert found == [RIGHT, 3]
    assert said.count("\n") == 1 and "there is no home directory" in said and "DOVETAIL_CACHE_DIR" in said


def test_processes_that_start_together_do_not_harm_each_other(begin, tmp_path):
    together = [begin(RUN) for _ in range(2)]
    for process in together:
        (found, _), said = process()
        assert found == RIGHT and said == ""
    assert begin(RUN)() == ([RIGHT, 0], "")
    assert len(files(tmp_path / "cache")) == 3


FORGE = """
import hashlib, pickle, numba, tiny
from pathlib import Path
from dovetail.kernel import files
class Forged:
    def __reduce__(self):
        return os.mkdir, (sys.argv[1],)
def forge(compiled, path, key):
    # a file as right as one without the secret can be
    body = pickle.dumps(Forged())
    digest = files._digest(key, body)
    path.write_bytes(path.read_bytes()[:32] + digest + body)
    if len(sys.argv) > 2:
        path.write_bytes(digest + body)  # as before there were seals
places = files.KernelFiles._places
def spoilt(self, *given):
    for path, key in places(self, *given):
        if path.is_file():
            forge(self, path, key)
        yield path, key
files.KernelFiles._places = spoilt
"""


@pytest.mark.parametrize("form", [(), ("without a seal",)])
def test_what_others_have_put_there_is_neither_unpickled_nor_run(begin, tmp_path, form):
    begin(RUN)()
    found, said = begin(FORGE + RUN, str(tmp_path / "ran"), *form)()
    assert not (tmp_path / "ran").exists(), "a forged file was unpickled"
    assert found == [RIGHT, 3] and "is damaged" in said
    assert begin(RUN)() == ([RIGHT, 0], "")


needs_modes = pytest.mark.skipif(os.name != "posix", reason="permissions are for Unix")


@needs_modes
@pytest.mark.parametrize("what", ["folder", "inner folder", "file", "secret"])
@pytest.mark.parametrize("mode", [0o770, 0o702])
def test_what_others_may_write_is_not_read(begin, tmp_path, what, mode):
    """One line says so, and nothing is kept there; a single file is replaced."""
    begin(RUN)()
    cache = tmp_path / "cache"
    inner = next(cache.glob("kernels-*"))
    wide = {"folder": cache, "inner folder": inner, "file": files(cache)[0], "secret": cache / "secret"}[what]
    before = {path: path.read_bytes() for path in files(cache)}
    wide.chmod(mode)
    (found, misses), said = begin(RUN)()
    assert found == RIGHT and misses == (1 if what == "file" else 3)
    assert said.count("\n") == 1 and f"others may write '{wide}'" in said and "DOVETAIL_CACHE_DIR" in said
    assert what == "file" or {path: path.read_bytes() for path in files(cache)} == before
    if what == "file":
        assert begin(RUN)() == ([RIGHT, 0], "")


@needs_modes
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("what", ["folder", "inner folder", "file", "secret"])
def test_what_others_own_is_not_read(begin, tmp_path, what):
    """Root is not special: neither does it read what others own, nor do they read what is root's."""
    begin(RUN)()
    cache = tmp_path / "cache"
    inner = next(cache.glob("kernels-*"))
    others = {"folder": cache, "inner folder": inner, "file": files(cache)[0], "secret": cache / "secret"}[what]
    os.chown(others, 65534, 65534)
    (found, misses), said = begin(RUN)()
    assert found == RIGHT and misses == (1 if what == "file" else 3)
    assert said.count("\n") == 1 and f"'{others}' belongs to user 65534, and this is user 0" in said


@needs_modes
def test_folders_and_files_are_for_their_user_alone_whatever_the_umask_is(begin, tmp_path):
    script = "os.umask(0)\n" + RUN
    assert begin(script, DOVETAIL_CACHE_DIR=str(tmp_path / "new" / "cache"))() == ([RIGHT, 3], "")
    made = [tmp_path / "new", *(tmp_path / "new").rglob("*")]
    assert len(made) > 5
    assert {path: path.stat().st_mode & 0o777 for path in made} == {
        path: 0o700 if path.is_dir() else 0o600 for path in made
    }
