"""Surfaces, half-planes and contact materials of a scene."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dovetail import builtin
from dovetail.constitution.base import uid_of
from dovetail.errors import ConstitutionError
from dovetail.geometry import SimplicialComplex
from dovetail.geometry.round import round_core
from dovetail.logger import Logger
from dovetail.scene import Scene
from dovetail.solver.bodies import Bodies
from dovetail.solver.contact.contact import Contact
from dovetail.solver.contact.ease import Ease
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.contact.surface import Shape, make_shape
from dovetail.solver.islands import components
from dovetail.typing import Array, Indices
from dovetail.world.lower.bodies import BodyGeometry, BodyTable

__all__ = ["Surface", "lower_contact", "plane_names", "scaled", "surface_of"]


class Surface(NamedTuple):
    """What of a mesh can touch.

    vertices (v, 3)                  rest positions [m]
    triangles (t, 3), edges (e, 2)   outward triangles, and single edges of rods; indices of these vertices
    used (v,)                        vertices of the mesh that they are; empty for the core of a round body
    key                              equal for equal surfaces
    """

    vertices: Array
    triangles: Indices
    edges: Indices
    used: Indices
    key: Any


def lower_contact(scene: Scene, table: BodyTable, bodies: Bodies, joined: Indices, welded: Indices) -> Contact | None:
    """Contact of a scene, None where it is switched off.

    `joined` (k, 2) are body pairs that share a joint, `welded` (k, 2) those that joints leave no motion.
    """
    config = scene.config
    if not config["contact/enable"] or table.count == 0:
        return None
    shapes: list[Shape] = []
    known: dict[Any, int] = {}
    prepared: dict[Any, Shape] = {}
    materials: list[Indices] = []
    shape_of = np.full(table.count, -1)
    d_hat = np.full(table.count, scaled(config, "contact/d_hat", table))
    thickness, is_round, rolls = np.zeros(table.count), *np.zeros((2, table.count), np.int64)
    rolling_axis = np.zeros((table.count, 3))
    centre, half = bodies.centre.copy(), bodies.half.copy()  # of boxes about what can touch
    material, subscene = np.zeros(table.count, np.int64), np.zeros(table.count, np.int64)
    self_collides = np.zeros(table.count, np.int64)
    mu, kappa, enabled = scene.contact_tabular.table()
    rolling, restitution = scene.contact_tabular.extras()
    subscenes = scene.subscene_tabular.table()
    for entry in table.geometries:
        geometry, here = entry.geometry, entry.bodies
        surface = surface_of(entry)
        if surface is None:
            continue
        vertices, triangles, edges, used, key = surface
        own = geometry.vertices.find("contact_element_id")
        painted = np.full(len(vertices), -1)
        if own is not None and len(used):
            painted = own.values[used].astype(np.int64)
        key = (*key, painted.tobytes(), _flag(geometry, "is_codim"))
        place = (key, id(geometry.positions.buffer))  # each geometry has a surface of its own, which may be varied
        if place not in known:
            known[place] = len(shapes)
            if (painted >= len(mu)).any():
                _element(int(painted.max()), "contact_element_id", len(mu), entry.slot.object_name)
            if key not in prepared:  # but equal ones are prepared once
                closed = not _flag(geometry, "is_codim")
                prepared[key] = _split(make_shape(vertices, triangles, edges, closed=closed), painted)
            shapes.append(prepared[key])
            materials.append(painted)
        shape_of[here] = known[place]
        range_ = geometry.meta.find(builtin.d_hat)
        if range_ is not None:
            d_hat[here] = range_.values[0]
        core = round_core(geometry)
        thick = geometry.vertices.find(builtin.thickness)
        if core is not None:
            thickness[here], is_round[here], rolls[here] = core[1], 1, 1
            centre[here], half[here] = vertices.mean(axis=0), 0.5 * np.ptp(vertices, axis=0)
        elif thick is not None:
            thickness[here] = thick.values.max()
        material[here], subscene[here] = _elements(geometry, len(mu), len(subscenes), entry.slot.object_name)
        self_collides[here] = _flag(geometry, "self_collision")
        axis = geometry.meta.find("rolling_axis")
        if axis is not None:
            rolls[here], rolling_axis[here] = 1, axis.values[0]
    points, normals, plane_material, plane_subscene = _half_planes(scene, len(mu), len(subscenes))
    masked = np.zeros((0, 2), np.int64) if config["contact/joint_neighbours"] else joined
    lowered = ContactScene(
        shapes=shapes,
        shape_of=shape_of,
        d_hat=d_hat,
        thickness=thickness,
        is_round=is_round,
        rolls=rolls,
        rolling_axis=rolling_axis,
        material=material,
        subscene=subscene,
        self_collides=self_collides,
        plane_point=points,
        plane_normal=normals,
        plane_material=plane_material,
        plane_subscene=plane_subscene,
        mu=np.ascontiguousarray(mu, float),
        kappa=np.ascontiguousarray(kappa, float),
        rolling=rolling,
        restitution=restitution,
        enabled=np.ascontiguousarray(enabled).astype(np.int64),
        subscenes=np.ascontiguousarray(subscenes).astype(np.int64),
        masked=masked,
        vertex_material=np.concatenate([np.zeros(0, np.int64), *materials]),
    )
    weight = bodies.mass[:, 0, 0] * np.linalg.norm(bodies.gravity, axis=1)
    return Contact(
        lowered,
        bodies.is_fixed,
        bodies.mass[:, 0, 0],
        weight,
        centre,
        half,
        eps_velocity=scaled(config, "contact/eps_velocity", table),
        friction=bool(config["contact/friction/enable"]),
        memory=bool(config["contact/friction/memory"]),
        ease=Ease(weight, bodies.is_fixed == 0) if config["contact/ease_in"] else None,
        weld=components(table.count, welded[(bodies.is_fixed[welded] == 0).all(axis=1)]),
    )


def _split(shape: Shape, material: Indices) -> Shape:
    """Cut patches where the materials of their corners change: a contact keeps its stiffness as it slides over one."""
    rows = np.column_stack([shape.patch, np.sort(material[shape.triangles], axis=1)])
    return replace(shape, patch=np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1))


def _flag(geometry: Any, name: str) -> int:
    slot = geometry.meta.find(name)
    return 0 if slot is None else int(slot.values[0])


def _elements(geometry: Any, materials: int, subscenes: int, owner: str) -> tuple[int, int]:
    """Contact element and subscene element of a geometry, of which there are so many."""
    counts = {"contact_element_id": materials, "subscene_element_id": subscenes}
    material, subscene = (_element(_flag(geometry, name), name, count, owner) for name, count in counts.items())
    return material, subscene


def _element(number: int, name: str, count: int, owner: str) -> int:
    """The number, which a kernel will take for a row of a table."""
    if not 0 <= number < count:
        raise ConstitutionError(
            f"World.init: '{owner}' has {name} = {number}, and the scene has the elements 0 to {count - 1}; create it "
            "in the scene's table, or apply another one."
        )
    return number


def scaled(config: Any, name: str, table: BodyTable) -> float:
    """A length or speed: absolute, or relative to the diagonal of the scene at rest where that is given."""
    relative = config[f"{name}_relative"]
    if relative <= 0:
        return float(config[name])
    corners = []
    for entry in table.geometries:
        points = entry.geometry.positions.values
        for T in entry.geometry.transforms.values:
            moved = points @ T[:3, :3].T + T[:3, 3]
            corners += [moved.min(axis=0), moved.max(axis=0)]
    return float(relative * np.linalg.norm(np.ptp(np.array(corners), axis=0)))


def surface_of(entry: BodyGeometry) -> Surface | None:
    """The surface of a geometry; None, with a warning, where nothing is labelled as such."""
    geometry = entry.geometry
    dim = geometry.dim()
    core = round_core(geometry)
    if core is not None:
        points, radius = core
        key = ("round", *points.reshape(-1).tolist(), radius)
        edges = np.arange(len(points)).reshape(-1, 2) if len(points) == 2 else np.zeros((0, 2), np.int64)
        return Surface(points, np.zeros((0, 3), np.int64), edges, np.zeros(0, np.int64), key)
    if dim == 0:
        return None
    top = geometry.edges if dim == 1 else geometry.triangles
    label = top.find("is_surf")
    if label is None:
        Logger.warn(
            f"World.init: geometry {entry.slot.id()} of '{entry.slot.object_name}' has no surface label, so nothing "
            "touches it; call label_surface(geometry) before adding it."
        )
        return None
    triangles: Indices = np.zeros((0, 3), np.int64)
    edges = np.zeros((0, 2), np.int64)
    if dim == 1:
        edges = geometry.edges.topo.values[label.values != 0].astype(np.int64)
    elif dim == 2:
        triangles = geometry.triangles.topo.values[label.values != 0].astype(np.int64)
        orient = geometry.triangles.find("orient")
        if orient is not None:
            inward = orient.values[label.values != 0] < 0
            triangles[inward] = triangles[inward][:, ::-1]
    else:
        triangles = _boundary(geometry)
    used, compact = np.unique(np.concatenate([triangles.reshape(-1), edges.reshape(-1)]), return_inverse=True)
    compact = compact.reshape(-1)
    count = 3 * len(triangles)
    vertices = geometry.positions.values[used]
    key = (vertices.tobytes(), compact.tobytes(), count, uid_of(geometry))
    return Surface(vertices, compact[:count].reshape(-1, 3), compact[count:].reshape(-1, 2), used, key)


def _boundary(geometry: SimplicialComplex) -> Indices:
    """Faces of tetrahedra that belong to one tetrahedron only, turned outward."""
    tets = geometry.tetrahedra.topo.values.astype(np.int64)
    points = geometry.positions.values
    a, b, c, d = (points[tets[:, k]] for k in range(4))
    inverted = np.einsum("ni,ni->n", np.cross(b - a, c - a), d - a) < 0
    tets[inverted] = tets[inverted][:, [0, 2, 1, 3]]
    faces = tets[:, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]].reshape(-1, 3)
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    outside: Indices = faces[np.sort(first[count == 1])]
    return outside


def _half_planes(scene: Scene, materials: int, subscenes: int) -> tuple[Array, Array, Indices, Indices]:
    """Points, unit normals, contact elements and subscenes of all half-planes; so many elements there are."""
    points, normals, elements = [np.zeros((0, 3))], [np.zeros((0, 3))], [np.zeros((0, 2), np.int64)]
    for slot, _ in scene.geometries:
        geometry = slot.geometry
        if geometry.type() != "ImplicitGeometry":
            continue
        normal = geometry.instances.slot("N").values
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        if not (np.isfinite(normal).all() and (length > 0).all()):
            raise ConstitutionError(
                f"World.init: half-plane '{slot.object_name}' has no finite normal of positive length."
            )
        points.append(geometry.instances.slot("P").values)
        normals.append(normal / length)
        own = _elements(geometry, materials, subscenes, slot.object_name)
        elements.append(np.tile(np.array(own, np.int64), (len(normal), 1)))
    material, subscene = np.concatenate(elements).T.copy()
    return np.concatenate(points), np.concatenate(normals), material, subscene


def plane_names(scene: Scene) -> list[str]:
    """Object of every half-plane, in the order that contact counts them."""
    implicit = (slot for slot, _ in scene.geometries if slot.geometry.type() == "ImplicitGeometry")
    return [slot.object_name for slot in implicit for _ in range(slot.geometry.instances.size())]
