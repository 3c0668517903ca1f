"""Shapes and masses of USD bodies: colliders of UsdPhysics, their materials and groups, and what MassAPI says.

Mass and density follow the rules of the schema: a mass of the body is that of all; else each collider has its own mass,
or its volume times the density of itself, of the body, or of its material, 1000 kg/m³ where none is given.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.checked import numbers
from dovetail.geometry import Quaternion
from dovetail.geometry.round import capsule_moments, cylinder_moments
from dovetail.robot.description import Inertia, Shape, Triangles
from dovetail.robot.surfaces import hull
from dovetail.robot.usd_looks import along, frustum, polygons
from dovetail.robot.usd_stage import Stage
from dovetail.typing import Array

__all__ = ["Shapes"]

_DENSITY = 1000.0  # kg/m³
_FITS = {"convexHull": "hull", "boundingCube": "boxes", "none": "", "": ""}
_SOLIDS = ("Sphere", "Cube", "Capsule", "Capsule1", "Cylinder", "Cylinder1", "Cone", "Mesh")


class Shapes:
    """The colliders of a stage by the bodies that carry them; "" is the world."""

    def __init__(self, stage: Stage, names: dict[str, str]) -> None:
        self._stage, self._names = stage, names
        self._of: dict[str, list[tuple[Any, Shape]]] = {}
        self.planes: list[tuple[Array, Array]] = []
        """Points [m] and normals of the half-spaces on the stage, in the frame of the file."""
        for kind in _SOLIDS:
            for desc in stage.found(f"{kind}Shape"):
                shape = self._shape(kind, desc)
                if shape is not None:
                    self._of.setdefault(self._owner(desc), []).append((desc, shape))
        for desc in stage.found("PlaneShape"):
            self._plane(desc)
        for desc in (*stage.found("CustomShape"), *stage.found("SpherePointsShape")):
            stage.warn(f"the collider {desc.primPath} is of a kind that is not read ({stage.type_of(desc)})")

    def _owner(self, desc: Any) -> str:
        """The path of the body that carries a collider; "" where it is none that moves."""
        return str(desc.rigidBody) if str(desc.rigidBody) in self._names else ""

    def of(self, body: str) -> list[Shape]:
        """What of a body touches."""
        return [shape for desc, shape in self._of.get(body, ()) if desc.collisionEnabled]

    # --- one of them ----------------------------------------------------------------------------------------

    def _shape(self, kind: str, desc: Any) -> Shape | None:
        stage, path = self._stage, str(desc.primPath)
        metres = stage.metres
        if not desc.rigidBody or str(desc.rigidBody) in self._names:
            pose = stage.placed(path, desc.localPos, desc.localRot)
        else:  # of a body that is not enabled, and therefore part of the world
            pose = stage.pose(stage.bodies[str(desc.rigidBody)]) @ stage.placed(path, desc.localPos, desc.localRot)
        if kind == "Mesh":
            return self._mesh(desc, pose)
        if kind == "Cube":
            size = 2.0 * metres * np.abs(np.array(desc.halfExtents, float))
        elif kind == "Sphere":
            size = metres * np.abs([float(desc.radius)])
            self._tell_of_scale(desc, "ball")
        else:
            radii = ("radius", "bottomRadius", "topRadius")
            ends = [float(getattr(desc, name)) for name in radii if hasattr(desc, name)]
            size = metres * np.abs([*ends, 2.0 * float(desc.halfHeight)])
            pose = pose @ along(str(desc.axis))
        if not np.isfinite(size).all() or not (size > 1e-9).all() or not (size < 1e9).all():
            raise stage.refusal(path, f"is a {kind.lower()} of the size {size.tolist()} m; give lengths > 0")
        if kind in ("Cube", "Sphere"):
            return Shape("box" if kind == "Cube" else "sphere", size, pose, path)
        if kind == "Cone":
            return self._polyhedron(pose, path, frustum(size[0], 0.0, size[1]), "hull")
        bottom, top, length = size if len(size) == 3 else (size[0], *size)
        if bottom == top:
            return Shape(kind.lower().rstrip("1"), np.array([top, length]), pose, path)
        if kind == "Capsule1":
            stage.warn(f"{path} is a capsule with two radii; it touches as the trunk of a cone between them")
        return self._polyhedron(pose, path, frustum(bottom, top, length), "hull")

    def _polyhedron(self, pose: Array, path: str, triangles: Triangles, fit: str) -> Shape:
        return Shape("mesh", np.ones(3), pose, path, self._stage.file, triangles=triangles, fit=fit)

    def _tell_of_scale(self, desc: Any, what: str) -> None:
        scale = np.abs(np.array(desc.localScale, float))
        if np.ptp(scale) > 1e-3 * scale.max():
            self._stage.warn(f"the {what} {desc.primPath} is scaled by {scale.tolist()}; it touches as a round one")

    def _mesh(self, desc: Any, pose: Array) -> Shape | None:
        stage, path, scale = self._stage, str(desc.primPath), np.array(desc.meshScale, float)
        points, faces = polygons(stage, path)
        vertices = stage.metres * points * scale
        if not (np.abs(vertices) < 1e9).all():
            raise stage.refusal(path, f"is a mesh that reaches to {np.abs(vertices).max():g} m")
        if np.prod(np.sign(scale)) < 0.0:
            faces = faces[:, ::-1]
        fit = str(desc.approximation)
        if fit == "boundingSphere":
            center = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
            pose = pose.copy()
            pose[:3, 3] += pose[:3, :3] @ center
            return Shape("sphere", np.array([np.linalg.norm(vertices - center, axis=1).max()]), pose, path)
        if fit not in _FITS:
            stage.warn(f"{path} asks for the approximation {fit}", "it touches as collision=… of Sim.robot says.")
        return self._polyhedron(pose, path, Triangles(vertices, faces), _FITS.get(fit, ""))

    def _plane(self, desc: Any) -> None:
        stage, path = self._stage, str(desc.primPath)
        if self._owner(desc):
            stage.warn(f"the plane {path} is part of a body that moves; it touches nothing")
        elif desc.collisionEnabled:
            pose = stage.placed(path, desc.localPos, desc.localRot)
            self.planes.append((pose[:3, 3], pose[:3, "XYZ".index(str(desc.axis))]))

    # --- masses ---------------------------------------------------------------------------------------------

    def inertia(self, body: str) -> Inertia | None:
        """Mass, centre and tensor of a body as the file says; None where it has none."""
        from pxr import UsdPhysics

        stage, api = self._stage, UsdPhysics.MassAPI(self._stage.prim(body))
        given = self._number(api.GetMassAttr()) * stage.kilograms
        M_hat, own = np.zeros((4, 4)), self._number(api.GetDensityAttr())
        for desc, shape in self._of.get(body, ()):
            M_hat += self._moments(desc, shape, own)
        if not 0.0 <= given < 1e12 or not np.isfinite(M_hat).all():
            raise stage.refusal(body, f"has the mass {given:g} kg; give a number ≥ 0")
        if M_hat[0, 0] == 0.0 and given == 0.0:
            return None
        if given > 0.0:
            M_hat = M_hat * (given / M_hat[0, 0]) if M_hat[0, 0] > 0.0 else np.diag([given, 0.0, 0.0, 0.0])
        mass, center = M_hat[0, 0], M_hat[1:, 0] / M_hat[0, 0]
        S = M_hat[1:, 1:] - mass * np.outer(center, center)
        tensor = np.trace(S) * np.eye(3) - S
        at = self._vector(api.GetCenterOfMassAttr(), -np.inf)
        if np.isfinite(at).all():
            center = stage.metres * at * self._scale(body)
        principal = self._vector(api.GetDiagonalInertiaAttr(), 0.0)
        if not np.isfinite(principal).all() or (principal < 0.0).any() or not np.abs(center).max() < 1e9:
            raise stage.refusal(body, f"has the diagonal inertia {principal.tolist()}; give numbers ≥ 0")
        if principal.any():
            turn = api.GetPrincipalAxesAttr().Get()
            wxyz = np.array([turn.GetReal(), *turn.GetImaginary()]) if hasattr(turn, "GetReal") else np.zeros(4)
            R = Quaternion(wxyz).matrix() if wxyz.any() and np.isfinite(wxyz).all() else np.eye(3)
            tensor = stage.kilograms * stage.metres**2 * (R @ np.diag(principal) @ R.T)
        return Inertia(float(mass), center, tensor)

    def _number(self, attribute: Any) -> float:
        """What an attribute says; 0 where that is nothing. It may be of another kind than the schema's."""
        value = attribute.Get() if attribute else None
        if value is not None and not isinstance(value, float | int):
            raise self._stage.refusal(attribute.GetPath(), f"is {value!s:.40}; give a number")
        return float(value or 0.0)

    def _vector(self, attribute: Any, absent: float) -> Array:
        value = attribute.Get() if attribute else None
        found = numbers([absent] * 3 if value is None else list(value) if hasattr(value, "__len__") else value)
        if found is None or found.shape != (3,):
            raise self._stage.refusal(attribute.GetPath(), f"is {value!s:.40}; give three numbers")
        return np.asarray(found, float)

    def _scale(self, body: str) -> Array:
        return np.array(self._stage.bodies[body].scale, float)

    def _moments(self, desc: Any, shape: Shape, of_body: float) -> Array:
        """M̂ (4, 4) of a collider, in the frame of its body."""
        from pxr import UsdPhysics

        stage, api = self._stage, UsdPhysics.MassAPI(self._stage.prim(desc.primPath))
        unit = stage.kilograms / stage.metres**3
        densities = [self._number(api.GetDensityAttr()), of_body, *(self._material(desc, "density"),)]
        density = next((unit * each for each in densities if np.isfinite(each) and each > 0.0), _DENSITY)
        M_hat = density * _solid(shape)
        mass = self._number(api.GetMassAttr()) * stage.kilograms
        if mass > 0.0 and M_hat[0, 0] > 0.0:
            M_hat = M_hat * (mass / M_hat[0, 0])
        T = np.block([[np.ones((1, 1)), np.zeros((1, 3))], [shape.pose[:3, 3:], shape.pose[:3, :3]]])
        return np.asarray(T @ M_hat @ T.T)

    def _material(self, desc: Any, what: str) -> float:
        """A number of the physics material of a collider; 0 where it has none."""
        wanted = {str(path) for path in desc.materials}
        found = [each for each in self._stage.found("RigidBodyMaterial") if str(each.primPath) in wanted]
        return float(getattr(found[0], what)) if found else 0.0

    def surface(self, body: str) -> tuple[float | None, float]:
        """Friction and restitution of a body: the largest of its colliders' materials."""
        owned = [desc for desc, _ in self._of.get(body, ()) if desc.materials]
        found = [{self._material(desc, what) for desc in owned} for what in ("dynamicFriction", "restitution")]
        for what, values in zip(("frictions", "restitutions"), found, strict=True):
            if len(values) > 1:
                self._stage.warn(f"{body} has several {what}, {sorted(values)}; the largest is taken")
        friction, restitution = (
            max((x for x in values if np.isfinite(x) and x >= 0.0), default=None) for values in found
        )
        return friction, min(restitution or 0.0, 1.0)

    # --- what may touch -------------------------------------------------------------------------------------

    def filtered(self) -> Iterator[tuple[str, str]]:
        """Names of bodies that do not touch each other, by filtered pairs and by collision groups."""
        pairs: set[frozenset[str]] = set()
        everything = [*self._stage.bodies.values(), *(desc for owned in self._of.values() for desc, _ in owned)]
        everything += self._stage.found("Articulation")
        for desc in everything:
            pairs |= {frozenset((str(desc.primPath), str(other))) for other in desc.filteredCollisions}
        groups = {str(desc.primPath): desc for desc in self._stage.found("CollisionGroup")}
        if not pairs and not groups:
            return
        for one, other in itertools.combinations_with_replacement([*self._names, ""], 2):
            ours, theirs = ([desc for desc, _ in self._of.get(body, ())] for body in (one, other))
            if one == other or not ours or not theirs:
                continue
            parted = [
                _named(pairs, a, b, (one, other)) or _kept_apart(groups, a, b)
                for a, b in itertools.product(ours, theirs)
            ]
            if all(parted):
                yield self._names.get(one, "world"), self._names.get(other, "world")
            elif any(parted):
                text = f"some colliders of {one or 'the world'} and {other or 'the world'} are filtered, and others not"
                self._stage.warn(text, "all of them touch; bodies are told apart here, and not their colliders.")


