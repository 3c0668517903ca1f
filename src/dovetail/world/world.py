"""The world: runs a scene frame by frame."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.checked import checked, step_count
from dovetail.errors import DovetailError, GradientError, WorldError
from dovetail.geometry import SimplicialComplexSlot
from dovetail.kernel.machine import help_early
from dovetail.logger import Logger
from dovetail.scene import Scene
from dovetail.timer import Timer
from dovetail.typing import Array
from dovetail.world.contact_system import ContactSystemFeature
from dovetail.world.counted import OPENED
from dovetail.world.dump import last_frame, read_dump, write_dump
from dovetail.world.engine import Engine, EngineStatus
from dovetail.world.features import AffineBodyStateAccessorFeature, Feature, FeatureCollection
from dovetail.world.push import AffineBodyPushFeature
from dovetail.world.sanity import SanityChecker
from dovetail.world.world_state import WorldState
from dovetail.world_lock import WorldLock, at_any_time, lock_public, stepping

if TYPE_CHECKING:
    from dovetail.gradient.tape import Tape
    from dovetail.solver.step import StepReport
    from dovetail.world.contacts import Contacts
    from dovetail.world.live import Live
    from dovetail.world.marcher import Marcher
    from dovetail.world.simulation import Simulation

__all__ = ["World"]


@contextmanager
def _no_collection() -> Iterator[None]:
    """Do not look for garbage among all that is being made to stay: that takes a quarter of the time of an init."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@lock_public
