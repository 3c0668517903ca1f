"""A scene lowered to the solver: what `World` owns once it is initialised.

Kept apart from `World` so that importing dovetail does not import the compiler.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from dovetail import builtin
from dovetail.constitution import Joint
from dovetail.constitution.base import IConstitution, class_of, uid_of
from dovetail.errors import ConstitutionError, NewtonStalled, SolverError, StepTooLong
from dovetail.geometry import SimplicialComplex
from dovetail.geometry.rows import rows_to_transforms
from dovetail.kernel import kernel
from dovetail.kernel.threads import cut_finely, threads_by_default, using
from dovetail.logger import Logger
from dovetail.scene import Scene
from dovetail.solver.contact.readback import Survey
from dovetail.solver.energy_report import energies
from dovetail.solver.integrator import INTEGRATORS
from dovetail.solver.load import BodyForces
from dovetail.solver.model import Model
from dovetail.solver.potential import Potential
from dovetail.solver.scheme import Scheme
from dovetail.solver.solution import Tolerances
from dovetail.solver.state import State
from dovetail.solver.step import StepReport, step
from dovetail.solver.undo import Copies, keep
from dovetail.timer import Timer
from dovetail.typing import Array, Indices
from dovetail.world.body_results import BodyResults
from dovetail.world.carry import carry_coordinates, carry_over, newcomers
from dovetail.world.contacts import ContactReadback, Contacts, no_contacts
from dovetail.world.counted import Counted
from dovetail.world.fingerprint import contact_constants, fingerprint
from dovetail.world.first_compile import features, first_compile
from dovetail.world.joints import Joints
from dovetail.world.live import Live
from dovetail.world.lower.articulation import ExternalArticulations
from dovetail.world.lower.bodies import lower_bodies
from dovetail.world.lower.contacts import lower_contact, plane_names, scaled
from dovetail.world.lower.joints import lower_joints
from dovetail.world.marcher import Marcher
from dovetail.world.notices import out_of_memory, tell_of_close_pairs
from dovetail.world.parts import taken_in_parts
from dovetail.world.refresh import BodyRefresh
from dovetail.world.sanity.surfaces import Surfaces
from dovetail.world.state_check import contact_flaw, layout_flaw, number_flaw
from dovetail.world.step_length import step_length
from dovetail.world.strain import StrainWatch

__all__ = ["Simulation"]


class Simulation(Counted):
    """Solver arrays of a scene with the routines that refresh them from attributes and write results back."""

    joints: Joints
    model: Model
    state: State

    def __init__(self, scene: Scene, past: Simulation | None = None) -> None:
        """`past` ran the same scene before geometries were added or removed: what stayed goes on as it was."""
        constitutions = _check_constitutions(scene)
        config = scene.config
        self._threads = config["threads/count"] or None, config["threads/grain"]
        if self._threads[0] is None:
            threads_by_default()  # which refuses what the environment may say
        if kernel.jit_enabled:
            first_compile(features(config, constitutions))
        self.scene = scene
        self._dt = config.find("dt")
        self.table, bodies, Q, V = lower_bodies(scene)
        lowered = lower_joints(scene, self.table, bodies, Q, None if past is None else past.joints.lowered)
        self.forces, self.pushes = BodyForces(), BodyForces()
        self.articulations = ExternalArticulations(scene, lowered, self.table)
        self.couplings = lowered.couplings
        soft = [] if lowered.couplings is None or lowered.couplings.soft is None else [lowered.couplings.soft]
        others = [*lowered.terms, *self.articulations.contributions, *soft]
        joined = lowered.pairs
        self.contact = lower_contact(scene, self.table, bodies, joined, lowered.welded)
        self.surfaces: Surfaces | None = None
        self._readback: ContactReadback | None = None
        self.friction_dissipated = np.zeros(1)
        Counted.__init__(self)
        self.clock = np.zeros(2)  # and what rounding has lost of it: 250 steps of 0.01 s are 2.5 s
        if self.contact is not None:
            planes = plane_names(scene)
            apart = bool(config["contact/set_apart"])
            self.surfaces = Surfaces(self.table, self.contact.scene, planes, joined, bodies.is_fixed, apart)
            new = np.ones(len(Q), bool) if past is None else newcomers(past.table, self.table)
            Q = self.surfaces.put_apart(Q, new)
            self._readback = ContactReadback(self.table, bodies, self.contact, planes)
        potential = Potential(bodies, lowered.points, lowered.slides, lowered.laws, lowered.exact, others, self.contact)
        self.model = Model(potential, [self.forces, self.pushes, *lowered.loads], config["newton/direction"])
        self.state = State.without_past(Q, V, potential.row_count)
        self.joints = Joints(lowered, self.model.stops, bodies.mass, multi_turn=config["joint/angle"] == "multi_turn")
        if past is not None:
            carry_coordinates(past.joints, self.joints)
        self.joints.start(self.state)
        coupled = [] if self.couplings is None else self.couplings.changing()
        own: list[Any] = [self.friction_dissipated, self.clock, self.counters]
        self._copies = Copies([*self.joints.changing(), *self.articulations.changing(), *coupled, *own])
        self._at_floor, self._strain = False, StrainWatch(self.model.bodies)
        self.live = Live(self)
        self._body_results = BodyResults(self.table)
        self._velocity = -1, self.state.V
        self._body_refresh = BodyRefresh(self.table, self.model, self.forces)
        self.scheme = Scheme(
            INTEGRATORS[config["integrator/type"]],
            bdf1_start=config["integrator/bdf2_start"] == "bdf1",
            bdf1_contact=config["integrator/bdf2_contact"] == "bdf1",
        )
        self.strict = bool(config["extras/strict_mode/enable"])
        early = config["newton/semi_implicit/K_min"] if config["newton/semi_implicit/enable"] else -1
        self.tolerances = Tolerances(
            velocity_tol=scaled(config, "newton/velocity_tol", self.table),
            transrate_tol=config["newton/transrate_tol"],
            ccd_tol=config["newton/ccd_tol"],
            max_iter=config["newton/max_iter"],
            min_iter=config["newton/min_iter"],
            line_search_max_iter=config["line_search/max_iter"],
            early_exit=early,
            early_exit_tol=config["newton/semi_implicit/beta_tol"],
            substeps=scene.animator.substep(),
        )
        if past is not None:
            self.friction_dissipated[:], self.clock[:] = past.friction_dissipated, past.clock
            self.last, self.version = past.last, past.version + 1
            carry_over(past, self)

    @property
    def dt(self) -> float:
        """The step length [s] as it is in the config now."""
        assert self._dt is not None
        h = float(self._dt.values[0])
        return h if 1e-9 <= h <= 1e9 else step_length(self.scene.config)

    @property
    def time(self) -> float:
        """Simulated time [s]: the sum of all steps."""
        time, lost = self.clock.tolist()
        return float(time + lost)

    def advance(self, frame: int) -> StepReport:
        """Compute frame `frame`; if anything is raised, an interrupt too, all is as it was in the frame before.

        But for what animations have written, to attributes or to the state: that stays.
        """
        before, h = self.last, self.dt
        with Timer("Animate"):
            self.scene.animator.run(frame, h)
        undo = keep(self.model, self.state)
        self._copies.keep()
        before_parts: dict[str, Array] | None = None
        try:
            with using(*self._threads):
                try:
                    report = self._step(h)
                except NewtonStalled:
                    raise
                except SolverError as error:
                    self._go_back(undo)
                    before_parts = {name: array.copy() for name, array in self.arrays().items()}
                    report = taken_in_parts(self._step, partial(self._begin_parts, before_parts), h, error)
                    tell = Logger.info if isinstance(error, StepTooLong) else Logger.warn
                    tell(f"World.advance: frame {frame}: taken in {report.parts} parts; as one, {error}.")
            self.version += 1
            self.last = frame, report
        except BaseException as error:
            while self._last is before:
                with contextlib.suppress(KeyboardInterrupt):  # pressed once more, which changes nothing
                    self._go_back(undo)
                    if before_parts is not None:
                        self.restore(before_parts)
                    break
            if isinstance(error, SolverError):
                raise type(error)(f"World.advance: frame {frame}: {error}.") from None
            if isinstance(error, MemoryError):
                raise SolverError(f"World.advance: frame {frame}: {out_of_memory(self)}.") from None
            raise
        if not report.converged or (report.at_floor and not self._at_floor):
            self._at_floor |= report.at_floor  # which is told once
            Logger.warn(f"World.advance: frame {frame}: {report.complaint(self.tolerances)}.")
        tell_of_close_pairs(self, frame)
        self._strain.look(frame, self.state.Q)
        return report

    def _go_back(self, undo: Callable[[], None]) -> None:
        """Take back a step that was broken off; `undo` is what undo.py has kept at its start."""
        self._copies.undo()
        self.forget()
        undo()

    def _begin_parts(self, before: dict[str, Array]) -> None:
        """Go back to the state before a step that is to be taken in parts, which do not rely on what pushed last."""
        self.restore(before)
        if self.state.dt_before:
            self.state.begin_afresh(self.model.bodies.mass, self.state.lagging)

    def refresh(self, h: float) -> None:
        """Read the attributes as they are now, for a step of length h."""
        self._body_refresh.run()
        self.joints.refresh(h)
        self.articulations.refresh(self.state)
        if self.couplings is not None:
            self.couplings.refresh()

    def _step(self, h: float, is_patient: bool = False) -> StepReport:
        """Read the attributes, take a step of length h, and all that follows from it."""
        tolerances = self.tolerances if not is_patient else replace(self.tolerances, patience=self.tolerances.max_iter)
        self.refresh(h)
        # what overflows in a step ends in NotFinite
        with Timer("Newton Iteration"), np.errstate(over="ignore", invalid="ignore"):
            report = step(self.model, self.state, h, self.scheme, tolerances, self.strict)
        self.friction_dissipated += report.friction_loss
        time, lost = self.clock.tolist()
        self.clock[:] = time + h, lost + (h - ((time + h) - time))
        self.joints.commit(self.state)
        self.articulations.commit(self.state)
        if self.couplings is not None:
            self.couplings.commit(h, self.state.carried)
        return report

    @cached_property
    def marcher(self) -> Marcher:
        """What takes steps together with other simulations."""
        return Marcher(self, self._body_refresh, self._strain)

    def forget(self) -> None:
        """Read all attributes anew before the next step."""
        self._body_refresh.forget()
        self.joints.forget()

    def retrieve(self) -> None:
        """Write the state into the attributes of the scene."""
        self._body_results.retrieve(self.state)
        self.joints.retrieve(self.state)
        self.articulations.retrieve()
        if self.couplings is not None:
            self.couplings.retrieve()
        if self._readback is not None:
            assert self.contact is not None
            with using(*self._threads):
                cut_finely(self.contact.watch.is_large)
                self._readback.retrieve(self.state)

    @property
    def _last_dt(self) -> float:
        """Length of the last step; before the first, of the one to come."""
        return self.state.dt_before or self.dt

    def publish(self) -> None:
        """Write all that `retrieve` does, and velocities, from which a simulation may begin."""
        self.retrieve()
        rates = rows_to_transforms(self.velocity, 0.0)
        for entry in self.table.geometries:
            entry.geometry.instances["velocity"] = rates[entry.bodies]

    def contacts(self) -> Contacts:
        """Contacts of the present state."""
        if self._readback is None:
            return no_contacts(self.table.name)
        with using(*self._threads):
            return self._readback.contacts(self.state, self._last_dt)

    @property
    def readback(self) -> ContactReadback | None:
        """What reads contacts; None with contact/enable = 0."""
        return self._readback

    def survey(self) -> Survey:
        """Contacts of the present state as the solver sees them."""
        assert self.contact is not None
        with using(*self._threads):
            return self.contact.survey(self.state.Q, self.state.Q_before, self._last_dt)

    @property
    def velocity(self) -> Array:
        """Rates of Q (n, 4, 3), as users see them; not to be written to."""
        if self._velocity[0] != self.version:
            self._velocity = self.version, self.state.velocity(self.model.bodies.mass)
        return self._velocity[1]

    def energies(self) -> dict[str, float]:
        """Energies of the present state [J], and what friction has dissipated so far."""
        h = self._last_dt
        if self.state.dt_before:
            found = energies(self.model, self.state, h)
        else:
            with self.joints.refreshed(h):
                found = energies(self.model, self.state, h)
        return {**found, "friction_dissipated": float(self.friction_dissipated[0])}

    def write_state(
        self, who: str, bodies: Indices, Q: Array | None, V: Array | None, values: Array | None = None
    ) -> None:
        """Replace the state of some bodies; their history begins afresh. Refused where surfaces would intersect.

        `values` are all coordinates of joints there, which tell how often angles have gone round.
        """
        if Q is not None and self.surfaces is not None:
            wanted = self.state.Q.copy()
            wanted[bodies] = Q
            Q = self.surfaces.admitted(who, wanted, bodies)[bodies]
        if Q is not None:
            self.state.Q[bodies] = Q
        self.state.V[bodies] = self.velocity[bodies] if V is None else V
        self.state.forget(bodies)
        self.model.invalidate(bodies if Q is not None else bodies[:0])
        self.joints.resync(self.state, values)
        self.version += 1

    def arrays(self) -> dict[str, Array]:
        """Everything the next step depends on, by name."""
        state = {f"state/{name}": array for name, array in self.state.arrays().items()}
        own = {"friction_dissipated": self.friction_dissipated, "time": self.clock}
        own |= {} if self.couplings is None else self.couplings.arrays()
        return {**state, **self.joints.arrays(), **self.articulations.arrays(), **self.model.arrays(), **own}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`."""
        prefix = "state/"
        self.state.restore({n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)})
        self.joints.restore(arrays)
        self.articulations.restore(arrays)
        if self.couplings is not None:
            self.couplings.restore(arrays)
        self.model.restore(arrays)
        self.friction_dissipated[:] = arrays["friction_dissipated"]
        self.clock[:] = arrays["time"]
        self.version += 1

    def flaw(self, scene: str, arrays: dict[str, Array]) -> str:
        """What is wrong with arrays that say they are of a scene with this fingerprint; nothing if they can be taken.

        A kernel trusts indices: whatever passes here cannot make one read or write beside its arrays.
        """
        if scene != self.fingerprint:
            return "is of another scene: bodies, masses, joints, surfaces, half-planes or materials differ"
        return (
            layout_flaw(arrays, self.arrays())
            or number_flaw(arrays)
            or ("" if self.contact is None else contact_flaw(arrays, self.contact.scene))
        )

    @cached_property
    def fingerprint(self) -> str:
        """Equal for scenes that a dump can be exchanged between; nothing in it changes while the world runs."""
        bodies = self.model.bodies
        constant = {
            name: np.asarray(getattr(bodies, name))
            for name in ("mass", "stiffness", "model", "is_fixed", "is_dynamic", "external_kinetic")
        }
        contact = {} if self.contact is None else contact_constants(self.contact.scene)
        return fingerprint({**constant, **self.joints.constants(), **self.articulations.constants(), **contact})


