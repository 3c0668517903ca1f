"""The module `uipc.dev`: registers of UIDs to look things up in, and a check of meshes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dovetail import builtin
from dovetail.constitution import AffineBodyRod, AffineBodyShell, IConstitution
from dovetail.geometry import SimplicialComplex, SimplicialComplexIO, label_open_edge, linemesh
from dovetail.logger import Logger

__all__ = ["ConstitutionUIDInfo", "ImplicitGeometryUIDInfo", "MeshDoctor"]


class _UIDInfo:
    """A register of UIDs, in order; printed, it is a table."""

    def __init__(self, entries: list[dict[str, Any]]) -> None:
        self.uids = sorted(entries, key=lambda entry: int(entry["uid"]))
        self._by_uid = {entry["uid"]: entry for entry in self.uids}

    def get_uid_info(self, uid: int) -> dict[str, Any] | None:
        """uid, name and type, or None."""
        return self._by_uid.get(uid)

    def check_uid_available(self, uid: int) -> bool:
        return uid not in self._by_uid

    def first_available_uid(self, start_uid: int = 0) -> int:
        uid = start_uid
        while uid in self._by_uid:
            uid += 1
        return uid

    def __repr__(self) -> str:
        rows = (f"| {entry['uid']} | {entry['name']} | {entry['type']} |" for entry in self.uids)
        return "\n".join(["| UID | Name | Type |", "|---|---|---|", *rows])


class ConstitutionUIDInfo(_UIDInfo):
    """All constitutions."""

    def __init__(self) -> None:
        super().__init__(builtin.ConstitutionUIDCollection.instance().to_json())


class ImplicitGeometryUIDInfo(_UIDInfo):
    """All geometries that are given by a formula."""

    def __init__(self) -> None:
        super().__init__(builtin.ImplicitGeometryUIDCollection.instance().to_json())


class MeshDoctor:
    """Says whether a mesh can be used for a constitution; what is wrong is logged, and written to the workspace."""

    def __init__(self, workspace: str | Path, with_gui: bool = False) -> None:
        self.workspace = Path(workspace)
        self.with_gui = with_gui

    def check_mesh(self, constitution: IConstitution, mesh: SimplicialComplex) -> bool:
        """Of affine bodies: a trimesh must be closed. Open edges are written to open_edges.obj."""
        if constitution.type() != builtin.AffineBody:
            raise ValueError(f"MeshDoctor: {constitution!r} is of type '{constitution.type()}'; give an affine body.")
        if mesh.dim() != 2 or isinstance(constitution, (AffineBodyShell, AffineBodyRod)):
            return True
        is_open = label_open_edge(mesh).values != 0
        if not is_open.any():
            return True
        Logger.error(
            f"MeshDoctor: the mesh has {int(is_open.sum())} open edges, but the volume of an affine body must be "
            f"closed; fill the holes shown by '{self.workspace / 'open_edges.obj'}', or make it an AffineBodyShell."
        )
        edges = linemesh(mesh.positions.values, mesh.edges.topo.values[is_open])
        SimplicialComplexIO().write(self.workspace / "base_mesh.obj", mesh)
        SimplicialComplexIO().write(self.workspace / "open_edges.obj", edges)
        if self.with_gui:
            self._show(mesh, edges)
        return False

    def _show(self, mesh: SimplicialComplex, edges: SimplicialComplex) -> None:
        import polyscope as ps

        ps.init()
        surface = ps.register_surface_mesh("mesh", mesh.positions.values, mesh.triangles.topo.values)
        surface.set_transparency(0.7)
        used, renumbered = np.unique(edges.edges.topo.values, return_inverse=True)
        lines = renumbered.reshape(-1, 2)
        ps.register_curve_network("open edges", edges.positions.values[used], lines, color=(1.0, 0.0, 0.0))
        ps.show()
