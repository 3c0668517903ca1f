"""Reading and writing meshes: .obj, .ply, .stl, .glb surfaces and .msh (Gmsh) meshes of any dimension."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Callable
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dovetail.checked import checked
from dovetail.errors import GeometryError
from dovetail.files import atomic_write
from dovetail.geometry.check import checked_positions, checked_simplices
from dovetail.geometry.create import complex_of
from dovetail.geometry.simplicial_complex import SimplicialComplex
from dovetail.geometry.surface import extract_surface
from dovetail.geometry.transform import Transform, matrix_of

__all__ = ["SimplicialComplexIO"]

# positions (n, 3), and the simplices with 2, 3, 4 corners
Parts = tuple[NDArray[Any], dict[int, NDArray[Any]]]


class SimplicialComplexIO:
    """Mesh files. A transform given here is applied to the positions of what is read.

    | format | holds | numbers |
    |---|---|---|
    | .msh | tetrahedra, triangles, lines or points: the highest kind in the file | float64 |
    | .obj | triangles (polygons are split), lines, points | text, 17 decimals |
    | .ply | triangles or points | float64 |
    | .stl, .glb | triangles; vertices at equal positions become one | float32 |
    """

    @checked(GeometryError)
    def __init__(self, pre_transform: Transform | ArrayLike | None = None) -> None:
        matrix = np.eye(4) if pre_transform is None else matrix_of(pre_transform)
        if not np.isfinite(matrix).all():
            raise GeometryError(f"SimplicialComplexIO: the transform is not finite:\n{matrix}")
        self._pre_transform = Transform(matrix)

    @checked(GeometryError)
    def read(self, path: str | PathLike[str]) -> SimplicialComplex:
        """The mesh in a file, with one instance at the origin."""
        file = Path(path)
        reader = _READERS.get(file.suffix.lower())
        if reader is None:
            raise GeometryError(f"reading '{file}': unknown extension '{file.suffix}'; use {', '.join(_READERS)}.")
        try:
            content = file.read_bytes()
        except OSError as error:
            raise GeometryError(f"reading '{file}': {error.strerror or error}.") from error
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # whatever the libraries warn of, the checks below decide
                positions, simplices = reader(content, file)
            positions = np.array(positions, np.float64).reshape(-1, 3)
        except GeometryError:
            raise
        except Exception as error:
            raise GeometryError(
                f"reading '{file}': the file is damaged or not a {file.suffix} file "
                f"({str(error).strip() or type(error).__name__}); export it again."
            ) from error
        return self._assemble(f"reading '{file}'", positions, simplices)

    def _assemble(self, who: str, positions: NDArray[Any], simplices: dict[int, NDArray[Any]]) -> SimplicialComplex:
        checked = checked_positions(who, positions)
        if len(checked) == 0:
            raise GeometryError(f"{who}: no vertices were found; the file is empty or holds something else.")
        edges, triangles, tets = (
            checked_simplices(who, kind, simplices.get(corners, np.zeros((0, corners), int)), (corners,), len(checked))
            for corners, kind in ((2, "edge"), (3, "triangle"), (4, "tetrahedron"))
        )
        return complex_of(self._pre_transform.apply_to(checked), edges, triangles, tets)

    @checked(GeometryError)
    def write(self, path: str | PathLike[str], sc: SimplicialComplex) -> None:
        """Write positions and elements; of a tetmesh all formats but .msh hold the surface.

        Instance transforms are not applied (see `apply_transform`). The file is replaced as a whole or not at
        all.
        """
        file = Path(path)
        writer = _WRITERS.get(file.suffix.lower())
        who = f"writing '{file}'"
        if writer is None:
            raise GeometryError(f"{who}: unknown extension '{file.suffix}'; use {', '.join(_WRITERS)}.")
        if sc.dim() == 3 and file.suffix.lower() != ".msh":
            sc = extract_surface(sc)
        content = writer(sc, who)
        try:
            atomic_write(file, content)
        except OSError as error:
            raise GeometryError(f"{who}: {error.strerror or error}.") from error


def _read_obj(content: bytes, file: Path) -> Parts:
    """Only `v`, `f` and `l` statements: texture seams would split vertices, groups would split the mesh."""
    text = content.decode(errors="replace").replace("\r", "\n").replace("\\\n", " ")
    kept = re.findall(r"^[ \t]*([vfl][ \t].*)$", text, re.MULTILINE)
    plain = [re.sub(r"/\S*", "", line) if line[0] != "v" else line for line in kept]
    loaded = _trimesh_load("\n".join(line for line in plain if line[0] != "l").encode(), "obj")
    positions = np.asarray(getattr(loaded, "vertices", np.zeros((0, 3))))
    simplices = {3: np.asarray(getattr(loaded, "faces", np.zeros((0, 3), int)))}
    chains = [np.array(line.split()[1:], np.int64) for line in plain if line[0] == "l"]
    if chains:
        pairs = np.concatenate([np.stack([chain[:-1], chain[1:]], axis=1) for chain in chains])
        simplices[2] = np.where(pairs > 0, pairs - 1, pairs + len(positions))
    return positions, simplices


def _read_ply(content: bytes, file: Path) -> Parts:
    loaded = _trimesh_load(content, "ply")
    return loaded.vertices, {3: getattr(loaded, "faces", np.zeros((0, 3), int))}


def _read_soup(content: bytes, file: Path) -> Parts:
    """Triangles that do not share vertices: equal positions are joined, triangles without area dropped."""
    loaded = _trimesh_load(content, file.suffix.lower()[1:])
    mesh = loaded.to_mesh() if hasattr(loaded, "to_mesh") else loaded
    faces = np.asarray(getattr(mesh, "faces", ()))
    if len(faces) == 0:
        raise GeometryError(f"reading '{file}': no triangles in it; the file is damaged or holds something else.")
    _, first, inverse = np.unique(mesh.vertices, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    triangles = rank[inverse.reshape(-1)][faces]
    corners = np.sort(triangles, axis=1)
    distinct = (corners[:, 1:] != corners[:, :-1]).all(axis=1)
    return mesh.vertices[first[order]], {3: triangles[distinct]}


def _trimesh_load(content: bytes, file_type: str) -> Any:
    import trimesh

    return trimesh.load(BytesIO(content), file_type=file_type, process=False, maintain_order=True)


def _read_msh(content: bytes, file: Path) -> Parts:
    import meshio

    mesh = meshio.gmsh.read(file)
    for cell, corners in (("tetra", 4), ("triangle", 3), ("line", 2)):
        blocks = [block.data for block in mesh.cells if block.type == cell]
        if cell == "triangle":
            quads = [block.data for block in mesh.cells if block.type == "quad"]
            blocks += [quad[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3) for quad in quads]
        if blocks:
            return mesh.points, {corners: np.concatenate(blocks)}
    return mesh.points, {}


_READERS: dict[str, Callable[[bytes, Path], Parts]] = {
    ".obj": _read_obj,
    ".msh": _read_msh,
    ".ply": _read_ply,
    ".stl": _read_soup,
    ".glb": _read_soup,
}


def _write_obj(sc: SimplicialComplex, who: str) -> str:
    import trimesh

    options = {"file_type": "obj", "digits": 17, "header": None, "include_color": False}
    if sc.triangles.size():
        mesh = _trimesh_of(sc)
        text = str(mesh.export(include_normals=False, include_texture=False, **options))
    else:
        text = str(trimesh.PointCloud(sc.positions.values).export(include_normals=False, **options))
    is_facet = sc.edges.find("is_facet")
    lines = sc.edges.topo.values[is_facet.values != 0] if is_facet is not None else sc.edges.topo.values[:0]
    return text.rstrip() + "\n" + "".join(f"l {a} {b}\n" for a, b in (lines + 1).tolist())


def _write_ply(sc: SimplicialComplex, who: str) -> bytes:
    import meshio

    if sc.dim() == 1:
        raise GeometryError(f"{who}: .ply cannot hold lines; use .obj or .msh.")
    cells = [("triangle", sc.triangles.topo.values)] if sc.dim() == 2 else []
    stream = BytesIO()
    meshio.ply.write(stream, meshio.Mesh(sc.positions.values, cells))
    return stream.getvalue()


def _write_triangles(kind: str) -> Callable[[SimplicialComplex, str], bytes]:
    def write(sc: SimplicialComplex, who: str) -> bytes:
        if sc.dim() != 2:
            raise GeometryError(f"{who}: .{kind} holds triangles only; use .obj or .msh.")
        content: bytes = _trimesh_of(sc).export(file_type=kind)
        return content

    return write


def _trimesh_of(sc: SimplicialComplex) -> Any:
    import trimesh

    return trimesh.Trimesh(sc.positions.values, sc.triangles.topo.values, process=False)


def _write_msh(sc: SimplicialComplex, who: str) -> bytes:
    import meshio

    names = ("vertex", "line", "triangle", "tetra")
    points = np.arange(sc.vertices.size())[:, None]
    levels = (points, sc.edges.topo.values, sc.triangles.topo.values, sc.tetrahedra.topo.values)
    cells = levels[sc.dim()]
    tags = [np.zeros(len(cells), int)]  # meshio speaks up when they are missing
    mesh = meshio.Mesh(
        sc.positions.values,
        [(names[sc.dim()], cells)],
        cell_data={"gmsh:physical": tags, "gmsh:geometrical": tags},
    )
    with tempfile.TemporaryDirectory() as folder:  # meshio writes .msh to a path only
        draft = Path(folder) / "mesh.msh"
        meshio.gmsh.write(draft, mesh, fmt_version="2.2", binary=False)
        return draft.read_bytes()


_WRITERS: dict[str, Callable[[SimplicialComplex, str], bytes | str]] = {
    ".obj": _write_obj,
    ".msh": _write_msh,
    ".ply": _write_ply,
    ".stl": _write_triangles("stl"),
    ".glb": _write_triangles("glb"),
}
