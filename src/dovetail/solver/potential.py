"""The incremental potential: what a step minimises, at a state.

    E(Q) = c/2 ‖Q − Q̃‖²_M + h² shapes + joints + laws + h² (barrier + friction) + what users add

`Potential.at(Q)` is an `Evaluation`: everything that belongs to that one state. Evaluating elsewhere in between changes
nothing about it. Its derivatives are assembled into the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.kernel.buffers import aligned
from dovetail.kernel.program import Program
from dovetail.kernel.threads import Span, chunks, map_phases
from dovetail.solver import phases
from dovetail.solver.assembly.bodies import Weights
from dovetail.solver.blocks import Blocks
from dovetail.solver.bodies import ARAP, Bodies
from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.contact.contact import Contact
from dovetail.solver.contribution import Contribution
from dovetail.solver.energy.soft_transform import SoftTransforms
from dovetail.solver.islands import Islands
from dovetail.solver.joint.exact import ExactJoints
from dovetail.solver.joint.laws import Laws
from dovetail.solver.joint.rows import Rows
from dovetail.solver.phases import Standard, advance, advance_bodies, direct
from dovetail.typing import Array, Indices

__all__ = ["Evaluation", "Potential"]

_NO_LAWS = np.zeros(0, np.int64)
_WHOLE = phases.BODIES | phases.JOINTS | phases.FACTOR
_COST = 150.0  # [ns] of the derivatives of a body
_COST_TO_WEIGH = 12.0  # [ns] of a body that is moved, and of its energy


class Evaluation:
    """What belongs to one state Q: energies E (n,) by body, what belongs to a pair with one of the two; contacts."""

    __slots__ = ("E", "Q", "contacts")

    def __init__(self, bodies: int, contacts: ActiveContacts | None) -> None:
        self.Q: Array = np.zeros((0, 4, 3))
        self.E, self.contacts = np.zeros(bodies), contacts


class Potential:
    """All that has an energy.

    weights          bodies and the weights of the step at hand
    points, slides   rows of joints (rows.py)
    laws             on their coordinates, None if there are none
    exact            exact joints, None if there are none
    soft_transforms, others   further contributions
    contact          None if it is off
    Q_tilde          where the kinetic term pulls to in the step at hand (n, 4, 3), to be filled
    islands          of bodies, by joints at first
    is_standard      whether there is nothing but bodies, rows and laws: then kernels know everything
    constraints      all exact rows, None if there are none
    """

    def __init__(
        self,
        bodies: Bodies,
        points: Rows,
        slides: Rows,
        laws: Laws | None = None,
        exact: ExactJoints | None = None,
        others: Sequence[Contribution] = (),
        contact: Contact | None = None,
    ) -> None:
        self.bodies, self.points, self.slides, self.laws, self.exact = bodies, points, slides, laws, exact
        self.contact, n = contact, bodies.count
        self.soft_transforms = SoftTransforms(bodies.mass)
        self.others: list[Contribution] = [*others, self.soft_transforms]
        self.weights = Weights(bodies=bodies, c=np.zeros(n), w=np.zeros(n))
        self.owner = np.where(bodies.is_free != 0, np.arange(n), -1)
        on_exact_joint = np.zeros(n, np.int64)
        if exact is not None:
            on_exact_joint[exact.pairs] = 1
        self.islands = Islands(bodies.is_free, self.pairs, on_exact_joint)
        if exact is not None:
            exact.part(self.islands.mechanism)
        self.Q_tilde = aligned(n, 4, 3)
        self.Q_tilde.fill(0.0)
        self._standard = Standard(
            weights=self.weights, points=points, Q_tilde=self.Q_tilde, owner=self.owner, merit=np.zeros(n),
            last=np.zeros((n, 12)),
        )  # fmt: skip
        # what kernels take: None for what does not occur
        arap = 1 if (bodies.model == ARAP).any() else None
        self._kinds: tuple[Any, Any, Any] = (slides if slides.count else None, laws, arap)
        self.constraints = None if exact is None else exact.constraints
        self._combined = None if exact is None or not exact.combined.count else exact.combined
        self.numbers = np.zeros(phases.NUMBERS)
        self.no_step = np.zeros((0, 12))
        self._pool: list[Evaluation] = []
        self._prepared: tuple[float, Any] = 0.0, None

    @property
    def pairs(self) -> Indices:
        """Body pairs (k, 2) that joints and contributions couple; the points of joints come first."""
        parts = [self.points.pairs, self.slides.pairs, *(other.pairs() for other in self.others)]
        parts += [] if self.laws is None else [self.laws.pairs]
        parts += [] if self.exact is None else [self.exact.combined.entries.pairs]
        return np.concatenate(parts)

    @property
    def row_count(self) -> int:
        """Rows of joints: points, slides, and those on coordinates."""
        return self.points.count + self.slides.count + (0 if self.exact is None else self.exact.combined.count)

    @property
    def is_standard(self) -> bool:
        return self.contact is None and self._has_no_others

    @property
    def _has_no_others(self) -> bool:
        return len(self.others) == 1 and self.soft_transforms.count == 0

    def is_bare(self, at: Evaluation) -> bool:
        """Whether nothing but bodies, rows and laws acts at a state that was evaluated: nothing touches anything."""
        contact, active = self.contact, at.contacts
        touches = contact is not None and active is not None and (active.count or contact.friction.count)
        return not touches and self._has_no_others

    def prepare(self, h: float, weight: Array) -> bool:
        """Set the weights of a step of length h, weight (n,) that of the kinetic terms; True if they have changed."""
        if h == self._prepared[0] and weight is self._prepared[1]:
            return False
        self._prepared = h, weight
        np.multiply(weight, self.bodies.kinetic, out=self.weights.c)
        np.multiply(h * h, self.bodies.stiffness, out=self.weights.w)
        return True

    def renew(self) -> None:
        """A step was broken off: weights are set and states evaluated anew."""
        self._prepared = 0.0, None
        self._pool.clear()

    # ---- energies --------------------------------------------------------------------------------------------

    def spare(self, *kept: Evaluation) -> Evaluation:
        """An evaluation to be overwritten, none of those that are kept."""
        for evaluation in self._pool:
            if evaluation not in kept:
                return evaluation
        contacts = None if self.contact is None else self.contact.contacts()
        self._pool.append(Evaluation(self.bodies.count, contacts))
        return self._pool[-1]

    def bare(self, Q: Array, *kept: Evaluation) -> Evaluation:
        """A state whose energies are not asked for: what can be assembled without contact, and moved from."""
        found = self.spare(*kept)
        found.Q = Q
        return found

    def at(self, Q: Array, *kept: Evaluation) -> Evaluation:
        """Everything at Q, infinite energies where it is not allowed; other evaluations that are kept stay as they are.

        Contacts of bodies that have converged are left out.
        """
        found = self.bare(Q, *kept)
        self.run(phases.ENERGIES, self.no_step, found, found)
        if not self.is_standard:
            self.add_others(found)
        return found

    def add_others(self, at: Evaluation, is_start: bool = False) -> None:
        """Add what the kernels' energies do not have: contributions and contact.

        At the start of a step contact has begun, so that its contacts are known, and their energies.
        """
        for other in self.others:
            other.add_energy(at.Q, self.owner, at.E)
        if self.contact is not None and is_start:
            at.E += self.contact.E_start
            self.contact.add_friction_energy(at.Q, self.bodies.is_free, at.E)
        elif self.contact is not None:
            assert at.contacts is not None
            self.contact.at(at.Q, at.contacts, self.islands.unconverged, at.E)

    def run(self, wanted: int, y: Array, at: Evaluation, to: Evaluation) -> None:
        """Phases of the step −y from one state to another; see phases.py, and `numbers` for what they tell."""
        if wanted & phases.ENERGIES and self.constraints is None:
            spans = chunks(len(to.Q), _COST_TO_WEIGH)
            if len(spans) > 1:
                self._run_in_chunks(wanted, y, at, to, spans)
                return
        self._run(wanted, y, at, to)

    def _run(self, wanted: int, y: Array, at: Evaluation, to: Evaluation) -> None:
        self.numbers[phases.PHASES] = wanted
        advance(
            self._standard, *self._kinds, self.constraints, self.islands, y, at.Q, at.E, to.Q, to.E, self.numbers
        )  # fmt: skip

    def _run_in_chunks(self, wanted: int, y: Array, at: Evaluation, to: Evaluation, spans: Sequence[Span]) -> None:
        """The same phases in the same order, those of bodies by all threads."""
        weighs = phases.MOVE | phases.ENERGIES
        if first := wanted & (phases.MOVE - 1):
            self._run(first, y, at, to)
        if first & phases.DECIDE and self.numbers[phases.LEFT] == 0.0:
            wanted &= ~(phases.ENERGIES | phases.COMPARE)  # a last step is not tested
        bodies = (self._standard, self._kinds[2], self.islands, y, at.Q, to.Q, to.E)
        map_phases(advance_bodies, ((spans, wanted & weighs),), *bodies)
        if last := wanted & ~(first | weighs) | (phases.REST if wanted & phases.ENERGIES else 0):
            self._run(last, y, at, to)

    def begin(self) -> None:
        """Start Newton's method: there was no direction yet."""
        self._standard.last.fill(0.0)
        if self.laws is not None:
            np.copyto(self.laws.part, self.laws.begins)

    def bind(self, program: Program, y: Array, at: tuple[Array, Array], to: tuple[Array, Array]) -> int:
        """The place of `run` with these arrays in a program, states being Q and E; phases are as `numbers` says."""
        return program.add(
            advance, self._standard, *self._kinds, self.constraints, self.islands, y, *at, *to, self.numbers
        )

    @property
    def parts(self) -> tuple[Indices, Indices]:
        """Parts of laws with a cap that Newton's method takes, see caps.py; and which it begins with."""
        return (_NO_LAWS, _NO_LAWS) if self.laws is None else (self.laws.part, self.laws.begins)

    @property
    def last(self) -> Array:
        """The direction before the present one (n, 12)."""
        return self._standard.last

    def bind_assembly(self, program: Program, Q: Array, blocks: Blocks) -> int:
        """The place of the derivatives of bodies, rows and laws at Q, with the exact Hessian."""
        span, active = (0, 0, len(Q), phases.BODIES | phases.JOINTS), self.islands.unconverged
        return program.add(
            direct, self._standard, *self._kinds, self._combined, True, Q, active, blocks, blocks.g, span
        )

    def bind_solver(self, program: Program, Q: Array, blocks: Blocks, y: Array) -> int:
        """The place of `solve_standard` with the exact Hessian at Q."""
        whole, active = (0, 0, len(Q), _WHOLE), self.islands.unconverged
        return program.add(direct, self._standard, *self._kinds, self._combined, True, Q, active, blocks, y, whole)

    def total(self, at: Evaluation) -> Array:
        """What must not rise, by island (a view): energies and how open exact joints are."""
        self.numbers[phases.OPEN] = self.exact is not None and not self.exact.stay_closed
        self.run(phases.COMPARE, self.no_step, at, at)
        return self.islands.total[: self.islands.count]

    # ---- derivatives -----------------------------------------------------------------------------------------

    def assemble(self, at: Evaluation, exact: bool, active: Indices, blocks: Blocks, with_contact: bool = True) -> None:
        """Gradient and Hessian of active bodies (n,) into the blocks; positive definite unless `exact`."""
        Q = at.Q
        arguments = (self._standard, *self._kinds, self._combined, exact, Q, active, blocks, blocks.g)
        spans = chunks(len(Q), _COST)
        if len(spans) == 1:
            direct(*arguments, (0, 0, len(Q), phases.BODIES | phases.JOINTS))
        else:
            map_phases(direct, ((spans, phases.BODIES), ([(0, 0, 0)], phases.JOINTS)), *arguments)
        for other in self.others:
            other.assemble(Q, exact, blocks)
        if with_contact and self.contact is not None:
            assert at.contacts is not None
            self.contact.assemble(Q, at.contacts, active, blocks)

    def factor(self, active: Indices, blocks: Blocks, y: Array) -> int:
        """Factor what was assembled; y (n, 12) ← H⁻¹g of active bodies. Returns −1, or a body at which H is singular.

        It is one call, by one thread; nets and conjugate gradients are left out.
        """
        span = (0, 0, 0, phases.FACTOR)
        return int(direct(self._standard, *self._kinds, self._combined, True, self.Q_tilde, active, blocks, y, span))

    def solve_standard(self, at: Evaluation, exact: bool, active: Indices, blocks: Blocks, y: Array) -> int:
        """y (n, 12) ← H⁻¹g of active bodies at a state, by blocks and in one call, where the potential is bare.

        Returns −1, or a body at which the positive definite form is singular.
        """
        whole = (0, 0, len(at.Q), _WHOLE)
        return int(direct(self._standard, *self._kinds, self._combined, exact, at.Q, active, blocks, y, whole))

    def add_constant(self, blocks: Blocks) -> None:
        """Fill the base blocks, and find the blocks that everything adds to; once per structure."""
        blocks.clear_base()
        self.points.add_constant(blocks)
        self.slides.add_constant(blocks)
        if self.laws is not None:
            self.laws.coordinates.locate(blocks)
        if self.exact is not None and self.exact.combined.count:
            self.exact.combined.add_constant(blocks)
        for other in self.others:
            other.add_constant(blocks)
