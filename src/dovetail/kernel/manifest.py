"""Which kernels there are to compile: `manifest.json`, written by `benchmarks/kernels.py --renew`.

A task is a function and the types it is compiled for: from Python, inside other kernels, or as a C callback. Those that
it calls come before it, so that in this order nothing is compiled twice. Types are spelled briefly: `f2` is an array of
floats with two dimensions, `i` an integer, `joint.rows.Rows` a record, `(f,f)` a tuple.

Tasks know for which of some scenes they were needed, and those what is in them (`contact`, `ctr`, constitutions). A
scene is taken to need what those needed that have nothing that it has not, and most of that.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from numba import types

from dovetail.kernel.kernel import callback
from dovetail.kernel.record import Record

__all__ = ["PATH", "Task", "entries", "needed", "parse", "spell", "tasks"]

PATH = Path(__file__).with_name("manifest.json")
_PACKAGE = "dovetail."
_SCALARS = {
    "f": types.float64,
    "i": types.int64,
    "b": types.boolean,
    "c": types.int8,
    "p": types.CPointer(types.float64),
}
_LETTERS = {kind: letter for letter, kind in _SCALARS.items()}


@dataclass(frozen=True)
class Task:
    """Something to compile; `needs` are the numbers of what it calls, `seconds` its share of the time."""

    number: int
    module: str
    name: str
    form: str
    signature: str
    needs: tuple[int, ...]
    seconds: float
    scenes: tuple[str, ...]

    def _found(self) -> tuple[Any, Any]:
        """What compiles it, and for what."""
        found = getattr(importlib.import_module(self.module), self.name)
        if self.form == "callback":
            made = callback(found.function, found.pointers)
            return made, made._sig
        return found.inner if self.form == "inner" else found, tuple(parse(word) for word in self.signature.split())

    @property
    def can_wait(self) -> bool:
        """Whether it can be compiled while those who call it run."""
        return getattr(self._found()[0], "can_wait", False)

    def leave_to(self, others: Callable[[], bool]) -> None:
        """Others compile it, as long as they say so."""
        self._found()[0].awaited = others

    def compile(self) -> None:
        """Compile it, or load it from disk."""
        found, signature = self._found()
        found.compile(*([] if self.form == "callback" else [signature]))

    def file(self) -> Path | None:
        """Where it is on disk, if it is."""
        found, signature = self._found()
        made: Path | None = found._cache.find(signature)
        return made


@cache
def _read() -> tuple[dict[str, frozenset[str]], tuple[Task, ...]]:
    told = json.loads(PATH.read_text(encoding="utf-8"))
    scenes = {name: frozenset(what) for name, what in told["scenes"].items()}
    found = []
    for n, (module, name, form, signature, needs, seconds, wanted) in enumerate(told["tasks"]):
        found.append(Task(n, _PACKAGE + module, name, form, signature, tuple(needs), seconds, tuple(wanted)))
    return scenes, tuple(found)


def tasks() -> tuple[Task, ...]:
    """All of them."""
    return _read()[1]


def entries() -> list[Task]:
    """Those that Python calls: what all scenes together need."""
    return [task for task in tasks() if task.form != "inner"]


def needed(features: Iterable[str]) -> list[Task]:
    """What a scene with these features needs."""
    mine = frozenset(features)
    less = {what for what in _read()[0].values() if what <= mine}
    most = {what for what in less if not any(what < other for other in less)}
    alike = {name for name, what in _read()[0].items() if what in most}
    return [task for task in entries() if alike & set(task.scenes)]


def spell(kind: Any) -> str:
    """A type in brief; a TypeError if there is no word for it."""
    if isinstance(kind, types.Array) and kind.layout == "C" and kind.mutable and kind.dtype in _LETTERS:
        return f"{_LETTERS[kind.dtype]}{kind.ndim}"
    if isinstance(kind, types.BaseTuple):
        return f"({','.join(spell(member) for member in kind)})"
    if kind in _LETTERS:
        return _LETTERS[kind]
    if kind == types.none:
        return "-"
    for cls in _records(Record):
        if kind == cls._numba_type_:
            return f"{cls.__module__.removeprefix(_PACKAGE)}.{cls.__qualname__}"
    raise TypeError(f"{kind} has no short name in the manifest; give it one in kernel/manifest.py")


@cache
def parse(word: str) -> Any:
    """The type that `spell` spells so."""
    if word in _SCALARS or word == "-":
        return _SCALARS.get(word, types.none)
    if word.startswith("("):
        return types.Tuple([parse(part) for part in _parts(word[1:-1])])
    if word[0] in _SCALARS and word[1:].isdigit():
        return types.Array(_SCALARS[word[0]], int(word[1:]), "C")
    module, _, name = word.rpartition(".")
    return getattr(importlib.import_module(_PACKAGE + module), name)._numba_type_


def _parts(words: str) -> list[str]:
    """Members of a tuple, which may be tuples."""
    found, depth = [""], 0
    for letter in words:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [part for part in found if part]


def _records(base: type[Record]) -> Iterator[type[Record]]:
    """All records that are imported."""
    for cls in base.__subclasses__():
        yield cls
        yield from _records(cls)
