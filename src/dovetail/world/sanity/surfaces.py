"""Surfaces that intersect, touch or lie behind half-planes, in words: which bodies, which triangles, how to mend it."""

from __future__ import annotations

import numpy as np

from dovetail.errors import WorldError
from dovetail.geometry import Geometry, linemesh, pointcloud, trimesh
from dovetail.geometry.rows import rows_to_transforms, transforms_to_rows
from dovetail.logger import Logger
from dovetail.messages import counted
from dovetail.solver.contact.intersection import Meeting, Sinking, find_meetings, find_sinkings, positions
from dovetail.solver.contact.kinds import EDGE_EDGE, POINT_EDGE
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.step_check import FAR
from dovetail.typing import Array, Flags, Indices
from dovetail.world.lower.bodies import BodyGeometry, BodyTable
from dovetail.world.lower.contacts import surface_of
from dovetail.world.sanity.apart import moves_apart
from dovetail.world.sanity.message import SanityCheckMessage, SanityCheckResult

__all__ = ["Surfaces"]

_ENCLOSURE = 5  # a warning; the others are errors
_NAMES = {1: "surface intersection", 2: "half-plane distance", 3: "surface distance", _ENCLOSURE: "enclosure"}
_DISTANCE = 6
_TOLD = 5  # findings of a kind that are spelled out; a badly placed pile has thousands


def _failed(offence: Meeting | Sinking) -> int:
    """The check that it fails."""
    if isinstance(offence, Sinking):
        return 2
    if offence.holder >= 0:
        return _ENCLOSURE
    return 1 if offence.crossings else 3


