"""Files that a USD stage is made of: none outside of the robot's folders, and binary ones in a process of their own.

USD's reader of binary files (.usdc) trusts them: a damaged one may take for ever, all memory, or the process with it.
So a stage with such a file is put together by another process, which hands it over as text, or is stopped.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from dovetail.errors import SceneError
from dovetail.interpreter import command, environment, main_of
from dovetail.messages import shortened
from dovetail.robot.paths import Folders

__all__ = ["check_layers", "flattened"]

_MOST_BYTES = 100_000_000
_MOST_LAYERS = 1000
_MOST_SECONDS = 30
_MOST_MEMORY = 4 * 2**30
_BINARY = b"PXR-USDC"
_REFUSED = 3  # what the process ends with where it has a message


def check_layers(file: Path, given: Sequence[str | PathLike[str]], binary: bool = False) -> bool:
    """Refuse a file that, by itself or by others that it names, is put together of files outside of its folders.

    Whether all of them are text; the search ends at the first that is not, unless `binary` ones may be opened.
    """
    from pxr import Ar, Sdf

    folders, seen = Folders(file, given), set[Path]()
    todo = [file]
    while todo:
        path = todo.pop()
        if path.resolve() in seen:
            continue
        seen.add(path.resolve())
        if len(seen) > _MOST_LAYERS:
            raise SceneError(f"reading '{file}': it is made of more than {_MOST_LAYERS} files, which no robot needs.")
        if path.stat().st_size > _MOST_BYTES:
            raise SceneError(f"reading '{path}': it has more than {_MOST_BYTES:,} bytes, which no robot needs.")
        with path.open("rb") as stream:
            if stream.read(len(_BINARY)) == _BINARY and not binary:
                return False
        layer = Sdf.Layer.FindOrOpen(str(path))
        if layer is None:
            raise SceneError(f"reading '{file}': '{path}' is no USD file.")
        for asset in filter(None, (*layer.GetCompositionAssetDependencies(), *_clips(layer))):
            where = layer.ComputeAbsolutePath(asset)
            try:
                if Ar.IsPackageRelativePath(asset) or "`" in asset or asset.lower().endswith(".usdz"):
                    raise ValueError("is a package or an expression, which are not read")
                todo.append(folders.find(where))
            except ValueError as error:
                raise SceneError(f"reading '{path}': the layer '{shortened(asset)}' {error}.") from None
    return True


def _clips(layer: Any) -> Iterable[str]:
    """Files that values are read from later."""
    found: list[str] = []

    def visit(path: Any) -> None:
        spec = layer.GetObjectAtPath(path)
        for clip in (spec.GetInfo("clips") or {}).values() if path.IsPrimPath() and spec.HasInfo("clips") else ():
            found.extend(str(asset.path) for asset in clip.get("assetPaths", ()))
            found.extend(str(clip[key].path) for key in ("manifestAssetPath",) if key in clip)
            found.extend(["`"] if "templateAssetPath" in clip else [])

    layer.Traverse("/", visit)
    return found


def flattened(file: Path, folders: Sequence[str | PathLike[str]]) -> str:
    """The stage of a file as the text of one layer, put together by another process."""
    line = command(main_of(__name__), str(file), *(str(folder) for folder in folders))
    try:
        done = subprocess.run(line, capture_output=True, env=environment(), timeout=_MOST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise SceneError(f"reading '{file}': USD's reader took more than {_MOST_SECONDS} s; it is damaged.") from None
    if done.returncode == _REFUSED:
        raise SceneError(done.stderr.decode(errors="replace").partition("\0")[2])
    if done.returncode != 0:
        raise SceneError(f"reading '{file}': it is damaged; USD's reader failed on it ({done.returncode}).")
    return done.stdout.decode(errors="replace")


def _hand_over(file: Path, folders: Sequence[str]) -> int:
    """What the other process does."""
    from pxr import Tf, Usd

    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        check_layers(file, folders, binary=True)
        text = Usd.Stage.Open(str(file)).Flatten().ExportToString()
    except (SceneError, Tf.ErrorException, UnicodeDecodeError, MemoryError) as error:
        words = (
            str(error)
            if isinstance(error, SceneError)
            else f"reading '{file}': it is damaged ({type(error).__name__})."
        )
        sys.stderr.write(f"\0{words}")
        return _REFUSED
    sys.stdout.buffer.write(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(_hand_over(Path(sys.argv[1]), sys.argv[2:]))
