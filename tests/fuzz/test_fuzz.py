"""Whatever is given to whatever is public: it works, or is refused in a paragraph."""

from __future__ import annotations

import inspect
import os
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from fuzz.nonsense import nonsense
from fuzz.surface import MADE_BY_OTHERS, MODULES, Call, Stage

from dovetail.errors import DovetailError
from dovetail.sim import Sim

ALL = 100_000  # 20,000 are enough that each was drawn
CALLS = ALL if os.environ.get("DOVETAIL_FUZZ") == "full" else 8_000  # `make fuzz` makes all of them
CALLS_OF_A_STAGE = 1000
CALLS_BETWEEN_STEPS = 100
LONGEST = 30.0  # s for a call; a step takes 0.02 s, but the first one of a kind may have to compile
MEMORY = 2 << 30  # bytes beyond what is in use; a call that needs more was not bounded
LONGEST_MESSAGE = 2000  # characters: a paragraph, whatever is quoted in it


class Hang(BaseException):
    """A call that does not return."""


class Tally:
    """What became of calls: how many of each were made, how many worked, and complaints about the others."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.worked = 0
        self.complaints: list[str] = []
        self._left: dict[bool, list[str]] = {True: [], False: []}

    def next_label(self, takes: bool, labels: list[str], random: Random) -> str:
        """Each of the labels once, in random order, before any comes again; stages go on where others ended."""
        left = self._left[takes]
        while not left or left[-1] not in labels:
            left[:] = left[:-1] or random.sample(labels, len(labels))
        return left.pop()

    def call(self, call: Call, random: Random) -> None:
        """Make a call with drawn arguments."""
        positional, named = draw(call, random)
        self.made[call.label] += 1
        try:
            signal.setitimer(signal.ITIMER_REAL, LONGEST)
            try:
                call.function(*positional, **named)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            self.worked += 1
        except (Exception, Hang) as error:
            if isinstance(error, IndexError) and call.label.endswith("__getitem__"):
                return  # as sequences do, by which loops over them end
            if wrong := complaint(error):
                self.complaints.append(f"{call.label}({brief(positional, named)}): {wrong}")


def draw(call: Call, random: Random) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Good arguments, of which none, one or all are replaced; options are left out more often than not."""
    given = {name: value for name, value in call.good.items() if value is not ... or random.random() < 0.15}
    spoilt = set(given) if random.random() < 0.1 else {random.choice([*given, ""])}
    drawn = {n: nonsense(random) for n, value in given.items() if n in spoilt or value is ...}
    takes = {n for n, value in given.items() if callable(value) or n in ("worlds", "controls")}
    given |= {n: theirs(value) if callable(value) and n in takes else value for n, value in drawn.items()}
    if isinstance(given.get("steps"), (int, np.integer)):
        given["steps"] = min(given["steps"], 3)  # a million steps are no nonsense, but take their time
    return ((*given.values(),), {}) if call.positional else ((), given)


class Theirs(Exception):  # noqa: N818 - of nobody here
    """What a function that was given has raised: that comes back to the one who gave it."""


def theirs(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose errors are told from those of dovetail."""

    def call(*positional: Any, **named: Any) -> Any:
        try:
            return function(*positional, **named)
        except Exception as error:
            raise Theirs from error

    return call


def complaint(error: BaseException) -> str | None:
    """What is wrong with an exception; None where it is one that users may see."""
    if isinstance(error, DovetailError):
        text = str(error).encode().decode()  # which can be printed
        in_order = text.strip() and "\n\n" not in text and len(text) <= LONGEST_MESSAGE
        return None if in_order else f"a message of {len(text)} characters: {text[:200]!r}"
    if isinstance(error, Theirs):
        return None
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, TypeError) and frames[-1].filename == __file__:
        return None  # Python itself refused the call: the wrong number or names of arguments, or operands
    place = [frame for frame in frames if "dovetail" in frame.filename][-1:]
    where = f" at {Path(place[0].filename).name}:{place[0].lineno}" if place else ""
    return f"{type(error).__name__}: {str(error)[:100]}{where}"


def brief(positional: tuple[Any, ...], named: dict[str, Any]) -> str:
    def text(value: Any) -> str:
        try:
            return " ".join(repr(value)[:60].split())
        except Exception:  # an integer too long to be spelt, or an object that calls have spoilt
            return f"<{type(value).__name__}>"

    return ", ".join([*map(text, positional), *(f"{name}={text(value)}" for name, value in named.items())])


@contextmanager
def bounded() -> Iterator[None]:
    """Calls that take too long or too much memory end with an exception; warnings are exceptions."""
    import resource

    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, limits[1]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ResourceWarning)  # files that a refused call leaves to the collector
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGALRM, before)


def fuzz(tally: Tally, folder: Path, seed: int, calls: int) -> None:
    """So many drawn calls on one stage, and at times a step of what became of it."""
    random = Random(seed)
    stage = Stage(folder)
    offered: dict[bool, dict[str, list[Call]]] = {True: {}, False: {}}
    for call in stage.calls():
        offered[bool(call.good)].setdefault(call.label, []).append(call)
    labels = {takes: list(by_label) for takes, by_label in offered.items()}
    for k in range(calls):
        takes = random.random() < 0.85
        tally.call(random.choice(offered[takes][tally.next_label(takes, labels[takes], random)]), random)
        if k % CALLS_BETWEEN_STEPS == 0:
            for call in stage.steps():
                tally.call(call, random)
    tally.call(stage.start(), random)
    stage.recording.close()


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="needs alarms and limits of memory")
def test_nonsense_is_refused_in_a_paragraph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tally = Tally()
    Stage(tmp_path).running.step(2)  # compiles, which takes what memory and time it takes
    with bounded():
        for seed in range(CALLS // CALLS_OF_A_STAGE):
            folder = tmp_path / str(seed)
            folder.mkdir()
            fuzz(tally, folder, seed, CALLS_OF_A_STAGE)
    made = tally.made.total()
    assert made >= CALLS
    assert not tally.complaints, f"{len(tally.complaints)} of {made} calls:\n" + "\n".join(tally.complaints[:40])
    assert tally.worked > made / 4  # it is not that everything is refused at the door
    assert CALLS < ALL or not missed(tally.made)


def missed(made: Counter[str]) -> set[str]:
    """What is public and was never called."""
    functions = {name for module in MODULES for name in module.__all__ if inspect.isroutine(getattr(module, name))}
    of_sim = {name for name, member in inspect.getmembers(Sim, inspect.isfunction) if not name.startswith("_")}
    calls = functions | {f"{when} Sim.{name}" for name in of_sim - {"view", "write_state"} for when in ("new", "run")}
    started = {f"new Sim.{name}" for name in ("step", "run", "save", "load", "record", "reset", "picture")}
    return {name for name in calls - started - MADE_BY_OTHERS if not made[name]}