def _named(pairs: set[frozenset[str]], a: Any, b: Any, bodies: tuple[str, str]) -> bool:
    """Whether two colliders, or prims that they are below of, are a pair."""
    ends = [{path, body, *_above(path)} for path, body in zip((str(a.primPath), str(b.primPath)), bodies, strict=True)]
    return any(frozenset((one, other)) in pairs for one in ends[0] for other in ends[1])


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:k]) for k in range(2, len(parts) + 1)]


def _kept_apart(groups: dict[str, Any], a: Any, b: Any) -> bool:
    """Whether a group of one collider does not touch a group of the other."""
    ours, theirs = ([str(path) for path in desc.collisionGroups] for desc in (a, b))
    for mine, other in (*itertools.product(ours, theirs), *itertools.product(theirs, ours)):
        if mine in groups:
            listed = other in {str(path) for path in groups[mine].filteredGroups}
            if listed != bool(groups[mine].invertFilteredGroups):
                return True
    return False


# --- geometry -----------------------------------------------------------------------------------------------


def _solid(shape: Shape) -> Array:
    """M̂ (4, 4) of a shape of density 1 in its own frame; of a mesh that of its hull."""
    if shape.kind == "mesh":
        assert shape.triangles is not None
        vertices, faces = hull(shape.triangles.vertices)[0]
        corners = vertices[faces]
        volumes = np.einsum("ki,ki->k", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
        total = corners.sum(axis=1)
        S = np.einsum("k,kai,kaj->ij", volumes, corners, corners) + np.einsum("k,ki,kj->ij", volumes, total, total)
        first = (volumes[:, None] * total).sum(axis=0) / 4.0
        return np.block([[np.array([[volumes.sum()]]), first[None]], [first[:, None], S / 20.0]])
    if shape.kind == "box":
        return float(np.prod(shape.size)) * np.diag([1.0, *(shape.size**2 / 12.0)])
    if shape.kind == "cylinder":
        return cylinder_moments(1.0, *shape.size)[0]
    half = np.array([0.0, 0.0, 0.5 * (shape.size[1] if shape.kind == "capsule" else 0.0)])
    return capsule_moments(1.0, np.stack([-half, half]), float(shape.size[0]))[0]
