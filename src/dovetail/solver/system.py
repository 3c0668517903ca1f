"""What is minimised in a step: bodies, the energies between them, and the loads on them.

`System` knows nothing of scenes. The world fills it once, refreshes parameters of its contributions and loads after the
animator, and hands it to `step`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dovetail.errors import SolverError
from dovetail.solver.articulated.trees import Trees
from dovetail.solver.assembly.bodies import BodyTerms
from dovetail.solver.blocks import Blocks
from dovetail.solver.buffers import Buffers
from dovetail.solver.contact.contact import Contact
from dovetail.solver.contribution import Contribution
from dovetail.solver.damping import adapt, add_inertia
from dovetail.solver.energy.soft_transform import SoftTransforms
from dovetail.solver.islands import Islands
from dovetail.solver.joint.exact import ExactJoints
from dovetail.solver.joint.stops import Stops
from dovetail.solver.load.load import Load
from dovetail.solver.load.loads import Loads
from dovetail.solver.nets import Couplings
from dovetail.typing import Array, Flags, Indices

__all__ = ["Bodies", "System"]

# Contacts are looked for anew when less than this share of a Newton step fits into what they were looked for.
_LOW = 0.25

# Conjugate gradients that no Newton iteration follows go on to this relative residual.
_ACCURATE = 1e-10

# After so many steps the block structure is laid out anew, to drop pairs that no longer touch.
_STRUCTURE_LIFE = 20


@dataclass(frozen=True)
class Bodies:
    """Constant properties of n affine bodies.

    mass (n, 4, 4)             M̂ = ∫ρ (1,x̄)(1,x̄)ᵀ dV
    stiffness (n,)             κV [J]
    model (n,)                 1 OrthoPotential, 2 ARAP
    is_fixed, is_dynamic, external_kinetic (n,)   flags 0 or 1
    gravity (n, 3)             [m/s²]
    centre, half (n, 3)        box around the body's vertices in its own frame [m]
    name                       body index → how messages call it
    """

    mass: Array
    stiffness: Array
    model: Indices
    is_fixed: Indices
    is_dynamic: Indices
    external_kinetic: Indices
    gravity: Array
    centre: Array
    half: Array
    name: Callable[[int], str] = field(default=lambda body: f"body {body}")

    @property
    def count(self) -> int:
        return len(self.mass)


class System:
    """Bodies with their contributions and loads, and the block system they assemble into."""

    def __init__(
        self,
        bodies: Bodies,
        contributions: Sequence[Contribution] = (),
        loads: Sequence[Load] = (),
        contact: Contact | None = None,
        exact_joints: ExactJoints | None = None,
    ) -> None:
        self.bodies = bodies
        self.soft_transforms = SoftTransforms(bodies.mass)
        self.contact = contact
        self.exact_joints = exact_joints
        others = [other for other in (exact_joints, contact) if other is not None]
        self.contributions: list[Contribution] = [*contributions, self.soft_transforms, *others]
        self.stops = [contribution for contribution in self.contributions if isinstance(contribution, Stops)]
        self.touches = contact is not None or len(self.stops) > 0
        self.limited = np.zeros(bodies.count)  # 1 for bodies on joints with hard limits
        for stops in self.stops:
            self.limited[stops.pairs()] = 1.0
        self._joints = Couplings(self.contributions, contact is None)
        # multipliers of exact joints ask for a factor
        self.blocks = Blocks(bodies.is_fixed, None, contact is not None and exact_joints is None)
        self.position = self.blocks.position
        self.islands = Islands(self.position, self._joints.pairs, self.blocks.active)
        self._steps_on_structure = 0
        self._touching: Indices = np.zeros((0, 2), np.int64)
        self._free = np.flatnonzero(self.position >= 0)
        self.buffers, self.start_buffers = Buffers(bodies.count, 4, 3), Buffers(bodies.count, 4, 3)
        self.without_inertia = np.flatnonzero(bodies.external_kinetic != 0)
        self.held = np.zeros(bodies.count)  # 1 for bodies on exact joints
        if exact_joints is not None:
            self.held[exact_joints.pairs()] = 1.0
        self.all_held = bool(self.held[self.position >= 0].all())
        # by island, as long as joints alone make these: exact joints, and no hard limit to ask for straight steps
        self.grips: Flags = self.islands.total(self.held) > 0.0
        self.turns: Flags = self.islands.total(self.limited) == 0.0
        self._owner = np.where(self.position >= 0, np.arange(bodies.count), -1)
        self.mass_inverse: Array = np.linalg.inv(bodies.mass).astype(float)
        self.loads = Loads(loads, self.position, bodies.gravity, self.mass_inverse)
        second = bodies.mass[:, 1:, 1:] - (bodies.mass[:, 1:, :1] * bodies.mass[:, :1, 1:] / bodies.mass[:, :1, :1])
        trace = np.trace(second, axis1=1, axis2=2)
        self.inertia = trace[:, None, None] * np.eye(3) - second
        self._body_terms = BodyTerms(bodies.model, bodies.mass, self.inertia)
        self._kinetic = np.where(bodies.external_kinetic != 0, 0.0, 1.0)
        self._prepared: tuple[float, Array | float] = 0.0, 0.0
        self.c, self.w = np.zeros(bodies.count), np.zeros(bodies.count)
        self._sigma, self._is_damped = np.zeros(bodies.count), False
        self._expected = np.zeros(0), np.zeros(0)  # the guess of the present step, and the way there by position
        self.largest_moment: Array = np.linalg.eigvalsh(second)[:, -1].astype(float)
        without_start = (bodies.external_kinetic != 0) | (bodies.is_dynamic == 0)
        without_start[np.concatenate([c.rough() for c in self.contributions])] = True
        self._always_rough = self.islands.mechanisms_of(without_start)
        self.trees: Trees | None = None
        if contact is None:
            trees = Trees(
                self.contributions, exact_joints, self.islands, self.position, bodies.model, bodies.mass, self.inertia,
                bodies.stiffness, self._kinetic,
            )  # fmt: skip
            self.trees = trees if trees.count else None
        if self.trees is None or not self.trees.complete:
            self._lay_out(self._touching)

    def prepare(self, h: float, weight: Array | float) -> None:
        """Set the weights of a step of length h: c = weight (n,) of the kinetic terms, w = h²κV of the shape terms."""
        if h != self._prepared[0] or weight is not self._prepared[1]:
            self._prepared = h, weight
            self.c, self.w = weight * self._kinetic, h * h * self.bodies.stiffness
            if self.trees is not None:
                self.trees.weigh(self.c, self.w, self.largest_moment)
        if self.exact_joints is not None and self.exact_joints.tune(h) and self.blocks.laid_out:
            self._rebuild_base()
        if self.trees is not None:
            self.trees.leave(self.soft_transforms.bodies)
            if not self.trees.complete:
                self.need_blocks()

    def _rebuild_base(self) -> None:
        self.blocks.clear_base()
        for contribution in self.contributions:
            contribution.add_constant(self.blocks)

    def energies(self, Q: Array, Q_tilde: Array) -> Array:
        """Incremental potential at Q by body (n,), what belongs to a pair with one of the two; infinite if not allowed.

        Contacts of bodies that do not run are left out.
        """
        E = np.zeros(self.bodies.count)
        self._body_terms.add_energy(self.c, self.w, Q, Q_tilde, self._owner, E)
        for contribution in self.contributions:
            contribution.add_energy(Q, self._owner, E)
        return E

    # ---- exact joints ----------------------------------------------------------------------------------------

    def merits(self, Q: Array, E: Array) -> Array:
        """What a line search compares, by body: the energies E at Q, and how open the exact joints are."""
        if self.exact_joints is None or self.exact_joints.stay_closed:
            return E
        merit = E.copy()
        self.exact_joints.add_merit(Q, self._owner, merit)
        return merit

    def loosen(self) -> None:
        """Until the end of the step exact joints may be open, and merits count that."""
        if self.exact_joints is not None:
            self.exact_joints.loosen()
            if self.trees is not None:
                self.trees.tell()

    def direction(self, Q: Array) -> Array:
        """y with Q − y the Newton iterate, exact joints closed; after `assemble` at Q and the factorisation."""
        return (
            self.blocks.solve(self.blocks.g)
            if self.exact_joints is None
            else self.exact_joints.direction(Q, self.blocks)
        )

    def solve(self, b: Array) -> Array:
        """b (free, 12) ← x of H x + Jᵀμ = b, J x = 0, with H as last assembled and factored, J of the exact joints."""
        self.blocks.solve(b, _ACCURATE)
        if self.exact_joints is not None:
            self.exact_joints.restrict(b, self.blocks)
        return b

    def commit(self, h: float, converged: bool) -> None:
        """A step of length h was taken."""
        if self.trees is not None:
            self.trees.tell()
        if self.exact_joints is not None:
            self.exact_joints.commit(h, converged)

    def disturb(self) -> None:
        """Bodies were moved from outside."""
        self.loosen()
        if self.contact is not None:
            self.contact.forget()

    # ---- second-order time ------------------------------------------------------------------------------------

    def rough(self, Q: Array, h: float) -> Flags:
        """Bodies (n,) that a step of length h from or to Q must take as bdf1, with all that joints connect to them.

        Those in contact or at a hard limit; without inertia of their own; quasi-static; moved by an articulation.
        """
        if not self.touches:
            return self._always_rough
        touched = np.zeros(self.bodies.count + 1, np.bool_)
        if self.contact is not None:
            touched[self.contact.survey(Q, Q, h).bodies[:, :2]] = True
        for stops in self.stops:
            touched[stops.touching(Q)] = True
        return self.islands.mechanisms_of(touched[:-1]) | self._always_rough

    # ---- contact ---------------------------------------------------------------------------------------------

    def begin_contacts(self, Q_start: Array, Q_guess: Array, h: float) -> None:
        """Contacts and friction at the start of a step that is expected to end near Q_guess."""
        if self.contact is None:
            return
        contact, islands = self.contact, self.islands
        self._sigma.fill(0.0)
        self._is_damped = False
        contact.mind(islands.runs)
        contact.begin(Q_start, h)
        self._expected = Q_guess, self._by_position(Q_start - Q_guess)
        contact.look(Q_start, self._expected[1], self.position, islands, 1.0, np.ones(self.bodies.count, np.int64))
        if not contact.lag(Q_start):
            raise SolverError(
                "surfaces intersect or touch at the start of the step; bodies were placed into each other from outside"
            )
        self._steps_on_structure += 1

    def way(self, Q_start: Array, Q_guess: Array, Q_tilde: Array, commits: Indices) -> Array:
        """Per island, how much of the straight way from one state to the other is free; divides into islands for it.

        Bodies that commit (n,) take all of the way; the others may take any share that is free.
        """
        if self.contact is None:
            return self._within_stops(Q_start, self._by_position(Q_start - Q_guess), np.ones(self.islands.count))
        expected, y = self._expected
        if Q_guess is not expected or not commits.all():  # else it was looked at already
            y = self._by_position(Q_start - Q_guess)
            if self.contact.look(Q_start, y, self.position, self.islands, 1.0, commits):
                self.energies(Q_start, Q_tilde)  # distances of the new candidates
        self._divide(y)
        return self._within_stops(Q_start, y, self.contact.free_path(y, self.position, self.islands))

    def _by_position(self, rows: Array) -> Array:
        """(n, 4, 3) over bodies → (free, 12) by position."""
        y = np.empty_like(self.blocks.g)
        y[self.position[self._free]] = rows[self._free].reshape(-1, 12)
        return y

    def _divide(self, y: Array) -> bool:
        """Find the islands of the step −y; True if bodies run that did not."""
        assert self.contact is not None
        self.contact.couple(self.islands.separate(), self.position, self.islands.active, y)
        return self.islands.number()

    def prepare_step(self, Q: Array, Q_tilde: Array, y: Array, E: Array) -> tuple[Array, bool]:
        """Islands of the step −y from Q, and the energies at Q by body.

        Candidates are looked for anew if the step might leave the region they were looked for in. The flag says
        that an energy was computed anew: contacts or bodies have come in that the direction did not know of.
        """
        if self.contact is None:
            return E, False
        fresh = self.contact.look(Q, y, self.position, self.islands, _LOW)
        if fresh:
            E = self.energies(Q, Q_tilde)
        solved = self.islands.active.copy()
        if self._divide(y):
            y[solved == 0] = 0.0  # bodies that run again have no direction yet
            E = self.energies(Q, Q_tilde)
            fresh = True
        return E, fresh

    def free_path(self, Q: Array, y: Array) -> Array:
        """Per island, the share of the step −y from Q that is free of collisions and within hard limits."""
        for stops in self.stops:
            stops.follow(Q)
        if self.contact is None:
            return self._within_stops(Q, y, self.islands.ones())
        return self._within_stops(Q, y, self.contact.free_path(y, self.position, self.islands))

    # ---- hard limits -----------------------------------------------------------------------------------------

    def _within_stops(self, Q: Array, y: Array, alpha: Array) -> Array:
        for stops in self.stops:
            stops.bound(Q, y, self.blocks, self.islands, alpha)
        return alpha

    def restrain(self, Q_start: Array, Q_guess: Array) -> Array:
        """The first guess of a step, in islands with hard limits only as far on the way to it as these allow."""
        if not self.stops:
            return Q_guess
        for stops in self.stops:
            stops.begin()
        alpha = self._within_stops(Q_start, self._by_position(Q_start - Q_guess), self.islands.ones())
        share = np.append(alpha, 1.0)[self.islands.of][:, None, None]
        return np.where(share < 1.0, Q_start + share * (Q_guess - Q_start), Q_guess)

    def learn(self, alpha: Array, size: Array, unit: float) -> None:
        """What a step of the islands' size (m,) [unit, m] of which α is free tells about the next: damping, strides.

        size ← that of an undamped step, see damping.py.
        """
        if self.contact is not None:
            self._is_damped = adapt(self.islands.of, alpha, size, self._sigma)
            self.contact.stride = unit * np.append(size, 0.0)[self.islands.of]

    def moved(self, alpha: Array) -> None:
        """The islands have taken α of the last step looked at."""
        if self.contact is not None:
            self.contact.take(alpha, self.islands)

    def _restructure(self) -> None:
        """Lay the blocks out for the contacts there are."""
        assert self.contact is not None
        self._lay_out(self.contact.touching())
        self._steps_on_structure = 0

    def need_blocks(self) -> None:
        """Have blocks laid out; trees alone do without."""
        if not self.blocks.laid_out:
            self._lay_out(self._touching)

    def _lay_out(self, touching: Indices) -> None:
        self._touching = touching
        self.blocks.restructure(
            *self._joints.split(self.position, self.islands.mechanism, self.without_inertia, touching)
        )
        self.islands.reactivate()
        if self.trees is not None:
            self.trees.relocate()
        self._rebuild_base()

    def arrays(self) -> dict[str, Array]:
        """What the next step depends on besides the state: where contacts were looked for, the layout of the blocks."""
        targets = {"soft_transforms/past": self.soft_transforms.past}
        if self.contact is None:
            return targets
        layout = np.array([float(self._steps_on_structure)])
        return {
            **targets,
            **self.contact.arrays(),
            "contact/blocks": self._touching.astype(float),
            "contact/age": layout,
        }

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`."""
        self.soft_transforms.restore(arrays["soft_transforms/past"])
        if self.contact is not None:
            self.contact.restore(arrays)
            self._lay_out(arrays["contact/blocks"].astype(np.int64))
            self._steps_on_structure = int(arrays["contact/age"][0])

    def assemble(self, Q: Array, Q_tilde: Array, exact: bool, with_contact: bool = True) -> None:
        """Gradient and Hessian at Q into the blocks; contacts are those of the last energy, or left out."""
        blocks = self.blocks
        self.need_blocks()
        if (
            with_contact
            and self.contact is not None
            and (self._steps_on_structure >= _STRUCTURE_LIFE or not self.contact.fits(blocks))
        ):
            self._restructure()
        self._body_terms.assemble(self.c, self.w, exact, Q, Q_tilde, blocks)
        if len(blocks.U):
            np.copyto(blocks.U, blocks.base_U)
        for contribution in self.contributions:
            if with_contact or contribution is not self.contact:
                contribution.assemble(Q, exact, blocks)
        if self._is_damped:
            add_inertia(self.position, blocks.active, self.bodies.mass, self._sigma, blocks.D)
