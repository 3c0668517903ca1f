"""Affine bodies without a volume of their own: thin shells from triangle meshes, rods from line meshes.

Their thickness is a radius r: a shell reaches r to both sides of its triangles, V = Σ A·2r, a rod is a
round wire around its edges, V = Σ L·πr². The mass moments count the thickness.
"""

from __future__ import annotations

from typing import ClassVar

from dovetail.checked import checked
from dovetail.constitution.affine_body import AffineBody
from dovetail.constitution.base import fill
from dovetail.errors import ArgumentType, GeometryError
from dovetail.geometry import SimplicialComplex
from dovetail.geometry.mass import rod_moments, shell_moments
from dovetail.typing import Array

__all__ = ["AffineBodyRod", "AffineBodyShell"]


class _Codimensional(AffineBody):
    """A body of triangles or lines with thickness. Adds meta `is_codim` = 1 and vertices `thickness` [m]."""

    uids = (1, 2)
    dim: ClassVar[int]
    mesh: ClassVar[str]

    @checked(ArgumentType)
    def apply_to(
        self, sc: SimplicialComplex, kappa: float, mass_density: float = 1000.0, thickness: float = 0.01
    ) -> None:
        """Make every instance a body; `kappa` [Pa], `mass_density` [kg/m³], `thickness` [m] is a radius."""
        stiffness = self._positive("kappa", kappa, "Pa")
        density = self._positive("mass_density", mass_density, "kg/m³")
        radius = self._positive("thickness", thickness, "m")
        if sc.dim() != self.dim:
            raise self._place().error(
                f"the mesh is one of {('points', 'lines', 'triangles', 'tetrahedra')[sc.dim()]}; "
                f"give a mesh of {self.mesh}."
            )
        try:
            M_hat, volume = self._moments(sc, density, radius)
        except GeometryError as error:
            raise self._place().error(f"{error}") from None
        self._write(sc, stiffness, M_hat, volume)
        fill(sc.meta, "is_codim", 1)
        fill(sc.vertices, "thickness", radius)

    def _moments(self, sc: SimplicialComplex, density: float, radius: float) -> tuple[Array, float]:
        raise NotImplementedError


class AffineBodyShell(_Codimensional):
    """A thin body from a triangle mesh, open or closed."""

    dim = 2
    mesh = "triangles (trimesh)"

    def _moments(self, sc: SimplicialComplex, density: float, radius: float) -> tuple[Array, float]:
        return shell_moments(sc, density, radius)


class AffineBodyRod(_Codimensional):
    """A wire body from a line mesh."""

    dim = 1
    mesh = "lines (linemesh)"

    def _moments(self, sc: SimplicialComplex, density: float, radius: float) -> tuple[Array, float]:
        return rod_moments(sc, density, radius)
