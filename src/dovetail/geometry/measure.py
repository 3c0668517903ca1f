"""Questions to a geometry: how fine its surface is, and what kind of body it is."""

from __future__ import annotations

import warnings

import numpy as np

from dovetail.builtin import ConstitutionUIDCollection
from dovetail.checked import checked, shown, whole
from dovetail.errors import GeometryError
from dovetail.geometry.attribute import AttributeSlot
from dovetail.geometry.check import finite_positions
from dovetail.geometry.geometry import Geometry
from dovetail.geometry.simplicial_complex import SimplicialComplex

__all__ = ["compute_mesh_d_hat", "constitution_type"]


@checked(GeometryError)
def compute_mesh_d_hat(sc: SimplicialComplex, max_d_hat: float) -> AttributeSlot | None:
    """Write meta `d_hat` [m], the contact distance of the mesh: its shortest surface edge, if < `max_d_hat`.

    Without surface labels there is nothing to measure: a warning is given and None returned.
    """
    largest = float(max_d_hat)
    if not 0.0 < largest < np.inf:
        raise GeometryError(f"compute_mesh_d_hat: max_d_hat = {largest} [m]; give a positive length.")
    is_surf = sc.edges.find("is_surf")
    if is_surf is None:
        warnings.warn(
            "compute_mesh_d_hat: the surface is not labelled, so d_hat is not set; call label_surface first.",
            stacklevel=2,
        )
        return None
    if sc.meta.find("d_hat") is not None:
        raise GeometryError("compute_mesh_d_hat: meta 'd_hat' exists already; destroy it first.")
    ends = finite_positions("compute_mesh_d_hat", sc)[sc.edges.topo.values[is_surf.values != 0]]
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    return sc.meta.create("d_hat", float(lengths.min(initial=largest)))


@checked(GeometryError)
def constitution_type(geo: Geometry) -> str:
    """The type of the constitution that was applied, such as 'AffineBody'; 'None' without one."""
    uid = geo.meta.find("constitution_uid")
    if uid is None:
        return "None"
    number = whole(uid.first)
    if number is None:
        raise GeometryError(f"constitution_type: the meta attribute 'constitution_uid' is no UID, but {shown(uid)}.")
    return ConstitutionUIDCollection.instance().find(number).type
