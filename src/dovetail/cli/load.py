"""Scene files of all kinds as a world that can run."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.errors import DovetailError, SceneError

if TYPE_CHECKING:
    from types import ModuleType

    from dovetail.core import Scene, World
    from dovetail.sim import Sim

__all__ = ["load", "load_scene"]


def load(path: Path) -> World:
    """An initialised world of the scene in a file."""
    from dovetail.sim import Sim
    from dovetail.sim.start import start

    found = load_scene(path)
    return found.world if isinstance(found, Sim) else start(found)


def load_scene(path: Path) -> Scene | Sim:
    """The scene or Sim in a .py, .toml or .json file."""
    from dovetail.io import SceneIO
    from dovetail.sim.toml_file import load_toml

    if not path.is_file():
        raise SceneError(f"there is no file '{path}'.")
    suffix = path.suffix.lower()
    if suffix == ".py":
        return _of_module(path)
    if suffix == ".toml":
        return load_toml(path)
    if suffix == ".json":
        return SceneIO.load(path)
    raise SceneError(f"'{path}' is no scene; scenes end in .py, .toml or .json.")


def _of_module(path: Path) -> Scene | Sim:
    """What a program builds: build(), or a variable `sim` or `scene`.

    It is run as a module, so that what stands under `if __name__ == "__main__"` is left out.
    """
    from dovetail.core import Scene
    from dovetail.sim import Sim

    module = _imported(path)
    if callable(getattr(module, "build", None)):
        with _told_where(path):
            made = module.build()
        first: Any = made[0] if isinstance(made, (tuple, list)) and made else made
        source = "build()"
    else:
        name = next((name for name in ("sim", "scene") if hasattr(module, name)), None)
        if name is None:
            raise SceneError(f"'{path}' has no build(), and no variable `sim` or `scene`; let build() return one.")
        first, source = getattr(module, name), f"`{name}`"
    if not isinstance(first, (Scene, Sim)):
        raise SceneError(f"{source} of '{path}' gives a {type(first).__name__}; a Scene or a Sim is needed.")
    return first


def _imported(path: Path) -> ModuleType:
    name = f"dovetail_scene_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))  # as for `python scene.py`: modules beside it are found
    with _told_where(path):
        specification.loader.exec_module(module)
    return module


@contextmanager
def _told_where(path: Path) -> Iterator[None]:
    """Let an error of a program name its file and line."""
    try:
        yield
    except Exception as error:
        lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if _is(path, frame.f_code.co_filename)]
        if isinstance(error, SyntaxError) and error.filename and _is(path, error.filename):
            lines = [error.lineno or 1]
        if not lines:
            raise
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        what = text if isinstance(error, DovetailError) else f"{type(error).__name__}: {text}."
        raise SceneError(f"'{path}', line {lines[-1]}: {what}") from error


def _is(path: Path, file: str) -> bool:
    return Path(file).resolve() == path.resolve()
