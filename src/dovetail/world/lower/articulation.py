"""External articulations of a scene, joints that an outside model moves: lowered, refreshed every frame, read back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail import builtin
from dovetail.constitution import ExternalArticulationConstraint
from dovetail.constitution.base import class_of, uid_of
from dovetail.constitution.place import Place
from dovetail.constitution.terms import Articulation
from dovetail.geometry import GeometrySlot
from dovetail.geometry.rows import q_to_rows
from dovetail.scene import Scene
from dovetail.solver.joint.articulation import Articulations
from dovetail.solver.state import State
from dovetail.typing import Array, Indices
from dovetail.world.lower.bodies import BodyGeometry, BodyTable
from dovetail.world.lower.lowered import LoweredJoints

__all__ = ["ExternalArticulations"]

_ROUNDING = 1e-9  # of the largest eigenvalue: how far below zero the mass matrix of a redundant model may come


@dataclass(frozen=True)
class _Entry:
    """One articulation geometry; its joints are `joints` of all."""

    slot: GeometrySlot
    word: Articulation
    joints: slice

    @property
    def place(self) -> Place:
        count = self.joints.stop - self.joints.start
        return Place(ExternalArticulationConstraint.__name__, "joint", count, self.slot.object_name)


class ExternalArticulations:
    """The articulations of a running world."""

    def __init__(self, scene: Scene, lowered: LoweredJoints, table: BodyTable) -> None:
        self._entries: list[_Entry] = []
        of: list[int] = []
        start = [0]
        for slot, _ in scene.geometries:
            uid = uid_of(slot.geometry)
            if not (uid and issubclass(class_of(uid), ExternalArticulationConstraint)):
                continue
            count = slot.geometry["joint"].size()
            entry = _Entry(slot, ExternalArticulationConstraint.terms[0], slice(start[-1], start[-1] + count))
            of += [_coordinate(entry, k, lowered) for k in range(count)]
            self._entries.append(entry)
            start.append(start[-1] + count)
        self._solver = Articulations(lowered.coordinates, np.array(of, np.int64), np.array(start, np.int64))
        self._period = lowered.coordinates.period[of]
        self._accepted: list[Array | None] = [None] * len(self._entries)
        self._change = np.zeros(self._solver.count)
        links = np.zeros(table.count, bool)
        links[self._solver.entries.body] = True
        self._links = [(g, np.flatnonzero(links[g.bodies])) for g in table.geometries if links[g.bodies].any()]

    @property
    def contributions(self) -> list[Articulations]:
        """What they add to the system: nothing, or one energy."""
        return [self._solver] if self._entries else []

    def refresh(self, state: State) -> None:
        """Read masses, targets and reference states as they are now; q_prev is the present state by default."""
        if not self._entries:
            return
        for a, entry in enumerate(self._entries):
            self._read(a, entry)
        Q = state.Q.copy()
        for link, instances in self._links:
            _read_reference(link, instances, Q)
        self._solver.previous[:] = self._solver.values(Q, self._solver.previous)

    def _read(self, a: int, entry: _Entry) -> None:
        geometry, place = entry.slot.geometry, entry.place
        ExternalArticulationConstraint().check(geometry, entry.slot.object_name)
        target = geometry["joint"].slot(entry.word.target).values
        far = np.flatnonzero((self._period[entry.joints] > 0) & (2 * np.abs(target) >= self._period[entry.joints]))
        if far.size:
            at = int(far[0])
            raise place.error(
                f"has {entry.word.target} = {target[at]:g} [rad], half a turn or more in a step, which cannot be told "
                "from turning the other way; use a smaller dt.",
                at,
            )
        M = geometry["joint_joint"].slot(entry.word.mass).values.reshape(len(target), len(target))
        accepted = self._accepted[a]
        if accepted is None or not np.array_equal(M, accepted):
            eigenvalues = np.linalg.eigvalsh((M + M.T) / 2)
            if eigenvalues[0] < -_ROUNDING * np.abs(eigenvalues).max():
                raise place.error(
                    f"the mass matrix in joint_joint has the eigenvalue {eigenvalues[0]:.3g}, so a motion would have "
                    "a negative mass; give a positive semi-definite matrix."
                )
            self._solver.matrix(a)[:] = (M + M.T) / 2
            self._accepted[a] = M.copy()
        self._solver.target[entry.joints] = target

    def commit(self, state: State) -> None:
        """Take over how far the joints have moved in the step that ends in this state."""
        if self._entries:
            self._change[:] = self._solver.change(state.Q)

    def retrieve(self) -> None:
        """Write δθ into the attributes."""
        for entry in self._entries:
            entry.slot.geometry["joint"].slot(entry.word.change).edit()[:] = self._change[entry.joints]

    def changing(self) -> list[Array]:
        """All arrays but masses that a step, and what is read for it, change in place."""
        return [self._change, self._solver.previous, self._solver.target]

    def arrays(self) -> dict[str, Array]:
        """What a dump must save, by name."""
        return {"articulation/delta_theta": self._change} if self._entries else {}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`."""
        for name, array in self.arrays().items():
            array[:] = arrays[name]

    def constants(self) -> dict[str, Array]:
        """What tells one set of articulations from another."""
        return {
            "articulation/bodies": self._solver.entries.body.astype(float),
            "articulation/start": self._solver.entries.start.astype(float),
        }


def _coordinate(entry: _Entry, k: int, lowered: LoweredJoints) -> int:
    """The coordinate of joint k, as its `geo_id` and `index` are now."""
    joints = entry.slot.geometry["joint"]
    geometry, index = int(joints.slot("geo_id").values[k]), int(joints.slot("index").values[k])
    for number, candidate in enumerate(lowered.geometries):
        word = candidate.kind.coordinate
        if candidate.slot.id() != geometry or word is None:
            continue
        if not 0 <= index < candidate.count:
            raise entry.place.error(
                f"is joint {index} of '{candidate.slot.object_name}', which has {candidate.count} "
                f"(0..{candidate.count - 1}).",
                k,
            )
        return int(lowered.coordinate_rows[word, number].start) + index
    known = [g.slot.id() for g in lowered.geometries if g.kind.coordinate is not None]
    raise entry.place.error(f"names geometry {geometry}, which holds no joint with a coordinate; there are {known}.", k)


def _read_reference(link: BodyGeometry, instances: Indices, Q: Array) -> None:
    """Q ← the states that a link's instances give as those at the start of the step, if they do."""
    slot = link.geometry.instances.find(builtin.ref_dof_prev)
    if slot is None:
        return
    place = Place(ExternalArticulationConstraint.__name__, "instance", link.count, link.slot.object_name)
    if slot.values.shape != (link.count, 12):
        raise place.error(f"{builtin.ref_dof_prev} is of type {slot.type_name()}; create it with Vector12.Zero().")
    q = slot.values[instances]
    finite = np.isfinite(q).all(axis=1)
    A = np.where(finite[:, None, None], q[:, 3:].reshape(-1, 3, 3), 0.0)
    bad = np.flatnonzero(~(np.linalg.det(A) > 0))
    if bad.size:
        raise place.error(
            f"has {builtin.ref_dof_prev} = {q[bad[0]].tolist()}, which is no pose; write [p, rows of A] of every link, "
            "transform_to_q gives it.",
            int(instances[bad[0]]),
        )
    Q[link.offset + instances] = q_to_rows(q)
