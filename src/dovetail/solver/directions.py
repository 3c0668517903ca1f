"""Newton's direction, island by island: which solver has which bodies, chosen anew in every iteration.

    Sweep       mechanisms that are trees and touch nothing (articulated/)
    Net         loops of bodies joined by points (nets.py), by the forces in these
    Factor      all else: the block system, factored
    Conjugate   large dense parts of it, by conjugate gradients

The last three share the block system, which is laid out when one of them is needed. It is assembled, factored and
solved with the exact Hessian where that is positive definite. The sweep leaves terms of the order of the strain out of
its matrix; where it has had its chances it is not asked any more. `newton/direction` in the config allows one alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from dovetail.errors import SolverError
from dovetail.kernel.buffers import aligned
from dovetail.kernel.kernel import kernel
from dovetail.solver.articulated.trees import Sweep
from dovetail.solver.blocks import Blocks, copy_active
from dovetail.solver.damping import Damping
from dovetail.solver.islands import Islands
from dovetail.solver.joint.constraints import CLOSED, linearise_constraints, set_closing_gradient
from dovetail.solver.nets import Nets
from dovetail.solver.potential import Evaluation, Potential
from dovetail.typing import Array, Flags, Indices

__all__ = ["STRUCTURE_LIFE", "Choice", "Directions"]

Choice = Literal["auto", "sweep", "net", "factor", "conjugate"]

_SWEEPS = 8  # in one step, before an island that has not converged is left to the block system
STRUCTURE_LIFE = 20  # steps after which the block structure is laid out anew, to drop pairs that no longer touch
_ACCURATE = 1e-10  # relative residual of conjugate gradients that no Newton iteration follows
_ROUGH = 1e-2  # and of those that one does: it takes as many iterations as with 1e-4 (wrecking ball)
_ROUGHEST = 0.1  # and of those that several do, as many as well: where the last step was
_FAR = 10.0  # tolerances long, or longer


@kernel
def _split(
    mechanism: Indices, touched: Indices, fits: Indices, active: Indices, marked: Indices, swept: Indices,
    rest: Indices,
) -> tuple[int, int]:  # fmt: skip
    """swept, rest (n,) ← active bodies that the sweep takes, and the others; how many there are of both.

    Mechanisms with a body that touches something are left out; marked (mechanisms,) is scratch.
    """
    for m in range(len(marked)):
        marked[m] = 0
    for b in range(len(touched)):
        if touched[b] and mechanism[b] >= 0:
            marked[mechanism[b]] = 1
    few = many = 0
    for b in range(len(active)):
        swept[b] = active[b] if fits[b] and not marked[mechanism[b]] else 0
        rest[b] = active[b] - swept[b]
        few += swept[b]
        many += rest[b]
    return few, many


@kernel
def _shortest(s: Islands, active: Indices, iterative: Indices) -> float:
    """The least size of the last steps of islands with active bodies (n,) that conjugate gradients solve for."""
    found = math.inf
    for b in range(len(active)):
        if active[b] and iterative[b]:
            found = min(found, s.size[s.of[b]])
    return found


class Directions:
    """The solvers of a potential.

    touching (k, 2) are the pairs of bodies that the blocks have a place for beside joints; `age` counts the steps on
    this structure. filtered (n,) are the bodies whose start has left the factor of its filter in the blocks.
    """

    def __init__(self, potential: Potential, islands: Islands, choice: Choice = "auto") -> None:
        n = potential.bodies.count
        self.potential, self._islands, self._choice = potential, islands, choice
        sweep = Sweep(potential, islands, always=choice == "sweep") if choice in ("auto", "sweep") else None
        self.sweep = sweep if sweep is not None and sweep.count else None
        self._nets = Nets(potential, islands, always=choice == "net", never=choice in ("factor", "conjugate"))
        self.blocks = Blocks(potential.bodies.is_fixed)
        self.damping = Damping(potential.bodies.mass)
        self.touching: Indices = np.zeros((0, 2), np.int64)
        self.ages = np.zeros(1, np.int64)
        self.filtered: Indices | None = None
        on_exact = np.zeros(n, np.bool_)
        if potential.exact is not None:
            on_exact[potential.exact.pairs] = True
        may_iterate = ~islands.mechanisms_of(on_exact) & (potential.contact is not None or choice == "conjugate")
        self._may_iterate: Flags = may_iterate & (choice in ("auto", "conjugate"))
        self._touched, self._swept, self._rest, self._none = (np.zeros(n, np.int64) for _ in range(4))
        self._marked = np.zeros(int(islands.mechanism.max(initial=-1)) + 1, np.int64)
        self._free = int(potential.bodies.is_free.sum())
        self.y = aligned(n, 12)
        self.y.fill(0.0)

    @property
    def age(self) -> int:
        return int(self.ages[0])

    @age.setter
    def age(self, steps: int) -> None:
        self.ages[0] = steps

    # ---- structure -------------------------------------------------------------------------------------------

    def prepare(self, h: float, changed: bool) -> None:
        """Start a step of length h; `changed` if the weights of the potential have."""
        potential = self.potential
        if potential.exact is not None and potential.exact.tune(h) and self.blocks.laid_out:
            potential.add_constant(self.blocks)
        if self.sweep is not None:
            if changed:
                self.sweep.set_weights(potential.weights.c, potential.weights.w)
            self.sweep.exclude(potential.soft_transforms.bodies)
        self.damping.begin()
        self.age += 1
        self.filtered = None

    def lay_out(self, touching: Indices) -> None:
        """Lay the blocks out for joints and these pairs of bodies (k, 2)."""
        self.touching, self.age, self.filtered = touching, 0, None
        pairs, points = self._nets.split(touching)
        self.blocks.restructure(pairs, points, self._may_iterate, self._choice == "conjugate")
        self.potential.add_constant(self.blocks)

    def restore(self, touching: Indices, age: int, laid_out: bool) -> None:
        """Have the structure of these pairs (k, 2), of this age, or no blocks at all."""
        if laid_out:
            self.lay_out(touching)
        else:
            self.touching = touching
            self.blocks.take_up()
        self.age = age

    def keep(self) -> Callable[[], None]:
        """A function that goes back to the present structure; nothing of a step is left in the solvers then."""
        touching, age, laid_out = self.touching, self.age, self.blocks.laid_out

        def undo() -> None:
            self.restore(touching, age, laid_out)
            self.damping.renew()
            if self.sweep is not None:
                self.sweep.renew()

        return undo

    def need_blocks(self) -> None:
        """Have blocks laid out; trees alone do without."""
        if not self.blocks.laid_out:
            self.lay_out(self.touching)

    def in_one_call(self, active: Indices) -> bool:
        """Whether the system of active bodies (n,) can be assembled, factored and solved in one call."""
        blocks = self.blocks
        plain = blocks.laid_out and blocks.net is None and blocks.in_one_piece
        return plain and not blocks.iterates(active) and not self.damping.acts

    @property
    def lasts(self) -> bool:
        """Whether the structure is kept, or laid out as it is, in a step in which nothing touches anything."""
        return self.blocks.laid_out and (self.age < STRUCTURE_LIFE or not len(self.touching))

    def has_lasted(self) -> None:
        """Such a step has had directions."""
        if self.age >= STRUCTURE_LIFE:
            self.age = 0

    def _fit_contacts(self, at: Evaluation) -> None:
        contact = self.potential.contact
        if contact is None:
            self.need_blocks()
            return
        assert at.contacts is not None
        if not self.blocks.laid_out or self.age >= STRUCTURE_LIFE or not contact.fits(at.contacts, self.blocks):
            touching = contact.touching(at.contacts)
            if self.blocks.laid_out and np.array_equal(touching, self.touching):
                self.age = 0  # it would be the same
            else:
                self.lay_out(touching)

    # ---- directions ------------------------------------------------------------------------------------------

    def split_active(self, at: Evaluation, active: Indices, sweeps: bool) -> tuple[int, int]:
        """Divide active bodies (n,) among the sweep and the blocks; how many both have."""
        contact, touched = self.potential.contact, self._touched
        if contact is not None:
            assert at.contacts is not None
            touched.fill(0)
            contact.acts_on(at.contacts, touched)
        fits = self.sweep.fits if self.sweep is not None and sweeps else self._none
        few, many = _split(self._islands.mechanism, touched, fits, active, self._marked, self._swept, self._rest)
        return few, many

    def newton(self, at: Evaluation, exact: bool, iteration: int = 0) -> Array:
        """y (n, 12) with Q − y the Newton iterate of unconverged bodies, 0 for the others; an array that is used again.

        exact is False after a step that had to be taken although the energy did not fall. The matrix of the sweep is
        positive definite anyway.
        """
        y, active = self.y, self._islands.unconverged
        if self.sweep is None:
            y.fill(0.0)
            self._by_blocks(at, exact, active, y, iteration)
            return y
        few, many = self.split_active(at, active, iteration < _SWEEPS)
        all_bodies = few == self._free
        if not all_bodies:
            y.fill(0.0)
        if many:
            self.export_multipliers()
            self._by_blocks(at, exact, self._rest, y, iteration)
        if few:
            assert self.sweep is not None
            if not self.sweep.direction(at, self._swept, y, all_bodies):
                self._by_blocks(at, exact, self._swept, y)
            elif self.sweep.are_curved:
                # a sweep closes exact sliders to first order: find out how far
                assert self.potential.exact is not None
                self.potential.exact.survey(at.Q, y, active)
        return y

    def _rigour(self, active: Indices, iteration: int) -> float:
        """The relative residual that is asked of conjugate gradients for active bodies; sizes are of this step only."""
        islands, iterative = self._islands, self.blocks.iterative
        return _ROUGHEST if iteration and _shortest(islands, active, iterative) >= _FAR else _ROUGH

    def _by_blocks(self, at: Evaluation, exact: bool, active: Indices, y: Array, iteration: int = 0) -> None:
        """y ← the directions of these bodies by the block system."""
        blocks, potential, self.filtered = self.blocks, self.potential, None
        self._fit_contacts(at)
        bad = -1
        if self.in_one_call(active) and potential.is_bare(at):
            bad = potential.solve_standard(at, exact, active, blocks, y)
            if bad >= 0:
                raise self._singular(bad)
            if potential.exact is not None:
                potential.exact.direction(at.Q, blocks, active, y)
            return
        iterates = blocks.iterates(active)
        for form in (exact and not iterates, False):
            potential.assemble(at, form, active, blocks)
            self.damping.add(active, blocks.D)
            bad = blocks.factor(active)
            if bad < 0:
                blocks.solve(active, blocks.g, self._rigour(active, iteration) if iterates else _ROUGH)
                if potential.exact is not None:
                    potential.exact.direction(at.Q, blocks, active, blocks.g)
                copy_active(active, blocks.g, y)
                return
        raise self._singular(bad)

    def closing(self, at: Evaluation, active: Indices) -> Array:
        """y (n, 12) with exact joints of active bodies closed at Q − y, the shortest such step in the metric of H.

        Contacts are left out; multipliers are as before. Where the start of these bodies has left its filter in the
        blocks, that is the metric: H with the shapes and laws of the start.
        """
        exact, blocks = self.potential.exact, self.blocks
        assert exact is not None
        self.need_blocks()
        kept = exact.release()
        if self.filtered is not None and self.filtered.tobytes() == active.tobytes():
            linearise_constraints(exact.constraints, active, at.Q)
            set_closing_gradient(exact.constraints, blocks.g)
        else:
            self.potential.assemble(at, False, active, blocks, with_contact=False)
            set_closing_gradient(exact.constraints, blocks.g)
            bad = blocks.factor(active)
            if bad >= 0:
                raise self._singular(bad)
        self.filtered = None
        blocks.solve(active, blocks.g)
        exact.direction(at.Q, blocks, active, blocks.g)
        exact.resume(kept)
        self.y.fill(0.0)
        copy_active(active, blocks.g, self.y)
        return self.y

    def solve(
        self, b: Array, active: Indices, closed: float = CLOSED, apart: bool = False, least: float = 0.0
    ) -> Array:
        """b (n, 12) ← x of H x = b + Jᵀμ, J x = 0, with H as last assembled and factored, J of the exact joints.

        J x is zero up to `closed` times x, or to `least`; `apart` says that there are no contacts in H.
        """
        self.blocks.solve(active, b, _ACCURATE)
        if self.potential.exact is not None:
            self.potential.exact.restrict(self.blocks, active, b, closed, apart, least)
        return b

    def add_force(self, force: Array, y: Array) -> None:
        """y (n, 12), as `newton` has found it by blocks, += what a force (n, 12) adds; exact joints stay closed."""
        if self.potential.exact is not None:
            self.potential.exact.begin_start()
        y += self.solve(force, self._islands.unconverged if self.sweep is None else self._rest)

    def export_multipliers(self) -> None:
        """Have the multipliers of the last directions in the exact joints."""
        if self.sweep is not None:
            self.sweep.export_multipliers()

    def _singular(self, body: int) -> SolverError:
        return SolverError(
            f"the linear system is singular at {self.potential.bodies.name(body)}; "
            "its mass, stiffness or a joint on it is zero, infinite or not finite: check those values"
        )