class Surfaces:
    """The surfaces of a simulation.

    plane_names are the objects of the half-planes, joined (k, 2) the body pairs that share a joint. Bodies that are
    fixed may intersect each other and half-planes: nothing will ever move them.
    """

    def __init__(
        self,
        table: BodyTable,
        scene: ContactScene,
        plane_names: list[str],
        joined: Indices,
        is_fixed: Indices,
        sets_apart: bool = False,
    ) -> None:
        self._table, self._scene, self._plane_names, self._is_fixed = table, scene, plane_names, is_fixed
        self._links, self._sets_apart = joined, sets_apart
        self._joined = {(min(pair), max(pair)) for pair in joined.tolist()}

    def messages(self) -> list[SanityCheckMessage]:
        """What is wrong with the transforms that the geometries have now, one message for each failed check."""
        Q = self._rows()
        if not np.isfinite(Q).all():
            body = int(np.argmin(np.isfinite(Q).all(axis=(1, 2))))
            raise WorldError(f"SanityChecker: the transform of {self._table.name(body)} is not finite; give numbers.")
        messages = []
        if len(far := self._far(Q)):
            text = "\n".join(self._of_far(Q, body) for body in far[:_TOLD].tolist())
            placed = {self._table.name(body): self._placed(body, Q) for body in far[:_TOLD].tolist()}
            messages.append(
                SanityCheckMessage(_DISTANCE, "distance from the origin", SanityCheckResult.Error, text, placed)
            )
        offences = self._offences(Q, None)
        for id, name in _NAMES.items():
            mine = [offence for offence in offences if _failed(offence) == id]
            if not mine:
                continue
            told = mine[:_TOLD]
            lines = [self._text(offence) for offence in told]
            if len(mine) > _TOLD:
                lines.append(f"… and {len(mine) - _TOLD} more of this kind.")
            concerned = dict.fromkeys(
                body for o in told for body in ((o.body,) if isinstance(o, Sinking) else (o.a, o.b))
            )
            geometries = {self._table.name(body): self._placed(body, Q) for body in concerned}
            result = SanityCheckResult.Warning if id == _ENCLOSURE else SanityCheckResult.Error
            messages.append(SanityCheckMessage(id, name, result, "\n".join(lines), geometries))
        return messages

    def meeting(self) -> list[tuple[int, int]]:
        """Pairs of bodies, the lower number first, that cross, touch or hold each other as the geometries are now."""
        return [(min(m.a, m.b), max(m.a, m.b)) for m in find_meetings(self._scene, self._rows())]

    def _rows(self) -> Array:
        Q = np.zeros((self._table.count, 4, 3))
        for entry in self._table.geometries:
            Q[entry.bodies] = transforms_to_rows(entry.geometry.transforms.values)
        return Q

    def put_apart(self, Q: Array, may_move: Flags) -> Array:
        """The same as `_set_apart`, and the transforms of the geometries go with it."""
        found = self._set_apart(Q, may_move)
        if found is not Q:
            transforms = rows_to_transforms(found)
            for entry in self._table.geometries:
                entry.geometry.instances["transform"] = transforms[entry.bodies]
        return found

    def _set_apart(self, Q: Array, may_move: Flags) -> Array:
        """Q, with those set apart that touch, where the config says so and there is a way (apart.py)."""
        moves = moves_apart(self._scene, Q, may_move & (self._is_fixed == 0), self._links) if self._sets_apart else None
        if moves is None:
            return Q
        far = np.linalg.norm(moves, axis=1)
        Logger.info(
            f"{counted(int(np.count_nonzero(far)), 'body', 'bodies')} that touched others or the ground were set "
            f"apart, by at most {1e6 * far.max():.3g} µm (contact/set_apart)."
        )
        found = Q.copy()
        found[:, 0] += moves
        return found

    def admitted(self, who: str, Q: Array, moved: Indices) -> Array:
        """Q, with moved bodies set apart from what they touch; raises if they intersect anything."""
        if len(far := np.intersect1d(self._far(Q), moved)):
            raise WorldError(f"{who}: nothing was changed, since {self._of_far(Q, int(far[0]))}")
        offences = self._errors(Q, moved)
        if offences and self._sets_apart:
            Q = self._set_apart(Q, np.isin(np.arange(len(Q)), moved))
            offences = self._errors(Q, moved)
        if offences:
            more = f" The same holds for {len(offences) - 1} more." if len(offences) > 1 else ""
            raise WorldError(f"{who}: nothing was changed, since {self._text(offences[0])}{more}")
        return Q

    def _errors(self, Q: Array, moved: Indices) -> list[Meeting | Sinking]:
        return [offence for offence in self._offences(Q, moved) if _failed(offence) != _ENCLOSURE]

    def _offences(self, Q: Array, moved: Indices | None) -> list[Meeting | Sinking]:
        fixed = self._is_fixed
        found = find_meetings(self._scene, Q, moved)
        meetings = [m for m in found if m.a == m.b or not (fixed[m.a] and fixed[m.b])]
        return [*meetings, *(s for s in find_sinkings(self._scene, Q, moved) if not fixed[s.body])]

    def _far(self, Q: Array) -> Indices:
        """Free bodies that are so far from the origin that contact is not safe."""
        found: Indices = np.flatnonzero((np.abs(Q[:, 0]).max(axis=1) > FAR * self._sizes()) & (self._is_fixed == 0))
        return found

    def _sizes(self) -> Array:
        """The largest extent of each body's surface [m], infinite where it has none."""
        scene = self._scene
        by_shape = [float(np.ptp(shape.vertices, axis=0).max(initial=0.0)) for shape in scene.shapes]
        sizes: Array = np.array([*by_shape, np.inf])[scene.shape_of] + 2.0 * scene.thickness  # −1 is no shape
        return sizes

    # ---- words -----------------------------------------------------------------------------------------------

    def _text(self, offence: Meeting | Sinking) -> str:
        return self._of_sinking(offence) if isinstance(offence, Sinking) else self._of_meeting(offence)

    def _of_far(self, Q: Array, body: int) -> str:
        far, size = float(np.abs(Q[body, 0]).max()), float(self._sizes()[body])
        return (
            f"{self._table.name(body)} is {far:.3g} m from the origin, {far / size:.2g} times its size: positions are "
            f"rounded to {np.spacing(far):.1g} m there, and contact is safe up to {FAR:.0e} times the size; build the "
            "scene nearer to the origin, or set contact/enable = 0."
        )

    def _of_meeting(self, m: Meeting) -> str:
        one, other = self._table.name(m.a), self._table.name(m.b)
        sides = ("the first", "the second")
        if m.holder >= 0:
            inner, outer = (other, one) if m.holder == m.a else (one, other)
            return f"{inner} is inside {outer} and will stay there; if that is not hollow, {self._remedy(m.a, m.b)}"
        if m.crossings:
            mine, yours = sides if m.edge_of == m.a else sides[::-1]
            owner = m.b if m.edge_of == m.a else m.a
            edge, triangle = self._element(m.edge_of, m.edge), self._element(owner, m.triangle)
            if m.a == m.b:
                what = f"{one} intersects itself: its {edge} crosses its {triangle}"
                return f"{what}; mend the mesh, or leave the meta attribute self_collision at 0."
            count = f", one of {m.crossings} crossings" if m.crossings > 1 else ""
            what = f"{edge} of {mine} crosses {triangle} of {yours} at {_place(m.point)}{count}"
            return f"{one} and {other} intersect: {what}; {self._remedy(m.a, m.b)}"
        mine, yours = sides if m.first_of == m.a else sides[::-1]
        second_of = m.b if m.first_of == m.a else m.a
        split = 2 if m.kind == EDGE_EDGE else 1
        end = 3 if m.kind == POINT_EDGE else 4
        first = self._element(m.first_of, m.features[:split])
        second = self._element(second_of, m.features[split:end])
        how = f"are too near: the distance is {m.distance:.4g} m, their thickness {m.thickness:.4g} m"
        if m.thickness == 0.0:
            how = f"touch or overlap: the distance is {m.distance:.1g} m"
        what = f"{one} and {other} {how}, at {first} of {mine} and {second} of {yours}"
        return f"{what}; leave a gap: {self._remedy(m.a, m.b)}"

    def _remedy(self, a: int, b: int) -> str:
        joint = "contact/joint_neighbours = 0 (they share a joint), " if (a, b) in self._joined else ""
        return (
            f"move one of them, or let them pass through each other by {joint}"
            "contact_tabular.insert(L, R, 0, 1e9, enable=False) or different subscenes."
        )

    def _of_sinking(self, s: Sinking) -> str:
        above = f"{s.height:.3g} m above" if s.height >= 0 else f"{-s.height:.3g} m behind"
        way = s.thickness - s.height + 0.1 * float(self._scene.d_hat[s.body])
        return (
            f"{self._element(s.body, (s.x,))} of {self._table.name(s.body)} is {above} half-plane "
            f"'{self._plane_names[s.plane]}', and must be more than {s.thickness:.4g} m above it; move the body by "
            f"{way:.3g} m along the normal, or let them pass through each other by "
            "contact_tabular.insert(L, R, 0, 1e9, enable=False)."
        )

    def _entry(self, body: int) -> BodyGeometry:
        return next(e for e in self._table.geometries if e.offset <= body < e.offset + e.count)

    def _element(self, body: int, x: tuple[int, ...]) -> str:
        """How messages call vertices of a body, given as indices into X: as in its mesh."""
        entry = self._entry(body)
        surface = surface_of(entry)
        assert surface is not None
        first = self._scene.x_base[body] + self._scene.vertex_start[self._scene.shape_of[body]]
        if not len(surface.used):
            return "the core"
        corners = surface.used[np.asarray(x) - first].tolist()
        if len(corners) == 1:
            return f"vertex {corners[0]}"
        if len(corners) == 2:
            return f"edge ({corners[0]}, {corners[1]})"
        topo = np.sort(entry.geometry.triangles.topo.values, axis=1)
        number = int(np.flatnonzero((topo == np.sort(corners)).all(axis=1))[0])
        return f"triangle {number} ({corners[0]}, {corners[1]}, {corners[2]})"

    def _placed(self, body: int, Q: Array) -> Geometry:
        """The surface of a body in the world."""
        scene = self._scene
        shape = scene.shapes[scene.shape_of[body]]
        first = scene.x_base[body] + scene.vertex_start[scene.shape_of[body]]
        points = positions(scene, Q)[first : first + len(shape.vertices)]
        if len(shape.triangles):
            return trimesh(points, shape.triangles)
        return linemesh(points, shape.edges) if len(shape.edges) else pointcloud(points)


def _place(point: tuple[float, ...]) -> str:
    return "(" + ", ".join(f"{x:.4g}" for x in point) + ") m"