class World:
    """A running simulation.

        world = World(Engine("cpu"))
        world.init(scene)
        while world.frame() < 100:
            world.advance()
            world.retrieve()

    A call that fails leaves the last good frame in place, and so does Ctrl-C: a run may go on as if nothing had been.
    Calls of other threads wait until a call has ended; `frame`, `time`, `is_valid` and `report` do not.
    """

    def __init__(self, engine: Engine) -> None:
        if not isinstance(engine, Engine):
            raise WorldError(f"World: expected an Engine, got {type(engine).__name__}; use World(Engine('cpu')).")
        self._engine, self._lock = engine, WorldLock()
        self._scene: Scene | None = None
        self._simulation: Simulation | None = None
        self._checker: SanityChecker | None = None
        self._passed: tuple[Simulation, WorldState] | None = None  # a sealed state that has no flaw
        self._valid = False
        self._refused = False

    def init(self, scene: Scene) -> None:
        """Check the scene and build the solver for it; afterwards objects can no longer be added or removed."""
        if not isinstance(scene, Scene):
            raise WorldError(f"World.init: expected a Scene, got {type(scene).__name__}.")
        if self._simulation is not None:
            Logger.warn(
                "World.init: this world is initialised already; nothing to do. Make a new World for a new scene."
            )
            return
        with scene._lock:
            self._init(scene)

    def _init(self, scene: Scene) -> None:
        scene.require_changeable("be given to another world")
        scene.validate_config()
        help_early()
        from dovetail.world.simulation import Simulation  # the compiler is only needed from here on

        with Timer("Init"), _no_collection():
            simulation = Simulation(scene)
            if not self._admits(scene, simulation):
                self._refused = True
                Logger.error("World.init: the scene did not pass its sanity checks; the world is invalid.")
                return
        self._take(scene, simulation)

    def reopen(self) -> None:
        """Let geometries be added to the scene, and removed from it, between two steps; `resume` goes on after that.

        Transforms and velocities of the present frame are written into the attributes, to be read and changed there.
        """
        simulation = self._initialised("reopen")
        simulation.publish()
        simulation.version += 1
        simulation.counters[OPENED] = 1
        self.scene.thaw()
        self._valid = False

    def resume(self) -> bool:
        """Go on with the scene as it is now; False, and it stays open, where it does not pass the sanity checks.

        What stayed moves on as if nothing had happened: positions, rates, accelerations, turns of joints, forces in
        them and friction are kept, time and frame too. Joints stay where they sit on their bodies. What is new, or was
        put elsewhere, begins from its transform and velocity. States of before belong to another scene.
        """
        if self._simulation is None or self._scene is None or self._valid:
            raise WorldError("World.resume: there is nothing to go on with; call World.reopen first.")
        from dovetail.world.simulation import Simulation

        with Timer("Init"), _no_collection():
            self._scene.validate_config()
            simulation = Simulation(self._scene, self._simulation)
            if not self._admits(self._scene, simulation):
                return False
        self._take(self._scene, simulation)
        return True

    def _admits(self, scene: Scene, simulation: Simulation) -> bool:
        """Whether the scene passes its sanity checks; if not, what is wrong is told."""
        if not scene.config["sanity_check/enable"]:
            return True
        self._checker = SanityChecker(scene, self._workspace)
        admitted = self._checker.admits(simulation)
        self._checker.report()
        return admitted

    def _take(self, scene: Scene, simulation: Simulation) -> None:
        self._scene, self._simulation, self._lock = scene, simulation, scene._lock
        scene.freeze("the world")
        self._valid = True
        self._engine.offered, self._engine.last_step = self.features(), lambda: simulation.last

    @stepping
    def advance(self) -> None:
        """Compute the next frame."""
        simulation = self._running("advance")
        if simulation is None:
            return
        try:
            with Timer("Pipeline"):
                simulation.advance(self._frame + 1)
        except DovetailError as error:
            self._engine.status().push_back(EngineStatus("error", str(error)))
            raise

    @checked(WorldError)
    def rollout(
        self, steps: int, controls: Callable[[int], Any] | None = None, *, every: int = 0, smooth: bool = False
    ) -> Tape:
        """Compute so many frames and record them, so that they can be differentiated: see docs/gradients.md.

        controls(k) is called before step k and may write attributes. Newton's tolerances are tightened meanwhile.

        With `every`, no more than each so many-th state is kept; the steps between are computed again when they are
        needed, and controls are called again. With `smooth`, steps are taken as bdf1, with friction that remembers
        nothing: another motion, of first order, whose gradients in touch take a tenth of the time.
        """
        simulation = self._initialised("rollout")
        steps = step_count("World.rollout", steps, GradientError)
        if every < 0:
            raise GradientError(f"World.rollout: every = {every}; give a number of steps, or 0 to keep all of them.")
        from dovetail.gradient.tape import Tape
        from dovetail.world.timeline import WorldTimeline

        tape = Tape(simulation, WorldTimeline(self, lambda: self._simulation is simulation), every, smooth)
        tape.record(steps, controls)
        return tape

    @property
    def marcher(self) -> Marcher:
        """What takes steps of this world together with those of others, see marcher.py."""
        return self._initialised("marcher").marcher

    def sync(self) -> None:
        """Wait for the engine; on a CPU `advance` has finished when it returns."""
        self._running("sync")

    def retrieve(self) -> None:
        """Write transforms and joint states of the present frame into the scene's attributes."""
        simulation = self._running("retrieve")
        if simulation is not None:
            with Timer("Retrieve"):
                simulation.retrieve()

    def contacts(self) -> Contacts:
        """Where bodies touch in the present frame, how hard they press and rub; empty with contact/enable = 0."""
        return self._initialised("contacts").contacts()

    def energies(self) -> dict[str, float]:
        """Energies in the present frame [J].

        | name | |
        |---|---|
        | kinetic | ½ V·M V of all bodies that have inertia |
        | gravity | −m g·c: the work against gravity from the origin |
        | shape | stretch and shear of the bodies |
        | joint | penalties, drives and limits of joints, articulations: K x²/(2 dt²) |
        | soft_transform | pull of soft transforms, likewise |
        | barrier | repulsion of surfaces nearer than d_hat |
        | friction_dissipated | turned into heat by friction since init |
        """
        return self._initialised("energies").energies()

    @checked(WorldError)
    def joint_frames(self, joint: SimplicialComplexSlot) -> dict[str, Array]:
        """Where the joints of a geometry sit on their bodies: rows by name, each (2, n, 4), [0] left, [1] right.

        c is the anchor (1, x̄), t, n, b the directions (0, v̄) of the frame, x0 and x1 the ends of the axis of a
        joint on an edge; a body in the state Q carries a row to row @ Q.
        """
        return self._initialised("joint_frames").joints.frames_of(joint)

    @property
    def live(self) -> Live:
        """States of bodies and coordinates of joints as they are now, without `retrieve`."""
        return self._initialised("live").live

    @at_any_time
    def frame(self) -> int:
        """Number of frames computed: 0 after init, +1 per advance."""
        return self._frame

    @at_any_time
    def time(self) -> float:
        """Simulated time [s]: the sum of the steps so far, each with the dt it had."""
        return self._simulation.time if self._simulation is not None else 0.0

    @at_any_time
    def is_valid(self) -> bool:
        """True once init has succeeded."""
        return self._valid

    @property
    @at_any_time
    def report(self) -> StepReport | None:
        """What happened in the last step; None before the first."""
        return None if self._simulation is None else self._simulation.last[1]

    @property
    def scene(self) -> Scene:
        """The scene that this world runs."""
        self._initialised("scene")
        assert self._scene is not None
        return self._scene

    @property
    def engine(self) -> Engine:
        return self._engine

    def features(self) -> FeatureCollection:
        """What else this world can do."""
        if self._simulation is None:
            return FeatureCollection([])
        found: list[Feature] = [
            AffineBodyStateAccessorFeature(self._simulation),
            AffineBodyPushFeature(self._simulation),
        ]
        if self._simulation.contact is not None:
            found.append(ContactSystemFeature(self._simulation))
        return FeatureCollection(found)

    def sanity_checker(self) -> SanityChecker:
        """The checker of this world's scene, with what it found at init."""
        if self._checker is None:
            raise WorldError(
                "World.sanity_checker: no check was made; call World.init with sanity_check/enable = 1 first."
            )
        return self._checker

    def dump(self) -> bool:
        """Save the present frame under the engine's workspace; True on success."""
        simulation = self._running("dump")
        if simulation is None:
            return False
        try:
            write_dump(self._workspace, self._frame, simulation.fingerprint, simulation.arrays())
        except OSError as error:
            Logger.error(f"World.dump: frame {self._frame} could not be saved in '{self._workspace}': {error}.")
            return False
        return True

    @checked(WorldError)
    def recover(self, dst_frame: int | None = None) -> bool:
        """Go back (or forward) to a dumped frame, by default the largest; False, and no change, where there is none.

        Attributes follow at the next `retrieve`.
        """
        simulation = self._running("recover")
        if simulation is None:
            return False
        frame = last_frame(self._workspace) if dst_frame is None else int(dst_frame)
        found = read_dump(self._workspace, frame)
        if found is None:
            return False
        if flaw := simulation.flaw(*found):
            Logger.error(f"World.recover: frame {frame} in '{self._workspace}' {flaw}; nothing was changed.")
            return False
        simulation.restore(found[1])
        simulation.last = frame, self.report
        return True

    def state(self) -> WorldState:
        """The present frame as a value, to go back to with `restore`; the scene's attributes are not part of it."""
        simulation = self._initialised("state")
        return WorldState(self._frame, simulation.fingerprint, simulation.live.arrays())

    @property
    def fingerprint(self) -> str:
        """Equal for worlds that states can be exchanged between."""
        return self._initialised("fingerprint").fingerprint

    @checked(WorldError)
    def restore(self, state: WorldState) -> None:
        """Go back (or forward) to a state of this world or of one with an equal scene; what follows is bit-identical.

        Attributes follow at the next `retrieve`.
        """
        simulation = self._initialised("restore")
        if self._passed is None or self._passed[0] is not simulation or self._passed[1] is not state:
            if flaw := simulation.flaw(state.scene, state.arrays):
                raise WorldError(f"World.restore: the state of frame {state.frame} {flaw}; nothing was changed.")
            self._passed = (simulation, state) if state.is_sealed else None
        simulation.restore({name: array.copy() for name, array in state.arrays.items()})
        simulation.last = state.frame, self.report

    @property
    def _frame(self) -> int:
        return 0 if self._simulation is None else self._simulation.last[0]

    @property
    def _workspace(self) -> Path:
        return Path(self._engine.workspace())

    def _initialised(self, call: str) -> Simulation:
        """The simulation, for calls that need one."""
        if not self._valid or self._simulation is None:
            reason = "the scene did not pass its sanity checks" if self._refused else "call World.init(scene) first"
            if self._simulation is not None:
                reason = "the scene is open for changes, call World.resume first"
            raise WorldError(f"World.{call}: there is nothing to tell; {reason}.")
        return self._simulation

    def _running(self, call: str) -> Simulation | None:
        """The simulation, or None (and a log line) where the scene was refused."""
        if self._valid:
            return self._simulation
        if self._simulation is not None:
            raise WorldError(f"World.{call}: the scene is open for changes; call World.resume first.")
        if not self._refused:
            raise WorldError(f"World.{call}: call World.init(scene) first.")
        Logger.error(f"World.{call}: the scene did not pass its sanity checks, so there is nothing to do.")
        return None

    def __repr__(self) -> str:
        return f"<World, frame {self._frame}>" if self._valid else "<World, not initialised>"
