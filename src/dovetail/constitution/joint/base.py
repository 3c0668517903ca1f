"""Joints between pairs of affine bodies: one geometry holds many of one kind, an edge or a vertex for each.

A joint class is a declaration. It names its energies (`terms`, laws among them) and, if it has one degree of
freedom that users care about, its `coordinate`; everything else is done here.

    class AffineBodyRevoluteJoint(EdgeJoint, uid=18):
        terms = (Coincide("x0"), Coincide("x1"))
        coordinate = Angle()
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias, overload

import numpy as np

from dovetail.checked import checked
from dovetail.constitution.arguments import bind
from dovetail.constitution.base import InterAffineBodyConstitution, class_of, fill, mark, write
from dovetail.constitution.joint.frame import axis_ends
from dovetail.constitution.joint.pairs import PAIR_ATTRIBUTES, Pairs, Side
from dovetail.constitution.place import Place
from dovetail.constitution.terms import Compose, Coordinate, Term
from dovetail.errors import ArgumentType, ConstitutionError
from dovetail.geometry import AttributeCollection, SimplicialComplex, SimplicialComplexSlot
from dovetail.geometry.create import linemesh, pointcloud
from dovetail.typing import Array, ArrayLike

__all__ = ["EdgeJoint", "Joint", "Slots", "VertexJoint"]

_PAIRS = ("l_geo_slots", "l_instance_ids", "r_geo_slots", "r_instance_ids", "strength_ratios")
_EXACT = "an exact joint"
_DIM = {"vertex": 0, "edge": 1}
_FACTORY = {"vertex": "pointcloud", "edge": "linemesh"}

Slots: TypeAlias = list[SimplicialComplexSlot]


class Joint(InterAffineBodyConstitution):
    """What edge joints and vertex joints share.

    On each edge or vertex, with E = edges or vertices:

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | E | `l_geo_id`, `l_inst_id`, `r_geo_id`, `r_inst_id` | | slot and instance of the left and right body |
    | E | `strength_ratio` | | γ in K = γ(m_i + m_j); inf makes the joint exact |
    | E | `l_position…`, `r_position…` | m | anchors in the bodies; local form only |
    | E | `reaction/force` | N | what the joint exerts on the right body, world axes |
    | E | `reaction/torque` | N·m | the same, about the anchor on the right body |
    | E | `gap` | m | how far the anchors are apart where they should not be |
    | E | `misalignment` | rad | how far directions that should agree have turned apart |

    Joints with a coordinate add it, its offset, and `velocity` [m/s or rad/s]; with several, all but the first
    write theirs to `<coordinate>/velocity`. All but ids, strength, anchors and offset are written by the world.
    """

    terms: ClassVar[tuple[Term | Compose, ...]] = ()
    coordinate: ClassVar[Coordinate | None] = None
    further: ClassVar[tuple[Coordinate, ...]] = ()
    """More coordinates, each with a prefix of its own."""
    attributes: ClassVar[dict[str, Any]] = {}
    """Further attributes of the class, with their defaults."""

    element: ClassVar[str]
    rows: ClassVar[tuple[str, ...]]
    """The rows that the frame of such a joint has."""
    world_points: ClassVar[tuple[str, ...]]
    local_points: ClassVar[dict[str, str]]
    """Arguments of create_geometry in the world form, and in the local form with the attribute of each."""

    def __init_subclass__(cls, member: bool = False, **kwargs: Any) -> None:
        """`member` of a family that shares a UID, see `on`."""
        if cls.uids and not member and "uid" not in kwargs and {"terms", "coordinate", "further"} & vars(cls).keys():
            raise ConstitutionError(
                f"{cls.__name__}: it is not what uid {cls.uids[0]}, {class_of(cls.uids[0]).__name__}, stands for; "
                f"claim one of its own, class {cls.__name__}(…, uid=2**32 + 1)."
            )
        used = [row for term in cls.terms for row in term.rows]
        used += [row for coordinate in cls.coordinates() for row in coordinate.rows]
        for row in used:
            if row not in cls.rows:
                raise TypeError(f"{cls.__name__}: row '{row}' is not one of {', '.join(cls.rows)}")
        super().__init_subclass__(**kwargs)

    @overload
    def apply_to(
        self, sc: SimplicialComplex, l_geo_slots: Slots, r_geo_slots: Slots, strength_ratio: ArrayLike = 100.0
    ) -> None: ...

    @overload
    def apply_to(
        self,
        sc: SimplicialComplex,
        l_geo_slots: Slots,
        l_instance_ids: ArrayLike,
        r_geo_slots: Slots,
        r_instance_ids: ArrayLike,
        strength_ratios: ArrayLike = 100.0,
    ) -> None: ...

    @checked(ArgumentType)
    def apply_to(self, sc: SimplicialComplex, *given: Any, **named: Any) -> None:
        """Make each edge or vertex of `sc` a joint between a left and a right body.

        The lists name a slot per joint; without instance ids, instance 0. One strength may do for all.
        """
        who = type(self).__name__
        short = ("l_geo_slots", "r_geo_slots", "strength_ratio")
        arguments = bind(f"{who}.apply_to", (short, _PAIRS), given, named, optional=(1, 1))
        place = Place(who, "joint", self.elements(sc).size())
        if place.count == 0 or sc.dim() != _DIM[self.element]:
            raise place.error(
                f"the geometry has {sc.vertices.size()} vertices, {sc.edges.size()} edges and dimension "
                f"{sc.dim()}; give a {_FACTORY[self.element]} with one {self.element} per joint."
            )
        strengths = arguments.get("strength_ratio", arguments.get("strength_ratios", 100.0))
        pairs = _pairs(place, arguments)
        gamma = self._checked_strengths(sc, place, pairs, strengths)
        self._furnish(sc)
        self._connect(sc, pairs, gamma)

    def _create(self, given: tuple[Any, ...], named: dict[str, Any]) -> SimplicialComplex:
        """A new geometry from one of the two forms of create_geometry."""
        who = type(self).__name__
        forms = ((*self.world_points, *_PAIRS), (*self.local_points, *_PAIRS))
        arguments = bind(f"{who}.create_geometry", forms, given, named)
        left = arguments["l_geo_slots"]
        place = Place(who, "joint", len(left) if isinstance(left, list) else 0)
        pairs = _pairs(place, arguments)
        points = {name: place.points(name, value) for name, value in arguments.items() if name not in _PAIRS}
        sc = _single(type(self)).copy() if place.count == 1 else self._blank(place.count)
        if points.keys() == self.local_points.keys():
            for argument, attribute in self.local_points.items():
                write(self.elements(sc), attribute, np.zeros(3), points[argument])
        else:
            ends = self._world([points[name] for name in self.world_points], pairs)
            sc.positions.edit()[...] = np.stack(ends, axis=1).reshape(-1, 3)
        self._connect(sc, pairs, self._checked_strengths(sc, place, pairs, arguments["strength_ratios"]))
        return sc

    def _blank(self, count: int) -> SimplicialComplex:
        """A geometry of joints at the origin, with all attributes, between no bodies yet."""
        sc = self._mesh(count)
        self._furnish(sc)
        return sc

    def check(self, geometry: Any, name: str = "") -> None:
        collection = self.elements(geometry)
        place = Place(type(self).__name__, "joint", collection.size(), name)
        place.positive("strength_ratio", collection.slot("strength_ratio").values, infinite=_EXACT)
        for coordinate in self.on(geometry).coordinates():
            place.numbers(coordinate.offset, collection.slot(coordinate.offset).values, coordinate.unit)

    @classmethod
    def coordinates(cls) -> tuple[Coordinate, ...]:
        """The scalars that it reports, the main one first."""
        return (*(() if cls.coordinate is None else (cls.coordinate,)), *cls.further)

    @classmethod
    def elements(cls, sc: SimplicialComplex) -> AttributeCollection:
        """The collection that holds one element per joint."""
        return sc.edges if cls.element == "edge" else sc.vertices

    def _mesh(self, count: int) -> SimplicialComplex:
        """The mesh with so many elements at the origin."""
        raise NotImplementedError

    def _world(self, points: list[Array], pairs: Pairs) -> list[Array]:
        """World points of the mesh for the arguments of the world form."""
        return points

    def _check_anchors(self, sc: SimplicialComplex, place: Place, pairs: Pairs) -> None:
        """Refuse anchors that make no joint."""
        raise NotImplementedError

    def _checked_strengths(self, sc: SimplicialComplex, place: Place, pairs: Pairs, strengths: ArrayLike) -> Array:
        """Strengths, one for each joint, where these and the anchors make joints."""
        gamma = place.positive("strength_ratio", strengths, infinite=_EXACT)
        self._check_anchors(sc, place, pairs)
        return gamma

    def _connect(self, sc: SimplicialComplex, pairs: Pairs, gamma: Array) -> None:
        collection = self.elements(sc)
        pairs.write(collection)
        write(collection, "strength_ratio", 100.0, gamma)

    def _furnish(self, sc: SimplicialComplex) -> None:
        """Give it the constitution and all attributes with their defaults."""
        collection = self.elements(sc)
        mark(sc, self._uid)
        for name in PAIR_ATTRIBUTES:
            fill(collection, name, -1)
        fill(collection, "strength_ratio", 100.0)
        fill(collection, "reaction/force", np.zeros(3))
        fill(collection, "reaction/torque", np.zeros(3))
        fill(collection, "gap", 0.0)
        fill(collection, "misalignment", 0.0)
        for coordinate in self.coordinates():
            for name in (coordinate.offset, *coordinate.reported):
                fill(collection, name, 0.0)
        for name, default in self.attributes.items():
            fill(collection, name, default)


_singles: dict[type[Joint], SimplicialComplex] = {}


def _single(kind: type[Joint]) -> SimplicialComplex:
    """What a geometry with one joint of a kind begins as: made once, and copied, since copies share what is equal."""
    if kind not in _singles:
        _singles[kind] = kind()._blank(1).copy()
    return _singles[kind]


def _pairs(place: Place, arguments: dict[str, Any]) -> Pairs:
    left, right = (
        Side.checked(place, side, arguments[f"{side}_geo_slots"], arguments.get(f"{side}_instance_ids", 0))
        for side in "lr"
    )
    return Pairs.checked(place, left, right)


class EdgeJoint(Joint):
    """A joint with an axis: an edge from P0 to P1, t = P1 − P0 normalised.

    World form: the edge's ends in the world. Local form: `l_position0/1` and `r_position0/1` in the frames
    of the two bodies, whose axes must point the same way in the world; the edge itself stays at the origin.
    """

    element = "edge"
    rows = ("c", "x0", "x1", "t", "n", "b")
    world_points = ("position0s", "position1s")
    local_points: ClassVar[dict[str, str]] = {
        name: name for name in ("l_position0", "l_position1", "r_position0", "r_position1")
    }

    @overload
    def create_geometry(
        self,
        position0s: ArrayLike,
        position1s: ArrayLike,
        l_geo_slots: Slots,
        l_instance_ids: ArrayLike,
        r_geo_slots: Slots,
        r_instance_ids: ArrayLike,
        strength_ratios: ArrayLike,
    ) -> SimplicialComplex: ...

    @overload
    def create_geometry(
        self,
        l_position0: ArrayLike,
        l_position1: ArrayLike,
        r_position0: ArrayLike,
        r_position1: ArrayLike,
        l_geo_slots: Slots,
        l_instance_ids: ArrayLike,
        r_geo_slots: Slots,
        r_instance_ids: ArrayLike,
        strength_ratios: ArrayLike,
    ) -> SimplicialComplex: ...

    def create_geometry(self, *given: Any, **named: Any) -> SimplicialComplex:
        """A line mesh with an edge per joint, from points (n, 3) [m] in the world or in the bodies."""
        return self._create(given, named)

    def _mesh(self, count: int) -> SimplicialComplex:
        return linemesh(np.zeros((2 * count, 3)), np.arange(2 * count).reshape(-1, 2))

    def _check_anchors(self, sc: SimplicialComplex, place: Place, pairs: Pairs) -> None:
        axis_ends(sc, pairs.poses(), place)


class VertexJoint(Joint):
    """A joint at one point, the anchor c: a vertex.

    World form: the vertex in the world. Local form: `l_position`, `r_position` in the frames of the two
    bodies; the vertex itself stays at the origin.
    """

    element = "vertex"
    rows = ("c", "t", "n", "b")
    world_points: ClassVar[tuple[str, ...]] = ("positions",)
    local_points: ClassVar[dict[str, str]] = {"l_positions": "l_position", "r_positions": "r_position"}

    def create_geometry(self, *given: Any, **named: Any) -> SimplicialComplex:
        """A point cloud with a vertex per joint, from anchors (n, 3) [m] in the world or in the bodies."""
        return self._create(given, named)

    def _mesh(self, count: int) -> SimplicialComplex:
        return pointcloud(np.zeros((count, 3)))

    def _check_anchors(self, sc: SimplicialComplex, place: Place, pairs: Pairs) -> None:
        place.points("position", sc.positions.values)
