"""The short form: a scene and its world in one object, with bodies and joints as handles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from dovetail.checked import checked, shown, step_count
from dovetail.core import AffineBodyStateAccessorFeature, Scene
from dovetail.errors import SceneError
from dovetail.geometry import SimplicialComplexSlot
from dovetail.io.recorder import each
from dovetail.messages import counted
from dovetail.picture import Camera
from dovetail.scene.animator import begun
from dovetail.sim.body import Body
from dovetail.sim.changes import Changes
from dovetail.sim.energy import Energy
from dovetail.sim.given import at_least_one, positive, vector
from dovetail.sim.joint import SimJoint
from dovetail.sim.make_robots import RobotMaking
from dovetail.sim.materials import Materials
from dovetail.sim.mechanism import Mechanism
from dovetail.sim.recording import Recording
from dovetail.sim.run import Run
from dovetail.sim.table import html_table
from dovetail.sim.words import in_own_words, speaking
from dovetail.typing import Array, ArrayLike
from dovetail.world.step_length import step_length
from dovetail.world.world_state import WorldState
from dovetail.world_lock import at_any_time, locked, stepping

if TYPE_CHECKING:
    from dovetail.gradient.tape import Tape
    from dovetail.sim.pictures import Pictures
    from dovetail.viewer import Viewer
    from dovetail.world.contacts import Contacts

__all__ = ["Sim"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


@in_own_words
class Sim(Changes, RobotMaking):
    """A simulation: make it, add bodies and joints, run it.

        sim = Sim(dt=0.01)
        sim.ground()
        rod = sim.box((0.6, 0.05, 0.05), pos=(0.3, 0, 1))
        hinge = sim.revolute(None, rod, pos=(0, 0, 1), axis=(0, 1, 0), limit=(-1.0, 1.0))
        for _ in sim.run(100):
            print(hinge.angle)

    z is up: gravity is (0, 0, −9.81) m/s². Lengths are in m, angles in rad, quaternions (w, x, y, z). Things can be
    added, removed and moved before the first step and between steps. `sim["name"]` finds a body or joint. Bodies that
    share a joint do not touch each other.

    | | |
    |---|---|
    | `dt` | time step [s] |
    | `gravity` | [m/s²] |
    | `integrator` | "ctr" (second order, keeps the energy of machines), "bdf2", or "bdf1" (calm: damps what is fast) |
    | `exact` | False: joints yield a little under load, as springs of γ(m_i + m_j)/dt² do; True: they do not |
    | `friction` | coefficient of all bodies that have none of their own |
    | `contact` | False: nothing touches anything, which is faster |
    | `d_hat` | distance below which surfaces repel [m] |
    | `kappa` | stiffness of the bodies' shapes [Pa], see below |
    | `threads` | of a step; None: all processors, or DOVETAIL_THREADS. Results are the same for any number |
    | `config` | further keys of the scene's configuration, docs/config.md |

    A load f at a lever L strains a body of volume V by f L/(8κV), and mechanisms are off in proportion; `body.strain`
    tells it, docs/choosing.md has figures.
    """

    @checked(SceneError)
    def __init__(
        self,
        dt: float = 0.01,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        *,
        integrator: str = "ctr",
        exact: bool = True,
        friction: float = 0.5,
        contact: bool = True,
        d_hat: float = 1e-3,
        kappa: float = 1e8,
        threads: int | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self._scene = Scene(
            {
                "dt": positive("Sim", "dt", dt, "s"),
                "gravity": vector("Sim", "gravity", gravity, "m/s²").tolist(),
                "integrator/type": integrator,
                "integrator/bdf2_start": "bdf1",
                "contact/enable": int(bool(contact)),
                "contact/d_hat": positive("Sim", "d_hat", d_hat, "m"),
                "contact/eps_velocity": 1e-3,
                "contact/friction/memory": 1,
                "contact/ease_in": 1,
                "contact/set_apart": 1,
                "contact/joint_neighbours": 0,
                "sanity_check/mode": "quiet",
                "threads/count": 0 if threads is None else at_least_one("Sim", "threads", threads),
            }
        )
        self._lock = self._scene._lock
        for key, value in (config or {}).items():
            self._scene.config[key] = value
        step_length(self._scene.config)
        self._kappa = positive("Sim", "kappa", kappa, "Pa")
        self._exact = bool(exact)
        self._friction = self._mu("Sim", friction)
        self._materials = Materials(self._scene, self._friction)
        self._pictures: Pictures | None = None

    # --- what it consists of ------------------------------------------------------------------------------

    @property
    def bodies(self) -> list[Body]:
        return list(self._bodies.values())

    @property
    def joints(self) -> list[SimJoint]:
        return list(self._joints.values())

    @checked(SceneError)
    def __getitem__(self, name: str) -> Any:
        """The body or joint with a name."""
        found: Body | SimJoint | None = self._bodies.get(name) or self._joints.get(name)
        if found is None:
            names = ", ".join(f"'{known}'" for known in (*self._bodies, *self._joints)) or "nothing yet"
            raise SceneError(f"Sim: there is no '{name}'; there is {names}.")
        return found

    @property
    def scene(self) -> Scene:
        """The scene, for everything that has no short form."""
        return self._scene

    @checked(SceneError)
    def mechanism(self, *joints: SimJoint) -> Mechanism:
        """Coordinates of some joints, by default of all, as arrays; see `Mechanism`."""
        for joint in joints:
            if not isinstance(joint, SimJoint) or self._joints.get(joint.name) is not joint:
                what = joint.who if isinstance(joint, SimJoint) else shown(joint)
                raise SceneError(f"Sim.mechanism: {what} is not a joint of this Sim; give its own.")
        coordinates = [c for joint in joints or self.joints for c in joint.coordinates.values()]
        if not coordinates:
            raise SceneError("Sim.mechanism: none of the joints has a coordinate; give hinges, sliders or the like.")
        return Mechanism(self, coordinates)

    # --- running ------------------------------------------------------------------------------------------

    @at_any_time
    @checked(SceneError)
    def step(self, steps: int = 1) -> None:
        """Compute so many steps. Another thread waits for one of them, and may come in between two."""
        steps = step_count("Sim.step", steps)
        self._begin()
        with speaking():
            for _ in range(steps):
                self._advance()

    @locked
    def _begin(self) -> None:
        """Make the world, and write the present frame to new recordings."""
        self.world  # noqa: B018 - made and checked here
        for recorder in self._recorders:
            recorder.begin()

    @stepping
    def _advance(self) -> None:
        """Compute a step and record it."""
        self.world.advance()
        for recorder in self._recorders:
            recorder.write()

    @property
    def recordings(self) -> list[Recording]:
        """Those that every step is written to; not to be changed."""
        return self._recorders

    @checked(SceneError)
    def rollout(
        self, steps: int, controls: Callable[[int], Any] | None = None, *, every: int = 0, smooth: bool = False
    ) -> Tape:
        """Compute so many steps and record them, so that they can be differentiated: see docs/gradients.md.

        controls(k) is called before step k and may set targets, forces and other attributes. `every` keeps checkpoints
        instead of all states; `smooth` takes them as bdf1, for cheaper gradients in touch: see `World.rollout`.
        """
        step_count("Sim.rollout", steps)
        world, self._in_rollout = self.world, True
        try:
            return world.rollout(steps, controls, every=every, smooth=smooth)
        finally:
            self._in_rollout = False

    @at_any_time
    @checked(SceneError)
    def run(self, steps: int | None = None, *, progress: bool = False) -> Run:
        """A loop that computes a step each time round and gives the number of the frame; without end by default.

        With `progress`, a bar shows steps per second, Newton iterations, contacts and the largest joint gap.
        """
        return Run(self, None if steps is None else step_count("Sim.run", steps), progress)

    @checked(SceneError)
    def before_step(self, function: _Function) -> _Function:
        """Call `function()` before every step, whoever runs the simulation; also usable as a decorator."""
        name = self._name("Sim.before_step", "before_step", "")
        self._scene.animator.insert(self._scene.objects.create(name), lambda _: function())
        return function

    @property
    @at_any_time
    def frame(self) -> int:
        """How many steps have been computed."""
        return 0 if self._world is None else self._world.frame()

    @property
    @at_any_time
    def time(self) -> float:
        """Simulated time [s]."""
        return 0.0 if self._world is None else self._world.time()

    @property
    def dt(self) -> float:
        """Time step [s]; may be changed between steps."""
        return step_length(self._scene.config)

    @dt.setter
    def dt(self, value: float) -> None:
        self._scene.config["dt"] = positive("Sim", "dt", value, "s")

    # --- reading ------------------------------------------------------------------------------------------

    @property
    def energy(self) -> Energy:
        """Energies now [J]: `sim.energy.total`, `.kinetic`, `.potential`, and all parts by name."""
        return Energy(self.world.energies())

    @property
    def contacts(self) -> Contacts:
        """Where bodies touch now, and how hard."""
        return self.world.contacts()

    def sync(self) -> None:
        """Bring the scene's attributes up to the present state; reading a handle does it where that needs them."""
        if self._world is not None and self.started:
            version = self._world.live.version
            if self._synced != version:
                self._world.retrieve()
                self._synced = version

    def write_state(self, slot: SimplicialComplexSlot, transform: Array | None, velocity: Array | None) -> None:
        """Put a body somewhere else, or give it another velocity."""
        self.require_present(f"'{slot.object_name}'", slot)
        given = {"transform": transform, "velocity": velocity}
        if self._world is None or not self.started:
            for name, value in given.items():
                if value is not None:
                    slot.geometry.instances[name] = value
            return
        accessor = self._world.features().find(AffineBodyStateAccessorFeature)
        assert accessor is not None
        body = int(slot.geometry.meta.slot("backend_abd_body_offset").first)
        state = accessor.create_geometry(body, 1)
        for name, value in given.items():
            if value is not None:
                state.instances.create(name, value)
        accessor.copy_from(state)

    # --- states and recordings ----------------------------------------------------------------------------

    @property
    def state(self) -> WorldState:
        """Everything that moves, as a value: `before = sim.state; …; sim.state = before` goes back, bit for bit.

        Targets, forces and other settings are not part of it. `state.save(path)` and `WorldState.load(path)` keep it
        in a file.
        """
        return self.world.state()

    @state.setter
    def state(self, state: WorldState) -> None:
        self.world.restore(state)

    @property
    def home(self) -> WorldState:
        """The state that `reset` goes to: that of the start, or the one that was set.

        Where bodies or joints were added or removed, it is the state in which that happened.
        """
        world = self.world
        if self._home is None:
            frame, arrays = self._start
            self._home = WorldState(frame, world.fingerprint, arrays).sealed()
        return self._home

    @home.setter
    @checked(SceneError)
    def home(self, state: WorldState) -> None:
        self._home = state.sealed()

    def reset(self) -> None:
        """Go back home; settings such as targets and forces stay."""
        home, live = self.home, self.world.live
        if self._rests is None or self._rests[0] is not home or self._rests[1:] != (live, live.version):
            self.state = home
            self._rests = home, live, live.version

    @checked(SceneError)
    def save(self, path: str | PathLike[str]) -> None:
        """Write the state to a file; one that exists is replaced."""
        self.state.save(path)

    @checked(SceneError)
    def load(self, path: str | PathLike[str]) -> None:
        """Go to the state in a file, which must be one of an equal simulation."""
        self.state = WorldState.load(path)

    @checked(SceneError)
    def record(self, path: str | PathLike[str], *, every: int = 1, overwrite: bool = False) -> Recording:
        """Record from now on, the present state first. Every frame is safe in the file as soon as it is computed.

        Of what it returns, `close()` ends the recording, and so does the end of a `with` block.
        """
        recording = Recording(self, self._recorders, path, each(every, "Sim.record", SceneError), overwrite)
        self._recorders.append(recording)
        begun.count += 1
        if self.started:
            recording.begin()
        return recording

    @checked(SceneError)
    def picture(
        self, width: int = 640, height: int = 480, camera: Camera | None = None, *, kind: str = "color"
    ) -> NDArray[Any]:
        """A picture as an array, drawn without a window: (height, width, 3) bytes, red, green, blue.

        camera    a `dovetail.picture.Camera`, fixed in the world or to a body; by default it sees everything
        kind      "color"; "depth": how far ahead of the camera [m], float32, inf for nothing; "bodies": which of
                  `sim.bodies` is seen, int32, −1 for none
        """
        from dovetail.sim.pictures import Pictures

        live = self.world.live  # another one where bodies were added or removed
        if self._pictures is None or self._pictures.live is not live:
            self._pictures = Pictures(self)
        return self._pictures.take(width, height, camera, kind)

    @at_any_time
    def view(self, **options: Any) -> Viewer:
        """Look at it in the browser, run and steer it there. Options are those of `dovetail.viewer.view`."""
        from dovetail.viewer import view

        return view(self.world, **options)

    # --- looks --------------------------------------------------------------------------------------------

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("dt", f"{self.dt:g} s"), ("time", f"{self.time:g} s, frame {self.frame}")]
        for one, many, things in (("body", "bodies", self._bodies), ("joint", "joints", self._joints)):
            names = ", ".join(list(things)[:8]) + (", …" if len(things) > 8 else "")
            rows.append((counted(len(things), one, many), names))
        return rows

    def __repr__(self) -> str:
        return (
            f"<Sim: {counted(len(self._bodies), 'body', 'bodies')}, {counted(len(self._joints), 'joint')}, "
            f"dt {self.dt:g} s, "
            f"time {self.time:g} s, frame {self.frame}>"
        )

    def _repr_html_(self) -> str:
        return html_table("Sim", self._rows())