def _check_constitutions(scene: Scene) -> set[str]:
    """Everything applied to a geometry must be known here and make sense now, after the user's edits. What is in it."""
    known: dict[int, IConstitution] = {}
    names = set()
    for slot, _ in scene.geometries:
        geometry: Any = slot.geometry
        if geometry.type() == "ImplicitGeometry":
            continue
        if isinstance(geometry, SimplicialComplex) and (flaw := geometry.flaw()):
            raise ConstitutionError(f"World.init: geometry {slot.id()} of '{slot.object_name}' {flaw}.")
        uids = [uid_of(geometry)]
        for name in (builtin.constraint_uids, builtin.extra_constitution_uids):
            found = geometry.meta.find(name)
            uids += [int(uid) for uid in found.values[0]] if found is not None else []
        for uid in uids:
            if uid == 0:
                continue
            try:
                if uid not in known:
                    known[uid] = class_of(uid)()
            except ConstitutionError as error:
                raise ConstitutionError(
                    f"World.init: geometry {slot.id()} of '{slot.object_name}' has constitution {uid}, which is not "
                    f"an affine body or joint: deformable bodies are not simulated here. ({error})"
                ) from None
            constitution = known[uid]
            constitution.check(geometry, slot.object_name)
            names.add(type(constitution).__name__)
            if isinstance(constitution, Joint):
                exact = np.isinf(constitution.elements(geometry).slot("strength_ratio").values)
                names |= {"exact"} if exact.all() else {"penalty"} if not exact.any() else {"exact", "penalty"}
    return names
