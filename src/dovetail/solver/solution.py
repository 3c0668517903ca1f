"""When Newton's method stops, and what it has found."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dovetail.typing import Array, Flags

__all__ = ["Solution", "Tolerances"]


@dataclass(frozen=True)
class Tolerances:
    """When to stop; names as in the scene's config."""

    velocity_tol: float = 1e-3  # [m/s] largest motion of a vertex in the last full step, divided by h
    transrate_tol: float = 1e-2  # [1/s] largest change of an entry of A in the last full step, divided by h
    ccd_tol: float = 1.0  # share of a full step that must be free of collisions in the last iteration
    max_iter: int = 1024
    patience: int = 40  # iterations after which a step that contact cuts short is refused, where it is far from its end
    min_iter: int = 0
    line_search_max_iter: int = 8
    early_exit: int = -1  # iteration from which on full steps end an island soon; −1 never (newton/semi_implicit)
    early_exit_tol: float = 1e-3
    substeps: int = 1


@dataclass
class Solution:
    """A minimiser and how it was found. Q may be a buffer of the model, which the next step uses again.

    step (m) and rate (–) are the largest vertex motion and change of A of the last full step. restarts counts the
    islands that did not begin at the first guess. at_floor says that round-off has ended an island before
    the tolerances were met, see floor.py. E_before (n,) is the potential at the start of the step [J s²],
    None where it is not known. `landed` (n,) are bodies in contact for which Newton's method was broken off
    at Q, None where it was not.
    """

    Q: Array
    iterations: int = 0
    restarts: int = 0
    halvings: int = 0
    step: float = 0.0
    rate: float = 0.0
    converged: bool = False
    at_floor: bool = False
    landed: Flags | None = None
    E_before: Array | None = None

    def after(self, earlier: Solution) -> Solution:
        """The same with the work of an attempt before it."""
        return replace(
            self,
            iterations=self.iterations + earlier.iterations,
            restarts=self.restarts + earlier.restarts,
            halvings=self.halvings + earlier.halvings,
        )
