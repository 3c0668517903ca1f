"""The sweep as a direction: trees of stiff bodies, held together by points.

A mechanism goes to the sweep if its joints form a tree, its bodies have inertia and the OrthoPotential, are stiff
enough for what compliance.py leaves out, and are joined by nothing but points, slides and laws, penalty or exact, in
any mixture, also to fixed bodies. Exact rows must be independent of each other. It is left to the block system in steps
in which a soft transform acts on it, and in iterations in which it touches anything.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from dovetail.kernel.buffers import aligned
from dovetail.kernel.kernel import kernel
from dovetail.kernel.program import Program
from dovetail.solver.articulated.articulated import Articulated
from dovetail.solver.articulated.law_starts import LawStarts
from dovetail.solver.articulated.rows import Rows
from dovetail.solver.articulated.special_rows import SpecialRows
from dovetail.solver.articulated.tree import plant, tree_islands
from dovetail.solver.blocks import copy_active
from dovetail.solver.bodies import ORTHO
from dovetail.solver.contribution import Start
from dovetail.solver.islands import Islands
from dovetail.solver.joint.rows import Rows as JointRows
from dovetail.solver.potential import Evaluation, Potential
from dovetail.typing import Array, Flags, Indices

__all__ = ["Sweep"]

_COUPLED = 2e-4  # tr(S) over 8h²κV from which on strains by forces in joints turn a body noticeably in a start
_SOFT = 0.02  # second moments c·tr(S) over 8h²κV from which on a body does not count as stiff
_PARALLEL = 1e-8  # share of a row that the other rows of its joint do not explain, below which it depends on them
_FEWEST = 32  # bodies in trees of penalties, below which blocks are as fast (benchmarks/joints.py)
_PER_SPECIAL = 12, 6  # bodies for every joint with laws or slides, below which there are many: penalties, exact joints
_CROWD = 64  # bodies in mechanisms with many such joints, from which on blocks are faster (benchmarks/small.py)


class _Points:
    """Triples of the points of all joints, penalties first, then exact ones (`exact_from`), then special ones.

    pairs (k, 2), W (k, 8), joint (k,), compliance (k,) = K⁻¹, lengths (k,) in rows
    """

    def __init__(self, points: JointRows, rows: SpecialRows) -> None:
        self.rows, self.exact_from = points, points.exact
        self.special_from, special = points.count, len(rows.pairs)
        self.pairs = np.concatenate([points.pairs, rows.pairs])
        self.lengths = np.concatenate([np.full(points.count, 3), rows.lengths])
        self.W = np.concatenate([points.W[:, 0], np.zeros((special, 8))])
        self.joint = np.concatenate([points.joint, np.full(special, -1)])
        self.compliance = np.zeros(len(self.pairs))
        self.compliance[self.special_from :] = 1.0
        with np.errstate(divide="ignore"):
            self.compliance[: self.exact_from] = 1.0 / points.K[: self.exact_from]


@kernel
def _export(
    told: Indices, tells: Indices, half: Indices, near: Indices, swept: Indices, force: Array, multiplier: Array
) -> None:
    """multiplier[tells] ← force[told], pairs of triples taken apart, of the bodies that are swept."""
    for k in range(len(told)):
        t = told[k]
        if not swept[near[t]]:
            continue
        for x in range(3):
            if half[t] == 0:
                multiplier[tells[k], x] = force[t, x]
            elif half[t] < 0:
                multiplier[tells[k], x] = 0.5 * (force[t, x] - force[t + 1, x])
            else:
                multiplier[tells[k], x] = 0.5 * (force[t - 1, x] + force[t, x])


def _pair_up(rows: Rows, joint: Indices, weights: Array, compliance: Array) -> Indices:
    """Two points of a joint become their mean and half their difference; −1 and 1 for such triples (t,), else 0.

    A difference does not see positions, only directions. Far from the origin, where points are rounded to more than the
    tilt of a hinge can be, that keeps the tilts of a long chain from adding up.

        ½(a + b), ½(b − a) with λ, μ   is the same as   a, b with ½(λ − μ), ½(λ + μ);    K doubles
    """
    a, b = slice(None, -1), slice(1, None)
    alike = (rows.near[a] == rows.near[b]) & (rows.other[a] == rows.other[b]) & (joint[a] == joint[b])
    alike &= (compliance[a, 0] == compliance[b, 0]) & (weights[a, 0, 0] == weights[b, 0, 0]) & (weights[a, 0, 0] != 0.0)
    first = np.flatnonzero(alike)
    # of three points the second is taken by the first
    first = first[np.diff(first, prepend=-2) > 1]
    start, end = weights[first], weights[first + 1]
    weights[first], weights[first + 1] = 0.5 * (start + end), 0.5 * (end - start)
    compliance[first] *= 0.5
    compliance[first + 1] *= 0.5
    half = np.zeros(rows.count, np.int64)
    half[first], half[first + 1] = -1, 1
    return half


def _independent(near: Indices, rows: Array, count: int) -> Flags:
    """Whether the exact rows (k, 4) that are `near` one of the count bodies are independent of each other, by body."""
    order = np.argsort(near, kind="stable")
    rows = rows[order]
    number = np.bincount(near, minlength=count)
    first = np.cumsum(number) - number
    fine: Flags = number <= 4
    for size in range(1, 5):
        bodies = np.flatnonzero(number == size)
        stack = rows[first[bodies][:, None] + np.arange(size)]
        stack = stack / np.maximum(np.linalg.norm(stack, axis=2, keepdims=True), 1e-300)
        left = np.linalg.norm(stack, axis=2).min(axis=1, initial=1.0)
        for r in range(1, size):
            # Gram–Schmidt: what is left of each row after those before it
            for s in range(r):
                stack[:, r] -= np.einsum("bi,bi->b", stack[:, r], stack[:, s])[:, None] * stack[:, s]
            length = np.linalg.norm(stack[:, r], axis=1)
            left = np.minimum(left, length)
            stack[:, r] /= np.maximum(length, 1e-300)[:, None]
        fine[bodies] = left > _PARALLEL
    return fine


class Sweep:
    """Which bodies the sweep can solve, and the sweep itself.

    in_trees (n,) says which bodies are in trees, fits (n,) which of these are swept in the present step, starts (n,)
    which of those are in trees without slides, and stiff enough for a start by sweeps; lawless (n,) which of those have
    no laws in their tree.
    """

    def __init__(self, potential: Potential, islands: Islands, always: bool = False) -> None:
        bodies = potential.bodies
        self._potential, self._bodies, self._mechanism = potential, bodies, islands.mechanism
        self._mechanisms = int(islands.mechanism.max(initial=-1)) + 1
        self._second = 0.5 * np.trace(bodies.inertia, axis1=1, axis2=2)
        self._special = SpecialRows(potential.laws, potential.slides, bodies.mass_inverse)
        points = _Points(potential.points, self._special)
        chosen = self._choose(points, always)
        while not self._grow(points, chosen):
            pass
        n = bodies.count
        self._excluded = np.zeros(n, np.bool_)
        self._under_special = np.zeros(n, np.bool_)
        self._under_special[points.pairs[points.special_from :]] = True
        self._under_slides = np.zeros(n, np.bool_)
        self._under_slides[self._special.under_slides] = True
        self._drawn: Indices | None = None
        self._unfit = np.zeros(n, np.bool_)
        self._swept = np.zeros(n, np.int64)
        self._not_exported = False
        self.in_trees = (self.forest.place >= 0).astype(np.int64)
        self._found = aligned(5, n, 12) if self.count else np.zeros((5, 0, 12))
        self._found.fill(0.0)
        self.fits: Indices = self.in_trees
        self.starts: Indices = self.in_trees
        self.lawless: Indices = self.in_trees
        if self.count:
            number = self._number[self._rows.source]
            special = np.where(number >= points.special_from, number - points.special_from, -1)
            self.sweep = Articulated(self.forest, self._rows, self._weights, self._compliance, special, bodies)
            placed = np.flatnonzero(special >= 0)
            self._special.place(placed, special[placed], self._rows.near, self._rows.flipped, self.sweep.arrays)
            self._told = np.flatnonzero((number >= points.exact_from) & (special < 0))
            self._tells = number[self._told]

    def _choose(self, points: _Points, always: bool) -> Flags:
        """Mechanisms that may be swept, as far as one can say without planting them."""
        potential, bodies, mechanism = self._potential, self._bodies, self._mechanism
        chosen = tree_islands(mechanism, self._mechanisms, bodies.is_free, points.pairs)
        joined = np.zeros(self._mechanisms + 1, np.bool_)
        joined[mechanism[points.pairs]] = True
        chosen &= joined[:-1]
        unfit = (bodies.model != ORTHO) | (bodies.kinetic == 0.0)
        for other in potential.others:
            unfit[other.pairs()] = True
        if potential.laws is not None:
            stops = [batch.of for batch in potential.laws.batches if batch.is_stop]
            unfit[potential.laws.coordinates.pairs[np.concatenate([np.zeros(0, np.int64), *stops])]] = True
        slides = potential.slides
        unfit[slides.pairs[: slides.exact][slides.K[: slides.exact] <= 0.0]] = True
        if potential.exact is not None:
            unfit[potential.exact.combined.entries.body] = True
            # those of two joints between the same bodies may depend on each other
            pairs, joint = slides.pairs[slides.exact :], slides.joint[slides.exact :]
            joints = np.unique(np.column_stack([np.sort(pairs), joint]), axis=0)
            between, times = np.unique(joints[:, :2], axis=0, return_counts=True)
            unfit[between[times > 1]] = True
        unfit[points.pairs[~np.isfinite(points.compliance)]] = True
        self._leave(chosen, unfit)
        exact = np.zeros(self._mechanisms + 1, np.bool_)
        exact[mechanism[points.pairs[points.exact_from : points.special_from]]] = True
        if not always:
            soft = np.append(chosen & ~exact[:-1], False)
            if soft[mechanism].sum() < _FEWEST:
                chosen &= exact[:-1]
            chosen &= ~self._have_many_special(points, chosen, exact[:-1])
        return chosen

    def _have_many_special(self, points: _Points, chosen: Flags, exact: Flags) -> Flags:
        """Mechanisms with so many laws and slides, which plain loops take, that blocks are faster.

        Those of driven hinges, two points and a law (driven.py), do not count.
        """
        of, first = self._mechanism, points.special_from
        pairs = np.sort(points.pairs)
        between = pairs[:, 0] * len(of) + pairs[:, 1]
        _, joint, triples = np.unique(between, return_inverse=True, return_counts=True)
        plain = (points.lengths[first:] != 1) | (triples[joint[first:]] != 3)
        special = np.zeros(len(of), np.bool_)
        special[pairs[first:, 1][plain]] = True
        bodies = np.bincount(of[of >= 0], minlength=self._mechanisms)
        odd = np.bincount(of[special & (of >= 0)], minlength=self._mechanisms)
        many: Flags = odd * np.where(exact, _PER_SPECIAL[1], _PER_SPECIAL[0]) > bodies
        if bodies[many & chosen].sum() < _CROWD:
            many &= ~exact
        return many

    def _leave(self, chosen: Flags, unfit: Flags) -> None:
        """chosen ← False where a body of a mechanism is unfit."""
        of = self._mechanism
        chosen[of[unfit & (of >= 0)]] = False

    def _grow(self, points: _Points, chosen: Flags) -> bool:
        """Plant the chosen mechanisms; False, and fewer are chosen, if exact rows of some depend on each other."""
        of, is_free = self._mechanism, self._bodies.is_free
        mechanisms = np.maximum(of[points.pairs[:, 0]], of[points.pairs[:, 1]])
        self._number = np.flatnonzero(np.append(chosen, False)[mechanisms])
        pairs = points.pairs[self._number]
        free = is_free[pairs] != 0
        self.forest = plant(is_free, pairs, of, chosen, pairs[free & ~free.all(axis=1, keepdims=True)])
        self._rows = rows = Rows(self.forest, pairs[:, 0], pairs[:, 1], points.lengths[self._number])
        weights = points.W[self._number][rows.source].reshape(-1, 2, 4)
        self._weights = np.ascontiguousarray(np.where(rows.flipped[:, None, None] != 0, weights[:, ::-1], weights))
        self._compliance = np.repeat(points.compliance[self._number][rows.source, None], 3, axis=1)
        self._half = _pair_up(rows, points.joint[self._number][rows.source], self._weights, self._compliance)
        exact = self._compliance[:, 0] == 0.0
        sound = _independent(rows.near[exact], self._weights[exact, 0], len(of))
        self._leave(chosen, ~sound)
        return bool(sound.all())

    @property
    def count(self) -> int:
        """How many bodies are in trees."""
        return self.forest.count

    def _in_trees_without(self, some: Flags) -> Indices:
        """1 (n,) for the bodies of trees that have none of these bodies (n,)."""
        leave, of = np.zeros(self._mechanisms + 1, np.bool_), self._mechanism
        leave[of[some & (of >= 0)]] = True
        return self.in_trees * (1 - leave[of].astype(np.int64))

    def set_weights(self, c: Array, w: Array) -> None:
        """Set the weights of a step, and leave out what does not fit it."""
        self.sweep.weigh(c, w)
        # shapes have the share in the filter that assembly/start.py gives them
        self.sweep.weigh_response(w * 8.0 * w / (self._bodies.largest_moment + 8.0 * w))
        # the sweep knows one c; where an integrator treats mechanisms differently, the others are left out
        member = self.forest.body
        self._unfit = (c * self._second > _SOFT * 8.0 * w) | (c != c[member[0]])
        self._coupled = self._second > _COUPLED * 8.0 * w
        self._drawn = None

    def exclude(self, drawn: Indices) -> None:
        """Leave out the mechanisms of bodies that something else draws in this step."""
        known = self._drawn
        if known is not None and len(known) == len(drawn) and not np.count_nonzero(known != drawn):
            return
        self._drawn = drawn.copy()
        excluded = self._unfit.copy()
        excluded[drawn] = True
        if (excluded != self._excluded).any():
            self._excluded = excluded
            self.fits = self._in_trees_without(excluded)
        self.starts = self.fits * self._in_trees_without(self._under_slides | self._coupled)
        self.lawless = self.starts * self._in_trees_without(self._under_special)

    def renew(self) -> None:
        """A step was broken off: who fits is found out anew before the next one, and nothing is to be told."""
        self._excluded, self.fits, self._drawn = np.zeros_like(self._excluded), self.in_trees, None
        self._swept.fill(0)
        self._not_exported = False

    @property
    def cases(self) -> Indices:
        """Which instructions sweep each body (n,): the case of its joints, −2 for bodies that are in no tree."""
        found: Indices = np.full(len(self._mechanism), -2)
        if self.count:
            chunks = self.sweep.chunks
            found[self.forest.body] = np.repeat(chunks.case, chunks.size)
        return found

    @property
    def are_curved(self) -> bool:
        """Whether a whole step may leave exact joints open."""
        return self._special.are_curved

    def direction(self, at: Evaluation, active: Indices, y: Array, all_bodies: bool = False) -> bool:
        """y (n, 12) ← Newton steps of active bodies (n,), all of which are swept; False if there are none.

        `all_bodies` says that these are all that can move.
        """
        self._special.linearise(at.Q)
        # eight bodies at a time are swept, some of which may be among the others
        found = y if all_bodies else self._found[0]
        fine = self.sweep.direction(at.Q, self._potential.Q_tilde, active, found) < 0
        if fine:
            if not all_bodies:
                copy_active(active, found, y)
            self._swept |= active
            self._not_exported = True
        return fine

    def bind(self, program: Program, Q: Array, active: Indices, found: Array) -> tuple[list[int], int]:
        """The places of a direction at Q in a program, the last one with a result, and that of the sweep's weights."""
        places = [program.add(*one) for one in self._special.linearising(Q)]
        place, weights = self.sweep.bind(program, Q, self._potential.Q_tilde, active, found)
        return [*places, place], weights

    def bind_filter(self, program: Program, Q: Array, aims: Array, push: Array, active: Indices) -> tuple[int, Array]:
        """The place of `filter` in a program, and the array (2, n, 12) that it writes to."""
        found = self._found[1:3]
        return self.sweep.bind_response(program, Q, aims, push, active, found[0], found[1]), found

    def bind_lawful(
        self, program: Program, start: Start, h: float, aims: Array, ahead: Array, active: Indices
    ) -> tuple[list[int], list[int], Array]:
        """The places of `filter_lawful` for V̂ and for Â, the last ones those of sweeps; and what it writes to."""
        found, laws, places = self._found[3:], self._law_starts, []
        for calls, at, y in (
            (laws.for_velocity(start, h), aims, found[0]),
            (laws.for_acceleration(start), ahead, found[1]),
        ):
            before = [program.add(*one) for one in calls]
            places.append([*before, self.sweep.bind_freely(program, start.Q, at, active, y)])
        return places[0], places[1], found

    @property
    def found(self) -> Array:
        """Room for directions (n, 12), some of which are arbitrary."""
        return self._found[0]

    def has_swept(self, bodies: Indices) -> None:
        """Directions of these (n,) were found by a program."""
        self._swept |= bodies
        self._not_exported = True

    def filter(self, Q: Array, aims: Array, push: Array, active: Indices) -> tuple[Array, Array] | None:
        """P⁻¹ M (Q − aims) and P⁻¹(M push − ∇V of joints) of active bodies (n, 12); None if there is none.

        They are in arrays that are used again. P = M + h²K with K of joints and unstrained bodies. Gaps of joints count
        in the first too, so aims should be far away.
        """
        y, y_push = self._found[1:3]
        bad = self.sweep.respond(Q, aims, push, active, y, y_push)
        if bad < 0 and math.isfinite(self._found[1:3].sum()):
            return y, y_push
        self._found[1:3] = 0.0
        return None

    def filter_lawful(self, start: Start, aims: Array, active: Indices, moves: bool) -> Array | None:
        """P⁻¹(M (Q − aims) − FAR drift/h) of active bodies (n, 12) in trees with laws, or None if there is none.

        If it `moves`, V̂ is known: P⁻¹(M (Q − aims) + ∇V of joints and laws) with its curvature, which is −h²Â.
        """
        laws, y = self._law_starts, self._found[4 if moves else 3]
        for one, *args in laws.for_acceleration(start) if moves else laws.for_velocity(start, start.h):
            one(*args)
        if self.sweep.direct_freely(start.Q, aims, active, y) < 0 and math.isfinite(y.sum()):
            return y
        y.fill(0.0)
        return None

    @cached_property
    def _law_starts(self) -> LawStarts:
        return LawStarts(self._special)

    def export_multipliers(self) -> None:
        """Hand the multipliers of the last direction over to the exact joints."""
        if self._not_exported:
            for one, *args in self._exporting(self._swept):
                one(*args)
        self._swept.fill(0)
        self._not_exported = False

    def bind_export(self, program: Program, swept: Indices) -> list[int]:
        """The places of `export_multipliers` in a program, for the bodies that are swept (n,)."""
        return [program.add(*one) for one in self._exporting(swept)]

    def _exporting(self, swept: Indices) -> list[tuple[Any, ...]]:
        """The calls that hand multipliers over."""
        if self._potential.exact is None:
            return []
        told, points = (self._told, self._tells, self._half, self._rows.near), self._potential.points
        points_told = _export, *told, swept, self.sweep.multiplier, points.multiplier
        return [points_told, *self._special.exporting(swept)]
