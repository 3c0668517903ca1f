"""Scenes as TOML files: tables named like the calls of `Sim`, with their arguments.

    [sim]
    dt = 0.01

    [[box]]
    name = "rod"
    size = [0.6, 0.05, 0.05]
    pos = [0.3, 0.0, 1.0]

    [[revolute]]
    right = "rod"
    pos = [0.0, 0.0, 1.0]
    axis = [0.0, 1.0, 0.0]
    limit = [-0.5, 2.0]

Bodies are made first, then joints, each in the order of the file. Joints name their bodies; without `left` they hold on
to the world. A mesh gives a `source` beside the file, a compound its `parts`, tables
with a `shape`: parts = [{ shape = "box", size = 0.1 }, { shape = "sphere", radius = 0.1, pos = [0.2, 0, 0] }].

A file is data: nothing in it is executed.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from dovetail.checked import shown
from dovetail.errors import DovetailError, SceneError
from dovetail.sim.compound import Part, PartOptions
from dovetail.sim.make_bodies import BodyOptions
from dovetail.sim.make_joints import HoldOptions, JointOptions
from dovetail.sim.sim import Sim
from dovetail.sim.terrain import TerrainOptions

__all__ = ["load_toml"]

_BODIES = ("box", "sphere", "capsule", "cylinder", "mesh", "compound", "terrain", "ground")
_SHAPES = ("box", "sphere", "capsule", "cylinder", "mesh")
_JOINTS = (
    "revolute", "prismatic", "spherical", "fixed",
    "cylindrical", "screw", "universal", "planar", "point_on_line", "distance",
)  # fmt: skip
_OPTIONS = {known.__name__: known for known in (BodyOptions, HoldOptions, JointOptions, PartOptions, TerrainOptions)}


def load_toml(path: str | PathLike[str]) -> Sim:
    """The simulation that a file describes."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except OSError as error:
        raise SceneError(f"reading '{file}': {error.strerror or error}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SceneError(f"reading '{file}': it is not TOML ({error}).") from None
    reading = _Reading(text)
    try:
        return _build(document, file.parent, reading)
    except DovetailError as error:
        raise SceneError(f"reading '{file}'{reading.where(str(error))}: {error}") from None


class _Reading:
    """Which table of a file is being read, for messages that say where a mistake is."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._table, self._count, self.key = "", 0, ""

    def begin(self, table: str, count: int) -> None:
        """Go on to the so many-th table of a name."""
        self._table, self._count, self.key = table, count, ""

    def where(self, message: str) -> str:
        """The line of the key, or the one that a message gives the value of, or the table; empty if there is none."""
        named = re.search(r"\b(\w+) = ", message)
        key = self.key or (named[1] if named else "")
        heads = [
            k
            for k, line in enumerate(self._lines)
            if self._table and re.match(rf"\s*(\[\[?\s*{self._table}\s*\]|{self._table}\s*=)", line)
        ]
        if self._count >= len(heads):
            return ""
        found = heads[self._count]
        for k in range(found + 1, len(self._lines)):
            if self._lines[k].lstrip().startswith("["):
                break
            if key and re.match(rf"\s*{re.escape(key)}\s*=", self._lines[k]):
                found = k
                break
        return f", line {found + 1}"


def _build(document: dict[str, Any], folder: Path, reading: _Reading) -> Sim:
    known = ("sim", *_BODIES, *_JOINTS)
    unknown = [name for name in document if name not in known]
    if unknown:
        reading.begin(unknown[0], 0)
        raise SceneError(f"there is no table '{unknown[0]}'; there are {', '.join(known)}.")
    reading.begin("sim", 0)
    settings = document.get("sim", {})
    if not isinstance(settings, dict):
        raise SceneError("'sim' is not a table; write [sim].")
    _require_known("[sim]", settings, _parameters(Sim.__init__), reading)
    sim = Sim(**settings)
    for kind in _BODIES:
        for entry in _entries(document, kind, reading):
            if kind == "compound":
                entry["parts"] = [_part(part, folder, reading) for part in _tables(entry, "parts")]
            _call(sim, kind, _found(entry, folder), reading)
    for kind in _JOINTS:
        for entry in _entries(document, kind, reading):
            for side in ("left", "right"):
                if side in entry:
                    reading.key = side
                    entry[side] = sim[str(entry[side])]
            _call(sim, kind, {"left": None, **entry}, reading)
    return sim


def _part(entry: dict[str, Any], folder: Path, reading: _Reading) -> Part:
    shape = entry.pop("shape", None)
    if shape not in _SHAPES:
        raise SceneError(f"a part of a [[compound]] has the shape {shown(shape)}; it is one of {', '.join(_SHAPES)}.")
    made: Part = _call(Part, shape, _found(entry, folder), reading)
    return made


def _found(entry: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The entry with the file of a mesh looked for in a folder."""
    return {**entry, "source": folder / entry["source"]} if isinstance(entry.get("source"), str) else entry


def _entries(document: dict[str, Any], kind: str, reading: _Reading) -> Iterator[dict[str, Any]]:
    reading.begin(kind, 0)
    for count, entry in enumerate(_tables(document, kind)):
        reading.begin(kind, count)
        yield entry


def _tables(document: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    found = document.get(kind, [])
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise SceneError(f"'{kind}' is not a list of tables; write [[{kind}]] above each.")
    return [dict(entry) for entry in found]


def _call(owner: Sim | type[Part], kind: str, arguments: dict[str, Any], reading: _Reading) -> Any:
    reading.key = ""
    method = getattr(owner, kind)
    parameters = _parameters(method)
    where = f"[[{kind}]] '{arguments['name']}'" if "name" in arguments else f"[[{kind}]]"
    _require_known(where, arguments, parameters, reading)
    missing = [name for name, needed in parameters.items() if needed and name not in arguments]
    if missing:
        raise SceneError(f"{where} has no '{missing[0]}'; add it.")
    return method(**arguments)


def _require_known(where: str, given: dict[str, Any], parameters: dict[str, bool], reading: _Reading) -> None:
    unknown = [name for name in given if name not in parameters]
    if unknown:
        reading.key = unknown[0]
        raise SceneError(f"{where} has an unknown '{unknown[0]}'; it takes {', '.join(parameters)}.")


def _parameters(method: Any) -> dict[str, bool]:
    """Names of a call's arguments, and whether each must be given."""
    found: dict[str, bool] = {}
    for name, parameter in inspect.signature(method).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            options = next(known for name, known in _OPTIONS.items() if name in str(parameter.annotation))
            found |= dict.fromkeys(options.__annotations__, False)
        elif name != "self":
            found[name] = parameter.default is inspect.Parameter.empty
    return found
