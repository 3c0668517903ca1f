"""Joints between pairs of affine bodies: one geometry holds many of one kind, an edge or a vertex for each.

A joint class is a declaration. It names its energies (`terms`) and, if it has one degree of freedom that users
care about, its `coordinate`; everything else is done here.

    class AffineBodyRevoluteJoint(EdgeJoint, uid=18):
        terms = (Coincide("x0"), Coincide("x1"))
        coordinate = Angle()
"""

from __future__ import annotations

from typing import Any, ClassVar, overload

import numpy as np

from dovetail.constitution.base import InterAffineBodyConstitution, fill, mark, write
from dovetail.constitution.joint.arguments import bind
from dovetail.constitution.joint.frame import axis_ends, polar_rotation
from dovetail.constitution.joint.pairs import Pairs, Side
from dovetail.constitution.place import Place
from dovetail.constitution.terms import Coordinate, Term
from dovetail.geometry import AttributeCollection, SimplicialComplex, SimplicialComplexSlot, linemesh, pointcloud
from dovetail.typing import Array, ArrayLike

__all__ = ["EdgeJoint", "Joint", "VertexJoint"]

_PAIRS = ("l_geo_slots", "l_instance_ids", "r_geo_slots", "r_instance_ids", "strength_ratios")
_Slots = list[SimplicialComplexSlot]


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

    Joints with a coordinate add it, its offset, and `velocity` [m/s or rad/s]. All but ids, strength, anchors and
    offset are written by the world.
    """

    terms: ClassVar[tuple[Term, ...]] = ()
    coordinate: ClassVar[Coordinate | None] = None
    attributes: ClassVar[dict[str, float]] = {}
    """Further attributes of the class, with their defaults."""

    element: ClassVar[str]
    rows: ClassVar[tuple[str, ...]]
    """The rows that the frame of such a joint has."""
    world_points: ClassVar[tuple[str, ...]]
    local_points: ClassVar[dict[str, str]]
    """Arguments of create_geometry: names in the world form; in the local form with the attribute each becomes."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        used = [row for term in cls.terms for row in term.rows]
        used += cls.coordinate.rows if cls.coordinate is not None else ()
        for row in used:
            if row not in cls.rows:
                raise TypeError(f"{cls.__name__}: row '{row}' is not one of {', '.join(cls.rows)}")
        super().__init_subclass__(**kwargs)

    @overload
    def apply_to(
        self, sc: SimplicialComplex, l_geo_slots: _Slots, r_geo_slots: _Slots, strength_ratio: ArrayLike = 100.0
    ) -> None: ...

    @overload
    def apply_to(
        self,
        sc: SimplicialComplex,
        l_geo_slots: _Slots,
        l_instance_ids: ArrayLike,
        r_geo_slots: _Slots,
        r_instance_ids: ArrayLike,
        strength_ratios: ArrayLike = 100.0,
    ) -> None: ...

    def apply_to(self, sc: SimplicialComplex, *given: Any, **named: Any) -> None:
        """Make each edge or vertex of `sc` a joint between a left and a right body.

        The lists name a slot per joint; without instance ids, instance 0. Strengths may be one number for all.
        """
        who = type(self).__name__
        short = ("l_geo_slots", "r_geo_slots", "strength_ratio")
        arguments = bind(f"{who}.apply_to", (short, _PAIRS), given, named, optional=1)
        collection = self.elements(sc)
        place = Place(who, "joint", collection.size())
        if place.count == 0 or sc.dim() != ("vertex", "edge").index(self.element):
            raise place.error(
                f"the geometry has {sc.vertices.size()} vertices, {sc.edges.size()} edges and dimension {sc.dim()}; "
                f"give a {self._factory} with one {self.element} per joint."
            )
        strengths = arguments.get("strength_ratio", arguments.get("strength_ratios", 100.0))
        gamma = place.positive("strength_ratio", strengths, infinite="an exact joint")
        left, right = (
            Side.checked(place, side, arguments[f"{side}_geo_slots"], arguments.get(f"{side}_instance_ids", 0))
            for side in "lr"
        )
        pairs = Pairs.checked(place, left, right)
        self._check_anchors(sc, pairs, place)
        mark(sc, self._uid)
        pairs.write(collection)
        write(collection, "strength_ratio", 100.0, gamma)
        self._create_state(collection)

    def create_geometry(self, *given: Any, **named: Any) -> SimplicialComplex:
        """A geometry with one joint per entry; see the subclasses for its forms."""
        who = type(self).__name__
        forms = ((*self.world_points, *_PAIRS), (*self.local_points, *_PAIRS))
        arguments = bind(f"{who}.create_geometry", forms, given, named, optional=1)
        pairs = {name: arguments.pop(name) for name in _PAIRS if name in arguments}
        place = Place(who, "joint", self._count(pairs))
        points = {name: place.points(name, value) for name, value in arguments.items()}
        if arguments.keys() == self.local_points.keys():
            sc = self._mesh(place.count, {})
            collection = self.elements(sc)
            for argument, attribute in self.local_points.items():
                write(collection, attribute, np.zeros(3), points[argument])
        else:
            sc = self._mesh(place.count, points)
        self.apply_to(sc, **pairs)
        return sc

    def check(self, geometry: Any, name: str = "") -> None:
        collection = self.elements(geometry)
        place = Place(type(self).__name__, "joint", collection.size(), name)
        place.positive("strength_ratio", collection.slot("strength_ratio").values, infinite="an exact joint")
        if self.coordinate is not None:
            offset = self.coordinate.offset
            place.numbers(offset, collection.slot(offset).values, self.coordinate.unit)

    @classmethod
    def elements(cls, sc: SimplicialComplex) -> AttributeCollection:
        """The collection that holds one element per joint."""
        return sc.edges if cls.element == "edge" else sc.vertices

    def _create_state(self, collection: AttributeCollection) -> None:
        fill(collection, "reaction/force", np.zeros(3))
        fill(collection, "reaction/torque", np.zeros(3))
        fill(collection, "gap", 0.0)
        fill(collection, "misalignment", 0.0)
        if self.coordinate is not None:
            fill(collection, self.coordinate.attribute, 0.0)
            fill(collection, self.coordinate.offset, 0.0)
            fill(collection, "velocity", 0.0)
        for name, default in self.attributes.items():
            fill(collection, name, default)
