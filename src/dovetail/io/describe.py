"""The header of a recording: bodies, joints and planes of a world as plain values, and how its frames are laid out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dovetail
from dovetail import builtin
from dovetail.constitution import AffineBodyConstitution, Joint
from dovetail.constitution.base import class_of, class_on, uid_of
from dovetail.geometry import AttributeCollection, SimplicialComplex, SimplicialComplexSlot, extract_surface
from dovetail.io.cast import Cast
from dovetail.io.recorded import Columns, FrameLayout, RecordedShape
from dovetail.scene import Scene
from dovetail.typing import Array
from dovetail.world.world import World

__all__ = ["FORMAT", "VERSION", "Described", "body_slots", "describe", "joint_slots", "kind_of"]

FORMAT = "dovetail recording"
VERSION = 2
_NOT_RECORDED = frozenset(("topo", "position", "strength_ratio", "is_facet"))


@dataclass(frozen=True)
class Described:
    """A world told once: the header's document, the surfaces, and where the joints' numbers come from."""

    document: dict[str, Any]
    shapes: list[RecordedShape]
    layout: FrameLayout
    sources: list[AttributeCollection]

    def cast(self) -> Cast:
        """The same as objects."""
        return Cast(self.document, self.shapes)

    def joint_rows(self) -> list[Array]:
        """Per group of joints (count, width): the attributes as they are now."""
        found = []
        for columns, source in zip(self.layout.groups, self.sources, strict=True):
            parts = [
                np.asarray(source.slot(name).values, float).reshape(columns.joints, -1) for name, _ in columns.names
            ]
            found.append(np.concatenate([np.zeros((columns.joints, 0)), *parts], axis=1))
        return found


def body_slots(scene: Scene) -> list[SimplicialComplexSlot]:
    """Slots of the affine bodies in the order in which a running world numbers their instances."""
    found = [
        slot
        for slot, _ in scene.geometries
        if isinstance(slot, SimplicialComplexSlot) and uid_of(slot.geometry) in AffineBodyConstitution.uids
    ]
    return sorted(found, key=_offset)


def joint_slots(scene: Scene) -> list[SimplicialComplexSlot]:
    """Slots of the joints, in order of their ids."""
    return [
        slot
        for slot, _ in scene.geometries
        if isinstance(slot, SimplicialComplexSlot)
        and uid_of(slot.geometry)
        and issubclass(class_of(uid_of(slot.geometry)), Joint)
    ]


def kind_of(slot: SimplicialComplexSlot) -> str:
    """A joint's kind in one word: AffineBodyRevoluteJoint is "revolute"."""
    name = class_of(uid_of(slot.geometry)).__name__.removeprefix("AffineBody")
    return (name.removesuffix("Joint") or name).lower()


def describe(world: World) -> Described:
    """Everything about a world that does not change from frame to frame."""
    scene = world.scene
    shapes: list[RecordedShape] = []
    bodies = _bodies(scene, shapes)
    joints, groups, sources = _joints(world)
    config = scene.config
    energies = list(world.energies())
    document = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"dovetail {dovetail.__version__}",
        "dt": float(config["dt"]),
        "gravity": np.asarray(config["gravity"], float).ravel().tolist(),
        "d_hat": float(config["contact/d_hat"]),
        "shapes": [{"thickness": shape.thickness} for shape in shapes],
        "bodies": bodies,
        "planes": _planes(scene),
        "joints": joints,
        "groups": [{"joints": group.joints, "columns": [list(column) for column in group.names]} for group in groups],
        "energies": energies,
    }
    layout = FrameLayout(len(bodies), tuple(groups), len(energies))
    return Described(document, shapes, layout, sources)


# ---- bodies ------------------------------------------------------------------------------------------------


def _offset(slot: SimplicialComplexSlot) -> int:
    return int(slot.geometry.meta.slot("backend_abd_body_offset").values[0])


def _bodies(scene: Scene, shapes: list[RecordedShape]) -> list[dict[str, Any]]:
    slots = body_slots(scene)
    known: dict[Any, int] = {}
    looks = _looks(scene)

    def number_of(geometry: SimplicialComplex) -> int:
        key = tuple(id(level.slot(name).buffer) for level, name in _mesh_attributes(geometry))
        if key not in known:
            known[key] = len(shapes)
            shapes.append(_shape(geometry))
        return known[key]

    found: list[dict[str, Any]] = []
    for slot in slots:
        geometry = slot.geometry
        shown = [{"shape": number_of(look), "color": _color(look, 0)} for look in looks.get(slot.id(), ())]
        count = geometry.instances.size()
        fixed = geometry.instances.slot("is_fixed").values
        for k in range(count):
            found.append(
                {
                    "name": _name(slot, k, count),
                    "shape": number_of(geometry),
                    "color": _color(geometry, k),
                    "fixed": bool(fixed[k]),
                    "mass": float(geometry.meta.slot("mass").values[0]),
                    "mass_center": geometry.meta.slot("mass_center").values[0].ravel().tolist(),
                    **({"looks": shown} if shown else {}),
                }
            )
    return found


def _looks(scene: Scene) -> dict[int, list[SimplicialComplex]]:
    """What bodies look like that do not show their surfaces, by the ids of their geometries."""
    found: dict[int, list[SimplicialComplex]] = {}
    for slot, _ in scene.geometries:
        owner = slot.geometry.meta.find(builtin.looks_of)
        if owner is not None and isinstance(slot.geometry, SimplicialComplex):
            found.setdefault(int(owner.first), []).append(slot.geometry)
    return found


