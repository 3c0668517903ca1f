"""A scene to compare engines on: shapes, poses, joints and a ground, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dovetail.typing import Array, Indices

__all__ = ["DENSITY", "GRAVITY", "BenchScene", "Joints", "Shape"]

GRAVITY = 9.8  # m/s² along −z in every scene
DENSITY = 1000.0  # kg/m³ of every body


@dataclass(frozen=True)
class Shape:
    """A closed surface in the frame of its centre of mass, and the convex pieces that fill it.

    vertices (v, 3)     [m]
    triangles (t, 3)    outward
    pieces              vertex numbers of every convex piece
    box (3,)            edge lengths where the shape is a box, else None
    """

    name: str
    vertices: Array
    triangles: Indices
    pieces: tuple[Indices, ...]
    box: Array | None = None

    @cached_property
    def volume(self) -> float:
        """[m³], by the divergence theorem."""
        a, b, c = np.moveaxis(self.vertices[self.triangles], 1, 0)
        return float(np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0)

    @property
    def mass(self) -> float:
        """[kg]"""
        return DENSITY * self.volume

    @cached_property
    def inertia(self) -> Array:
        """About the centre of mass (3, 3) [kg·m²], summed over the tetrahedra of the origin and a triangle each."""
        corners = self.vertices[self.triangles]
        volume = np.einsum("ti,ti->t", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
        total = corners.sum(axis=1)
        # ∫x xᵀ over a tetrahedron with one corner at the origin is V/20 (Σ pᵢpᵢᵀ + (Σp)(Σp)ᵀ)
        second = np.einsum("t,tki,tkj->ij", volume, corners, corners) + np.einsum("t,ti,tj->ij", volume, total, total)
        second *= DENSITY / 20.0
        return np.asarray(np.trace(second) * np.eye(3) - second)

    @cached_property
    def radius(self) -> float:
        """Of the sphere about the centre of mass that holds the shape [m]."""
        return float(np.linalg.norm(self.vertices, axis=1).max())


@dataclass(frozen=True)
class Joints:
    """k joints of one kind: revolute about `axis`, or spherical.

    left (k,)     body, −1 for the world
    right (k,)    body
    point (k, 3)  where they are joined, in the world at the start [m]
    half          half the length of the pin of a hinge [m]; its ends are what must stay together
    """

    kind: str
    left: Indices
    right: Indices
    point: Array
    axis: Array = field(default_factory=lambda: np.array([0.0, 1.0, 0.0]))
    half: float = 0.01


@dataclass(frozen=True)
class BenchScene:
    """n bodies, gravity along −z, with or without contact.

    shape_of (n,)           number of the shape
    transform (n, 4, 4)     poses at the start
    fixed (n,)              bodies that stay where they are
    joints                  in one group, or None
    contact                 whether bodies collide with each other and with the ground z = 0
    friction                of all contacts
    frames                  steps to run
    energy                  [J] what energy errors are compared with: M g times a height of the scene
    """

    name: str
    shapes: tuple[Shape, ...]
    shape_of: Indices
    transform: Array
    fixed: Indices
    joints: Joints | None
    contact: bool
    frames: int
    energy: float
    friction: float = 0.5
    dt: float = 0.01

    @property
    def count(self) -> int:
        """Bodies."""
        return len(self.shape_of)

    @cached_property
    def mass(self) -> Array:
        """(n,) [kg]"""
        return np.array([shape.mass for shape in self.shapes])[self.shape_of]

    @cached_property
    def inertia(self) -> Array:
        """(n, 3, 3) about the centres of mass, in the bodies' axes [kg·m²]."""
        return np.asarray(np.stack([shape.inertia for shape in self.shapes])[self.shape_of])

    @cached_property
    def free(self) -> Indices:
        """Numbers of the bodies that move."""
        return np.flatnonzero(self.fixed == 0)
