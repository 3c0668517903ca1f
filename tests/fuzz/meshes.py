"""Spoils meshes of all formats again and again and reads them: python meshes.py 2000 1.

Each has finite vertices and triangles that are there, or is refused by a `DovetailError`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import trimesh
from mutations import spoil_bytes
from robots_compared.mutations import spoil
from watched import Watched

from dovetail.geometry import SimplicialComplexIO, tetmesh
from dovetail.robot.meshes import read_mesh

DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.01" name="cm"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array>
<technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 1 2 3 0 3 2</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix>
<instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""
TEXTS = (".obj", ".msh", ".dae", ".stl")


def doubling(levels: int) -> str:
    """A .dae whose nodes have the next one ten times."""
    nodes = "".join(
        f'<node id="n{k}">' + f'<instance_node url="#n{k + 1}"/>' * 10 + "</node>" for k in reversed(range(levels))
    )
    last = f'<node id="n{levels}"><instance_geometry url="#g"/></node>'
    library = f"<library_nodes>{last}{nodes}</library_nodes><library_visual_scenes>"
    return DAE.replace("<library_visual_scenes>", library).replace(
        '<instance_geometry url="#g"/></node></visual', '<instance_node url="#n0"/></node></visual'
    )


def originals(folder: Path) -> list[tuple[str, bytes]]:
    """Small meshes by their endings, those that are text first."""
    box, solid = trimesh.creation.box((1, 1, 1)), tetmesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
    SimplicialComplexIO().write(folder / "t.msh", solid)
    plain = {ending: box.export(file_type=ending) for ending in ("obj", "ply", "stl", "glb", "stl_ascii")}
    found = {f".{ending}": text if isinstance(text, bytes) else text.encode() for ending, text in plain.items()}
    ascii_stl = found.pop(".stl_ascii")
    return [*found.items(), (".stl", ascii_stl), (".msh", (folder / "t.msh").read_bytes()), (".dae", DAE.encode())]


def read(file: Path) -> None:
    for part in read_mesh(file):
        vertices, faces = part.triangles
        assert np.isfinite(vertices).all()
        assert faces.size == 0 or (faces.min() >= 0 and faces.max() < len(vertices))


def main(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as outside:
        folder = Path(outside) / "r"
        folder.mkdir()
        good = originals(folder)
        for suffix, content in good:
            (folder / f"good{suffix}").write_bytes(content)
            read(folder / f"good{suffix}")
        with Watched(Path(outside)) as watched:
            for k in range(count):
                suffix, content = good[k % len(good)]
                if k % 100 == 99:
                    suffix, content = ".dae", doubling(6).encode()
                elif suffix in TEXTS and rng.random() < 0.7:
                    content = spoil(content.decode("latin-1"), rng).encode("latin-1", "replace")
                else:
                    content = spoil_bytes(content, rng)
                file = folder / f"mesh{k}{suffix}"
                file.write_bytes(content)
                watched.read(file.name, lambda file=file: read(file))
                file.unlink()
            watched.tell()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
