"""What a simulation takes over from another one of the same scene, to which geometries were added, or removed from it.

Bodies, joints and couplings are known by the ids of their slots, which are never used twice. Those that stayed keep all
that the next step depends on: positions, rates and accelerations, coordinates with their turns, forces of joints, what
laws remember of the last steps, and friction that sticks. Those that are new begin without a past, and so does a body
whose transform or velocity was written in the meantime. Where contacts lie is looked for anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dovetail.solver.contact.contact import Contact
from dovetail.solver.contact.kinds import EDGE_EDGE, POINT_EDGE, POINT_TRIANGLE
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.contact.stick import Stick
from dovetail.typing import Array, Flags, Indices
from dovetail.world.lower.bodies import BodyGeometry, BodyTable
from dovetail.world.lower.lowered import JointGeometry, LawOnJoints, LoweredJoints

if TYPE_CHECKING:
    from dovetail.world.joints import Joints
    from dovetail.world.simulation import Simulation

__all__ = ["carry_coordinates", "carry_over", "newcomers"]

_BY_BODY = ("Q", "V", "Q_before", "V_before", "A", "knocked", "lagging", "changed", "pushed", "rubbing")
_NOBODY = -(2**40)  # a joint that is not there; those of couplings are small negative numbers


_Numbered: TypeAlias = Sequence[tuple[int, int, int]]
"""Ids of geometries, the number of the first of their bodies, joints or couplings, and how many they have."""


def _numbered(entries: Sequence[BodyGeometry] | Sequence[JointGeometry]) -> _Numbered:
    return [(entry.slot.id(), entry.offset, entry.count) for entry in entries]


def _matched(new: _Numbered, old: _Numbered, missing: int = -1) -> Indices:
    """For each element of the new geometries its number among the old ones."""
    known = {id: (first, count) for id, first, count in old}
    found = np.full(sum(count for _, _, count in new), missing)
    for id, first, count in new:
        before, many = known.get(id, (0, -1))
        if many == count:
            found[first : first + count] = before + np.arange(count)
    return found


def newcomers(old: BodyTable, new: BodyTable) -> Flags:
    """Which bodies of the new table the old one has not."""
    return _matched(_numbered(new.geometries), _numbered(old.geometries)) < 0


def carry_coordinates(past: Joints, joints: Joints) -> None:
    """Coordinates of joints that stayed are continued from where they were, over turns; hard limits stay in place."""
    old, new = past.lowered, joints.lowered
    places = {entry.slot.id(): k for k, entry in enumerate(old.geometries)}
    for (word, k), rows in new.coordinate_rows.items():
        before = old.coordinate_rows.get((word, places.get(new.geometries[k].slot.id(), -1)))
        if before is not None and before.stop - before.start == rows.stop - rows.start:
            new.coordinates.reference[rows] = new.coordinates.value[rows] = old.coordinates.value[before]
    if past.stops is not None and joints.stops is not None:
        for use, known in _known_laws(old, new):
            if use.laws.is_stop:
                joints.stops.slack[use.laws][use.rows] = past.stops.slack[known.laws][known.rows]


def carry_over(old: Simulation, new: Simulation) -> None:
    """All the rest; `new` stands at its start, with the transforms and velocities that the scene has."""
    bodies = _matched(_numbered(new.table.geometries), _numbered(old.table.geometries))
    stays = bodies >= 0
    at = bodies[stays]
    same = (new.state.Q[stays] == old.state.Q[at]) & (new.state.V[stays] == old.velocity[at])
    stays[stays] = same.all(axis=(1, 2))
    for name in _BY_BODY:
        getattr(new.state, name)[stays] = getattr(old.state, name)[bodies[stays]]
    new.state.dt_before = old.state.dt_before
    _carry_rows(old, new, stays)
    _carry_laws(old.joints.lowered, new.joints.lowered)
    past, soft = old.model.potential.soft_transforms.past, new.model.potential.soft_transforms
    if past.shape[1:] == (len(old.state.Q), 4, 3) and soft.past.shape[1:] == (len(bodies), 4, 3):
        targets = soft.past.copy()
        targets[:, stays] = past[:, bodies[stays]]
        soft.restore(targets)
    if old.contact is not None and new.contact is not None:
        _carry_contact(old.contact, new.contact, bodies, stays)


# ---- joints ------------------------------------------------------------------------------------------------------


def _carry_rows(old: Simulation, new: Simulation, stays: Flags) -> None:
    """Forces of the rows of joints and couplings, and whether exact ones were closed."""
    before, after = old.joints.lowered, new.joints.lowered
    joints = _matched(_numbered(after.geometries), _numbered(before.geometries), _NOBODY)
    ours, theirs = (() if low.couplings is None else low.couplings.numbered() for low in (after, before))
    couplings = _matched(ours, theirs, _NOBODY)
    sets = [(after.points, before.points), (after.slides, before.slides)]
    pairs: list[tuple[Indices, Indices, Array, Array]] = [(a.joint, b.joint, a.force, b.force) for a, b in sets]
    if after.exact is not None and before.exact is not None:
        a, b = after.exact.combined, before.exact.combined
        pairs.append((a.joint, b.joint, a.force, b.force))
    first, first_before = 0, 0
    for joint, joint_before, force, force_before in pairs:
        wanted = np.full(len(joint), _NOBODY)
        wanted[joint >= 0] = joints[joint[joint >= 0]]
        number = couplings[-1 - joint[joint < 0]]
        wanted[joint < 0] = np.where(number >= 0, -1 - number, _NOBODY)
        place = _places(_counted(wanted), _counted(joint_before))
        known = place >= 0
        force[known] = force_before[place[known]]
        carried, carried_before = new.state.carried[first:], old.state.carried[first_before:]
        carried[: len(joint)][known] = carried_before[: len(joint_before)][place[known]]
        first, first_before = first + len(joint), first_before + len(joint_before)
    if after.couplings is not None and before.couplings is not None:
        there = couplings >= 0
        after.couplings.force[there] = before.couplings.force[couplings[there]]
    if after.exact is not None and before.exact is not None:
        whole = stays[after.exact.pairs].all() and (joints >= 0).all() and (couplings >= 0).all()
        after.exact.take_over(before.exact, closed=bool(whole))


def _counted(joint: Indices) -> Indices:
    """A number for each row: its joint, and which of its rows it is."""
    order = np.argsort(joint, kind="stable")
    sorted_ = joint[order]
    begins = np.flatnonzero(np.concatenate([[True], sorted_[1:] != sorted_[:-1]])) if len(joint) else np.zeros(0, int)
    among = np.empty(len(joint), np.int64)
    among[order] = np.arange(len(joint)) - np.repeat(begins, np.diff(np.append(begins, len(joint))))
    return joint * 2**20 + among


def _places(wanted: Indices, known: Indices) -> Indices:
    """Where each of the wanted numbers is among the known ones; −1 where it is not."""
    if not len(known):
        return np.full(len(wanted), -1)
    order = np.argsort(known)
    place = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    return np.where(known[place] == wanted, place, -1)


def _known_laws(old: LoweredJoints, new: LoweredJoints) -> Iterator[tuple[LawOnJoints, LawOnJoints]]:
    """Laws on joints that were there before, and what they were then."""
    before = {(use.entry.slot.id(), use.word, use.coordinate): use for use in old.law_uses}
    for use in new.law_uses:
        known = before.get((use.entry.slot.id(), use.word, use.coordinate))
        if known is not None and known.rows.stop - known.rows.start == use.rows.stop - use.rows.start:
            yield use, known


def _carry_laws(old: LoweredJoints, new: LoweredJoints) -> None:
    """Parameters of the last steps, scales, and values that are held."""
    for use, known in _known_laws(old, new):
        use.laws.p[use.rows] = known.laws.p[known.rows]
        use.laws.past[:, use.rows] = known.laws.past[:, known.rows]
        use.laws.scale[use.rows] = known.laws.scale[known.rows]
        use.held[use.rows] = known.held[known.rows]


# ---- contact -----------------------------------------------------------------------------------------------------


def _carry_contact(old: Contact, new: Contact, bodies: Indices, stays: Flags) -> None:
    """Friction that sticks, ranges of pairs that began too near, where both bodies stayed; firmness of contacts."""
    new.firmness.of[stays] = old.firmness.of[bodies[stays]]
    number = np.full(len(old.scene.shape_of) + 1, -1)  # of each old body, −1 if it is gone
    number[bodies[stays]] = np.flatnonzero(stays)
    if old.stick is not None and new.stick is not None:
        _carry_stick(old.stick, new.stick, old.scene, new.scene, number)
    if old.ease is not None and new.ease is not None:
        sides = old.ease.pairs
        there = (sides < 0) | (number[np.maximum(sides, 0)] >= 0)
        kept = there.all(axis=1)
        new.ease.pairs = np.where(sides < 0, sides, number[np.maximum(sides, 0)])[kept]
        new.ease.share, new.ease.growth = old.ease.share[kept], old.ease.growth[kept]
        new.ease.placed[stays] = old.ease.placed[bodies[stays]]


def _carry_stick(old: Stick, new: Stick, before: ContactScene, after: ContactScene, number: Indices) -> None:
    """Keys name vertices by their positions in X, bodies and patches: all of them have moved."""
    x_of, patch_of = _vertex_numbers(before, after, number), _patch_numbers(before, after, number)
    keys, kind = old.keys.copy(), np.where(old.keys[:, 3] < 0, -1 - old.keys[:, 3], EDGE_EDGE)
    corners = {EDGE_EDGE: 4, POINT_EDGE: 3}
    good = (old.bodies < 0) | (number[old.bodies] >= 0)
    kept = good.all(axis=1)
    for row in np.flatnonzero(kept).tolist():
        for i in range(corners.get(int(kind[row]), 1)):
            x = keys[row, i]
            keys[row, i] = x_of[x] if x >= 0 else -1 - x_of[-1 - x]  # what resists rolling has −1 − x
        if kind[row] == POINT_TRIANGLE:
            body = int(old.keys[row, 1])
            keys[row, 1], keys[row, 2] = number[body], old.keys[row, 2] + patch_of[body]
    new.keys, new.force = keys[kept], old.force[kept]
    new.bodies = np.where(old.bodies < 0, old.bodies, number[old.bodies])[kept]


def _vertex_numbers(before: ContactScene, after: ContactScene, number: Indices) -> Indices:
    """New positions in X of all old ones, −1 where the body is gone."""
    found = np.full(before.x_count, -1)
    for b in np.flatnonzero((number[:-1] >= 0) & (before.shape_of >= 0)).tolist():
        shape, count = before.shape_of[b], len(before.shapes[before.shape_of[b]].vertices)
        first = before.x_base[b] + before.vertex_start[shape]
        start = after.x_base[number[b]] + after.vertex_start[after.shape_of[number[b]]]
        found[first : first + count] = start + np.arange(count)
    return found


def _patch_numbers(before: ContactScene, after: ContactScene, number: Indices) -> Indices:
    """What to add to the number of a patch of each old body."""
    starts = [np.cumsum([0, *(int(s.patch.max(initial=-1)) + 1 for s in scene.shapes)]) for scene in (before, after)]
    found = np.zeros(len(number), np.int64)
    there = np.flatnonzero(number[:-1] >= 0)
    found[there] = starts[1][after.shape_of[number[there]]] - starts[0][before.shape_of[there]]
    return found
