"""Rows of the sweep that are linearised anew in every iteration: laws of joint coordinates, and sliders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.solver.articulated.articulated import Articulated
from dovetail.solver.articulated.law_rows import linearise_laws
from dovetail.solver.articulated.slide_rows import linearise_slides, tell_slides
from dovetail.solver.contribution import Contribution
from dovetail.solver.joint.exact import ExactJoints
from dovetail.solver.joint.exact_rows import Parallel
from dovetail.solver.joint.stops import Stops
from dovetail.solver.joint.terms import Laws, Terms
from dovetail.typing import Array, Indices

__all__ = ["SpecialRows", "is_special"]


def is_special(contribution: Contribution) -> bool:
    """Whether a contribution can be such rows: all laws but hard limits, and sliders."""
    if isinstance(contribution, Terms):
        return contribution.function.name == "slide" and bool((contribution.p[:, 0] > 0.0).all())
    return isinstance(contribution, Laws) and not isinstance(contribution, Stops)


class SpecialRows:
    """All rows of a system that can be special; pairs (k, 2) are their bodies."""

    def __init__(
        self, contributions: Sequence[Contribution], exact_joints: ExactJoints | None, mass_inverse: Array
    ) -> None:
        found = [c for c in contributions if is_special(c)]
        self._laws = [c for c in found if isinstance(c, Laws)]
        self._slides: list[Terms | Parallel] = [c for c in found if isinstance(c, Terms)]
        if exact_joints is not None and exact_joints.parallel.count:
            self._slides.append(exact_joints.parallel)
        self._mass_inverse = mass_inverse
        self.pairs = np.concatenate(
            [np.zeros((0, 2), np.int64), *(c.pairs() for c in self._laws), *(c.pairs() for c in self._slides)]
        )
        self._directions = [np.zeros((c.stencils.count, 3, 3)) for c in self._slides]

    def place(self, triples: Indices, numbers: Indices, flipped: Indices, sweep: Articulated) -> None:
        """Rows `numbers` are the triples of these places in the sweep; the others belong to no tree."""
        self._sweep, self._flipped = sweep, flipped
        self._triple = np.full(len(self.pairs), -1)
        self._triple[numbers] = triples
        sweep.covectors = np.zeros((len(self.pairs), 2, 3, 4, 3))
        sweep.residual = np.zeros((len(self.pairs), 3))

    def linearise(self, Q: Array) -> None:
        """Take the rows at Q."""
        first, sweep = 0, self._sweep
        for law in self._laws:
            c, s = law.coordinates, law.coordinates.stencils
            linearise_laws(
                c.address, c.function.period, law.law.address, s.left, s.right, s.W, law.of, law.reference, law.p,
                law.scale, self._mass_inverse, self._triple, self._flipped, Q, sweep.covectors, sweep.residual,
                sweep.compliance, first,
            )  # fmt: skip
            first += len(law.of)
        for slides, directions in zip(self._slides, self._directions, strict=True):
            s, exact = slides.stencils, isinstance(slides, Parallel)
            K = slides.K if isinstance(slides, Parallel) else np.ascontiguousarray(slides.p[:, 0])
            linearise_slides(
                s.left, s.right, s.W, K, exact, self._triple, self._flipped, Q, sweep.covectors, sweep.residual,
                sweep.compliance, directions, first,
            )  # fmt: skip
            first += s.count

    @property
    def are_curved(self) -> bool:
        """Whether a whole step leaves some exact rows open: there are sliders among them."""
        count = self._slides[-1].count if self._slides and isinstance(self._slides[-1], Parallel) else 0
        return count > 0 and bool((self._triple[len(self.pairs) - count :] >= 0).any())

    def tell(self, near: Indices, position: Indices, inside: Indices) -> None:
        """Hand the multipliers of exact sliders over. near (t,) are bodies, inside (free,) says which are swept."""
        if self.are_curved:
            slides = self._slides[-1]
            assert isinstance(slides, Parallel)
            first = len(self.pairs) - slides.count
            tell_slides(
                self._triple, first, near, position, inside, self._directions[-1], self._sweep.multiplier,
                slides.multiplier,
            )  # fmt: skip
