"""Gradients of a loss by the names that users know: states, gravity, masses, stiffnesses, attributes of joints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.checked import checked
from dovetail.errors import GradientError
from dovetail.gradient.called import called, pair
from dovetail.gradient.coupling import coupling_gradients, weighed_couplings
from dovetail.gradient.design import design_gradient
from dovetail.gradient.frame import Frame
from dovetail.gradient.sums import Sums
from dovetail.typing import Array, ArrayLike, Indices

if TYPE_CHECKING:
    from dovetail.world.lower.lowered import JointGeometry, LawOnJoints
    from dovetail.world.simulation import Simulation

__all__ = ["Gradients"]

_COUPLED = ("ratio", "offset", "strength_ratio")


_NOISE = 1e-12  # of gradients by differences where a parameter has no effect


class Gradients:
    """dL by everything that a rollout of T steps depends on; made by `Tape.backward`.

    Q, V (n, 4, 3)           by the state at the start, rows as in docs/notation.md; NaN for fixed bodies
    Q_before, V_before       by the state one step before it: zero unless bdf2 looks back there
    gravity (3,)             by the gravity of all bodies [per m/s²]
    forces (T, n, 4, 3)      by generalised forces on bodies in each step [per N, N·m]
    log_density (n,)         by ln ρ: all moments of a body grow together, and with them what is weighed by its mass
    mass (n, 4, 4)           by the moments M̂ in the kinetic term alone
    log_kappa (n,)           by ln κ of the stiffness of shapes
    log_mu, log_contact_kappa (m, m)   by ln μ and ln κ of contact between elements i ≤ j, where κ is not adaptive
    log_rolling, log_restitution (m, m)     by ln c of levers of rolling friction, and ln e, between them
    aims (T, n, 4, 3)        by targets of soft transforms in each step
    residual (T,)            what Newton's method has left of each step, [m/s] or [1/s]

    `gradients[joint, attribute]`, with the name of a joint geometry or its handle, is (T, k) by an attribute of its k
    joints in each step, such as `"aim_angle"`, `"external_torque"`, `"damper/damping"`; the sum over the steps is the
    gradient by one that stays as it is. `gradients[joint, "strength_ratio"]` is (k,). `names` lists all of them.
    """

    def __init__(self, simulation: Simulation, frames: list[Frame], sums: Sums, start: tuple[Array, ...]) -> None:
        self._simulation, self._frames, self._sums = simulation, frames, sums
        self._lowered = simulation.joints.lowered
        bodies = simulation.model.bodies
        fixed = bodies.is_free == 0
        self.Q, self.V, self.Q_before, self.V_before = start
        self.Q[fixed] = self.V[fixed] = np.nan
        self.gravity: Array = sums.constant["gravity"].sum(axis=0)
        self.forces, self.aims = sums.steps["forces"], sums.steps["soft transform/aim"]
        self.mass, self.residual = sums.constant["mass"], sums.residual
        self.log_mu, self.log_contact_kappa = sums.log_mu, sums.log_contact_kappa
        self.log_rolling, self.log_restitution = sums.log_rolling, sums.log_restitution
        if simulation.contact is not None and simulation.contact.scene.has_vertex_materials:
            self.log_mu, self.log_contact_kappa = np.full((2, *sums.log_mu.shape), np.nan)  # not told apart
        self.log_kappa: Array = sums.constant["stiffness"] * bodies.stiffness

    @checked(GradientError)
    def design(self, build: Callable[[Array], Any], p: ArrayLike) -> Array:
        """dL/dp by numbers p that a scene is built from: anchors, axes, sizes, densities, gains, places of bodies.

        build(p) gives the world or Sim as it was at the start of the rollout. It is called twice for each number, and
        nothing is simulated. What controls have written in the rollout must not depend on p.
        """
        return design_gradient(build, p, self._simulation, self._frames, self._sums, (self.Q, self.V))

    # ---- masses ----------------------------------------------------------------------------------------------

    @property
    def log_density(self) -> Array:
        """By ln ρ of each body (n,); NaN where a hard limit is touched, whose strength is the inertia of its joint."""
        bodies, constant = self._simulation.model.bodies, self._sums.constant
        total: Array = (self.mass * bodies.mass).sum(axis=(1, 2)) + self._sums.log_mass + self._sums.log_pull
        m = bodies.mass[:, 0, 0]
        potential = self._simulation.model.potential
        for name, rows in (("points", potential.points), ("slides", potential.slides)):
            n = rows.exact
            share = constant[f"{name}/K"] * rows.K[:n] / (m[rows.left[:n]] + m[rows.right[:n]])
            for side in (rows.left[:n], rows.right[:n]):
                np.add.at(total, side, share * m[side])
        for entry, weighed, inertial in self._weighed():
            share = np.where(np.abs(inertial) > _NOISE, np.nan, weighed / entry.mass)
            for side in (entry.left, entry.right):
                np.add.at(total, side, share * m[side])
        return total

    def _weighed(self) -> Iterator[tuple[Any, Array, Array]]:
        """Joint geometries with p̄·p (k,) of parameters that are weighed by mass, and of those that are inertias."""
        for use in self._lowered.law_uses:
            weighed = inertial = np.zeros(use.entry.count)
            for column, part in enumerate(use.word.parameters):
                if part.times_mass or part.inertia:
                    both = (self._law_column(use, column) * self._law_values(use, column)).sum(axis=0)
                    # parameters before the first step, which a start of ctr looks back to
                    place = len(self._lowered.loads) + 2
                    past = np.stack(self._frames[0].given[place : place + 2][::-1])[:, self._places(use, column)]
                    both = both + (self._sums.law_steps[:2, self._places(use, column)] * past).sum(axis=0)
                    weighed = weighed + both * part.times_mass
                    inertial = inertial + both * part.inertia
            yield use.entry, weighed, inertial
        for term in self._lowered.term_uses:
            steps = self._sums.steps[f"terms {self._lowered.terms.index(term.terms)}"]
            columns = [part.times_mass for part in term.word.parameters]
            both = (steps.sum(axis=0) * term.terms.p)[term.rows][:, columns].sum(axis=1)
            yield term.entry, both, np.zeros(term.entry.count)
        if self._lowered.couplings is not None:
            for entry, both in weighed_couplings(self._lowered.couplings, self._sums):
                yield entry, both, np.zeros(entry.count)

    # ---- attributes of joints --------------------------------------------------------------------------------

    def __getitem__(self, of: tuple[Any, str]) -> Array:
        joint, attribute = pair("Gradients", of)
        name = called("Gradients", joint)
        if (couplings := self._lowered.couplings) is not None:
            for slot, numbers in couplings.slots:
                if slot.object_name == name and attribute in _COUPLED:
                    return coupling_gradients(couplings, numbers, attribute, self._sums)
        found = self._found(self._entry(name), attribute)
        if found is None:
            offered = ", ".join(f"'{attribute}'" for named, attribute in self.names if named == name) or "nothing"
            raise GradientError(f"Gradients: '{name}' has no gradient by '{attribute}'; it has {offered}.")
        return found

    @checked(GradientError)
    def initial(self, joint: Any, attribute: str) -> Array:
        """By an attribute of the joints (k,) of a geometry before the first step: from there ctr follows its motion."""
        entry = self._entry(called("Gradients.initial", joint))
        total = np.zeros(entry.count)
        for number, use in enumerate(self._lowered.law_uses):
            for column, part in enumerate(use.word.parameters if use.entry is entry else ()):
                if part.attribute == attribute:
                    acts = self._frames[0].switches[number] if part.reported or column == 0 else 1.0
                    before = self._sums.law_steps[:2, self._places(use, column)].sum(axis=0)
                    total += acts * before * (entry.mass if part.times_mass else 1.0)
        return total

    def _entry(self, name: str) -> JointGeometry:
        entries = [entry for entry in self._lowered.geometries if entry.slot.object_name == name]
        if len(entries) != 1:
            known = ", ".join(f"'{entry.slot.object_name}'" for entry in self._lowered.geometries) or "none"
            raise GradientError(f"Gradients: there are {len(entries)} joint geometries '{name}'; there are {known}.")
        return entries[0]

    @property
    def names(self) -> list[tuple[str, str]]:
        """All (joint, attribute) that there are gradients by."""
        found = []
        for entry in self._lowered.geometries:
            uses = [use for use in self._lowered.law_uses if use.entry is entry]
            listed = ["strength_ratio"] if not entry.exact.all() else []
            listed += [part.attribute for use in uses for part in use.word.parameters if part.attribute]
            listed += [use.name for use in self._lowered.load_uses if use.entry is entry]
            terms = [use for use in self._lowered.term_uses if use.entry is entry]
            listed += [part.attribute for use in terms for part in use.word.parameters if part.attribute]
            found += [(entry.slot.object_name, attribute) for attribute in dict.fromkeys(listed)]
        couplings = [] if self._lowered.couplings is None else self._lowered.couplings.slots
        return found + [(slot.object_name, attribute) for slot, _ in couplings for attribute in _COUPLED]

    def _found(self, entry: Any, attribute: str) -> Array | None:
        if (entry.slot.object_name, attribute) not in self.names:
            return None
        if attribute == "strength_ratio":
            return self._strength(entry)
        total = np.zeros((len(self._frames), entry.count))
        for number, use in enumerate(self._lowered.law_uses):
            if use.entry is entry:
                counts = np.array([frame.switches[number] for frame in self._frames]).reshape(total.shape)
                for column, part in enumerate(use.word.parameters):
                    if part.attribute == attribute:
                        acts = counts if part.reported or column == 0 else True
                        total += acts * self._law_column(use, column) * (entry.mass if part.times_mass else 1.0)
                total += self._held(use, attribute)
        for number, load in enumerate(self._lowered.load_uses):
            if load.entry is entry and load.name == attribute:
                at = next(n for n, each in enumerate(self._lowered.loads) if each.values is load.values)
                counts = np.array([f.switches[len(self._lowered.law_uses) + number] for f in self._frames])
                total += counts.reshape(total.shape) * self._sums.steps[f"load {at}"][:, load.rows]
        for term in self._lowered.term_uses:
            for column, part in enumerate(term.word.parameters if term.entry is entry else ()):
                if part.attribute == attribute:
                    steps = self._sums.steps[f"terms {self._lowered.terms.index(term.terms)}"]
                    total += steps[:, term.rows, column] * (entry.mass if part.times_mass else 1.0)
        return total

    def _places(self, use: LawOnJoints, column: int) -> Any:
        laws = self._lowered.laws
        assert laws is not None
        return laws.at[use.laws.rows][use.rows] + column

    def _law_column(self, use: LawOnJoints, column: int) -> Array:
        """p̄ (T, k) of one parameter of a law."""
        return self._sums.steps["laws"][:, self._places(use, column)]

    def _law_values(self, use: LawOnJoints, column: int) -> Array:
        """The parameter itself (T, k)."""
        p = len(self._lowered.loads)  # place of the laws among the parameters
        return np.array([frame.given[p][self._places(use, column)] for frame in self._frames])

    def _held(self, use: LawOnJoints, attribute: str) -> Array:
        """What exact joints that hold a coordinate add (T, k): C = s₀ x − s x̃, s₀ as it was at init."""
        T, total = len(self._frames), np.zeros((len(self._frames), use.entry.count))
        rows = use.held_rows
        if not rows.stop or not use.entry.exact.any():
            return total
        chosen = np.flatnonzero(use.entry.exact)
        names = [part.attribute for part in use.word.parameters]
        target, scale = (self._law_values(use, column)[:, chosen] for column in (1, 2))
        if attribute in names[1:3]:
            self._refuse_jumps(use.entry, chosen, attribute)
        if names[1] == attribute:
            total[:, chosen] += scale * self._sums.steps["combined/target"][:, rows]
        if names[2] == attribute:
            total[:, chosen] += target * self._sums.steps["combined/target"][:, rows]
        return total.reshape(T, -1)

    def _refuse_jumps(self, entry: JointGeometry, chosen: Indices, attribute: str) -> None:
        """Steps of ctr with a target that stays have no gradient by it: with one that moves they are taken as bdf1."""
        left, right = entry.left[chosen], entry.right[chosen]
        for k, frame in enumerate(self._frames):
            methods = frame.methods
            if methods.is_consistent and not (methods.needs_bdf1[left] | methods.needs_bdf1[right]).all():
                raise GradientError(
                    f"Gradients: '{entry.slot.object_name}' has no gradient by '{attribute}' in step {k}: it is an "
                    "exact joint that stays as it is there, and under ctr any change of it has the step taken as bdf1, "
                    "so that the motion jumps; record with rollout(…, smooth=True)."
                )

    def _strength(self, entry: Any) -> Array:
        """By strength_ratio (k,): K of rows is γ(m_i + m_j), and so are gains of laws that joints hold by."""
        potential, total = self._simulation.model.potential, np.zeros(entry.count)
        for name, rows in (("points", potential.points), ("slides", potential.slides)):
            mine = np.flatnonzero(
                (rows.joint[: rows.exact] >= entry.offset) & (rows.joint[: rows.exact] < entry.joints.stop)
            )
            joint = rows.joint[mine] - entry.offset
            np.add.at(total, joint, self._sums.constant[f"{name}/K"][mine] * entry.mass[joint])
        for use in self._lowered.law_uses:
            for column, part in enumerate(use.word.parameters if use.entry is entry else ()):
                if part.attribute == "strength_ratio":
                    total += self._sums.law_steps[:, self._places(use, column)].sum(axis=0) * entry.mass
        for term in self._lowered.term_uses:
            for column, part in enumerate(term.word.parameters if term.entry is entry else ()):
                if part.attribute == "strength_ratio":
                    steps = self._sums.steps[f"terms {self._lowered.terms.index(term.terms)}"]
                    total += steps[:, term.rows, column].sum(axis=0) * entry.mass
        return np.where(entry.exact, np.nan, total)
