"""Where the meshes that a robot's file names are, and that nothing outside the robot's own folders is read."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from dovetail.errors import SceneError

__all__ = ["Folders"]

_INNER = {"urdf", "urdfs", "robots", "robot", "xml", "mjcf", "xacro"}
"""Folders of a package that files of robots lie in, beside those of their meshes."""


class Folders:
    """Folders that a robot's meshes may be in: its package, and those that were given.

    The package is the nearest folder above the file with a package.xml, or else the folder that the file is in, without
    `urdf` or the like at its end. `package://name/…` is looked for in folders called `name`: below the given ones, a
    given one itself, the package, and, where that has a package.xml, those beside it.
    """

    def __init__(self, file: Path, given: Sequence[str | PathLike[str]] = (), above: int = 0) -> None:
        """`above` is by how many folders the package of a file without a package.xml is above its own."""
        self._home = file.resolve().parent
        try:
            self._given = [_real(Path(folder)) for folder in given]
        except ValueError as error:
            raise SceneError(f"reading '{file}': a folder that was given {error}.") from None
        for folder in self._given:
            if not folder.is_dir():
                raise SceneError(f"reading '{file}': there is no folder '{folder}'; give folders that exist.")
        upwards = (self._home, *self._home.parents)
        packed = next((folder for folder in upwards if (folder / "package.xml").is_file()), None)
        inner = self._home.parent if self._home.name.lower() in _INNER else self._home
        self._package = packed or ([inner, *inner.parents][: above + 1][-1])
        self._beside = [] if packed is None else [packed.parent]

    def find(self, uri: str) -> Path:
        """The file that a URI or path of the robot's file means; ValueError says what is wrong with it."""
        scheme, separator, rest = uri.partition("://")
        if not uri.strip() or "\0" in uri:
            raise ValueError("names no file")
        if not separator:
            return self.inside(self._home / uri)
        if scheme == "file":
            return self.inside(Path(rest))
        if scheme not in ("package", "model"):
            raise ValueError(f"is a {scheme}:// address; only files of this machine are read")
        name, _, below = rest.lstrip("/").partition("/")
        if name in ("", ".", ".."):
            raise ValueError("names no package")
        called = [folder for folder in (*self._given, self._package) if folder.name == name]
        for root in [*(folder / name for folder in (*self._given, *self._beside)), *called]:
            found = _real(root / below)
            if found.is_file() and found.is_relative_to(_real(root)):
                return found
        raise ValueError(f"was not found; give folders=[…] with the folder that has the package '{name}'")

    def inside(self, path: Path) -> Path:
        """The file, where it is in one of the folders; ValueError says what is wrong with it."""
        found = _real(path)
        if not any(found.is_relative_to(folder) for folder in (self._package, *self._given)):
            raise ValueError(f"is outside of '{self._package}'; give folders=[…] with the folder that it is in")
        if not found.is_file():
            raise ValueError(f"was not found: there is no '{found}'")
        return found


def _real(path: Path) -> Path:
    """A path without links; ValueError where they go in a circle."""
    try:
        return path.resolve()
    except RuntimeError:  # until Python 3.12; later there is no such file
        raise ValueError("is a link that leads to itself") from None