def _mesh_attributes(geometry: SimplicialComplex) -> list[tuple[AttributeCollection, str]]:
    """What the surface of a mesh follows from; equal buffers are equal surfaces."""
    topos: list[tuple[AttributeCollection, str]] = [
        (level, "topo") for level in (geometry.edges, geometry.triangles, geometry.tetrahedra)
    ]
    thickness = [(geometry.vertices, "thickness")] if "thickness" in geometry.vertices else []
    return [(geometry.vertices, "position"), *topos, *thickness]


def _shape(geometry: SimplicialComplex) -> RecordedShape:
    if builtin.looks_of in geometry.meta:
        return RecordedShape(geometry.positions.values, geometry.triangles.topo.values, np.zeros((0, 2), np.int32))
    bare = geometry.copy()
    bare.instances.resize(0)
    thick = geometry.vertices.find("thickness")
    surface = extract_surface(bare)
    triangles, edges = surface.triangles.topo.values, surface.edges.topo.values
    if len(triangles):  # edges of triangles are drawn with them
        edges = _edges_of_no_triangle(edges, triangles)
    return RecordedShape(
        surface.positions.values.copy(),
        triangles.copy(),
        edges.copy(),
        0.0 if thick is None else float(thick.values.max()),
    )


def _edges_of_no_triangle(edges: NDArray[np.int32], triangles: NDArray[np.int32]) -> NDArray[np.int32]:
    sides = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    covered = {tuple(side) for side in sides.tolist()}
    keep = [tuple(sorted(edge)) not in covered for edge in edges.tolist()]
    kept: NDArray[np.int32] = edges[np.array(keep, bool)]
    return kept


def _color(geometry: SimplicialComplex, instance: int) -> list[float] | None:
    for collection, row in ((geometry.instances, instance), (geometry.meta, 0)):
        slot = collection.find("color")
        if slot is not None:
            values: list[float] = np.asarray(slot.values[row], float).ravel()[:3].tolist()
            return values
    return None


def _name(slot: SimplicialComplexSlot, index: int, count: int) -> str:
    owner = slot.object_name or f"geometry {slot.id()}"
    return owner if count == 1 else f"{owner}[{index}]"


def _planes(scene: Scene) -> list[dict[str, Any]]:
    found = []
    for slot, _ in scene.geometries:
        instances = slot.geometry.instances
        if "P" not in instances or "N" not in instances:
            continue
        count = instances.size()
        for k in range(count):
            normal = np.asarray(instances.slot("N").values[k], float).ravel()
            found.append(
                {
                    "name": slot.object_name if count == 1 else f"{slot.object_name}[{k}]",
                    "point": np.asarray(instances.slot("P").values[k], float).ravel().tolist(),
                    "normal": (normal / np.linalg.norm(normal)).tolist(),
                }
            )
    return found


# ---- joints ------------------------------------------------------------------------------------------------


def _joints(world: World) -> tuple[list[dict[str, Any]], list[Columns], list[AttributeCollection]]:
    offsets = {slot.id(): _offset(slot) for slot in body_slots(world.scene)}
    found: list[dict[str, Any]] = []
    groups, sources = [], []
    for slot in joint_slots(world.scene):
        kind = class_on(slot.geometry)
        assert issubclass(kind, Joint)
        elements = kind.elements(slot.geometry)
        rows = world.joint_frames(slot)
        columns = Columns(elements.size(), tuple(_columns(elements)))
        bodies = [
            [offsets[int(g)] + int(i) for g, i in zip(elements.slot(f"{side}_geo_id").values,
                                                      elements.slot(f"{side}_inst_id").values, strict=True)]
            for side in "lr"
        ]  # fmt: skip
        limits = [elements.find(f"limit/{bound}") for bound in ("lower", "upper")]
        for k in range(columns.joints):
            frames = [np.stack([rows[axis][side, k, 1:] for axis in "tnb"]).tolist() for side in (0, 1)]
            found.append(
                {
                    "name": _name(slot, k, columns.joints),
                    "kind": kind_of(slot),
                    "left": bodies[0][k],
                    "right": bodies[1][k],
                    "left_anchor": rows["c"][0, k, 1:].tolist(),
                    "right_anchor": rows["c"][1, k, 1:].tolist(),
                    "left_frame": frames[0],
                    "right_frame": frames[1],
                    "has_axis": "x0" in rows,
                    "coordinate": "" if kind.coordinate is None else kind.coordinate.attribute,
                    "unit": "" if kind.coordinate is None else kind.coordinate.unit,
                    "limit": None if None in limits else [float(bound.values[k]) for bound in limits if bound],
                }
            )
        groups.append(columns)
        sources.append(elements)
    return found, groups, sources


def _columns(elements: AttributeCollection) -> list[tuple[str, int]]:
    """Every numeric attribute but those that say where a joint is: states, reactions, targets, bounds, switches."""
    found = []
    for name in elements:
        values = elements.slot(name).values
        plain = isinstance(values, np.ndarray) and values.dtype.kind in "fiu"
        if plain and name not in _NOT_RECORDED and not name.startswith(("l_", "r_")):
            found.append((name, int(np.prod(values.shape[1:], dtype=int))))
    return found
