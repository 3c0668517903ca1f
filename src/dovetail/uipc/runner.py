"""Runs a libuipc script as `python script.py` would, with `uipc` (and, headless, `polyscope`) provided.

`sys.argv`, `sys.path[0]`, `__file__`, `__name__`, the working directory and the exit code are those of plain Python. An
exception shows the lines of the script and of what it imports, not those of the runner.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType

from dovetail.errors import DovetailError
from dovetail.uipc.session import session

__all__ = ["main", "run"]

_OWN = str(Path(__file__).resolve().parent.parent)


def main(arguments: Sequence[str]) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m dovetail.uipc", description="Run a libuipc script on the CPU, unchanged."
    )
    parser.add_argument(
        "--headless",
        type=_frames,
        metavar="N",
        help="no window: call the script's callback until the world has advanced N frames",
    )
    parser.add_argument("script", help="the script; what follows it are its own arguments")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    return run(given.script, given.arguments, given.headless)


def run(script: str | Path, arguments: Sequence[str] = (), headless: int | None = None) -> int:
    """Run a script to its end and return its exit code.

    With `headless` frames a script that opens a polyscope window runs without one. It ends by printing frames, steps
    per second and validity; the code is not 0 if a world became invalid or an error was raised. The modules stay
    provided, so this is for a process of its own.
    """
    path = Path(script).absolute()
    if path.is_dir():
        path /= "__main__.py"
    if not path.is_file():
        print(f"dovetail.uipc: there is no script '{script}'; check the path.", file=sys.stderr)
        return 2
    session.limit = headless
    from dovetail.uipc.provide import provide

    provide(headless=headless is not None)
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(path.resolve().parent))
    try:
        _execute(path)
        code = 0
    except SystemExit as stop:
        code = _exit_code(stop)
    except KeyboardInterrupt:
        print("dovetail.uipc: interrupted.", file=sys.stderr)
        code = 130
    except BaseException as error:  # whatever a script raises is shown as Python would show it
        _show(error)
        code = 1
    if headless is not None:
        print(session.summary(), flush=True)
    elif session.failure:
        print(f"dovetail.uipc: the world became invalid: {session.failure}", file=sys.stderr)
    return code or int(bool(session.failure or session.errors))


class _Script(SourceFileLoader):
    """Loads a main program, of which Python keeps no compiled copy."""

    def set_data(self, path: str, data: object, *, _mode: int = 0o666) -> None:
        """Write nothing."""


def _execute(path: Path) -> None:
    """Run a file as the module __main__, which it stays."""
    module = ModuleType("__main__")
    module.__file__ = str(path)
    module.__loader__ = loader = _Script("__main__", str(path))
    sys.modules["__main__"] = module
    loader.exec_module(module)


def _frames(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{number} frames are impossible; give a number >= 0")
    return number


def _exit_code(stop: SystemExit) -> int:
    """As Python treats sys.exit(…): None is 0, a number is itself, anything else is printed and means 1."""
    if stop.code is None or isinstance(stop.code, int):
        return stop.code or 0
    print(stop.code, file=sys.stderr)
    return 1


def _show(error: BaseException) -> None:
    """The traceback from the script on; of an error that dovetail raises on purpose, only up to the call of it."""
    trace = error.__traceback__
    while trace is not None and _is_runner(trace):
        trace = trace.tb_next
    if isinstance(error, DovetailError):
        trace = _without_own_end(trace)
    sys.excepthook(type(error), error.with_traceback(trace), trace)
    if isinstance(error, ModuleNotFoundError) and error.name == "polyscope":
        print(
            "dovetail.uipc: this script opens a polyscope window; `pip install polyscope`, or run it without one: "
            "python -m dovetail.uipc --headless 100 …",
            file=sys.stderr,
        )


def _is_runner(trace: TracebackType) -> bool:
    """Whether this is a line of the runner or of Python's import rather than of the script."""
    file = trace.tb_frame.f_code.co_filename
    return file == __file__ or file.startswith("<frozen ")


def _without_own_end(trace: TracebackType | None) -> TracebackType | None:
    """A traceback that ends where the script called dovetail."""
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    while frames and frames[-1].tb_frame.f_code.co_filename.startswith(_OWN):
        frames.pop()
    for frame in reversed(frames):
        trace = TracebackType(trace, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return trace
