"""Readers of others, MuJoCo's compiler, USD and COLLADA, in a process of their own with limits of time and memory.

A small file can ask them for any amount of both, and a damaged one may take the process down with it. The process is
started at the first such file, serves those that follow, and ends when there was none for some seconds.

A request is a line of JSON. The answer is one, too: {"blobs": their lengths, …} with as many bytes after it, or
{"refused": why}.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

from dovetail.errors import SceneError
from dovetail.interpreter import command, environment

__all__ = ["prepare", "read_limited"]

_MOST_SECONDS = 30.0
_MOST_MEMORY = 4 * 2**30
_MOST_BYTES = 2**30
"""Of an answer."""
_IDLE = 10.0  # s
_LONGEST = 300  # characters of what a library says
_READERS = {
    "dae": ("dovetail.robot.dae", "the reader of .dae"),
    "mjcf": ("dovetail.robot.mjcf_compiler", "MuJoCo's compiler"),
    "usd": ("dovetail.robot.usd_layers", "USD's reader"),
}
"""Modules with a function `prepared()`, which imports what is needed, and `answer(request)`: a dictionary and blobs;
and how messages call them."""
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

_lock = threading.Lock()
_process: subprocess.Popen[bytes] | None = None


def prepare(kind: str) -> None:
    """Start the process, if there is none: it loads its reader while this process does something else."""
    with _lock, contextlib.suppress(OSError):
        if _process is None or _process.poll() is not None:
            _start(kind)


def read_limited(kind: str, file: Path, **request: Any) -> tuple[dict[str, Any], list[bytes]]:
    """What a reader makes of a file; a SceneError says what is wrong with it, or that it takes too much."""
    line = json.dumps({"kind": kind, "file": str(file.absolute()), "shown": str(file), **request}).encode() + b"\n"
    with _lock:
        is_new = _process is None or _process.poll() is not None
        found = _ask(kind, file, line)
        if found is None and not is_new:  # it has just ended, or others that it has read were too much for it
            found = _ask(kind, file, line)
    if found is None:
        what = _READERS[kind][1]
        raise SceneError(
            f"reading '{file}': it is damaged; {what} failed on it, or needs more than {_MOST_MEMORY >> 30} GB."
        )
    answer, blobs = found
    if "refused" in answer:
        raise SceneError(str(answer["refused"]))
    return answer, blobs


def _ask(kind: str, file: Path, line: bytes) -> tuple[dict[str, Any], list[bytes]] | None:
    """The answer; None where the process has ended without one."""
    process = _process if _process is not None and _process.poll() is None else _start(kind)
    assert process.stdin is not None and process.stdout is not None
    late = threading.Event()

    def stop() -> None:
        late.set()
        process.kill()

    watch = threading.Timer(_MOST_SECONDS, stop)
    watch.daemon = True
    watch.start()
    try:
        process.stdin.write(line)
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        lengths = [int(length) for length in answer.get("blobs", [])]
        if not 0 <= sum(lengths) <= _MOST_BYTES or any(length < 0 for length in lengths):
            raise ValueError("too long")
        blobs = [process.stdout.read(length) for length in lengths]
        if [len(blob) for blob in blobs] != lengths:
            raise ValueError("cut off")
        return answer, blobs
    except (OSError, ValueError, AttributeError, TypeError):  # an answer that is none, or the end
        _end()
        if late.is_set():
            text = (
                f"reading '{file}': that takes more than {_MOST_SECONDS:g} s; no robot does. It is damaged, or a trap."
            )
            raise SceneError(text) from None
        return None
    except BaseException:  # Ctrl-C: an answer to this request must not be taken for one to the next
        _end()
        raise
    finally:
        watch.cancel()


def _start(kind: str) -> subprocess.Popen[bytes]:
    global _process
    _end()
    code = "from dovetail.robot.limited import serve; serve()"
    _process = subprocess.Popen(
        command(code, kind), env=environment(**_ONE_THREAD), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, cwd=os.sep,
    )  # fmt: skip
    return _process


@atexit.register
def _end() -> None:
    global _process
    process, _process = _process, None
    if process is not None:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]


def _forget() -> None:
    """In a copy of the process: the other one is not its own."""
    global _process, _lock
    _process, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


# --- the other process --------------------------------------------------------------------------------------


def serve() -> None:
    """Answer requests until there are none any more."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print
    with contextlib.suppress(ImportError):
        import_module(_READERS[sys.argv[1]][0]).prepared()
    while line := _next_line():
        request = json.loads(line)
        reader = import_module(_READERS[request["kind"]][0])
        try:
            reader.prepared()
            _limit()
            answer, blobs = reader.answer(request)
        except SceneError as error:
            answer, blobs = {"refused": str(error)}, []
        except MemoryError:
            text = f"reading '{request['shown']}': that needs more than {_MOST_MEMORY >> 30} GB; no robot does."
            answer, blobs = {"refused": text}, []
        except Exception as error:  # whatever else its library says
            told = f"{type(error).__name__}: {' '.join(str(error).split())}"
            answer, blobs = {"refused": f"reading '{request['shown']}': it is damaged ({told[:_LONGEST]})."}, []
        out.write(json.dumps({**answer, "blobs": [len(blob) for blob in blobs]}).encode() + b"\n")
        out.writelines(blobs)
        out.flush()


def _next_line() -> bytes:
    """The next request, and nothing at the end or when there was none for a while."""
    if sys.platform != "win32":
        import select

        if not select.select([sys.stdin], [], [], _IDLE)[0]:
            return b""
    return sys.stdin.buffer.readline()


def _limit() -> None:
    """Memory beyond what is in use, and time in case that nobody stops this process; no files are written."""
    if sys.platform == "win32":
        return
    import resource

    def soft(kind: int, value: int) -> None:
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))

    used = resource.getrusage(resource.RUSAGE_SELF)
    soft(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + 8 * _MOST_SECONDS))
    soft(resource.RLIMIT_CORE, 0)
    soft(resource.RLIMIT_FSIZE, 0)
    pages = Path("/proc/self/statm")
    if pages.exists():  # elsewhere the limit is not kept anyway
        soft(resource.RLIMIT_AS, int(pages.read_text().split()[0]) * resource.getpagesize() + _MOST_MEMORY)
