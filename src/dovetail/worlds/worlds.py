"""Many worlds of one machine: each a `Sim` of its own, all of them stepped, read and driven as arrays.

A world never sees another one, although they stand in the same place, and nothing of a step is shared. Its numbers are
thus those of the same world run alone, bit for bit, whatever the number of worlds, their order, or the threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np

from dovetail.checked import LARGEST, checked, numbers, shown, step_count, whole
from dovetail.errors import DovetailError, SceneError, SolverError
from dovetail.kernel.kernel import jit_enabled
from dovetail.logger import Logger
from dovetail.messages import counted
from dovetail.sim.handle import Handle
from dovetail.sim.mechanism import Mechanism
from dovetail.sim.sim import Sim
from dovetail.typing import Array, ArrayLike, Indices
from dovetail.world.contacts import Contacts
from dovetail.world.marching import Marching
from dovetail.world.world_state import WorldState
from dovetail.world_lock import WorldLock, stepping
from dovetail.worlds.readings import Readings
from dovetail.worlds.targets import Loads, Targets

__all__ = ["Build", "Worlds", "numbered"]

Build: TypeAlias = Callable[[Sim, np.random.Generator], Mechanism | None]
"""Makes one world in an empty `Sim`, with random numbers of its own; the mechanism is what arrays are about."""

_MOST_WORLDS = 1_000_000


class Worlds(Handle):
    """n worlds that `build(sim, rng)` makes, each in a `Sim` of its own.

        def build(sim, rng):
            rod = sim.box((0.6, 0.05, 0.05), pos=(0.3, 0, 1), mass=rng.uniform(1, 2))
            sim.revolute(None, rod, pos=(0, 0, 1), axis=(0, 1, 0), drive=0.0)

        worlds = Worlds(build, 64, dt=0.01)
        worlds.target = np.linspace(-1, 1, 64)[:, None]
        worlds.step(100)
        print(worlds.q)

    `build` returns the mechanism, or nothing: then it is that of all joints. Worlds may differ in numbers and in
    structure, as long as their mechanisms have equally many coordinates. World i has its own random numbers, which
    depend on `seed` and i alone. All further options are those of `Sim`.

    | property | unit | |
    |---|---|---|
    | `q`, `v` | rad or m, per s | (n, k) coordinates and rates; may be set |
    | `target`, `target_velocity` | rad or m, per s | (n, k) of the drives; may be set |
    | `effort` | N·m or N | (n, k) what drives, torques and forces of the joints exert; setting it sets the latter |
    | `state` | | what moves, a `WorldState` for each world; may be set |
    | `contacts` | | for each world, where its bodies touch |
    | `frame`, `time` | –, s | (n,) of each world |
    | `failed` | | by number of the world, why it could not go on |
    | `names`, `mechanisms` | | of the coordinates; of each world |

    What is set is (n, k), or (k,) or a number for all worlds. `worlds[i]` is the `Sim` of a world.

    A world in which a step cannot be computed is told by its number, and stays as it was before that step until it is
    reset or its state is set; the others go on.
    """

    names: list[str]
    mechanisms: list[Mechanism]
    failed: dict[int, str]

    @checked(SceneError)
    def __init__(self, build: Callable[..., Any], n: int, *, seed: int = 0, threads: int = 1, **options: Any) -> None:
        for what, value, least in (("n", n, 1), ("seed", seed, 0), ("threads", threads, 1)):
            if value < least:
                raise SceneError(f"Worlds: {what} = {value}; give a whole number ≥ {least}.")
        if n > _MOST_WORLDS:
            raise SceneError(f"Worlds: n = {n}; give a whole number up to {_MOST_WORLDS:,}.")
        self._lock = WorldLock()  # of all worlds: they march together
        self._sims: list[Sim] = []
        self._targets: Targets | None = None
        self._loads: Loads | None = None
        self._readings: Readings | None = None
        self.mechanisms, self.failed, self._threads = [], {}, int(threads)
        for number, sequence in enumerate(np.random.SeedSequence(int(seed)).spawn(int(n))):
            self._make(number, build, np.random.default_rng(sequence), options)
        self.names = list(self.mechanisms[0].names)
        steered = [thing for sim in self._sims for thing in (sim.scene.animator.animations, sim.recordings)]
        self._marching = Marching(len(self), self._threads, steered)

    def _make(self, number: int, build: Build, rng: np.random.Generator, options: dict[str, Any]) -> None:
        sim = Sim(threads=self._threads, **options)
        sim._lock = sim.scene._lock = self._lock
        found = build(sim, rng)
        if found is None:
            found = sim.mechanism()
        if not isinstance(found, Mechanism) or found.sim is not sim:
            raise SceneError(
                f"Worlds: build has returned {shown(found)} for world {number}; return a mechanism of the sim that it "
                "was given, or nothing for that of all joints."
            )
        if self.mechanisms and len(found) != len(self.mechanisms[0]):
            raise SceneError(
                f"Worlds: the mechanism of world {number} has {counted(len(found), 'coordinate')}, that of world 0 has "
                f"{len(self.mechanisms[0])}; let build return mechanisms of one size."
            )
        with numbered(number):
            sim.world  # noqa: B018 - made and checked here, not at the first step
        self._sims.append(sim)
        self.mechanisms.append(found)

    # --- worlds ---------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._sims)

    def __getitem__(self, number: int) -> Sim:
        """The simulation of a world: bodies and joints by name, energies, pictures, the viewer."""
        found = whole(number)
        if found is None:
            raise SceneError(f"Worlds: [{shown(number)}]; give the number of a world.")
        if not -len(self) <= found < len(self):
            raise IndexError(f"Worlds: there is no world {found}; there are {len(self)}.")
        return self._sims[found]

    def __iter__(self) -> Iterator[Sim]:
        return iter(self._sims)

    # --- running --------------------------------------------------------------------------------------------

    @stepping
    @checked(SceneError)
    def step(self, steps: int = 1) -> None:
        """Compute so many steps of all worlds but those that have failed."""
        left = np.full(len(self), step_count("Worlds.step", steps))
        left[list(self.failed)] = 0
        failures: dict[int, str] = {}
        while left.any():
            self._marching.advance(left)
            failures |= self._run(np.flatnonzero(left).tolist(), left)
        for number in sorted(failures):
            self.failed[number] = failures[number]
            Logger.warn(f"Worlds: world {number} cannot go on and is left as it is: {failures[number]}")

    def _run(self, some: Sequence[int], left: Indices) -> dict[int, str]:
        """Step some worlds one after the other, until they join those that march; why those that failed did."""
        failures: dict[int, str] = {}
        for number in some:
            sim = self._sims[number]
            with numbered(number):
                try:
                    while left[number]:
                        sim.step()
                        left[number] -= 1
                        if self._marching.join(number, sim.world.marcher):
                            break
                except SolverError as error:
                    failures[number], left[number] = str(error), 0
        return failures

    @checked(SceneError)
    def reset(self, which: Any = None, q: ArrayLike | None = None, v: ArrayLike | None = None) -> None:
        """Bring worlds back home, or from there to coordinates q and rates v (m, k); targets and forces stay.

        `which` is a number, several of them, or n truth values; by default all.
        """
        chosen = self._chosen(which)
        places = None if q is None else self._rows("reset: q", q, len(chosen))
        rates = None if v is None else self._rows("reset: v", v, len(chosen))
        for k, number in enumerate(chosen):
            with numbered(number):
                self._sims[number].reset()
                if places is not None:
                    self.mechanisms[number].place(places[k], None if rates is None else rates[k])
                elif rates is not None:
                    self.mechanisms[number].v = rates[k]
            self.failed.pop(number, None)

    def _chosen(self, which: Any) -> list[int]:
        n = len(self)
        if which is None:
            return list(range(n))
        found = None
        if isinstance(which, (int, Sequence, np.ndarray, np.generic)):
            with suppress(ValueError, OverflowError):  # rows of different lengths
                found = np.atleast_1d(np.asarray(which))
        if found is not None and found.dtype == np.bool_ and found.shape == (n,):
            return np.flatnonzero(found).tolist()
        if found is not None and found.ndim == 1 and (found.dtype.kind in "iu" or found.size == 0):
            whom: Indices = found.astype(np.int64)
            if ((whom >= 0) & (whom < n)).all():
                return list(dict.fromkeys(whom.tolist()))
        raise SceneError(
            f"Worlds.reset: which = {shown(which)}; give numbers of worlds from 0 to {n - 1}, or {n} truth values."
        )

    # --- states ---------------------------------------------------------------------------------------------

    @property
    def state(self) -> tuple[WorldState, ...]:
        return tuple(sim.state for sim in self._sims)

    @state.setter
    def state(self, states: Sequence[WorldState]) -> None:
        if not isinstance(states, (list, tuple)) or len(states) != len(self):
            raise SceneError(f"Worlds.state: {shown(states)}; give a state for each of the {len(self)} worlds.")
        for number, (sim, state) in enumerate(zip(self._sims, states, strict=True)):
            with numbered(number):
                sim.state = state
            self.failed.pop(number, None)

    @property
    def contacts(self) -> list[Contacts]:
        return [sim.contacts for sim in self._sims]

    @property
    def frame(self) -> Indices:
        return np.array([sim.frame for sim in self._sims])

    @property
    def time(self) -> Array:
        return np.array([sim.time for sim in self._sims])

    # --- arrays ---------------------------------------------------------------------------------------------

    @property
    def q(self) -> Array:
        return self._get("q")

    @q.setter
    def q(self, values: ArrayLike) -> None:
        self._set("q", values)

    @property
    def v(self) -> Array:
        return self._get("v")

    @v.setter
    def v(self, values: ArrayLike) -> None:
        self._set("v", values)

    @property
    def target(self) -> Array:
        targets = self._drives
        return self._get("target") if targets is None else targets.values

    @target.setter
    def target(self, values: ArrayLike) -> None:
        targets = self._drives
        if targets is None or not targets.hold:
            self._set("target", values)
        else:
            targets.values = self._rows("target", values, len(self))

    @property
    def _drives(self) -> Targets | None:
        """All targets as one array, where all coordinates have drives."""
        if self._targets is None and Targets.fit(self.mechanisms):
            self._targets = Targets(self.mechanisms)
        return self._targets

    @property
    def target_velocity(self) -> Array:
        return self._get("target_velocity")

    @target_velocity.setter
    def target_velocity(self, values: ArrayLike) -> None:
        targets = self._drives
        if targets is None or not targets.run:
            self._set("target_velocity", values)
        else:
            targets.set_velocities(self._rows("target_velocity", values, len(self)))

    @property
    def effort(self) -> Array:
        return self._get("effort")

    @effort.setter
    def effort(self, values: ArrayLike) -> None:
        if self._loads is None and Loads.fit(self.mechanisms):
            self._loads = Loads(self.mechanisms)
        if self._loads is None:
            self._set("effort", values)
        else:
            self._loads.write(self._rows("effort", values, len(self)))

    @property
    def _gauges(self) -> Readings | None:
        """All that is read as arrays, where kernels are compiled."""
        if self._readings is None and jit_enabled:
            self._readings = Readings(self.mechanisms)
        return self._readings

    def _get(self, name: str) -> Array:
        if name in ("q", "v", "effort") and self._gauges is not None:
            found: Array = getattr(self._gauges, name)
            return found
        return np.array([getattr(mechanism, name) for mechanism in self.mechanisms])

    def _set(self, name: str, values: ArrayLike) -> None:
        rows = self._rows(name, values, len(self))
        for number, mechanism in enumerate(self.mechanisms):
            with numbered(number):
                setattr(mechanism, name, rows[number])

    def _rows(self, what: str, values: ArrayLike, count: int) -> Array:
        """(count, k) of what was given for so many worlds."""
        found, shape = numbers(values), (count, len(self.names))
        if found is None or found.shape not in (shape, shape[1:], ()) or not (np.abs(found) <= LARGEST).all():
            raise SceneError(
                f"Worlds.{what} = {shown(values)}; give finite numbers as an array {shape}, or {shape[1:]} for all."
            )
        return np.broadcast_to(found, shape)

    def __repr__(self) -> str:
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"<Worlds: {len(self)} of {counted(len(self.names), 'coordinate')}{failed}>"


class numbered:  # noqa: N801 - reads as what it does
    """Errors of a world say which one it is."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, DovetailError) and error.args:
            error.args = (f"world {self._number}: {error.args[0]}", *error.args[1:])
