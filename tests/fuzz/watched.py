"""Reads spoilt files one after the other, with limits of time and memory, and watches what is done meanwhile."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dovetail import Logger
from dovetail.errors import DovetailError

__all__ = ["SECRET", "Watched"]

LONGEST = 60  # s for a file; what needs longer hangs
MEMORY = 3 << 30  # bytes beyond what is in use: meshes of some megabytes take some hundred
LONGEST_MESSAGE = 2000  # characters
SECRET = "outside"
"""Part of the names of files that lie beside the folder of those that are read, and that none of them may open."""


class Watched:
    """`with Watched(folder) as watched: watched.read(k, lambda: …)`; `told` are the counts.

    The process goes to a folder with modules of many names, none of which may be imported.
    """

    def __init__(self, folder: Path) -> None:
        self.told: dict[str, Any] = {"files": 0, "taken": 0, "slowest": 0.0}
        self._trap, self._ran, self._on, self._caught = folder / "trap", folder / "ran", False, list[str]()
        self._trap.mkdir()
        for name in sys.stdlib_module_names | {"numpy", "pxr", "mujoco", "numba", "trimesh", "dovetail", "collada"}:
            (self._trap / f"{name}.py").write_text(f"open({str(self._ran)!r}, 'a').write(__name__ + ' ')\n")
        (folder / f"{SECRET}.stl").write_text("solid x\nendsolid x\n")
        (folder / f"{SECRET}.xml").write_text("<mujoco/>")

    def __enter__(self) -> Watched:
        faulthandler.enable()
        warnings.simplefilter("ignore")  # what a number of 1e300 makes of a mesh is told by the errors
        Logger.set_level(Logger.Critical)
        os.chdir(self._trap)
        sys.addaudithook(self._hook)
        signal.signal(signal.SIGALRM, _too_long)
        pages = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (pages + MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
        return self

    def __exit__(self, *_: object) -> None:
        os.chdir("/")
        assert not self._ran.exists(), f"the current folder's {self._ran.read_text()}was run"

    def read(self, name: str, reads: Callable[[], Any]) -> Any:
        """What it returns; None where it is refused by a `DovetailError`."""
        begin, found = time.perf_counter(), None
        signal.alarm(LONGEST)
        self._on = True
        try:
            found = reads()
            self.told["taken"] += 1
        except DovetailError as error:
            text = str(error)
            assert text.strip() and len(text) <= LONGEST_MESSAGE and text.encode(), (name, text)
        except BaseException as error:
            raise AssertionError(f"file {name}: {type(error).__name__}: {error}") from error
        finally:
            self._on = False
            signal.alarm(0)
        assert not self._caught, (name, self._caught)
        self.told["files"] += 1
        self.told["slowest"] = max(self.told["slowest"], time.perf_counter() - begin)
        return found

    def tell(self) -> None:
        print(json.dumps(self.told))

    def _hook(self, event: str, given: tuple[Any, ...]) -> None:
        if not self._on:
            return
        runs = event in ("os.system", "os.exec", "os.fork", "os.spawn", "pty.spawn")
        starts = event == "subprocess.Popen" and "dovetail.robot.limited" not in str(given[1])
        spies = event == "open" and SECRET in str(given[0])
        if runs or starts or spies:
            self._caught.append(f"{event} {given}")


class HangError(BaseException):
    """Nobody may take it for an error of a file."""


def _too_long(*_: object) -> None:
    raise HangError(f"it takes longer than {LONGEST} s")
