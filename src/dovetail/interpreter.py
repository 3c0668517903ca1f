"""Command lines of the Python processes that dovetail starts: they import from where this one does, but never code that
happens to lie in the current folder.

Python searches the current folder first where it is started with `-c` or `-m`, and wherever PYTHONPATH has an empty
entry. A folder with a robot's file is no place to run code from.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

__all__ = ["command", "environment", "import_path", "main_of", "safe_start"]

_lock = threading.Lock()


def command(code: str, *arguments: str) -> list[str]:
    """The command line that runs code in a new process, which finds the modules that this one finds."""
    flags = ["-s"] if sys.flags.no_user_site else []
    return [sys.executable, "-P", *flags, "-c", f"import sys; sys.path[:0] = {import_path()!r}; {code}", *arguments]


def environment(**more: str) -> dict[str, str]:
    """The environment of such a process: this one's without empty entries of PYTHONPATH, and `more`.

    PYTHONSAFEPATH is for processes that packages start there: GLFW's, which MuJoCo imports, runs `python -c`.
    Where Python was told to ignore its variables (-E, -I), they are left out.
    """
    found = dict(os.environ)
    if sys.flags.ignore_environment:
        found = {name: value for name, value in found.items() if not name.startswith("PYTHON")}
    if "PYTHONPATH" in found:
        found["PYTHONPATH"] = os.pathsep.join(_named())
    return {**found, "PYTHONSAFEPATH": "1", **more}


@contextlib.contextmanager
def safe_start() -> Iterator[None]:
    """While `multiprocessing` starts processes, whose command lines are its own: the variables that keep them safe."""
    wanted = {"PYTHONSAFEPATH": "1", "PYTHONPATH": environment().get("PYTHONPATH")}
    with _lock:
        before = {name: os.environ.get(name) for name in wanted}
        _set(wanted)
        try:
            yield
        finally:
            _set(before)


def _set(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def import_path() -> list[str]:
    """Entries of sys.path, the current folder left out unless PYTHONPATH names it or dovetail lies in it."""
    is_wanted = any(_is_current(entry) for entry in (str(Path(__file__).parents[1]), *_named()))
    return [entry for entry in sys.path if entry and (is_wanted or not _is_current(entry))]


def main_of(module: str) -> str:
    """Code that runs a module as `python -m` does."""
    return f"import runpy; runpy.run_module({module!r}, run_name='__main__')"


def _named() -> list[str]:
    given = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
    return [entry for entry in given.split(os.pathsep) if entry]


def _is_current(entry: str) -> bool:
    try:
        return Path(entry).samefile(os.curdir)
    except OSError:  # one of the two does not exist
        return False
