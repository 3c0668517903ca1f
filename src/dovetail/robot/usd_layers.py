"""Files that a USD stage is made of: none outside of the robot's folders, read in the process of `limited.py`.

USD's reader of binary files (.usdc) trusts them: a damaged one may take for ever, all memory, or the process with it.
A short text can do that as well, by prims that refer to others many times. So the stage is put together by another
process, which hands it over as text without references and instances, or is stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from dovetail.errors import SceneError
from dovetail.messages import shortened
from dovetail.robot.limited import read_limited
from dovetail.robot.paths import Folders

__all__ = ["answer", "flattened", "prepared"]

_MOST_BYTES = 100_000_000
_MOST_LAYERS = 1000
_MOST_PRIMS = 100_000
_MOST_TEXT = 500_000_000  # bytes
_DEEPEST = 100  # instances in instances
_LONGEST = 300  # characters of what USD says


def _check_layers(file: Path, shown: str, given: Sequence[str]) -> None:
    """Refuse a file that, by itself or by others that it names, is put together of files outside of its folders."""
    from pxr import Ar, Sdf

    folders, seen = Folders(file, given), set[Path]()
    todo = [file]
    while todo:
        path = todo.pop()
        if path.resolve() in seen:
            continue
        seen.add(path.resolve())
        if len(seen) > _MOST_LAYERS:
            raise SceneError(f"reading '{shown}': it is made of more than {_MOST_LAYERS} files, which no robot needs.")
        if path.stat().st_size > _MOST_BYTES:
            raise SceneError(f"reading '{path}': it has more than {_MOST_BYTES:,} bytes, which no robot needs.")
        layer = Sdf.Layer.FindOrOpen(str(path))
        if layer is None:
            raise SceneError(f"reading '{shown}': '{path}' is no USD file.")
        for asset in filter(None, (*layer.GetCompositionAssetDependencies(), *_clips(layer))):
            where = layer.ComputeAbsolutePath(asset)
            try:
                if Ar.IsPackageRelativePath(asset) or "`" in asset or asset.lower().endswith(".usdz"):
                    raise ValueError("is a package or an expression, which are not read")
                todo.append(folders.find(where))
            except ValueError as error:
                raise SceneError(f"reading '{path}': the layer '{shortened(asset)}' {error}.") from None


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


def flattened(file: Path, folders: Sequence[str | PathLike[str]]) -> tuple[str, list[str]]:
    """The stage of a file as the text of one layer without instances, and what USD said: made by another process."""
    told, (text,) = read_limited("usd", file, folders=[str(Path(folder).absolute()) for folder in folders])
    return text.decode(errors="replace"), [str(each) for each in told["said"]]


# --- the other process --------------------------------------------------------------------------------------


def prepared() -> None:
    """Load USD."""
    from pxr import Usd, UsdUtils  # noqa: F401


def answer(request: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Put a stage together."""
    from pxr import Tf, Usd, UsdUtils

    file, shown = Path(request["file"]), request["shown"]
    listener = UsdUtils.CoalescingDiagnosticDelegate()
    try:
        _check_layers(file, shown, request["folders"])
        stage = Usd.Stage.Open(str(file))
        _unfold(stage, shown)
        text = stage.Flatten().ExportToString().encode()
    except Tf.ErrorException as error:
        raise SceneError(f"reading '{shown}': it is damaged: {' '.join(str(error).split())[:_LONGEST]}") from None
    except UnicodeDecodeError:
        raise SceneError(f"reading '{shown}': it is damaged; names in it are no text.") from None
    finally:
        said = [str(each.commentary) for each in listener.TakeUncoalescedDiagnostics()]
    if len(text) > _MOST_TEXT:
        raise SceneError(f"reading '{shown}': its stage has {len(text):,} bytes as text, which no robot needs.")
    return {"said": said}, [text]


def _unfold(stage: Any, shown: str) -> None:
    """Make instances prims of their own, in memory: what is inside of them is not looked at otherwise."""
    stage.SetEditTarget(stage.GetSessionLayer())
    for _ in range(_DEEPEST):
        instances = []
        for number, prim in enumerate(stage.Traverse()):
            if number > _MOST_PRIMS:
                raise SceneError(f"reading '{shown}': its stage has more than {_MOST_PRIMS:,} prims; no robot does.")
            if prim.IsInstance():
                instances.append(prim)
        if not instances:
            return
        for prim in instances:
            prim.SetInstanceable(False)
    raise SceneError(f"reading '{shown}': instances are nested more than {_DEEPEST} deep.")
