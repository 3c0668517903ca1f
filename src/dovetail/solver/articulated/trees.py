"""The islands of a system that the dual sweep solves: trees of stiff bodies, held together by points.

An island goes to the sweep if its joints form a tree, its bodies have inertia and the OrthoPotential, are stiff enough
for what compliance.py leaves out, and are joined by nothing but coinciding points and directions, penalty or exact, in
any mixture, also to fixed bodies, with few sliders, drives, limits, dampers and the like. Exact rows must be
independent of each other. All other islands, and for one step those in which a soft transform acts, are left to the
block system.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dovetail.solver.articulated.articulated import Articulated
from dovetail.solver.articulated.rows import Rows
from dovetail.solver.articulated.special_rows import SpecialRows, is_special
from dovetail.solver.articulated.tree import plant, tree_islands
from dovetail.solver.assembly.bodies import ORTHO
from dovetail.solver.buffers import aligned
from dovetail.solver.contribution import Contribution
from dovetail.solver.energy.coincide import Coincide
from dovetail.solver.islands import Islands
from dovetail.solver.joint.exact import ExactJoints
from dovetail.solver.joint.exact_rows import Coinciding
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Flags, Indices

__all__ = ["Trees"]

_SOFT = 0.02  # second moments c·tr(S) over 8h²κV from which on a body does not count as stiff
_PARALLEL = 1e-8  # share of a row that the other rows of its joint do not explain, below which it depends on them


class _Points:
    """Rows of coinciding points from all contributions, then exact ones (`exact_from`), special ones (`special_from`).

    pairs (k, 2), W (k, 8), joint (k,), compliance (k,) = K⁻¹
    """

    def __init__(
        self, contributions: Sequence[Contribution], exact_joints: ExactJoints | None, special_pairs: Indices
    ) -> None:
        penalties = [c for c in contributions if isinstance(c, Coincide)]
        self.exact: Coinciding | None = exact_joints.coinciding if exact_joints is not None else None
        stencils = [c.stencils for c in penalties] + ([self.exact.stencils] if self.exact is not None else [])
        self.exact_from = sum(c.stencils.count for c in penalties)
        self.special_from, special = sum(s.count for s in stencils), len(special_pairs)
        self.pairs = np.concatenate([*(s.pairs for s in stencils), special_pairs])
        self.W = np.concatenate([*(s.W[:, 0] for s in stencils), np.zeros((special, 8))])
        self.joint = np.concatenate([*(s.joint for s in stencils), np.full(special, -1)])
        self.compliance = np.zeros(len(self.pairs))
        self.compliance[self.special_from :] = 1.0
        with np.errstate(divide="ignore"):
            self.compliance[: self.exact_from] = 1.0 / np.concatenate([np.zeros(0), *(c.K for c in penalties)])


@kernel
def _tell(
    told: Indices, tells: Indices, half: Indices, near: Indices, position: Indices, inside: Indices, force: Array,
    multiplier: Array,
) -> None:  # fmt: skip
    """multiplier[tells] ← force[told], pairs of triples taken apart, of the trees that the sweep takes."""
    for k in range(len(told)):
        t = told[k]
        if not inside[position[near[t]]]:
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


_PER_SPECIAL = 12, 6  # bodies that there must be for every joint with special rows: penalties, exact joints
_FEWEST = 32, 1  # bodies in trees altogether, below which the sweep costs more than it saves: penalties, exact joints


class Trees:
    """Which bodies the sweep solves, and the sweep itself.

    inside (free,) says by position which bodies it takes, lawless (free,) which of those are in trees of points alone,
    active (free,) which of them run; `complete` is True where nothing is left to the block system, `all_lawless` where
    nothing is at a consistent start.
    """

    def __init__(
        self, contributions: Sequence[Contribution], exact_joints: ExactJoints | None, islands: Islands,
        position: Indices, model: Indices, mass: Array, inertia: Array, stiffness: Array, kinetic: Array,
    ) -> None:  # fmt: skip
        self._position, self._islands = position, islands
        self._second = 0.5 * np.trace(inertia, axis1=1, axis2=2)
        self._special = SpecialRows(contributions, exact_joints, np.linalg.inv(mass).astype(float))
        points = _Points(contributions, exact_joints, self._special.pairs)
        chosen = tree_islands(islands.of, islands.count, position, points.pairs)
        joined = np.append(np.zeros(islands.count, np.bool_), False)
        joined[islands.of[points.pairs]] = True
        chosen &= joined[:-1]
        unfit = (model != ORTHO) | (kinetic == 0.0)
        for contribution in contributions:
            if not isinstance(contribution, Coincide | ExactJoints) and not is_special(contribution):
                unfit[contribution.pairs()] = True
        if exact_joints is not None:
            for rows in exact_joints.combined:
                unfit[rows.pairs()] = True
            # those of two joints between the same bodies may depend on each other
            sliders = exact_joints.parallel
            joints = np.unique(np.column_stack([np.sort(sliders.pairs()), sliders.stencils.joint]), axis=0)
            between, times = np.unique(joints[:, :2], axis=0, return_counts=True)
            unfit[between[times > 1]] = True
        unfit[points.pairs[~np.isfinite(points.compliance)]] = True
        self._leave(chosen, unfit)
        if np.append(chosen, False)[islands.of].sum() < _FEWEST[exact_joints is not None]:
            chosen[:] = False
        while not self._grow(points, chosen):
            pass
        self._excluded = np.zeros(len(position), np.bool_)
        self._under_special = np.zeros(len(position), np.bool_)
        self._under_special[points.pairs[points.special_from :]] = True
        self._drawn: Indices | None = None
        self._untold = False
        self._responses: Array | None = None
        if self.count:
            number = self._number[self._rows.source]
            special = np.where(number >= points.special_from, number - points.special_from, -1)
            self.sweep = Articulated(
                self.forest, self._rows, self._weights, self._compliance, special, mass, inertia, stiffness, kinetic
            )
            placed = np.flatnonzero(special >= 0)
            self._special.place(placed, special[placed], self._rows.flipped, self.sweep)
            self._told = np.flatnonzero((number >= points.exact_from) & (special < 0))
            self._tells = number[self._told] - points.exact_from
            self._exact = points.exact
        self.relocate()

    def _leave(self, chosen: Flags, unfit: Flags) -> None:
        """chosen ← False where a body of an island is unfit."""
        of = self._islands.of
        chosen[of[unfit & (of >= 0)]] = False

    def _grow(self, points: _Points, chosen: Flags) -> bool:
        """Plant the chosen islands; False, and fewer are chosen, if some do not suit the sweep after all.

        That is where exact rows depend on each other, and where too many joints have special rows: their places are
        taken by plain loops, which cost more than the block system.
        """
        of, position = self._islands.of, self._position
        islands = np.maximum(of[points.pairs[:, 0]], of[points.pairs[:, 1]])
        self._number = np.flatnonzero(np.append(chosen, False)[islands])
        pairs = points.pairs[self._number]
        free = position[pairs] >= 0
        self.forest = plant(position, pairs, of, chosen, pairs[free & ~free.all(axis=1, keepdims=True)])
        self._rows = rows = Rows(self.forest, pairs[:, 0], pairs[:, 1])
        weights = points.W[self._number][rows.source].reshape(-1, 2, 4)
        self._weights = np.ascontiguousarray(np.where(rows.flipped[:, None, None] != 0, weights[:, ::-1], weights))
        self._compliance = np.repeat(points.compliance[self._number][rows.source, None], 3, axis=1)
        self._half = _pair_up(rows, points.joint[self._number][rows.source], self._weights, self._compliance)
        exact = self._compliance[:, 0] == 0.0
        sound = _independent(rows.near[exact], self._weights[exact, 0], len(position))
        self._leave(chosen, ~sound)
        is_exact = np.zeros(len(chosen), np.bool_)
        is_exact[of[rows.near[exact]]] = True
        bodies = np.bincount(of[of >= 0], minlength=len(chosen))
        with_special = np.unique(rows.near[self._number[rows.source] >= points.special_from])
        odd = np.bincount(of[with_special], minlength=len(chosen))
        many = odd * np.where(is_exact, _PER_SPECIAL[1], _PER_SPECIAL[0]) > bodies
        chosen &= ~many
        return bool(sound.all()) and not many.any()

    @property
    def count(self) -> int:
        """How many bodies are in trees."""
        return self.forest.count

    def relocate(self) -> None:
        """Follow a change of positions, or of the islands that are excluded for now."""
        self.inside = self._in_trees_without(self._excluded)
        self.lawless = self.inside * self._in_trees_without(self._under_special)
        self.complete, self.all_lawless = bool(self.inside.all()), bool(self.lawless.all())
        if self.count:
            self._lane_position = self._position[self.sweep.lane_body]

    def _in_trees_without(self, some: Flags) -> Indices:
        """1 by position (free,) for the bodies of trees that have none of these bodies (n,)."""
        leave = np.zeros(self._islands.count, np.bool_)
        of = self._islands.of
        leave[of[some & (of >= 0)]] = True
        inside = (self.forest.place >= 0) & ~np.append(leave, False)[of]
        free = np.flatnonzero(self._position >= 0)
        found = np.zeros(len(free), np.int64)
        found[self._position[free]] = inside[free]
        return found

    def weigh(self, c: Array, w: Array, largest_moment: Array) -> None:
        """Set the weights of a step, and leave out what does not fit it."""
        self.sweep.weigh(c, w)
        # shapes have the share in the filter that assembly/start.py gives them
        self.sweep.weigh_response(w * 8.0 * w / (largest_moment + 8.0 * w))
        # the sweep knows one c; where an integrator treats mechanisms differently, the others are left out
        member = self.forest.body
        self._unfit = (c * self._second > _SOFT * 8.0 * w) | (c != c[member[0]])
        self._drawn = None

    def leave(self, drawn: Indices) -> None:
        """Leave out the islands of bodies that something else draws in this step."""
        if self._drawn is not None and np.array_equal(drawn, self._drawn):
            return
        self._drawn = drawn.copy()
        excluded = self._unfit.copy()
        excluded[drawn] = True
        if (excluded != self._excluded).any():
            self._excluded = excluded
            self.relocate()

    @property
    def are_curved(self) -> bool:
        """Whether a whole step may leave exact joints open."""
        return self._special.are_curved

    def divide(self, active: Indices) -> Indices | None:
        """Take what runs of the trees; what is left to the block system, or None if that has nothing to do."""
        self.active = active if self.complete else active * self.inside
        rest = None if self.complete else active - self.active
        return rest if rest is not None and rest.any() else None

    def direction(self, Q: Array, Q_tilde: Array, y: Array) -> bool:
        """y ← Newton steps of the bodies that run; False if there are none."""
        self._special.linearise(Q)
        self._untold = True
        return self.sweep.direction(Q, Q_tilde, self._position, self._lane_position, self.active, y) < 0

    def filter(self, Q: Array, aims: Array, push: Array, active: Indices) -> tuple[Array, Array] | None:
        """P⁻¹ M (Q − aims) and P⁻¹(M push − ∇V of joints) of the active bodies by position; None if there is none.

        They are in arrays that are used again. P = M + h²K with K of joints and unstrained bodies. Gaps of joints count
        in the first too, so aims should be far away.
        """
        if self._responses is None:
            self._responses = aligned(2, len(active), 12)
            self._responses.fill(0.0)
        y, y_push = self._responses
        bad = self.sweep.respond(Q, aims, push, self._position, self._lane_position, active, y, y_push)
        if bad < 0 and math.isfinite(self._responses.sum()):
            return y, y_push
        self._responses.fill(0.0)
        return None

    def tell(self) -> None:
        """Hand the multipliers of the last direction over to the exact joints."""
        if self._untold and self._exact is not None:
            _tell(
                self._told, self._tells, self._half, self._rows.near, self._position, self.inside,
                self.sweep.multiplier, self._exact.multiplier,
            )  # fmt: skip
            self._special.tell(self._rows.near, self._position, self.inside)
        self._untold = False
