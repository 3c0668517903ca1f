"""Compound bodies: several shapes, each with a place of its own, that are one body.

Parts may overlap. Each counts with its whole mass, as if the others were not there:

    M̂ = Σ T M̂_part Tᵀ,   T = [[1, 0], [p, R]],   a part's point x̄ being at R x̄ + p of the body.

All of them touch what is not of this body. Round parts touch as the polyhedra of their pictures; `detail` refines them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, TypedDict, Unpack

import numpy as np

from dovetail.checked import shown
from dovetail.errors import SceneError
from dovetail.geometry import SimplicialComplex
from dovetail.geometry.merge import merge
from dovetail.geometry.round import cylinder_moments
from dovetail.sim import shapes
from dovetail.sim.given import rotation_of, vector
from dovetail.sim.making import taken
from dovetail.sim.mass import Moments, apply_mass, moments_of
from dovetail.typing import Array, ArrayLike

__all__ = ["Part", "PartOptions", "assemble"]


class PartOptions(TypedDict, total=False):
    """What every part takes.

    | | |
    |---|---|
    | `pos` | place of its origin in the body [m]; default (0, 0, 0) |
    | `rot` | its rotation in the body, as of bodies |
    | `density` | [kg/m³]; default that of the body. Or: |
    | `mass` | [kg] |
    """

    pos: ArrayLike
    rot: Any
    density: float
    mass: float


@dataclass(frozen=True)
class Part:
    """A shape of a compound body: `Part.box(…)`, `sphere`, `capsule`, `cylinder`, `mesh`, with their `PartOptions`.

    Sizes are those of the calls of `Sim` with the same names.
    """

    kind: str
    make: Callable[[str], SimplicialComplex] = field(repr=False)
    options: PartOptions
    moments: Moments | None = field(default=None, repr=False)

    @classmethod
    def box(cls, size: ArrayLike, **options: Unpack[PartOptions]) -> Part:
        """A box with edges of these lengths [m], or a cube with one."""
        return cls("box", lambda who: shapes.box(who, size), options)

    @classmethod
    def sphere(cls, radius: float, *, detail: int = 2, **options: Unpack[PartOptions]) -> Part:
        """A ball, which touches as a polyhedron of 20·4^detail triangles."""
        return cls("sphere", lambda who: shapes.sphere(who, radius, detail), options)

    @classmethod
    def capsule(cls, radius: float, length: float, *, detail: int = 2, **options: Unpack[PartOptions]) -> Part:
        """A cylinder of this length [m] along its z with half-balls at both ends, of 4·2^detail sides."""
        return cls("capsule", lambda who: shapes.capsule(who, radius, length, detail), options)

    @classmethod
    def cylinder(cls, radius: float, length: float, *, detail: int = 2, **options: Unpack[PartOptions]) -> Part:
        """A cylinder along its z, which touches as a prism with 8·2^detail sides."""
        return cls(
            "cylinder", lambda who: shapes.cylinder(who, radius, length, detail), options,
            lambda density: cylinder_moments(density, radius, length),
        )  # fmt: skip

    @classmethod
    def mesh(cls, source: str | PathLike[str] | Any, *, scale: ArrayLike = 1.0, **options: Unpack[PartOptions]) -> Part:
        """A closed mesh: the path of a file, a trimesh.Trimesh, (vertices, faces)."""
        return cls("mesh", lambda who: shapes.mesh(who, source, scale), options)


def assemble(who: str, parts: Sequence[Part]) -> tuple[SimplicialComplex, Moments]:
    """The mesh of all parts, and what gives their moments for the density of those that have none of their own."""
    if not isinstance(parts, (list, tuple)) or not parts or not all(isinstance(part, Part) for part in parts):
        raise SceneError(f"{who}: parts = {shown(parts)}; give a list of parts, such as [Part.box(0.1), …].")
    placed = [_place(f"part {k} ({part.kind}) of {who}", part) for k, part in enumerate(parts)]

    def moments(density: float) -> tuple[Array, float]:
        total, volume = np.zeros((4, 4)), 0.0
        for name, part, mesh, T in placed:
            weighed = mesh.copy()
            own = part.options if {"density", "mass"} & part.options.keys() else {"density": density}
            apply_mass(name, weighed, 1.0, own, moments=part.moments)
            M_hat, V = moments_of(weighed)
            total, volume = total + T @ M_hat @ T.T, volume + V
        return total, volume

    moved = []
    for _, _, mesh, T in placed:
        here = mesh.copy()
        here.positions.edit()[...] = mesh.positions.values @ T[1:, 1:].T + T[1:, 0]
        moved.append(here)
    return merge(moved), moments


def _place(who: str, part: Part) -> tuple[str, Part, SimplicialComplex, Array]:
    """How messages call a part, its mesh, and T."""
    unknown = part.options.keys() - PartOptions.__annotations__.keys()
    if unknown:
        raise SceneError(f"{who}: there is no option '{sorted(unknown)[0]}'; {taken(PartOptions)}.")
    T = np.eye(4)
    T[1:, 1:] = rotation_of(who, part.options.get("rot"))
    T[1:, 0] = vector(who, "pos", part.options.get("pos", (0.0, 0.0, 0.0)), "m")
    return who, part, part.make(who), T
