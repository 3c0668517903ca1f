"""Couplings of joint coordinates: lowered to energies and exact rows, refreshed every frame, read back.

x_f = ratio·x_l + offset in reported values is Σ w x = c with w = (1, −ratio) and c = offset − x̂_f + ratio·x̂_l, x̂ the
offsets of both reported coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.constitution.base import class_of, uid_of
from dovetail.constitution.joint.coupling import AffineBodyJointCoupling
from dovetail.constitution.place import Place
from dovetail.scene import Scene
from dovetail.solver.bodies import Bodies
from dovetail.solver.joint.articulation import Articulations
from dovetail.solver.joint.combined import Combined
from dovetail.solver.joint.compliance import Compliance
from dovetail.solver.joint.coordinates import Coordinates
from dovetail.typing import Array, Flags, Indices
from dovetail.world.attribute_reader import AttributeReader

if TYPE_CHECKING:
    from dovetail.world.lower.lowered import JointGeometry, LoweredJoints

__all__ = ["Couplings"]


@dataclass(frozen=True)
class _End:
    """One of the two coordinates of a coupling."""

    entry: JointGeometry
    index: int
    offset: str
    coordinates: Coordinates
    row: int

    @property
    def shift(self) -> float:
        return float(self.entry.elements.slot(self.offset).values[self.index])

    @property
    def x(self) -> float:
        return float(self.coordinates.value[self.row])


class Couplings:
    """The couplings of a running world: `exact` are the rows of some, `soft` is the energy of the others.

    force (n,) is what they exerted against their followers in the last step [N or N·m].
    """

    def __init__(self, scene: Scene, lowered: LoweredJoints, bodies: Bodies, Q: Array, everywhere: bool) -> None:
        self._coordinates = lowered.coordinates
        self.slots: list[tuple[Any, slice]] = []
        self.ends: list[tuple[_End, _End]] = []  # follower, leader
        exact: list[bool] = []
        for slot, _ in scene.geometries:
            uid = uid_of(slot.geometry)
            if not (uid and issubclass(class_of(uid), AffineBodyJointCoupling)):
                continue
            elements = slot.geometry["coupling"]
            place = Place(AffineBodyJointCoupling.__name__, "coupling", elements.size(), slot.object_name)
            self.slots.append((slot, slice(len(self.ends), len(self.ends) + place.count)))
            for k in range(place.count):
                ends = [_end(place, elements, side, k, lowered) for side in ("follower", "leader")]
                self.ends.append((ends[0], ends[1]))
            exact += (np.isinf(elements.slot("strength_ratio").values) | everywhere).tolist()
        self._known: tuple[Array, Array] | None = None
        self._reader = AttributeReader()
        for slot, _ in self.slots:
            for name in ("ratio", "offset", "strength_ratio"):
                self._reader.ask(slot.geometry["coupling"], name)
        for end in (end for ends in self.ends for end in ends):
            self._reader.ask(end.entry.elements, end.offset)
        self.is_exact: Flags = np.array(exact, np.bool_)
        self.force = np.zeros(len(self.ends))
        self.exact = self._rows(bodies, Q) if self.is_exact.any() else None
        self.soft = self._energy() if (~self.is_exact).any() else None
        self.refresh()

    @property
    def exact_count(self) -> int:
        """How many are exact."""
        return int(self.is_exact.sum())

    def place(self, k: int) -> int:
        """Which of the exact couplings, or of the others, coupling k is."""
        return int((self.is_exact[:k] == self.is_exact[k]).sum())

    def numbered(self) -> list[tuple[int, int, int]]:
        """Ids of slots, the first of their couplings, and how many they have."""
        return [(slot.id(), rows.start, rows.stop - rows.start) for slot, rows in self.slots]

    def _chosen(self, exact: bool) -> list[int]:
        return np.flatnonzero(self.is_exact == exact).tolist()

    def _rows(self, bodies: Bodies, Q: Array) -> Combined:
        chosen = self._chosen(True)
        ends = [end for k in chosen for end in self.ends[k]]
        of = np.array([end.row for end in ends], np.int64)
        compliance = 1.0 / self._coordinates.inertia(Q, bodies.mass, bodies.is_fixed)[of]
        weight, _ = self._weights()
        squared = weight[chosen] ** 2 * np.reshape(compliance, (-1, 2))
        return Combined(
            self._coordinates, of, np.arange(0, len(ends) + 1, 2), weight[chosen].ravel(), np.zeros(len(chosen)),
            -1 - np.array(chosen), Compliance.rigid(squared.sum(axis=1)),
        )  # fmt: skip

    def _energy(self) -> Articulations:
        ends = [end for k in self._chosen(False) for end in self.ends[k]]
        of = np.array([end.row for end in ends], np.int64)
        return Articulations(self._coordinates, of, np.arange(0, len(ends) + 1, 2))

    def _read(self, name: str) -> Array:
        values = [slot.geometry["coupling"].slot(name).values.astype(float) for slot, _ in self.slots]
        return np.concatenate([np.zeros(0), *values])

    def _weights(self) -> tuple[Array, Array]:
        """w (n, 2) of follower and leader, and c (n,), as the attributes are now."""
        if self._reader.read():
            self._known = None
        if self._known is None:
            for slot, _ in self.slots:
                AffineBodyJointCoupling().check(slot.geometry, slot.object_name)
            ratio = self._read("ratio")
            shift = np.array([[end.shift for end in ends] for ends in self.ends]).reshape(-1, 2)
            weight = np.stack([np.ones_like(ratio), -ratio], axis=1)
            self._known = weight, self._read("offset") - (weight * shift).sum(axis=1)
        return self._known

    def equations(self) -> tuple[Indices, Array, Array]:
        """Coordinates (n, 2) of follower and leader, their weights (n, 2) and c (n,): w·x = c where it is closed."""
        weight, c = self._weights()
        return np.array([[end.row for end in ends] for ends in self.ends], np.int64).reshape(-1, 2), weight, c

    def refresh(self) -> None:
        """Read ratios and offsets as they are now."""
        if not self.ends:
            return
        weight, c = self._weights()
        if self.exact is not None:
            self.exact.weight[:] = weight[self.is_exact].ravel()
            self.exact.target[:] = c[self.is_exact]
        if self.soft is not None:
            chosen = self._chosen(False)
            K = self._read("strength_ratio")[chosen] * [
                self.ends[k][0].entry.mass[self.ends[k][0].index] for k in chosen
            ]
            x = np.array([[end.x for end in self.ends[k]] for k in chosen])
            for a, (k, w) in enumerate(zip(chosen, weight[chosen], strict=True)):
                self.soft.matrix(a)[:] = K[a] * np.outer(w, w)
                # a change of the coordinates by this would close it, and every other one that does costs nothing either
                self.soft.target[2 * a : 2 * a + 2] = -w * (w @ x[a] - c[k]) / (w @ w)
            self.soft.previous[:] = x.ravel()

    def commit(self, h: float, carried: Array) -> None:
        """A step of length h was taken, and the coordinates are committed: keep what the couplings exerted.

        carried (r, 3) ends with what they exert besides their multipliers, see solver/held.py.
        """
        if self.exact is not None:
            self.force[self.is_exact] = self.exact.force[:, 0] + carried[len(carried) - len(self.exact.force) :, 0]
        if self.soft is not None:
            chosen = self._chosen(False)
            K = [self.soft.matrix(a)[0, 0] for a in range(len(chosen))]
            self.force[chosen] = np.array(K) * self.gaps()[chosen] / h**2

    def gaps(self) -> Array:
        """x_f − ratio·x_l − offset at the committed coordinates."""
        weight, c = self._weights()
        x = np.array([[end.x for end in ends] for ends in self.ends]).reshape(-1, 2)
        gaps: Array = (weight * x).sum(axis=1) - c
        return gaps

    def retrieve(self) -> None:
        """Write efforts and gaps into the attributes."""
        gaps = self.gaps() if self.ends else np.zeros(0)
        for slot, rows in self.slots:
            slot.geometry["coupling"].slot("effort").edit()[:] = -self.force[rows]
            slot.geometry["coupling"].slot("gap").edit()[:] = gaps[rows]

    def changing(self) -> list[Array]:
        """All arrays that a step, and what is read for it, change in place."""
        exact = [] if self.exact is None else [self.exact.weight, self.exact.target]
        soft = [] if self.soft is None else [self.soft.entries.M, self.soft.target, self.soft.previous]
        return [self.force, *exact, *soft]

    def arrays(self) -> dict[str, Array]:
        """What a dump must save, by name."""
        return {"coupling/force": self.force} if self.ends else {}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`."""
        for name, array in self.arrays().items():
            array[:] = arrays[name]


def _end(place: Place, elements: Any, side: str, k: int, lowered: LoweredJoints) -> _End:
    """The coordinate that coupling k names, as its attributes are now."""
    geometry, index, number = (
        int(elements.slot(f"{side}_{name}").values[k]) for name in ("geo_id", "index", "coordinate")
    )
    for at, entry in enumerate(lowered.geometries):
        words = entry.kind.coordinates()
        if entry.slot.id() == geometry and 0 <= index < entry.count and 0 <= number < len(words):
            word = words[number]
            row = lowered.coordinate_rows[word, at].start + index
            return _End(entry, index, word.offset, lowered.coordinates, row)
    known = {entry.slot.id(): entry.count for entry in lowered.geometries if entry.kind.coordinates()}
    raise place.error(
        f"names the {side} coordinate {number} of joint {index} of geometry {geometry}, which is not there; joints "
        f"with coordinates are {known} (geometry: joints).",
        k,
    )
