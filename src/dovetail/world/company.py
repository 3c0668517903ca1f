"""The common model of several worlds of one structure, and which of its numbers are whose.

Its scene is that of all worlds side by side, without contact, which each of them watches over by itself. Whatever a
step depends on is copied, so the numbers of a world are in its own arrays before and after each (solver/company.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.geometry import SimplicialComplexSlot
from dovetail.kernel.fetch import held_by
from dovetail.kernel.program import Program
from dovetail.kernel.record import Record
from dovetail.scene import Scene
from dovetail.solver.bodies import ORTHO
from dovetail.solver.course import take
from dovetail.solver.integrator import Integrator, Methods
from dovetail.solver.joint.approach import Approaches
from dovetail.solver.joint.coordinates import commit_coordinates
from dovetail.solver.load.body_force import BodyForces
from dovetail.solver.march import March
from dovetail.solver.model import Model
from dovetail.solver.potential import Potential
from dovetail.solver.quiet import Watched
from dovetail.typing import Array, Indices
from dovetail.world.fingerprint import fingerprint
from dovetail.world.lower.bodies import lower_bodies
from dovetail.world.lower.joints import lower_joints
from dovetail.world.lower.lowered import LoweredJoints

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["LARGEST", "Common", "structure_of"]

LARGEST = 16
"""Worlds that share a model: two of them in each lane, and the model still fits into the nearest caches."""

_STATE = "Q", "V", "A", "Q_before", "V_before"
_AFTER = {"Q": "Q_new", "V": "V_new", "A": "A_new", "Q_before": "Q", "V_before": "V"}
"""Where the state after a step is found."""


def structure_of(s: Simulation) -> str:
    """Equal for worlds that may be in company: those that differ in numbers alone; empty for one that may not."""
    model, lowered = s.model, s.joints.lowered
    bodies, potential, sweep = model.bodies, model.potential, model.directions.sweep
    laws, coordinates, exact = potential.laws, lowered.coordinates, potential.exact
    alone = (
        sweep is None or sweep.are_curved or len(potential.others) > 1 or (s.couplings is not None
        and bool(s.couplings.ends)) or (bodies.model != ORTHO).any() or (exact is not None and exact.combined.count > 0)
    )  # fmt: skip
    if alone:
        return ""
    found: dict[str, Any] = {name: getattr(bodies, name) for name in ("is_fixed", "is_dynamic", "external_kinetic")}
    for name, rows in (("points", potential.points), ("slides", potential.slides)):
        found |= {f"{name}/pairs": rows.pairs, f"{name}/exact": np.array([rows.exact])}
    for name in ("address", "period", "first", "left", "right"):
        found[f"coordinates/{name}"] = getattr(coordinates, name)
    if laws is not None:
        found |= {f"laws/{name}": getattr(laws, name) for name in ("of", "address", "at", "start", "step", "aim")}
    for k, load in enumerate(lowered.loads):
        found[f"load/{k}/{type(load).__name__}"] = load.stencils.pairs
    tolerances = [float(value) for value in vars(s.tolerances).values()]
    found["step"] = np.array([s.dt, s.contact is not None, *tolerances])
    found[f"by {s.scheme.integrator}"] = np.zeros(0)
    return fingerprint({name: np.asarray(value, float) for name, value in found.items()})


def _side_by_side(worlds: Sequence[Simulation]) -> tuple[Scene, LoweredJoints]:
    """A scene with all geometries of some scenes, without contact; and how joints sit on their bodies there."""
    config = worlds[0].scene.config
    made, known = Scene({name: config[name] for name in config}), LoweredJoints()
    made.config["contact/enable"] = 0
    for world in worlds:
        first, joints = made.geometries.created_count(), {e.slot.id(): e for e in world.joints.lowered.geometries}
        owner = made.objects.create()
        for slot, _ in world.scene.geometries:
            if slot.geometry.type() == "ImplicitGeometry":
                continue
            geometry = slot.geometry.copy()
            entry = joints.get(slot.id())
            if entry is not None:
                for name in ("l_geo_id", "r_geo_id"):
                    numbers = entry.kind.elements(geometry).slot(name)
                    numbers.assign(numbers.values + first)
            there, _ = made.geometries.add(owner, geometry, None, first + slot.id())
            if entry is not None and isinstance(there, SimplicialComplexSlot):
                known.geometries.append(replace(entry, slot=there))
    return made, known


def _runs(source: Indices, target: Indices) -> Indices:
    """Positions that belong to each other as runs (·, 3): from, to, how many."""
    breaks = np.flatnonzero((np.diff(source) != 1) | (np.diff(target) != 1)) + 1
    first = np.concatenate([[0], breaks]) if len(source) else np.zeros(0, np.int64)
    return np.stack([source[first], target[first], np.diff(np.append(first, len(source)))], axis=1).astype(np.int64)


class Common:
    """The model of several worlds, with all that a step of them works on.

    march      the march of the model; None if the worlds turn out not to be alike
    arrays     whatever a step reads or writes, in an order that depends on the structure alone
    bodies     those of each world
    islands    those of each world, first and one past the last
    """

    march: March | None = None
    arrays: list[np.ndarray[Any, Any]]

    def __init__(self, worlds: Sequence[Simulation]) -> None:
        first, count = worlds[0], len(worlds)
        scene, known = _side_by_side(worlds)
        table, bodies, Q, _ = lower_bodies(scene)
        self.lowered = lowered = lower_joints(scene, table, bodies, Q, known)
        potential = Potential(bodies, lowered.points, lowered.slides, lowered.laws, lowered.exact, [], None)
        for slot, _ in scene.geometries:
            scene.geometries.discard(slot.id())
        for uses in (lowered.geometries, lowered.law_uses, lowered.load_uses, lowered.term_uses, known.geometries):
            uses.clear()  # attributes are those of the worlds again, and stay where they are
        self.model = model = Model(potential, lowered.loads, "sweep")  # as alone, however many there are
        each = bodies.count // count
        self.bodies = [slice(k * each, (k + 1) * each) for k in range(count)]
        model.quiet.watched = self.watched_by(worlds)
        methods = Methods(first.scheme.integrator, np.zeros(bodies.count, np.bool_))
        found = model.quiet.further_of_many(first.dt, methods, first.tolerances)
        self._maps = self._mapped(count)
        if found is None or any(world.model.bodies.count != each for world in worlds):
            return
        if all(self._is_like(k, world) for k, world in enumerate(worlds)):
            of = model.islands.of
            self.islands = [(int(of[b][of[b] >= 0].min()), int(of[b].max()) + 1) for b in self.bodies]
            self._read = self._needed(first.scheme.integrator)
            self._make(found, first.dt)

    def _needed(self, method: Integrator) -> set[str]:
        """What of a state is read in a step."""
        laws = self.lowered.laws
        if method.looks_back or (laws is not None and len(laws.rotors)):
            return set(_STATE)
        return {"Q", "V"} if method.is_consistent else {"Q", "V", "A"}

    def watched_by(self, worlds: Sequence[Simulation]) -> list[Watched]:
        """The books of each world that has contact."""
        return [
            Watched(w.contact.watch, bodies, w.model.islands, w.model.whole)
            for w, bodies in zip(worlds, self.bodies, strict=True)
            if w.contact is not None
        ]

    def _is_like(self, k: int, world: Simulation) -> bool:
        """Whether the constants of the model are those of a world of it, bit for bit."""
        model, lowered, own, theirs = self.model, self.lowered, world.model, world.joints.lowered
        pairs: list[tuple[Any, Any]] = [
            (getattr(model.bodies, name)[self.bodies[k]], getattr(own.bodies, name))
            for name, field in own.bodies.fields.items()
            if field.dimensions
        ]
        for name in ("points", "slides"):
            at, one, other = self._maps[name][k], getattr(lowered, name), getattr(theirs, name)
            pairs += [(getattr(one, what)[at], getattr(other, what)) for what in ("W", "K")]
        first = lowered.coordinates.first
        rows = [np.arange(first[c], first[c + 1]) for c in self._maps["coordinates"][k].tolist()]
        at = np.concatenate([np.zeros(0, np.int64), *rows])
        pairs.append((lowered.coordinates.W[at], theirs.coordinates.W))
        one, other = model.directions.sweep, own.directions.sweep
        if one is None or other is None:
            return False
        pairs.append((one.cases[self.bodies[k]], other.cases))
        return all(np.array_equal(mine, its) for mine, its in pairs)

    def _make(self, found: tuple[Any, ...], h: float) -> None:
        model, lowered, within, none = self.model, self.lowered, Program(), np.zeros(0, np.int64)
        exact = lowered.exact
        course, _, descent = found
        room = {name: getattr(course, name) for name in (*_STATE[1:], "Q_new", "V_new", "A_new")}
        room = {"Q": descent.Q[0], **room}  # what the course works on, so that nothing is copied
        step, commit = within.add(take, *found, model.islands, *room.values()), -1
        if lowered.coordinates.count:
            commit = within.add(commit_coordinates, lowered.coordinates, room["Q_new"], room["V_new"])
        empty, no_rows = np.zeros(0), np.zeros((0, 3))
        forces = {
            f"{name}_{what}": no_rows if exact is None else getattr(getattr(exact, name), what)
            for name in ("points", "slides", "combined")
            for what in ("force", "multiplier")
        }
        model.start.begin(room["Q"], room["V"], model.nobody, h, 1.0)
        self.march = March(
            h=h, words=within.words(), take=step, commit=commit, reads=none, descent=found[2], start=model.start,
            is_open=0.0, **room, p=empty, past=np.zeros((2, 0)), before=empty, kept_past=empty, now=none, rates=none,
            steps=none, approaches=Approaches(none, np.zeros((0, 4), np.int64)), value=empty, **forces,
            used=empty, spent=empty, planes=empty,
            kept_used=empty, kept_spent=empty, kept_planes=empty, time=np.zeros(2), counters=np.zeros(2, np.int64),
            ages=model.directions.ages, seen=np.zeros(2, np.int64), uses=none, counts=none, settled=none,
            pushes=BodyForces(), every=1, strain=0.0, told=np.zeros(3),
        )  # fmt: skip
        self._kept = within, found  # which words alone would not keep alive
        told = [id(words) for words in (self.march.words, course.words, course.results, descent.words, descent.results)]
        told += [id(descent.watching), id(descent.present)]
        descending, _, plot = model.quiet.programs
        held = held_by([self.march, within, descending, plot, *found, model.islands])
        self.arrays = [thing for thing in held if isinstance(thing, np.ndarray) and id(thing) not in told]
        records = [(thing._pointer, np.array(thing._words)) for thing in held if isinstance(thing, Record)]
        programs = (self.march.words, course.words, descent.words)
        self._words = records + [(words.__array_interface__["data"][0], words.copy()) for words in programs]

    def pointers_to(self, number: int) -> list[tuple[int, int]]:
        """Addresses of words that say where an array lies, or a part of it, and by how much that begins later."""
        array = self.arrays[number]
        start, size, found = array.__array_interface__["data"][0], array.nbytes, list[tuple[int, int]]()
        for place, words in self._words:
            hits = np.flatnonzero((words >= start) & (words < start + size))
            found += zip((place + 8 * hits).tolist(), (words[hits] - start).tolist(), strict=True)
        return found

    # ---- whose numbers are whose -------------------------------------------------------------------------------

    def _mapped(self, count: int) -> dict[str, list[Indices]]:
        """By world, where its rows, coordinates, laws and loads are among all."""
        lowered, each = self.lowered, self.bodies[0].stop
        owners = {
            "points": lowered.points.pairs[:, 0] // each,
            "slides": lowered.slides.pairs[:, 0] // each,
            "coordinates": lowered.coordinates.left // each,
        }
        if lowered.laws is not None:
            owners["laws"] = owners["coordinates"][lowered.laws.of]
        for k, load in enumerate(lowered.loads):
            owners[f"load {k}"] = load.stencils.pairs[:, 0] // each
        return {name: [np.flatnonzero(of == world) for world in range(count)] for name, of in owners.items()}

    def copies(self, k: int, world: Simulation, m: March) -> tuple[Indices, Indices]:
        """What is copied into the model before a step of world k, and out of it after that: see `Company`."""
        assert self.march is not None
        inward: list[Indices] = [np.zeros((0, 3), np.int64)]
        outward: list[Indices] = [np.zeros((0, 3), np.int64)]

        def add(theirs: Array, ours: Array, at: Indices, width: int, into: bool = True, out: bool = True) -> None:
            """Entries of `width` numbers each, `at` being where those of this world are among all."""
            if not at.size:
                return
            runs = _runs(np.arange(at.size * width), (at[:, None] * width + np.arange(width)).ravel())
            here, there = (array.__array_interface__["data"][0] for array in (theirs, ours))
            one = np.stack([here + 8 * runs[:, 0], there + 8 * runs[:, 1], runs[:, 2]], axis=1)
            inward.extend([one] if into else [])
            outward.extend([one[:, [1, 0, 2]]] if out else [])

        maps, lowered, theirs = self._maps, self.lowered, world.joints.lowered
        everybody = np.arange(self.bodies[k].start, self.bodies[k].stop)
        for name in _STATE:
            if name in self._read:
                add(getattr(m, name), getattr(self.march, name), everybody, 12, out=False)
            add(getattr(m, name), getattr(self.march, _AFTER[name]), everybody, 12, into=False)
        for name in ("value", "reference", "rate"):
            one, other = getattr(theirs.coordinates, name), getattr(lowered.coordinates, name)
            add(one, other, maps["coordinates"][k], 1, into=name != "rate")
        for name in ("points", "slides"):
            if getattr(m, f"{name}_force").size:
                add(getattr(m, f"{name}_force"), getattr(lowered, name).force, maps[name][k], 3)
        if theirs.laws is not None and lowered.laws is not None:
            laws, numbers = lowered.laws, maps["laws"][k]
            width = np.diff(np.append(laws.at, len(laws.p)))[numbers]
            within = np.arange(int(width.sum())) - np.repeat(np.cumsum(width) - width, width)
            places = np.repeat(laws.at[numbers], width) + within
            add(theirs.laws.p, laws.p, places, 1)
            for row in range(2):
                add(theirs.laws.past[row], laws.past[row], places, 1, out=False)
            add(theirs.laws.scale, laws.scale, numbers, 1)
        for n, load in enumerate(lowered.loads):
            add(theirs.loads[n].values, load.values, maps[f"load {n}"][k], 1, out=False)
        return np.concatenate(inward), np.concatenate(outward)
