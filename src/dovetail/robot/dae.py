"""COLLADA files (.dae), in the process of `limited.py`: nodes that name others many times make a small file large."""

from __future__ import annotations

import re
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.errors import SceneError
from dovetail.robot.limited import read_limited
from dovetail.typing import Array, Indices

__all__ = ["answer", "prepared", "read_dae"]


def read_dae(file: Path) -> list[tuple[Array, Indices, Array | None]]:
    """Vertices (n, 3) [m], triangles (m, 3) and the colour (3,) of each surface; None where it has none."""
    told, blobs = read_limited("dae", file)
    found: list[tuple[Array, Indices, Array | None]] = []
    for k, color in enumerate(told["colors"]):
        vertices = np.frombuffer(blobs[2 * k], np.float64).reshape(-1, 3)
        faces = np.frombuffer(blobs[2 * k + 1], np.int64).reshape(-1, 3)
        found.append((vertices, faces, None if color is None else np.array(color)))
    return found


# --- the other process --------------------------------------------------------------------------------------


def prepared() -> None:
    """Load what reads them."""
    import_module("collada")
    import_module("trimesh")


def answer(request: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Read a file."""
    import trimesh

    colors, blobs = [], list[bytes]()
    try:
        content = Path(request["file"]).read_bytes()
        unit = re.search(rb'<unit[^>]*\bmeter="([0-9.eE+-]+)"', content)
        metre = 1.0 if unit is None else float(unit[1])
        for part in trimesh.load_scene(BytesIO(content), file_type="dae").dump():
            if len(getattr(part, "faces", ())):
                vertices, faces = np.asarray(part.vertices, np.float64) * metre, np.asarray(part.faces, np.int64)
                if not np.isfinite(vertices).all() or faces.min() < 0 or faces.max() >= len(vertices):
                    raise ValueError("it has numbers that are not finite, or vertices that are not there")
                color = _color(part)
                colors.append(None if color is None else color.tolist())
                blobs += [vertices.tobytes(), faces.tobytes()]
        if not colors:
            raise ValueError("it has no triangles")
    except MemoryError:
        raise
    except Exception as error:
        told = " ".join(str(error).split())[:200]
        raise SceneError(f"reading '{request['shown']}': it is damaged or not a .dae file ({told}).") from None
    return {"colors": colors}, blobs


def _color(mesh: Any) -> Array | None:
    """That of its material; None where it has a picture, or nothing."""
    material = getattr(mesh.visual, "material", None)
    pictures = [getattr(material, name, None) for name in ("baseColorTexture", "image")]
    if material is None or any(picture is not None for picture in pictures):
        return None
    return np.asarray(material.main_color, float)[:3] / 255.0
